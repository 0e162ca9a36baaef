/* SPDX-License-Identifier: BSD-3-Clause */
/* Baseline of elements on the CPU: all cores. */
#include "kernels/elements/elements.h"

#define FUNCTION static inline
#define REAL float
#define SUFFIX(name) name##_f32
#include "kernels/elements/elements_body.h"
#undef REAL
#undef SUFFIX
#define REAL double
#define SUFFIX(name) name##_f64
#include "kernels/elements/elements_body.h"

static rb_status supports(const rb_elements_desc *d) {
  (void)d;
  return RB_OK;
}
/* Elements are independent: each writes its own centre and moment. */
static rb_status measure(const rb_elements_plan *p, const void *x, void *centres, void *moments) {
  const rb_elements_desc *d = &p->desc;
#pragma omp parallel for schedule(static)
  for (int64_t e = 0; e < d->elements; e++)
    if (d->dtype == RB_F64)
      measure_element_f64(d->dimension, p->index, d->elements, d->vertices, x, e, centres, moments);
    else
      measure_element_f32(d->dimension, p->index, d->elements, d->vertices, x, e, centres, moments);
  return RB_OK;
}
/* Gathered by vertex, not scattered by element: a vertex' sum is one thread's, in the order of its uses, so that no
 * atomics are needed and the bits do not depend on the number of threads. */
static rb_status gradient(const rb_elements_plan *p, const void *x, const void *w, const void *z, void *out) {
  const rb_elements_desc *d = &p->desc;
#pragma omp parallel for schedule(static)
  for (int64_t v = 0; v < d->vertices; v++)
    if (d->dtype == RB_F64)
      gather_vertex_f64(d->dimension, p->index, d->elements, d->vertices, p->use, p->first[v], p->first[v + 1], x, w,
                        z, v, out);
    else
      gather_vertex_f32(d->dimension, p->index, d->elements, d->vertices, p->use, p->first[v], p->first[v + 1], x, w,
                        z, v, out);
  return RB_OK;
}

const rb_elements_ops rb_elements_omp = {supports, measure, gradient};
