/* SPDX-License-Identifier: BSD-3-Clause */
/* cuda/grid of l2force: a thread a node; what neighbours share comes from the L1 cache. */
#include "kernels/cuda/block_sum.cuh"
#include "kernels/l2force/l2force.h"

#include <stdlib.h>

enum { WIDE = 32, HIGH = 8 };

/* partial: one sum a block of the energy's first pass. */
typedef struct {
  rb_l2force_plan head;
  double *partial; /* [RB_SUM_BLOCKS] */
} grid_plan;

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
  (void)d;
  grid_plan *p = (grid_plan *)calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  p->head.backend = backend;
  RB_TRY(rb_alloc(backend, RB_SUM_BLOCKS * sizeof(double), (void **)&p->partial));
  *out = &p->head;
  return RB_OK;
done:
  if (p) destroy(&p->head);
  return st;
}

/* over: half the inverse spacing. A block covers 32 x 8 nodes of one plane. MANY: of [channels] images, added in
 * registers; else of one. */
template <bool MANY>
static __global__ void __launch_bounds__(WIDE *HIGH)
    force_kernel(int n1, int n2, int n3, float3 over, const float *__restrict__ mean, const float *__restrict__ image,
                 float *__restrict__ f, int channels) {
  /* at: the node along x1, x2, x3. Threads of a warp run along x3. */
  const int at[3] = {(int)blockIdx.z, (int)(blockIdx.y * HIGH + threadIdx.y), (int)(blockIdx.x * WIDE + threadIdx.x)};
  if (at[1] >= n2 || at[2] >= n3) return;
  /* Offsets within a component are 32 bits: fewer than 2^31 voxels. */
  const int extent[3] = {n1, n2, n3}, stride[3] = {n2 * n3, n3, 1}, i = (at[0] * n2 + at[1]) * n3 + at[2];
  const float half[3] = {over.x, over.y, over.z};
  const int64_t n = (int64_t)n1 * n2 * n3;
  float sum[3] = {};
  for (int k = 0; k < (MANY ? channels : 1); k++) {
    const float *const of_mean = mean + k * n, *const of_image = image + k * n;
    /* The mean is used once (streaming load); the image's values are other threads' neighbours, too. */
    const float d = __ldcs(of_mean + i) - __ldg(of_image + i);
#pragma unroll
    for (int a = 0; a < 3; a++) {
      /* One-sided at the border: the step is half as long, so the factor doubles; 0 along an axis of one node. */
      const int low = at[a] > 0 ? -stride[a] : 0, high = at[a] + 1 < extent[a] ? stride[a] : 0;
      const float scale = high - low == 2 * stride[a] ? half[a] : 2.0f * half[a];
      const float force = d * (scale * (__ldg(of_image + i + high) - __ldg(of_image + i + low)));
      sum[a] = MANY && k > 0 ? sum[a] + force : force;
    }
  }
  /* Each component is stored once, by a streaming store. */
#pragma unroll
  for (int a = 0; a < 3; a++) __stcs(f + a * n + i, sum[a]);
}
template <bool MANY>
static rb_status launch(rb_l2force_plan *p, int channels, const void *mean, const void *image, void *f) {
  rb_status st = RB_OK;
  /* A block for WIDE x HIGH nodes of every plane. */
  const rb_grid g = p->desc.grid;
  const double *s = p->desc.spacing;
  /* 1 / (2 s_a), rounded once. */
  const float3 over = make_float3((float)(0.5 / s[0]), (float)(0.5 / s[1]), (float)(0.5 / s[2]));
  RB_LAUNCH(force_kernel<MANY>, dim3(rb_blocks(g.n[2], WIDE), rb_blocks(g.n[1], HIGH), (unsigned)g.n[0]),
            dim3(WIDE, HIGH), 0, (int)g.n[0], (int)g.n[1], (int)g.n[2], over, (const float *)mean,
            (const float *)image, (float *)f, channels);
done:
  return st;
}
static rb_status force(rb_l2force_plan *p, const void *mean, const void *image, void *f) {
  return launch<false>(p, 1, mean, image, f);
}
static rb_status sum(rb_l2force_plan *p, int channels, const void *mean, const void *image, void *f) {
  return launch<true>(p, channels, mean, image, f);
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
