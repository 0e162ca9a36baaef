/* SPDX-License-Identifier: BSD-3-Clause */
/* What a registration leaves: velocity, warped image, displacement, det F, labels. */
#include "solvers/claire/claire_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* At v = 0 c->v was not written: it may hold an earlier velocity. */
rb_status rb_claire_velocity(rb_claire *c, float *v) {
  if (c->is_zero) {
    memset(v, 0, 3 * (size_t)c->n * sizeof *v);
    return RB_OK;
  }
  return rb_array_get_floats(c->v, v);
}

/* m(1) of the last evaluation, which is the history's last field: nothing is transported anew. It is the smoothed
 * template in [0, 1]. */
rb_status rb_claire_warped(rb_claire *c, float *m) {
  return rb_array_get_floats(rb_transport_history(c->transport, c->options.steps), m);
}

/* Normalised and smoothed: what the mismatch refers to. */
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

/* u in grid cells with m(x, 1) = m_T(x + u(x)), from characteristics followed through all time steps. The body
 * force's buffer serves as room. */
rb_status rb_claire_displacement(rb_claire *c, float *u) {
  rb_status st = RB_OK;
  RB_TRY(rb_transport_map(c->transport, c->b)); /* grid cells */
  RB_TRY(rb_array_get_floats(c->b, u));
done:
  return st;
}

/* The divergence is spectral in every row, as the paper's program has it. d_t J + v.grad J = J div v from J = 1 along
 * the state's characteristics, which is det F of brunn2020; it is not made from the displacement. least, mean and
 * greatest over the nodes, the sum in float64; det [N], where it is wanted. At v = 0 the divergence is not read. */
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
 * value, best, sum, out: [N] on the host; `sum` adds all labels' shares, what is missing to 1 is the background's.
 * c->lambda is the room on the backend. */
static rb_status transport_label(rb_claire *c, rb_transport_plan *t, const float *labels, float label, int smoothed,
                                 float *value, float *best, float *sum, float *out) {
  rb_status st = RB_OK;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < c->n; i++) value[i] = labels[i] == label;
  RB_TRY(rb_array_put_floats(c->lambda, value)); /* the indicator, 0 or 1 */
  if (smoothed) RB_TRY(rb_claire_smooth(c, c->options.sigma, c->lambda));
  RB_TRY(rb_transport_advect(t, c->lambda));
  RB_TRY(rb_array_get_floats(c->lambda, value));
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < c->n; i++) {
    sum[i] += value[i];
    if (value[i] > best[i]) best[i] = value[i], out[i] = label; /* lower labels win ties */
  }
done:
  return st;
}

/* A second transport along the same velocity, with the cubic basis of labels in place of the registration's own; it
 * lives for this call. Labels that do not occur are skipped. The background (0) has no indicator of its own: its
 * share is 1 minus the others' sum, and it wins where that is strictly greater. `smoothed` is brunn2020's protocol,
 * by which its Dice was measured. */
rb_status rb_claire_labels(rb_claire *c, const float *labels, int smoothed, float *out) {
  rb_status st = RB_OK;
  const rb_variant *v;
  rb_transport_plan *t = NULL;
  char present[256] = {0}; /* labels that occur */
  size_t bytes = (size_t)c->n * sizeof(float);
  float *value = malloc(bytes), *best = malloc(bytes), *sum = calloc(1, bytes);
  rb_transport_desc d =
      rb_claire_transport_desc(&c->config, &c->options, c->grid, c->config.label_interp, c->config.label_basis);
  RB_CHECK(value && best && sum, RB_ENOMEM, "host memory: %zu bytes for labels", 3 * bytes);
  for (int64_t i = 0; i < c->n; i++) {
    RB_CHECK(labels[i] >= 0 && labels[i] <= 255 && labels[i] == floorf(labels[i]), RB_EINVAL,
             "labels are whole numbers from 0 to 255; voxel %lld holds %g", (long long)i, (double)labels[i]);
    present[(int)labels[i]] = 1;
    best[i] = -INFINITY; /* no label yet */
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
