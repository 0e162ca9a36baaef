/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/gausssum/gausssum.h"

#include <float.h>
#include <math.h>
#include <string.h>

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

static const rb_gausssum_ops *ops_of(const rb_gausssum_plan *p) { return p->variant->ops; }

static rb_status check_sigma(double sigma) {
  return sigma > 0 && isfinite(sigma) ? RB_OK
                                      : RB_FAIL(RB_EINVAL, "the kernel's sigma is %g; it must be positive", sigma);
}

static int64_t points(const rb_gausssum_plan *p) { return p->desc.dim * p->desc.n; }

rb_status rb_gausssum_flow(rb_gausssum_plan *p, double sigma, rb_array q, rb_array m, rb_array hq, rb_array hp) {
  rb_status st = RB_OK;
  RB_TRY(check_sigma(sigma));
  RB_NEED(p, "gausssum", q, points(p));
  RB_NEED(p, "gausssum", m, points(p));
  RB_NEED_IF(p, "gausssum", hq, points(p));
  RB_NEED_IF(p, "gausssum", hp, points(p));
  RB_TRY(ops_of(p)->flow(p, sigma, q.data, m.data, hq.data, hp.data));
done:
  return st;
}
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
rb_status rb_gausssum_sum(rb_gausssum_plan *p, double sigma, int64_t nx, rb_array x, rb_array q, rb_array m,
                          rb_array out) {
  rb_status st = RB_OK;
  RB_TRY(check_sigma(sigma));
  RB_NEED(p, "gausssum", x, p->desc.dim * nx);
  RB_NEED(p, "gausssum", q, points(p));
  RB_NEED(p, "gausssum", m, points(p));
  RB_NEED(p, "gausssum", out, p->desc.dim * nx);
  RB_TRY(ops_of(p)->sum(p, sigma, nx, x.data, q.data, m.data, out.data));
done:
  return st;
}
int rb_gausssum_shoots(const rb_gausssum_plan *p) { return ops_of(p)->shoot && ops_of(p)->shoot_back; }
static rb_status check_steps(const rb_gausssum_plan *p, double sigma, int steps) {
  rb_status st = check_sigma(sigma);
  if (st == RB_OK && !rb_gausssum_shoots(p))
    st = RB_FAIL(RB_EUNSUPPORTED, "%s has no flow at once", p->variant->name);
  if (st == RB_OK && steps < 2) st = RB_FAIL(RB_EINVAL, "%d time points; at least 2", steps);
  return st;
}
rb_status rb_gausssum_shoot(rb_gausssum_plan *p, double sigma, double dt, int steps, rb_array q, rb_array m,
                            rb_array hp0) {
  rb_status st = RB_OK;
  RB_TRY(check_steps(p, sigma, steps));
  RB_NEED(p, "gausssum", q, steps * points(p));
  RB_NEED(p, "gausssum", m, steps * points(p));
  RB_NEED_IF(p, "gausssum", hp0, points(p));
  RB_TRY(ops_of(p)->shoot(p, sigma, dt, steps, q.data, m.data, hp0.data));
done:
  return st;
}
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
  double pairs = (double)d->n * (double)d->n, dim = d->dim;
  return pairs * (3 * dim + 1 + dim * (which == 's' ? 2 : which == 'f' ? 5 : 15));
}

int rb_gausssum_sequential(const rb_variant *variant) {
  const rb_gausssum_ops *ops = variant->ops;
  return ops && ops->sequential;
}

/* Roundings are as often up as down, so they pile up like the root of their number: n in sequence, some hundred in
 * blocks; a term has dozens of its own. */
double rb_gausssum_tolerance(const rb_variant *variant, const rb_gausssum_desc *d, double size) {
  const double eps = rb_epsilon(d->dtype), n = (double)d->n;
  enum { OF_A_TERM = 64, OF_BLOCKS = 256 }; /* roundings */
  return 2 * eps * size * sqrt(fmax(OF_A_TERM, rb_gausssum_sequential(variant) ? n : fmin(n, OF_BLOCKS)));
}

size_t rb_gausssum_workspace(const rb_variant *variant, const rb_gausssum_desc *desc) {
  const rb_gausssum_ops *ops = variant->ops;
  return ops && ops->workspace ? ops->workspace(desc) : 0;
}
