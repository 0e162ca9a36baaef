/* Baseline of compose on the CPU: all cores. */
#include "kernels/compose/compose.h"

#include <math.h>
#include <stdlib.h>

#define PARALLEL _Pragma("omp parallel for schedule(static)")
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

static rb_status supports(const rb_compose_desc *d) {
  (void)d;
  return RB_OK;
}
static rb_status plan(const rb_backend *b, const rb_compose_desc *d, rb_compose_plan **out) {
  (void)b, (void)d;
  *out = calloc(1, sizeof **out);
  return *out ? RB_OK : RB_FAIL(RB_ENOMEM, "host memory");
}
static void destroy(rb_compose_plan *p) { free(p); }
static rb_status compose(rb_compose_plan *p, const void *s1, const void *s2, void *out) {
  if (p->desc.dtype == RB_F64)
    resample_f64(p->desc.grid, 3, s1, s2, out);
  else
    resample_f32(p->desc.grid, 3, s1, s2, out);
  return RB_OK;
}
static rb_status warp(rb_compose_plan *p, const void *f, const void *s, void *out) {
  if (p->desc.dtype == RB_F64)
    resample_f64(p->desc.grid, 1, f, s, out);
  else
    resample_f32(p->desc.grid, 1, f, s, out);
  return RB_OK;
}
static rb_status determinant(rb_compose_plan *p, const void *s, void *out) {
  if (p->desc.dtype == RB_F64)
    jacobian_f64(p->desc.grid, s, out);
  else
    jacobian_f32(p->desc.grid, s, out);
  return RB_OK;
}
const rb_compose_ops rb_compose_omp = {supports, plan, compose, warp, determinant, destroy};
