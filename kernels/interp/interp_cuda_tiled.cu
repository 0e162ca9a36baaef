/* Ours: as cuda/global, with the block's neighbourhood staged in shared memory.
 *
 * A block finds the bounding box of its points' cells, copies that box (periodic or clamped copy-in, so that
 * taps need no boundary logic) into a tile of fixed pitch, and reads its 8 or 64 values a point from there.
 * A box that does not fit (torn or very large deformations) makes the block use global loads instead. */
#include "kernels/interp/interp_brick.cuh"

#include <cuda_pipeline.h>

enum { T1 = 16, T2 = 16, T3 = 48, WARPS = THREADS / 32 };

struct box {
  int lo[3], hi[3];
};

/* Smallest and largest cell of the block's points, by shuffles, then over warps. */
static __device__ __forceinline__ box bounding_box(box b, int (*part)[6]) {
#pragma unroll
  for (int a = 0; a < 3; a++) {
    b.lo[a] = __reduce_min_sync(0xffffffffu, b.lo[a]);
    b.hi[a] = __reduce_max_sync(0xffffffffu, b.hi[a]);
  }
  if (threadIdx.x % 32 == 0)
#pragma unroll
    for (int a = 0; a < 3; a++) part[threadIdx.x / 32][a] = b.lo[a], part[threadIdx.x / 32][3 + a] = b.hi[a];
  __syncthreads();
#pragma unroll
  for (int a = 0; a < 3; a++)
#pragma unroll
    for (int w = 0; w < WARPS; w++) b.lo[a] = min(b.lo[a], part[w][a]), b.hi[a] = max(b.hi[a], part[w][3 + a]);
  return b;
}

/* Value of a node for the tile under the boundary rule; zero outside for RB_ZERO. */
template <int BOUNDARY>
static __device__ __forceinline__ int tile_index(int k, int n) {
  if (BOUNDARY == RB_PERIODIC) return rb_wrap_near(k, n);
  if (BOUNDARY == RB_ZERO) return (unsigned)k < (unsigned)n ? k : -1;
  return min(max(k, 0), n - 1);
}

template <int BOUNDARY>
static __device__ __forceinline__ void fill_tile(float *tile, field_view v, const int lo[3], int d1, int d2, int d3) {
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int at0 = tile_index<BOUNDARY>(lo[2] + lane, v.n3), at1 = tile_index<BOUNDARY>(lo[2] + lane + 32, v.n3);
  for (int i = 0; i < d1; i++) {
    int i1 = tile_index<BOUNDARY>(lo[0] + i, v.n1);
    for (int j = warp; j < d2; j += WARPS) {
      int i2 = tile_index<BOUNDARY>(lo[1] + j, v.n2);
      const float *row = v.f + ((int64_t)i1 * v.n2 + i2) * v.n3;
      float *to = tile + (i * T2 + j) * T3 + lane;
      int outside = BOUNDARY == RB_ZERO && (i1 | i2) < 0;
      if (lane < d3) {
        if (outside || (BOUNDARY == RB_ZERO && at0 < 0)) to[0] = 0.0f;
        else __pipeline_memcpy_async(to, row + at0, sizeof(float));
      }
      if (lane + 32 < d3) {
        if (outside || (BOUNDARY == RB_ZERO && at1 < 0)) to[32] = 0.0f;
        else __pipeline_memcpy_async(to + 32, row + at1, sizeof(float));
      }
    }
  }
  __pipeline_commit();
  __pipeline_wait_prior(0);
}

template <int BASIS>
static __device__ __forceinline__ float gather_tile(const float *tile, const int lo[3], float x1, float x2, float x3) {
  const int TAPS = BASIS == RB_LINEAR ? 2 : 4, SHIFT = BASIS == RB_LINEAR ? 0 : 1;
  float t1, t2, t3, w1[4], w2[4], w3[4], sum = 0;
  int b1 = cell_of(x1, &t1) - SHIFT - lo[0], b2 = cell_of(x2, &t2) - SHIFT - lo[1], b3 = cell_of(x3, &t3) - SHIFT - lo[2];
  basis_weights<BASIS>(t1, w1);
  basis_weights<BASIS>(t2, w2);
  basis_weights<BASIS>(t3, w3);
  const float *c = tile + (b1 * T2 + b2) * T3 + b3;
#pragma unroll
  for (int i = 0; i < TAPS; i++) {
    float slice = 0;
#pragma unroll
    for (int j = 0; j < TAPS; j++) {
      float row = 0;
#pragma unroll
      for (int k = 0; k < TAPS; k++) row += w3[k] * c[(i * T2 + j) * T3 + k];
      slice += w2[j] * row;
    }
    sum += w1[i] * slice;
  }
  return sum;
}

