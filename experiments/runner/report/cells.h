/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of a report: a record's cells beside what is printed, and its claims, each with a verdict. */
#ifndef RB_CELLS_H
#define RB_CELLS_H

#include "experiments/runner/report/table.h"
#include "experiments/runner/report/verdict.h"

/* What a judged cell says about a paper. Only the first kind reproduces it. */
typedef enum {
  RB_CELL_PRINTED, /* a variant of the paper's against the cell that the paper prints for it */
  RB_CELL_AS,      /* ours, or a CPU twin, against the cell printed for another method (published_as) */
  RB_CELL_PROGRAM, /* against a value that no paper prints: measured with another program (origin: program) */
  RB_CELL_INPUT, /* a property of the input, before any method acts on it (origin: input); counted once a place of the
                    axes, not once a method */
  RB_CELL_KINDS
} rb_cell_kind;

/* How often each verdict was given; cases by status. */
typedef struct {
  int reproduced[RB_CELL_KINDS], differs[RB_CELL_KINDS];
  int within_a_unit[RB_CELL_KINDS]; /* of those that differ */
  int not_comparable, other_data, holds, fails, not_judged, stale, invalid, skipped;
} rb_verdicts;

rb_cell_kind rb_cell_kind_of(const rb_judged *j, const json_t *c, const rb_column *column);
/* Cells that differ, of all kinds. */
int rb_verdicts_differ(const rb_verdicts *s);
/* "Cells that the paper prints for its own variants: 11 of 12 REPRODUCED. ..." with a sentence for each kind that
 * occurs. malloc'ed; NULL without memory. */
char *rb_verdicts_cells_text(const rb_verdicts *s);

/* Append to an unused table; the counts grow by what it holds. The table is the caller's to free, also after a
 * failure. */
rb_status rb_cell_table(const rb_judged *j, rb_table *t, rb_verdicts *counts);
rb_status rb_claim_table(const rb_judged *j, rb_table *t, rb_verdicts *counts);
/* The number behind a cell, in SI units: the metric, or how many times as fast as the method that the column is
 * relative to; NaN where there is none. */
double rb_cell_value(const rb_judged *j, const json_t *c, const rb_column *column);
/* Why the case's hardware counters could not be read, or NULL. */
const char *rb_no_counters(const json_t *c);
/* What stands beside a valid case in its table: that its code has changed since, that the GPU was throttled; or "".
 */
const char *rb_case_note(const json_t *c);

#endif
