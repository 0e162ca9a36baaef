/* SPDX-License-Identifier: BSD-3-Clause */
/* Ours, for one point a node: a block's points reach a box of nodes, which lies in shared memory in whole numbers
 * whose unit comes from the block's greatest mass; then each node of it is added once to the device's memory. Where
 * the box does not fit, the points add to the device's memory themselves. */
#include "kernels/splat/splat_cuda.cuh"

enum {
  SIDE = 8, /* a block's points: a cube of this side of the grid's nodes */
  POINTS = SIDE * SIDE * SIDE,
  EACH = POINTS / THREADS, /* points of a thread */
  ROOM = 3072 /* nodes of a box: 12 KiB, of which the median takes 3 (A = 0.04), the greatest hundredth 6 */
};

static rb_status supports(const rb_splat_desc *d) {
  rb_status st = splat_supports_linear(d, "cuda/tile");
  if (st == RB_OK && d->np != rb_grid_points(d->grid))
    st = RB_FAIL(RB_EUNSUPPORTED, "cuda/tile takes one point a node");
  if (st == RB_OK && d->components != 1) st = RB_FAIL(RB_EUNSUPPORTED, "cuda/tile takes one component");
  return st;
}
static rb_status plan(const rb_backend *backend, const rb_splat_desc *d, rb_splat_plan **out) {
  (void)d;
  return splat_plan_create(backend, 0, out);
}

/* The block's own numbers. */
typedef struct {
  int low[3], high[3]; /* the box of nodes */
  unsigned greatest;   /* bits of the greatest |mass| */
} box_of_block;

/* Point q of the block: its number, or -1 off the grid. The cube's points are counted along x3 first; eight
 * neighbours of a row are eight threads. */
static __device__ __forceinline__ int64_t point_of(const splat_layout &l, int q) {
  const int i3 = (int)blockIdx.x * SIDE + q % SIDE, i2 = (int)blockIdx.y * SIDE + q / SIDE % SIDE,
            i1 = (int)blockIdx.z * SIDE + q / SIDE / SIDE;
  return i1 < l.n1 && i2 < l.n2 && i3 < l.n3 ? ((int64_t)i1 * l.n2 + i2) * l.n3 + i3 : -1;
}

/* The least value of a warp's lanes. */
static __device__ __forceinline__ int lanes_least(int v) {
  for (int o = 16; o > 0; o >>= 1) v = min(v, __shfl_xor_sync(~0u, v, o));
  return v;
}
/* The sum over a warp's lanes. */
static __device__ __forceinline__ int lanes_sum(int v) {
  for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
  return v;
}

/* A thread owns EACH points. Barriers: box and greatest mass are initialised; known; the box is clear; all have
 * added. */
