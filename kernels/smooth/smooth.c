/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/smooth/smooth.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

static const rb_smooth_ops *ops_of(const rb_smooth_plan *p) { return p->variant->ops; }
/* Values of the grid's longest axis: it bounds the taps that a pass along any axis can use. */
static int64_t longest(const rb_smooth_desc *d) {
  int64_t most = 1;
  for (int a = 0; a < 3; a++)
    if (d->grid.n[a] > most) most = d->grid.n[a];
  return most;
}
/* r = min(ceil(3 sigma), length - 1): a tap farther away than length - 1 meets no value of the line */
int rb_smooth_radius(double sigma, int64_t length) {
  return (int)fmin(ceil(RB_SMOOTH_REACH * sigma), (double)length - 1);
}
/* One field: components * N values. */
static size_t bytes_of(const rb_smooth_desc *d) {
  return (size_t)d->components * (size_t)rb_grid_points(d->grid) * rb_dtype_size(d->dtype);
}

/* Nothing where `run` does all axes at once for every sigma that the plan admits, that is up to desc->sigma; with
 * sigma = 0 (any) the scratch is always there. Otherwise one field between the second and the third pass. */
size_t rb_smooth_workspace(const rb_variant *variant, const rb_smooth_desc *desc) {
  const rb_smooth_ops *ops = variant->ops;
  return ops && ops->run && desc->sigma > 0 && rb_smooth_radius(desc->sigma, longest(desc)) <= ops->alone
             ? 0
             : bytes_of(desc);
}

static rb_status check_sigma(double sigma) {
  return sigma >= 0 && sigma <= RB_MOST_AXIS ? RB_OK
                                             : RB_FAIL(RB_EINVAL, "smooth: sigma %g voxels; 0 to 2^20 work", sigma);
}
/* ops->most = 0: no limit. The radius has been cut to the axis's length before: a wide sigma on a short axis may
 * pass. */
static rb_status check_radius(const rb_variant *v, double sigma, int radius) {
  const rb_smooth_ops *ops = v->ops;
  return !ops || !ops->most || radius <= ops->most
             ? RB_OK
             : RB_FAIL(RB_EUNSUPPORTED,
                       "smooth: sigma %g voxels has radius %d here; %s ends at %d, ours and the CPU's take any",
                       sigma, radius, v->name, ops->most);
}
/* All that create and the calls would refuse, without allocating: to be asked before memory is planned. */
rb_status rb_smooth_possible(const rb_variant *variant, const rb_smooth_desc *desc) {
  rb_status st = RB_OK;
  RB_TRY(rb_grid_check(desc->grid, "smooth"));
  RB_CHECK(desc->components >= 1 && desc->components <= 3, RB_EINVAL, "smooth: %d components; 1 to 3 work",
           desc->components);
  RB_TRY(check_sigma(desc->sigma));
  /* for sigma = 0 the radius is 0: calls check their own sigma in kernel_of */
  RB_TRY(check_radius(variant, desc->sigma, rb_smooth_radius(desc->sigma, longest(desc))));
done:
  return st;
}

rb_status rb_smooth_create(const rb_variant *variant, const rb_smooth_desc *desc, rb_smooth_plan **out) {
  rb_status st = RB_OK;
  const rb_smooth_ops *ops = variant->ops;
  const rb_backend *backend;
  rb_smooth_plan *p = NULL;
  *out = NULL;
  RB_TRY(rb_smooth_possible(variant, desc));
  RB_TRY(rb_variant_backend(variant, &backend));
  RB_TRY(ops->supports(desc));
  /* the variant allocates its own plan with this head; the head's fields and the scratch are filled in here */
  RB_TRY(ops->plan(backend, desc, &p));
  p->variant = variant, p->backend = backend, p->desc = *desc;
  if (rb_smooth_workspace(variant, desc) > 0)
    RB_TRY(rb_alloc(backend, rb_smooth_workspace(variant, desc), &p->scratch));
  *out = p;
  p = NULL;
done:
  /* p is NULL on success and where the variant's plan failed */
  if (p) rb_smooth_destroy(p);
  return st;
}
/* The scratch first: the variant's destroy frees the plan that holds its address. */
void rb_smooth_destroy(rb_smooth_plan *p) {
  if (!p) return;
  rb_release(p->backend, p->scratch);
  ops_of(p)->destroy(p);
}

/* k(d) = exp(-d^2 / (2 sigma^2)) / sum_{|e| <= r} exp(-e^2 / (2 sigma^2)),  r = ceil(3 sigma)
 * Symmetric: d = 0 .. held are kept. The sum is over all of |e| <= r, also over taps beyond the longest line, which
 * are not kept: near a border, weights that fall outside are lost, as f counts as 0 there. In double, whatever the
 * type. */
