/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/compose/compose.h"

#include <float.h>
#include <math.h>

static const rb_compose_ops *ops_of(const rb_compose_plan *p) { return p->variant->ops; }

/* The caller owns *out and gives it back by rb_compose_destroy; NULL on failure. */
rb_status rb_compose_create(const rb_variant *variant, const rb_compose_desc *desc, rb_compose_plan **out) {
  rb_status st = RB_OK;
  const rb_compose_ops *ops = variant->ops;
  const rb_backend *backend;
  *out = NULL;
  RB_TRY(rb_grid_check(desc->grid, "compose"));
  RB_TRY(rb_variant_backend(variant, &backend));
  RB_TRY(ops->supports(desc));
  /* the variant allocates its plan with the common head, which is filled in here */
  RB_TRY(ops->plan(backend, desc, out));
  (*out)->variant = variant, (*out)->backend = backend, (*out)->desc = *desc;
done:
  return st;
}
/* N; displacements have 3 N values in voxels, component c along axis c + 1 from value c N on. */
static int64_t nodes(const rb_compose_plan *p) { return rb_grid_points(p->desc.grid); }
/* Variants without `load` read the field where it lies, at the next step. */
static rb_status load(rb_compose_plan *p, double a, int components, const void *f) {
  return ops_of(p)->load ? ops_of(p)->load(p, a, components, f) : RB_OK;
}

