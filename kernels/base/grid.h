/* SPDX-License-Identifier: BSD-3-Clause */
/* Regular periodic grid on (0, 2 pi)^3.
 *
 * Axis 0 is x1 (slowest), axis 2 is x3 (fastest): value (i1,i2,i3) lies at index (i1*n2 + i2)*n3 + i3.
 * Node i of axis a has coordinate i*h_a with h_a = 2 pi / n_a. Vector fields are planar: all of
 * component 1, then 2, then 3. */
#ifndef RB_BASE_GRID_H
#define RB_BASE_GRID_H

#include "kernels/base/status.h"

#include <float.h>
#include <stddef.h>
#include <stdint.h>

#define RB_TWO_PI 6.283185307179586476925286766559

typedef struct {
  int64_t n[3];
} rb_grid;

/* Most points along an axis: products of two axes stay far below 2^63, positions exact in float32's 2^24. */
enum { RB_MOST_AXIS = 1 << 20 };

typedef enum { RB_F32 = 0, RB_F64 = 1 } rb_dtype;

static inline rb_grid rb_grid_make(int64_t n1, int64_t n2, int64_t n3) {
  rb_grid g = {{n1, n2, n3}};
  return g;
}
static inline int64_t rb_grid_points(rb_grid g) { return g.n[0] * g.n[1] * g.n[2]; }
static inline double rb_grid_spacing(rb_grid g, int axis) { return RB_TWO_PI / (double)g.n[axis]; }
/* Distance of neighbouring numbers at 1. */
static inline double rb_epsilon(rb_dtype t) { return t == RB_F64 ? DBL_EPSILON : FLT_EPSILON; }
static inline size_t rb_dtype_size(rb_dtype t) { return t == RB_F64 ? sizeof(double) : sizeof(float); }
static inline const char *rb_dtype_name(rb_dtype t) { return t == RB_F64 ? "float64" : "float32"; }

/* 1 to RB_MOST_AXIS points along every axis, else RB_EINVAL with the family's name. */
rb_status rb_grid_check(rb_grid g, const char *family);

/* i modulo n in [0, n), also for negative i. n > 0. */
static inline int64_t rb_wrap(int64_t i, int64_t n) {
  int64_t r = i % n;
  return r < 0 ? r + n : r;
}

/* Wave number of index k on an axis of n points: 0..ceil(n/2)-1, 0 at Nyquist (n even), then negative.
 * The Nyquist mode counts as zero in every spectral operator: it has no odd derivative on the grid. */
static inline int64_t rb_wavenumber(int64_t k, int64_t n) {
  if (2 * k < n) return k;
  if (2 * k == n) return 0;
  return k - n;
}
#endif
