/* SPDX-License-Identifier: BSD-3-Clause */
/* A table of cells as it is read: ours, printed value and verdict in one column, what is said of several rows said
 * once below. */
#ifndef RB_FOLD_H
#define RB_FOLD_H

#include "experiments/runner/report/table.h"

/* What stands below a folded table. Texts are those of the table that was folded: no longer than it. */
typedef struct {
  const char *all;     /* the one note that every row has, or NULL */
  const char **note;   /* else distinct notes of rows, in the order of their numbers */
  const char **reason; /* distinct reasons of skipped cases */
  int *cases;          /* by reason */
  int notes, reasons;
  int ok, elsewhere; /* cells that are REPRODUCED, NOT COMPARABLE */
} rb_fold;

/* True where the columns behind column c of a table of rb_cell_table, "published" and "verdict", are of its cells. */
int rb_fold_is_judged(const rb_table *cells, int c);

/* A table of rb_cell_table without skipped cases: a cell is "ours (printed) verdict", a note its number. The column
 * of notes goes where there are none, that of variants where it repeats the methods. RB_ENOMEM; *out and *fold are
 * the caller's to free, also after a failure. */
rb_status rb_fold_cells(const rb_table *cells, rb_table *out, rb_fold *fold);
/* How cells are to be read: "" or sentences on one line. */
void rb_fold_legend(const rb_fold *f, FILE *out);
/* Notes a line a number, skipped cases a line a reason, each behind `bullet`. */
void rb_fold_notes(const rb_fold *f, const char *bullet, FILE *out);
void rb_fold_free(rb_fold *f);

#endif
