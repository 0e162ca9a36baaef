/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/currents/currents.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define MARGIN 5.0 /* sigmas of free room between points and their images */

static const rb_currents_ops *ops_of(const rb_currents_plan *p) { return p->variant->ops; }

rb_status rb_currents_create(const rb_variant *variant, const rb_currents_desc *desc, rb_currents_plan **out) {
  rb_status st = RB_OK;
  const rb_currents_ops *ops = variant->ops;
  const rb_backend *backend;
  rb_currents_plan *p = NULL;
  *out = NULL;
  RB_CHECK(desc->sigma > 0 && isfinite(desc->sigma), RB_EINVAL, "the kernel's sigma is %g; it must be positive",
           desc->sigma);
  RB_CHECK(desc->sources >= 1 && desc->sources <= (int64_t)1 << 28 && desc->targets >= 1 &&
               desc->targets <= (int64_t)1 << 28,
           RB_EINVAL, "currents: %lld sources, %lld targets; 1 to 2^28 work", (long long)desc->sources,
           (long long)desc->targets);
  /* grid, spacing and the variance that is left are checked for a particle mesh only */
  if (desc->method != RB_CURRENTS_EXACT) {
    RB_CHECK(desc->spacing > 0 && isfinite(desc->spacing), RB_EINVAL, "currents: a grid's spacing of %g",
             desc->spacing);
    RB_CHECK(
        desc->spacing <= 4 * desc->sigma, RB_EINVAL,
        "sigma %g is below a quarter of the grid's spacing %g: the particle mesh would measure nothing but its own "
        "weights; use a finer grid or the exact sums",
        desc->sigma, desc->spacing);
    /* sigma_c^2 = sigma^2 - h^2/3 (or 2 h^2/3) must be positive: sigma > h sqrt(1/3), or sqrt(2/3) */
    RB_CHECK(rb_currents_variance(desc) > 0, RB_EINVAL,
             "sigma %g is too narrow for a corrected kernel on a grid of spacing %g; at least %g spacings work",
             desc->sigma, desc->spacing, desc->method == RB_CURRENTS_CUBIC ? sqrt(2.0 / 3) : sqrt(1.0 / 3));
    for (int a = 0; a < 3; a++)
      RB_CHECK(desc->grid.n[a] >= 4 && desc->grid.n[a] <= 1 << 14, RB_EINVAL,
               "currents: axis %d has %lld nodes; 4 to 2^14 work", a + 1, (long long)desc->grid.n[a]);
  }
  RB_TRY(rb_variant_backend(variant, &backend));
  RB_TRY(ops->supports(desc));
  RB_TRY(ops->plan(backend, desc, &p));
  p->variant = variant, p->backend = backend, p->desc = *desc;
  RB_TRY(rb_alloc(backend, sizeof *p->kept, (void **)&p->kept));
  *out = p;
  p = NULL;
done:
  rb_currents_destroy(p); /* NULL on success */
  return st;
}
/* The variants may keep the pointers: y and m must stay as they are until the last eval or energy. */
rb_status rb_currents_load(rb_currents_plan *p, rb_array y, rb_array m) {
  rb_status st = RB_OK;
  RB_NEED(p, "currents", y, 3 * p->desc.sources);
  RB_NEED(p, "currents", m, 3 * p->desc.sources);
  RB_TRY(ops_of(p)->load(p, y.data, m.data));
done:
  return st;
}
rb_status rb_currents_set_fixed(rb_currents_plan *p, int64_t n, rb_array y, rb_array m) {
  rb_status st = RB_OK;
  RB_CHECK(n >= 1, RB_EINVAL, "currents: %lld fixed sources", (long long)n);
  RB_NEED(p, "currents", y, 3 * n);
  RB_NEED(p, "currents", m, 3 * n);
  RB_CHECK(ops_of(p)->set_fixed, RB_EUNSUPPORTED, "%s keeps no sources from load to load", p->variant->name);
  RB_TRY(ops_of(p)->set_fixed(p, n, y.data, m.data));
done:
  return st;
}
int rb_currents_takes_fixed(const rb_variant *variant) {
  const rb_currents_ops *ops = variant->ops;
  return ops && ops->set_fixed;
}
/* u_i = sum_j K m_j and, where z is an array, z_i = -1/sigma^2 sum_j (p_i . m_j) K (x_i - y_j), by the plan's method
 */
rb_status rb_currents_eval(rb_currents_plan *p, int64_t n, rb_array x, rb_array pair, rb_array u, rb_array z) {
  rb_status st = RB_OK;
  RB_CHECK(n >= 1 && n <= p->desc.targets, RB_EINVAL, "currents: %lld targets; the plan is for up to %lld",
           (long long)n, (long long)p->desc.targets);
  RB_NEED(p, "currents", x, 3 * n);
  RB_NEED(p, "currents", u, 3 * n);
  RB_NEED_IF(p, "currents", z, 3 * n);
  /* the pairing is read for z only */
  if (z.data) RB_NEED(p, "currents", pair, 3 * n);
  RB_TRY(ops_of(p)->eval(p, n, x.data, pair.data, u.data, z.data));
done:
  return st;
}
/* E = sum_i m_i . u(y_i) of what is loaded; waits for the backend. */
rb_status rb_currents_energy(rb_currents_plan *p, double *energy) {
  rb_status st = RB_OK;
  RB_TRY(ops_of(p)->energy(p, p->kept));
  RB_TRY(rb_currents_outcome(p));
  RB_TRY(p->backend->download(energy, p->kept, sizeof *energy));
done:
  return st;
}
rb_status rb_currents_energy_kept(rb_currents_plan *p, rb_array kept) {
  rb_status st = RB_OK;
  RB_TRY(rb_array_check(kept, "currents", "kept", p->backend, RB_F64, 1));
  RB_TRY(ops_of(p)->energy(p, kept.data));
done:
  return st;
}
rb_status rb_currents_outcome(rb_currents_plan *p) { return ops_of(p)->outcome ? ops_of(p)->outcome(p) : RB_OK; }
/* The variant's destroy frees the plan, so it comes last. */
void rb_currents_destroy(rb_currents_plan *p) {
  if (!p) return;
  rb_release(p->backend, p->kept);
  ops_of(p)->destroy(p);
}

