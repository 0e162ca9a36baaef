/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/report/baselines.h"

#include "experiments/runner/base/files.h"
#include "experiments/runner/report/baselines_impl.h"
#include "experiments/runner/report/signed_rank.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const rb_baseline_measure rb_baseline_measures[RB_MEASURES] = {
    {"Dice", "dice", "1", 1, 1, {"label_table", "after", "dice_mean"}},
    {"HD95", "hd95", "mm", 1, -1, {"label_table", "after", "hd95_mean"}},
    {"TRE", "tre", "mm", 1, -1, {"points", "after", "mean"}},
    {"mismatch", "mismatch", "1", 1, -1, {"by_displacement", "mismatch", NULL}},
    {"folds", "folds", "%", 1, -1, {"jacobian", "percent_folds", NULL}},
    {"SD of log det", "log_det_sd", "1", 1, 0, {"jacobian", "log_sd", NULL}},
    {"time", "time", "s", 1, -1, {"seconds", "solver", NULL}},
    {"energy GPU", "energy_gpu", "J", 1, -1, {"energy_joule", NULL, NULL}},
    {"energy CPU", "energy_cpu", "J", 1, -1, {"energy_cpu_joule", NULL, NULL}},
    {"memory", "memory", "GB", 1e-9, -1, {"memory_peak_bytes", NULL, NULL}},
};

/* ---- the folder ------------------------------------------------------------------------------------------- */

rb_status rb_baselines_index(const char *folder, int methods, const char *const *names, int pairs,
                             const rb_listed_pair *list) {
  rb_status st = RB_OK;
  char path[4096], *text = NULL;
  json_t *m = json_array(), *p = json_array(), *j = json_pack("{s:o,s:o}", "methods", m, "pairs", p);
  for (int k = 0; k < methods; k++) json_array_append_new(m, json_string(names[k]));
  for (int i = 0; i < pairs; i++) json_array_append_new(p, json_string(list[i].name));
  text = json_dumps(j, JSON_INDENT(1));
  RB_CHECK(text, RB_ENOMEM, "host memory");
  RB_TRY(rb_path(path, sizeof path, "%s/baselines.json", folder));
  RB_TRY(rb_write_atomically(path, text, strlen(text)));
done:
  free(text);
  json_decref(j);
  return st;
}
int rb_baselines_is(const char *folder) {
  char path[4096];
  snprintf(path, sizeof path, "%s/baselines.json", folder);
  return access(path, R_OK) == 0;
}

static double number_at(const json_t *j, const char *const path[3]) {
  for (int k = 0; k < 3 && path[k]; k++) j = json_object_get(j, path[k]);
  return json_is_number(j) ? json_number_value(j) : NAN;
}

static void take(rb_baselines *b, int i, int k, const json_t *metrics) {
  static const char *const dice[3] = {"label_table", "before", "dice_mean"},
                           *const hd95[3] = {"label_table", "before", "hd95_mean"},
                           *const tre[3] = {"points", "before", "mean"};
  for (int m = 0; m < RB_MEASURES; m++)
    rb_baseline_at(b, m, k)[i] = rb_baseline_measures[m].scale * number_at(metrics, rb_baseline_measures[m].path);
  double *memory = rb_baseline_at(b, RB_MEASURES - 1, k) + i; /* a program's own is not known */
  if (*memory == 0) *memory = NAN;
  const double before[3] = {number_at(metrics, dice), number_at(metrics, hd95), number_at(metrics, tre)};
  for (int m = 0; m < 3; m++)
    if (isnan(b->before[m * b->pairs + i])) b->before[m * b->pairs + i] = before[m];
  const json_t *cite = json_object_get(metrics, "cite");
  if (!b->cite[k]) b->cite[k] = json_incref((json_t *)cite);
}

static rb_status load(const char *folder, rb_baselines *b) {
  rb_status st = RB_OK;
  char path[4096];
  json_error_t error;
  int found = 0;
  RB_TRY(rb_path(path, sizeof path, "%s/baselines.json", folder));
  b->index = json_load_file(path, 0, &error);
  RB_CHECK(b->index, RB_EFORMAT, "%s: %s", path, error.text);
  b->methods = (int)json_array_size(json_object_get(b->index, "methods"));
  b->pairs = (int)json_array_size(json_object_get(b->index, "pairs"));
  RB_CHECK(b->methods > 0 && b->methods <= RB_BASELINE_METHODS && b->pairs > 0, RB_EFORMAT,
           "%s names no methods or pairs", path);
  b->value = malloc((size_t)RB_MEASURES * (size_t)b->methods * (size_t)b->pairs * sizeof *b->value);
  b->before = malloc(3 * (size_t)b->pairs * sizeof *b->before);
  RB_CHECK(b->value && b->before, RB_ENOMEM, "host memory");
  for (int i = 0; i < RB_MEASURES * b->methods * b->pairs; i++) b->value[i] = NAN;
  for (int i = 0; i < 3 * b->pairs; i++) b->before[i] = NAN;
  for (int k = 0; k < b->methods; k++)
    for (int i = 0; i < b->pairs; i++) {
      RB_TRY(rb_path(path, sizeof path, "%s/%s/%s/metrics.json", folder, rb_baseline_pair(b, i),
                     rb_baseline_method(b, k)));
      json_t *metrics = json_load_file(path, 0, &error);
      if (!metrics) continue;
      take(b, i, k, metrics), found++;
      json_decref(metrics);
    }
  RB_CHECK(found, RB_ENOTFOUND, "no result in %s yet", folder);
done:
  return st;
}
static void unload(rb_baselines *b) {
  for (int k = 0; k < RB_BASELINE_METHODS; k++) json_decref(b->cite[k]);
  json_decref(b->index);
  free(b->value), free(b->before);
}

