/* SPDX-License-Identifier: BSD-3-Clause */
/* Baseline of compose on the CPU: all cores. */
#include "kernels/compose/compose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows of x3 are shared among the threads: every output value is one thread's, and no sum crosses threads. */
#define PARALLEL _Pragma("omp parallel for schedule(static)")
/* NaN compares false: a thread that met one keeps it, and joining keeps it again */
#pragma omp declare reduction(most_or_nan:double                                                         \
                              : omp_out = !(omp_in <= omp_out) && omp_out == omp_out ? omp_in : omp_out) \
    initializer(omp_priv = 0)
/* a maximum is the same in any order of joining */
#define PARALLEL_MOST _Pragma("omp parallel for schedule(static) reduction(most_or_nan : most)")
#define REAL float
#define SUFFIX(name) name##_f32
#define floor_of_f32 floorf
#include "cpu_ref/compose/compose_real.h"
#undef REAL
#undef SUFFIX
#define REAL double
#define SUFFIX(name) name##_f64
#define floor_of_f64 floor
#include "cpu_ref/compose/compose_real.h"

/* The reduction joins two maxima a (so far) and b (a thread's): b replaces a where it is not less or equal and a is
 * no NaN. So a NaN in a stays, a NaN in b is taken, in any order of joining. Each thread begins with 0, the least
 * length.
 */
static rb_status supports(const rb_compose_desc *d) {
  (void)d;
  return RB_OK;
}
/* No memory of its own: everything is in the arrays of the calls. */
static rb_status plan(const rb_backend *b, const rb_compose_desc *d, rb_compose_plan **out) {
  (void)b, (void)d;
  *out = calloc(1, sizeof **out);
  return *out ? RB_OK : RB_FAIL(RB_ENOMEM, "host memory");
}
static void destroy(rb_compose_plan *p) { free(p); }
/* resample with three components and the factor a; warp: one component and a = 1 */
static rb_status compose(rb_compose_plan *p, double a, const void *s1, const void *s2, void *out) {
  if (p->desc.dtype == RB_F64)
    resample_f64(p->desc.grid, 3, a, s1, s2, out);
  else
    resample_f32(p->desc.grid, 3, (float)a, s1, s2, out);
  return RB_OK;
}
static rb_status warp(rb_compose_plan *p, const void *f, const void *s, void *out) {
  if (p->desc.dtype == RB_F64)
    resample_f64(p->desc.grid, 1, 1, f, s, out);
  else
    resample_f32(p->desc.grid, 1, 1, f, s, out);
  return RB_OK;
}
/* det(I + ds/dx), and below the bracket: node by node in the fields' type */
static rb_status determinant(rb_compose_plan *p, const void *s, void *out) {
  if (p->desc.dtype == RB_F64)
    jacobian_f64(p->desc.grid, s, out);
  else
    jacobian_f32(p->desc.grid, s, out);
  return RB_OK;
}
static rb_status bracket(rb_compose_plan *p, const void *v, const void *w, void *out) {
  if (p->desc.dtype == RB_F64)
    lie_f64(p->desc.grid, v, w, out);
  else
    lie_f32(p->desc.grid, v, w, out);
  return RB_OK;
}
/* The greatest square first, one root at the end. Done on return: longest_end is NULL. */
static rb_status longest(rb_compose_plan *p, const void *s) {
  p->longest = sqrt(p->desc.dtype == RB_F64 ? most_f64(p->desc.grid, s) : most_f32(p->desc.grid, s));
  return RB_OK;
}
/* embed with crop = 0 writes the large grid, with crop = 1 the inner one. */
static rb_status pad(rb_compose_plan *p, rb_grid inner, const void *f, void *out) {
  if (p->desc.dtype == RB_F64)
    embed_f64(p->desc.grid, inner, 0, f, out);
  else
    embed_f32(p->desc.grid, inner, 0, f, out);
  return RB_OK;
}
static rb_status crop(rb_compose_plan *p, rb_grid inner, const void *f, void *out) {
  if (p->desc.dtype == RB_F64)
    embed_f64(p->desc.grid, inner, 1, f, out);
  else
    embed_f32(p->desc.grid, inner, 1, f, out);
  return RB_OK;
}
const rb_compose_ops rb_compose_omp = {supports, plan, NULL, compose, warp, determinant, bracket, longest,
                                       NULL,     pad,  crop, destroy, 0,    0,           NULL,    NULL};