rb_status rb_smooth_kernel_make(double sigma, int64_t longest, rb_smooth_kernel *out) {
  rb_status st = RB_OK;
  double sum = 0;
  *out = (rb_smooth_kernel){.sigma = sigma};
  RB_TRY(check_sigma(sigma));
  out->radius = out->held = rb_smooth_radius(sigma, longest);
  out->k = malloc((size_t)(out->held + 1) * sizeof *out->k);
  RB_CHECK(out->k, RB_ENOMEM, "host memory");
  for (int d = 0; d <= ceil(RB_SMOOTH_REACH * sigma); d++) {
    const double k = sigma > 0 ? exp(-0.5 * d * d / (sigma * sigma)) : 1;
    if (d <= out->held) out->k[d] = k;
    /* d and -d together */
    sum += (d ? 2 : 1) * k;
  }
  for (int d = 0; d <= out->held; d++) out->k[d] /= sum;
done:
  return st;
}

/* The kernel that a call asks for, for lines of up to `length` values.
 * k->k is the caller's to free, also after a failure. */
static rb_status kernel_of(const rb_smooth_plan *p, double sigma, int64_t length, rb_smooth_kernel *k) {
  rb_status st = RB_OK;
  /* a wider sigma might need scratch that the plan does not have */
  RB_CHECK(p->desc.sigma == 0 || sigma <= p->desc.sigma, RB_EINVAL,
           "smooth: sigma %g voxels; the plan is for %g at most", sigma, p->desc.sigma);
  RB_TRY(rb_smooth_kernel_make(sigma, length, k));
  RB_TRY(check_radius(p->variant, sigma, k->radius));
done:
  return st;
}
static rb_status pass(rb_smooth_plan *p, const rb_smooth_kernel *k, int axis, const void *in, void *out) {
  /* The same weights for all axes, the radius cut to this axis's length; k->k stays the caller's. */
  const rb_smooth_kernel along = {k->sigma, rb_smooth_radius(k->sigma, p->desc.grid.n[axis]), k->held, k->k};
  return ops_of(p)->pass(p, &along, axis, in, out);
}
/* in and out: [components][n1][n2][n3] on the plan's backend. */
static rb_status check_fields(const rb_smooth_plan *p, rb_array in, rb_array out) {
  rb_status st = RB_OK;
  RB_NEED(p, "smooth", in, rb_grid_points(p->desc.grid) * p->desc.components);
  RB_NEED(p, "smooth", out, rb_grid_points(p->desc.grid) * p->desc.components);
  /* a pass reads neighbours of what it writes */
  RB_CHECK(in.data != out.data, RB_EINVAL, "smooth: out of place only");
done:
  return st;
}
/* Along one axis, the weights made for its length. */
rb_status rb_smooth_pass(rb_smooth_plan *p, double sigma, int axis, rb_array in, rb_array out) {
  rb_status st = RB_OK;
  rb_smooth_kernel k = {0};
  RB_TRY(check_fields(p, in, out));
  RB_CHECK(axis >= 0 && axis < 3, RB_EINVAL, "smooth: axis %d of a pass; 0 to 2", axis);
  RB_TRY(kernel_of(p, sigma, p->desc.grid.n[axis], &k));
  RB_TRY(pass(p, &k, axis, in.data, out.data));
done:
  free(k.k);
  return st;
}
rb_status rb_smooth(rb_smooth_plan *p, double sigma, rb_array in, rb_array out) {
  rb_status st = RB_OK;
  rb_smooth_kernel k = {0};
  RB_TRY(check_fields(p, in, out));
  /* one set of weights for the three axes */
  RB_TRY(kernel_of(p, sigma, longest(&p->desc), &k));
  /* all axes in one kernel, where the radius fits it */
  if (ops_of(p)->run && k.radius <= ops_of(p)->alone) {
    RB_TRY(ops_of(p)->run(p, &k, in.data, out.data));
    goto done;
  }
  /* x3, x2, x1: in -> out -> scratch -> out. No pass reads what it writes, and `in` stays as it is. */
  RB_TRY(pass(p, &k, 2, in.data, out.data));
  RB_TRY(pass(p, &k, 1, out.data, p->scratch));
  RB_TRY(pass(p, &k, 0, p->scratch, out.data));
done:
  free(k.k);
  return st;
}

/* A multiplication and an addition a tap, 2 r_a + 1 taps along axis a, for each of components * N values. */
double rb_smooth_flops(const rb_smooth_desc *d, double sigma) {
  double taps = 0;
  for (int a = 0; a < 3; a++) taps += 2 * rb_smooth_radius(sigma, d->grid.n[a]) + 1;
  return 2 * taps * d->components * (double)rb_grid_points(d->grid);
}
/* A pass reads one field and writes one. */
double rb_smooth_bytes(const rb_smooth_desc *d, int passes) { return 2.0 * passes * (double)bytes_of(d); }
double rb_smooth_tolerance(const rb_smooth_desc *d, double sigma, double range) {
  /* each of three passes rounds a sum of 2 r + 1 products; their weights sum to 1, so that errors are not amplified
   */
  const double axes = 3, taps = 2 * ceil(RB_SMOOTH_REACH * sigma) + 1,
               weights = 2; /* weights round, too, and their sum */
  return axes * (taps + weights) * rb_epsilon(d->dtype) * range;
}
