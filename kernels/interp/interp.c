/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/interp/interp.h"

#include "kernels/base/profile.h"

#include <float.h>
#include <string.h>

rb_status rb_interp_create(const rb_variant *variant, const rb_interp_desc *desc, rb_interp_plan **out) {
  rb_status st = RB_OK;
  const rb_interp_ops *ops = variant->ops;
  const rb_backend *backend;
  *out = NULL;
  RB_TRY(rb_grid_check(desc->grid, "interp"));
  RB_CHECK(desc->components >= 1, RB_EINVAL, "interp: %d components; at least 1", desc->components);
  RB_TRY(rb_variant_backend(variant, &backend));
  RB_CHECK(desc->basis != RB_BSPLINE || desc->boundary == RB_PERIODIC, RB_EUNSUPPORTED,
           "interp: the B-spline's prefilter is periodic only");
  /* what all variants share has been checked; the rest is the variant's to refuse */
  RB_TRY(ops->supports(desc));
  RB_TRY(ops->plan(backend, desc, out));
  (*out)->variant = variant;
  (*out)->backend = backend;
  (*out)->desc = *desc;
done:
  return st;
}

/* load: f is [components][n1][n2][n3], planar. It may be copied, filtered, or read where it lies by eval.
 * eval: any number of times after a load. */
static const rb_interp_ops *ops_of(const rb_interp_plan *p) { return p->variant->ops; }

/* Loading is part of an interpolation's time, and counts as none. */
rb_status rb_interp_load(rb_interp_plan *plan, rb_array f) {
  rb_status st = RB_OK;
  RB_NEED(plan, "interp", f, rb_grid_points(plan->desc.grid) * plan->desc.components);
  RB_TRY(rb_profile_begin(plan->backend, RB_CLASS_INTERP));
  RB_TRY(ops_of(plan)->load(plan, f.data));
  RB_TRY(rb_profile_end(plan->backend, 0, 0));
done:
  return st;
}

/* np may differ from call to call. x: [3][np] in grid units; out: [components][np]. An evaluation counts as one
 * interpolation a component, its traffic includes that of the load. */
rb_status rb_interp_eval(rb_interp_plan *plan, int64_t np, rb_array x, rb_array out) {
  if (np < 0) return RB_FAIL(RB_EINVAL, "interp: %lld points", (long long)np);
  rb_status st = RB_OK;
  if (np == 0) return st;
  RB_NEED(plan, "interp", x, 3 * np);
  RB_NEED(plan, "interp", out, np * plan->desc.components);
  RB_TRY(rb_profile_begin(plan->backend, RB_CLASS_INTERP));
  RB_TRY(ops_of(plan)->eval(plan, np, x.data, out.data));
  RB_TRY(rb_profile_end(plan->backend, plan->desc.components, rb_interp_bytes(&plan->desc, np)));
done:
  return st;
}

rb_status rb_interp_displaced(rb_interp_plan *plan, rb_array u, rb_array out) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(plan->desc.grid);
  RB_NEED(plan, "interp", u, 3 * n);
  RB_NEED(plan, "interp", out, n * plan->desc.components);
  RB_CHECK(ops_of(plan)->displaced, RB_EUNSUPPORTED, "%s takes points only, no displacements", plan->variant->name);
  RB_TRY(rb_profile_begin(plan->backend, RB_CLASS_INTERP));
  RB_TRY(ops_of(plan)->displaced(plan, u.data, out.data));
  RB_TRY(rb_profile_end(plan->backend, plan->desc.components, rb_interp_bytes(&plan->desc, n)));
done:
  return st;
}
int rb_interp_has_displaced(const rb_variant *variant) {
  const rb_interp_ops *ops = variant->ops;
  return ops && ops->displaced;
}

void rb_interp_destroy(rb_interp_plan *plan) {
  if (plan) ops_of(plan)->destroy(plan);
}

/* Separable evaluation: 4 taps an axis give 2*(64+16+4) FLOPs, 2 taps 2*(8+4+2); weights 12 an axis for
 * cubics, 1 for linear; a prefilter by recursion costs 2 multiply-adds and a scaling an axis. */
double rb_interp_flops(const rb_interp_desc *desc, int64_t np) {
  double n = (double)rb_grid_points(desc->grid), c = desc->components;
  /* linear:    2 (8 + 4 + 2) = 28 a component and point, weights 3 * 1 a point
   * cubics:    2 (64 + 16 + 4) = 168 a component and point, weights 3 * 12 = 36 a point
   * prefilter: (2 * 2 + 1) an axis, 15 a value of the field and component */
  if (desc->basis == RB_LINEAR) return (double)np * (28 * c + 3);
  double f = (double)np * (168 * c + 36);
  return desc->basis == RB_BSPLINE ? f + n * c * 15 : f;
}

