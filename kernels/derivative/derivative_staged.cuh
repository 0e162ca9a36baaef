/* cuda/direct's divergence of fields large enough to fill a GPU with tall columns. What a plane adds (v3's rows, v2's rows with their
 * halo, v1 HALO planes further on) comes through shared memory by asynchronous copies, DEPTH - 1 planes ahead: more bytes are under way
 * than the loads of two resident blocks could wait for in registers, and of v1 only 2 HALO planes in TALL are read twice.
 * H200: 9 % less time at 256^3 and 8 % at 384^3 than short columns; a third more at 128^3, where a GPU is not full of them. */
#ifndef RB_DERIVATIVE_STAGED_CUH
#define RB_DERIVATIVE_STAGED_CUH

#include "kernels/derivative/derivative_direct.cuh"

#include <cuda_pipeline_primitives.h>

/* DEPTH 4 or 6, 16 rows, 3 or 4 resident blocks: all slower. FULL: blocks from which on tall columns win, three a multiprocessor of an H200. */
enum { TALL = 32, DEPTH = 3, WIDE = 4 * LANES, FULL = 384 };

struct __align__(16) stage {
  float v1[ROWS][WIDE], v2[ROWS + 2 * HALO][WIDE], v3[ROWS][HALO + WIDE + HALO]; /* v2 from row -HALO on, v3 from value -HALO on */
};
enum { STAGED_BYTES = DEPTH * sizeof(stage) };

/* The block's place: first point of x1, x2, x3, and how many of each it has (x3 in packs of four). */
struct tile {
  int x1, x2, x3, planes, rows, packs;
};

static __device__ __forceinline__ void copy16(float *shared, const float *f) { __pipeline_memcpy_async(shared, f, 16); }

/* Ask for what plane x1 + q of the block adds, in a group of its own; a group without copies past the end. */
static __device__ __forceinline__ void ask(stage *s, tile t, int q, const float *__restrict__ f, int n1, int n2, int n3) {
  const int lane = threadIdx.x % LANES, row = threadIdx.x / LANES;
  const int64_t plane = (int64_t)n2 * n3;
  if (q < t.planes) {
    const float *v1 = f + rb_wrap_near(t.x1 + q + HALO, n1) * plane, *v2 = f + (n1 + t.x1 + q) * plane, *v3 = v2 + n1 * plane;
    const int own = (t.x2 + row) * n3 + t.x3;
    if (lane < t.packs) {
#pragma unroll
      for (int r = row; r < ROWS + 2 * HALO; r += ROWS) copy16(&s->v2[r][4 * lane], v2 + rb_wrap_near(t.x2 - HALO + r, n2) * n3 + t.x3 + 4 * lane);
      if (row < t.rows) copy16(&s->v1[row][4 * lane], v1 + own + 4 * lane), copy16(&s->v3[row][HALO + 4 * lane], v3 + own + 4 * lane);
    }
    if (row < t.rows && lane == 0) copy16(&s->v3[row][0], v3 + own + (t.x3 > 0 ? -HALO : n3 - HALO));
    if (row < t.rows && lane == 1) copy16(&s->v3[row][HALO + 4 * t.packs], v3 + own + (t.x3 + 4 * t.packs < n3 ? 4 * t.packs : -t.x3));
  }
  __pipeline_commit();
}

static __global__ void __launch_bounds__(THREADS, RESIDENT) divergence_staged(const float *__restrict__ f, float *__restrict__ d, int n1, int n2, int n3, fd8_coefficients k) {
  extern __shared__ stage stages[];
  const int lane = threadIdx.x % LANES, row = threadIdx.x / LANES, x1 = blockIdx.z * TALL, x2 = blockIdx.y * ROWS, x3 = blockIdx.x * WIDE;
  const tile t = {x1, x2, x3, min(TALL, n1 - x1), min(ROWS, n2 - x2), min(LANES, (n3 - x3) / 4)};
  const bool mine = lane < t.packs && row < t.rows;
  const int own = (x2 + row) * n3 + x3 + 4 * lane;
  const int64_t plane = (int64_t)n2 * n3;
#pragma unroll
  for (int q = 0; q < DEPTH - 1; q++) ask(&stages[q], t, q, f, n1, n2, n3);
  column<4, TALL> c;
  if (mine) {
#pragma unroll
    for (int q = 0; q < 2 * HALO; q++) c.known[q] = load<4>(f, rb_wrap_near(x1 - HALO + q, n1) * plane + own);
  }
#pragma unroll
  for (int q = 0; q < TALL; q++) {
    if (q >= t.planes) break; /* uniform over the block */
    __pipeline_wait_prior(DEPTH - 2);
    __syncthreads(); /* plane q has come for all, and all have left the stage that is asked for next */
    ask(&stages[(q + DEPTH - 1) % DEPTH], t, q + DEPTH - 1, f, n1, n2, n3);
    if (!mine) continue;
    const stage &s = stages[q % DEPTH];
    c.known[q + 2 * HALO] = load<4>(s.v1[row], 4 * lane);
    pack<4> sum = along_column<4, TALL>(c, q, k.c[0]);
    const pack<4> b = along_window(load<4>(s.v3[row], 4 * lane), load<4>(s.v3[row], 4 * lane + HALO), load<4>(s.v3[row], 4 * lane + 2 * HALO), k.c[2]);
#pragma unroll
    for (int l = 1; l <= HALO; l++) add<4>(&sum, k.c[1][l - 1], load<4>(s.v2[row + HALO + l], 4 * lane), load<4>(s.v2[row + HALO - l], 4 * lane));
#pragma unroll
    for (int v = 0; v < 4; v++) sum.v[v] += b.v[v];
    put(d, (x1 + q) * plane + own, sum);
  }
}

/* Whether tall columns fill the GPU. They take rows of whole packs, and copies that pass by the registers (compute capability 8.0). */
static rb_status staged_pays(rb_grid g, bool *pays) {
  rb_status st = RB_OK;
  int device, major;
  RB_CUDA_TRY(cudaGetDevice(&device));
  RB_CUDA_TRY(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  *pays = major >= 8 && g.n[2] % 4 == 0 && (int64_t)rb_blocks(g.n[2], WIDE) * rb_blocks(g.n[1], ROWS) * rb_blocks(g.n[0], TALL) >= FULL;
  if (*pays) RB_CUDA_TRY(cudaFuncSetAttribute(divergence_staged, cudaFuncAttributeMaxDynamicSharedMemorySize, STAGED_BYTES)); /* more than 48 KiB */
done:
  return st;
}
static rb_status run_staged(rb_grid g, const float *v, float *d) {
  rb_status st = RB_OK;
  const dim3 blocks(rb_blocks(g.n[2], WIDE), rb_blocks(g.n[1], ROWS), rb_blocks(g.n[0], TALL));
  RB_LAUNCH(divergence_staged, blocks, THREADS, STAGED_BYTES, v, d, (int)g.n[0], (int)g.n[1], (int)g.n[2], fd8_make(g));
done:
  return st;
}

#endif
