/* SPDX-License-Identifier: BSD-3-Clause */
/* Cells of records as one long CSV: a row a case and column, in SI units, every digit that the record holds. */
#ifndef RB_TIDY_H
#define RB_TIDY_H

#include "experiments/runner/report/verdict.h"

#include <stdio.h>

/* The header line. */
void rb_tidy_head(FILE *out);
/* The record's rows. A case without values has one row with its reason; what the paper prints of methods without a
 * case has the status "printed". */
void rb_tidy_rows(const rb_judged *j, FILE *out);

#endif
