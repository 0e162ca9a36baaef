/* SPDX-License-Identifier: BSD-3-Clause */
/* A table of strings and its four renderings. */
#ifndef RB_TABLE_H
#define RB_TABLE_H

#include "kernels/base/status.h"

#include <stdio.h>

typedef enum { RB_TEXT, RB_MARKDOWN, RB_CSV, RB_LATEX } rb_format;

typedef struct {
  char ***row; /* row[0] is the header */
  int rows, columns, capacity;
} rb_table;

void rb_table_init(rb_table *t, int columns);
/* Appends an empty row; cells are set by rb_table_set. RB_ENOMEM. */
rb_status rb_table_row(rb_table *t);
/* Cell of the last row, printf-style. */
/* One line of it: control characters, which could steer a terminal or break a table, become blanks. In place. */
void rb_strip_control_chars(char *text);
void rb_table_set(rb_table *t, int column, const char *format, ...) __attribute__((format(printf, 3, 4)));
void rb_table_print(const rb_table *t, rb_format format, const char *title, FILE *out);
void rb_table_free(rb_table *t);
rb_status rb_format_parse(const char *name, rb_format *out);

/* 0.000123 s -> "123 us" and so on; "" for NaN. Units: s, B/s, FLOP/s, %, anything else plain. */
void rb_format_value(double value, const char *unit, char *out, size_t size);
#endif
