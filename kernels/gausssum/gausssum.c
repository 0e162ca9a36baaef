/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/gausssum/gausssum.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* The caller owns *out and gives it back by rb_gausssum_destroy; NULL on failure. */
rb_status rb_gausssum_create(const rb_variant *variant, const rb_gausssum_desc *desc, rb_gausssum_plan **out) {
  rb_status st = RB_OK;
  const rb_gausssum_ops *ops = variant->ops;
  const rb_backend *backend;
  *out = NULL;
  RB_CHECK(desc->n >= 1 && desc->n <= (int64_t)1 << 24, RB_EINVAL, "gausssum: %lld points; 1 to 2^24 work",
           (long long)desc->n);
  RB_CHECK(desc->dim == 2 || desc->dim == 3, RB_EINVAL, "gausssum: %d dimensions; 2 and 3 work", desc->dim);
  RB_TRY(rb_variant_backend(variant, &backend));
  RB_TRY(ops->supports(desc));
  RB_TRY(ops->plan(backend, desc, out));
  (*out)->variant = variant;
  (*out)->backend = backend;
  (*out)->desc = *desc;
done:
  return st;
}

/* Arrays are planar [dim][n]: coordinate c of point i at value c n + i. Coordinates and sigma have one unit of
 * length; momenta any. Outputs must not be inputs: the sums read all points for every row. */
static const rb_gausssum_ops *ops_of(const rb_gausssum_plan *p) { return p->variant->ops; }

/* 1 / sigma^2 is a factor of all sums: 0, negative numbers, NaN and infinities are refused. */
static rb_status check_sigma(double sigma) {
  return sigma > 0 && isfinite(sigma) ? RB_OK
                                      : RB_FAIL(RB_EINVAL, "the kernel's sigma is %g; it must be positive", sigma);
}

/* Values of a planar array [dim][n]. */
static int64_t points(const rb_gausssum_plan *p) { return p->desc.dim * p->desc.n; }

/* Hp_i = sum_j G_ij p_j,   Hq_i = -1/sigma^2 sum_j (p_i.p_j) G_ij d_ij.  sigma comes with each call: a plan serves
 * any.
 */
rb_status rb_gausssum_flow(rb_gausssum_plan *p, double sigma, rb_array q, rb_array m, rb_array hq, rb_array hp) {
  rb_status st = RB_OK;
  RB_TRY(check_sigma(sigma));
  RB_NEED(p, "gausssum", q, points(p));
  RB_NEED(p, "gausssum", m, points(p));
  /* what is no array is not computed */
  RB_NEED_IF(p, "gausssum", hq, points(p));
  RB_NEED_IF(p, "gausssum", hp, points(p));
  RB_TRY(ops_of(p)->flow(p, sigma, q.data, m.data, hq.data, hp.data));
done:
  return st;
}
/* fq = df/dq and fp = df/dp for f = sum_i alpha_i.Hp_i - sum_i beta_i.Hq_i; both outputs are needed */
rb_status rb_gausssum_backward(rb_gausssum_plan *p, double sigma, rb_array q, rb_array m, rb_array alpha,
                               rb_array beta, rb_array fq, rb_array fp) {
  rb_status st = RB_OK;
  RB_TRY(check_sigma(sigma));
  RB_NEED(p, "gausssum", q, points(p));
  RB_NEED(p, "gausssum", m, points(p));
  RB_NEED(p, "gausssum", alpha, points(p));
  RB_NEED(p, "gausssum", beta, points(p));
  RB_NEED(p, "gausssum", fq, points(p));
  RB_NEED(p, "gausssum", fp, points(p));
  RB_TRY(ops_of(p)->backward(p, sigma, q.data, m.data, alpha.data, beta.data, fq.data, fp.data));
done:
  return st;
}
/* out_i = sum_j exp(-|x_i - q_j|^2 / (2 sigma^2)) p_j at nx points x; nx is not bounded by the plan's n */
rb_status rb_gausssum_sum(rb_gausssum_plan *p, double sigma, int64_t nx, rb_array x, rb_array q, rb_array m,
                          rb_array out) {
  rb_status st = RB_OK;
  RB_TRY(check_sigma(sigma));
  RB_CHECK(nx >= 0 && nx <= INT32_MAX, RB_EINVAL, "gausssum: %lld points x; 0 to 2^31 - 1 work", (long long)nx);
  RB_NEED(p, "gausssum", x, p->desc.dim * nx);
  RB_NEED(p, "gausssum", q, points(p));
  RB_NEED(p, "gausssum", m, points(p));
  RB_NEED(p, "gausssum", out, p->desc.dim * nx);
  RB_TRY(ops_of(p)->sum(p, sigma, nx, x.data, q.data, m.data, out.data));
done:
  return st;
}
/* A variant has both directions or neither is used. */
int rb_gausssum_shoots(const rb_gausssum_plan *p) { return ops_of(p)->shoot && ops_of(p)->shoot_back; }
/* RB_EINVAL for sigma and time points, RB_EUNSUPPORTED where the variant has no whole flow. */
static rb_status check_steps(const rb_gausssum_plan *p, double sigma, int steps) {
  rb_status st = check_sigma(sigma);
  if (st == RB_OK && !rb_gausssum_shoots(p))
    st = RB_FAIL(RB_EUNSUPPORTED, "%s has no flow at once", p->variant->name);
  if (st == RB_OK && steps < 2) st = RB_FAIL(RB_EINVAL, "%d time points; at least 2", steps);
  return st;
}
/* q^{t+1} = q^t + dt Hp(q^t, m^t),   m^{t+1} = m^t - dt Hq(q^t, m^t),   t = 0 .. steps - 2 */
rb_status rb_gausssum_shoot(rb_gausssum_plan *p, double sigma, double dt, int steps, rb_array q, rb_array m,
                            rb_array hp0) {
  rb_status st = RB_OK;
  RB_TRY(check_steps(p, sigma, steps));
  RB_NEED(p, "gausssum", q, steps * points(p));
  RB_NEED(p, "gausssum", m, steps * points(p));
  RB_NEED_IF(p, "gausssum", hp0, points(p));
  /* q, m: [steps][dim][n]; time point 0 is read, 1 .. steps - 1 are written */
  RB_TRY(ops_of(p)->shoot(p, sigma, dt, steps, q.data, m.data, hp0.data));
done:
  return st;
}
/* q, m: the whole flow, [steps][dim][n], as shoot left it. alpha, beta: derivatives of the loss by the last q and
 * m; alpha0, beta0: by the first. */
