/* SPDX-License-Identifier: BSD-3-Clause */
#include "solvers/external/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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

/* The child gets no input, and its output and errors go to the log, which is appended to: only what lies behind the
 * log's old end is this run's. A child that cannot be started exits with 127. It is asked to end (SIGTERM) in the
 * first turn after an interruption, and killed 5 s later if it has not. Polling every 5 ms, not waiting, is what lets
 * the flag be seen. */
static rb_status run(const char *folder, int inside, char *const arguments[], const volatile int *interrupted) {
  rb_status st = RB_OK;
  char log[4096], said[256];
  int code = 0;
  enum { PATIENCE = 1000 }; /* turns of 5 ms that a program has to end by itself */
  RB_CHECK(snprintf(log, sizeof log, "%s/log.txt", folder) < (int)sizeof log, RB_EINVAL, "path too long");
  struct stat before;
  const long said_before = stat(log, &before) == 0 ? (long)before.st_size : 0; /* bytes */
  pid_t child = fork();
  RB_CHECK(child >= 0, RB_EIO, "cannot start %s: %s", arguments[0], strerror(errno));
  if (child == 0) {
    const int to = open(log, O_CREAT | O_APPEND | O_WRONLY, 0666), nothing = open("/dev/null", O_RDONLY);
    if (to < 0 || nothing < 0 || dup2(nothing, 0) < 0 || dup2(to, 1) < 0 || dup2(to, 2) < 0) _exit(127);
    if (inside && chdir(folder) != 0) _exit(127);
    execvp(arguments[0], arguments);
    _exit(127);
  }
  int asked = 0; /* to end: how many turns ago */
  for (pid_t ended; (ended = waitpid(child, &code, WNOHANG)) != child;) {
    if (ended == 0) {
      if (interrupted && *interrupted && asked++ % PATIENCE == 0) kill(child, asked == 1 ? SIGTERM : SIGKILL);
      nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
      continue;
    }
    RB_CHECK(errno == EINTR, RB_EIO, "lost %s: %s", arguments[0], strerror(errno));
  }
  RB_CHECK(!(interrupted && *interrupted), RB_EINTERRUPTED,
           "interrupted"); /* a terminal's Ctrl-C reaches the child as well */
  RB_CHECK(!(WIFSIGNALED(code) && (WTERMSIG(code) == SIGINT || WTERMSIG(code) == SIGTERM)), RB_EINTERRUPTED,
           "interrupted");
  /* Interruptions come first: a child that was stopped has failed as well, and its last line would say nothing of
   * why. */
  last_line(log, said_before, said, sizeof said);
  RB_CHECK(WIFEXITED(code) && WEXITSTATUS(code) == 0, RB_EIO, "%s %s failed (exit %d); %s", arguments[0],
           arguments[1], WIFEXITED(code) ? WEXITSTATUS(code) : -1, said);
done:
  return st;
}

rb_status rb_child_run(const char *folder, char *const arguments[], const volatile int *interrupted) {
  return run(folder, 0, arguments, interrupted);
}
rb_status rb_child_run_in(const char *folder, char *const arguments[], const volatile int *interrupted) {
  return run(folder, 1, arguments, interrupted);
}
