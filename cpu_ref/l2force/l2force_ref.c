/* SPDX-License-Identifier: BSD-3-Clause */
/* Oracle of l2force: double, a node at a time. */
#include "cpu_ref/base/values.h"
#include "kernels/l2force/l2force.h"

#include <math.h>
#include <stdlib.h>

static rb_status supports(const rb_l2force_desc *d) {
  (void)d;
  return RB_OK;
}
static rb_status plan(const rb_backend *b, const rb_l2force_desc *d, rb_l2force_plan **out) {
  (void)b, (void)d;
  *out = calloc(1, sizeof **out);
  return *out ? RB_OK : RB_FAIL(RB_ENOMEM, "host memory");
}
static void destroy(rb_l2force_plan *p) { free(p); }

static double get(const rb_l2force_plan *p, const void *f, int64_t i) { return rb_value_get(p->desc.dtype, f, i); }

static rb_status force(rb_l2force_plan *p, const void *mean, const void *image, void *f) {
  const rb_grid g = p->desc.grid;
  /* neighbours along axis a lie stride[a] values apart */
  const int64_t n = rb_grid_points(g), stride[3] = {g.n[1] * g.n[2], g.n[2], 1};
  for (int64_t i = 0; i < n; i++)
    for (int a = 0; a < 3; a++) {
      /* f_a = (mean - image) d_a image;  d_a: over 2 s_a inside, over s_a at the border, 0 along an axis of one node
       */
      const int64_t at = i / stride[a] % g.n[a], low = at > 0 ? -1 : 0, high = at + 1 < g.n[a] ? 1 : 0;
      /* v: the force, slope: d_a image per unit of the spacing */
      const double rise = get(p, image, i + high * stride[a]) - get(p, image, i + low * stride[a]),
                   slope = low == high ? 0 : rise / ((double)(high - low) * p->desc.spacing[a]),
                   v = (get(p, mean, i) - get(p, image, i)) * slope;
      rb_value_put(p->desc.dtype, f, a * n + i, v);
    }
  return RB_OK;
}

/* sum (mean - image)^2 in double, in sequence. */
static rb_status energy(rb_l2force_plan *p, const void *mean, const void *image, double *out) {
  *out = 0;
  for (int64_t i = 0; i < rb_grid_points(p->desc.grid); i++) *out += pow(get(p, mean, i) - get(p, image, i), 2);
  return RB_OK;
}

/* The channels' forces in double, rounded once. */
static rb_status sum(rb_l2force_plan *p, int channels, double weight, const void *mean, const void *image, void *f,
                     double *kept) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(p->desc.grid);
  const size_t bytes = (size_t)n * rb_dtype_size(p->desc.dtype);
  rb_l2force_plan wide = *p;
  double *all = calloc(3 * (size_t)n, sizeof *all), *one = malloc(3 * (size_t)n * sizeof *one),
         *m = malloc((size_t)n * sizeof *m), *v = malloc((size_t)n * sizeof *v);
  RB_CHECK(all && one && m && v, RB_ENOMEM, "host memory");
  wide.desc.dtype = RB_F64;
  if (kept) *kept = 0;
  for (int k = 0; k < channels; k++) {
    for (int64_t i = 0; i < n; i++)
      m[i] = get(p, (const char *)mean + (size_t)k * bytes, i),
      v[i] = get(p, (const char *)image + (size_t)k * bytes, i);
    RB_TRY(force(&wide, m, v, one));
    for (int64_t i = 0; i < 3 * n; i++) all[i] += one[i];
    if (!kept) continue;
    double more;
    RB_TRY(energy(&wide, m, v, &more));
    *kept += more;
  }
  for (int64_t i = 0; i < 3 * n; i++) rb_value_put(p->desc.dtype, f, i, weight * all[i]);
done:
  free(v), free(m), free(one), free(all);
  return st;
}

const rb_l2force_ops rb_l2force_ref = {supports, plan, force, sum, energy, destroy};
