/* SPDX-License-Identifier: BSD-3-Clause */
/* spectral: operators that are diagonal under the real 3D Fourier transform of the periodic grid.
 *
 * in, out [components][n1][n2][n3]; out = F^-1 ( S(k) F in ), forward unscaled, 1/N folded into S.
 * k_a are integer wave numbers (rb_wavenumber: Nyquist counts as 0), |k|^2 = k1^2 + k2^2 + k3^2.
 *
 * RB_OP_HELMHOLTZ  S = scale (alpha |k|^2 + gamma)^power, power any integer; where the base is 0 (the null space)
 *                  S = null. Laplacian powers: alpha 1, gamma 0; inverses: power < 0.
 * RB_OP_GAUSSIAN   S = scale exp(-1/2 sum_a (sigma_a h_a k_a)^2), sigma in grid cells.
 * RB_OP_LERAY      three components: S b = scale (b - theta k (k.b) / |k|^2), theta = 1 / (1 + beta_v / (beta_w
 * (|k|^2 + 1))); beta_v = 0 is the Leray projection. k = 0 passes. (brunn2020's H1-div regularisation.) RB_OP_H1DIV
 * three components: S b = scale (beta_v |k|^2 b + beta_w (|k|^2 + 1) k (k.b)), the quadratic form of the H1 seminorm
 * with a penalty on the divergence and its gradient.
 *
 * Coefficients: a field may also be held as c [components][2 n1 n2 (n3/2+1)], pairs of reals,
 *   c_k = w_k (F f)_k / sqrt(N),   w = 1 on the planes k3 = 0 and (n3 even) k3 = n3/2, sqrt(2) between them,
 * an orthonormal basis: sum_k c_k d_k = sum_x f g. An optimiser whose vectors are coefficients applies every S
 * without a transform, and its inner products and norms are those of the fields. */
#ifndef RB_SPECTRAL_H
#define RB_SPECTRAL_H

#include "kernels/base/array.h"
#include "kernels/base/variant.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum { RB_OP_HELMHOLTZ, RB_OP_GAUSSIAN, RB_OP_LERAY, RB_OP_H1DIV } rb_spectral_kind;

typedef struct {
  rb_spectral_kind kind;
  double scale, alpha, gamma, null;
  int power;
  double sigma[3];
  double beta_v, beta_w;
} rb_spectral_op;

typedef struct {
  rb_grid grid;
  rb_dtype dtype;
  int components; /* 1 or 3 */
} rb_spectral_desc;

typedef struct rb_spectral_plan {
  const rb_variant *variant;
  const rb_backend *backend;
  rb_spectral_desc desc;
} rb_spectral_plan;

typedef struct {
  rb_status (*supports)(const rb_spectral_desc *desc);
  rb_status (*plan)(const rb_backend *backend, const rb_spectral_desc *desc, rb_spectral_plan **out);
  rb_status (*apply)(rb_spectral_plan *plan, const rb_spectral_op *op, const void *in, void *out);
  rb_status (*analyse)(rb_spectral_plan *plan, const rb_spectral_op *of, const void *f, const rb_spectral_op *oc,
                       const void *c, void *out);
  rb_status (*synthesise)(rb_spectral_plan *plan, const void *c, void *f);
  rb_status (*scale)(rb_spectral_plan *plan, const rb_spectral_op *op, const void *c, void *out);
  void (*destroy)(rb_spectral_plan *plan);
} rb_spectral_ops;

rb_status rb_spectral_create(const rb_variant *variant, const rb_spectral_desc *desc, rb_spectral_plan **out);
/* in == out is allowed. RB_EINVAL for a Leray projection of anything but three components. */
rb_status rb_spectral_apply(rb_spectral_plan *plan, const rb_spectral_op *op, rb_array in, rb_array out);
/* out = S_f U f + S_c c in coefficients, U the orthonormal transform; c may be no array, out may be c. */
rb_status rb_spectral_analyse(rb_spectral_plan *plan, const rb_spectral_op *of, rb_array f, const rb_spectral_op *oc,
                              rb_array c, rb_array out);
/* f = U^-1 c. */
rb_status rb_spectral_synthesise(rb_spectral_plan *plan, rb_array c, rb_array f);
/* out = S c without a transform; out may be c. */
rb_status rb_spectral_scale(rb_spectral_plan *plan, const rb_spectral_op *op, rb_array c, rb_array out);
void rb_spectral_destroy(rb_spectral_plan *plan); /* takes NULL */

/* Reals of one component's coefficients. */
static inline int64_t rb_spectral_coefficients(rb_grid g) { return 2 * g.n[0] * g.n[1] * (g.n[2] / 2 + 1); }
/* S = scale everywhere. */
static inline rb_spectral_op rb_spectral_times(double scale) {
  rb_spectral_op op = {RB_OP_HELMHOLTZ, scale, 0, 1, 0, 0, {0, 0, 0}, 0, 0};
  return op;
}

/* 2.5 N log2 N a real transform, two a component, plus 6 a coefficient. */
double rb_spectral_flops(const rb_spectral_desc *desc);
/* Least traffic: every value in and out once. Three-pass transforms move six times as much. */
double rb_spectral_bytes(const rb_spectral_desc *desc);
/* Largest accepted |out - oracle| for |in| <= range and |S| <= symbol_max. */
double rb_spectral_tolerance(const rb_spectral_desc *desc, double range, double symbol_max);
/* Largest |S| of op on the grid. */
double rb_spectral_symbol_max(const rb_spectral_op *op, rb_grid grid);

#ifdef __cplusplus
}
#endif
#endif
