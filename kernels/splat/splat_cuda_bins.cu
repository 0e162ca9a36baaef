/* SPDX-License-Identifier: BSD-3-Clause */
/* Ours: points sorted by their cell of the grid, and each node gathers from the eight cells around it: nothing is
 * added concurrently, the same points in the same order give the same bits. A cell of many points is summed by
 * chunks of 1024 first, of each corner apart. */
#include "kernels/splat/splat_cuda.cuh"

extern "C" {
#include "kernels/cuda/sort.h"
}

enum { CHUNK = 4 * THREADS, CORNERS = 8 };

/* Cells along an axis of n nodes: n + 1, as a point may lie up to one node outside; cell b + 1 has its first node at
 * b. A point off the grid that adds nothing has the key of no cell, `cells`. */
typedef struct {
  splat_plan shared;
  int64_t cells;
  int bits;         /* of a key that count */
  unsigned *key[2]; /* [np]: as points come; sorted */
  float *number[2]; /* [np]: a point's number as bits, likewise */
  float4 *point;    /* [np], sorted: fractions along x1, x2, x3, and the mass */
  uint2 *span;      /* [cells]: first point and one behind the last; both 0 for an empty cell */
  float *corner;    /* [chunks][CORNERS]: sums of chunks that lie in one cell */
  void *sorting;
  size_t sorting_bytes;
} bins_plan;

static int64_t cells_of(const rb_splat_desc *d) {
  return (d->grid.n[0] + 1) * (d->grid.n[1] + 1) * (d->grid.n[2] + 1);
}
static int64_t chunks_of(int64_t np) { return (np + CHUNK - 1) / CHUNK; }

static rb_status supports(const rb_splat_desc *d) {
  rb_status st = splat_supports_linear(d, "cuda/bins");
  if (st == RB_OK && cells_of(d) >= (int64_t)1 << 31)
    st = RB_FAIL(RB_EUNSUPPORTED, "cuda/bins takes fewer than 2^31 cells: their numbers are sorted");
  return st;
}
/* Takes a plan that is made in part; the report is the shared plan's to release. */
static void destroy(rb_splat_plan *head) {
  bins_plan *p = (bins_plan *)head;
  for (int i = 0; i < 2; i++) rb_release(head->backend, p->key[i]), rb_release(head->backend, p->number[i]);
  rb_release(head->backend, p->point), rb_release(head->backend, p->span), rb_release(head->backend, p->corner);
  rb_release(head->backend, p->sorting);
  splat_destroy(head);
}
/* CUB's room is small beside it. */
static size_t workspace(const rb_splat_desc *d) {
  return (size_t)d->np * (2 * sizeof(unsigned) + 2 * sizeof(float) + sizeof(float4)) +
         (size_t)cells_of(d) * sizeof(uint2) + (size_t)chunks_of(d->np) * CORNERS * sizeof(float);
}
static rb_status plan(const rb_backend *backend, const rb_splat_desc *d, rb_splat_plan **out) {
  rb_status st = RB_OK;
  const size_t np = (size_t)d->np;
  bins_plan *p = (bins_plan *)calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  p->shared.head.backend = backend;
  p->cells = cells_of(d);
  while (((int64_t)1 << p->bits) <= p->cells) p->bits++;
  RB_TRY(rb_alloc(backend, sizeof(splat_report), (void **)&p->shared.report));
  for (int i = 0; i < 2; i++) {
    RB_TRY(rb_alloc(backend, np * sizeof(unsigned), (void **)&p->key[i]));
    RB_TRY(rb_alloc(backend, np * sizeof(float), (void **)&p->number[i]));
  }
  RB_TRY(rb_alloc(backend, np * sizeof(float4), (void **)&p->point));
  RB_TRY(rb_alloc(backend, (size_t)p->cells * sizeof(uint2), (void **)&p->span));
  RB_TRY(rb_alloc(backend, (size_t)chunks_of(d->np) * CORNERS * sizeof(float), (void **)&p->corner));
  RB_TRY(rb_sort_room(d->np, &p->sorting_bytes));
  RB_TRY(rb_alloc(backend, p->sorting_bytes, &p->sorting));
  *out = &p->shared.head;
  p = NULL;
done:
  if (p) destroy(&p->shared.head);
  return st;
}

/* ---- cells ---- */

