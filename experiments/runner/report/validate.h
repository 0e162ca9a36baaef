/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a record that somebody sends agrees with itself: what is derived is worked out again from what was
 * measured, and times are held against what the machine can do. A record that was made up with care passes: nothing
 * in it is signed. */
#ifndef RB_VALIDATE_H
#define RB_VALIDATE_H

#include "kernels/base/status.h"

#include <stdio.h>

typedef struct {
  int records, cases, contradictions, incomplete, dirty;
} rb_validation;

/* Each contradiction is a line on `out`; the counts grow. What rb_record_load
 * refuses: it is no record, a case is there twice or valid without a verification, a checksum is another. */
rb_status rb_validate_record(const char *path, FILE *out, rb_validation *counts);
#endif