/* widening of the weights, splat and gather together, in h^2 an axis:
 * linear B-spline: variance 1/6, twice: 1/3.   cubic: 1/3, twice: 2/3.   PLAIN and EXACT: not corrected */
double rb_currents_variance(const rb_currents_desc *d) {
  const double widening = d->method == RB_CURRENTS_CORRECTED ? 1.0 / 3 : d->method == RB_CURRENTS_CUBIC ? 2.0 / 3 : 0;
  return d->sigma * d->sigma - widening * d->spacing * d->spacing;
}
/* (sigma / sigma_c)^3: the narrower Gaussian keeps the integral of K. */
double rb_currents_amplitude(const rb_currents_desc *d) {
  return pow(d->sigma * d->sigma / rb_currents_variance(d), 1.5);
}

/* The next number from n on that is even and of no prime factors but 2, 3 and 5.
 * Even sizes of small factors suit the transforms; n grows by two, so that it ends at the first that fits. */
static int64_t smooth_size(int64_t n) {
  for (n += n % 2;; n += 2) {
    int64_t rest = n;
    /* 4 divides nothing any more once 2 is out */
    for (int f = 2; f <= 5; f++)
      while (rest % f == 0) rest /= f;
    if (rest == 1) return n;
  }
}
/* n_a = ceil((extent + room) / h) + 1 rounded up, room = max(5 sigma, 3 h); what is over lies half before the box,
 * half behind */
void rb_currents_fit_grid(const double low[3], const double high[3], rb_currents_desc *d) {
  for (int a = 0; a < 3; a++) {
    const double free_room = fmax(MARGIN * d->sigma, 3 * d->spacing);
    d->grid.n[a] = smooth_size((int64_t)ceil((high[a] - low[a] + free_room) / d->spacing) + 1);
    d->origin[a] = low[a] - ((double)(d->grid.n[a] - 1) * d->spacing - (high[a] - low[a])) / 2;
  }
}

/* 1 + 25 a pair of a source and a target. */
double rb_currents_flops(const rb_currents_desc *d, int64_t n) { return 26 * (double)d->sources * (double)n; }

/* fp16 has 11 bits. The exponent is off by half a unit, for |e| log(2) 2^-12 of K, |e| K at most .53 beside 1; the
 * instruction by 2^-9.9; the moment by 2^-12; z by as much again for the differences of places. What is below 2^-24
 * is lost. */
static int in_fp16(const rb_variant *variant) {
  const rb_currents_ops *ops = variant->ops;
  return ops && ops->weights == RB_WEIGHTS_FP16;
}
double rb_currents_pair_error(const rb_variant *variant) { return in_fp16(variant) ? 0x1p-9 : 0; }
double rb_currents_pair_floor(const rb_variant *variant) { return in_fp16(variant) ? 0x1p-24 : 0; }

/* Sums: roundings of terms and partial sums, some dozens. A particle mesh adds three transforms each way, whose
 * roundings grow with the logarithm of the size, and sums of thousands of nodes' contributions. */
double rb_currents_tolerance(const rb_variant *variant, const rb_currents_desc *d, double size, double total) {
  const rb_currents_ops *ops = variant->ops;
  const double epsilon = rb_epsilon(d->dtype);
  /* a pair left out contributes less than exp(-reach^2/2) |m_j|; all of them, less than that times sum_j |m_j| */
  const double cut = ops && ops->reach > 0 ? exp(-ops->reach * ops->reach / 2) * total : 0;
  enum { OF_SUMS = 32, OF_TRANSFORMS = 8, OF_NODES = 4 }; /* roundings */
  if (d->method == RB_CURRENTS_EXACT)
    return (OF_SUMS * epsilon + rb_currents_pair_error(variant)) * size + rb_currents_pair_floor(variant) * total +
           cut;
  return OF_TRANSFORMS * epsilon * size * (OF_NODES + log2((double)rb_grid_points(d->grid)));
}

rb_status rb_currents_method_parse(const char *name, rb_currents_method *out) {
  static const char *const names[] = {"exact", "plain", "corrected", "cubic"};
  for (int i = 0; i < 4; i++)
    if (strcmp(name, names[i]) == 0) {
      *out = (rb_currents_method)i;
      return RB_OK;
    }
  return RB_FAIL(RB_EINVAL, "unknown method of currents '%s': exact, plain, corrected, cubic", name);
}
