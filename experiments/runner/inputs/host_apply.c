/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/inputs/host_apply.h"
#include "kernels/registry/registry.h"

#include <stdlib.h>

rb_status rb_to_backend(const rb_backend *b, const void *host, rb_dtype dtype, int64_t count, rb_array *out) {
  rb_status st = RB_OK;
  RB_TRY(rb_array_create(b, dtype, count, out));
  RB_TRY(rb_array_upload(*out, host));
done:
  return st;
}

rb_status rb_poisoned(const rb_backend *b, rb_dtype dtype, int64_t count, rb_array *out) {
  rb_status st = RB_OK;
  RB_TRY(rb_array_create(b, dtype, count, out));
  RB_TRY(rb_array_fill(*out, 0xFF)); /* a NaN in both precisions */
done:
  return st;
}

rb_status rb_host_interp(const rb_variant *v, const rb_interp_desc *d, const void *f, int64_t np, const void *x,
                         void *out) {
  rb_status st = RB_OK;
  rb_interp_plan *plan = NULL;
  rb_array field = {0}, points = {0}, values = {0};
  RB_TRY(rb_interp_create(v, d, &plan));
  RB_TRY(rb_to_backend(plan->backend, f, d->dtype, rb_grid_points(d->grid) * d->components, &field));
  RB_TRY(rb_to_backend(plan->backend, x, d->dtype, 3 * np, &points));
  RB_TRY(rb_poisoned(plan->backend, d->dtype, np * d->components, &values));
  RB_TRY(rb_interp_load(plan, field));
  RB_TRY(rb_interp_eval(plan, np, points, values));
  RB_TRY(rb_array_download(values, out));
done:
  rb_interp_destroy(plan);
  rb_array_destroy(&values), rb_array_destroy(&points), rb_array_destroy(&field);
  return st;
}

enum { PIECE = 1 << 18 }; /* points at a time */

rb_status rb_host_interp_floats(const rb_variant *v, const rb_interp_desc *desc, const float *f, int64_t np,
                                const float *x, double *out) {
  rb_status st = RB_OK;
  rb_interp_desc d = *desc;
  rb_interp_plan *plan = NULL;
  rb_array field = {0}, points = {0}, values = {0};
  const int64_t n = rb_grid_points(d.grid), room = np < PIECE ? np : PIECE;
  double *wide = malloc((size_t)(n > 3 * room ? n : 3 * room) * sizeof *wide);
  RB_CHECK(wide, RB_ENOMEM, "host memory: %zu bytes for a reference", (size_t)n * sizeof *wide);
  d.dtype = RB_F64;
  for (int64_t i = 0; i < n; i++) wide[i] = (double)f[i];
  RB_TRY(rb_interp_create(v, &d, &plan));
  RB_TRY(rb_to_backend(plan->backend, wide, RB_F64, n, &field));
  RB_TRY(rb_interp_load(plan, field));
  for (int64_t at = 0; at < np; at += room) {
    const int64_t count = np - at < room ? np - at : room;
    for (int a = 0; a < 3; a++)
      for (int64_t i = 0; i < count; i++) wide[a * count + i] = (double)x[a * np + at + i];
    rb_array_destroy(&points), rb_array_destroy(&values);
    RB_TRY(rb_to_backend(plan->backend, wide, RB_F64, 3 * count, &points));
    RB_TRY(rb_poisoned(plan->backend, RB_F64, count, &values));
    RB_TRY(rb_interp_eval(plan, count, points, values));
    RB_TRY(rb_array_download(values, out + at));
  }
done:
  rb_interp_destroy(plan);
  rb_array_destroy(&values), rb_array_destroy(&points), rb_array_destroy(&field);
  free(wide);
  return st;
}

rb_status rb_host_derivative(const rb_variant *v, const rb_derivative_desc *d, int divergence, const void *in,
                             void *out) {
  rb_status st = RB_OK;
  rb_derivative_plan *plan = NULL;
  rb_array from = {0}, to = {0};
  const int64_t n = rb_grid_points(d->grid);
  RB_TRY(rb_derivative_create(v, d, &plan));
  RB_TRY(rb_to_backend(plan->backend, in, d->dtype, divergence ? 3 * n : n, &from));
  RB_TRY(rb_poisoned(plan->backend, d->dtype, divergence ? n : 3 * n, &to));
  RB_TRY(divergence ? rb_divergence(plan, from, to) : rb_gradient(plan, from, to));
  RB_TRY(rb_array_download(to, out));
done:
  rb_derivative_destroy(plan);
  rb_array_destroy(&to), rb_array_destroy(&from);
  return st;
}

rb_status rb_host_spectral(const rb_variant *v, const rb_spectral_desc *d, const rb_spectral_op *op, const void *in,
                           void *out) {
  rb_status st = RB_OK;
  rb_spectral_plan *plan = NULL;
  rb_array from = {0}, to = {0};
  const int64_t values = rb_grid_points(d->grid) * d->components;
  RB_TRY(rb_spectral_create(v, d, &plan));
  RB_TRY(rb_to_backend(plan->backend, in, d->dtype, values, &from));
  RB_TRY(rb_poisoned(plan->backend, d->dtype, values, &to));
  RB_TRY(rb_spectral_apply(plan, op, from, to));
  RB_TRY(rb_array_download(to, out));
done:
  rb_spectral_destroy(plan);
  rb_array_destroy(&to), rb_array_destroy(&from);
  return st;
}

rb_status rb_scale_input(float *host, int64_t count, double by, rb_array *copy) {
  for (int64_t i = 0; i < count; i++) host[i] = (float)(by * (double)host[i]);
  return rb_array_upload(*copy, host);
}
