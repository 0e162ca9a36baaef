/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/smooth/smooth.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

static const rb_smooth_ops *ops_of(const rb_smooth_plan *p) { return p->variant->ops; }
static int64_t longest(const rb_smooth_desc *d) {
  int64_t most = 1;
  for (int a = 0; a < 3; a++)
    if (d->grid.n[a] > most) most = d->grid.n[a];
  return most;
}
int rb_smooth_radius(double sigma, int64_t length) {
  return (int)fmin(ceil(RB_SMOOTH_REACH * sigma), (double)length - 1);
}
static size_t bytes_of(const rb_smooth_desc *d) {
  return (size_t)d->components * (size_t)rb_grid_points(d->grid) * rb_dtype_size(d->dtype);
}

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
static rb_status check_radius(const rb_variant *v, double sigma, int radius) {
  const rb_smooth_ops *ops = v->ops;
  return !ops || !ops->most || radius <= ops->most
             ? RB_OK
             : RB_FAIL(RB_EUNSUPPORTED,
                       "smooth: sigma %g voxels has radius %d here; %s ends at %d, ours and the CPU's take any",
                       sigma, radius, v->name, ops->most);
}
rb_status rb_smooth_possible(const rb_variant *variant, const rb_smooth_desc *desc) {
  rb_status st = RB_OK;
  RB_TRY(rb_grid_check(desc->grid, "smooth"));
  RB_CHECK(desc->components >= 1 && desc->components <= 3, RB_EINVAL, "smooth: %d components; 1 to 3 work",
           desc->components);
  RB_TRY(check_sigma(desc->sigma));
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
  RB_TRY(ops->plan(backend, desc, &p));
  p->variant = variant, p->backend = backend, p->desc = *desc;
  if (rb_smooth_workspace(variant, desc) > 0)
    RB_TRY(rb_alloc(backend, rb_smooth_workspace(variant, desc), &p->scratch));
  *out = p;
  p = NULL;
done:
  if (p) rb_smooth_destroy(p);
  return st;
}
void rb_smooth_destroy(rb_smooth_plan *p) {
  if (!p) return;
  rb_release(p->backend, p->scratch);
  ops_of(p)->destroy(p);
}

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
    sum += (d ? 2 : 1) * k;
  }
  for (int d = 0; d <= out->held; d++) out->k[d] /= sum;
done:
  return st;
}

/* The kernel that a call asks for, for lines of up to `length` values. */
static rb_status kernel_of(const rb_smooth_plan *p, double sigma, int64_t length, rb_smooth_kernel *k) {
  rb_status st = RB_OK;
  RB_CHECK(p->desc.sigma == 0 || sigma <= p->desc.sigma, RB_EINVAL,
           "smooth: sigma %g voxels; the plan is for %g at most", sigma, p->desc.sigma);
  RB_TRY(rb_smooth_kernel_make(sigma, length, k));
  RB_TRY(check_radius(p->variant, sigma, k->radius));
done:
  return st;
}
static rb_status pass(rb_smooth_plan *p, const rb_smooth_kernel *k, int axis, const void *in, void *out) {
  const rb_smooth_kernel along = {k->sigma, rb_smooth_radius(k->sigma, p->desc.grid.n[axis]), k->held, k->k};
  return ops_of(p)->pass(p, &along, axis, in, out);
}
static rb_status check_fields(const rb_smooth_plan *p, rb_array in, rb_array out) {
  rb_status st = RB_OK;
  RB_NEED(p, "smooth", in, rb_grid_points(p->desc.grid) * p->desc.components);
  RB_NEED(p, "smooth", out, rb_grid_points(p->desc.grid) * p->desc.components);
  RB_CHECK(in.data != out.data, RB_EINVAL, "smooth: out of place only");
done:
  return st;
}
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
  RB_TRY(kernel_of(p, sigma, longest(&p->desc), &k));
  if (ops_of(p)->run && k.radius <= ops_of(p)->alone) {
    RB_TRY(ops_of(p)->run(p, &k, in.data, out.data));
    goto done;
  }
  RB_TRY(pass(p, &k, 2, in.data, out.data));
  RB_TRY(pass(p, &k, 1, out.data, p->scratch));
  RB_TRY(pass(p, &k, 0, p->scratch, out.data));
done:
  free(k.k);
  return st;
}

double rb_smooth_flops(const rb_smooth_desc *d, double sigma) {
  double taps = 0;
  for (int a = 0; a < 3; a++) taps += 2 * rb_smooth_radius(sigma, d->grid.n[a]) + 1;
  return 2 * taps * d->components * (double)rb_grid_points(d->grid);
}
double rb_smooth_bytes(const rb_smooth_desc *d, int passes) { return 2.0 * passes * (double)bytes_of(d); }
double rb_smooth_tolerance(const rb_smooth_desc *d, double sigma, double range) {
  const double axes = 3, taps = 2 * ceil(RB_SMOOTH_REACH * sigma) + 1,
               weights = 2; /* weights round, too, and their sum */
  return axes * (taps + weights) * rb_epsilon(d->dtype) * range;
}