const char *rb_baseline_method(const rb_baselines *b, int k) {
  return json_string_value(json_array_get(json_object_get(b->index, "methods"), (size_t)k));
}
const char *rb_baseline_pair(const rb_baselines *b, int i) {
  return json_string_value(json_array_get(json_object_get(b->index, "pairs"), (size_t)i));
}
double *rb_baseline_at(const rb_baselines *b, int m, int k) {
  return b->value + (size_t)(m * b->methods + k) * (size_t)b->pairs;
}

/* ---- statistics ------------------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}
rb_spread rb_spread_of(int n, const double *values) {
  rb_spread s = {.mean = NAN, .low = NAN, .median = NAN, .high = NAN};
  double *v = malloc((size_t)n * sizeof *v), sum = 0;
  if (!v) return s;
  for (int i = 0; i < n; i++)
    if (!isnan(values[i])) v[s.count++] = values[i], sum += values[i];
  qsort(v, (size_t)s.count, sizeof *v, ascending);
  if (s.count) s.mean = sum / s.count;
  s.low = rb_quantile(s.count, v, 0.25), s.median = rb_quantile(s.count, v, 0.5);
  s.high = rb_quantile(s.count, v, 0.75);
  free(v);
  return s;
}

rb_difference rb_difference_of(const rb_baselines *b, int m, int k) {
  const double *first = rb_baseline_at(b, m, 0), *own = rb_baseline_at(b, m, k);
  rb_difference d = {.mean = NAN, .p = NAN};
  double *v = malloc((size_t)b->pairs * sizeof *v), sum = 0;
  if (!v) return d;
  for (int i = 0; i < b->pairs; i++)
    if (!isnan(first[i]) && !isnan(own[i])) {
      v[d.count] = own[i] - first[i];
      sum += v[d.count], d.better += v[d.count] * rb_baseline_measures[m].better > 0;
      d.count++;
    }
  if (d.count) d.mean = sum / d.count, d.p = rb_signed_rank(d.count, v);
  free(v);
  return d;
}

int rb_measure_is_there(const rb_baselines *b, int m) {
  for (int i = 0; i < b->methods * b->pairs; i++)
    if (!isnan(rb_baseline_at(b, m, 0)[i])) return 1;
  return 0;
}

/* ---- all of it -------------------------------------------------------------------------------------------- */

static rb_status write_one(const char *folder, const char *name, const rb_baselines *b,
                           void (*print)(const rb_baselines *, FILE *)) {
  rb_status st = RB_OK;
  char path[4096], *text = NULL;
  size_t size = 0;
  FILE *f = open_memstream(&text, &size);
  RB_CHECK(f, RB_ENOMEM, "host memory");
  print(b, f);
  fclose(f);
  RB_TRY(rb_path(path, sizeof path, "%s/%s", folder, name));
  RB_TRY(rb_write_atomically(path, text, size));
done:
  free(text);
  return st;
}

rb_status rb_baselines_report(const char *folder, FILE *out) {
  rb_status st = RB_OK;
  rb_baselines b = {0};
  RB_TRY(load(folder, &b));
  rb_baselines_text(&b, out);
  RB_TRY(write_one(folder, "table.txt", &b, rb_baselines_text));
  RB_TRY(write_one(folder, "table.md", &b, rb_baselines_markdown));
  RB_TRY(write_one(folder, "table.tex", &b, rb_baselines_latex));
  RB_TRY(write_one(folder, "results.csv", &b, rb_baselines_csv));
  RB_TRY(write_one(folder, "references.bib", &b, rb_baselines_bib));
  st = rb_baselines_plots(folder, &b);
  if (st == RB_EUNSUPPORTED) { /* tables do without gnuplot */
    rb_clear();
    st = RB_OK;
  }
done:
  unload(&b);
  return st;
}
