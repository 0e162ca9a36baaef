/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/helmholtz/helmholtz.h"

#include <float.h>
#include <math.h>

static const rb_helmholtz_ops *ops_of(const rb_helmholtz_plan *p) { return p->variant->ops; }
/* A variant has either solve or sweep. */
int rb_helmholtz_is_direct(const rb_variant *variant) {
  const rb_helmholtz_ops *ops = variant->ops;
  return ops && ops->solve;
}

/* What no variant takes. border is checked for periodic variants, too, though they do not read it. */
static rb_status check(const rb_helmholtz_desc *d) {
  rb_status st = RB_OK;
  RB_TRY(rb_grid_check(d->grid, "helmholtz"));
  for (int a = 0; a < 3; a++) {
    RB_CHECK(d->spacing[a] > 0 && isfinite(d->spacing[a]), RB_EINVAL,
             "helmholtz: the spacing of axis %d is %g; it must be positive", a + 1, d->spacing[a]);
  }
  RB_CHECK(d->alpha >= 0 && isfinite(d->alpha) && d->beta >= 0 && isfinite(d->beta) && isfinite(d->gamma), RB_EINVAL,
           "helmholtz: alpha %g and beta %g must not be negative", d->alpha, d->beta);
  RB_CHECK(d->border == 1 || d->border == 2, RB_EINVAL, "helmholtz: %d border layers; 1 or 2 work", d->border);
done:
  return st;
}

/* What the boundary and the method rule out, the same for all variants of a kind. */
static rb_status check_kind(const rb_helmholtz_ops *ops, const rb_helmholtz_desc *d) {
  rb_status st = RB_OK;
  /* sine transforms and sweeps treat the components one by one, which beta couples */
  RB_CHECK(ops->boundary == RB_HELMHOLTZ_PERIODIC || d->beta == 0, RB_EUNSUPPORTED,
           "helmholtz: beta is %g; solvers with a border of zeros neglect it and take 0 only", d->beta);
  /* direct: gamma != 0, as the frequency 0 has M = gamma I.  iterative: gamma > 0 */
  RB_CHECK(d->gamma > 0 || (ops->solve && d->gamma != 0), RB_EUNSUPPORTED, "helmholtz: gamma is %g; %s", d->gamma,
           ops->solve ? "it must not be 0" : "over-relaxation needs it positive: with gamma < 0 it diverges");
done:
  return st;
}

/* what the description itself rules out is RB_EINVAL, what the variant cannot do RB_EUNSUPPORTED */
rb_status rb_helmholtz_create(const rb_variant *variant, const rb_helmholtz_desc *desc, rb_helmholtz_plan **out) {
  rb_status st = RB_OK;
  const rb_helmholtz_ops *ops = variant->ops;
  const rb_backend *backend;
  *out = NULL;
  RB_TRY(check(desc));
  RB_TRY(rb_variant_backend(variant, &backend));
  RB_TRY(check_kind(ops, desc));
  RB_TRY(ops->supports(desc));
  RB_TRY(ops->plan(backend, desc, out));
  (*out)->variant = variant, (*out)->backend = backend, (*out)->desc = *desc;
done:
  return st;
}
/* v = L^-1 f, three components each; f is not changed, v need not hold anything before */
rb_status rb_helmholtz_solve(rb_helmholtz_plan *p, rb_array f, rb_array v) {
  rb_status st = RB_OK;
  RB_CHECK(ops_of(p)->solve, RB_EINVAL, "helmholtz: %s makes sweeps, it does not solve", p->variant->name);
  RB_NEED(p, "helmholtz", f, 3 * rb_grid_points(p->desc.grid));
  RB_NEED(p, "helmholtz", v, 3 * rb_grid_points(p->desc.grid));
  RB_TRY(ops_of(p)->solve(p, f.data, v.data));
done:
  return st;
}
/* v is read and improved in place; its border layers must be 0 and stay 0. 0 sweeps leave it as it is. */
rb_status rb_helmholtz_sweep(rb_helmholtz_plan *p, int sweeps, double omega, rb_array f, rb_array v) {
  rb_status st = RB_OK;
  RB_CHECK(ops_of(p)->sweep, RB_EINVAL, "helmholtz: %s solves, it makes no sweeps", p->variant->name);
  /* outside of (0, 2) over-relaxation does not converge */
  RB_CHECK(sweeps >= 0 && omega > 0 && omega < 2, RB_EINVAL,
           "helmholtz: %d sweeps, omega %g; omega lies between 0 and 2", sweeps, omega);
  RB_NEED(p, "helmholtz", f, 3 * rb_grid_points(p->desc.grid));
  RB_NEED(p, "helmholtz", v, 3 * rb_grid_points(p->desc.grid));
  RB_TRY(ops_of(p)->sweep(p, sweeps, omega, f.data, v.data));
done:
  return st;
}
void rb_helmholtz_destroy(rb_helmholtz_plan *p) {
  if (p) ops_of(p)->destroy(p);
}

/* rho = sum_a cos(pi / (m_a + 1)) / s_a^2  /  sum_a 1 / s_a^2,   m_a = n_a - 2 border nodes inside;
 * SHIFTED: times D / (D + gamma), D = 2 alpha sum_a 1 / s_a^2.   omega = 2 / (1 + sqrt(1 - rho^2)) */
double rb_helmholtz_omega(const rb_helmholtz_desc *d, rb_omega kind) {
  double sum = 0, diagonal = 0;
  for (int a = 0; a < 3; a++) {
    const double inside = (double)(d->grid.n[a] - 2 * d->border), w = 1 / (d->spacing[a] * d->spacing[a]);
    /* an axis without nodes inside adds nothing */
    sum += inside >= 1 ? w * cos(RB_TWO_PI / 2 / (inside + 1)) : 0;
    diagonal += w;
  }
  /* rho is the spectral radius of Jacobi's iteration: 1/s_a^2 weighs the axes' cosines */
  double rho = sum / diagonal;
  diagonal *= 2 * d->alpha;
  if (kind == RB_OMEGA_SHIFTED) rho *= diagonal / (diagonal + d->gamma);
  return 2 / (1 + sqrt(1 - rho * rho));
}

/* field: three components.  direct: f read, v written, 2 fields.  iterative: f and v read, v written, 3 fields a
 * pass: ceil(sweeps / sweeps_a_pass) passes; with colours apart (0) each sweep is two passes. */
double rb_helmholtz_bytes(const rb_variant *variant, const rb_helmholtz_desc *d, int sweeps) {
  const rb_helmholtz_ops *ops = variant->ops;
  const double field = 3.0 * (double)rb_dtype_size(d->dtype) * (double)rb_grid_points(d->grid);
  if (!ops || ops->solve) return 2 * field; /* not built: no sweeps are known */
  /* a pass that begins counts as a whole one */
  const double passes = ops->sweeps_a_pass ? ceil((double)sweeps / ops->sweeps_a_pass) : 2.0 * sweeps;
  return 3 * field * passes;
}
double rb_helmholtz_tolerance(const rb_helmholtz_desc *d, double range) {
  const double epsilon = rb_epsilon(d->dtype);
  /* there and back, of float32 symbols; roundings besides those of a transform */
  enum { TRANSFORMS = 4, OF_SYMBOL = 4 };
  /* v is range / |gamma| at most; 4 eps (4 + log2 N) of that */
  return TRANSFORMS * epsilon * (OF_SYMBOL + log2((double)rb_grid_points(d->grid))) * range / fabs(d->gamma);
}
