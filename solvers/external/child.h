/* SPDX-License-Identifier: BSD-3-Clause */
/* A program as a child process: its output in a file, its failure in one line. */
#ifndef RB_CHILD_H
#define RB_CHILD_H

#include "kernels/base/status.h"

/* Run arguments[0] (looked up in PATH; arguments end with NULL) to its end, its output appended to FOLDER/log.txt.
 * *interrupted (which may be NULL) set meanwhile stops it. RB_EIO repeats its last line when it fails;
 * RB_EINTERRUPTED when it was interrupted. */
rb_status rb_child_run(const char *folder, char *const arguments[], const volatile int *interrupted);

/* The same with the folder as its working folder. */
rb_status rb_child_run_in(const char *folder, char *const arguments[], const volatile int *interrupted);

#endif
