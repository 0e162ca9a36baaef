/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/report/table.h"

#include "experiments/runner/report/latex.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void rb_table_init(rb_table *t, int columns) {
  memset(t, 0, sizeof *t);
  t->columns = columns;
}

rb_status rb_table_row(rb_table *t) {
  rb_status st = RB_OK;
  if (t->rows == t->capacity) {
    int more = t->capacity ? 2 * t->capacity : 16;
    char ***grown = realloc(t->row, (size_t)more * sizeof *grown);
    RB_CHECK(grown, RB_ENOMEM, "host memory");
    t->row = grown;
    t->capacity = more;
  }
  t->row[t->rows] = calloc((size_t)t->columns, sizeof **t->row);
  RB_CHECK(t->row[t->rows], RB_ENOMEM, "host memory");
  t->rows++;
done:
  return st;
}

void rb_strip_control_chars(char *text) {
  for (unsigned char *s = (unsigned char *)text; *s; s++) {
    if (*s < ' ' || *s == 0x7f) *s = ' ';
    if (*s == 0xc2 && s[1] >= 0x80 && s[1] < 0xa0) s[0] = s[1] = ' '; /* C1 controls in UTF-8 */
  }
}

void rb_table_set(rb_table *t, int column, const char *format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  rb_strip_control_chars(text);
  char **cell = &t->row[t->rows - 1][column];
  free(*cell);
  *cell = strdup(text);
}

void rb_table_free(rb_table *t) {
  for (int r = 0; r < t->rows; r++) {
    for (int c = 0; c < t->columns; c++) free(t->row[r][c]);
    free(t->row[r]);
  }
  free(t->row);
  memset(t, 0, sizeof *t);
}

static const char *cell(const rb_table *t, int r, int c) { return t->row[r][c] ? t->row[r][c] : ""; }

/* A cell of a Markdown table writes '|' as two characters. */
static int shown_width(const char *s, int markdown) {
  int n = 0;
  for (; *s; s++) n += 1 + (markdown && *s == '|');
  return n;
}
static void put_cell(const char *s, int width, int markdown, FILE *out) {
  const int padding = width - shown_width(s, markdown);
  for (; *s; s++) {
    if (markdown && *s == '|') fputc('\\', out);
    fputc(*s, out);
  }
  fprintf(out, "%*s", padding, "");
}

static void aligned(const rb_table *t, const char *left, const char *between, const char *right, int markdown,
                    FILE *out) {
  int *width = calloc((size_t)t->columns, sizeof *width);
  if (!width) return;
  for (int r = 0; r < t->rows; r++)
    for (int c = 0; c < t->columns; c++) {
      const int n = shown_width(cell(t, r, c), markdown);
      if (n > width[c]) width[c] = n;
    }
  for (int r = 0; r < t->rows; r++) {
    fputs(left, out);
    for (int c = 0; c < t->columns; c++) {
      fputs(c ? between : "", out);
      put_cell(cell(t, r, c), width[c], markdown, out);
    }
    fprintf(out, "%s\n", right);
    if (r == 0) {
      fputs(left, out);
      for (int c = 0; c < t->columns; c++) {
        fputs(c ? between : "", out);
        for (int i = 0; i < (width[c] > 2 ? width[c] : 3); i++) fputc('-', out);
      }
      fprintf(out, "%s\n", right);
    }
  }
  free(width);
}

static void csv_cell(const char *s, FILE *out) {
  if (!strpbrk(s, ",\"\n")) {
    fputs(s, out);
    return;
  }
  fputc('"', out);
  for (; *s; s++) {
    if (*s == '"') fputc('"', out);
    fputc(*s, out);
  }
  fputc('"', out);
}

void rb_table_print(const rb_table *t, rb_format format, const char *heading, FILE *out) {
  char title[600];
  snprintf(title, sizeof title, "%s", heading);
  rb_strip_control_chars(title);
  switch (format) {
    case RB_TEXT:
      fprintf(out, "%s\n", title);
      aligned(t, "  ", "  ", "", 0, out);
      break;
    case RB_MARKDOWN:
      fprintf(out, "### %s\n\n", title);
      aligned(t, "| ", " | ", " |", 1, out);
      break;
    case RB_CSV:
      for (int r = 0; r < t->rows; r++)
        for (int c = 0; c < t->columns; c++) {
          csv_cell(cell(t, r, c), out);
          fputc(c + 1 < t->columns ? ',' : '\n', out);
        }
      return;
    case RB_LATEX:
      rb_latex_table(t, title, "", "", out);
      return;
  }
  fputc('\n', out);
}

rb_status rb_format_parse(const char *name, rb_format *out) {
  static const char *const names[] = {"text", "md", "csv", "latex"};
  for (int i = 0; i < 4; i++)
    if (strcmp(name, names[i]) == 0) {
      *out = (rb_format)i;
      return RB_OK;
    }
  return RB_FAIL(RB_EINVAL, "unknown format '%s': text, md, csv, latex", name);
}

void rb_format_value(double v, const char *unit, char *out, size_t size) {
  static const struct {
    const char *unit, *big[3];
    double scale[3];
  } table[] = {{"s", {"s", "ms", "us"}, {1, 1e-3, 1e-6}},
               {"B/s", {"TB/s", "GB/s", "MB/s"}, {1e12, 1e9, 1e6}},
               {"FLOP/s", {"TFLOP/s", "GFLOP/s", "MFLOP/s"}, {1e12, 1e9, 1e6}}};
  if (v != v) {
    snprintf(out, size, "%s", "");
    return;
  }
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (strcmp(unit, table[i].unit) == 0) {
      int k = fabs(v) >= table[i].scale[0] ? 0 : fabs(v) >= table[i].scale[1] ? 1 : 2;
      snprintf(out, size, "%.4g %s", v / table[i].scale[k], table[i].big[k]);
      return;
    }
  if (strcmp(unit, "%") == 0)
    snprintf(out, size, "%.1f", v);
  else if (v != 0 && (fabs(v) < 1e-2 || fabs(v) >= 1e6))
    snprintf(out, size, "%.2e", v);
  else
    snprintf(out, size, "%.4g", v);
}
