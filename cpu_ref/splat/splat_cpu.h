/* SPDX-License-Identifier: BSD-3-Clause */
/* A node's place by the boundary's rule, and the points in both precisions. */
#ifndef RB_SPLAT_CPU_H
#define RB_SPLAT_CPU_H

#include "kernels/splat/splat.h"

#include <math.h>

#define FAR 1000000000 /* a coordinate's floor is cut to this, so that it is a whole number in both precisions */

/* Node i of an axis of n; -1: dropped.
 * Zero drops it, clamp takes the nearest border node, periodic takes i modulo n. */
static inline int64_t splat_node(int64_t i, int64_t n, rb_boundary boundary) {
  if (i >= 0 && i < n) return i;
  if (boundary == RB_ZERO) return -1;
  if (boundary == RB_CLAMP) return i < 0 ? 0 : n - 1;
  return (i % n + n) % n;
}
/* SUFFIX(floor_of) in splat_real.h */
static inline float floor_of_f32(float v) { return floorf(v); }
static inline double floor_of_f64(double v) { return floor(v); }

#define REAL float
#define SUFFIX(name) name##_f32
#include "cpu_ref/splat/splat_real.h"
#undef REAL
#undef SUFFIX
#define REAL double
#define SUFFIX(name) name##_f64
#include "cpu_ref/splat/splat_real.h"
#undef REAL
#undef SUFFIX
#endif