double rb_interp_bytes(const rb_interp_desc *desc, int64_t np) {
  /* 3 coordinates and `components` values a point, and the field once: of localized points, one cell's 64 values */
  double n = desc->localized ? 64 : (double)rb_grid_points(desc->grid);
  return (double)rb_dtype_size(desc->dtype) * ((double)np * (3 + desc->components) + n * desc->components);
}

double rb_interp_paper_flops(const char *tag) {
  static const struct {
    const char *tag;
    double flops;
  } table[] = {{"PRE-FILTER", 22}, {"GPU-TXTLIN", 30}, {"GPU-LAG", 221}, {"GPU-TXTLAG", 482}, {"GPU-TXTSPL", 294}};
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (strcmp(tag, table[i].tag) == 0) return table[i].flops;
  return 0;
}

/* ops is NULL in builds without the variant. */
int rb_interp_weight_bits(const rb_variant *variant) {
  const rb_interp_ops *ops = variant->ops;
  return ops ? ops->weight_bits : 0;
}
double rb_interp_fetches(const rb_variant *variant, const rb_interp_desc *desc, int64_t np) {
  const rb_interp_ops *ops = variant->ops;
  return ops ? (double)ops->fetches * desc->components * (double)np : 0;
}

/* Rounding: sums of up to 64 products whose weights sum to at most 1.25^3 in modulus, behind a prefilter
 * of gain 3^1.5 for the B-spline. An 8-bit fraction shifts each axis by up to 2^-9 cell, so neighbouring
 * values that differ by up to 2*range move the result by 2*range*2^-9 an axis, times the weights' modulus. The unit's
 * eight weights are whole 256ths, too: two parts along the second axis and four along the third are rounded, each by
 * up to 2^-9 from one neighbour to the other (tests/emulator/src/texture_unit.cpp). */
double rb_interp_tolerance(const rb_variant *variant, const rb_interp_desc *desc, double range) {
  const int bits = rb_interp_weight_bits(variant);
  double eps = rb_epsilon(desc->dtype);
  static const double LAGRANGE_GAIN = 2, BSPLINE_GAIN = 5.2;     /* 1.25^3, 3^1.5 */
  enum { ROUNDINGS = 12, FRACTIONS = 3, WHOLE_WEIGHTS = 2 + 4 }; /* of a sum in three stages; by the texture unit */
  /* gain: by what the weights' absolute sum (Lagrange) or the prefilter (B-spline) may enlarge values */
  double gain = desc->basis == RB_LINEAR ? 1 : desc->basis == RB_LAGRANGE ? LAGRANGE_GAIN : BSPLINE_GAIN;
  /* (2 << bits) = 2^(bits + 1): half of the last bit of a fraction or weight, 2^-9 for 8 bits */
  double rounding = ROUNDINGS * eps * gain * range;
  if (bits == 0) return rounding;
  return rounding + (FRACTIONS + WHOLE_WEIGHTS) * 2 * range * gain / (double)(2 << bits);
}

const char *rb_interp_basis_name(rb_interp_basis b) {
  return b == RB_LINEAR ? "linear" : b == RB_LAGRANGE ? "lagrange" : "bspline";
}

rb_status rb_interp_basis_parse(const char *name, rb_interp_basis *basis, rb_prefilter *prefilter) {
  static const struct {
    const char *name;
    rb_interp_basis basis;
    rb_prefilter prefilter;
    /* the prefilter of linear and Lagrange is set, and not read */
  } table[] = {{"linear", RB_LINEAR, RB_PREFILTER_EXACT},
               {"lagrange", RB_LAGRANGE, RB_PREFILTER_EXACT},
               {"bspline", RB_BSPLINE, RB_PREFILTER_EXACT},
               {"bspline15", RB_BSPLINE, RB_PREFILTER_15TAP}};
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (strcmp(name, table[i].name) == 0) {
      *basis = table[i].basis;
      *prefilter = table[i].prefilter;
      return RB_OK;
    }
  return RB_FAIL(RB_EINVAL, "unknown basis '%s': linear, lagrange, bspline, bspline15", name);
}

rb_status rb_boundary_parse(const char *name, rb_boundary *out) {
  static const char *const names[] = {"periodic", "clamp", "zero"};
  for (int i = 0; i < 3; i++)
    if (strcmp(name, names[i]) == 0) {
      *out = (rb_boundary)i;
      return RB_OK;
    }
  return RB_FAIL(RB_EINVAL, "unknown boundary '%s': periodic, clamp, zero", name);
}