rb_status rb_gausssum_shoot_back(rb_gausssum_plan *p, double sigma, double dt, int steps, rb_array q, rb_array m,
                                 rb_array alpha, rb_array beta, rb_array alpha0, rb_array beta0) {
  rb_status st = RB_OK;
  RB_TRY(check_steps(p, sigma, steps));
  RB_NEED(p, "gausssum", q, steps * points(p));
  RB_NEED(p, "gausssum", m, steps * points(p));
  RB_NEED(p, "gausssum", alpha, points(p));
  RB_NEED(p, "gausssum", beta, points(p));
  RB_NEED(p, "gausssum", alpha0, points(p));
  RB_NEED(p, "gausssum", beta0, points(p));
  RB_TRY(ops_of(p)->shoot_back(p, sigma, dt, steps, q.data, m.data, alpha.data, beta.data, alpha0.data, beta0.data));
done:
  return st;
}
void rb_gausssum_destroy(rb_gausssum_plan *p) {
  if (p) ops_of(p)->destroy(p);
}

double rb_gausssum_flops(const rb_gausssum_desc *d, char which) {
  /* n^2 pairs, the diagonal counted. Distance: dim differences, squares and sums, 3 dim. Exponential: 1.
   * Then 2 dim ('s': a multiply-add a component), 5 dim ('f': flow) or 15 dim (backward). */
  double pairs = (double)d->n * (double)d->n, dim = d->dim;
  return pairs * (3 * dim + 1 + dim * (which == 's' ? 2 : which == 'f' ? 5 : 15));
}

/* 0 also for a variant that is not built. */
int rb_gausssum_sequential(const rb_variant *variant) {
  const rb_gausssum_ops *ops = variant->ops;
  return ops && ops->sequential;
}

/* Roundings are as often up as down, so they pile up like the root of their number: n in sequence, some hundred in
 * blocks; a term has dozens of its own. */
double rb_gausssum_tolerance(const rb_variant *variant, const rb_gausssum_desc *d, double size) {
  const double eps = rb_epsilon(d->dtype), n = (double)d->n;
  enum { OF_A_TERM = 64, OF_BLOCKS = 256 }; /* roundings */
  /* 2 eps size sqrt(roundings): at least OF_A_TERM; n of a sequence, at most OF_BLOCKS of a sum in blocks */
  return 2 * eps * size * sqrt(fmax(OF_A_TERM, rb_gausssum_sequential(variant) ? n : fmin(n, OF_BLOCKS)));
}

/* Besides the arguments of the calls; NULL in the table means that there is none to speak of. */
size_t rb_gausssum_workspace(const rb_variant *variant, const rb_gausssum_desc *desc) {
  const rb_gausssum_ops *ops = variant->ops;
  return ops && ops->workspace ? ops->workspace(desc) : 0;
}
