/* SPDX-License-Identifier: BSD-3-Clause */
/* The journal beside a record: a header line where a run begins, a line a case as soon as it is measured. What of it
 * a run with --resume keeps, and of which run each kept case is. */
#ifndef RB_JOURNAL_H
#define RB_JOURNAL_H

#include "experiments/runner/record/record.h"

/* Append one line and see it reach the disk. RB_EIO (disk full) leaves the lines before it whole. */
rb_status rb_journal_append(rb_record_place *place, const json_t *line);

typedef struct {
  json_t *cases; /* id to case; its "run" is an index of `runs` */
  json_t *runs;  /* regbench, begun, machine, roofs of each header line */
  int others;    /* cases of other code, build or host: not kept */
} rb_journal_kept;
/* Lines that do not parse (a torn last one), cases whose code has changed since (unless any_code) and those after a
 * header line of another "host" (build, processor, GPU, driver) are not kept. A header with another descriptor makes
 * the journal worthless: RB_EINVAL. */
rb_status rb_journal_read(const rb_record_place *place, const json_t *header, int any_code, rb_journal_kept *out);
/* The header line of the last run; NULL: there is none. New reference. */
json_t *rb_journal_last_header(const rb_record_place *place);
void rb_journal_kept_free(rb_journal_kept *kept);

/* Where no journal is and a record of the same descriptor is (they travel without): its cases and their runs become
 * the journal. *recalled: cases, 0 where there was nothing to recall. */
rb_status rb_journal_recall(rb_record_place *place, const json_t *header, int *recalled);

/* What `runs` of a record holds of whose cases some are kept: those runs and, where it measured any, the present one;
 * every case's "run" becomes an index of it. NULL: all cases are of the present run. New reference. */
json_t *rb_journal_runs(const rb_journal_kept *kept, const json_t *header, json_t *cases);
#endif
