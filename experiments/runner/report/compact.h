/* SPDX-License-Identifier: BSD-3-Clause */
/* A table of cells as it is read: ours, printed value and verdict in one column, what is said of several rows said
 * once below. */
#ifndef RB_COMPACT_H
#define RB_COMPACT_H

#include "experiments/runner/report/table.h"

/* What stands below a compact table. Texts are those of the table that it was made of: no longer than it. */
typedef struct {
  const char *all;     /* the one note that every row has, or NULL */
  const char **note;   /* else distinct notes of rows, in the order of their numbers */
  const char **reason; /* distinct reasons of skipped cases */
  int *cases;          /* by reason */
  int notes, reasons;
  int ok, elsewhere; /* cells that are REPRODUCED, NOT COMPARABLE */
} rb_compact;

/* True where the columns behind column c of a table of rb_cell_table, "published" and "verdict", are of its cells. */
int rb_compact_is_judged(const rb_table *cells, int c);

/* A table of rb_cell_table without skipped cases: a cell is "ours (printed) verdict", a note its number. The column
 * of notes goes where there are none, that of variants where it repeats the methods. RB_ENOMEM; *out and *compact are
 * the caller's to free, also after a failure. */
rb_status rb_compact_cells(const rb_table *cells, rb_table *out, rb_compact *compact);
/* How cells are to be read: "" or sentences on one line. */
void rb_compact_legend(const rb_compact *f, FILE *out);
/* Notes a line a number, skipped cases a line a reason, each behind `bullet`. */
void rb_compact_notes(const rb_compact *f, const char *bullet, FILE *out);
void rb_compact_free(rb_compact *f);

#endif
