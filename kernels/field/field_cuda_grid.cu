/* SPDX-License-Identifier: BSD-3-Clause */
/* cuda/grid of field: a thread handles four values by 16-byte accesses (one by one where arrays are not aligned).
 * Reductions leave one partial sum a block, which one more block adds in a fixed order: results repeat bit by bit. */
#include "kernels/cuda/cuda.cuh"
#include "kernels/field/field.h"

#include <math.h>
#include <stdlib.h>

/* PARTIALS: the most blocks of a reduction, each of which leaves one value a kind. SUMS: kinds, in the order sum,
 * least, greatest. */
enum { THREADS = 256, PARTIALS = 1024, SUMS = 3 };

/* One plan serves arrays of any length up to the description's. */
typedef struct {
  rb_field_plan head;
  double *partial; /* [SUMS][PARTIALS], then SUMS results */
  double *host;    /* pinned, SUMS */
} grid_plan;

/* Float32 only; sizes have no limit but memory. */
static rb_status supports(const rb_field_desc *d) {
  return d->dtype == RB_F32 ? RB_OK : RB_FAIL(RB_EUNSUPPORTED, "the CUDA variants are float32 only");
}
static void destroy(rb_field_plan *head) {
  grid_plan *p = (grid_plan *)head;
  rb_release(head->backend, p->partial);
  if (p->host) cudaFreeHost(p->host);
  free(p);
}
static rb_status plan(const rb_backend *backend, const rb_field_desc *d, rb_field_plan **out) {
  rb_status st = RB_OK;
  (void)d;
  grid_plan *p = (grid_plan *)calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  /* Allocates the blocks' partial values and the results on the device, and pinned memory for three results. */
  p->head.backend = backend;
  RB_TRY(rb_alloc(backend, (SUMS * PARTIALS + SUMS) * sizeof(double), (void **)&p->partial));
  RB_CUDA_TRY(cudaMallocHost((void **)&p->host, SUMS * sizeof(double)));
  *out = &p->head;
  return RB_OK;
done:
  if (p) destroy(&p->head);
  return st;
}

/* ---- pointwise ---------------------------------------------------------------------------------------- */

/* V floats that one access moves; aligned as the access needs it. */
template <int V>
struct __align__(sizeof(float) * V) pack {
  float v[V];
};

/* a x + b y + c z. A factor of 0 keeps its operand out, whatever it holds: 0 times NaN would be NaN. A factor is
 * tested in float32, as it is used. */
struct combine_op {
  float a, b, c;
  __device__ float operator()(float x, float y, float z) const {
    float r = a != 0.0f ? a * x : 0.0f; /* then b y and c z, by a multiply-add each; z from before this call */
    if (b != 0.0f) r = fmaf(b, y, r);
    return c != 0.0f ? fmaf(c, z, r) : r;
  }
};
/* Reads no operand. */
struct fill_op {
  float a;
  __device__ float operator()(float, float, float) const { return a; }
};
/* a x y + c z, likewise. */
struct multiply_op {
  float a, c;
  __device__ float operator()(float x, float y, float z) const {
    float r = a * x * y;
    return c != 0.0f ? fmaf(c, z, r) : r;
  }
};
/* (a x) / y, in this order; a division by 0 gives what IEEE has for it. */
struct divide_op {
  float a;
  __device__ float operator()(float x, float y, float) const { return a * x / y; }
};

/* z_i = op(x_i, y_i, z_i); an absent operand is NULL. x, y and z may be one array: a thread reads its own packs
 * before it writes, and no pointer is __restrict__. */
template <int V, class OP>
static __global__ void __launch_bounds__(THREADS)
    pointwise(OP op, int64_t packs, const float *x, const float *y, int read_z, float *z) {
  /* 64-bit numbers: arrays may exceed 2^31 values. */
  int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (i >= packs) return;
  pack<V> px = {}, py = {}, pz = {};
  if (x) px = reinterpret_cast<const pack<V> *>(x)[i];
  if (y) py = reinterpret_cast<const pack<V> *>(y)[i];
  if (read_z) pz = reinterpret_cast<const pack<V> *>(z)[i];
#pragma unroll
  for (int k = 0; k < V; k++) pz.v[k] = op(px.v[k], py.v[k], pz.v[k]);
  reinterpret_cast<pack<V> *>(z)[i] = pz;
}

