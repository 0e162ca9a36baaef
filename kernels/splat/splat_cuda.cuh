/* SPDX-License-Identifier: BSD-3-Clause */
/* What the CUDA variants of splat share: a point's nodes and weights, the outcome that the device writes, the check
 * of sums in whole numbers. */
#ifndef RB_SPLAT_CUDA_CUH
#define RB_SPLAT_CUDA_CUH

#include "kernels/cuda/cuda.cuh"
#include "kernels/splat/splat.h"

#include <float.h>
#include <limits.h>
#include <stdlib.h>

enum { THREADS = 256 };

/* On the device; cleared before a run. */
typedef struct {
  unsigned long long lost;        /* points that added nothing */
  unsigned long long given, held; /* sums of contributions and of nodes, each times its node's number_of */
  unsigned exceeded;              /* a contribution that its type does not hold */
  unsigned greatest;              /* bits of the greatest |mass|: whole numbers are ordered as such floats are */
} splat_report;

/* Nodes along the axes, points, and nodes in all; passed to kernels by value. */
typedef struct {
  int n1, n2, n3;
  int64_t np, nodes;
} splat_layout;

static inline splat_layout splat_layout_of(const rb_splat_desc *d) {
  const splat_layout l = {(int)d->grid.n[0], (int)d->grid.n[1], (int)d->grid.n[2], d->np, rb_grid_points(d->grid)};
  return l;
}

static inline rb_status splat_supports_float(const rb_splat_desc *d) {
  return d->dtype == RB_F32 ? RB_OK : RB_FAIL(RB_EUNSUPPORTED, "the CUDA variants are float32 only");
}
static inline rb_status splat_supports_linear(const rb_splat_desc *d, const char *name) {
  if (d->dtype != RB_F32) return RB_FAIL(RB_EUNSUPPORTED, "the CUDA variants are float32 only");
  if (d->basis != RB_SPLAT_LINEAR) return RB_FAIL(RB_EUNSUPPORTED, "%s is linear only", name);
  return RB_OK;
}

/* Weights of the nodes around a point whose fraction is t: two of the linear B-spline, four of the cubic one, whose
 * third is what the others leave of 1. */
template <int BASIS>
static __device__ __forceinline__ void splat_weights(float t, float w[4]) {
  /* u = 1 - t: weights are polynomials in both. */
  const float u = 1.0f - t;
  if (BASIS == RB_SPLAT_LINEAR) {
    w[0] = u, w[1] = t;
  } else {
    w[0] = u * u * u * (1.0f / 6.0f), w[3] = t * t * t * (1.0f / 6.0f);
    w[1] = 2.0f / 3.0f - 0.5f * t * t * (2.0f - t), w[2] = 1.0f - w[0] - w[1] - w[3];
  }
}

/* Node i of an axis of n by the boundary's rule; -1: dropped. */
static __device__ __forceinline__ int splat_node(int i, int n, int boundary) {
  if ((unsigned)i < (unsigned)n) return i;
  if (boundary == RB_ZERO) return -1;
  if (boundary == RB_CLAMP) return i < 0 ? 0 : n - 1;
  return rb_wrap_near(i, n);
}

/* First node and fraction of a coordinate; whole numbers are cut to what an int holds. The fraction comes from the
 * coordinate itself. A cubic point's first node is the one before its cell. */
template <int BASIS>
static __device__ __forceinline__ int splat_base(float x, float *t) {
  const float f = floorf(x);
  *t = x - f;
  return (int)fminf(fmaxf(f, -1e9f), 1e9f) - (BASIS == RB_SPLAT_LINEAR ? 0 : 1);
}

/* Neither infinite nor NaN. */
static __device__ __forceinline__ bool is_number(float v) { return fabsf(v) <= FLT_MAX; }
/* Whether a point and its masses are. One bad coordinate or mass drops the point with all its components. */
static __device__ __forceinline__ bool splat_finite(const splat_layout &l, int components, const float *x,
                                                    const float *m, int64_t p) {
  bool finite = is_number(x[p]) && is_number(x[l.np + p]) && is_number(x[2 * l.np + p]);
  for (int c = 0; c < components; c++) finite = finite && is_number(m[c * l.np + p]);
  return finite;
}

