/* SPDX-License-Identifier: BSD-3-Clause */
/* measure images, labels, field, points: text for people, the same numbers as JSON. */
#include "datasets/displacement_file.h"
#include "datasets/points.h"
#include "datasets/world.h"
#include "experiments/runner/cli/commands.h"
#include "experiments/runner/cli/exit_codes.h"
#include "experiments/runner/cli/measure.h"
#include "experiments/runner/inputs/label_table.h"
#include "experiments/runner/report/signed_rank.h"
#include "solvers/common/by_displacement.h"
#include "solvers/common/displacement_quality.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const char *path[2];
  int json;
} wishes;

static int parse(int argc, char **argv, const char *what, int files, wishes *w) {
  int paths = 0;
  *w = (wishes){0};
  for (int i = 0; i < argc; i++) {
    if (strcmp(argv[i], "--json") == 0)
      w->json = 1;
    else if (argv[i][0] == '-')
      return rb_usage("measure", "%s: unknown option '%s'", what, argv[i]);
    else if (paths == files)
      return rb_usage("measure", "%s: %d file%s, not more", what, files, files > 1 ? "s" : "");
    else
      w->path[paths++] = argv[i];
  }
  return paths == files
             ? RB_EXIT_OK
             : rb_usage("measure", "%s: %d file%s", what, files, files > 1 ? "s are needed" : " is needed");
}

/* ---- numbers with names ----------------------------------------------------------------------------------- */

typedef struct {
  const char *name, *unit;
  double value;
} number;

