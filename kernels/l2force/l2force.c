/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/l2force/l2force.h"

#include <float.h>
#include <math.h>

static const rb_l2force_ops *ops_of(const rb_l2force_plan *p) { return p->variant->ops; }
/* Nodes of the grid: an image's values. */
static int64_t nodes(const rb_l2force_plan *p) { return rb_grid_points(p->desc.grid); }

rb_status rb_l2force_create(const rb_variant *variant, const rb_l2force_desc *desc, rb_l2force_plan **out) {
  rb_status st = RB_OK;
  const rb_l2force_ops *ops = variant->ops;
  const rb_backend *backend;
  rb_l2force_plan *p = NULL;
  *out = NULL;
  RB_TRY(rb_grid_check(desc->grid, "l2force"));
  for (int a = 0; a < 3; a++) {
    RB_CHECK(desc->spacing[a] > 0 && isfinite(desc->spacing[a]), RB_EINVAL,
             "l2force: the spacing of axis %d is %g; it must be positive", a + 1, desc->spacing[a]);
  }
  RB_TRY(rb_variant_backend(variant, &backend));
  RB_TRY(ops->supports(desc));
  RB_TRY(ops->plan(backend, desc, &p));
  p->variant = variant, p->backend = backend, p->desc = *desc;
  /* a float64 on the backend, into which the variant sums */
  RB_TRY(rb_alloc(backend, sizeof *p->kept, (void **)&p->kept));
  *out = p;
  p = NULL;
done:
  /* NULL on success */
  rb_l2force_destroy(p);
  return st;
}
/* f_a = (mean - image) d_a image: intensities squared per unit of the spacing */
rb_status rb_l2force(rb_l2force_plan *p, rb_array mean, rb_array image, rb_array f) {
  rb_status st = RB_OK;
  RB_NEED(p, "l2force", mean, nodes(p));
  RB_NEED(p, "l2force", image, nodes(p));
  RB_NEED(p, "l2force", f, 3 * nodes(p));
  RB_TRY(ops_of(p)->force(p, mean.data, image.data, f.data));
done:
  return st;
}
rb_status rb_l2force_sum(rb_l2force_plan *p, int channels, double weight, rb_array mean, rb_array image, rb_array f,
                         rb_array kept) {
  rb_status st = RB_OK;
  RB_CHECK(channels >= 1, RB_EINVAL, "l2force: %d channels", channels);
  RB_NEED(p, "l2force", mean, channels * nodes(p));
  RB_NEED(p, "l2force", image, channels * nodes(p));
  RB_NEED(p, "l2force", f, 3 * nodes(p));
  if (kept.data) RB_TRY(rb_array_check(kept, "l2force", "kept", p->backend, RB_F64, 1));
  RB_TRY(ops_of(p)->sum(p, channels, weight, mean.data, image.data, f.data, kept.data));
done:
  return st;
}
/* The sum on the backend, then fetched: the download waits. */
rb_status rb_l2force_energy(rb_l2force_plan *p, rb_array mean, rb_array image, double *out) {
  rb_status st = RB_OK;
  RB_NEED(p, "l2force", mean, nodes(p));
  RB_NEED(p, "l2force", image, nodes(p));
  RB_TRY(ops_of(p)->energy(p, mean.data, image.data, p->kept));
  RB_TRY(p->backend->download(out, p->kept, sizeof *out));
done:
  return st;
}
rb_status rb_l2force_energy_kept(rb_l2force_plan *p, rb_array mean, rb_array image, rb_array kept) {
  rb_status st = RB_OK;
  RB_NEED(p, "l2force", mean, nodes(p));
  RB_NEED(p, "l2force", image, nodes(p));
  RB_TRY(rb_array_check(kept, "l2force", "kept", p->backend, RB_F64, 1));
  RB_TRY(ops_of(p)->energy(p, mean.data, image.data, kept.data));
done:
  return st;
}
/* The variant's destroy frees the plan, so it comes last. */
void rb_l2force_destroy(rb_l2force_plan *p) {
  if (!p) return;
  rb_release(p->backend, p->kept);
  ops_of(p)->destroy(p);
}

/* Two images read, three components written: 5 values a voxel. */
double rb_l2force_bytes(const rb_l2force_desc *d) {
  return 5.0 * (double)rb_dtype_size(d->dtype) * (double)rb_grid_points(d->grid);
}
double rb_l2force_tolerance(const rb_l2force_desc *d, double range) {
  const double least = fmin(d->spacing[0], fmin(d->spacing[1], d->spacing[2]));
  enum { ROUNDINGS = 4 }; /* of difference, slope, product and quotient */
  /* mean - image is 2 range at most; so is a rise, over the least spacing */
  return ROUNDINGS * rb_epsilon(d->dtype) * 2 * range * 2 * range / least;
}
double rb_l2force_energy_tolerance(const rb_l2force_desc *d, double range) {
  const double n = (double)rb_grid_points(d->grid);
  /* n terms of (2 range)^2: 2 eps each, and n additions in double */
  return n * 4 * range * range * (2 * rb_epsilon(d->dtype) + n * DBL_EPSILON);
}