/* By packs of four where the length and all three addresses allow it; else value by value. x | y | z: the lowest four
 * bits of all three addresses at once; NULL counts as aligned. */
template <class OP>
static rb_status apply(OP op, int64_t n, const void *x, const void *y, int read_z, void *z) {
  rb_status st = RB_OK;
  if (n == 0) return RB_OK;
  /* One launch, a thread a pack; the alternative with V = 1 is the same operation on single values. */
  int vector = n % 4 == 0 && ((uintptr_t)x | (uintptr_t)y | (uintptr_t)z) % 16 == 0;
  if (vector)
    RB_LAUNCH((pointwise<4, OP>), rb_blocks(n / 4, THREADS), THREADS, 0, op, n / 4, (const float *)x,
              (const float *)y, read_z, (float *)z);
  else
    RB_LAUNCH((pointwise<1, OP>), rb_blocks(n, THREADS), THREADS, 0, op, n, (const float *)x, (const float *)y,
              read_z, (float *)z);
done:
  return st;
}

/* The four pointwise operations: coefficients are rounded to float32 once, here. */
static rb_status fill(rb_field_plan *, int64_t n, double a, void *z) {
  fill_op op = {(float)a};
  return apply(op, n, NULL, NULL, 0, z);
}
static rb_status combine(rb_field_plan *, int64_t n, double a, const void *x, double b, const void *y, double c,
                         void *z) {
  combine_op op = {(float)a, (float)b, (float)c};
  /* An operand whose coefficient is 0 is not read at all. */
  return apply(op, n, a != 0 ? x : NULL, b != 0 ? y : NULL, c != 0, z);
}
static rb_status multiply(rb_field_plan *, int64_t n, double a, const void *x, const void *y, double c, void *z) {
  multiply_op op = {(float)a, (float)c};
  return apply(op, n, x, y, c != 0, z);
}
static rb_status divide(rb_field_plan *, int64_t n, double a, const void *x, const void *y, void *z) {
  divide_op op = {(float)a};
  return apply(op, n, x, y, 0, z);
}

/* x = node + a v + b w: a thread a node, all three components. Points [3][n] from nodes and fields [3][n]. The
 * factors are the same for all threads and come as arguments. */
static __global__ void __launch_bounds__(THREADS)
    displace_kernel(int n1, int n2, int n3, float3 a, const float *__restrict__ v, float3 b,
                    const float *__restrict__ w, float *__restrict__ x) {
  int64_t p = (int64_t)blockIdx.x * THREADS + threadIdx.x, n = (int64_t)n1 * n2 * n3;
  if (p >= n) return;
  /* The point's indices from its number: row = i1 n2 + i2. */
  int row = (int)(p / n3), node[3] = {row / n2, row % n2, (int)(p - (int64_t)row * n3)};
  float s[3] = {a.x, a.y, a.z}, t[3] = {b.x, b.y, b.z};
  /* Component c: the displacement is summed first, then rounded once more onto the node's coordinate. v and w are
   * read where they were given; both tests are uniform over the grid of threads. */
#pragma unroll
  for (int c = 0; c < 3; c++) {
    float d = v ? s[c] * v[c * n + p] : 0.0f;
    if (w) d = fmaf(t[c], w[c * n + p], d);
    x[c * n + p] = (float)node[c] + d;
  }
}
/* Points in grid units; a and b are in grid cells a unit of v and of w, one number an axis. */
static rb_status displace(rb_field_plan *, rb_grid g, const double a[3], const void *v, const double b[3],
                          const void *w, void *x) {
  rb_status st = RB_OK;
  /* Without v or w their factors are not looked at. */
  float3 s = v ? make_float3((float)a[0], (float)a[1], (float)a[2]) : make_float3(0, 0, 0);
  float3 t = w ? make_float3((float)b[0], (float)b[1], (float)b[2]) : make_float3(0, 0, 0);
  RB_LAUNCH(displace_kernel, rb_blocks(rb_grid_points(g), THREADS), THREADS, 0, (int)g.n[0], (int)g.n[1], (int)g.n[2],
            s, (const float *)v, t, (const float *)w, (float *)x);
done:
  return st;
}

