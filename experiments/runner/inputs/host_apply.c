/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/inputs/host_apply.h"
#include "kernels/registry/registry.h"

rb_status rb_to_backend(const rb_backend *b, const void *host, size_t bytes, void **out) {
  rb_status st = RB_OK;
  RB_TRY(rb_alloc(b, bytes, out));
  RB_TRY(b->upload(*out, host, bytes));
done:
  return st;
}

rb_status rb_poisoned(const rb_backend *b, size_t bytes, void **out) {
  rb_status st = RB_OK;
  RB_TRY(rb_alloc(b, bytes, out));
  RB_TRY(b->fill(*out, 0xFF, bytes)); /* a NaN in both precisions */
done:
  return st;
}

rb_status rb_host_interp(const rb_variant *v, const rb_interp_desc *d, const void *f, int64_t np, const void *x,
                         void *out) {
  rb_status st = RB_OK;
  const rb_backend *b = NULL;
  rb_interp_plan *plan = NULL;
  void *field = NULL, *points = NULL, *values = NULL;
  size_t size = rb_dtype_size(d->dtype), value_bytes = (size_t)(np * d->components) * size;
  RB_TRY(rb_interp_create(v, d, &plan));
  RB_TRY(rb_backend_get(v->backend, &b));
  RB_TRY(rb_to_backend(b, f, (size_t)(rb_grid_points(d->grid) * d->components) * size, &field));
  RB_TRY(rb_to_backend(b, x, (size_t)(3 * np) * size, &points));
  RB_TRY(rb_poisoned(b, value_bytes, &values));
  RB_TRY(rb_interp_load(plan, field));
  RB_TRY(rb_interp_eval(plan, np, points, values));
  RB_TRY(b->download(out, values, value_bytes));
done:
  rb_interp_destroy(plan);
  if (b) rb_release(b, values), rb_release(b, points), rb_release(b, field);
  return st;
}

rb_status rb_host_derivative(const rb_variant *v, const rb_derivative_desc *d, int divergence, const void *in,
                             void *out) {
  rb_status st = RB_OK;
  const rb_backend *b = NULL;
  rb_derivative_plan *plan = NULL;
  void *from = NULL, *to = NULL;
  size_t field = (size_t)rb_grid_points(d->grid) * rb_dtype_size(d->dtype);
  RB_TRY(rb_derivative_create(v, d, &plan));
  RB_TRY(rb_backend_get(v->backend, &b));
  RB_TRY(rb_to_backend(b, in, divergence ? 3 * field : field, &from));
  RB_TRY(rb_poisoned(b, divergence ? field : 3 * field, &to));
  RB_TRY(divergence ? rb_divergence(plan, from, to) : rb_gradient(plan, from, to));
  RB_TRY(b->download(out, to, divergence ? field : 3 * field));
done:
  rb_derivative_destroy(plan);
  if (b) rb_release(b, to), rb_release(b, from);
  return st;
}

rb_status rb_host_spectral(const rb_variant *v, const rb_spectral_desc *d, const rb_spectral_op *op, const void *in,
                           void *out) {
  rb_status st = RB_OK;
  const rb_backend *b = NULL;
  rb_spectral_plan *plan = NULL;
  void *from = NULL, *to = NULL;
  size_t bytes = (size_t)(rb_grid_points(d->grid) * d->components) * rb_dtype_size(d->dtype);
  RB_TRY(rb_spectral_create(v, d, &plan));
  RB_TRY(rb_backend_get(v->backend, &b));
  RB_TRY(rb_to_backend(b, in, bytes, &from));
  RB_TRY(rb_poisoned(b, bytes, &to));
  RB_TRY(rb_spectral_apply(plan, op, from, to));
  RB_TRY(b->download(out, to, bytes));
done:
  rb_spectral_destroy(plan);
  if (b) rb_release(b, to), rb_release(b, from);
  return st;
}