static __global__ void __launch_bounds__(THREADS)
    add_boxes(splat_layout l, int boundary, const float *__restrict__ x, const float *__restrict__ m, float *out,
              splat_report *report) {
  __shared__ box_of_block box;
  __shared__ int sums[ROOM];
  /* A thread's points stay in registers from the search for the box to the additions. */
  float at[EACH][3], mass[EACH];
  bool there[EACH];
  if (threadIdx.x < 3) box.low[threadIdx.x] = INT_MAX, box.high[threadIdx.x] = INT_MIN;
  if (threadIdx.x == 0) box.greatest = 0;
  __syncthreads();
  int low[3] = {INT_MAX, INT_MAX, INT_MAX}, high[3] = {INT_MIN, INT_MIN, INT_MIN};
  unsigned most = 0;
#pragma unroll
  for (int e = 0; e < EACH; e++) {
    const int64_t p = point_of(l, e * THREADS + (int)threadIdx.x);
    there[e] = p >= 0;
    if (!there[e]) continue;
    /* The points' coordinates [3][np] and masses; points that are no numbers are lost here, once. */
    for (int a = 0; a < 3; a++) at[e][a] = x[a * l.np + p];
    mass[e] = m[p];
    if (!is_number(at[e][0]) || !is_number(at[e][1]) || !is_number(at[e][2]) || !is_number(mass[e])) {
      there[e] = false;
      atomicAdd(&report->lost, 1ull);
      continue;
    }
#pragma unroll
    for (int a = 0; a < 3; a++) {
      float t;
      /* The two nodes along an axis are base and base + 1. */
      const int base = splat_base<RB_SPLAT_LINEAR>(at[e][a], &t);
      low[a] = min(low[a], base), high[a] = max(high[a], base + 1);
    }
    most = max(most, __float_as_uint(fabsf(mass[e])));
  }
  /* The greatest is minus the least of the negated; INT_MIN has no negative, hence -INT_MAX. */
#pragma unroll
  for (int a = 0; a < 3; a++) low[a] = lanes_least(low[a]), high[a] = -lanes_least(-max(high[a], -INT_MAX));
  most = (unsigned)-lanes_least(-(int)most); /* bits of a positive float are a positive int */
  if (threadIdx.x % 32 == 0) {
    for (int a = 0; a < 3; a++) atomicMin(&box.low[a], low[a]), atomicMax(&box.high[a], high[a]);
    atomicMax(&box.greatest, most);
  }
  /* Box and greatest mass are known to all; conditions below are the same for the whole block. */
  __syncthreads();
  const int low1 = box.low[0], low2 = box.low[1], low3 = box.low[2];
  const float greatest = __uint_as_float(box.greatest);
  if (low1 > box.high[0] || !(greatest > 0)) return; /* the whole block: nothing to add */
  const int64_t d1 = (int64_t)box.high[0] - low1 + 1, d2 = (int64_t)box.high[1] - low2 + 1,
                d3 = (int64_t)box.high[2] - low3 + 1;
  /* Each side first, so that the product cannot overflow. Too large: by atomics in float. */
  if (d1 > ROOM || d2 > ROOM || d3 > ROOM || d1 * d2 * d3 > ROOM) {
    for (int e = 0; e < EACH; e++)
      if (there[e])
        splat_visit<RB_SPLAT_LINEAR>(l, boundary, at[e][0], at[e][1], at[e][2],
                                     [&](int64_t node, float w) { atomicAdd(out + node, w * mass[e]); });
    return;
  }
  /* Node (i1, i2, i3) of the box lies at (i1 box2 + i2) box3 + i3 of `sums`. */
  const int box2 = (int)d2, box3 = (int)d3, count = (int)(d1 * d2 * d3);
  int exponent;
  frexpf(greatest, &exponent);
  const int bits = 30 - exponent - 9; /* POINTS = 2^9 masses below 2^exponent add up to less than 2^30 units */
  for (int i = threadIdx.x; i < count; i += THREADS) sums[i] = 0;
  /* The box is clear. */
  __syncthreads();
#pragma unroll
  for (int e = 0; e < EACH; e++) {
    float t1 = 0, t2 = 0, t3 = 0;
    int cell = -1; /* of the box: the first of the point's nodes */
    if (there[e])
      cell = ((splat_base<RB_SPLAT_LINEAR>(at[e][0], &t1) - low1) * box2 +
              splat_base<RB_SPLAT_LINEAR>(at[e][1], &t2) - low2) *
                 box3 +
             splat_base<RB_SPLAT_LINEAR>(at[e][2], &t3) - low3;
    /* lanes that all have one cell add among themselves first */
    const int first = __shfl_sync(~0u, cell, 0);
    const bool together = __all_sync(~0u, cell >= 0 && cell == first);
    const float scaled = there[e] ? ldexpf(mass[e], bits) : 0.0f;
    /* Bits of i, from the highest: the step along x1, x2, x3. */
#pragma unroll
    for (int i = 0; i < 8; i++) {
      const float w = (i & 4 ? t1 : 1.0f - t1) * (i & 2 ? t2 : 1.0f - t2) * (i & 1 ? t3 : 1.0f - t3);
      const int to = cell + ((i >> 2) * box2 + (i >> 1 & 1)) * box3 + (i & 1);
      int whole = __float2int_rn(w * scaled);
      /* Whole numbers: the order within the block does not matter, to the bit. */
      if (together) whole = lanes_sum(whole);
      if (together ? threadIdx.x % 32 == 0 : cell >= 0) atomicAdd(&sums[to], whole);
    }
  }
  /* All have added. */
  __syncthreads();
  /* A thread a node of the box. Only here does the boundary's rule decide where it lies on the grid. Blocks add to
   * shared nodes in float, in any order. */
  for (int i = threadIdx.x; i < count; i += THREADS) {
    const int whole = sums[i];
    if (!whole) continue;
    const int i3 = splat_node(low3 + i % box3, l.n3, boundary),
              i2 = splat_node(low2 + i / box3 % box2, l.n2, boundary),
              i1 = splat_node(low1 + i / box3 / box2, l.n1, boundary);
    if ((i1 | i2 | i3) >= 0) atomicAdd(out + ((int64_t)i1 * l.n2 + i2) * l.n3 + i3, ldexpf((float)whole, -bits));
  }
}

static rb_status run(rb_splat_plan *head, const void *x, const void *m, void *out) {
  rb_status st = RB_OK;
  const rb_splat_desc *d = &head->desc;
  const splat_layout l = splat_layout_of(d);
  RB_TRY(splat_begin(head, out, (size_t)l.nodes * sizeof(float)));
  RB_LAUNCH(add_boxes, dim3(rb_blocks(l.n3, SIDE), rb_blocks(l.n2, SIDE), rb_blocks(l.n1, SIDE)), THREADS, 0, l,
            (int)d->boundary, (const float *)x, (const float *)m, (float *)out, ((splat_plan *)head)->report);
done:
  return st;
}

extern "C" const rb_splat_ops rb_splat_tile = {supports, plan, run, splat_outcome, splat_destroy, 0, 0, NULL, NULL};
