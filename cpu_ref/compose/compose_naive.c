/* SPDX-License-Identifier: BSD-3-Clause */
/* The single-thread code that demons2020 divides by, in spirit: one thread, float32. */
#include "kernels/compose/compose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PARALLEL
/* the same body as cpu/omp, with empty pragmas: one thread */
#define PARALLEL_MOST
#define REAL float
#define SUFFIX(name) name##_f32
#define floor_of_f32 floorf
#include "cpu_ref/compose/compose_real.h"

/* float32 alone. */
static rb_status supports(const rb_compose_desc *d) {
  return d->dtype == RB_F32 ? RB_OK : RB_FAIL(RB_EUNSUPPORTED, "cpu/naive is float32, as the paper's");
}
/* No memory of its own: everything is in the arrays of the calls. */
static rb_status plan(const rb_backend *b, const rb_compose_desc *d, rb_compose_plan **out) {
  (void)b, (void)d;
  *out = calloc(1, sizeof **out);
  return *out ? RB_OK : RB_FAIL(RB_ENOMEM, "host memory");
}
static void destroy(rb_compose_plan *p) { free(p); }
/* resample with three components and the factor a; warp with one and a = 1 */
static rb_status compose(rb_compose_plan *p, double a, const void *s1, const void *s2, void *out) {
  resample_f32(p->desc.grid, 3, (float)a, s1, s2, out);
  return RB_OK;
}
static rb_status warp(rb_compose_plan *p, const void *f, const void *s, void *out) {
  resample_f32(p->desc.grid, 1, 1, f, s, out);
  return RB_OK;
}
static rb_status determinant(rb_compose_plan *p, const void *s, void *out) {
  jacobian_f32(p->desc.grid, s, out);
  return RB_OK;
}
static rb_status bracket(rb_compose_plan *p, const void *v, const void *w, void *out) {
  lie_f32(p->desc.grid, v, w, out);
  return RB_OK;
}
static rb_status longest(rb_compose_plan *p, const void *s) {
  /* squares are compared, one root at the end */
  p->longest = sqrt(most_f32(p->desc.grid, s));
  return RB_OK;
}
/* embed: crop = 0 writes the large grid, crop = 1 the inner one */
static rb_status pad(rb_compose_plan *p, rb_grid inner, const void *f, void *out) {
  embed_f32(p->desc.grid, inner, 0, f, out);
  return RB_OK;
}
static rb_status crop(rb_compose_plan *p, rb_grid inner, const void *f, void *out) {
  embed_f32(p->desc.grid, inner, 1, f, out);
  return RB_OK;
}
const rb_compose_ops rb_compose_naive = {supports, plan, NULL, compose, warp, determinant, bracket, longest,
                                         NULL,     pad,  crop, destroy, 0,    0,           NULL,    NULL};
