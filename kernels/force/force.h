/* SPDX-License-Identifier: BSD-3-Clause */
/* force: the update of demons registration, and what it lowers.
 *
 * force:   d = fixed - warped,   g = grad warped,   u = d g / (|g|^2 + (sigma_i / sigma_x)^2 d^2),   0 where the
 * denominator is 0 energy:  sum over the nodes of d^2
 *
 * Gradient by central differences in voxels, one-sided at the border. Where either image is 0 (background, or nothing
 * warped in) u is 0. Images [n1][n2][n3], u [3][n] in voxels; |u| <= sigma_x / (2 sigma_i). Source: demons2020
 * Algorithm 1; Vercauteren et al. */
#ifndef RB_FORCE_H
#define RB_FORCE_H

#include "kernels/base/array.h"
#include "kernels/base/variant.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  rb_grid grid;
  rb_dtype dtype;
} rb_force_desc;

typedef struct rb_force_plan {
  const rb_variant *variant;
  const rb_backend *backend;
  rb_force_desc desc;
  double *kept; /* one, on the backend */
} rb_force_plan;

typedef struct {
  rb_status (*supports)(const rb_force_desc *desc);
  rb_status (*plan)(const rb_backend *backend, const rb_force_desc *desc, rb_force_plan **out);
  rb_status (*force)(rb_force_plan *p, double ratio, const void *fixed, const void *warped, void *u);
  rb_status (*energy)(rb_force_plan *p, const void *fixed, const void *warped, double *kept);
  void (*destroy)(rb_force_plan *p);
} rb_force_ops;

rb_status rb_force_create(const rb_variant *variant, const rb_force_desc *desc, rb_force_plan **out);
/* ratio: sigma_i / sigma_x, positive. */
rb_status rb_force(rb_force_plan *p, double ratio, rb_array fixed, rb_array warped, rb_array u);
/* sum (fixed - warped)^2 over the nodes, summed in float64. Waits for the backend. */
rb_status rb_force_energy(rb_force_plan *p, rb_array fixed, rb_array warped, double *out);
/* The same without waiting: the sum stays in `kept`, one float64. */
rb_status rb_force_energy_kept(rb_force_plan *p, rb_array fixed, rb_array warped, rb_array kept);
void rb_force_destroy(rb_force_plan *p); /* takes NULL */

/* Least traffic: both images read, three components written. */
double rb_force_bytes(const rb_force_desc *desc);
/* Largest accepted |u - oracle|: some ten roundings of a value of at most 1 / (2 ratio). */
double rb_force_tolerance(const rb_force_desc *desc, double ratio);
/* Largest accepted |energy - oracle| for |d| <= range: each term rounds in the data's precision, the sum in float64.
 */
double rb_force_energy_tolerance(const rb_force_desc *desc, double range);

#ifdef __cplusplus
}
#endif
#endif
