/* SPDX-License-Identifier: BSD-3-Clause */
/* Other programs as child processes. */
#ifndef RB_BASE_PROCESS_H
#define RB_BASE_PROCESS_H

#include "kernels/base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  const char *folder;              /* its working folder; NULL: this program's */
  const char *output;              /* a file to which its output and errors are appended; NULL: this program's own */
  int seconds;                     /* that it may take at most; 0: any time */
  const volatile int *interrupted; /* becomes 1 when it is to be ended; may be NULL */
} rb_process;

enum { RB_PROCESS_ABSENT = 127 }; /* the exit code of a program that could not be started, as a shell's */

/* Runs arguments[0], looked up in PATH, to its end; arguments end with NULL. It has no input. It and what it starts
 * are a process group of their own, which does not outlive this program. *code: its exit code, or minus the signal
 * that ended it. RB_EINTERRUPTED: it was asked to end (SIGTERM), and killed 5 s later if it had not. RB_EIO: it was
 * killed as it took more than `seconds`, or there is no child process to be had. */
rb_status rb_process_run(const rb_process *how, char *const arguments[], int *code);

#ifdef __cplusplus
}
#endif
#endif
