/* SPDX-License-Identifier: BSD-3-Clause */
#include "datasets/points.h"

#include "datasets/input_file.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void rb_points_free(rb_points *p) {
  free(p->x), free(p->head), free(p->rest);
  memset(p, 0, sizeof *p);
}

static int has_ending(const char *path, const char *ending) {
  size_t n = strlen(path), m = strlen(ending);
  return n >= m && strcasecmp(path + n - m, ending) == 0;
}

/* A copy of `length` characters. NULL without memory. */
static char *copied(const char *from, size_t length) {
  char *to = malloc(length + 1);
  if (to) memcpy(to, from, length), to[length] = '\0';
  return to;
}

/* The first line from `text` on that begins with `word`, in either case, or NULL. */
static const char *line_of(const char *text, const char *word) {
  for (; *text; text += strcspn(text, "\n"), text += *text == '\n')
    if (strncasecmp(text, word, strlen(word)) == 0) return text;
  return NULL;
}

/* How much of what follows the points stays true when they move: all, or what precedes attributes with directions in
 * them. */
static size_t lasting(const char *rest) {
  static const char *const directed[] = {"NORMALS ", "VECTORS ", "TENSORS", "FIELD "}, *const sections[] = {
                                                                                           "POINT_DATA ",
                                                                                           "CELL_DATA "};
  const char *first = rest + strlen(rest);
  int moved = 0;
  for (size_t i = 0; i < sizeof directed / sizeof *directed; i++) moved |= line_of(rest, directed[i]) != NULL;
  for (size_t i = 0; moved && i < sizeof sections / sizeof *sections; i++) {
    const char *at = line_of(rest, sections[i]);
    if (at && at < first) first = at;
  }
  return (size_t)(first - rest);
}

/* n points of three numbers anywhere between spaces. */
static rb_status parse_vtk(const char *path, const char *text, rb_points *out) {
  rb_status st = RB_OK;
  long long n = 0;
  const char *format = text, *at;
  RB_CHECK(strncmp(text, "# vtk DataFile", 14) == 0, RB_EFORMAT,
           "%s is not a legacy VTK file; points are .csv, or legacy VTK", path);
  for (int line = 0; line < 2; line++)
    format += strcspn(format, "\n"), format += *format == '\n'; /* version and title */
  RB_CHECK(strncasecmp(format, "ASCII", 5) == 0, RB_EFORMAT, "%s: binary VTK; save it as ASCII", path);
  at = line_of(format, "POINTS ");
  RB_CHECK(at && sscanf(at + 6, "%lld", &n) == 1 && n > 0 && n <= 1 << 24, RB_EFORMAT,
           "%s: no POINTS, or not 1 to 2^24 of them", path);
  out->head = copied(text, (size_t)(at - text));
  RB_CHECK(out->head, RB_ENOMEM, "host memory");
  at = strchr(at, '\n');
  out->n = n, out->dim = 3;
  out->x = malloc(3 * (size_t)n * sizeof *out->x);
  RB_CHECK(out->x, RB_ENOMEM, "host memory for %lld points", n);
  for (long long i = 0; i < 3 * n; i++) {
    char *end = NULL;
    double v = at ? strtod(at, &end) : 0;
    RB_CHECK(at && end != at, RB_EFORMAT, "%s: %lld of %lld points announced are there", path, i / 3, n);
    RB_CHECK(isfinite(v), RB_EFORMAT, "%s: point %lld holds a NaN or infinite coordinate", path, i / 3 + 1);
    out->x[(i % 3) * n + i / 3] = v;
    at = end;
  }
  at += strspn(at, " \t\r\n");
  RB_CHECK(!*at || isalpha((unsigned char)*at), RB_EFORMAT, "%s: more than the %lld points announced are there", path,
           n);
  if (*at) {
    out->rest = copied(at, lasting(at));
    RB_CHECK(out->rest, RB_ENOMEM, "host memory");
  }
done:
  return st;
}

/* A line of names: no field of it begins as a number does. */
static int is_header(const char *line, const char *end) {
  for (const char *field = line; field < end; field++) {
    char *stop;
    field += strspn(field, " \t\"'");
    if (field < end && (strtod(field, &stop), stop != field) && !isalpha((unsigned char)*field)) return 0;
    while (field < end && *field != ',' && *field != ';') field++;
  }
  return 1;
}

enum { SEPARATORS = -2 };
/* Numbers of a line, at most 4 (more than 3 is an error). -1: something that is no number; SEPARATORS: both kinds, as
 * decimal commas make them. */
static int numbers(const char *line, const char *end, double v[4]) {
  int count = 0;
  if (memchr(line, ',', (size_t)(end - line)) && memchr(line, ';', (size_t)(end - line))) return SEPARATORS;
  while (line < end && count < 4) {
    char *stop;
    v[count] = strtod(line, &stop);
    if (stop == line || stop > end) return -1;
    count++;
    line = stop + strspn(stop, " \t\r");
    if (line < end) {
      if (*line != ',' && *line != ';') return -1;
      line++;
    }
  }
  return count;
}

