#include "kernels/smooth/smooth.h"

#include <float.h>
#include <math.h>

#define RB_FAMILY_OPS rb_smooth_ops
#define RB_FAMILY_DEF "kernels/smooth/smooth_variants.def"
#include "kernels/base/variant_table.h"

const rb_family rb_smooth_family = {
    .name = "smooth",
    .what = "separable Gaussian filter of vector fields, zero outside",
    .variants = variants,
    .count = sizeof variants / sizeof *variants,
};

static const rb_smooth_ops *ops_of(const rb_smooth_plan *p) { return p->variant->ops; }
static size_t bytes_of(const rb_smooth_desc *d) { return (size_t)d->components * (size_t)rb_grid_points(d->grid) * rb_dtype_size(d->dtype); }

size_t rb_smooth_workspace(const rb_variant *variant, const rb_smooth_desc *desc) {
  const rb_smooth_ops *ops = variant->ops;
  return ops && desc->sigma > 0 && ceil(3 * desc->sigma) <= ops->alone ? 0 : bytes_of(desc);
}

rb_status rb_smooth_create(const rb_variant *variant, const rb_smooth_desc *desc, rb_smooth_plan **out) {
  rb_status st = RB_OK;
  const rb_smooth_ops *ops = variant->ops;
  const rb_backend *backend;
  rb_smooth_plan *p = NULL;
  *out = NULL;
  for (int a = 0; a < 3; a++)
    RB_CHECK(desc->grid.n[a] >= 1 && desc->grid.n[a] <= 1 << 20, RB_EINVAL, "smooth: axis %d has %lld points; 1 to 2^20 work", a + 1, (long long)desc->grid.n[a]);
  RB_CHECK(desc->components >= 1 && desc->components <= 3, RB_EINVAL, "smooth: %d components; 1 to 3 work", desc->components);
  RB_TRY(rb_variant_available(variant));
  RB_TRY(ops->supports(desc));
  RB_TRY(rb_backend_get(variant->backend, &backend));
  RB_TRY(ops->plan(backend, desc, &p));
  p->variant = variant, p->backend = backend, p->desc = *desc;
  if (rb_smooth_workspace(variant, desc) > 0) RB_TRY(rb_alloc(backend, rb_smooth_workspace(variant, desc), &p->scratch));
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

rb_status rb_smooth_kernel_make(double sigma, rb_smooth_kernel *out) {
  rb_status st = RB_OK;
  double sum = 0;
  RB_CHECK(sigma >= 0 && ceil(3 * sigma) <= RB_SMOOTH_RADIUS, RB_EINVAL, "smooth: sigma %g voxels; 0 to %g work", sigma, RB_SMOOTH_RADIUS / 3.0);
  out->radius = (int)ceil(3 * sigma);
  for (int d = 0; d <= out->radius; d++) {
    out->k[d] = sigma > 0 ? exp(-0.5 * d * d / (sigma * sigma)) : 1;
    sum += (d ? 2 : 1) * out->k[d];
  }
  for (int d = 0; d <= out->radius; d++) out->k[d] /= sum;
done:
  return st;
}

rb_status rb_smooth_pass(rb_smooth_plan *p, double sigma, int axis, const void *in, void *out) {
  rb_status st = RB_OK;
  rb_smooth_kernel k;
  RB_CHECK(axis >= 0 && axis < 3 && in != out, RB_EINVAL, "smooth: axis %d of a pass; 0 to 2, out of place", axis);
  RB_TRY(rb_smooth_kernel_make(sigma, &k));
  RB_TRY(ops_of(p)->pass(p, &k, axis, in, out));
done:
  return st;
}
rb_status rb_smooth(rb_smooth_plan *p, double sigma, const void *in, void *out) {
  rb_status st = RB_OK;
  rb_smooth_kernel k;
  RB_CHECK(in != out, RB_EINVAL, "smooth: out of place only");
  RB_TRY(rb_smooth_kernel_make(sigma, &k));
  RB_CHECK(p->scratch || k.radius <= ops_of(p)->alone, RB_EINVAL, "smooth: sigma %g voxels; the plan is for %g at most", sigma, p->desc.sigma);
  if (ops_of(p)->run) return ops_of(p)->run(p, &k, in, out);
  RB_TRY(ops_of(p)->pass(p, &k, 2, in, out));
  RB_TRY(ops_of(p)->pass(p, &k, 1, out, p->scratch));
  RB_TRY(ops_of(p)->pass(p, &k, 0, p->scratch, out));
done:
  return st;
}

double rb_smooth_flops(const rb_smooth_desc *d, double sigma) {
  return 3 * 2 * (2 * ceil(3 * sigma) + 1) * d->components * (double)rb_grid_points(d->grid);
}
double rb_smooth_bytes(const rb_smooth_desc *d, int passes) { return 2.0 * passes * (double)bytes_of(d); }
double rb_smooth_tolerance(const rb_smooth_desc *d, double sigma, double range) {
  return 3 * (2 * ceil(3 * sigma) + 3) * (d->dtype == RB_F64 ? DBL_EPSILON : FLT_EPSILON) * range;
}
