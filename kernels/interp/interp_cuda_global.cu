/* SPDX-License-Identifier: BSD-3-Clause */
/* Ours: float32 weights, loads through L1, a block works on a brick of points. */
#include "kernels/interp/interp_brick.cuh"

/* A thread takes PER_THREAD points in batches: first all coordinates of a batch, then its values, then the stores. v:
 * one component of the field; x [3][np], out [np]. */
template <int BASIS, int BOUNDARY>
static __global__ void __launch_bounds__(THREADS)
    kernel(field_view v, int64_t np, const float *__restrict__ x, float *__restrict__ out, int is_grid, int bricks2,
           int bricks3) {
  enum { BATCH = 4 }; /* points whose coordinates are in flight together */
  const brick_walk w = brick_points(is_grid, np, v, bricks2, bricks3);
#pragma unroll
  for (int first = 0; first < PER_THREAD; first += BATCH) {
    float at[BATCH][3], value[BATCH]; /* slots without a point evaluate at 0 and store nothing */
#pragma unroll
    for (int q = 0; q < BATCH; q++)
#pragma unroll
      for (int a = 0; a < 3; a++) at[q][a] = first + q < w.count ? x[a * np + w.first + (first + q) * w.step] : 0.0f;
#pragma unroll
    for (int q = 0; q < BATCH; q++) value[q] = gather_global<BASIS, BOUNDARY>(v, at[q][0], at[q][1], at[q][2]);
#pragma unroll
    for (int q = 0; q < BATCH; q++)
      if (first + q < w.count) out[w.first + (first + q) * w.step] = value[q];
  }
}

static rb_status eval(rb_interp_plan *head, int64_t np, const void *x, void *out) {
  /* The blocks of a launch: bricks of nodes, or groups of BRICK points. */
  rb_status st = RB_OK;
  const rb_interp_desc *d = &head->desc;
  int is_grid = np == rb_grid_points(d->grid);
  int bricks1 = (int)rb_blocks(d->grid.n[0], BRICK1), bricks2 = (int)rb_blocks(d->grid.n[1], BRICK2);
  int bricks3 = (int)rb_blocks(d->grid.n[2], BRICK3);
  unsigned blocks = is_grid ? (unsigned)(bricks1 * bricks2 * bricks3) : rb_blocks(np, BRICK);
  /* A launch a component, all over the same points. */
  for (int c = 0; c < d->components; c++) {
    field_view v = {((brick_plan *)head)->field + c * rb_grid_points(d->grid), (int)d->grid.n[0], (int)d->grid.n[1],
                    (int)d->grid.n[2]};
#define LAUNCH(BASIS, BOUNDARY)                                                                                     \
  RB_LAUNCH((kernel<BASIS, BOUNDARY>), blocks, THREADS, 0, v, np, (const float *)x, (float *)out + c * np, is_grid, \
            bricks2, bricks3)
    RB_BRICK_DISPATCH(LAUNCH, d->basis, d->boundary);
#undef LAUNCH
  }
done:
  return st;
}

extern "C" const rb_interp_ops rb_interp_global = {
    brick_supports, brick_plan_create, brick_load, eval, brick_destroy, 0, 0, NULL};
