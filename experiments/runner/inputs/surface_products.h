/* SPDX-License-Identifier: BSD-3-Clause */
/* Inner products of two surfaces as currents, in float64 on the CPU. */
#ifndef RB_SURFACE_PRODUCTS_H
#define RB_SURFACE_PRODUCTS_H

#include "datasets/mesh.h"
#include "kernels/currents/currents.h"

typedef struct {
  double ss, st, tt; /* <S, S>, <S, T>, <T, T>; the squared distance is ss - 2 st + tt */
  rb_grid grid;      /* of a particle mesh */
} rb_surface_products;

/* Called now and then with the part done, in [0, 1]; a value other than 0 ends the work with RB_EINTERRUPTED. */
typedef int rb_part_done(double part, void *context);

/* Exact by cpu/omp, or by a particle mesh whose grid, `spacing` apart, holds both. RB_EINVAL for a sigma that a
 * method does not take. part_done may be NULL. */
rb_status rb_surface_products_of(const rb_mesh *s, const rb_mesh *t, rb_currents_method method, double sigma,
                                 double spacing, rb_part_done *part_done, void *context, rb_surface_products *out);
#endif