static rb_status parse_csv(const char *path, const char *text, rb_points *out) {
  rb_status st = RB_OK;
  int64_t lines = 0, row = 0, number = 0;
  if (strncmp(text, "\xef\xbb\xbf", 3) == 0) text += 3; /* a byte order mark, as spreadsheets write it */
  for (const char *s = text; *s; s++) lines += *s == '\n';
  double *by_point = malloc(3 * (size_t)(lines + 1) * sizeof *by_point);
  RB_CHECK(by_point, RB_ENOMEM, "host memory for %s", path);
  for (const char *s = text; *s;) {
    const char *end = s + strcspn(s, "\n");
    double v[4];
    int blank = strspn(s, " \t\r") >= (size_t)(end - s), count = blank ? 0 : numbers(s, end, v);
    number++;
    if (!blank && !(number == 1 && count == -1 && is_header(s, end))) {
      RB_CHECK(count != SEPARATORS, RB_EFORMAT,
               "%s:%lld: ',' and ';' in one line; write decimals with a point, and separate by one of the two", path,
               (long long)number);
      RB_CHECK(count == 2 || count == 3, RB_EFORMAT, "%s:%lld: two or three coordinates a line are needed", path,
               (long long)number);
      RB_CHECK(row == 0 || count == out->dim, RB_EFORMAT, "%s:%lld: %d coordinates after %d", path, (long long)number,
               count, out->dim);
      out->dim = count;
      for (int c = 0; c < count; c++) {
        RB_CHECK(isfinite(v[c]), RB_EFORMAT, "%s:%lld: a NaN or infinite coordinate", path, (long long)number);
        by_point[3 * row + c] = v[c];
      }
      row++;
    }
    s = *end ? end + 1 : end;
  }
  RB_CHECK(row > 0, RB_EFORMAT, "%s holds no points", path);
  out->n = row;
  out->x = malloc((size_t)(out->dim * row) * sizeof *out->x);
  RB_CHECK(out->x, RB_ENOMEM, "host memory for %lld points", (long long)row);
  for (int c = 0; c < out->dim; c++)
    for (int64_t i = 0; i < row; i++) out->x[c * row + i] = by_point[3 * i + c];
done:
  free(by_point);
  return st;
}

rb_status rb_points_read(const char *path, rb_points *out) {
  rb_status st = RB_OK;
  char *text = NULL;
  size_t size = 0;
  memset(out, 0, sizeof *out);
  RB_TRY(rb_input_text(path, &text, &size));
  RB_CHECK(strlen(text) == size || strncmp(text, "# vtk", 5) == 0, RB_EFORMAT, "%s is not a text file", path);
  RB_TRY(has_ending(path, ".csv") ? parse_csv(path, text, out) : parse_vtk(path, text, out));
done:
  free(text);
  if (st != RB_OK) rb_points_free(out);
  return st;
}

rb_status rb_points_write(const char *path, int64_t n, int dim, const double *x, const rb_points *like) {
  rb_status st = RB_OK;
  const int vtk = !has_ending(path, ".csv");
  FILE *f = fopen(path, "w");
  if (!f) return RB_FAIL(RB_EIO, "cannot write %s: %s", path, strerror(errno));
  if (vtk)
    fprintf(f, "%sPOINTS %lld float\n",
            like && like->head ? like->head
                               : "# vtk DataFile Version 2.0\nwritten by regbench\nASCII\nDATASET POLYDATA\n",
            (long long)n);
  for (int64_t i = 0; i < n; i++)
    fprintf(f,
            vtk       ? "%.9g %.9g %.9g\n"
            : dim > 2 ? "%.9g,%.9g,%.9g\n"
                      : "%.9g,%.9g\n",
            x[i], x[n + i], dim > 2 ? x[2 * n + i] : 0.0);
  if (vtk && like && like->rest) fputs(like->rest, f);
  int failed = ferror(f);
  if (fclose(f) != 0 || failed) {
    remove(path);
    st = RB_FAIL(RB_EIO, "cannot write %s completely; is the disk full?", path);
  }
  return st;
}

static const rb_points *sorted_set;
static int by_coordinates(const void *a, const void *b) {
  int64_t i = *(const int64_t *)a, j = *(const int64_t *)b;
  for (int c = 0; c < sorted_set->dim; c++) {
    double u = sorted_set->x[c * sorted_set->n + i], v = sorted_set->x[c * sorted_set->n + j];
    if (u != v) return u < v ? -1 : 1;
  }
  return (i > j) - (i < j);
}

rb_status rb_points_distinct(const rb_points *p, const char *name) {
  rb_status st = RB_OK;
  int64_t *order = malloc((size_t)p->n * sizeof *order);
  RB_CHECK(order, RB_ENOMEM, "host memory");
  for (int64_t i = 0; i < p->n; i++) order[i] = i;
  sorted_set = p;
  qsort(order, (size_t)p->n, sizeof *order, by_coordinates);
  for (int64_t i = 0; i + 1 < p->n; i++) {
    int same = 1;
    for (int c = 0; c < p->dim; c++) same &= p->x[c * p->n + order[i]] == p->x[c * p->n + order[i + 1]];
    RB_CHECK(!same, RB_EINVAL, "%s: points %lld and %lld coincide", name, (long long)order[i] + 1,
             (long long)order[i + 1] + 1);
  }
done:
  free(order);
  return st;
}
