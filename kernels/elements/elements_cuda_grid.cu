/* SPDX-License-Identifier: BSD-3-Clause */
/* ha2012 section 4.3.1: a thread an element. The gradient, ours: a thread a vertex, which gathers from its elements.
 */
#include "kernels/cuda/cuda.cuh"
#include "kernels/elements/elements.h"

/* The bodies shared with the CPU, as device functions in float32. */
#define FUNCTION static __device__ __forceinline__
#define REAL float
#define SUFFIX(name) name##_f32
#include "kernels/elements/elements_body.h"

enum { THREADS = 256 };

static rb_status supports(const rb_elements_desc *d) {
  return d->dtype == RB_F32 ? RB_OK : RB_FAIL(RB_EUNSUPPORTED, "the CUDA variants are float32 only");
}

/* index [dimension + 1][elements], x [3][vertices], centres and moments [3][elements]: neighbouring threads write
 * neighbouring values; the reads of vertices are scattered. */
static __global__ void __launch_bounds__(THREADS)
    measure_all(int dimension, const int32_t *__restrict__ index, int64_t elements, int64_t vertices,
                const float *__restrict__ x, float *__restrict__ centres, float *__restrict__ moments) {
  const int64_t e = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (e < elements) measure_element_f32(dimension, index, elements, vertices, x, e, centres, moments);
}
/* The uses of vertex v are use[first[v]] .. use[first[v + 1] - 1], elements in their order: no atomics, and sums that
 * repeat bit by bit. */
static __global__ void __launch_bounds__(THREADS)
    gather_all(int dimension, const int32_t *__restrict__ index, int64_t elements, int64_t vertices,
               const int32_t *__restrict__ first, const int32_t *__restrict__ use, const float *__restrict__ x,
               const float *__restrict__ w, const float *__restrict__ z, float *__restrict__ out) {
  const int64_t v = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (v < vertices)
    gather_vertex_f32(dimension, index, elements, vertices, use, first[v], first[v + 1], x, w, z, v, out);
}

/* One launch, a thread an element. */
static rb_status measure(const rb_elements_plan *p, const void *x, void *centres, void *moments) {
  rb_status st = RB_OK;
  const rb_elements_desc *d = &p->desc;
  RB_LAUNCH(measure_all, rb_blocks(d->elements, THREADS), THREADS, 0, d->dimension, p->index, d->elements,
            d->vertices, (const float *)x, (float *)centres, (float *)moments);
done:
  return st;
}
/* One launch, a thread a vertex; w and z [3][elements], out [3][vertices]. */
static rb_status gradient(const rb_elements_plan *p, const void *x, const void *w, const void *z, void *out) {
  rb_status st = RB_OK;
  const rb_elements_desc *d = &p->desc;
  RB_LAUNCH(gather_all, rb_blocks(d->vertices, THREADS), THREADS, 0, d->dimension, p->index, d->elements, d->vertices,
            p->first, p->use, (const float *)x, (const float *)w, (const float *)z, (float *)out);
done:
  return st;
}

extern "C" const rb_elements_ops rb_elements_grid = {supports, measure, gradient};
