/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/spectral/spectral.h"

#include "kernels/base/profile.h"
#include "kernels/spectral/spectral_symbol.h"

#include <float.h>

rb_status rb_spectral_create(const rb_variant *variant, const rb_spectral_desc *desc, rb_spectral_plan **out) {
  rb_status st = RB_OK;
  const rb_spectral_ops *ops = variant->ops;
  const rb_backend *backend;
  *out = NULL;
  RB_TRY(rb_grid_check(desc->grid, "spectral"));
  RB_CHECK(desc->components == 1 || desc->components == 3, RB_EINVAL, "spectral: %d components; 1 and 3 work",
           desc->components);
  RB_TRY(rb_variant_backend(variant, &backend));
  RB_TRY(ops->supports(desc));
  RB_TRY(ops->plan(backend, desc, out));
  (*out)->variant = variant;
  (*out)->backend = backend;
  (*out)->desc = *desc;
done:
  return st;
}

static const rb_spectral_ops *ops_of(const rb_spectral_plan *p) { return p->variant->ops; }

static rb_status check_components(const rb_spectral_plan *plan, const rb_spectral_op *op) {
  if ((op->kind == RB_OP_LERAY || op->kind == RB_OP_H1DIV) && plan->desc.components != 3)
    return RB_FAIL(RB_EINVAL, "spectral: the %s needs 3 components",
                   op->kind == RB_OP_LERAY ? "Leray projection" : "H1-div form");
  return RB_OK;
}

static int64_t values(const rb_spectral_plan *p) { return p->desc.components * rb_grid_points(p->desc.grid); }
static int64_t coefficients(const rb_spectral_plan *p) {
  return p->desc.components * rb_spectral_coefficients(p->desc.grid);
}

rb_status rb_spectral_apply(rb_spectral_plan *plan, const rb_spectral_op *op, rb_array in, rb_array out) {
  rb_status st = RB_OK;
  RB_TRY(check_components(plan, op));
  RB_NEED(plan, "spectral", in, values(plan));
  RB_NEED(plan, "spectral", out, values(plan));
  RB_TRY(rb_profile_begin(plan->backend, RB_CLASS_SPECTRAL));
  RB_TRY(ops_of(plan)->apply(plan, op, in.data, out.data));
  RB_TRY(rb_profile_end(plan->backend, plan->desc.components, rb_spectral_bytes(&plan->desc)));
done:
  return st;
}

/* Half a transform pair a component: counted as 1/2. */
rb_status rb_spectral_analyse(rb_spectral_plan *plan, const rb_spectral_op *of, rb_array f, const rb_spectral_op *oc,
                              rb_array c, rb_array out) {
  rb_status st = RB_OK;
  RB_TRY(check_components(plan, of));
  if (c.data) RB_TRY(check_components(plan, oc));
  RB_NEED(plan, "spectral", f, values(plan));
  RB_NEED_IF(plan, "spectral", c, coefficients(plan));
  RB_NEED(plan, "spectral", out, coefficients(plan));
  RB_TRY(rb_profile_begin(plan->backend, RB_CLASS_SPECTRAL));
  RB_TRY(ops_of(plan)->analyse(plan, of, f.data, oc, c.data, out.data));
  RB_TRY(rb_profile_end(plan->backend, 0.5 * plan->desc.components,
                        rb_spectral_bytes(&plan->desc) * (c.data ? 1.5 : 1)));
done:
  return st;
}

rb_status rb_spectral_synthesise(rb_spectral_plan *plan, rb_array c, rb_array f) {
  rb_status st = RB_OK;
  RB_NEED(plan, "spectral", c, coefficients(plan));
  RB_NEED(plan, "spectral", f, values(plan));
  RB_TRY(rb_profile_begin(plan->backend, RB_CLASS_SPECTRAL));
  RB_TRY(ops_of(plan)->synthesise(plan, c.data, f.data));
  RB_TRY(rb_profile_end(plan->backend, 0.5 * plan->desc.components, rb_spectral_bytes(&plan->desc)));
done:
  return st;
}

rb_status rb_spectral_scale(rb_spectral_plan *plan, const rb_spectral_op *op, rb_array c, rb_array out) {
  rb_status st = RB_OK;
  RB_TRY(check_components(plan, op));
  RB_NEED(plan, "spectral", c, coefficients(plan));
  RB_NEED(plan, "spectral", out, coefficients(plan));
  RB_TRY(rb_profile_begin(plan->backend, RB_CLASS_SPECTRAL));
  RB_TRY(ops_of(plan)->scale(plan, op, c.data, out.data));
  RB_TRY(rb_profile_end(plan->backend, 0, rb_spectral_bytes(&plan->desc)));
done:
  return st;
}

void rb_spectral_destroy(rb_spectral_plan *plan) {
  if (plan) ops_of(plan)->destroy(plan);
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
  double eps = rb_epsilon(desc->dtype);
  return 4 * eps * (2 + log2((double)rb_grid_points(desc->grid))) * range * symbol_max;
}

double rb_spectral_symbol_max(const rb_spectral_op *op, rb_grid g) {
  double h[3], best = 0;
  for (int a = 0; a < 3; a++) h[a] = rb_grid_spacing(g, a);
  for (int64_t i = 0; i < g.n[0]; i++)
    for (int64_t j = 0; j < g.n[1]; j++)
      for (int64_t l = 0; l <= g.n[2] / 2; l++) {
        double k[3] = {(double)rb_wavenumber(i, g.n[0]), (double)rb_wavenumber(j, g.n[1]),
                       (double)rb_wavenumber(l, g.n[2])};
        rb_symbol_f64 s = rb_symbol_at_f64(op, h, k);
        double along =
            s.p + s.q * (k[0] * k[0] + k[1] * k[1] + k[2] * k[2]); /* eigenvalues: across k, and along it */
        best = fmax(best, fmax(fabs(s.p), fabs(along)));
      }
  return best;
}
