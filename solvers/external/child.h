/* SPDX-License-Identifier: BSD-3-Clause */
/* A program as a child process: its output in a file, its failure in one line. */
#ifndef RB_CHILD_H
#define RB_CHILD_H

#include "kernels/base/status.h"

typedef struct {
  const char *folder;              /* its output is appended to FOLDER/log.txt */
  int inside;                      /* the folder is its working folder */
  const char *name;                /* what it is called when it fails; NULL: its first two arguments */
  int seconds;                     /* that it may take at most; 0: any time */
  const volatile int *interrupted; /* set meanwhile, it ends the child; may be NULL */
} rb_child;

/* Run arguments[0] (looked up in PATH; arguments end with NULL) to its end. RB_EIO repeats its last line when it
 * fails; RB_EINTERRUPTED when it was interrupted. */
rb_status rb_child_run(const rb_child *c, char *const arguments[]);

#endif
