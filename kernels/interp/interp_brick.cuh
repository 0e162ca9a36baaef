/* SPDX-License-Identifier: BSD-3-Clause */
/* Ours: float32 evaluation straight from the field, and the order in which blocks visit points.
 *
 * When there are as many points as nodes, point p is taken to belong near node p (a registration's
 * characteristics do), and a block takes a brick of nodes, so that its points share cache lines. Otherwise
 * a block takes consecutive points. Either order gives the same values. */
#ifndef RB_INTERP_BRICK_CUH
#define RB_INTERP_BRICK_CUH

#include "kernels/interp/interp_prefilter.cuh"
#include "kernels/interp/interp_weights.cuh"

#include <stdlib.h>

/* A brick of nodes and the THREADS that take it: BRICK3 x BRICK2 of them, each through BRICK1 planes. */
enum {
  BRICK1 = 8,
  BRICK2 = 8,
  BRICK3 = 32,
  BRICK = BRICK1 * BRICK2 * BRICK3,
  THREADS = 256,
  PER_THREAD = BRICK / THREADS
};

/* One component of a field, planar, x3 fastest. */
struct field_view {
  const float *f;
  int n1, n2, n3;
};

/* coefficients [components][n] and scratch [n] exist for the B-spline alone. */
typedef struct {
  rb_interp_plan head;
  const float *field; /* the caller's, or the coefficients */
  float *coefficients, *scratch;
} brick_plan;

/* Offsets within a component are 32-bit here; the B-spline's prefilter is the exact one. */
static rb_status brick_supports(const rb_interp_desc *d) {
  if (d->dtype != RB_F32) return RB_FAIL(RB_EUNSUPPORTED, "the CUDA variants are float32 only");
  if (rb_grid_points(d->grid) >= (int64_t)1 << 31)
    return RB_FAIL(RB_EUNSUPPORTED, "offsets are 32 bits here: below 2^31 points");
  if (d->basis == RB_BSPLINE && d->prefilter != RB_PREFILTER_EXACT)
    return RB_FAIL(RB_EUNSUPPORTED, "this variant prefilters exactly: bspline, not bspline15");
  return RB_OK;
}

/* Takes a plan that is made in part. */
static void brick_destroy(rb_interp_plan *head) {
  brick_plan *p = (brick_plan *)head;
  rb_release(head->backend, p->coefficients);
  rb_release(head->backend, p->scratch);
  free(p);
}

/* Allocates on the backend what the B-spline needs, nothing otherwise. */
static rb_status brick_plan_create(const rb_backend *backend, const rb_interp_desc *d, rb_interp_plan **out) {
  rb_status st = RB_OK;
  size_t field = (size_t)rb_grid_points(d->grid) * sizeof(float);
  brick_plan *p = (brick_plan *)calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  p->head.backend = backend;
  if (d->basis == RB_BSPLINE) {
    RB_TRY(rb_alloc(backend, field * (size_t)d->components, (void **)&p->coefficients));
    RB_TRY(rb_alloc(backend, field, (void **)&p->scratch));
  }
  *out = &p->head;
  return RB_OK;
done:
  if (p) brick_destroy(&p->head);
  return st;
}

/* The B-spline reads coefficients; the other bases read the field itself, which must stay. Called once a field; eval
 * then reads p->field. For the B-spline each component is filtered through the one scratch. */
static rb_status brick_load(rb_interp_plan *head, const void *f) {
  rb_status st = RB_OK;
  brick_plan *p = (brick_plan *)head;
  int64_t n = rb_grid_points(head->desc.grid);
  p->field = (const float *)f;
  if (head->desc.basis != RB_BSPLINE) return RB_OK;
  for (int c = 0; c < head->desc.components; c++)
    RB_TRY(rb_prefilter_exact(head->desc.grid, (const float *)f + c * n, p->coefficients + c * n, p->scratch));
  p->field = p->coefficients;
done:
  return st;
}

/* The points of one thread: first, first + step, ... `count` of them. Lanes run along x3, steps along x1. */
struct brick_walk {
  int64_t first, step;
  int count;
};
/* is_grid: as many points as nodes. bricks2, bricks3: bricks along x2 and x3; blockIdx.x is the brick's number. */
static __device__ __forceinline__ brick_walk brick_points(int is_grid, int64_t np, field_view v, int bricks2,
                                                          int bricks3) {
  brick_walk w;
  if (!is_grid) {
    /* Consecutive points, THREADS apart for one thread. */
    w.first = (int64_t)blockIdx.x * BRICK + threadIdx.x;
    /* Points first, first + THREADS, ...; the last block's threads have fewer. */
    w.step = THREADS;
    int64_t left = np - w.first;
    w.count = left <= 0 ? 0 : (int)min((left + THREADS - 1) / THREADS, (int64_t)PER_THREAD);
    return w;
  }
  /* Bricks are counted along x3 first. */
  int b = blockIdx.x, b3 = b % bricks3, b2 = b / bricks3 % bricks2, b1 = b / bricks3 / bricks2;
  /* Thread 32 r + l: lane l along x3, row r of the brick's eight along x2. */
  int i3 = b3 * BRICK3 + threadIdx.x % BRICK3, i2 = b2 * BRICK2 + threadIdx.x / BRICK3, i1 = b1 * BRICK1;
  w.step = v.n2 * v.n3;
  w.first = i1 * w.step + i2 * v.n3 + i3; /* of the brick's first plane */
  /* Planes of the brick that are on the grid; 0 for a thread beyond a row or column. */
  w.count = i2 < v.n2 && i3 < v.n3 ? min(PER_THREAD, v.n1 - i1) : 0;
  return w;
}

