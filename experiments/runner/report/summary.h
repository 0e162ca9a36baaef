/* SPDX-License-Identifier: BSD-3-Clause */
/* Many records at a glance: a line a record, a line a paper, and what could not be judged. */
#ifndef RB_SUMMARY_H
#define RB_SUMMARY_H

#include "experiments/runner/report/cells.h"
#include "experiments/runner/report/table.h"

typedef struct rb_summary rb_summary;

/* Empty; NULL without memory. */
rb_summary *rb_summary_new(void);
/* A record's line; its verdicts are added to *sum, too. Records of printed values have none. RB_ENOMEM. */
rb_status rb_summary_add(rb_summary *s, const rb_judged *j, rb_verdicts *sum);
/* The lines in order of papers, each paper's total after its own; which experiments have no record (of papers that
 * have one); why cases were skipped. */
rb_status rb_summary_print(const rb_summary *s, rb_format format, FILE *out);
void rb_summary_free(rb_summary *s); /* takes NULL */
#endif
