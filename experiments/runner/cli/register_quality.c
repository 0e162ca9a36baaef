/* SPDX-License-Identifier: BSD-3-Clause */
/* What is worked out from a registration's outputs, whichever solver made them. */
#include "experiments/runner/cli/register_quality.h"

#include "experiments/runner/inputs/anatomy.h"
#include "experiments/runner/inputs/linear_at.h"
#include "experiments/runner/machine/environment.h"
#include "experiments/runner/workloads/registration.h"
#include "solvers/common/displacement_quality.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  OF_ONE = 5,
  VALUES = OF_ONE * RB_QUALITY_DETERMINANTS + 1
}; /* of a determinant; of a template, to be gathered */

rb_status rb_quality_create(int templates, rb_quality *out) {
  *out = (rb_quality){.templates = templates, .det = calloc(VALUES * (size_t)templates, sizeof *out->det)};
  if (!out->det) return RB_FAIL(RB_ENOMEM, "host memory");
  out->undone = out->det + (VALUES - 1) * (size_t)templates;
  return RB_OK;
}
void rb_quality_free(rb_quality *q) {
  json_decref(q->dice), json_decref(q->classes);
  free(q->det);
}

void rb_quality_determinant(rb_quality *q, const char *name, int t, rb_grid grid, const float *det) {
  const rb_determinant_summary s = rb_summarise_determinant(rb_grid_points(grid), det);
  int k = 0;
  while (k < RB_QUALITY_DETERMINANTS - 1 && q->determinant[k].name && strcmp(q->determinant[k].name, name) != 0) k++;
  q->determinant[k].name = name;
  double *d = q->det + OF_ONE * (k * q->templates + t);
  d[0] = s.least, d[1] = s.mean, d[2] = s.greatest, d[3] = s.percent_folds, d[4] = s.log_sd;
}

void rb_quality_inverse(rb_quality *q, int t, rb_grid g, const float *u, const float *w) {
  const int64_t n = rb_grid_points(g);
  double most = 0;
#pragma omp parallel for schedule(static) reduction(max : most)
  for (int64_t i = 0; i < n; i++) {
    double x[3] = {(double)(i / g.n[2] / g.n[1]), (double)(i / g.n[2] % g.n[1]), (double)(i % g.n[2])}, squared = 0;
    int inside = 1;
    for (int a = 0; a < 3; a++)
      x[a] += (double)w[a * n + i], inside = inside && x[a] >= 0 && x[a] <= (double)(g.n[a] - 1);
    for (int a = 0; a < 3 && inside; a++) squared += pow((double)w[a * n + i] + rb_linear_at(g, u + a * n, x), 2);
    if (squared > most) most = squared;
  }
  q->undone[t] = sqrt(most), q->has_inverse = 1;
}

void rb_quality_labels(rb_quality *q, const char *name, const rb_pair *pair, const float *labels) {
  static const char of_labels[] = "labels";
  const int64_t n = rb_grid_points(pair->grid);
  const rb_overlap o = rb_overlap_of(n, labels, pair->labels[RB_REFERENCE]);
  char key[64];
  if (!q->dice) {
    const rb_overlap before = rb_overlap_of(n, pair->labels[RB_TEMPLATE], pair->labels[RB_REFERENCE]);
    q->dice = json_pack("{s:o}", "before", rb_overlap_json(&before));
    q->dice_before = before.all;
  }
  if (strcmp(name, of_labels) == 0) q->dice_after = o.all;
  name += *name == '.';
  snprintf(key, sizeof key, "after%s", name + strlen(of_labels));
  for (char *c = key; *c; c++)
    if (*c == '-') *c = '_';
  json_object_set_new(q->dice, key, rb_overlap_json(&o));
}

