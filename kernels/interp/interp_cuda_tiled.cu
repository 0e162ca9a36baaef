/* SPDX-License-Identifier: BSD-3-Clause */
/* Ours: as cuda/global, with the block's neighbourhood staged in shared memory.
 *
 * A block finds the bounding box of its points' cells, copies that box (periodic or clamped copy-in, so that
 * taps need no boundary logic) into a tile, and reads its 8 or 64 values a point from there.
 * A box that does not fit (torn or very large deformations) makes the block use global loads instead. */
#include "kernels/interp/interp_brick.cuh"

#include <cuda_pipeline.h>

/* Rows of 64 floats: a multiple of the 32 banks, so that lanes on different rows, a smooth deformation's usual
 * case, do not meet in a bank. Cubic boxes are larger than linear ones by two rows an axis. */
enum { PITCH = 64, CUBIC_ROWS = 200, LINEAR_ROWS = 144, WARPS = THREADS / 32 };
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
enum { LINEAR_BLOCKS = 4 }; /* 1024 threads a multiprocessor */
#else
enum { LINEAR_BLOCKS = 5 };
#endif
/* ROWS: rows of PITCH floats that the tile holds; BLOCKS: those wanted on a multiprocessor. */
template <int BASIS>
struct shape {
  enum { ROWS = BASIS == RB_LINEAR ? LINEAR_ROWS : CUBIC_ROWS, BLOCKS = BASIS == RB_LINEAR ? LINEAR_BLOCKS : 4 };
};

/* Least and greatest cell along each axis. */
struct box {
  int lo[3], hi[3];
};

/* Over a warp; one instruction from sm_80 on. */
static __device__ __forceinline__ int warp_min(int v) {
#if __CUDA_ARCH__ >= 800
  return __reduce_min_sync(0xffffffffu, v);
#else
  for (int step = 16; step > 0; step /= 2) v = min(v, __shfl_xor_sync(0xffffffffu, v, step));
  return v;
#endif
}
static __device__ __forceinline__ int warp_max(int v) {
#if __CUDA_ARCH__ >= 800
  return __reduce_max_sync(0xffffffffu, v);
#else
  for (int step = 16; step > 0; step /= 2) v = max(v, __shfl_xor_sync(0xffffffffu, v, step));
  return v;
#endif
}

/* Smallest and largest cell of the block's points, over lanes, then over warps. part [WARPS][6]: least and greatest
 * of each warp. After the barrier every thread combines all warps' entries. */
