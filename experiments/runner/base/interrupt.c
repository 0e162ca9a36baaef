/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/base/interrupt.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

volatile int rb_interrupted;

static void on_signal(int number) {
  static const char again[] = "\nregbench: stopping at the next safe point; Ctrl-C again ends at once\n";
  rb_interrupted = 1;
  if (number != SIGINT) return;
  signal(SIGINT, SIG_DFL);
  if (isatty(STDERR_FILENO) && write(STDERR_FILENO, again, sizeof again - 1) < 0) return;
}

void rb_catch_interrupts(void) {
  const int ends[] = {SIGINT, SIGTERM, SIGHUP};
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    struct sigaction old, now = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    if (sigaction(ends[i], NULL, &old) == 0 && old.sa_handler == SIG_IGN && ends[i] == SIGHUP) continue; /* nohup */
    sigaction(ends[i], &now, NULL);
  }
}
