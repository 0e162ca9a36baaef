#include "kernels/spectral/spectral.h"

#include "kernels/spectral/spectral_symbol.h"

#include <float.h>

#define RB_VARIANT(symbol, ...) extern const rb_spectral_ops symbol;
#define RB_VARIANT_CUDA(symbol, ...) extern const rb_spectral_ops symbol;
#include "kernels/spectral/spectral_variants.def"
#undef RB_VARIANT
#undef RB_VARIANT_CUDA

#define RB_VARIANT(symbol, name, tag, backend, idea) {name, tag, idea, backend, &symbol},
#ifdef RB_WITH_CUDA
#define RB_VARIANT_CUDA(symbol, name, tag, idea) {name, tag, idea, RB_CUDA, &symbol},
#else
#define RB_VARIANT_CUDA(symbol, name, tag, idea) {name, tag, idea, RB_CUDA, NULL},
#endif
static const rb_variant variants[] = {
#include "kernels/spectral/spectral_variants.def"
};

const rb_family rb_spectral_family = {
    .name = "spectral",
    .what = "diagonal operators under real 3D transforms: Laplacian powers, inverses, Helmholtz, Gaussian, Leray",
    .variants = variants,
    .count = sizeof variants / sizeof *variants,
};

rb_status rb_spectral_create(const rb_variant *variant, const rb_spectral_desc *desc, rb_spectral_plan **out) {
  rb_status st = RB_OK;
  const rb_spectral_ops *ops = variant->ops;
  const rb_backend *backend;
  *out = NULL;
  for (int a = 0; a < 3; a++)
    RB_CHECK(desc->grid.n[a] >= 1 && desc->grid.n[a] <= 1 << 20, RB_EINVAL,
             "spectral: axis %d has %lld points; 1 to 2^20 work", a + 1, (long long)desc->grid.n[a]);
  RB_CHECK(desc->components == 1 || desc->components == 3, RB_EINVAL, "spectral: %d components; 1 and 3 work",
           desc->components);
  RB_TRY(rb_variant_available(variant));
  RB_TRY(ops->supports(desc));
  RB_TRY(rb_backend_get(variant->backend, &backend));
  RB_TRY(ops->plan(backend, desc, out));
  (*out)->variant = variant;
  (*out)->backend = backend;
  (*out)->desc = *desc;
done:
  return st;
}

rb_status rb_spectral_apply(rb_spectral_plan *plan, const rb_spectral_op *op, const void *in, void *out) {
  if (op->kind == RB_OP_LERAY && plan->desc.components != 3)
    return RB_FAIL(RB_EINVAL, "spectral: the Leray projection needs 3 components");
  return ((const rb_spectral_ops *)plan->variant->ops)->apply(plan, op, in, out);
}

void rb_spectral_destroy(rb_spectral_plan *plan) {
  if (plan) ((const rb_spectral_ops *)plan->variant->ops)->destroy(plan);
}

double rb_spectral_flops(const rb_spectral_desc *desc) {
  double n = (double)rb_grid_points(desc->grid);
  return desc->components * (2 * 2.5 * n * log2(n > 1 ? n : 2) + 6 * n / 2);
}
double rb_spectral_bytes(const rb_spectral_desc *desc) {
  return 2.0 * desc->components * (double)rb_dtype_size(desc->dtype) * (double)rb_grid_points(desc->grid);
}

/* A transform pair errs by O(eps log2 N) of the root mean square; the largest symbol amplifies it. */
double rb_spectral_tolerance(const rb_spectral_desc *desc, double range, double symbol_max) {
  double eps = desc->dtype == RB_F64 ? DBL_EPSILON : FLT_EPSILON;
  return 4 * eps * (2 + log2((double)rb_grid_points(desc->grid))) * range * symbol_max;
}

double rb_spectral_symbol_max(const rb_spectral_op *op, rb_grid g) {
  double h[3], best = 0;
  if (op->kind == RB_OP_LERAY) return 1;
  for (int a = 0; a < 3; a++) h[a] = rb_grid_spacing(g, a);
  for (int64_t i = 0; i < g.n[0]; i++)
    for (int64_t j = 0; j < g.n[1]; j++)
      for (int64_t l = 0; l <= g.n[2] / 2; l++) {
        double k[3] = {(double)rb_wavenumber(i, g.n[0]), (double)rb_wavenumber(j, g.n[1]), (double)rb_wavenumber(l, g.n[2])};
        double s = fabs(rb_symbol_f64(op, h, k));
        if (s > best) best = s;
      }
  return best;
}
