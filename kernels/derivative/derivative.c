/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/derivative/derivative.h"

#include "kernels/base/profile.h"

#include <float.h>
#include <math.h>
#include <string.h>

rb_status rb_derivative_create(const rb_variant *variant, const rb_derivative_desc *desc, rb_derivative_plan **out) {
  rb_status st = RB_OK;
  const rb_derivative_ops *ops = variant->ops;
  const rb_backend *backend;
  *out = NULL;
  RB_TRY(rb_grid_check(desc->grid, "derivative"));
  RB_TRY(rb_variant_backend(variant, &backend));
  RB_TRY(ops->supports(desc));
  RB_TRY(ops->plan(backend, desc, out));
  (*out)->variant = variant;
  (*out)->backend = backend;
  (*out)->desc = *desc;
done:
  return st;
}

static const rb_derivative_ops *ops_of(const rb_derivative_plan *p) { return p->variant->ops; }

rb_status rb_gradient(rb_derivative_plan *plan, rb_array f, rb_array g) {
  rb_status st = RB_OK;
  RB_NEED(plan, "gradient", f, rb_grid_points(plan->desc.grid));
  RB_NEED(plan, "gradient", g, 3 * rb_grid_points(plan->desc.grid));
  RB_TRY(rb_profile_begin(plan->backend, RB_CLASS_GRADIENT));
  RB_TRY(ops_of(plan)->gradient(plan, f.data, g.data));
  RB_TRY(rb_profile_end(plan->backend, 3, rb_derivative_bytes(&plan->desc)));
done:
  return st;
}
rb_status rb_divergence(rb_derivative_plan *plan, rb_array v, rb_array d) {
  rb_status st = RB_OK;
  RB_NEED(plan, "divergence", v, 3 * rb_grid_points(plan->desc.grid));
  RB_NEED(plan, "divergence", d, rb_grid_points(plan->desc.grid));
  RB_TRY(rb_profile_begin(plan->backend, RB_CLASS_DIVERGENCE));
  RB_TRY(ops_of(plan)->divergence(plan, v.data, d.data));
  RB_TRY(rb_profile_end(plan->backend, 3, rb_derivative_bytes(&plan->desc)));
done:
  return st;
}
void rb_derivative_destroy(rb_derivative_plan *plan) {
  if (plan) ops_of(plan)->destroy(plan);
}

double rb_derivative_flops(const rb_derivative_desc *desc) {
  double n = (double)rb_grid_points(desc->grid);
  if (desc->scheme == RB_SPECTRAL) return 4 * 2.5 * n * log2(n > 1 ? n : 2) + 3 * 6 * n / 2;
  return 3 * n * (desc->scheme == RB_FD8 ? 12 : 2);
}

double rb_derivative_bytes(const rb_derivative_desc *desc) {
  return 4.0 * (double)rb_dtype_size(desc->dtype) * (double)rb_grid_points(desc->grid);
}

/* Finite differences: 8 rounded products whose coefficients sum to 2 (4/5 + 1/5 + ...) over h. Spectral:
 * the largest wave number n/2 amplifies the transform's error of order eps log2 N. Three axes add up. */
double rb_derivative_tolerance(const rb_derivative_desc *desc, double range) {
  enum { AXES = 3, PRODUCTS = 8, COEFFICIENTS = 2 };
  double eps = rb_epsilon(desc->dtype), longest = 1;
  for (int a = 0; a < 3; a++)
    if ((double)desc->grid.n[a] > longest) longest = (double)desc->grid.n[a];
  if (desc->scheme == RB_SPECTRAL) {
    double n = (double)rb_grid_points(desc->grid);
    return AXES * eps * (1 + log2(n)) * longest * range;
  }
  return AXES * PRODUCTS * eps * COEFFICIENTS * range * longest / RB_TWO_PI;
}

rb_status rb_scheme_parse(const char *name, rb_scheme *out) {
  static const char *const names[] = {"fd2", "fd8", "spectral"};
  for (int i = 0; i < 3; i++)
    if (strcmp(name, names[i]) == 0) {
      *out = (rb_scheme)i;
      return RB_OK;
    }
  return RB_FAIL(RB_EINVAL, "unknown scheme '%s': fd2, fd8, spectral", name);
}
