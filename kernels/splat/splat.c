/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/splat/splat.h"

#include "kernels/base/profile.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* x [3][np] in grid units, m [components][np], out [components][n1][n2][n3], all planar. */
static const rb_splat_ops *ops_of(const rb_splat_plan *p) { return p->variant->ops; }

/* The caller owns *out and gives it back by rb_splat_destroy; NULL on failure. */
rb_status rb_splat_create(const rb_variant *variant, const rb_splat_desc *desc, rb_splat_plan **out) {
  rb_status st = RB_OK;
  const rb_splat_ops *ops = variant->ops;
  const rb_backend *backend;
  *out = NULL;
  RB_TRY(rb_grid_check(desc->grid, "splat"));
  /* points can be numbered in 32 bits */
  RB_CHECK(desc->np >= 1 && desc->np <= (int64_t)1 << 30, RB_EINVAL, "splat: %lld points; 1 to 2^30 work",
           (long long)desc->np);
  RB_CHECK(desc->components >= 1, RB_EINVAL, "splat: %d components; at least 1", desc->components);
  RB_TRY(rb_variant_backend(variant, &backend));
  RB_TRY(ops->supports(desc));
  RB_TRY(ops->plan(backend, desc, out));
  (*out)->variant = variant, (*out)->backend = backend, (*out)->desc = *desc;
done:
  return st;
}

/* out_c[k] = sum_p w(x_p - k) m_cp. `out` is written from zero, not added to. It may not have ended on return. */
rb_status rb_splat_run(rb_splat_plan *p, rb_array x, rb_array m, rb_array out) {
  rb_status st = RB_OK;
  RB_NEED(p, "splat", x, 3 * p->desc.np);
  RB_NEED(p, "splat", m, p->desc.components * p->desc.np);
  RB_NEED(p, "splat", out, p->desc.components * rb_grid_points(p->desc.grid));
  RB_TRY(ops_of(p)->run(p, x.data, m.data, out.data));
done:
  return st;
}

rb_status rb_splat_onto(rb_splat_plan *p, rb_array x, rb_array m, double by, rb_array from, rb_array out) {
  rb_status st = RB_OK;
  RB_NEED(p, "splat", x, 3 * p->desc.np);
  RB_NEED(p, "splat", m, p->desc.components * p->desc.np);
  RB_NEED(p, "splat", from, p->desc.components * rb_grid_points(p->desc.grid));
  RB_NEED(p, "splat", out, p->desc.components * rb_grid_points(p->desc.grid));
  RB_CHECK(ops_of(p)->onto, RB_EUNSUPPORTED, "%s writes its sums, it does not add them to others", p->variant->name);
  RB_TRY(ops_of(p)->onto(p, x.data, m.data, by, from.data, out.data));
done:
  return st;
}
int rb_splat_has_onto(const rb_variant *variant) {
  const rb_splat_ops *ops = variant->ops;
  return ops && ops->onto;
}

/* Lost points are the caller's to judge; a sum that exceeded its type is an error. */
rb_status rb_splat_outcome(rb_splat_plan *p, int64_t *lost) {
  rb_status st = RB_OK;
  int64_t none;
  int exceeded = 0;
  RB_TRY(ops_of(p)->outcome(p, lost ? lost : &none, &exceeded));
  RB_CHECK(!exceeded, RB_EINVAL,
           "%s: a node's sum exceeds its fixed-point number%s; use a variant in floating point or of 64 bits",
           p->variant->name, ops_of(p)->unit_bits == 20 ? " (2048 in units of 2^-20)" : "");
done:
  return st;
}

void rb_splat_destroy(rb_splat_plan *p) {
  if (p) ops_of(p)->destroy(p);
}

/* 0 for a variant without a workspace, and one that is not built. */
size_t rb_splat_workspace(const rb_variant *variant, const rb_splat_desc *desc) {
  const rb_splat_ops *ops = variant->ops;
  return ops && ops->workspace ? ops->workspace(desc) : 0;
}

double rb_splat_bytes(const rb_splat_desc *d) {
  const double c = d->components;
  /* 3 coordinates and c masses a point, c sums a node; the weights' overlap is not traffic */
  return (double)rb_dtype_size(d->dtype) * ((3 + c) * (double)d->np + c * (double)rb_grid_points(d->grid));
}

/* A weight is a product of three, with some roundings of a coordinate's fraction each: 4 units of the last place.
 * Roundings of a sum are as often up as down and pile up like the root of the number of terms, some 8 a unit of
 * weight. Fixed point: half a unit a term, likewise. */
double rb_splat_tolerance(const rb_variant *variant, const rb_splat_desc *d, double most, double range) {
  const rb_splat_ops *ops = variant->ops;
  enum { ROUNDINGS = 4, TERMS = 8 }; /* of a weight; a unit of weight */
  const double epsilon = rb_epsilon(d->dtype), root = sqrt(TERMS * (most + 1));
  const double unit = ops && ops->unit_bits ? ldexp(1, -ops->unit_bits) : 0;
  /* eps range 4 (1 + most)      roundings of the weights
   * eps range most root         roundings of the sum, root = sqrt(8 (most + 1))
   * 2^-unit_bits root           of fixed point */
  return epsilon * range * (ROUNDINGS * (1 + most) + most * root) + unit * root;
}

rb_status rb_splat_basis_parse(const char *name, rb_splat_basis *out) {
  static const char *const names[] = {"linear", "cubic"};
  for (int i = 0; i < 2; i++)
    if (strcmp(name, names[i]) == 0) {
      *out = (rb_splat_basis)i;
      return RB_OK;
    }
  return RB_FAIL(RB_EINVAL, "unknown basis of splat '%s': linear, cubic", name);
}
