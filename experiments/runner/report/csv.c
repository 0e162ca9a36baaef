/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/report/csv.h"

#include <stdlib.h>
#include <string.h>

static int count_cells(const char *line) {
  int n = 1;
  for (; *line && *line != '\n'; line++) n += *line == ',';
  return n;
}

rb_status rb_csv_parse(const char *text, const char *origin, rb_csv *c) {
  rb_status st = RB_OK;
  int lines = 1, number = 0;
  memset(c, 0, sizeof *c);
  for (const char *s = text; *s; s++) lines += *s == '\n';
  c->text = strdup(text);
  RB_CHECK(c->text, RB_ENOMEM, "host memory");
  for (char *line = c->text, *next; line && *line; line = next) {
    next = strchr(line, '\n');
    if (next) *next++ = '\0';
    number++;
    if (*line && line[strlen(line) - 1] == '\r') line[strlen(line) - 1] = '\0';
    if (*line == '#' || *line == '\0') continue;
    int cells = count_cells(line);
    if (c->rows == 0) {
      c->columns = cells;
      c->cell = calloc((size_t)lines * (size_t)cells, sizeof *c->cell);
      c->line = calloc((size_t)lines, sizeof *c->line);
      RB_CHECK(c->cell && c->line, RB_ENOMEM, "host memory");
    }
    RB_CHECK(cells == c->columns, RB_EFORMAT, "%s:%d: %d cells, the header has %d", origin, number, cells,
             c->columns);
    for (int i = 0; i < cells; i++) {
      c->cell[c->rows * c->columns + i] = line;
      line += strcspn(line, ",");
      if (*line) *line++ = '\0';
    }
    c->line[c->rows++] = number;
  }
done:
  if (st != RB_OK) rb_csv_free(c);
  return st;
}

void rb_csv_free(rb_csv *c) {
  free(c->cell);
  free(c->line);
  free(c->text);
  memset(c, 0, sizeof *c);
}

int rb_csv_column(const rb_csv *c, const char *name) {
  for (int i = 0; i < c->columns && c->rows; i++)
    if (strcmp(c->cell[i], name) == 0) return i;
  return -1;
}
const char *rb_csv_at(const rb_csv *c, int row, int column) { return c->cell[row * c->columns + column]; }
int rb_csv_line(const rb_csv *c, int row) { return c->line[row]; }
