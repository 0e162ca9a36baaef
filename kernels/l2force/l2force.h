/* SPDX-License-Identifier: BSD-3-Clause */
/* l2force: the gradient of the squared difference to a mean, and the difference itself.
 *
 * force:   f_a(x) = (mean(x) - image(x)) d_a image(x)     a = 1, 2, 3
 * sum:     f_a(x) = w sum_k (mean_k(x) - image_k(x)) d_a image_k(x)     of several channels, added in their order
 * energy:  sum over the nodes of (mean - image)^2
 *
 * d_a: central differences divided by 2 s_a, one-sided at the border, 0 along an axis of one node. Images
 * [n1][n2][n3], f [3][n] an intensity squared per unit of the spacing. v = K f with a positive K moves the image
 * towards the mean when it is warped by x + v: the sign of ha2009's equation (5) is the other one, see its findings.
 * Source: ha2009, Algorithm 1 and section 2.2. */
#ifndef RB_L2FORCE_H
#define RB_L2FORCE_H

#include "kernels/base/array.h"
#include "kernels/base/variant.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  rb_grid grid;
  double spacing[3]; /* of axes 1 to 3, positive */
  rb_dtype dtype;
} rb_l2force_desc;

typedef struct rb_l2force_plan {
  const rb_variant *variant;
  const rb_backend *backend;
  rb_l2force_desc desc;
  double *kept; /* one, on the backend */
} rb_l2force_plan;

typedef struct {
  rb_status (*supports)(const rb_l2force_desc *desc);
  rb_status (*plan)(const rb_backend *backend, const rb_l2force_desc *desc, rb_l2force_plan **out);
  rb_status (*force)(rb_l2force_plan *p, const void *mean, const void *image, void *f);
  rb_status (*sum)(rb_l2force_plan *p, int channels, double weight, const void *mean, const void *image, void *f,
                   double *kept); /* kept may be NULL */
  rb_status (*energy)(rb_l2force_plan *p, const void *mean, const void *image, double *kept);
  void (*destroy)(rb_l2force_plan *p);
} rb_l2force_ops;

rb_status rb_l2force_create(const rb_variant *variant, const rb_l2force_desc *desc, rb_l2force_plan **out);
rb_status rb_l2force(rb_l2force_plan *p, rb_array mean, rb_array image, rb_array f);
/* mean, image [channels][n], channels from 1. kept: the energies of all channels, without the weight, as one float64
 * on the backend; or no array. Does not wait. */
rb_status rb_l2force_sum(rb_l2force_plan *p, int channels, double weight, rb_array mean, rb_array image, rb_array f,
                         rb_array kept);
/* Summed in float64 in an order that depends on the grid alone, not on threads. Waits for the backend. */
rb_status rb_l2force_energy(rb_l2force_plan *p, rb_array mean, rb_array image, double *out);
/* The same sum into `kept`, one float64 on the backend, without waiting for it. */
rb_status rb_l2force_energy_kept(rb_l2force_plan *p, rb_array mean, rb_array image, rb_array kept);
void rb_l2force_destroy(rb_l2force_plan *p); /* takes NULL */

/* Least traffic of a force (of one channel): both images read, three components written: 20 B a voxel in float32. */
double rb_l2force_bytes(const rb_l2force_desc *desc);
/* Largest accepted |f - oracle| for images of at most `range`: four roundings of a product of at most
 * 2 range * range / s; of a sum, as many times. */
double rb_l2force_tolerance(const rb_l2force_desc *desc, double range);
/* Largest accepted |energy - oracle|: each difference rounds once in the data's precision. */
double rb_l2force_energy_tolerance(const rb_l2force_desc *desc, double range);

#ifdef __cplusplus
}
#endif
#endif
