/* SPDX-License-Identifier: BSD-3-Clause */
/* cuda/direct's divergence of fields large enough to fill a GPU with tall columns. What a plane adds (v3's rows, v2's
 * rows with their halo, v1 HALO planes further on) comes through shared memory by asynchronous copies, DEPTH - 1
 * planes ahead: more bytes are under way than the loads of two resident blocks could wait for in registers, and of v1
 * only 2 HALO planes a column are read twice. The values of the x1 stencil stay in a ring of registers; the loop over
 * its turns is not unrolled: 32 planes unrolled leave the instruction cache. H200, against short columns: 11 % less
 * time at 256^3, 20 % at 192^3, 10 % at 384^3; more at 128^3, which does not fill it. */
#ifndef RB_DERIVATIVE_STAGED_CUH
#define RB_DERIVATIVE_STAGED_CUH

#include "kernels/derivative/derivative_direct.cuh"

#include <cuda_pipeline_primitives.h>

/* DEPTH 4 or 6, 4 or 16 rows, 3 or 4 resident blocks: slower somewhere, faster nowhere by more than 4 %. */
enum { DEPTH = 3, RING = 2 * HALO + 1, SHORTEST = 32, TALLEST = 64, WIDE = 4 * LANES };
static_assert(RING % DEPTH == 0, "a stage is known by the ring's position");

/* Of one plane of the block: v1 of the plane HALO further on, v2 with HALO rows more above and below, v3 with HALO
 * values more left and right. */
struct __align__(16) stage {
  float v1[ROWS][WIDE], v2[ROWS + 2 * HALO][WIDE],
      v3[ROWS][HALO + WIDE + HALO]; /* v2 from row -HALO on, v3 from value -HALO on */
};
enum { STAGED_BYTES = DEPTH * sizeof(stage) };

/* The block's place: first point of x1, x2, x3, and how many of each it has (x3 in packs of four). planes, rows and
 * packs are fewer than `tall`, ROWS and LANES at the grid's far ends. */
struct tile {
  int x1, x2, x3, planes, rows, packs;
};

/* 16 bytes, past the registers. */
static __device__ __forceinline__ void copy16(float *shared, const float *f) {
  __pipeline_memcpy_async(shared, f, 16);
}
/* -n <= i < 2 n */
static __device__ __forceinline__ int wrap_once(int i, int n) { return i < 0 ? i + n : i >= n ? i - n : i; }

/* Ask for what plane x1 + q of the block adds, in a group of its own; a group without copies past the end. */
static __device__ __forceinline__ void ask(stage *s, tile t, int q, const float *__restrict__ f, int n1, int n2,
                                           int n3) {
  const int lane = threadIdx.x % LANES, row = threadIdx.x / LANES;
  const int64_t plane = (int64_t)n2 * n3;
  if (q < t.planes) {
    /* v1 runs HALO planes ahead: its plane x1 + q + HALO is the ring's newest value when plane x1 + q is worked on.
     * v2 and v3 begin n1 and 2 n1 planes behind v1. */
    const float *v1 = f + wrap_once(t.x1 + q + HALO, n1) * plane, *v2 = f + (n1 + t.x1 + q) * plane,
                *v3 = v2 + n1 * plane;
    const int own = (t.x2 + row) * n3 + t.x3;
    if (lane < t.packs) {
      /* v2: a thread copies two rows, as ROWS + 2 HALO rows are twice ROWS. Lanes beyond the grid's packs ask for
       * nothing. */
#pragma unroll
      for (int r = row; r < ROWS + 2 * HALO; r += ROWS)
        copy16(&s->v2[r][4 * lane], v2 + wrap_once(t.x2 - HALO + r, n2) * n3 + t.x3 + 4 * lane);
      if (row < t.rows)
        copy16(&s->v1[row][4 * lane], v1 + own + 4 * lane), copy16(&s->v3[row][HALO + 4 * lane], v3 + own + 4 * lane);
    }
    /* v3: one pack left and one right of the row, by the first two lanes; periodic at the row's ends. */
    if (row < t.rows && lane == 0) copy16(&s->v3[row][0], v3 + own + (t.x3 > 0 ? -HALO : n3 - HALO));
    if (row < t.rows && lane == 1)
      copy16(&s->v3[row][HALO + 4 * t.packs], v3 + own + (t.x3 + 4 * t.packs < n3 ? 4 * t.packs : -t.x3));
  }
  /* A group even where nothing was asked for: the wait counts groups. */
  __pipeline_commit();
}

/* What the stage and the ring give one thread, whose newest value of v1 is at `newest` of the ring. */
static __device__ __forceinline__ pack<4> sum_axes(const stage &s, const pack<4> ring[RING], int newest,
                                                   const fd8_coefficients &k) {
  const int lane = threadIdx.x % LANES, row = threadIdx.x / LANES;
  /* Packs 4 lane, 4 lane + 4, 4 lane + 8 of the shared row: the thread's own pack is the middle one. */
  const float *v3 = &s.v3[row][4 * lane];
  pack<4> sum = along_window(load<4>(v3, 0), load<4>(v3, HALO), load<4>(v3, 2 * HALO), k.c[2]);
  /* Order of summation: x3, then x2, then x1, from the inner taps outwards. The centre of x1 is HALO behind the
   * newest. */
#pragma unroll
  for (int l = 1; l <= HALO; l++)
    add<4>(&sum, k.c[1][l - 1], load<4>(s.v2[row + HALO + l], 4 * lane), load<4>(s.v2[row + HALO - l], 4 * lane));
#pragma unroll
  for (int l = 1; l <= HALO; l++)
    add<4>(&sum, k.c[0][l - 1], ring[(newest + RING - HALO + l) % RING], ring[(newest + RING - HALO - l) % RING]);
  return sum;
}

