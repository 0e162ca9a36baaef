/* SPDX-License-Identifier: BSD-3-Clause */
/* Red-black over-relaxation on all cores, a colour a pass: within a colour no node reads another of it, so that the
 * result does not depend on the number of threads. */
#include "kernels/helmholtz/helmholtz_sor.h"

#include <stdlib.h>

/* Nodes whose i1 + i2 + i3 has the parity `odd`: i3 begins at b or b + 1 and goes by two. The six neighbours have the
 * other parity and are read only. Rows (i1, i2) are shared among the threads. */
#define DEFINE_COLOUR(REAL, SUFFIX)                                                                                 \
  static void colour_##SUFFIX(const rb_helmholtz_desc *d, rb_sor_weights_##SUFFIX w, int odd, const REAL *f,        \
                              REAL *v) {                                                                            \
    const int64_t b = d->border, n1 = d->grid.n[0], n2 = d->grid.n[1], n3 = d->grid.n[2], s1 = n2 * n3, s2 = n3;    \
    _Pragma(                                                                                                        \
        "omp parallel for collapse(2) schedule(static)") for (int64_t i1 = b; i1 < n1 - b;                          \
                                                              i1++) for (int64_t i2 = b; i2 < n2 - b;               \
                                                                         i2++) for (int64_t i3 =                    \
                                                                                        b +                         \
                                                                                        ((i1 + i2 + b + odd) & 1);  \
                                                                                    i3 < n3 - b; i3 += 2) {         \
      const int64_t i = i1 * s1 + i2 * s2 + i3;                                                                     \
      v[i] = rb_sor_update_##SUFFIX(w, f[i], v[i], v[i - s1], v[i + s1], v[i - s2], v[i + s2], v[i - 1], v[i + 1]); \
    }                                                                                                               \
  }
DEFINE_COLOUR(float, f32)
DEFINE_COLOUR(double, f64)

static rb_status supports(const rb_helmholtz_desc *d) {
  (void)d;
  return RB_OK;
}
/* Sweeps are in place in the caller's v: no memory of its own. */
static rb_status plan(const rb_backend *b, const rb_helmholtz_desc *d, rb_helmholtz_plan **out) {
  (void)b, (void)d;
  *out = calloc(1, sizeof **out);
  return *out ? RB_OK : RB_FAIL(RB_ENOMEM, "host memory");
}
static void destroy(rb_helmholtz_plan *p) { free(p); }

/* Components do not meet, as beta = 0: one after the other, 2 sweeps of half the nodes each, even nodes first. */
static rb_status sweep(rb_helmholtz_plan *p, int sweeps, double omega, const void *f, void *v) {
  const rb_helmholtz_desc *d = &p->desc;
  const int64_t n = rb_grid_points(d->grid);
  for (int c = 0; c < 3; c++)
    for (int half = 0; half < 2 * sweeps; half++) {
      if (d->dtype == RB_F64)
        colour_f64(d, rb_sor_weights_of_f64(d, omega), half & 1, (const double *)f + c * n, (double *)v + c * n);
      else
        colour_f32(d, rb_sor_weights_of_f32(d, omega), half & 1, (const float *)f + c * n, (float *)v + c * n);
    }
  return RB_OK;
}

const rb_helmholtz_ops rb_helmholtz_sor = {supports, plan, NULL, sweep, destroy, RB_HELMHOLTZ_ZERO, 0};
