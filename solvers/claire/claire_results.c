/* SPDX-License-Identifier: BSD-3-Clause */
/* What a registration leaves: velocity, warped image, displacement, det F, labels. */
#include "solvers/claire/claire_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

rb_status rb_claire_velocity(rb_claire *c, float *v) {
  if (c->is_zero) {
    memset(v, 0, 3 * (size_t)c->n * sizeof *v);
    return RB_OK;
  }
  return rb_array_get_floats(c->v, v);
}

rb_status rb_claire_warped(rb_claire *c, float *m) {
  return rb_array_get_floats(rb_transport_history(c->transport, c->options.steps), m);
}

rb_status rb_claire_images(rb_claire *c, float *t, float *r) {
  rb_status st = RB_OK;
  RB_TRY(rb_array_get_floats(c->template_image, t));
  RB_TRY(rb_array_get_floats(c->reference_image, r));
done:
  return st;
}

/* The residual's buffer serves results: it is set anew by every evaluation. */
rb_status rb_claire_warp(rb_claire *c, const float *f, float *out) {
  rb_status st = RB_OK;
  RB_TRY(rb_array_put_floats(c->lambda, f));
  RB_TRY(rb_transport_advect(c->transport, c->lambda));
  RB_TRY(rb_array_get_floats(c->lambda, out));
done:
  return st;
}

rb_status rb_claire_displacement(rb_claire *c, float *u) {
  rb_status st = RB_OK;
  RB_TRY(rb_transport_map(c->transport, c->b));
  RB_TRY(rb_array_get_floats(c->b, u));
done:
  return st;
}

/* The divergence is spectral in every row, as the paper's program has it. */
rb_status rb_claire_jacobian(rb_claire *c, float *det, rb_claire_determinant *out) {
  rb_status st = RB_OK;
  const rb_variant *v;
  rb_derivative_plan *plan = NULL;
  rb_derivative_desc d = {.grid = c->grid, .scheme = RB_SPECTRAL, .dtype = c->config.dtype};
  rb_extremes e;
  if (!c->is_zero) {
    RB_TRY(rb_variant_find(&rb_derivative_family, c->backend->kind == RB_CUDA ? "cuda/cufft" : "cpu/fftw", &v));
    RB_TRY(rb_derivative_create(v, &d, &plan));
    RB_TRY(rb_divergence(plan, c->v, c->b));
  }
  RB_TRY(rb_transport_jacobian(c->transport, c->b, c->lambda));
  RB_TRY(rb_field_extremes(c->field, c->n, c->lambda, &e));
  *out = (rb_claire_determinant){e.least, e.sum / (double)c->n, e.greatest};
  if (det) RB_TRY(rb_array_get_floats(c->lambda, det));
done:
  rb_derivative_destroy(plan);
  return st;
}

/* One label's indicator through the flow, and its share of the arg max: later labels win only when strictly greater.
 */
static rb_status transport_label(rb_claire *c, rb_transport_plan *t, const float *labels, float label, int smoothed,
                                 float *value, float *best, float *sum, float *out) {
  rb_status st = RB_OK;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < c->n; i++) value[i] = labels[i] == label;
  RB_TRY(rb_array_put_floats(c->lambda, value));
  if (smoothed) RB_TRY(rb_claire_smooth(c, c->options.sigma, c->lambda));
  RB_TRY(rb_transport_advect(t, c->lambda));
  RB_TRY(rb_array_get_floats(c->lambda, value));
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < c->n; i++) {
    sum[i] += value[i];
    if (value[i] > best[i]) best[i] = value[i], out[i] = label;
  }
done:
  return st;
}

rb_status rb_claire_labels(rb_claire *c, const float *labels, int smoothed, float *out) {
  rb_status st = RB_OK;
  const rb_variant *v;
  rb_transport_plan *t = NULL;
  char present[256] = {0};
  size_t bytes = (size_t)c->n * sizeof(float);
  float *value = malloc(bytes), *best = malloc(bytes), *sum = calloc(1, bytes);
  rb_transport_desc d =
      rb_claire_transport_desc(&c->config, &c->options, c->grid, c->config.label_interp, c->config.label_basis);
  RB_CHECK(value && best && sum, RB_ENOMEM, "host memory: %zu bytes for labels", 3 * bytes);
  for (int64_t i = 0; i < c->n; i++) {
    RB_CHECK(labels[i] >= 0 && labels[i] <= 255 && labels[i] == floorf(labels[i]), RB_EINVAL,
             "labels are whole numbers from 0 to 255; voxel %lld holds %g", (long long)i, (double)labels[i]);
    present[(int)labels[i]] = 1;
    best[i] = -INFINITY;
  }
  RB_TRY(rb_variant_find(&rb_transport_family, c->backend->kind == RB_CUDA ? "cuda/composed" : "cpu/composed", &v));
  RB_TRY(rb_transport_create(v, &d, &t));
  RB_TRY(rb_transport_velocity(t, c->is_zero ? rb_array_none() : c->v));
  for (int l = 1; l < 256; l++)
    if (present[l]) RB_TRY(transport_label(c, t, labels, (float)l, smoothed, value, best, sum, out));
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < c->n; i++)
    if (!(best[i] > -INFINITY) || 1 - sum[i] > best[i]) out[i] = 0;
done:
  rb_transport_destroy(t);
  free(sum), free(best), free(value);
  return st;
}
