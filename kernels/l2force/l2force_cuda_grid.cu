/* SPDX-License-Identifier: BSD-3-Clause */
/* cuda/grid of l2force: a thread a node; what neighbours share comes from the L1 cache. */
#include "kernels/cuda/block_sum.cuh"
#include "kernels/l2force/l2force.h"

#include <stdlib.h>

/* FEW: partial sums that one block adds in some microseconds. */
enum { WIDE = 32, HIGH = 8, FEW = 8192 };

/* partial: a sum a block, of the energy's first pass or of sum_kernel. */
typedef struct {
  rb_l2force_plan head;
  double *partial; /* as many as either has blocks */
} grid_plan;

/* Of sum_kernel: a block takes the tile of two planes, or of as many more as leave few partial sums to add. By the
 * grid alone. */
static dim3 sum_blocks(rb_grid g) {
  const unsigned x = rb_blocks(g.n[2], WIDE), y = rb_blocks(g.n[1], HIGH), planes = (unsigned)g.n[0],
                 most = FEW / (x * y) > 0 ? FEW / (x * y) : 1, pairs = (planes + 1) / 2;
  return dim3(x, y, pairs < most ? pairs : most);
}

static rb_status supports(const rb_l2force_desc *d) {
  /* Offsets within a component are 32-bit; planes are blocks along z. */
  if (d->dtype != RB_F32) return RB_FAIL(RB_EUNSUPPORTED, "the CUDA variants are float32 only");
  if (rb_grid_points(d->grid) >= (int64_t)1 << 31 || d->grid.n[0] > RB_MOST_BLOCKS_YZ ||
      d->grid.n[1] > RB_MOST_BLOCKS_YZ * HIGH)
    return RB_FAIL(RB_EUNSUPPORTED, "cuda/grid ends at 2^31 voxels, 65535 planes");
  return RB_OK;
}
static void destroy(rb_l2force_plan *head) {
  rb_release(head->backend, ((grid_plan *)head)->partial);
  free(head);
}
static rb_status plan(const rb_backend *backend, const rb_l2force_desc *d, rb_l2force_plan **out) {
  /* Allocates the partial sums; images are the caller's. */
  rb_status st = RB_OK;
  const dim3 blocks = sum_blocks(d->grid);
  const size_t many = (size_t)blocks.x * blocks.y * blocks.z, least = RB_SUM_BLOCKS,
               partials = many > least ? many : least;
  grid_plan *p = (grid_plan *)calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  p->head.backend = backend;
  RB_TRY(rb_alloc(backend, partials * sizeof(double), (void **)&p->partial));
  *out = &p->head;
  return RB_OK;
done:
  if (p) destroy(&p->head);
  return st;
}

/* A place of the grid. stride: what lies between neighbours along each axis; offsets within a component are 32 bits:
 * fewer than 2^31 voxels. */
typedef struct {
  int at[3], extent[3], stride[3], index;
} place;
static __device__ __forceinline__ place place_of(int n1, int n2, int n3, int i1, int i2, int i3) {
  const place p = {{i1, i2, i3}, {n1, n2, n3}, {n2 * n3, n3, 1}, (i1 * n2 + i2) * n3 + i3};
  return p;
}
/* The force of one channel, added to what `sum` holds unless it is the first; returns mean - image. over: half the
 * inverse spacing. */
static __device__ __forceinline__ float add_force(const place &p, float3 over, bool first,
                                                  const float *__restrict__ mean, const float *__restrict__ image,
                                                  float sum[3]) {
  const float half[3] = {over.x, over.y, over.z};
  /* The mean is used once (streaming load); the image's values are other threads' neighbours, too. */
  const float d = __ldcs(mean + p.index) - __ldg(image + p.index);
#pragma unroll
  for (int a = 0; a < 3; a++) {
    /* One-sided at the border: the step is half as long, so the factor doubles; 0 along an axis of one node. */
    const int low = p.at[a] > 0 ? -p.stride[a] : 0, high = p.at[a] + 1 < p.extent[a] ? p.stride[a] : 0;
    const float scale = high - low == 2 * p.stride[a] ? half[a] : 2.0f * half[a];
    const float force = d * (scale * (__ldg(image + p.index + high) - __ldg(image + p.index + low)));
    sum[a] = first ? force : sum[a] + force;
  }
  return d;
}

/* A block covers 32 x 8 nodes of one plane; threads of a warp run along x3. */
static __global__ void __launch_bounds__(WIDE *HIGH)
    force_kernel(int n1, int n2, int n3, float3 over, const float *__restrict__ mean, const float *__restrict__ image,
                 float *__restrict__ f) {
  const int i2 = (int)(blockIdx.y * HIGH + threadIdx.y), i3 = (int)(blockIdx.x * WIDE + threadIdx.x);
  if (i2 >= n2 || i3 >= n3) return;
  const place p = place_of(n1, n2, n3, (int)blockIdx.z, i2, i3);
  const int64_t n = (int64_t)n1 * n2 * n3;
  float sum[3];
  add_force(p, over, true, mean, image, sum);
  /* Each component is stored once, by a streaming store. */
#pragma unroll
  for (int a = 0; a < 3; a++) __stcs(f + a * n + p.index, sum[a]);
}
/* Of [channels] images, added in registers; a block takes every gridDim.z-th plane. Where partial is given, the block
 * leaves the sum of its squared differences there: threads outside the grid take part with 0. */
