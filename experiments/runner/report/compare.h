/* SPDX-License-Identifier: BSD-3-Clause */
/* regbench compare: two records, case by case. */
#ifndef RB_COMPARE_H
#define RB_COMPARE_H

#include "experiments/runner/report/table.h"

#include <jansson.h>

typedef enum { RB_FASTER, RB_SLOWER, RB_SAME, RB_AMBIGUOUS, RB_INCOMPARABLE } rb_compare_verdict;

/* ratio = time of B / time of A with an interval from the medians' own intervals.
 * SAME when the interval lies within 1 -+ delta, FASTER or SLOWER when it lies beyond that band, AMBIGUOUS across an
 * edge. */
rb_compare_verdict rb_compare_times(const double a[3], const double b[3], double delta, double ratio[3]);
const char *rb_compare_name(rb_compare_verdict v);

/* The field in which two cases of one id differ so that their times mean different things, or NULL. */
const char *rb_incomparable_field(const json_t *record_a, const json_t *a, const json_t *record_b, const json_t *b);

/* The published values of a record's experiment as records, one for each machine they were measured on: source
 * "published", one sample, no interval. New reference to an array, empty when nothing is printed for the record's
 * cases. */
json_t *rb_published_records(const json_t *record, const char *origin);

/* b: a record, or "published" for the paper's values of a's experiment. A case that A timed and B's record has not,
 * or not valid, is LOST. Where a time has fewer than six samples, whose 95 % interval is not known, 10 % of the ratio
 * to either side are taken. strict: an AMBIGUOUS case whose median is slower beyond delta counts as slower. Exit
 * code: 0; 3 where a case that A timed is invalid in B; 4; 7; 8 where others are lost; 9. */
int rb_compare(const char *a, const char *b, double delta, int strict, rb_format format);
#endif