/* VISIT(node, weight) for every node of point p. */
template <int BASIS, typename VISIT>
static __device__ __forceinline__ void splat_visit(const splat_layout &l, int boundary, float x1, float x2, float x3,
                                                   VISIT visit) {
  const int taps = BASIS == RB_SPLAT_LINEAR ? 2 : 4;
  float t, w1[4], w2[4], w3[4];
  const int b1 = splat_base<BASIS>(x1, &t);
  splat_weights<BASIS>(t, w1);
  const int b2 = splat_base<BASIS>(x2, &t);
  splat_weights<BASIS>(t, w2);
  const int b3 = splat_base<BASIS>(x3, &t);
  splat_weights<BASIS>(t, w3);
  /* All products of three weights, nodes in the order of memory. */
#pragma unroll
  for (int i = 0; i < taps; i++) {
    const int i1 = splat_node(b1 + i, l.n1, boundary);
#pragma unroll
    for (int j = 0; j < taps; j++) {
      const int i2 = splat_node(b2 + j, l.n2, boundary);
      const int64_t row = ((int64_t)i1 * l.n2 + i2) * l.n3;
#pragma unroll
      for (int k = 0; k < taps; k++) {
        const int i3 = splat_node(b3 + k, l.n3, boundary);
        /* A dropped index is -1: the sign bit of the three together tells whether one is. */
        if ((i1 | i2 | i3) >= 0) visit(row + i3, w1[i] * w2[j] * w3[k]);
      }
    }
  }
}

/* A pseudo-random whole number a value of `out`: of 32 bits, which is what decides (a wrap of k turns shifts the
 * weighted sum by 2^32 k times it), and cheap. */
static __device__ __forceinline__ unsigned splat_number_of(int64_t node) {
  unsigned z = ((unsigned)node ^ (unsigned)(node >> 32)) * 0x9E3779B1u;
  z = (z ^ (z >> 15)) * 0x85EBCA77u;
  return z ^ (z >> 13);
}
/* A contribution, or a node, as the weighted sums count it. Modulo 2^64: sums may wrap, but do so alike on both
 * sides. */
static __device__ __forceinline__ unsigned long long splat_weighted(int64_t node, int whole) {
  return (unsigned long long)((long long)whole * (long long)splat_number_of(node));
}

/* Adds the block's values to *to: all THREADS threads call. One atomic a warp. Whole numbers: the order of the
 * additions does not matter. */
static __device__ __forceinline__ void splat_add_block(unsigned long long v, unsigned long long *to) {
  for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(~0u, v, o);
  if (threadIdx.x % 32 == 0 && v) atomicAdd(to, v);
}

/* ---- plans that hold a report, and some room ---- */

typedef struct {
  rb_splat_plan head;
  splat_report *report; /* on the device */
  void *room;           /* the variant's own; may be NULL */
} splat_plan;

[[maybe_unused]] static void splat_destroy(rb_splat_plan *head) {
  splat_plan *p = (splat_plan *)head;
  rb_release(head->backend, p->report);
  rb_release(head->backend, p->room);
  free(p);
}
/* room: bytes of the variant's own on the backend, 0 for none. */
[[maybe_unused]] static rb_status splat_plan_create(const rb_backend *backend, size_t room, rb_splat_plan **out) {
  rb_status st = RB_OK;
  splat_plan *p = (splat_plan *)calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  p->head.backend = backend;
  RB_TRY(rb_alloc(backend, sizeof *p->report, (void **)&p->report));
  if (room) RB_TRY(rb_alloc(backend, room, &p->room));
  *out = &p->head;
  p = NULL;
done:
  if (p) splat_destroy(&p->head);
  return st;
}
/* Waits for the device: the report is copied to the host. */
static rb_status splat_outcome(rb_splat_plan *head, int64_t *lost, int *exceeded) {
  rb_status st = RB_OK;
  splat_report r;
  RB_TRY(head->backend->download(&r, ((splat_plan *)head)->report, sizeof r));
  *lost = (int64_t)r.lost;
  /* Either a single contribution was too large, or contributions and nodes do not agree. */
  *exceeded = r.exceeded != 0 || r.given != r.held;
done:
  return st;
}
/* Clears the report and `bytes` of `to`, as every run begins. */
static rb_status splat_begin(rb_splat_plan *head, void *to, size_t bytes) {
  rb_status st = RB_OK;
  RB_CUDA_TRY(cudaMemsetAsync(((splat_plan *)head)->report, 0, sizeof(splat_report), rb_cuda_stream()));
  if (bytes) RB_CUDA_TRY(cudaMemsetAsync(to, 0, bytes, rb_cuda_stream()));
done:
  return st;
}

#endif