static __global__ void __launch_bounds__(WIDE *HIGH)
    sum_kernel(int n1, int n2, int n3, float3 over, float weight, const float *__restrict__ mean,
               const float *__restrict__ image, float *__restrict__ f, int channels, double *partial) {
  const int i2 = (int)(blockIdx.y * HIGH + threadIdx.x / WIDE), i3 = (int)(blockIdx.x * WIDE + threadIdx.x % WIDE);
  const int64_t n = (int64_t)n1 * n2 * n3;
  double squares = 0;
  for (int i1 = (int)blockIdx.z; i1 < n1 && i2 < n2 && i3 < n3; i1 += (int)gridDim.z) {
    const place p = place_of(n1, n2, n3, i1, i2, i3);
    float sum[3];
    for (int k = 0; k < channels; k++) {
      const double d = (double)add_force(p, over, k == 0, mean + k * n, image + k * n, sum);
      squares = fma(d, d, squares);
    }
#pragma unroll
    for (int a = 0; a < 3; a++) __stcs(f + a * n + p.index, weight * sum[a]);
  }
  if (!partial) return; /* all threads alike */
  static_assert(WIDE * HIGH == RB_SUM_THREADS, "rb_block_sum adds over that many threads");
  squares = rb_block_sum(squares);
  if (threadIdx.x == 0) partial[(blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x] = squares;
}

/* 1 / (2 s_a), rounded once. */
static float3 over_of(const rb_l2force_desc *d) {
  const double *s = d->spacing;
  return make_float3((float)(0.5 / s[0]), (float)(0.5 / s[1]), (float)(0.5 / s[2]));
}
static rb_status force(rb_l2force_plan *p, const void *mean, const void *image, void *f) {
  rb_status st = RB_OK;
  const rb_grid g = p->desc.grid;
  RB_LAUNCH(force_kernel, dim3(rb_blocks(g.n[2], WIDE), rb_blocks(g.n[1], HIGH), (unsigned)g.n[0]), dim3(WIDE, HIGH),
            0, (int)g.n[0], (int)g.n[1], (int)g.n[2], over_of(&p->desc), (const float *)mean, (const float *)image,
            (float *)f);
done:
  return st;
}
static rb_status sum(rb_l2force_plan *head, int channels, double weight, const void *mean, const void *image, void *f,
                     double *kept) {
  rb_status st = RB_OK;
  const grid_plan *p = (const grid_plan *)head;
  const rb_grid g = head->desc.grid;
  const dim3 blocks = sum_blocks(g);
  RB_LAUNCH(sum_kernel, blocks, WIDE * HIGH, 0, (int)g.n[0], (int)g.n[1], (int)g.n[2], over_of(&head->desc),
            (float)weight, (const float *)mean, (const float *)image, (float *)f, channels, kept ? p->partial : NULL);
  if (kept) RB_LAUNCH(rb_sum_partials, 1, RB_SUM_THREADS, 0, (int)(blocks.x * blocks.y * blocks.z), p->partial, kept);
done:
  return st;
}

/* Blocks walk over the image in strides of the grid; one partial sum each. The difference is rounded to float32, its
 * square and the sum are float64. */
static __global__ void __launch_bounds__(RB_SUM_THREADS)
    energy_kernel(int64_t n, const float *__restrict__ mean, const float *__restrict__ image, double *partial) {
  double sum = 0;
  for (int64_t i = (int64_t)blockIdx.x * RB_SUM_THREADS + threadIdx.x; i < n;
       i += (int64_t)gridDim.x * RB_SUM_THREADS) {
    const double d = (double)(mean[i] - image[i]);
    sum = fma(d, d, sum);
  }
  sum = rb_block_sum(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}
/* Two launches; the result stays on the device. */
static rb_status energy(rb_l2force_plan *head, const void *mean, const void *image, double *kept) {
  rb_status st = RB_OK;
  const grid_plan *p = (grid_plan *)head;
  const int64_t n = rb_grid_points(head->desc.grid);
  const unsigned blocks = rb_sum_blocks(n);
  RB_LAUNCH(energy_kernel, blocks, RB_SUM_THREADS, 0, n, (const float *)mean, (const float *)image, p->partial);
  /* The partial sums are added by one block into `kept`. */
  RB_LAUNCH(rb_sum_partials, 1, RB_SUM_THREADS, 0, (int)blocks, p->partial, kept);
done:
  return st;
}

extern "C" const rb_l2force_ops rb_l2force_grid = {supports, plan, force, sum, energy, destroy};
