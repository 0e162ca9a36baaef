/* The tables of a report: a record's cells beside what is printed, and its claims, each with a verdict. */
#ifndef RB_CELLS_H
#define RB_CELLS_H

#include "experiments/runner/report/table.h"
#include "experiments/runner/report/verdict.h"

/* How often each verdict was given; cases by status. */
typedef struct {
  int reproduced, differs, not_comparable, holds, fails, not_judged, stale, invalid, skipped;
} rb_verdicts;

/* Append to an unused table; the counts grow by what it holds. The table is the caller's to free, also after a failure. */
rb_status rb_cell_table(const rb_judged *j, rb_table *t, rb_verdicts *counts);
rb_status rb_claim_table(const rb_judged *j, rb_table *t, rb_verdicts *counts);
/* Why the case's hardware counters could not be read, or NULL. */
const char *rb_no_counters(const json_t *c);

#endif
