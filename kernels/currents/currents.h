/* SPDX-License-Identifier: BSD-3-Clause */
/* currents: the field that moments make under a Gaussian kernel, its derivative, and their energy.
 *
 *   K(r) = exp(-r^2 / (2 sigma^2))
 *   u_i  =               sum_j K(|x_i - y_j|) m_j
 *   z_i  = -1/sigma^2    sum_j (p_i . m_j) K(|x_i - y_j|) (x_i - y_j)
 *   E    = sum_i m_i . u(y_i)
 *
 * y, m [3][sources]: places and moments that load() takes; x, p [3][n]: places where eval() asks, and what the
 * derivative is paired with; u, z [3][n]. Planar; places and sigma in one unit of length. For a current, m are the
 * moments of a mesh's elements (kernels/elements), and of <S, S>, 2u and 2z at its own elements are the derivatives
 * by moment and centre.
 *
 * Methods. EXACT: the sums. The others are particle meshes (ha2012 section 4.1): the moments are splat on a periodic
 * grid (node k of axis a at origin_a + k spacing), convolved with K there, and read off at x:
 *   PLAIN      the paper's: linear weights; z from centred differences of the grid's u, interpolated
 *   CORRECTED  linear weights; the weights' own widening, h^2/6 an axis and side, is taken off sigma^2, and the
 *              amplitude follows: sigma_c^2 = sigma^2 - h^2/3, (sigma/sigma_c)^3. z is the weights' exact derivative
 *   CUBIC      the same with weights of the cubic B-spline: sigma_c^2 = sigma^2 - 2 h^2/3
 * K is sampled at the nodes with the distance the shorter way round, as a product of three axes. What the grid is too
 * small for wraps: keep 5 sigma free between the points' box and its image. Source: ha2012 sections 3.2, 4.1; width
 * correction: here. */
#ifndef RB_CURRENTS_H
#define RB_CURRENTS_H

#include "kernels/base/array.h"
#include "kernels/base/variant.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum { RB_CURRENTS_EXACT, RB_CURRENTS_PLAIN, RB_CURRENTS_CORRECTED, RB_CURRENTS_CUBIC } rb_currents_method;

typedef struct {
  rb_currents_method method;
  double sigma;
  int64_t sources, targets; /* of every load; the most of an eval; 1 .. 2^28 */
  rb_dtype dtype;
  /* of a particle mesh: */
  rb_grid grid;
  double origin[3], spacing;
  const rb_variant *splat; /* of the variant's backend */
} rb_currents_desc;

typedef struct rb_currents_plan {
  const rb_variant *variant;
  const rb_backend *backend;
  rb_currents_desc desc;
  double *kept; /* one, on the backend */
} rb_currents_plan;

/* What the weights K of single pairs are rounded to: the type of the data, or fp16. Sums keep the type of the data.
 */
typedef enum { RB_WEIGHTS_FULL, RB_WEIGHTS_FP16 } rb_currents_weights;

typedef struct {
  rb_status (*supports)(const rb_currents_desc *desc);
  rb_status (*plan)(const rb_backend *backend, const rb_currents_desc *desc, rb_currents_plan **out);
  rb_status (*load)(rb_currents_plan *p, const void *y, const void *m);
  rb_status (*eval)(rb_currents_plan *p, int64_t n, const void *x, const void *pair, void *u, void *z);
  rb_status (*energy)(rb_currents_plan *p, double *kept); /* into one float64 on the backend, without waiting */
  rb_status (*outcome)(rb_currents_plan *p); /* waits; refuses what load could not take; NULL: it takes all */
  void (*destroy)(rb_currents_plan *p);
  double reach; /* pairs farther apart than reach sigma may be left out; 0: none are */
  rb_currents_weights weights;
  rb_status (*set_fixed)(rb_currents_plan *p, int64_t n, const void *y, const void *m); /* NULL: not there */
} rb_currents_ops;

/* RB_EINVAL for sigma or counts that are not positive, and for a grid whose spacing exceeds 4 sigma. */
rb_status rb_currents_create(const rb_variant *variant, const rb_currents_desc *desc, rb_currents_plan **out);
/* y and m must stay as they are until the last eval or energy that follows. */
rb_status rb_currents_load(rb_currents_plan *p, rb_array y, rb_array m);
/* n fixed sources: every later load has them beside its own. Once; y and m are not needed behind it.
 * Waits. RB_EINVAL for places or moments that are no finite numbers, RB_EUNSUPPORTED where the variant has none:
 * rb_currents_takes_fixed tells. */
rb_status rb_currents_set_fixed(rb_currents_plan *p, int64_t n, rb_array y, rb_array m);
int rb_currents_takes_fixed(const rb_variant *variant);
/* n: at most desc.targets. z may be no array, and then p. */
rb_status rb_currents_eval(rb_currents_plan *p, int64_t n, rb_array x, rb_array pair, rb_array u, rb_array z);
/* E of what is loaded. Waits. RB_EINVAL for places or moments that are no finite numbers (particle meshes). */
rb_status rb_currents_energy(rb_currents_plan *p, double *energy);
/* The same into `kept`, one float64 on the backend, without waiting; what the other refuses, outcome does, for the
 * last load. */
rb_status rb_currents_energy_kept(rb_currents_plan *p, rb_array kept);
rb_status rb_currents_outcome(rb_currents_plan *p); /* waits */
void rb_currents_destroy(rb_currents_plan *p);      /* takes NULL */

/* Variance of the kernel that a method convolves with, and its amplitude. */
double rb_currents_variance(const rb_currents_desc *desc);
double rb_currents_amplitude(const rb_currents_desc *desc);
/* The grid of a particle mesh for points in a box: `spacing` apart, 5 sigma around and between images, sizes of small
 * prime factors. Fills desc's grid and origin from its sigma and spacing. */
void rb_currents_fit_grid(const double low[3], const double high[3], rb_currents_desc *desc);

/* Useful FLOPs of an eval with z: an exponential and 25 a pair (EXACT). */
double rb_currents_flops(const rb_currents_desc *desc, int64_t n);
/* Largest accepted error of a pair's K m over |m| K, and over |m|, beyond the data's own precision; 0 but for
 * variants of low precision. */
double rb_currents_pair_error(const rb_variant *variant);
double rb_currents_pair_floor(const rb_variant *variant);
/* Largest accepted |u - oracle| by the same method, where the largest sum_j K |m_j| is `size` and sum_j |m_j| is
 * `total`. For z: times |p| / sigma, and by a particle mesh times 4 |p| / spacing. */
double rb_currents_tolerance(const rb_variant *variant, const rb_currents_desc *desc, double size, double total);
rb_status rb_currents_method_parse(const char *name, rb_currents_method *out); /* exact, plain, corrected, cubic */

#ifdef __cplusplus
}
#endif
#endif