/* A block: LANES * 4 values of x3, ROWS of x2, `tall` planes. n1 >= HALO, n2 >= ROWS + HALO, n3 a multiple of 4. */
static __global__ void __launch_bounds__(THREADS, RESIDENT)
    divergence_staged(const float *__restrict__ f, float *__restrict__ d, int n1, int n2, int n3, int tall,
                      fd8_coefficients k) {
  RB_DYNAMIC_SHARED(stage, stages, alignof(stage));
  const int lane = threadIdx.x % LANES, row = threadIdx.x / LANES, x1 = blockIdx.z * tall, x2 = blockIdx.y * ROWS,
            x3 = blockIdx.x * WIDE;
  const tile t = {x1, x2, x3, min(tall, n1 - x1), min(ROWS, n2 - x2), min(LANES, (n3 - x3) / 4)};
  const bool mine = lane < t.packs && row < t.rows;
  const int own = (x2 + row) * n3 + x3 + 4 * lane;
  const int64_t plane = (int64_t)n2 * n3;
  /* DEPTH - 1 planes are asked for before anything is waited for. */
#pragma unroll
  for (int q = 0; q < DEPTH - 1; q++) ask(&stages[q], t, q, f, n1, n2, n3);
  pack<4> ring[RING]; /* value of plane x1 - HALO + i at i % RING */
  if (mine) {
#pragma unroll
    for (int i = 0; i < 2 * HALO; i++) ring[i] = load<4>(f, wrap_once(x1 - HALO + i, n1) * plane + own);
  }
#pragma unroll 1
  for (int turn = 0; turn < t.planes; turn += RING) {
#pragma unroll
    for (int i = 0; i < RING; i++) {
      const int q = turn + i;
      if (q >= t.planes) break; /* uniform over the block */
      /* Of DEPTH - 1 groups under way, the oldest is complete for this thread; the barrier adds the other
       * threads'. */
      __pipeline_wait_prior(DEPTH - 2);
      __syncthreads(); /* plane q has come for all, and all have left the stage that is asked for next */
      ask(&stages[(i + DEPTH - 1) % DEPTH], t, q + DEPTH - 1, f, n1, n2, n3);
      /* A thread without values goes on to the next barrier. */
      if (!mine) continue;
      /* DEPTH divides RING: i % DEPTH is the stage of plane q in every turn, and a constant once unrolled. */
      const stage &s = stages[i % DEPTH];
      const int newest = (i + 2 * HALO) % RING;
      ring[newest] = load<4>(s.v1[row], 4 * lane);
      put(d, (x1 + q) * plane + own, sum_axes(s, ring, newest, k));
    }
  }
}

static dim3 staged_blocks(rb_grid g, int tall) {
  return dim3(rb_blocks(g.n[2], WIDE), rb_blocks(g.n[1], ROWS), rb_blocks(g.n[0], tall));
}

/* Planes a column, SHORTEST to TALLEST, so that the blocks fill whole waves of a GPU that holds `slots` of them; 0
 * when they fill no three quarters of one. */
static int fullest(rb_grid g, int64_t slots) {
  int64_t least = INT64_MAX;
  int best = 0;
  /* `columns` pieces of x1; time: waves of blocks times what one block walks, 2 HALO planes of run-up included. */
  for (int64_t columns = rb_blocks(g.n[0], TALLEST); columns <= g.n[0] / SHORTEST; columns++) {
    const int tall = (int)rb_blocks(g.n[0], columns);
    const dim3 b = staged_blocks(g, tall);
    const int64_t blocks = (int64_t)b.x * b.y * b.z, time = (blocks + slots - 1) / slots * (tall + 2 * HALO);
    if (4 * blocks >= 3 * slots && time < least) least = time, best = tall;
  }
  return best;
}
/* Planes a column where tall ones pay, else 0. They take rows of whole packs, and copies that pass by the registers
 * (compute capability 8.0). */
static rb_status staged_tall(rb_grid g, int *tall) {
  rb_status st = RB_OK;
  int device, major, multiprocessors, resident;
  *tall = 0;
  RB_CUDA_TRY(cudaGetDevice(&device));
  RB_CUDA_TRY(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  if (major < 8 || g.n[2] % 4 != 0 || g.n[1] < ROWS + HALO) return RB_OK;
  RB_CUDA_TRY(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  RB_CUDA_TRY(cudaFuncSetAttribute(divergence_staged, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   STAGED_BYTES)); /* more than 48 KiB */
  RB_CUDA_TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, divergence_staged, THREADS, STAGED_BYTES));
  if (resident > 0) *tall = fullest(g, (int64_t)resident * multiprocessors);
done:
  return st;
}
static rb_status run_staged(rb_grid g, int tall, const float *v, float *d) {
  rb_status st = RB_OK;
  RB_LAUNCH(divergence_staged, staged_blocks(g, tall), THREADS, STAGED_BYTES, v, d, (int)g.n[0], (int)g.n[1],
            (int)g.n[2], tall, fd8_make(g));
done:
  return st;
}

#endif
