/* SPDX-License-Identifier: BSD-3-Clause */
/* Published values: a CSV with a header line; values stay as printed. Lines that start with '#' are comments. */
#ifndef RB_CSV_H
#define RB_CSV_H

#include "kernels/base/status.h"

typedef struct {
  char *text;  /* owned; cells point into it */
  char **cell; /* rows x columns, row 0 the header */
  int *line;   /* of the file, by row */
  int rows, columns;
} rb_csv;

/* RB_EFORMAT names origin and line of a row with another number of cells. */
rb_status rb_csv_parse(const char *text, const char *origin, rb_csv *out);
void rb_csv_free(rb_csv *c);
/* Column of a header name, or -1. */
int rb_csv_column(const rb_csv *c, const char *name);
const char *rb_csv_at(const rb_csv *c, int row, int column);
int rb_csv_line(const rb_csv *c, int row);
#endif