static json_t *json_of(const number *n, int count) {
  json_t *j = json_object();
  for (int k = 0; k < count; k++)
    json_object_set_new(j, n[k].name, isfinite(n[k].value) ? json_real(n[k].value) : json_null());
  return j;
}
/* Rows (which may be NULL) are told as JSON alone; their table is the caller's. */
static void print(const wishes *w, const number *n, int count, json_t *rows) {
  if (w->json) {
    json_t *j = json_of(n, count);
    if (rows) json_object_set_new(j, "labels", rows);
    json_dumpf(j, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    putchar('\n');
    json_decref(j);
    return;
  }
  for (int k = 0; k < count; k++) {
    const int named = isfinite(n[k].value) && strcmp(n[k].unit, "1") != 0;
    char value[32];
    snprintf(value, sizeof value, isfinite(n[k].value) ? "%.9g" : "none", n[k].value);
    printf("%-24s %s%s%s\n", n[k].name, value, named ? " " : "", named ? n[k].unit : "");
  }
  json_decref(rows);
}

static int finish(rb_status st) {
  if (st == RB_OK) return RB_EXIT_OK;
  fprintf(stderr, "regbench measure: %s\n", rb_message());
  return st == RB_ENOMEM ? RB_EXIT_INCOMPLETE : RB_EXIT_USAGE;
}

/* Two volumes whose voxels lie at the same places. */
static rb_status read_both(const wishes *w, rb_volume v[2]) {
  rb_status st = RB_OK;
  for (int k = 0; k < 2; k++) RB_TRY(rb_volume_read(w->path[k], &v[k]));
  RB_CHECK(rb_volume_same_lattice(&v[0], &v[1]), RB_EINVAL,
           "%s and %s are of different lattices; bring one onto the other first (regbench apply --like)", w->path[0],
           w->path[1]);
done:
  return st;
}

/* ---- kinds ------------------------------------------------------------------------------------------------ */

int rb_measure_images(int argc, char **argv) {
  rb_status st = RB_OK;
  rb_volume v[2] = {0};
  double sum[2] = {0}, square[2] = {0}, product = 0, difference = 0, most = 0;
  wishes w;
  const int code = parse(argc, argv, "images", 2, &w);
  if (code != RB_EXIT_OK) return code;
  RB_TRY(read_both(&w, v));
  const int64_t n = rb_grid_points(v[0].grid);
  for (int64_t i = 0; i < n; i++) {
    const double a = (double)v[0].data[i], b = (double)v[1].data[i];
    sum[0] += a, sum[1] += b, square[0] += a * a, square[1] += b * b;
    difference += (a - b) * (a - b), most = fmax(most, fabs(a - b));
  }
  const double mean[2] = {sum[0] / (double)n, sum[1] / (double)n};
  double spread[2] = {0};
  for (int64_t i = 0; i < n; i++) {
    const double a = (double)v[0].data[i] - mean[0], b = (double)v[1].data[i] - mean[1];
    product += a * b, spread[0] += a * a, spread[1] += b * b;
  }
  const number numbers[] = {{"voxels", "1", (double)n},
                            {"mean_a", "1", mean[0]},
                            {"mean_b", "1", mean[1]},
                            {"rms_difference", "1", sqrt(difference / (double)n)},
                            {"greatest_difference", "1", most},
                            {"relative_difference", "1", sqrt(difference / square[1])},
                            {"correlation", "1", product / sqrt(spread[0] * spread[1])}};
  print(&w, numbers, sizeof numbers / sizeof *numbers, NULL);
done:
  rb_volume_free(&v[0]), rb_volume_free(&v[1]);
  return finish(st);
}

int rb_measure_labels(int argc, char **argv) {
  rb_status st = RB_OK;
  rb_volume v[2] = {0};
  json_t *rows = json_array();
  wishes w;
  const int code = parse(argc, argv, "labels", 2, &w);
  if (code != RB_EXIT_OK) {
    json_decref(rows);
    return code;
  }
  RB_TRY(read_both(&w, v));
  for (int k = 0; k < 2; k++) {
    const int64_t bad = rb_overlap_first_bad(rb_grid_points(v[k].grid), v[k].data);
    RB_CHECK(bad < 0, RB_EFORMAT, "%s: voxel %lld holds %g; labels are whole numbers from 0 to %d", w.path[k],
             (long long)bad, (double)v[k].data[bad], RB_LABELS - 1);
  }
  rb_label_table t;
  RB_TRY(rb_label_table_of(v[0].grid, v[0].spacing, v[0].data, v[1].data, &t));
  RB_CHECK(t.overlap.count, RB_EINVAL, "neither map holds a label above 0");
  if (!w.json) printf("label  Dice      HD95, mm  mean surface distance, mm\n");
  for (int l = 1; l < RB_LABELS; l++) {
    const rb_border_distance d = t.row[l].border;
    if (isnan(t.row[l].dice)) continue;
    const number row[] = {{"label", "1", l},
                          {"dice", "1", t.row[l].dice},
                          {"hd95", "mm", d.hd95},
                          {"hausdorff", "mm", d.largest},
                          {"mean_surface_distance", "mm", d.mean}};
    json_array_append_new(rows, json_of(row, sizeof row / sizeof *row));
    if (!w.json && isnan(d.hd95)) printf("%-6d %-9.6f in one map only\n", l, t.row[l].dice);
    if (!w.json && !isnan(d.hd95)) printf("%-6d %-9.6f %-9.6g %.6g\n", l, t.row[l].dice, d.hd95, d.mean);
  }
  const number numbers[] = {{"label_count", "1", t.overlap.count}, {"dice_mean", "1", t.overlap.mean},
                            {"dice_least", "1", t.overlap.least},  {"dice_of_all_labels", "1", t.overlap.all},
                            {"hd95_mean", "mm", t.hd95},           {"surface_distance_mean", "mm", t.mean_distance}};
  if (!w.json) putchar('\n');
  print(&w, numbers, sizeof numbers / sizeof *numbers, rows);
  rows = NULL;
done:
  json_decref(rows);
  rb_volume_free(&v[0]), rb_volume_free(&v[1]);
  return finish(st);
}

int rb_measure_field(int argc, char **argv) {
  rb_status st = RB_OK;
  rb_volume lattice = {0};
  float *u = NULL, *det = NULL;
  double longest = 0, length = 0;
  wishes w;
  const int code = parse(argc, argv, "field", 1, &w);
  if (code != RB_EXIT_OK) return code;
  RB_TRY(rb_displacement_lattice(w.path[0], &lattice));
  const rb_grid g = lattice.grid;
  const int64_t n = rb_grid_points(g);
  u = malloc(3 * (size_t)n * sizeof *u), det = malloc((size_t)n * sizeof *det);
  RB_CHECK(u && det, RB_ENOMEM, "host memory: %zu bytes for %s", 4 * (size_t)n * sizeof *u, w.path[0]);
  RB_TRY(rb_displacement_read(w.path[0], g, u));
  RB_TRY(rb_displacement_determinant(g, u, det));
  const rb_affine a = rb_volume_affine(&lattice, g);
  for (int64_t i = 0; i < n; i++) {
    double mm = 0;
    for (int r = 0; r < 3; r++)
      mm += pow(a.m[r][0] * (double)u[2 * n + i] + a.m[r][1] * (double)u[n + i] + a.m[r][2] * (double)u[i], 2);
    longest = fmax(longest, sqrt(mm)), length += sqrt(mm);
  }
  const rb_determinant_summary d = rb_summarise_determinant(n, det);
  const number numbers[] = {{"voxels", "1", (double)n},
                            {"det_least", "1", d.least},
                            {"det_greatest", "1", d.greatest},
                            {"det_mean", "1", d.mean},
                            {"det_sd", "1", d.sd},
                            {"folds", "%", d.percent_folds},
                            {"log_det_sd", "1", d.log_sd},
                            {"displacement_longest", "mm", longest},
                            {"displacement_mean", "mm", length / (double)n}};
  print(&w, numbers, sizeof numbers / sizeof *numbers, NULL);
done:
  free(det), free(u);
  rb_volume_free(&lattice);
  return finish(st);
}

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int rb_measure_points(int argc, char **argv) {
  rb_status st = RB_OK;
  rb_points p[2] = {{0}, {0}};
  double *d = NULL, sum = 0, square = 0;
  wishes w;
  const int code = parse(argc, argv, "points", 2, &w);
  if (code != RB_EXIT_OK) return code;
  for (int k = 0; k < 2; k++) RB_TRY(rb_points_read(w.path[k], &p[k]));
  const int64_t n = p[0].n;
  RB_CHECK(n == p[1].n && p[0].dim == p[1].dim, RB_EINVAL,
           "%lld points of %d coordinates and %lld of %d: corresponding points are as many", (long long)n, p[0].dim,
           (long long)p[1].n, p[1].dim);
  d = malloc((size_t)n * sizeof *d);
  RB_CHECK(d, RB_ENOMEM, "host memory");
  for (int64_t i = 0; i < n; i++) {
    double squared = 0;
    for (int a = 0; a < p[0].dim; a++) squared += pow(p[0].x[a * n + i] - p[1].x[a * n + i], 2);
    d[i] = sqrt(squared), sum += d[i], square += squared;
  }
  qsort(d, (size_t)n, sizeof *d, ascending);
  const double mean = sum / (double)n;
  const number numbers[] = {{"points", "1", (double)n},
                            {"distance_mean", "mm", mean},
                            {"distance_sd", "mm", sqrt(fmax(0, square / (double)n - mean * mean))},
                            {"distance_median", "mm", rb_quantile(n, d, 0.5)},
                            {"distance_95_percent", "mm", rb_quantile(n, d, 0.95)},
                            {"distance_greatest", "mm", d[n - 1]}};
  print(&w, numbers, sizeof numbers / sizeof *numbers, NULL);
done:
  free(d);
  rb_points_free(&p[0]), rb_points_free(&p[1]);
  return finish(st);
}
