/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void rb_progress_open(rb_progress *p, const char *paper, const char *name) {
  const char *term = getenv("TERM");
  memset(p, 0, sizeof *p);
  p->paper = paper;
  p->name = name;
  p->terminal = isatty(2) && term && strcmp(term, "dumb") != 0;
  p->started = now();
}

void rb_progress_begin(rb_progress *p, int index, int total, const char *id) {
  p->index = index;
  p->total = total;
  snprintf(p->id, sizeof p->id, "%s", id);
  rb_progress_phase(p, "start");
}

void rb_progress_phase(rb_progress *p, const char *phase) {
  if (!p->terminal) return;
  enum { WIDTH = 20 };
  char bar[WIDTH + 1];
  double spent = now() - p->started, left = p->index > 0 ? spent / p->index * (p->total - p->index) : 0;
  for (int i = 0; i < WIDTH; i++) bar[i] = i < WIDTH * p->index / (p->total ? p->total : 1) ? '#' : '.';
  bar[WIDTH] = '\0';
  fprintf(stderr, "\r\033[K%s/%s [%s] %d/%d  %s: %s", p->paper, p->name, bar, p->index + 1, p->total, p->id, phase);
  if (p->index > 0) fprintf(stderr, "  ETA %.0f s", left);
  fflush(stderr);
}

void rb_progress_case(rb_progress *p, int index, int total, const char *id, const char *status, const char *text) {
  if (p->terminal) fprintf(stderr, "\r\033[K");
  fprintf(stderr, "%s/%s %d/%d %-8s %s%s%s\n", p->paper, p->name, index + 1, total, status, id, text[0] ? ": " : "",
          text);
}

void rb_progress_close(rb_progress *p) {
  if (p->terminal) fprintf(stderr, "\r\033[K");
}