static json_t *class_json(const rb_class_overlap *o, int channels) {
  json_t *all = json_object();
  for (int c = 0; c < channels + 2; c++) {
    char name[32];
    snprintf(name, sizeof name, c < channels ? "class_%d" : c == channels ? "rest" : "classes_1_and_2", c + 1);
    json_object_set_new(all, name,
                        json_pack("{s:o,s:o,s:o}", "dice", rb_json_number(o[c].dice), "jaccard",
                                  rb_json_number(o[c].jaccard), "overlap", rb_json_number(o[c].printed)));
  }
  return all;
}
void rb_quality_classes(rb_quality *q, rb_grid grid, int channels, const float *before, const float *after,
                        const float *reference) {
  rb_class_overlap *o = calloc((size_t)channels + 2, sizeof *o);
  const float *const moved[2] = {before, after};
  static const char *const names[2] = {"before", "after"};
  if (!o) return;
  json_decref(q->classes);
  q->classes = json_pack("{s:s}", "formulas",
                         "by the most probable class of a voxel: dice 2|A n B|/(|A| + |B|), jaccard |A n B|/|A u B|, "
                         "overlap |A n B|/|B| (ha2012's, B the reference)");
  for (int k = 0; k < 2; k++) {
    rb_class_overlaps(grid, channels, moved[k], reference, o);
    json_object_set_new(q->classes, names[k], class_json(o, channels));
  }
  free(o);
}

rb_status rb_quality_reduce(const rb_team *team, rb_quality *q) {
  rb_status st = RB_OK;
  RB_TRY(rb_team_sum(team, q->det, VALUES * (int64_t)q->templates));
  for (int k = 0; k < RB_QUALITY_DETERMINANTS; k++) {
    double least = INFINITY, greatest = -INFINITY, mean = 0, folds = 0, sd = 0;
    for (int t = 0; t < q->templates; t++) {
      const double *d = q->det + OF_ONE * (k * q->templates + t);
      least = d[0] >= least ? least : d[0]; /* a NaN stays */
      greatest = d[2] <= greatest ? greatest : d[2];
      mean += d[1] / q->templates, folds += d[3] / q->templates, sd += d[4] / q->templates;
    }
    q->determinant[k].folds = folds, q->determinant[k].log_sd = sd;
    q->determinant[k].least = least, q->determinant[k].greatest = greatest, q->determinant[k].mean = mean;
  }
  for (int t = 0; t < q->templates; t++) q->inverse_error = fmax(q->inverse_error, q->undone[t]);
done:
  return st;
}

void rb_quality_add(const rb_quality *q, json_t *metrics) {
  for (int k = 0; k < RB_QUALITY_DETERMINANTS && q->determinant[k].name; k++)
    json_object_set_new(
        metrics, q->determinant[k].name,
        json_pack("{s:o,s:o,s:o,s:o,s:o}", "min", rb_json_number(q->determinant[k].least), "mean",
                  rb_json_number(q->determinant[k].mean), "max", rb_json_number(q->determinant[k].greatest),
                  "percent_folds", rb_json_number(q->determinant[k].folds), "log_sd",
                  rb_json_number(q->determinant[k].log_sd)));
  if (q->has_inverse) {
    json_object_set_new(json_object_get(metrics, "results"), "inverse_error", rb_json_number(q->inverse_error));
    json_object_set_new(json_object_get(metrics, "units"), "inverse_error", json_string("voxel"));
    json_object_set_new(json_object_get(metrics, "formulas"), "inverse_error",
                        json_string("greatest |w + u(x + w)| over images and nodes whose inverse lies in the grid"));
  }
  if (q->dice) json_object_set(metrics, "dice", q->dice);
  if (q->classes) json_object_set(metrics, "classes", q->classes);
}

void rb_quality_print(const rb_quality *q) {
  for (int k = 0; k < RB_QUALITY_DETERMINANTS && q->determinant[k].name; k++)
    printf(", %s %.3g to %.3g", q->determinant[k].name, q->determinant[k].least, q->determinant[k].greatest);
  if (q->has_inverse) printf(", inverse to %.2g voxels", q->inverse_error);
  if (q->dice) printf(", Dice %.4f -> %.4f", q->dice_before, q->dice_after);
}