/* First node of a coordinate's cell, -1 to n - 1, by the boundary's rule, and the fraction in it; false: the point
 * reaches no node. Clamped points lie on the border: the weight of the node outside becomes 0. */
static __device__ __forceinline__ bool cell_along(float x, int n, int boundary, int *base, float *t) {
  int b = splat_base<RB_SPLAT_LINEAR>(x, t);
  if (boundary == RB_PERIODIC) {
    b = rb_wrap_near(b, n);
  } else if (boundary == RB_CLAMP) {
    if (b < 0) b = -1, *t = 1.0f;
    if (b > n - 2) b = n - 1, *t = 0.0f;
  } else if (b < -1 || b > n - 1) {
    return false;
  }
  *base = b;
  return true;
}

/* One thread a point: its cell's number. */
static __global__ void __launch_bounds__(THREADS)
    find_cells(splat_layout l, int boundary, int components, unsigned none, const float *__restrict__ x,
               const float *__restrict__ m, unsigned *key, float *number, splat_report *report) {
  const int64_t p = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (p >= l.np) return;
  int b1, b2, b3;
  float t;
  const bool finite = splat_finite(l, components, x, m, p);
  if (!finite) atomicAdd(&report->lost, 1ull);
  const bool there = finite && cell_along(x[p], l.n1, boundary, &b1, &t) &&
                     cell_along(x[l.np + p], l.n2, boundary, &b2, &t) &&
                     cell_along(x[2 * l.np + p], l.n3, boundary, &b3, &t);
  key[p] = there ? (unsigned)(((int64_t)(b1 + 1) * (l.n2 + 1) + b2 + 1) * (l.n3 + 1) + b3 + 1) : none;
  number[p] = __uint_as_float((unsigned)p);
}
/* One thread a sorted point: where it differs from its neighbour a cell ends and another begins. `span` is cleared
 * before. */
static __global__ void __launch_bounds__(THREADS)
    find_spans(int64_t np, unsigned none, const unsigned *__restrict__ key, uint2 *span) {
  const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (i >= np || key[i] == none) return;
  if (i == 0 || key[i - 1] != key[i]) span[key[i]].x = (unsigned)i;
  if (i == np - 1 || key[i + 1] != key[i]) span[key[i]].y = (unsigned)(i + 1);
}
/* One thread a sorted point: fractions and a component's mass, so that nodes read neighbours from memory. */
static __global__ void __launch_bounds__(THREADS)
    arrange(splat_layout l, int boundary, unsigned none, const unsigned *__restrict__ key,
            const float *__restrict__ number, const float *__restrict__ x, const float *__restrict__ m,
            float4 *__restrict__ point) {
  const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (i >= l.np || key[i] == none) return;
  const int64_t p = __float_as_uint(number[i]);
  int base;
  float4 v;
  cell_along(x[p], l.n1, boundary, &base, &v.x);
  cell_along(x[l.np + p], l.n2, boundary, &base, &v.y);
  cell_along(x[2 * l.np + p], l.n3, boundary, &base, &v.z);
  v.w = m[p];
  point[i] = v;
}

/* ---- sums ---- */

/* What a point gives to a corner of its cell: bits of `corner`, from the highest, are the step along x1, x2, x3. */
static __device__ __forceinline__ float given(float4 p, int corner) {
  return (corner & 4 ? p.x : 1.0f - p.x) * (corner & 2 ? p.y : 1.0f - p.y) * (corner & 1 ? p.z : 1.0f - p.z) * p.w;
}

/* A block a chunk of sorted points, a thread four of them. Nothing is done for a chunk of several cells, or of none:
 * the condition is the block's. Barrier: the warps' sums are there. */
static __global__ void __launch_bounds__(THREADS)
    sum_chunks(int64_t np, unsigned none, const unsigned *__restrict__ key, const float4 *__restrict__ point,
               float *__restrict__ corner) {
  __shared__ float part[THREADS / 32][CORNERS];
  const int64_t first = (int64_t)blockIdx.x * CHUNK;
  if (first + CHUNK > np || key[first] != key[first + CHUNK - 1] || key[first] == none) return;
  float sum[CORNERS] = {};
#pragma unroll
  for (int i = 0; i < CHUNK; i += THREADS) {
    const float4 p = point[first + i + threadIdx.x];
#pragma unroll
    for (int c = 0; c < CORNERS; c++) sum[c] += given(p, c);
  }
#pragma unroll
  for (int c = 0; c < CORNERS; c++) {
    for (int o = 16; o > 0; o >>= 1) sum[c] += __shfl_xor_sync(~0u, sum[c], o);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32][c] = sum[c];
  }
  __syncthreads();
  if (threadIdx.x >= CORNERS) return;
  float all = 0;
  for (int w = 0; w < THREADS / 32; w++) all += part[w][threadIdx.x];
  corner[(int64_t)blockIdx.x * CORNERS + threadIdx.x] = all;
}

