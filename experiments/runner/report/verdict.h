/* SPDX-License-Identifier: BSD-3-Clause */
/* Judging a record: cells against published values, claims against each other. */
#ifndef RB_VERDICT_H
#define RB_VERDICT_H

#include "experiments/runner/report/csv.h"
#include "experiments/runner/descriptor/descriptor.h"

#include <jansson.h>

typedef enum {
  RB_NO_VERDICT,
  RB_REPRODUCED,
  RB_DIFFERS,
  RB_NOT_COMPARABLE,
  RB_SAME_MACHINE,
  RB_OTHER_DATA
} rb_cell_verdict;
typedef enum { RB_HOLDS, RB_FAILS, RB_NOT_JUDGED } rb_claim_verdict;

/* A record opened for judging: its descriptor and published values parsed back from it. */
typedef struct {
  json_t *record; /* borrowed */
  rb_descriptor *descriptor;
  rb_csv published;  /* rows 0 when the record has none */
  char folder[4096]; /* of the record: its pictures lie there */
} rb_judged;

/* origin: the record's path. */
rb_status rb_judged_open(json_t *record, const char *origin, rb_judged *out);
void rb_judged_close(rb_judged *j);

/* The published cell for a case and column name as printed, and its machine; NULL when there is none. */
const char *rb_published_value(const rb_judged *j, const json_t *c, const char *column, const char **machine);
/* The record's case of a method at a place of the axes, or NULL. Borrowed. */
const json_t *rb_judged_case(const rb_judged *j, const char *method, const json_t *axes);
/* A method that the record has no case of: the published rows of it at values of the axes that the record's cases
 * have, each as a case with id, method, axes and kind, for rb_published_value. Empty for a method that was run. New
 * reference. */
json_t *rb_judged_printed(const rb_judged *j, const char *method);
/* A printed value; *bound is '>' or '<' where only a bound is printed (">2200"), else 0. */
double rb_printed_number(const char *printed, char *bound);
/* One unit of the last printed digit: "9.9e-3" -> 1e-4, "2.75" -> 0.01, "221" -> 1. */
double rb_printed_unit(const char *printed);
/* Numeric columns: REPRODUCED within half a unit of the last printed digit, which rounding leaves open, and the
 * column's tolerance beyond that, or within the printed bound; else DIFFERS. Hardware columns are not
 * judged: NOT COMPARABLE beside another machine's, SAME MACHINE beside this one's own (another program's, say). */
rb_cell_verdict rb_judge_cell(const rb_judged *j, const json_t *c, const rb_column *column);
/* For a cell that DIFFERS: a whole unit of the last digit would be enough. */
int rb_cell_within_a_unit(const rb_judged *j, const json_t *c, const rb_column *column);
/* Whether the case's axes have the values of "axis=value,axis=value"; NULL: it has. */
int rb_case_meets(const json_t *c, const char *conditions);
/* HOLDS where every case that can be judged does; FAILS where one does not; NOT JUDGED where none can be, or a case
 * in scope was invalid. Against printed times and rates only this machine's are judged. reason: the worst case, why
 * it is not judged, and how many of the cases behind it are stale; at most `size` bytes. With `spread` the standard
 * deviations of both methods over all cases in scope are compared, where every one is valid. Defined in claims.c. */
rb_claim_verdict rb_judge_claim(const rb_judged *j, const rb_claim *claim, char *reason, size_t size);

const char *rb_cell_verdict_name(rb_cell_verdict v);
const char *rb_claim_verdict_name(rb_claim_verdict v);
/* True when the code behind the case is not the code of this program any more. */
int rb_case_stale(const json_t *c);
#endif