template <int BASIS, int BOUNDARY>
static __global__ void __launch_bounds__(THREADS, 4) kernel(field_view v, int64_t np, const float *__restrict__ x,
                                                           float *__restrict__ out, int is_grid, int bricks2, int bricks3) {
  extern __shared__ float tile[];
  __shared__ int part[WARPS][6];
  const int TAPS = BASIS == RB_LINEAR ? 2 : 4, SHIFT = BASIS == RB_LINEAR ? 0 : 1;
  float at[PER_THREAD][3], ignored;
  box b = {{1 << 30, 1 << 30, 1 << 30}, {-(1 << 30), -(1 << 30), -(1 << 30)}};
#pragma unroll
  for (int q = 0; q < PER_THREAD; q++) {
    int64_t p = brick_point(q, is_grid, np, v.n1, v.n2, v.n3, bricks2, bricks3);
    if (p < 0) continue;
#pragma unroll
    for (int a = 0; a < 3; a++) at[q][a] = x[a * np + p];
  }
#pragma unroll
  for (int q = 0; q < PER_THREAD; q++) {
    if (brick_point(q, is_grid, np, v.n1, v.n2, v.n3, bricks2, bricks3) < 0) continue;
#pragma unroll
    for (int a = 0; a < 3; a++) {
      int cell = cell_of(at[q][a], &ignored);
      b.lo[a] = min(b.lo[a], cell), b.hi[a] = max(b.hi[a], cell);
    }
  }
  b = bounding_box(b, part);
  int lo[3] = {b.lo[0] - SHIFT, b.lo[1] - SHIFT, b.lo[2] - SHIFT};
  int d1 = b.hi[0] - b.lo[0] + TAPS, d2 = b.hi[1] - b.lo[1] + TAPS, d3 = b.hi[2] - b.lo[2] + TAPS;
  /* Unsigned: an empty block (hi < lo) or an overflow of far points counts as too large. */
  int fits = (unsigned)d1 <= T1 && (unsigned)d2 <= T2 && (unsigned)d3 <= T3;
  if (fits) fill_tile<BOUNDARY>(tile, v, lo, d1, d2, d3);
  __syncthreads();
#pragma unroll
  for (int q = 0; q < PER_THREAD; q++) {
    int64_t p = brick_point(q, is_grid, np, v.n1, v.n2, v.n3, bricks2, bricks3);
    if (p < 0) continue;
    out[p] = fits ? gather_tile<BASIS>(tile, lo, at[q][0], at[q][1], at[q][2])
                  : gather_global<BASIS, BOUNDARY>(v, at[q][0], at[q][1], at[q][2]);
  }
}

static rb_status eval(rb_interp_plan *head, int64_t np, const void *x, void *out) {
  rb_status st = RB_OK;
  const rb_interp_desc *d = &head->desc;
  int is_grid = np == rb_grid_points(d->grid);
  int bricks1 = (int)rb_blocks(d->grid.n[0], BRICK1), bricks2 = (int)rb_blocks(d->grid.n[1], BRICK2);
  int bricks3 = (int)rb_blocks(d->grid.n[2], BRICK3);
  unsigned blocks = is_grid ? (unsigned)(bricks1 * bricks2 * bricks3) : rb_blocks(np, BRICK);
  const int shared = T1 * T2 * T3 * (int)sizeof(float);
  for (int c = 0; c < d->components; c++) {
    field_view v = {((brick_plan *)head)->field + c * rb_grid_points(d->grid), (int)d->grid.n[0], (int)d->grid.n[1], (int)d->grid.n[2]};
#define LAUNCH(BASIS, BOUNDARY)                                                                                           \
  do {                                                                                                                    \
    RB_CUDA_TRY(cudaFuncSetAttribute(kernel<BASIS, BOUNDARY>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));      \
    RB_LAUNCH((kernel<BASIS, BOUNDARY>), blocks, THREADS, shared, v, np, (const float *)x, (float *)out + c * np, is_grid, \
              bricks2, bricks3);                                                                                          \
  } while (0)
    RB_BRICK_DISPATCH(LAUNCH, d->basis, d->boundary);
#undef LAUNCH
  }
done:
  return st;
}

extern "C" const rb_interp_ops rb_interp_tiled = {brick_supports, brick_plan_create, brick_load, eval, brick_destroy, 0};
