/* SPDX-License-Identifier: BSD-3-Clause */
/* regbench compare: two records, case by case. */
#ifndef RB_COMPARE_H
#define RB_COMPARE_H

#include "experiments/runner/report/table.h"
#include "experiments/runner/report/verdict.h"

#include <jansson.h>
#include <stdio.h>

typedef enum { RB_FASTER, RB_SLOWER, RB_SAME, RB_AMBIGUOUS, RB_INCOMPARABLE } rb_compare_verdict;

/* ratio = time of B / time of A with an interval from the medians' own intervals.
 * SAME when the interval lies within 1 -+ delta, FASTER or SLOWER when it lies beyond that band, AMBIGUOUS across an
 * edge. */
rb_compare_verdict rb_compare_times(const double a[3], const double b[3], double delta, double ratio[3]);
const char *rb_compare_name(rb_compare_verdict v);

/* The field in which two cases of one id differ so that their times mean different things, or NULL. */
const char *rb_incomparable_field(const json_t *record_a, const json_t *a, const json_t *record_b, const json_t *b);

/* A case of A and B's of the same id, with the times of both: median, low, high. */
typedef enum {
  RB_PAIR_NONE,    /* A has no time, or nobody is to have one */
  RB_PAIR_LOST,    /* A timed it, B did not */
  RB_PAIR_DIFFERS, /* `field` tells in what: the times mean different things */
  RB_PAIR_TIMED
} rb_pair_kind;
typedef struct {
  rb_pair_kind kind;
  const json_t *other; /* B's case, or NULL */
  const char *field;
  double a[3], b[3];
  int assumed; /* fewer samples than an interval needs: B's is widened */
} rb_timed_pair;
rb_timed_pair rb_timed_pair_of(const rb_judged *a, const json_t *c, const rb_judged *b);

/* The published values of a record's experiment as records, one for each machine they were measured on: source
 * "published", one sample, no interval. New reference to an array, empty when nothing is printed for the record's
 * cases. */
json_t *rb_published_records(const json_t *record, const char *origin);

typedef struct {
  double delta;
  rb_format format;
  FILE *out; /* the tables */
} rb_compare_options;

typedef struct {
  int compared, incomparable;        /* cases that both timed; of these, those that measure different things */
  int verdicts[RB_INCOMPARABLE + 1]; /* of the others */
  int lost, wrong;                   /* cases that A timed and B has not; that are invalid in B */
  int assumed;                       /* cases with a time whose interval is assumed */
  int ambiguous_slower;              /* AMBIGUOUS with a median that is slower beyond delta */
  char different[360];               /* the records are of different experiments: which; nothing is compared */
} rb_comparison;

/* How many samples a time needs for an interval of its own, and what is assumed to either side of fewer. */
enum { RB_COMPARE_LEAST_SAMPLES = 6 };
#define RB_COMPARE_ASSUMED 0.1

/* b: a record, or "published" for the paper's values of a's experiment. A case that A timed and B's record has not,
 * or not valid, is LOST. Where a time has fewer than six samples, whose 95 % interval is not known, 10 % of the ratio
 * to either side are taken. */
rb_status rb_compare(const char *a, const char *b, const rb_compare_options *options, rb_comparison *out);
#endif
