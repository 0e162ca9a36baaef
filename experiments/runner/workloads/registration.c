/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/workloads/registration.h"

#include "experiments/runner/workloads/solve_checks.h"

#include "experiments/runner/machine/environment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

rb_status rb_claire_overlaps(rb_claire *c, const rb_pair *pair, float *warped, rb_overlaps *out) {
  rb_status st = RB_OK;
  int64_t n = rb_grid_points(pair->grid);
  float *moved = NULL;
  memset(out, 0, sizeof *out);
  if (!pair->labels[RB_TEMPLATE] || !pair->labels[RB_REFERENCE]) return RB_OK;
  moved = malloc((size_t)n * sizeof *moved);
  RB_CHECK(moved, RB_ENOMEM, "host memory: %zu bytes for labels", (size_t)n * sizeof *moved);
  out->before = rb_overlap_of(n, pair->labels[RB_TEMPLATE], pair->labels[RB_REFERENCE]);
  RB_TRY(rb_claire_labels(c, pair->labels[RB_TEMPLATE], 1, moved));
  out->after_smoothed = rb_overlap_of(n, moved, pair->labels[RB_REFERENCE]);
  RB_TRY(rb_claire_labels(c, pair->labels[RB_TEMPLATE], 0, moved));
  out->after = rb_overlap_of(n, moved, pair->labels[RB_REFERENCE]);
  if (warped) memcpy(warped, moved, (size_t)n * sizeof *moved);
  out->has_labels = 1;
done:
  free(moved);
  return st;
}

json_t *rb_overlap_json(const rb_overlap *o) {
  json_t *labels = json_object();
  for (int l = 1; l < RB_LABELS; l++) {
    char name[8];
    if (isnan(o->label[l])) continue;
    snprintf(name, sizeof name, "%d", l);
    json_object_set_new(labels, name, json_real(o->label[l]));
  }
  return json_pack("{s:o,s:o,s:o,s:o}", "union", rb_json_number(o->all), "mean_over_labels", rb_json_number(o->mean),
                   "least", rb_json_number(o->least), "labels", labels);
}

json_t *rb_iterations_json(const rb_claire_result *r) {
  json_t *rows = json_array();
  for (int i = 0; i < r->rows; i++) {
    const rb_claire_iteration *t = &r->table[i];
    json_array_append_new(
        rows, json_pack("{s:i,s:i,s:f,s:i,s:f,s:f,s:f,s:f,s:f,s:f}", "level", t->level, "iteration", t->iteration,
                        "beta", t->beta, "matvecs", t->matvecs, "objective", t->objective, "mismatch", t->mismatch,
                        "gradient", t->gradient, "step", t->step, "forcing", t->forcing, "seconds", t->seconds));
  }
  return rows;
}

json_t *rb_profile_json(const rb_profile *p) {
  json_t *j = json_object();
  for (int k = 0; k < RB_CLASSES; k++) {
    json_t *one = json_pack("{s:f,s:f}", "units", p->units[k], "model_bytes", p->bytes[k]);
    if (p->stamps > 0) json_object_set_new(one, "seconds", json_real(p->seconds[k])); /* else nothing was timed */
    json_object_set_new(j, rb_class_name((rb_class)k), one);
  }
  json_object_set_new(j, "events", json_real(p->stamps));
  return j;
}

void rb_claire_twin(const rb_variant *of, rb_claire_config *config, rb_variant *twin) {
  *config = *(const rb_claire_config *)of->ops;
  config->dtype = RB_F64;
  config->transport = "cpu/composed";
  config->interp = config->label_interp = "cpu/omp";
  config->derivative = config->scheme == RB_SPECTRAL ? "cpu/fftw" : "cpu/omp";
  config->spectral = "cpu/fftw";
  config->coordinates = RB_PHYSICAL;
  *twin = (rb_variant){"float64 on the CPU", "", "", RB_ON_CPU(config)};
}

size_t rb_claire_verification_bytes(const rb_variant *variant, const rb_claire_options *options, rb_grid grid) {
  enum { IMAGES = 4, LABEL_COPIES = 8 }; /* of both images; of their labels */
  rb_claire_config config;
  rb_variant twin;
  size_t bytes = 0, host = 0;
  if (variant->ops) { /* else it was not built */
    rb_claire_twin(variant, &config, &twin);
    if (rb_claire_predict(&twin, options, grid, &bytes, &host) != RB_OK) rb_clear();
  }
  return bytes + host + (IMAGES + LABEL_COPIES) * (size_t)rb_grid_points(grid) * sizeof(float);
}

/* Limits: ten times the worst in float32 (mismatch 1e-5, gradient 6e-5, of 45 runs on phantoms of 16^3 to
 * 50^3; 2.7e-6 and 1.4e-5 of 153 recorded runs); where weights have 8 bits, two to three times the worst of 97
 * (6.8e-3, 0.097): the mismatch is a sum over all voxels; the gradient at a solve's end is a small difference of
 * large terms, regularisation and body force. */
void rb_claire_verify_values(rb_outcome *o, int texture, double mismatch, double gradient, double twin_mismatch,
                             double twin_gradient, const char *against) {
  static const double MISMATCH_LIMIT = 1e-4, GRADIENT_LIMIT = 1e-3, TEXTURE_MISMATCH_LIMIT = 0.02,
                      TEXTURE_GRADIENT_LIMIT = 0.2;
  rb_outcome_verify(o, "relative error of the mismatch", rb_relative_error(mismatch, twin_mismatch),
                    texture ? TEXTURE_MISMATCH_LIMIT : MISMATCH_LIMIT, against);
  rb_outcome_verify(o, "relative error of the gradient norm", rb_relative_error(gradient, twin_gradient),
                    texture ? TEXTURE_GRADIENT_LIMIT : GRADIENT_LIMIT, against);
}