/* out(x) = a s2(x) + a s1(x + a s2(x)), in two halves: what is made of s1, then the sampling at x + a s2(x) */
rb_status rb_compose(rb_compose_plan *p, double a, rb_array s1, rb_array s2, rb_array out) {
  rb_status st = RB_OK;
  RB_TRY(rb_compose_load(p, a, s1));
  RB_TRY(rb_compose_loaded(p, a, s1, s2, out));
done:
  return st;
}
/* The first half alone, to be timed by itself: what a variant makes of a s1 before it samples it. */
rb_status rb_compose_load(rb_compose_plan *p, double a, rb_array s1) {
  rb_status st = RB_OK;
  RB_NEED(p, "compose", s1, 3 * nodes(p));
  RB_TRY(load(p, a, 3, s1.data));
done:
  return st;
}
/* `a` and s1 must be those of the last load: a variant with `load` reads its own copy instead of s1. */
rb_status rb_compose_loaded(rb_compose_plan *p, double a, rb_array s1, rb_array s2, rb_array out) {
  rb_status st = RB_OK;
  RB_NEED(p, "compose", s1, 3 * nodes(p));
  RB_NEED(p, "compose", s2, 3 * nodes(p));
  RB_NEED(p, "compose", out, 3 * nodes(p));
  /* s1 is read at other nodes than the one written; s2 is refused likewise */
  RB_CHECK(out.data != s1.data && out.data != s2.data, RB_EINVAL, "compose: out of place only");
  RB_TRY(ops_of(p)->compose(p, a, s1.data, s2.data, out.data));
done:
  return st;
}
rb_status rb_compose_step(rb_compose_plan *p, rb_array e, rb_array s1, rb_array s2, rb_array out, rb_array f,
                          rb_array warped) {
  rb_status st = RB_OK;
  RB_TRY(rb_array_check(e, "compose", "e", p->backend, RB_F64, 1));
  RB_NEED(p, "compose", s1, 3 * nodes(p));
  RB_NEED(p, "compose", s2, 3 * nodes(p));
  RB_NEED(p, "compose", out, 3 * nodes(p));
  RB_NEED_IF(p, "compose", f, nodes(p));
  RB_NEED_IF(p, "compose", warped, nodes(p));
  RB_CHECK(out.data != s1.data && out.data != s2.data && !(f.data && warped.data == f.data), RB_EINVAL,
           "compose: out of place only");
  RB_CHECK(!f.data == !warped.data, RB_EINVAL, "compose: an image and where its warp goes belong together");
  RB_CHECK(ops_of(p)->step, RB_EUNSUPPORTED, "%s has no factor on the backend", p->variant->name);
  RB_TRY(ops_of(p)->step(p, e.data, s1.data, s2.data, out.data, f.data, warped.data));
done:
  return st;
}
int rb_compose_has_step(const rb_variant *variant) {
  const rb_compose_ops *ops = variant->ops;
  return ops && ops->step;
}
/* out(x) = f(x + s(x)): f and out are scalars, s has three components in voxels. */
rb_status rb_compose_warp(rb_compose_plan *p, rb_array f, rb_array s, rb_array out) {
  rb_status st = RB_OK;
  RB_NEED(p, "compose", f, nodes(p));
  RB_NEED(p, "compose", s, 3 * nodes(p));
  RB_NEED(p, "compose", out, nodes(p));
  /* out holds one component and s three: an overlap with s is not looked for */
  RB_CHECK(out.data != f.data, RB_EINVAL, "compose: out of place only");
  /* the function that compose loads by, with one component and the factor 1 */
  RB_TRY(load(p, 1, 1, f.data));
  RB_TRY(ops_of(p)->warp(p, f.data, s.data, out.data));
done:
  return st;
}
rb_status rb_compose_warp_planes(rb_compose_plan *p, rb_array f, rb_array s, int64_t begin, int64_t end,
                                 rb_array out) {
  rb_status st = RB_OK;
  RB_NEED(p, "compose", f, nodes(p));
  RB_NEED(p, "compose", s, 3 * nodes(p));
  RB_NEED(p, "compose", out, nodes(p));
  RB_CHECK(out.data != f.data, RB_EINVAL, "compose: out of place only");
  RB_CHECK(begin >= 0 && begin < end && end <= p->desc.grid.n[0], RB_EINVAL, "compose: planes %lld to %lld of %lld",
           (long long)begin, (long long)end, (long long)p->desc.grid.n[0]);
  RB_CHECK(ops_of(p)->warp_planes, RB_EUNSUPPORTED, "%s warps all planes at once only", p->variant->name);
  RB_TRY(ops_of(p)->warp_planes(p, f.data, s.data, begin, end, out.data));
done:
  return st;
}
/* det(I + ds/dx), a scalar without unit: 1 where s is constant. */
rb_status rb_compose_determinant(rb_compose_plan *p, rb_array s, rb_array out) {
  rb_status st = RB_OK;
  RB_NEED(p, "compose", s, 3 * nodes(p));
  RB_NEED(p, "compose", out, nodes(p));
  RB_TRY(ops_of(p)->determinant(p, s.data, out.data));
done:
  return st;
}
/* out = dv/dx w - dw/dx v;  v and w may be the same array */
rb_status rb_compose_bracket(rb_compose_plan *p, rb_array v, rb_array w, rb_array out) {
  rb_status st = RB_OK;
  RB_NEED(p, "compose", v, 3 * nodes(p));
  RB_NEED(p, "compose", w, 3 * nodes(p));
  RB_NEED(p, "compose", out, 3 * nodes(p));
  /* derivatives at a node read its neighbours */
  RB_CHECK(out.data != v.data && out.data != w.data, RB_EINVAL, "compose: out of place only");
  RB_TRY(ops_of(p)->bracket(p, v.data, w.data, out.data));
done:
  return st;
}
/* Where the variant has no longest_end, p->longest is there on return; else the work may still run, and
 * rb_compose_longest_end waits for it. One at a time: the next begin overwrites p->longest. */
