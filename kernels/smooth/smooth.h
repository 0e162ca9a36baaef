/* SPDX-License-Identifier: BSD-3-Clause */
/* smooth: separable Gaussian filter of fields on a voxel grid, zero outside.
 *
 *   out(x) = sum_{|d1|,|d2|,|d3| <= r} k(d1) k(d2) k(d3) f(x + d),   k(d) = exp(-d^2 / (2 sigma^2)) / sum_{|e| <= r}
 * exp(-e^2 / (2 sigma^2)), r = ceil(3 sigma)
 *
 * sigma in voxels; f counts as 0 beyond the grid, so what lies near the border fades. Fields
 * [components][n1][n2][n3], planar. demons2020 equation 1 prints exp(-d^2 / sigma^2), no normalisation and d up to
 * nint(3 sigma): as wide as sigma / sqrt 2 here (what its authors' program does with its two widths is discussed in
 * experiments/demons2020/README.md). Source: demons2020, Algorithm 2. */
#ifndef RB_SMOOTH_H
#define RB_SMOOTH_H

#include "kernels/base/array.h"
#include "kernels/base/variant.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RB_SMOOTH_REACH = 3 }; /* sigmas that a row of weights spans to each side */

typedef struct {
  rb_grid grid;
  int components; /* 1 to 3 */
  rb_dtype dtype;
  double sigma; /* the widest that the plan will be asked for, which may save the scratch; 0: any */
} rb_smooth_desc;

typedef struct rb_smooth_plan {
  const rb_variant *variant;
  const rb_backend *backend;
  rb_smooth_desc desc;
  void *scratch; /* [components][n]; NULL where all axes are one kernel's work */
} rb_smooth_plan;

/* k(0) .. k(held). Taps that reach beyond a line meet nothing and are left out; the weights sum to 1 with them. */
typedef struct {
  double sigma;
  int radius; /* up to where they are wanted along an axis */
  int held;
  double *k;
} rb_smooth_kernel;

typedef struct {
  rb_status (*supports)(const rb_smooth_desc *desc);
  rb_status (*plan)(const rb_backend *backend, const rb_smooth_desc *desc, rb_smooth_plan **out);
  rb_status (*pass)(rb_smooth_plan *p, const rb_smooth_kernel *k, int axis, const void *in,
                    void *out); /* radius: below the axis's length */
  rb_status (*run)(rb_smooth_plan *p, const rb_smooth_kernel *k, const void *in,
                   void *out); /* all axes, without scratch, up to radius `alone` */
  void (*destroy)(rb_smooth_plan *p);
  int alone, most; /* greatest radius of run, and of pass (0: any) */
} rb_smooth_ops;

/* RB_EINVAL for sizes, components and sigma out of range, RB_EUNSUPPORTED for a sigma that is too wide for the
 * variant: what _create and the calls say, before anything is allocated. */
rb_status rb_smooth_possible(const rb_variant *variant, const rb_smooth_desc *desc);
rb_status rb_smooth_create(const rb_variant *variant, const rb_smooth_desc *desc, rb_smooth_plan **out);
/* Bytes of a plan's scratch on the backend; besides, cpu/omp holds some rows a thread and cuda/march the weights of a
 * wide kernel. */
size_t rb_smooth_workspace(const rb_variant *variant, const rb_smooth_desc *desc);
/* sigma >= 0 (0 copies), however wide; RB_EINVAL above the sigma that the plan was made for, RB_EUNSUPPORTED above
 * what the variant can do (A1 to A3 end at a radius of 64, or the axis's length - 1). out must not be in. A value
 * that is not finite spoils what lies within the radius, in cuda/march also some values beyond. */
rb_status rb_smooth(rb_smooth_plan *p, double sigma, rb_array in, rb_array out);
/* Along one axis only (0: x1, the slowest). */
rb_status rb_smooth_pass(rb_smooth_plan *p, double sigma, int axis, rb_array in, rb_array out);
void rb_smooth_destroy(rb_smooth_plan *p); /* takes NULL */

/* Taps on either side that can meet a value in lines of so many. */
int rb_smooth_radius(double sigma, int64_t length);
/* For lines of up to `longest` >= 1 values; the caller frees k. RB_EINVAL for a sigma out of range, RB_ENOMEM. */
rb_status rb_smooth_kernel_make(double sigma, int64_t longest, rb_smooth_kernel *out);
/* Oracle of one value, float64: along `axis`, or all three by the sum over the box (-1). */
double rb_smooth_oracle_at(const rb_smooth_desc *desc, const rb_smooth_kernel *k, int axis, const void *in,
                           int component, const int64_t at[3]);

/* Useful work of all three passes: 2 (2 r + 1) FLOPs a value and axis, r below the axis's length; least traffic: one
 * read and one write a value and pass. */
double rb_smooth_flops(const rb_smooth_desc *desc, double sigma);
double rb_smooth_bytes(const rb_smooth_desc *desc, int passes);
/* Largest accepted |out - oracle| for |f| <= range: the weights sum to 1, each axis rounds a sum of 2 r + 1 products.
 */
double rb_smooth_tolerance(const rb_smooth_desc *desc, double sigma, double range);

#ifdef __cplusplus
}
#endif
#endif
