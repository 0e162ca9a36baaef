/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/derivative/derivative.h"

#include "kernels/base/profile.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* supports() has the last word on the scheme: a variant offers some of the three. */
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

/* g_a = d f / d x_a on a grid of period 2 pi: values per radian, h_a = 2 pi / n_a. Inputs and outputs must not
 * overlap: a derivative reads neighbours of the value it writes. */
static const rb_derivative_ops *ops_of(const rb_derivative_plan *p) { return p->variant->ops; }

/* g_a = d f / d x_a; counted as three partial derivatives, as the divergence is. */
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
/* d = sum_a d v_a / d x_a; v has 3 N values, d has N. */
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

/* Of one gradient or one divergence; log2 of a grid of one point would be 0. */
double rb_derivative_flops(const rb_derivative_desc *desc) {
  double n = (double)rb_grid_points(desc->grid);
  /* spectral: four real transforms (1 and 3, or 3 and 1) of 2.5 N log2 N, and 6 for each of 3 N/2 coefficients
   * FD8: 12 an axis and point.  FD2: 2, a difference and a product */
  if (desc->scheme == RB_SPECTRAL) return 4 * 2.5 * n * log2(n > 1 ? n : 2) + 3 * 6 * n / 2;
  return 3 * n * (desc->scheme == RB_FD8 ? 12 : 2);
}

/* Four values a point: 1 in and 3 out, or 3 in and 1 out. */
double rb_derivative_bytes(const rb_derivative_desc *desc) {
  return 4.0 * (double)rb_dtype_size(desc->dtype) * (double)rb_grid_points(desc->grid);
}

/* Finite differences: 8 rounded products whose coefficients sum to 2 (4/5 + 1/5 + ...) over h. Spectral:
 * the largest wave number n/2 amplifies the transform's error of order eps log2 N. Three axes add up. */
double rb_derivative_tolerance(const rb_derivative_desc *desc, double range) {
  enum { AXES = 3, PRODUCTS = 8, COEFFICIENTS = 2 };
  /* 1 / h = n / (2 pi) is greatest on the longest axis */
  double eps = rb_epsilon(desc->dtype), longest = 1;
  for (int a = 0; a < 3; a++)
    if ((double)desc->grid.n[a] > longest) longest = (double)desc->grid.n[a];
  if (desc->scheme == RB_SPECTRAL) {
    double n = (double)rb_grid_points(desc->grid);
    /* the largest wave number and the number of axes times the transforms' error */
    return AXES * eps * (1 + log2(n)) * longest * range;
  }
  /* a product of at most c_l range / h rounds by eps/2 of itself;  sum_l 2 |c_l| is about 2 */
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
