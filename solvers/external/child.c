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
static rb_status run(const char *folder, int inside, char *const arguments[], const volatile int *interrupted) {
  rb_status st = RB_OK;
  char log[4096], said[256];
  int code = 0;
  struct stat before;
  RB_CHECK(snprintf(log, sizeof log, "%s/log.txt", folder) < (int)sizeof log, RB_EINVAL, "path too long");
  const long said_before = stat(log, &before) == 0 ? (long)before.st_size : 0; /* bytes */
  const rb_process how = {.folder = inside ? folder : NULL, .output = log, .interrupted = interrupted};
  RB_TRY(rb_process_run(&how, arguments, &code));
  /* Interruptions come first: a child that was stopped has failed as well, and its last line would say nothing of
   * why. */
  RB_CHECK(code != -SIGINT && code != -SIGTERM, RB_EINTERRUPTED, "interrupted");
  last_line(log, said_before, said, sizeof said);
  RB_CHECK(code == 0, RB_EIO, "%s %s failed (exit %d); %s", arguments[0], arguments[1], code < 0 ? -1 : code, said);
done:
  return st;
}

rb_status rb_child_run(const char *folder, char *const arguments[], const volatile int *interrupted) {
  return run(folder, 0, arguments, interrupted);
}
rb_status rb_child_run_in(const char *folder, char *const arguments[], const volatile int *interrupted) {
  return run(folder, 1, arguments, interrupted);
}