rb_status rb_compose_longest_begin(rb_compose_plan *p, rb_array s) {
  rb_status st = RB_OK;
  RB_NEED(p, "compose", s, 3 * nodes(p));
  RB_TRY(ops_of(p)->longest(p, s.data));
done:
  return st;
}
/* the value is handed over also with a failure, of which the status tells */
rb_status rb_compose_longest_end(rb_compose_plan *p, double *out) {
  rb_status st = ops_of(p)->longest_end ? ops_of(p)->longest_end(p) : RB_OK;
  *out = p->longest;
  return st;
}
/* Both halves without work between them; *out is 0 where the first fails. */
rb_status rb_compose_longest(rb_compose_plan *p, rb_array s, double *out) {
  rb_status st = RB_OK;
  *out = 0;
  RB_TRY(rb_compose_longest_begin(p, s));
  RB_TRY(rb_compose_longest_end(p, out));
done:
  return st;
}
/* The inner grid is centred: no axis may be longer than the plan's. */
static rb_status fits(const rb_compose_plan *p, rb_grid inner) {
  for (int a = 0; a < 3; a++)
    if (inner.n[a] < 1 || inner.n[a] > p->desc.grid.n[a])
      return RB_FAIL(RB_EINVAL, "compose: axis %d of the inner grid has %lld points of %lld", a + 1,
                     (long long)inner.n[a], (long long)p->desc.grid.n[a]);
  return RB_OK;
}
/* inner scalars into the middle of `out`, zeros around them */
rb_status rb_compose_pad(rb_compose_plan *p, rb_grid inner, rb_array f, rb_array out) {
  rb_status st = RB_OK;
  RB_TRY(fits(p, inner));
  RB_NEED(p, "compose", f, rb_grid_points(inner));
  RB_NEED(p, "compose", out, nodes(p));
  RB_TRY(ops_of(p)->pad(p, inner, f.data, out.data));
done:
  return st;
}
/* the middle of f, back: crop after pad gives the same values */
rb_status rb_compose_crop(rb_compose_plan *p, rb_grid inner, rb_array f, rb_array out) {
  rb_status st = RB_OK;
  RB_TRY(fits(p, inner));
  RB_NEED(p, "compose", f, nodes(p));
  RB_NEED(p, "compose", out, rb_grid_points(inner));
  RB_TRY(ops_of(p)->crop(p, inner, f.data, out.data));
done:
  return st;
}
void rb_compose_destroy(rb_compose_plan *p) {
  if (p) ops_of(p)->destroy(p);
}

/* ops is NULL in builds without the variant. */
int rb_compose_weight_bits(const rb_variant *variant) {
  const rb_compose_ops *ops = variant->ops;
  return ops ? ops->weight_bits : 0;
}
int rb_compose_texture_floats(const rb_variant *variant) {
  const rb_compose_ops *ops = variant->ops;
  return ops ? ops->texture_floats : 0;
}
int rb_compose_warps_planes(const rb_variant *variant) {
  const rb_compose_ops *ops = variant->ops;
  return ops && ops->warp_planes;
}

/* Three fields (s1, s2, out) of three components: 9 values a voxel. */
double rb_compose_bytes(const rb_compose_desc *d) {
  return 9.0 * (double)rb_dtype_size(d->dtype) * (double)rb_grid_points(d->grid);
}
double rb_compose_tolerance(const rb_variant *variant, const rb_compose_desc *d, double range, double reach) {
  /* eps 24 range             roundings of weights, products and sums
   * eps 3 (2 range) 2 reach  a coordinate of at most `reach` rounds twice; a shift moves the value by the
   *                          difference of neighbours, along each of three axes
   * 3 (2 range) 2^-bits      a weight's last bit along each axis, where the hardware has fewer bits */
  const int bits = variant ? rb_compose_weight_bits(variant) : 0;
  enum { ROUNDINGS = 24, AXES = 3 };   /* of eight products, their weights and their sum */
  const double neighbours = 2 * range; /* differ by at most; a point, sum of two numbers, rounds twice */
  return rb_epsilon(d->dtype) * (ROUNDINGS * range + AXES * neighbours * 2 * reach) +
         (bits ? AXES * neighbours * ldexp(1, -bits) : 0);
}