/* Offset and admissibility of tap k of an axis under the boundary rule. A tap outside keeps a valid index; with
 * RB_ZERO its weight becomes 0. w: the tap's weight, which the zero boundary clears; the index returned is always
 * valid. */
template <int BOUNDARY>
static __device__ __forceinline__ int boundary_index(int k, int n, float *w) {
  if (BOUNDARY == RB_PERIODIC) return rb_wrap_near(k, n);
  if (BOUNDARY == RB_ZERO && (unsigned)k >= (unsigned)n) *w = 0.0f;
  return min(max(k, 0), n - 1);
}

/* The value at one point by loads from global memory. Away from the border the taps of a row are neighbours in memory
 * and the rows equidistant: no index arithmetic but constants. b1, b2, b3: the first tap's node, one before the cell
 * for the cubic bases. */
template <int BASIS, int BOUNDARY>
static __device__ __forceinline__ float gather_global(field_view v, float x1, float x2, float x3) {
  /* TAPS values along each axis, from SHIFT nodes before the cell. */
  const int TAPS = BASIS == RB_LINEAR ? 2 : 4, SHIFT = BASIS == RB_LINEAR ? 0 : 1;
  /* t: fractions in the cell; w: weights of the taps along each axis, worked out once a point. */
  float t1, t2, t3, w1[4], w2[4], w3[4], sum = 0;
  int b1 = cell_of(x1, &t1) - SHIFT, b2 = cell_of(x2, &t2) - SHIFT, b3 = cell_of(x3, &t3) - SHIFT;
  basis_weights<BASIS>(t1, w1);
  basis_weights<BASIS>(t2, w2);
  basis_weights<BASIS>(t3, w3);
  /* All taps inside: one unsigned comparison an axis tests both ends, where the axis is as long as the taps. */
  if ((unsigned)b1 <= (unsigned)(v.n1 - TAPS) && (unsigned)b2 <= (unsigned)(v.n2 - TAPS) &&
      (unsigned)b3 <= (unsigned)(v.n3 - TAPS) && v.n1 >= TAPS && v.n2 >= TAPS && v.n3 >= TAPS) {
    const float *c = v.f + (b1 * v.n2 + b2) * v.n3 + b3;
    const int plane = v.n2 * v.n3;
    /* Along x3 first, then x2, then x1: TAPS^2 rows, TAPS slices, one sum. */
#pragma unroll
    for (int i = 0; i < TAPS; i++) {
      const float *line = c + i * plane;
      float slice = 0;
#pragma unroll
      for (int j = 0; j < TAPS; j++, line += v.n3) {
        float row = 0;
#pragma unroll
        for (int k = 0; k < TAPS; k++) row += w3[k] * __ldg(line + k);
        slice += w2[j] * row;
      }
      sum += w1[i] * slice;
    }
    return sum;
  }
  /* Near the border: each index by the rule. Those along x3 are the same for all rows. */
  int k3[4];
#pragma unroll
  for (int k = 0; k < TAPS; k++) k3[k] = boundary_index<BOUNDARY>(b3 + k, v.n3, &w3[k]);
#pragma unroll
  for (int i = 0; i < TAPS; i++) {
    int plane = boundary_index<BOUNDARY>(b1 + i, v.n1, &w1[i]) * v.n2;
    float slice = 0;
#pragma unroll
    for (int j = 0; j < TAPS; j++) {
      float row = 0;
      const float *line = v.f + (plane + boundary_index<BOUNDARY>(b2 + j, v.n2, &w2[j])) * v.n3;
#pragma unroll
      for (int k = 0; k < TAPS; k++) row += w3[k] * __ldg(line + k3[k]);
      slice += w2[j] * row;
    }
    sum += w1[i] * slice;
  }
  return sum;
}

#define RB_BRICK_DISPATCH(LAUNCH, basis, boundary)           \
  do {                                                       \
    if ((basis) == RB_LINEAR && (boundary) == RB_PERIODIC)   \
      LAUNCH(RB_LINEAR, RB_PERIODIC);                        \
    else if ((basis) == RB_LINEAR && (boundary) == RB_CLAMP) \
      LAUNCH(RB_LINEAR, RB_CLAMP);                           \
    else if ((basis) == RB_LINEAR)                           \
      LAUNCH(RB_LINEAR, RB_ZERO);                            \
    else if ((basis) == RB_BSPLINE)                          \
      LAUNCH(RB_BSPLINE, RB_PERIODIC);                       \
    else if ((boundary) == RB_PERIODIC)                      \
      LAUNCH(RB_LAGRANGE, RB_PERIODIC);                      \
    else if ((boundary) == RB_CLAMP)                         \
      LAUNCH(RB_LAGRANGE, RB_CLAMP);                         \
    else                                                     \
      LAUNCH(RB_LAGRANGE, RB_ZERO);                          \
  } while (0)

#endif