/* ---- reductions --------------------------------------------------------------------------------------- */

/* Butterflies over the 32 lanes: every lane has the result, in one fixed order of additions. */
static __device__ double warp_sum(double v) {
  for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
  return v;
}
static __device__ double warp_least(double v) {
  for (int o = 16; o > 0; o >>= 1) v = fmin(v, __shfl_xor_sync(~0u, v, o));
  return v;
}

/* Values of the block's threads, reduced in thread 0. */
struct reduced {
  double sum, least, greatest;
};
/* A warp leaves its values in shared memory; after the barrier warp 0 reduces the eight warps' values. Called once a
 * kernel: a second call would need a barrier before it writes. */
static __device__ reduced reduce_block(double sum, double least, double greatest) {
  __shared__ double s[3][THREADS / 32];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  /* The greatest is minus the least of the negated values. */
  sum = warp_sum(sum), least = warp_least(least), greatest = -warp_least(-greatest);
  if (lane == 0) s[0][warp] = sum, s[1][warp] = least, s[2][warp] = greatest;
  /* All warps' values are in shared memory. */
  __syncthreads();
  if (warp == 0) {
    /* Lanes without a warp bring what changes nothing: 0 to the sum, infinity to the least. */
    const int in = lane < THREADS / 32;
    sum = warp_sum(in ? s[0][lane] : 0.0);
    least = warp_least(in ? s[1][lane] : INFINITY);
    greatest = -warp_least(in ? -s[2][lane] : INFINITY);
  }
  reduced j = {sum, least, greatest};
  return j;
}

/* A thread walks the array in strides of the whole grid; float32 products are exact in float64. `packs` of V values;
 * blocks leave one partial sum each. Order: each thread's products in the order of its stride, then lanes, then
 * warps, then blocks (`finish`). */
template <int V>
static __global__ void __launch_bounds__(THREADS)
    dot_partial(int64_t packs, const float *x, const float *y, double *partial) {
  double sum = 0;
  /* gridDim.x THREADS packs apart: a warp reads neighbouring packs in every round. */
  for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < packs; i += (int64_t)gridDim.x * THREADS) {
    pack<V> a = reinterpret_cast<const pack<V> *>(x)[i], b = reinterpret_cast<const pack<V> *>(y)[i];
#pragma unroll
    for (int k = 0; k < V; k++) sum = fma((double)a.v[k], (double)b.v[k], sum);
  }
  /* Least and greatest are not wanted; reduced all the same, they cost a few shuffles a block. */
  reduced j = reduce_block(sum, 0, 0);
  if (threadIdx.x == 0) partial[blockIdx.x] = j.sum;
}
/* fmin and fmax pass over a NaN; the sum keeps it, and the host then spreads it to all three. A thread a value, in
 * strides of the grid; the values are exact in float64. */
static __global__ void __launch_bounds__(THREADS) extremes_partial(int64_t n, const float *x, double *partial) {
  double sum = 0, least = INFINITY, greatest = -INFINITY;
  for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < n; i += (int64_t)gridDim.x * THREADS) {
    double v = (double)x[i];
    sum += v, least = fmin(least, v), greatest = fmax(greatest, v);
  }
  reduced j = reduce_block(sum, least, greatest);
  if (threadIdx.x == 0)
    partial[blockIdx.x] = j.sum, partial[PARTIALS + blockIdx.x] = j.least,
    partial[2 * PARTIALS + blockIdx.x] = j.greatest;
}
/* One block. Thread t takes partials t, t + THREADS, ...: an order that depends on `blocks` alone. all: extremes,
 * too. */