static __device__ __forceinline__ box bounding_box(box b, int (*part)[6]) {
#pragma unroll
  for (int a = 0; a < 3; a++) {
    b.lo[a] = warp_min(b.lo[a]);
    b.hi[a] = warp_max(b.hi[a]);
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

/* Value of a node for the tile under the boundary rule; zero outside for RB_ZERO. Periodic and clamped indices are
 * always valid. */
template <int BOUNDARY>
static __device__ __forceinline__ int tile_index(int k, int n) {
  if (BOUNDARY == RB_PERIODIC) return rb_wrap_near(k, n);
  if (BOUNDARY == RB_ZERO) return (unsigned)k < (unsigned)n ? k : -1;
  return min(max(k, 0), n - 1);
}

/* Offset of every row of the box in the field; -1 for a row that the zero boundary makes empty. Rows are counted
 * along x1 first: row r is (r / d2, r % d2) of the box. */
template <int BOUNDARY>
static __device__ __forceinline__ void find_rows(int *row_at, field_view v, const int lo[3], int rows, int d2) {
  for (int r = threadIdx.x; r < rows; r += THREADS) {
    int i1 = tile_index<BOUNDARY>(lo[0] + r / d2, v.n1), i2 = tile_index<BOUNDARY>(lo[1] + r % d2, v.n2);
    row_at[r] = BOUNDARY == RB_ZERO && (i1 | i2) < 0 ? -1 : (i1 * v.n2 + i2) * v.n3;
  }
}

/* Copy the box in packs of V floats (4 when rows and the box's start are 16-byte aligned). width: a multiple of V.
 * row_at: see find_rows; lo3: the box's first node along x3, from which columns count. */
template <int BOUNDARY, int V>
static __device__ __forceinline__ void fill_tile(float *tile, const int *row_at, field_view v, int lo3, int rows,
                                                 int width) {
  const unsigned packs = width / V, reciprocal = ((1u << 20) + packs - 1) / packs, total = rows * packs;
  for (unsigned e = threadIdx.x; e < total; e += THREADS) {
    /* Multiplication and shift for a division by a number that is the same for all. */
    unsigned r = (e * reciprocal) >> 20, c = (e - r * packs) * V; /* r = e / packs, exact for e < 2^16, packs <= 64 */
    int i3 = tile_index<BOUNDARY>(lo3 + (int)c, v.n3), from = row_at[r];
    if (BOUNDARY == RB_ZERO && (from < 0 || i3 < 0))
      tile[r * PITCH + c] = 0.0f;
    else
      __pipeline_memcpy_async(tile + r * PITCH + c, v.f + from + i3, V * sizeof(float));
  }
  __pipeline_commit();
  /* This thread's copies arrive here; the caller's barrier waits for the other threads'. */
  __pipeline_wait_prior(0);
}

/* Value at a point from the tile, whose node (i, j, k) lies at (i d2 + j) PITCH + k. Along x3 first, then x2, then
 * x1. No boundary is looked at: the tile holds what the rule gives. */
template <int BASIS>
static __device__ __forceinline__ float gather_tile(const float *tile, const int lo[3], int d2, float x1, float x2,
                                                    float x3) {
  const int TAPS = BASIS == RB_LINEAR ? 2 : 4, SHIFT = BASIS == RB_LINEAR ? 0 : 1;
  float t1, t2, t3, w1[4], w2[4], w3[4], sum = 0;
  int b1 = cell_of(x1, &t1) - SHIFT - lo[0], b2 = cell_of(x2, &t2) - SHIFT - lo[1],
      b3 = cell_of(x3, &t3) - SHIFT - lo[2];
  basis_weights<BASIS>(t1, w1);
  basis_weights<BASIS>(t2, w2);
  basis_weights<BASIS>(t3, w3);
  const float *c = tile + (b1 * d2 + b2) * PITCH + b3;
#pragma unroll
  for (int i = 0; i < TAPS; i++) {
    const float *line = c + i * d2 * PITCH;
    float slice = 0;
#pragma unroll
    for (int j = 0; j < TAPS; j++) {
      float row = 0;
#pragma unroll
      for (int k = 0; k < TAPS; k++) row += w3[k] * line[j * PITCH + k];
      slice += w2[j] * row;
    }
    sum += w1[i] * slice;
  }
  return sum;
}

/* v: one component. out [np]. The barriers: bounding box; row_at; tile. */
template <int BASIS, int BOUNDARY>
static __global__ void __launch_bounds__(THREADS, shape<BASIS>::BLOCKS)
    kernel(field_view v, int64_t np, const float *__restrict__ x, float *__restrict__ out, int is_grid, int bricks2,
           int bricks3) {
  RB_DYNAMIC_SHARED(float, tile, 16);
  const int TAPS = BASIS == RB_LINEAR ? 2 : 4, SHIFT = BASIS == RB_LINEAR ? 0 : 1, ROWS = shape<BASIS>::ROWS;
  /* part: see bounding_box. row_at: place in the field of every row of the box. */
  __shared__ int part[WARPS][6], row_at[ROWS];
  const brick_walk w = brick_points(is_grid, np, v, bricks2, bricks3);
  float at[PER_THREAD][3];
  int wild = 0;
  box b = {{1 << 30, 1 << 30, 1 << 30}, {-(1 << 30), -(1 << 30), -(1 << 30)}};
  /* Coordinates are read once, by streaming loads, and stay in registers. */
#pragma unroll
  for (int q = 0; q < PER_THREAD; q++)
  /* Slots beyond the thread's count hold zeros, which neither the box nor the output sees. */
#pragma unroll
    for (int a = 0; a < 3; a++) at[q][a] = q < w.count ? __ldcs(x + a * np + w.first + q * w.step) : 0.0f;
#pragma unroll
  for (int q = 0; q < PER_THREAD; q++)
    if (q < w.count)
#pragma unroll
      for (int a = 0; a < 3; a++) {
        /* Rounded down, as cell_of does where the point is not wild. */
        int cell = __float2int_rd(at[q][a]);
        wild |= !(fabsf(at[q][a]) < 1e8f); /* NaN too: its cell would be 0 here and far away in evaluation */
        b.lo[a] = min(b.lo[a], cell), b.hi[a] = max(b.hi[a], cell);
      }
  b = bounding_box(b, part);
  /* One wild point sends the whole block to global loads. */
  wild = __syncthreads_or(wild);
  /* unsigned: of a wild point, whose box is not used, the difference may wrap */
  int lo[3] = {(int)((unsigned)b.lo[0] - SHIFT), (int)((unsigned)b.lo[1] - SHIFT), (int)((unsigned)b.lo[2] - SHIFT)};
  const int vector = BOUNDARY == RB_PERIODIC && v.n3 % 4 == 0 && (uintptr_t)v.f % 16 == 0;
  /* Rows then begin on 16 bytes in the field; the box grows by up to three values to the left. */
  if (vector) lo[2] &= ~3;
  /* Extent of the box in nodes, for the taps of both its outermost cells. In 64 bits: of wild points it may be
   * anything. */
  int64_t d1 = (int64_t)b.hi[0] - b.lo[0] + TAPS, d2 = (int64_t)b.hi[1] - b.lo[1] + TAPS;
  int64_t d3 = (int64_t)b.hi[2] - SHIFT + TAPS - lo[2];
  int fits = !wild && d1 > 0 && d2 > 0 && d3 > 0 && d1 <= ROWS && d2 <= ROWS && d1 * d2 <= ROWS && d3 <= PITCH;
  if (fits) {
    find_rows<BOUNDARY>(row_at, v, lo, (int)(d1 * d2), (int)d2);
    /* row_at is whole. */
    __syncthreads();
    if (vector)
      fill_tile<BOUNDARY, 4>(tile, row_at, v, lo[2], (int)(d1 * d2), (int)(d3 + 3) & ~3);
    else
      fill_tile<BOUNDARY, 1>(tile, row_at, v, lo[2], (int)(d1 * d2), (int)d3);
  }
  /* The tile is whole; without one nobody waits for anything. */
  __syncthreads();
#pragma unroll
  for (int q = 0; q < PER_THREAD; q++)
    if (q < w.count)
      __stcs(out + w.first + q * w.step, fits ? gather_tile<BASIS>(tile, lo, (int)d2, at[q][0], at[q][1], at[q][2])
                                              : gather_global<BASIS, BOUNDARY>(v, at[q][0], at[q][1], at[q][2]));
}

/* One launch a component; each finds its boxes anew. */
static rb_status eval(rb_interp_plan *head, int64_t np, const void *x, void *out) {
  rb_status st = RB_OK;
  const rb_interp_desc *d = &head->desc;
  int is_grid = np == rb_grid_points(d->grid);
  /* As many points as nodes: blocks take bricks of nodes; otherwise BRICK points in their order. */
  int bricks1 = (int)rb_blocks(d->grid.n[0], BRICK1), bricks2 = (int)rb_blocks(d->grid.n[1], BRICK2);
  int bricks3 = (int)rb_blocks(d->grid.n[2], BRICK3);
  unsigned blocks = is_grid ? (unsigned)(bricks1 * bricks2 * bricks3) : rb_blocks(np, BRICK);
  /* The cubic tile exceeds 48 KiB and must be asked for. */
  const int shared = (d->basis == RB_LINEAR ? LINEAR_ROWS : CUBIC_ROWS) * PITCH * (int)sizeof(float);
  for (int c = 0; c < d->components; c++) {
    field_view v = {((brick_plan *)head)->field + c * rb_grid_points(d->grid), (int)d->grid.n[0], (int)d->grid.n[1],
                    (int)d->grid.n[2]};
#define LAUNCH(BASIS, BOUNDARY)                                                                                      \
  do {                                                                                                               \
    RB_CUDA_TRY(cudaFuncSetAttribute(kernel<BASIS, BOUNDARY>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared)); \
    RB_LAUNCH((kernel<BASIS, BOUNDARY>), blocks, THREADS, shared, v, np, (const float *)x, (float *)out + c * np,    \
              is_grid, bricks2, bricks3);                                                                            \
  } while (0)
    RB_BRICK_DISPATCH(LAUNCH, d->basis, d->boundary);
#undef LAUNCH
  }
done:
  return st;
}

extern "C" const rb_interp_ops rb_interp_tiled = {
    brick_supports, brick_plan_create, brick_load, eval, brick_destroy, 0, 0, NULL};