/* What the points [begin, end) of a cell give to a corner; whole chunks are summed already. In float64: a node may
 * get millions of masses. */
static __device__ __forceinline__ double cell_sum(unsigned begin, unsigned end, int c,
                                                  const float4 *__restrict__ point,
                                                  const float *__restrict__ corner) {
  double sum = 0;
  for (unsigned i = begin; i < end;) {
    if (i % CHUNK == 0 && end - i >= CHUNK)
      sum += (double)corner[(int64_t)(i / CHUNK) * CORNERS + c], i += CHUNK;
    else
      sum += (double)given(point[i], c), i++;
  }
  return sum;
}
/* One thread a node; along x3 neighbours read neighbouring cells. The node is corner c of the cell that lies c's
 * steps before it. */
static __global__ void __launch_bounds__(THREADS)
    gather(splat_layout l, int boundary, const uint2 *__restrict__ span, const float4 *__restrict__ point,
           const float *__restrict__ corner, float *__restrict__ out) {
  const int64_t node = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (node >= l.nodes) return;
  const int i3 = (int)(node % l.n3), i2 = (int)(node / l.n3 % l.n2), i1 = (int)(node / l.n3 / l.n2);
  double sum = 0;
#pragma unroll
  for (int c = 0; c < CORNERS; c++) {
    int b1 = i1 - (c >> 2), b2 = i2 - (c >> 1 & 1), b3 = i3 - (c & 1);
    /* Periodic cells begin at nodes of the grid only. */
    if (boundary == RB_PERIODIC)
      b1 = b1 < 0 ? l.n1 - 1 : b1, b2 = b2 < 0 ? l.n2 - 1 : b2, b3 = b3 < 0 ? l.n3 - 1 : b3;
    const uint2 s = span[((int64_t)(b1 + 1) * (l.n2 + 1) + b2 + 1) * (l.n3 + 1) + b3 + 1];
    sum += cell_sum(s.x, s.y, c, point, corner);
  }
  out[node] = (float)sum;
}

/* Cells once; a component's masses are arranged and gathered after the other's. */
static rb_status run(rb_splat_plan *head, const void *x, const void *m, void *out) {
  rb_status st = RB_OK;
  bins_plan *p = (bins_plan *)head;
  const rb_splat_desc *d = &head->desc;
  const splat_layout l = splat_layout_of(d);
  const unsigned none = (unsigned)p->cells, blocks = rb_blocks(l.np, THREADS);
  const int boundary = (int)d->boundary;
  RB_TRY(splat_begin(head, p->span, (size_t)p->cells * sizeof(uint2)));
  RB_LAUNCH(find_cells, blocks, THREADS, 0, l, boundary, d->components, none, (const float *)x, (const float *)m,
            p->key[0], p->number[0], p->shared.report);
  RB_TRY(
      rb_sort_pairs(p->sorting, p->sorting_bytes, l.np, p->bits, p->key[0], p->key[1], p->number[0], p->number[1]));
  RB_LAUNCH(find_spans, blocks, THREADS, 0, l.np, none, p->key[1], p->span);
  for (int c = 0; c < d->components; c++) {
    RB_LAUNCH(arrange, blocks, THREADS, 0, l, boundary, none, p->key[1], p->number[1], (const float *)x,
              (const float *)m + c * l.np, p->point);
    RB_LAUNCH(sum_chunks, (unsigned)chunks_of(l.np), THREADS, 0, l.np, none, p->key[1], p->point, p->corner);
    RB_LAUNCH(gather, rb_blocks(l.nodes, THREADS), THREADS, 0, l, boundary, p->span, p->point, p->corner,
              (float *)out + c * l.nodes);
  }
done:
  return st;
}

extern "C" const rb_splat_ops rb_splat_bins = {supports, plan, run, splat_outcome, destroy, 0, 0, workspace, NULL};
