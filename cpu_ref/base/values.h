/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of host arrays of either precision, as the oracles read and write them: all between is double, a result is
 * rounded once, when it is stored. */
#ifndef RB_CPU_REF_BASE_VALUES_H
#define RB_CPU_REF_BASE_VALUES_H

#include "kernels/base/grid.h"

static inline double rb_value_get(rb_dtype t, const void *x, int64_t i) {
  return t == RB_F64 ? ((const double *)x)[i] : (double)((const float *)x)[i];
}
static inline void rb_value_put(rb_dtype t, void *x, int64_t i, double v) {
  if (t == RB_F64)
    ((double *)x)[i] = v;
  else
    ((float *)x)[i] = (float)v;
}

#endif
