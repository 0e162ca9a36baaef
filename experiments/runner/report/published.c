/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/report/published.h"

#include "experiments/runner/base/files.h"
#include "experiments/runner/report/csv.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A printed cell: a number that is read to its end, after '<' or '>' a bound. */
static int is_printed_number(const char *s) {
  char *end;
  s += *s == '<' || *s == '>';
  strtod(s, &end);
  return end > s && *end == '\0';
}

/* Cells that will be judged must be numbers: read as 0 they would be close to small errors. */
static rb_status check_cells(const rb_descriptor *d, const rb_csv *csv, const char *file) {
  rb_status st = RB_OK;
  for (unsigned k = 0; k < d->columns_count; k++) {
    const int column = d->columns[k].class == RB_INFO ? -1 : rb_csv_column(csv, d->columns[k].name);
    for (int r = 1; column >= 0 && r < csv->rows; r++) {
      const char *cell = rb_csv_at(csv, r, column);
      RB_CHECK(!cell[0] || is_printed_number(cell), RB_EFORMAT,
               "%s:%d: '%s' in column '%s' is no number; leave the cell empty, or write a bound as >VALUE or <VALUE",
               file, rb_csv_line(csv, r), cell, d->columns[k].name);
    }
  }
done:
  return st;
}

/* Neither "..", an absolute path nor a link leads out of the descriptor's folder: what is read goes into records. */
static rb_status stays_beside(const char *file, const char *descriptor) {
  rb_status st = RB_OK;
  char folder[4300];
  const char *slash = strrchr(descriptor, '/');
  snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - descriptor + 1) : 1, slash ? descriptor : ".");
  char *real = realpath(file, NULL), *base = realpath(folder, NULL);
  const size_t length = base ? strlen(base) : 0;
  RB_CHECK(real && base, RB_ENOTFOUND, "cannot open %s: %s", file, strerror(errno));
  RB_CHECK(strncmp(real, base, length) == 0 && (real[length] == '/' || strcmp(base, "/") == 0), RB_EFORMAT,
           "%s leads out of the descriptor's folder, to %s", file, real);
done:
  free(real), free(base);
  return st;
}

rb_status rb_published_read(const rb_descriptor *d, const char *path, char **text) {
  rb_status st = RB_OK;
  json_t *as_record = NULL;
  char file[4300];
  rb_csv csv = {0};
  *text = NULL;
  if (!d->published) return RB_OK;
  const char *slash = strrchr(path, '/');
  RB_TRY(rb_path(file, sizeof file, "%.*s%s", slash ? (int)(slash - path + 1) : 0, path, d->published));
  RB_TRY(stays_beside(file, path));
  RB_TRY(rb_read_file(file, text, NULL));
  RB_TRY(rb_csv_parse(*text, file, &csv));
  for (unsigned k = 0; k < d->columns_count; k++)
    RB_CHECK(d->columns[k].class == RB_INFO || rb_csv_column(&csv, d->columns[k].name) >= 0, RB_EFORMAT,
             "%s has no column '%s' of %s", file, d->columns[k].name, path);
  RB_TRY(check_cells(d, &csv, file));
  as_record = json_string(*text);
  RB_CHECK(as_record, RB_EFORMAT, "%s is not UTF-8 text: a record could not hold it", file);
done:
  json_decref(as_record);
  rb_csv_free(&csv);
  if (st != RB_OK) {
    free(*text);
    *text = NULL;
  }
  return st;
}
