/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/spectral/spectral.h"

#include "kernels/base/profile.h"
#include "kernels/spectral/spectral_symbol.h"

#include <float.h>

/* The operator comes with each call: one plan serves any symbol on its grid. */
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

/* Profiled units: a component transformed and back is 1, one way 1/2, none 0; bytes are the model's, 2 fields a call.
 * Inputs may be outputs: what may alias is the contract's, and is not checked here. */
static const rb_spectral_ops *ops_of(const rb_spectral_plan *p) { return p->variant->ops; }

/* k (k.b) needs all three components of b. */
static rb_status check_components(const rb_spectral_plan *plan, const rb_spectral_op *op) {
  if ((op->kind == RB_OP_LERAY || op->kind == RB_OP_H1DIV) && plan->desc.components != 3)
    return RB_FAIL(RB_EINVAL, "spectral: the %s needs 3 components",
                   op->kind == RB_OP_LERAY ? "Leray projection" : "H1-div form");
  return RB_OK;
}

/* Reals of a field, components * N, and of its coefficients, components * 2 n1 n2 (n3/2 + 1): slightly more. */
static int64_t values(const rb_spectral_plan *p) { return p->desc.components * rb_grid_points(p->desc.grid); }
static int64_t coefficients(const rb_spectral_plan *p) {
  return p->desc.components * rb_spectral_coefficients(p->desc.grid);
}

/* out = F^-1 (S F in). Counted as one application a component, its traffic as the least one. */
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

/* Half a transform pair a component: counted as 1/2.
 * out = S_f U f + S_c c in coefficients; c may be no array, and out may be c */
rb_status rb_spectral_analyse(rb_spectral_plan *plan, const rb_spectral_op *of, rb_array f, const rb_spectral_op *oc,
                              rb_array c, rb_array out) {
  rb_status st = RB_OK;
  RB_TRY(check_components(plan, of));
  /* without c its operator is not read */
  if (c.data) RB_TRY(check_components(plan, oc));
  RB_NEED(plan, "spectral", f, values(plan));
  RB_NEED_IF(plan, "spectral", c, coefficients(plan));
  RB_NEED(plan, "spectral", out, coefficients(plan));
  RB_TRY(rb_profile_begin(plan->backend, RB_CLASS_SPECTRAL));
  RB_TRY(ops_of(plan)->analyse(plan, of, f.data, oc, c.data, out.data));
  /* a field in and coefficients out, 1 of rb_spectral_bytes; another half for reading c */
  RB_TRY(rb_profile_end(plan->backend, 0.5 * plan->desc.components,
                        rb_spectral_bytes(&plan->desc) * (c.data ? 1.5 : 1)));
done:
  return st;
}

/* f = U^-1 c, the other half of a transform pair: counted as 1/2 a component, too. */
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

/* out = S c among coefficients: what an optimiser does that keeps its vectors as coefficients. */
rb_status rb_spectral_scale(rb_spectral_plan *plan, const rb_spectral_op *op, rb_array c, rb_array out) {
  rb_status st = RB_OK;
  RB_TRY(check_components(plan, op));
  RB_NEED(plan, "spectral", c, coefficients(plan));
  RB_NEED(plan, "spectral", out, coefficients(plan));
  RB_TRY(rb_profile_begin(plan->backend, RB_CLASS_SPECTRAL));
  RB_TRY(ops_of(plan)->scale(plan, op, c.data, out.data));
  /* no transform: counts as none, and its time and traffic are noted */
  RB_TRY(rb_profile_end(plan->backend, 0, rb_spectral_bytes(&plan->desc)));
done:
  return st;
}

void rb_spectral_destroy(rb_spectral_plan *plan) {
  if (plan) ops_of(plan)->destroy(plan);
}

double rb_spectral_flops(const rb_spectral_desc *desc) {
  double n = (double)rb_grid_points(desc->grid);
  /* a real transform 2.5 N log2 N, there and back; 6 for each of N/2 coefficients. log2 of a grid of one point would
   * be 0. */
  return desc->components * (2 * 2.5 * n * log2(n > 1 ? n : 2) + 6 * n / 2);
}
/* components * N values in and as many out. */
double rb_spectral_bytes(const rb_spectral_desc *desc) {
  return 2.0 * desc->components * (double)rb_dtype_size(desc->dtype) * (double)rb_grid_points(desc->grid);
}

/* A transform pair errs by O(eps log2 N) of the root mean square; the largest symbol amplifies it. */
double rb_spectral_tolerance(const rb_spectral_desc *desc, double range, double symbol_max) {
  double eps = rb_epsilon(desc->dtype);
  /* 2: roundings beside those of the transforms */
  return 4 * eps * (2 + log2((double)rb_grid_points(desc->grid))) * range * symbol_max;
}

/* O(N): for tolerances, not for time steps. */
double rb_spectral_symbol_max(const rb_spectral_op *op, rb_grid g) {
  /* S b = p b + q k (k.b) has the eigenvalue p across k and p + q |k|^2 along it. S(-k) = S(k): half the spectrum
   * suffices. */
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
