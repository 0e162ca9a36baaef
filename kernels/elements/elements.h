/* SPDX-License-Identifier: BSD-3-Clause */
/* elements: centres and moments of the elements of a mesh, and a gradient by them carried to its vertices.
 *
 *   dimension 2, triangle (a, b, c):  centre (a + b + c)/3,  moment 1/2 (b - a) x (c - a), the area's normal
 *   dimension 1, segment (a, b):      centre (a + b)/2,      moment b - a
 *   dimension 0, point a:             centre a,              moment (1, 0, 0)
 *
 * and for E(centres, moments) with w = dE/dmoment, z = dE/dcentre, summed over the elements of a vertex:
 *   triangle:  dE/da += 1/2 w x (c - b) + z/3,  dE/db += 1/2 w x (a - c) + z/3,  dE/dc += 1/2 w x (b - a) + z/3
 *   segment:   dE/da += -w + z/2,  dE/db += w + z/2
 *   point:     dE/da += z
 *
 * vertices [3][vertices]; centres, moments, w, z [3][elements]; gradient [3][vertices]; planar, in one unit of
 * length. Source: ha2012 section 3.2; the gradient derived here. */
#ifndef RB_ELEMENTS_H
#define RB_ELEMENTS_H

#include "kernels/base/array.h"
#include "kernels/base/variant.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  int dimension;        /* of an element: 0, 1, 2 */
  int64_t vertices;     /* 1 .. 2^30 */
  int64_t elements;     /* 1 .. 2^28 */
  const int32_t *index; /* [elements][dimension + 1], on the host; read by create alone */
  rb_dtype dtype;
} rb_elements_desc;

typedef struct rb_elements_plan {
  const rb_variant *variant;
  const rb_backend *backend;
  rb_elements_desc desc; /* its index is NULL */
  /* On the backend: */
  int32_t *index; /* [dimension + 1][elements] */
  int32_t *first; /* [vertices + 1]: where a vertex' uses begin in `use` */
  int32_t *use;   /* [elements (dimension + 1)]: corner * elements + element, by vertex, elements in their order */
} rb_elements_plan;

typedef struct {
  rb_status (*supports)(const rb_elements_desc *desc);
  rb_status (*measure)(const rb_elements_plan *p, const void *vertices, void *centres, void *moments);
  rb_status (*gradient)(const rb_elements_plan *p, const void *vertices, const void *w, const void *z,
                        void *gradient);
} rb_elements_ops;

/* RB_EINVAL for an index outside 0 .. vertices - 1, with the element's number. */
rb_status rb_elements_create(const rb_variant *variant, const rb_elements_desc *desc, rb_elements_plan **out);
rb_status rb_elements_measure(const rb_elements_plan *p, rb_array vertices, rb_array centres, rb_array moments);
rb_status rb_elements_gradient(const rb_elements_plan *p, rb_array vertices, rb_array w, rb_array z,
                               rb_array gradient);
void rb_elements_destroy(rb_elements_plan *p); /* takes NULL */

/* Least traffic of measure: the vertices and indices once, centres and moments once. */
double rb_elements_bytes(const rb_elements_desc *desc);
/* Largest accepted |out - oracle| of a sum of `terms` terms of at most `size`. */
double rb_elements_tolerance(const rb_elements_desc *desc, int terms, double size);

#ifdef __cplusplus
}
#endif
#endif
