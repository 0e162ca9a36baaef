/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress of a run on stderr: a bar on a terminal, one line a finished case elsewhere. stdout stays free. */
#ifndef RB_PROGRESS_H
#define RB_PROGRESS_H

#include "experiments/runner/run/listener.h"

typedef struct {
  const char *paper, *name;
  int terminal, index, total;
  double started;
  char id[256];
} rb_progress;

/* A listener that shows on stderr what it is told; it keeps its state in *p. */
rb_listener rb_progress_listener(rb_progress *p);
#endif
