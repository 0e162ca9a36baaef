/* SPDX-License-Identifier: BSD-3-Clause */
/* gausssum: sums of a Gaussian kernel over pairs of points, as Hamiltonian landmark flows need them.
 *
 *   G_ij = exp(-|q_i - q_j|^2 / (2 sigma^2)),  d_ij = q_i - q_j
 *   H    = 1/2 sum_ij (p_i.p_j) G_ij
 *   Hp_i = dH/dp_i =               sum_j G_ij p_j
 *   Hq_i = dH/dq_i = -1/sigma^2    sum_j (p_i.p_j) G_ij d_ij
 *
 * The backward products of one explicit Euler step (q + dt Hp, p - dt Hq), for the derivatives alpha, beta of a loss
 * by the step's q and p: with f = sum_i alpha_i.Hp_i - sum_i beta_i.Hq_i and b_ij = beta_i - beta_j, fq_i = df/dq_i =
 * 1/sigma^2 sum_j G_ij { (p_i.p_j) [b_ij - d_ij (d_ij.b_ij)/sigma^2] - d_ij (alpha_i.p_j + alpha_j.p_i) } fp_i =
 * df/dp_i =           sum_j G_ij { alpha_j + p_j (d_ij.b_ij)/sigma^2 }
 *
 * Between two sets: out_i = sum_j exp(-|x_i - q_j|^2 / (2 sigma^2)) p_j, for points x that are carried along
 * (shooting2018 equation 4).
 *
 * Arrays [dim][n], planar, dim 2 or 3; coordinates and sigma in one unit of length. The 1/2 in H and the 2 in G are
 * the reference implementation's (the paper's equation 1 drops the 1/2). Source: shooting2018 section 2.1; backward
 * products derived here. */
#ifndef RB_GAUSSSUM_H
#define RB_GAUSSSUM_H

#include "kernels/base/array.h"
#include "kernels/base/variant.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  int64_t n; /* points; 1 .. 2^24 */
  int dim;   /* 2 or 3 */
  rb_dtype dtype;
} rb_gausssum_desc;

typedef struct rb_gausssum_plan {
  const rb_variant *variant;
  const rb_backend *backend;
  rb_gausssum_desc desc;
} rb_gausssum_plan;

typedef struct {
  rb_status (*supports)(const rb_gausssum_desc *desc);
  rb_status (*plan)(const rb_backend *backend, const rb_gausssum_desc *desc, rb_gausssum_plan **out);
  rb_status (*flow)(rb_gausssum_plan *p, double sigma, const void *q, const void *m, void *hq, void *hp);
  rb_status (*backward)(rb_gausssum_plan *p, double sigma, const void *q, const void *m, const void *alpha,
                        const void *beta, void *fq, void *fp);
  rb_status (*sum)(rb_gausssum_plan *p, double sigma, int64_t nx, const void *x, const void *q, const void *m,
                   void *out);
  rb_status (*shoot)(rb_gausssum_plan *p, double sigma, double dt, int steps, void *q, void *m,
                     void *hp0); /* may be NULL */
  rb_status (*shoot_back)(rb_gausssum_plan *p, double sigma, double dt, int steps, const void *q, const void *m,
                          const void *alpha, const void *beta, void *alpha0, void *beta0); /* may be NULL */
  void (*destroy)(rb_gausssum_plan *p);
  size_t (*workspace)(
      const rb_gausssum_desc *desc); /* bytes that plan takes on the backend; NULL: none to speak of */
  int sequential;                    /* 1: adds the terms of a sum one after another; 0: in blocks, or compensated */
} rb_gausssum_ops;

rb_status rb_gausssum_create(const rb_variant *variant, const rb_gausssum_desc *desc, rb_gausssum_plan **out);
/* m: momenta p. hq or hp may be no array. H is 1/2 <m, hp>. */
rb_status rb_gausssum_flow(rb_gausssum_plan *p, double sigma, rb_array q, rb_array m, rb_array hq, rb_array hp);
rb_status rb_gausssum_backward(rb_gausssum_plan *p, double sigma, rb_array q, rb_array m, rb_array alpha,
                               rb_array beta, rb_array fq, rb_array fp);
/* x [dim][nx] -> out [dim][nx]. */
rb_status rb_gausssum_sum(rb_gausssum_plan *p, double sigma, int64_t nx, rb_array x, rb_array q, rb_array m,
                          rb_array out);
/* A whole flow of explicit Euler steps at once, for variants that have it (rb_gausssum_shoots); steps counts time
 * points, at least 2. q, m: [steps][dim][n], the first of each given: q + dt Hp, m - dt Hq fill the others; hp0
 * [dim][n], which may be no array, gets Hp of the first. Back along it: alpha, beta at the last time point -> alpha0,
 * beta0 at the first by alpha + dt fq, beta + dt fp; four arrays, none twice. */
int rb_gausssum_shoots(const rb_gausssum_plan *p);
rb_status rb_gausssum_shoot(rb_gausssum_plan *p, double sigma, double dt, int steps, rb_array q, rb_array m,
                            rb_array hp0);
rb_status rb_gausssum_shoot_back(rb_gausssum_plan *p, double sigma, double dt, int steps, rb_array q, rb_array m,
                                 rb_array alpha, rb_array beta, rb_array alpha0, rb_array beta0);
void rb_gausssum_destroy(rb_gausssum_plan *p); /* takes NULL */

/* The oracle's row i, for spot checks among many points: Hq_i, Hp_i, or with alpha and beta fq_i, fp_i. Arrays on the
 * host, in desc->dtype. */
void rb_gausssum_oracle_row(const rb_gausssum_desc *desc, double sigma, const void *q, const void *m,
                            const void *alpha, const void *beta, int64_t i, double first[3], double second[3]);

/* Whether the variant adds a sum's terms one after another; 0 for one that is not built here. */
int rb_gausssum_sequential(const rb_variant *variant);
/* Bytes on the backend that a plan holds besides its arguments; 0 for a variant that is not built here. */
size_t rb_gausssum_workspace(const rb_variant *variant, const rb_gausssum_desc *desc);
/* Useful FLOPs of one flow, backward or sum: per pair 3 dim for the distance, 1 exp, then 2 dim (sum), 5 dim (flow),
 * 15 dim (backward). */
double rb_gausssum_flops(const rb_gausssum_desc *desc, char which);
/* Largest accepted |out - oracle| for sums that grow to `size` on their way: the largest sum itself where terms have
 * one sign, sqrt(n) terms where they have either. Not the worst case, in which all roundings point one way: that
 * would let whole terms be missing. */
double rb_gausssum_tolerance(const rb_variant *variant, const rb_gausssum_desc *desc, double size);

#ifdef __cplusplus
}
#endif
#endif
