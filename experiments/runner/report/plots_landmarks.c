/* SPDX-License-Identifier: BSD-3-Clause */
/* Plots of landmark matches (shooting2018, Figure 2): the sets before and after, the ways between, and these as
 * frames. */
#include "experiments/runner/report/plots.h"

#include "experiments/runner/record/record.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Of the first valid case that has them. */
static const json_t *found(const rb_judged *j) {
  size_t i;
  json_t *c;
  json_array_foreach(json_object_get(j->record, "cases"), i, c) {
    const json_t *l = json_object_get(json_object_get(c, "details"), "landmarks");
    if (l && strcmp(rb_json_text(c, "status", ""), "valid") == 0) return l;
  }
  return NULL;
}

/* Coordinates of a text "a b a b ..." in whole units (early records: of an array); the caller frees. Count in
 * *values. */
static double *numbers(const json_t *text, double unit, size_t *values) {
  const char *s = json_string_value(text);
  if (json_is_array(text)) {
    double *list = malloc((json_array_size(text) + 1) * sizeof *list);
    for (*values = 0; list && *values < json_array_size(text); ++*values)
      list[*values] = unit * (double)json_integer_value(json_array_get(text, *values));
    return list;
  }
  double *x = s ? malloc((strlen(s) / 2 + 1) * sizeof *x) : NULL;
  char *end;
  *values = 0;
  for (long v; x && (v = strtol(s, &end, 10), end != s); s = end) x[(*values)++] = unit * (double)v;
  return x;
}

/* A block of two columns. */
static void write_set(FILE *data, const json_t *text, double unit) {
  size_t values;
  double *x = numbers(text, unit, &values);
  for (size_t i = 0; i + 1 < values; i += 2) fprintf(data, "%.2f %.2f\n", x[i], x[i + 1]);
  fprintf(data, "\n\n");
  free(x);
}

/* A way is a line of a block: where a point stands at every time. */
static void write_ways(FILE *data, const json_t *paths, double unit) {
  const size_t times = json_array_size(paths);
  size_t values = SIZE_MAX, one;
  double **x = calloc(times + 1, sizeof *x);
  for (size_t t = 0; x && t < times; t++) {
    x[t] = numbers(json_array_get(paths, t), unit, &one);
    if (one < values) values = one; /* of a damaged record, what all times have */
  }
  if (times == 0) values = 0;
  for (size_t i = 0; x && i + 1 < values; i += 2) {
    for (size_t t = 0; t < times; t++)
      if (x[t]) fprintf(data, "%.2f %.2f %zu\n", x[t][i], x[t][i + 1], t);
    fprintf(data, "\n");
  }
  for (size_t t = 0; x && t < times; t++) free(x[t]);
  free(x);
}

static void axes(const json_t *l, FILE *script) {
  const char *plane = rb_json_text(l, "plane", "xy");
  fprintf(script, "set size ratio -1\nset xlabel '%c in mm'\nset ylabel '%c in mm'\nset key top left font ',9'\n",
          plane[0], plane[1]);
}

/* Template yellow, target red, as the paper's figure; on the right the ways from one to the other, light to dark in
 * time. */
int rb_plot_trajectories(const rb_judged *j, const char *data_path, FILE *data, FILE *script) {
  const json_t *l = found(j);
  if (!l) return 0;
  const double unit = json_number_value(json_object_get(l, "unit"));
  const json_t *paths = json_object_get(l, "paths");
  static const char *const sets[] = {"template", "target", "matched"};
  for (int k = 0; k < 3; k++) write_set(data, json_object_get(l, sets[k]), unit);
  write_ways(data, paths, unit);
  fprintf(script, "set multiplot layout 1,3 title TITLE font ',13'\n");
  axes(l, script);
  fprintf(script,
          "set title 'before'\nplot '%s' index 0 with points pt 7 ps 0.25 lc rgb '#e0a800' title 'template', '' "
          "index 1 with points pt 7 ps 0.25 lc rgb '#c02020' title 'target'\n",
          data_path);
  fprintf(script,
          "set title 'after'\nplot '%s' index 2 with points pt 7 ps 0.25 lc rgb '#e0a800' title 'template at t = 1', "
          "'' index 1 with points pt 7 ps 0.25 lc rgb '#c02020' title 'target'\n",
          data_path);
  fprintf(script,
          "set title 'ways of a part of the points'\nset palette defined (0 '#e0a800', 1 '#c02020')\nunset "
          "colorbox\nplot '%s' index 3 using 1:2:3 with lines lw 0.8 lc palette notitle\nunset multiplot\n",
          data_path);
  return 4;
}

/* One frame a time point; written for gnuplot's gif terminal. */
int rb_plot_animation(const rb_judged *j, const char *data_path, FILE *data, FILE *script) {
  const json_t *l = found(j);
  if (!l) return 0;
  const double unit = json_number_value(json_object_get(l, "unit"));
  const json_t *paths = json_object_get(l, "paths");
  const size_t frames = json_array_size(paths);
  write_set(data, json_object_get(l, "target"), unit);
  for (size_t t = 0; t < frames; t++) write_set(data, json_array_get(paths, t), unit);
  axes(l, script);
  fprintf(script,
          "set xrange [*:*] noextend\nset offsets graph 0.05, graph 0.05, graph 0.05, graph 0.05\ndo for [t=0:%zu] "
          "{\n  set title sprintf('t = %%.2f', t / %zu.0)\n",
          frames - 1, frames > 1 ? frames - 1 : 1);
  fprintf(script,
          "  plot '%s' index 0 with points pt 7 ps 0.2 lc rgb '#d8a0a0' title 'target', '' index t + 1 with points "
          "pt 7 ps 0.3 lc rgb '#b08000' title 'template'\n}\n",
          data_path);
  return (int)frames;
}
