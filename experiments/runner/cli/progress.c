/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/cli/progress.h"

#include "kernels/base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void clear_line(const rb_progress *p) {
  if (p->terminal) fprintf(stderr, "\r\033[K");
}

static void phase(void *context, const char *name) {
  enum { WIDTH = 20 };
  const rb_progress *p = context;
  char bar[WIDTH + 1];
  if (!p->terminal) return;
  double spent = rb_now() - p->started, left = p->index > 0 ? spent / p->index * (p->total - p->index) : 0;
  for (int i = 0; i < WIDTH; i++) bar[i] = i < WIDTH * p->index / (p->total ? p->total : 1) ? '#' : '.';
  bar[WIDTH] = '\0';
  clear_line(p);
  fprintf(stderr, "%s/%s [%s] %d/%d  %s: %s", p->paper, p->name, bar, p->index + 1, p->total, p->id, name);
  if (p->index > 0) fprintf(stderr, "  ETA %.0f s", left);
  fflush(stderr);
}

static void experiment(void *context, const char *paper, const char *name) {
  const char *term = getenv("TERM");
  rb_progress *p = context;
  clear_line(p);
  *p = (rb_progress){.paper = paper, .name = name, .started = rb_now()};
  p->terminal = paper && isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
}

static void case_started(void *context, int index, int total, const char *id) {
  rb_progress *p = context;
  p->index = index, p->total = total;
  snprintf(p->id, sizeof p->id, "%s", id);
  phase(p, "start");
}

static void case_finished(void *context, const char *status, const char *text) {
  const rb_progress *p = context;
  clear_line(p);
  fprintf(stderr, "%s/%s %d/%d %-8s %s%s%s\n", p->paper, p->name, p->index + 1, p->total, status, p->id,
          text[0] ? ": " : "", text);
}

static void message(void *context, const char *line) {
  clear_line(context);
  fprintf(stderr, "%s\n", line);
}

rb_listener rb_progress_listener(rb_progress *p) {
  *p = (rb_progress){0};
  return (rb_listener){p, experiment, case_started, phase, case_finished, message};
}
