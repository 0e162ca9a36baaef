/* SPDX-License-Identifier: BSD-3-Clause */
/* GPU-LAG with shared memory (brunn2020 3.1.1): all points lie in one cell, so a block loads that cell's
 * 4x4x4 values once and every thread reads them from shared memory. */
#include "kernels/interp/interp_weights.cuh"

#include <stdlib.h>

typedef struct {
  rb_interp_plan head;
  const float *f;
} shared_plan;

/* The promise that all points share one cell is the caller's, in the description. */
static rb_status supports(const rb_interp_desc *desc) {
  if (desc->basis != RB_LAGRANGE || desc->dtype != RB_F32 || desc->boundary != RB_PERIODIC)
    return RB_FAIL(RB_EUNSUPPORTED, "cuda/shared-lagrange is lagrange, float32, periodic only");
  if (!desc->localized)
    return RB_FAIL(RB_EUNSUPPORTED, "cuda/shared-lagrange needs localized points (one cell for all)");
  return RB_OK;
}
/* Nothing is allocated. */
static rb_status plan(const rb_backend *backend, const rb_interp_desc *desc, rb_interp_plan **out) {
  (void)backend, (void)desc;
  shared_plan *p = (shared_plan *)calloc(1, sizeof *p);
  if (!p) return RB_FAIL(RB_ENOMEM, "host memory");
  *out = &p->head;
  return RB_OK;
}
static rb_status load(rb_interp_plan *head, const void *f) {
  ((shared_plan *)head)->f = (const float *)f;
  return RB_OK;
}
static void destroy(rb_interp_plan *head) { free(head); }

/* A thread a point; every block loads the cell anew. */
static __global__ void __launch_bounds__(256) kernel(const float *__restrict__ f, int n1, int n2, int n3, int64_t np,
                                                     const float *__restrict__ x, float *__restrict__ out) {
  __shared__ float cell[64];
  float ignored;
  /* Thread 16 i + 4 j + k loads node (i, j, k) of the cell, whose first node is one before the point's. */
  if (threadIdx.x < 64) { /* the cell of point 0 is the cell of all */
    int i = rb_wrap_near(cell_of(x[0], &ignored) - 1 + (int)threadIdx.x / 16, n1);
    int j = rb_wrap_near(cell_of(x[np], &ignored) - 1 + (int)threadIdx.x / 4 % 4, n2);
    int k = rb_wrap_near(cell_of(x[2 * np], &ignored) - 1 + (int)threadIdx.x % 4, n3);
    cell[threadIdx.x] = f[((int64_t)i * n2 + j) * n3 + k];
  }
  /* The cell is whole: it was loaded by the first two warps, and all read it. */
  __syncthreads();
  int64_t p = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (p >= np) return;
  /* Only the fraction of a point matters, as its cell is known. */
  float t1, t2, t3, w1[4], w2[4], w3[4], sum = 0;
  /* The whole numbers that cell_of returns are not needed. */
  cell_of(x[p], &t1), cell_of(x[np + p], &t2), cell_of(x[2 * np + p], &t3);
  basis_weights<RB_LAGRANGE>(t1, w1);
  basis_weights<RB_LAGRANGE>(t2, w2);
  basis_weights<RB_LAGRANGE>(t3, w3);
#pragma unroll
  for (int i = 0; i < 4; i++)
  /* Four values along x3, then the weights of the two other axes; lanes read the same words: no bank conflict. */
#pragma unroll
    for (int j = 0; j < 4; j++) {
      const float *row = cell + 16 * i + 4 * j;
      sum += w1[i] * w2[j] * (w3[0] * row[0] + w3[1] * row[1] + w3[2] * row[2] + w3[3] * row[3]);
    }
  out[p] = sum;
}

static rb_status eval(rb_interp_plan *head, int64_t np, const void *x, void *out) {
  rb_status st = RB_OK;
  const rb_interp_desc *d = &head->desc;
  /* A launch a component, all over the same points. */
  for (int c = 0; c < d->components; c++)
    RB_LAUNCH(kernel, rb_blocks(np, 256), 256, 0, ((shared_plan *)head)->f + c * rb_grid_points(d->grid),
              (int)d->grid.n[0], (int)d->grid.n[1], (int)d->grid.n[2], np, (const float *)x, (float *)out + c * np);
done:
  return st;
}

extern "C" const rb_interp_ops rb_interp_lagshared = {supports, plan, load, eval, destroy, 0, 0, NULL};
