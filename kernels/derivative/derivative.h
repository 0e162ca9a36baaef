/* SPDX-License-Identifier: BSD-3-Clause */
/* derivative: gradient of a scalar field, divergence of a 3-vector field, periodic, any size.
 *
 * f [n1][n2][n3] -> g [3][n1][n2][n3],  g_a = d f / d x_a          (units: 1 / length, grid of base/grid.h)
 * v [3][n1][n2][n3] -> d [n1][n2][n3],  d = sum_a d v_a / d x_a
 *
 * FD8:      (1/h) sum_{l=1..4} c_l (f_{i+l} - f_{i-l}),  c = 4/5, -1/5, 4/105, -1/280     (brunn2020 section 2.3.2)
 * FD2:      (f_{i+1} - f_{i-1}) / (2h)
 * spectral: i k f^, Nyquist mode dropped
 * Discrete gradient and minus divergence are adjoint for all three. */
#ifndef RB_DERIVATIVE_H
#define RB_DERIVATIVE_H

#include "kernels/base/array.h"
#include "kernels/base/variant.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum { RB_FD2, RB_FD8, RB_SPECTRAL } rb_scheme;

typedef struct {
  rb_grid grid;
  rb_scheme scheme;
  rb_dtype dtype;
} rb_derivative_desc;

typedef struct rb_derivative_plan {
  const rb_variant *variant;
  const rb_backend *backend;
  rb_derivative_desc desc;
} rb_derivative_plan;

typedef struct {
  rb_status (*supports)(const rb_derivative_desc *desc);
  rb_status (*plan)(const rb_backend *backend, const rb_derivative_desc *desc, rb_derivative_plan **out);
  rb_status (*gradient)(rb_derivative_plan *plan, const void *f, void *g);
  rb_status (*divergence)(rb_derivative_plan *plan, const void *v, void *d);
  void (*destroy)(rb_derivative_plan *plan);
} rb_derivative_ops;

/* RB_EINVAL for an axis outside 1 .. 2^20. In and out must not overlap. */
rb_status rb_derivative_create(const rb_variant *variant, const rb_derivative_desc *desc, rb_derivative_plan **out);
rb_status rb_gradient(rb_derivative_plan *plan, rb_array f, rb_array g);
rb_status rb_divergence(rb_derivative_plan *plan, rb_array v, rb_array d);
void rb_derivative_destroy(rb_derivative_plan *plan); /* takes NULL */

/* Useful FLOPs of one gradient or divergence: 12 an axis and point for FD8, 2 for FD2, 2.5 N log2 N a
 * real transform plus 6 a spectral coefficient for spectral. */
double rb_derivative_flops(const rb_derivative_desc *desc);
/* Least traffic of either: 4 values a point (1 in, 3 out, or 3 in, 1 out); 16 B in float32. */
double rb_derivative_bytes(const rb_derivative_desc *desc);
/* Largest accepted |g - oracle| for |f| <= range. */
double rb_derivative_tolerance(const rb_derivative_desc *desc, double range);

/* What cpu/ref gives at the nodes at[count] of a field (or of three) on the host, float64: out[3][count] of a
 * gradient, out[count] of a divergence. For grids on which all of cpu/ref would take too long. */
rb_status rb_derivative_oracle_at(const rb_derivative_desc *desc, int divergence, const void *in, int64_t count,
                                  const int64_t *at, double *out);

rb_status rb_scheme_parse(const char *name, rb_scheme *out);

static const double rb_fd8[4] = {4.0 / 5, -1.0 / 5, 4.0 / 105, -1.0 / 280};

#ifdef __cplusplus
}
#endif
#endif
