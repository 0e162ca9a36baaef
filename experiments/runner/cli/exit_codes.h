/* SPDX-License-Identifier: BSD-3-Clause */
/* Exit codes of regbench: one meaning each (DESIGN: the program). */
#ifndef RB_EXIT_CODES_H
#define RB_EXIT_CODES_H

enum {
  RB_EXIT_OK = 0,
  RB_EXIT_INTERNAL = 1,       /* a failure inside the program: no file, no memory for itself, I/O */
  RB_EXIT_USAGE = 2,          /* command line or descriptor */
  RB_EXIT_INVALID = 3,        /* a verification failed: of a case, in a check, of a checksum */
  RB_EXIT_REGRESSION = 4,     /* compare: a slow-down beyond --delta is confirmed */
  RB_EXIT_DIFFERS = 5,        /* a published value or a claim fails */
  RB_EXIT_NOT_CONVERGED = 6,  /* register: a solve ended without convergence; the best iterate is written */
  RB_EXIT_NOT_COMPARABLE = 7, /* compare: the records measure different things */
  RB_EXIT_INCOMPLETE = 8,     /* cases are missing: a device failed at work, disk full */
  RB_EXIT_NOTHING = 9,        /* nothing ran */
  RB_EXIT_INTERRUPTED = 130,  /* Ctrl-C; what was measured is kept */
};
#endif
