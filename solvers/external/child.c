/* SPDX-License-Identifier: BSD-3-Clause */
#include "solvers/external/child.h"

#include "kernels/base/process.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* The last line of the log from byte `from` on: what this run of the program said. */
static void last_line(const char *log, long from, char *out, size_t size) {
  char line[512];
  FILE *f = fopen(log, "r");
  snprintf(out, size, "it said nothing");
  if (f) fseek(f, from, SEEK_SET);
  while (f && fgets(line, sizeof line, f)) {
    line[strcspn(line, "\n")] = '\0';
    if (line[0]) snprintf(out, size, "it said: %.200s", line);
  }
  if (f) fclose(f);
}

/* The log is appended to: only what lies behind its old end is this run's. */
rb_status rb_child_run(const rb_child *c, char *const arguments[]) {
  rb_status st = RB_OK;
  char log[4096], said[256], called[128];
  int code = 0;
  struct stat before;
  RB_TRY(rb_path(log, sizeof log, "%s/log.txt", c->folder));
  const long said_before = stat(log, &before) == 0 ? (long)before.st_size : 0; /* bytes */
  const rb_process how = {
      .folder = c->inside ? c->folder : NULL, .output = log, .seconds = c->seconds, .interrupted = c->interrupted};
  snprintf(called, sizeof called, "%s%s%s", c->name ? c->name : arguments[0], c->name ? "" : " ",
           c->name ? "" : arguments[1]);
  st = rb_process_run(&how, arguments, &code);
  if (st == RB_EIO && c->name) { /* it was killed for the time that it took */
    char why[256];
    snprintf(why, sizeof why, "%.250s", rb_message());
    rb_clear();
    return RB_FAIL(RB_EIO, "%s: %s", called, why);
  }
  if (st != RB_OK) goto done;
  /* Interruptions come first: a child that was stopped has failed as well, and its last line would say nothing of
   * why. */
  RB_CHECK(code != -SIGINT && code != -SIGTERM, RB_EINTERRUPTED, "interrupted");
  last_line(log, said_before, said, sizeof said);
  RB_CHECK(code == 0, RB_EIO, "%s failed (exit %d); %s", called, code < 0 ? -1 : code, said);
done:
  return st;
}