static __global__ void __launch_bounds__(THREADS) finish(int blocks, int all, const double *partial, double *out) {
  double sum = 0, least = INFINITY, greatest = -INFINITY;
  for (int i = threadIdx.x; i < blocks; i += THREADS) {
    sum += partial[i];
    if (all) least = fmin(least, partial[PARTIALS + i]), greatest = fmax(greatest, partial[2 * PARTIALS + i]);
  }
  reduced j = reduce_block(sum, least, greatest);
  if (threadIdx.x) return;
  out[0] = j.sum; /* thread 0 alone */
  if (all) out[1] = j.least, out[2] = j.greatest;
}

/* The results to pinned host memory, and a wait for the stream. Without `all` the first of them alone counts. */
static rb_status collect(grid_plan *p, int blocks, int all) {
  rb_status st = RB_OK;
  RB_LAUNCH(finish, 1, THREADS, 0, blocks, all, p->partial, p->partial + SUMS * PARTIALS);
  RB_CUDA_TRY(cudaMemcpyAsync(p->host, p->partial + SUMS * PARTIALS, SUMS * sizeof(double), cudaMemcpyDeviceToHost,
                              rb_cuda_stream()));
  RB_CUDA_TRY(cudaStreamSynchronize(rb_cuda_stream()));
done:
  return st;
}

/* As many blocks as there is work for, PARTIALS at most; one where there is none, so that a partial sum exists. */
static int partial_blocks(int64_t work) {
  return work > (int64_t)PARTIALS * THREADS ? PARTIALS : work > 0 ? (int)rb_blocks(work, THREADS) : 1;
}

/* Fills the blocks' partial sums; how many there are decides the second step. */
static rb_status dot_blocks(grid_plan *p, int64_t n, const void *x, const void *y, int *blocks) {
  rb_status st = RB_OK;
  int vector = n % 4 == 0 && ((uintptr_t)x | (uintptr_t)y) % 16 == 0;
  int64_t work = vector ? n / 4 : n;
  *blocks = partial_blocks(work);
  if (vector)
    RB_LAUNCH(dot_partial<4>, *blocks, THREADS, 0, work, (const float *)x, (const float *)y, p->partial);
  else
    RB_LAUNCH(dot_partial<1>, *blocks, THREADS, 0, work, (const float *)x, (const float *)y, p->partial);
done:
  return st;
}
/* Two launches, then a wait for one number. */
static rb_status dot(rb_field_plan *head, int64_t n, const void *x, const void *y, double *out) {
  rb_status st = RB_OK;
  grid_plan *p = (grid_plan *)head;
  int blocks;
  RB_TRY(dot_blocks(p, n, x, y, &blocks));
  RB_TRY(collect(p, blocks, 0));
  *out = p->host[0];
done:
  return st;
}
/* The sum stays on the device: nothing waits. */
static rb_status dot_kept(rb_field_plan *head, int64_t n, const void *x, const void *y, double *kept) {
  rb_status st = RB_OK;
  grid_plan *p = (grid_plan *)head;
  int blocks;
  RB_TRY(dot_blocks(p, n, x, y, &blocks));
  RB_LAUNCH(finish, 1, THREADS, 0, blocks, 0, p->partial, kept);
done:
  return st;
}

/* Two launches and a wait; all three values come in one copy. */
static rb_status extremes(rb_field_plan *head, int64_t n, const void *x, rb_extremes *out) {
  rb_status st = RB_OK;
  grid_plan *p = (grid_plan *)head;
  int blocks = partial_blocks(n);
  RB_LAUNCH(extremes_partial, blocks, THREADS, 0, n, (const float *)x, p->partial);
  RB_TRY(collect(p, blocks, 1));
  out->sum = p->host[0], out->least = p->host[1], out->greatest = p->host[2];
  if (out->sum != out->sum) out->least = out->greatest = out->sum;
done:
  return st;
}

extern "C" const rb_field_ops rb_field_grid = {supports, plan, fill,     combine,  multiply, divide,
                                               displace, dot,  dot_kept, extremes, destroy};
