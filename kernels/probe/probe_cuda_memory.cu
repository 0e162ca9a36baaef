/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory roofs of the GPU: copy kernel, cudaMemcpy, copy with halo (brunn2020 3.2), triad, L2 reads. */
#include "kernels/base/statistics.h"
#include "kernels/cuda/cuda.cuh"
#include "kernels/probe/probe.h"

#include <math.h>
#include <stdlib.h>

/* 2 GiB an array, far beyond any cache, but at most an eighth of what is free: three arrays live at once. */
static size_t large(const rb_backend *b) {
  size_t total = 0, available = 0;
  /* Where memory cannot be asked for, 256 MiB an array. */
  if (b->memory(&total, &available) != RB_OK) return (size_t)1 << 28;
  size_t want = (size_t)2 << 30;
  return available / 8 < want ? available / 8 / 4096 * 4096 : want;
}
/* Fits with room to spare, so that nothing is evicted between the rounds. A multiple of 4096 bytes. */
static size_t quarter_l2(const rb_backend *b) { return b->cache_bytes() / 4 / 4096 * 4096; }

/* A thread moves four packs of 16 bytes, 256 packs apart: loads of a warp are contiguous, and all four are under way
 * before the first is stored. A block owns 1024 packs. */
static __global__ void __launch_bounds__(256)
    copy_kernel(const float4 *__restrict__ in, float4 *__restrict__ out, int64_t n) {
  int64_t i = (int64_t)blockIdx.x * 1024 + threadIdx.x;
  float4 v[4];
  /* Loads first, all four; a pack beyond the end is left out of both loops. */
#pragma unroll
  for (int q = 0; q < 4; q++)
    if (i + 256 * q < n) v[q] = in[i + 256 * q];
#pragma unroll
  for (int q = 0; q < 4; q++)
    if (i + 256 * q < n) out[i + 256 * q] = v[q];
}
/* What is left of a length that is no multiple of four floats. At most three floats: packs * 4 .. n - 1. */
static __global__ void copy_scalar(const float *__restrict__ in, float *__restrict__ out, int64_t first, int64_t n) {
  int64_t i = first + (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i];
}

/* Whole packs by one kernel, the last one to three floats by another. */
static rb_status plain(const void *in, void *out, rb_grid g) {
  rb_status st = RB_OK;
  int64_t n = rb_grid_points(g), packs = n / 4;
  if (packs) RB_LAUNCH(copy_kernel, rb_blocks(packs, 1024), 256, 0, (const float4 *)in, (float4 *)out, packs);
  if (n % 4) RB_LAUNCH(copy_scalar, 1, 32, 0, (const float *)in, (float *)out, packs * 4, n);
done:
  return st;
}

/* Every block loads a 2D tile and its halo of RB_HALO_WIDTH on four sides, and writes the tile. V floats an
 * access. The halo enters the store (as 0 * halo) so that its loads cannot be dropped. */
template <int V>
struct __align__(sizeof(float) * V) pack {
  float v[V];
};
/* A warp is a row of HALO_LANES threads; WIDE x HIGH floats of shared memory hold the tile and its halo. */
enum {
  HALO_LANES = 32,
  HALO_ROWS = 8,
  WIDE = RB_HALO_TILE_X + 2 * RB_HALO_WIDTH,
  HIGH = RB_HALO_TILE_Y + 2 * RB_HALO_WIDTH
};

template <int V>
static __global__ void __launch_bounds__(HALO_LANES *HALO_ROWS)
    halo_kernel(const float *__restrict__ in, float *__restrict__ out, int n2, int n3) {
  __shared__ __align__(16) float s[HIGH][WIDE];
  /* blockIdx.z is the plane; threads beyond the plane's last point load wrapped values and store nothing. */
  const int64_t plane = (int64_t)blockIdx.z * n2 * n3;
  const int x0 = blockIdx.x * RB_HALO_TILE_X, y0 = blockIdx.y * RB_HALO_TILE_Y;
  /* Warp threadIdx.y loads every HALO_ROWS-th row of tile and halo; its lanes the row's 16-byte packs. Rows of the
   * tile itself have a halo left and right, which the first lanes add; corners are not loaded, no stencil along axes
   * wants them. HIGH / HALO_ROWS rows of tile and halo a warp. */
#pragma unroll
  for (int q = 0; q < HIGH / HALO_ROWS; q++) {
    const int r = threadIdx.y + q * HALO_ROWS, inner = r >= RB_HALO_WIDTH && r < HIGH - RB_HALO_WIDTH;
    /* One row of the halo box, wrapped along x2; offsets within a plane are 64-bit. */
    const float *row = in + plane + (int64_t)rb_wrap_near(y0 + r - RB_HALO_WIDTH, n2) * n3;
    /* A lane's packs of the row, HALO_LANES V values apart. */
#pragma unroll
    for (int c = threadIdx.x * V; c < RB_HALO_TILE_X; c += HALO_LANES * V)
      *(pack<V> *)&s[r][c + RB_HALO_WIDTH] = *(const pack<V> *)&row[rb_wrap_near(x0 + c, n3)];
    if (inner && threadIdx.x < 2 * RB_HALO_WIDTH / V) {
      /* Left halo for the first RB_HALO_WIDTH / V lanes, right halo for the next ones. */
      int c = threadIdx.x * V < RB_HALO_WIDTH ? (int)threadIdx.x * V : RB_HALO_TILE_X + (int)threadIdx.x * V;
      *(pack<V> *)&s[r][c] = *(const pack<V> *)&row[rb_wrap_near(x0 + c - RB_HALO_WIDTH, n3)];
    }
  }
  __syncthreads(); /* the tile is whole: rows are read by other warps than loaded them */
#pragma unroll
  for (int q = 0; q < RB_HALO_TILE_Y / HALO_ROWS; q++) {
    const int r = threadIdx.y + q * HALO_ROWS, y = y0 + r;
    /* One value of the upper rows and one of the left columns stand for the halo; times 0 they leave finite data as
     * they are. */
    const float edge = 0.0f * (s[r][threadIdx.x + RB_HALO_WIDTH] + s[r + RB_HALO_WIDTH][threadIdx.x % RB_HALO_WIDTH]);
#pragma unroll
    for (int c = threadIdx.x * V; c < RB_HALO_TILE_X; c += HALO_LANES * V) {
      pack<V> p = *(const pack<V> *)&s[r + RB_HALO_WIDTH][c + RB_HALO_WIDTH];
      p.v[0] += edge;
      if (y < n2 && x0 + c < n3) *(pack<V> *)&out[plane + (int64_t)y * n3 + x0 + c] = p;
    }
  }
}

/* Blocks along z end at 65535: more planes go in slabs. */
static rb_status halo(const void *in, void *out, rb_grid g) {
  rb_status st = RB_OK;
  /* First plane of the slab; `from` and `to` begin there. */
  for (int64_t first = 0; first < g.n[0]; first += RB_MOST_BLOCKS_YZ) {
    dim3 blocks(rb_blocks(g.n[2], RB_HALO_TILE_X), rb_blocks(g.n[1], RB_HALO_TILE_Y),
                (unsigned)(g.n[0] - first < RB_MOST_BLOCKS_YZ ? g.n[0] - first : RB_MOST_BLOCKS_YZ));
    const float *from = (const float *)in + first * g.n[1] * g.n[2];
    float *to = (float *)out + first * g.n[1] * g.n[2];
    if (g.n[2] % 4 == 0)
      RB_LAUNCH(halo_kernel<4>, blocks, dim3(HALO_LANES, HALO_ROWS), 0, from, to, (int)g.n[1], (int)g.n[2]);
    else
      RB_LAUNCH(halo_kernel<1>, blocks, dim3(HALO_LANES, HALO_ROWS), 0, from, to, (int)g.n[1], (int)g.n[2]);
  }
done:
  return st;
}

/* Whole numbers below 1021 (a prime: no period of the hardware's fits), times scale: exact in float32. */
static __global__ void fill_kernel(float *a, int64_t n, float scale) {
  int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = scale * (float)(i % 1021);
}
/* A thread owns two packs, 256 apart; two reads and a write each. a = b + s c, as STREAM has it. */
static __global__ void __launch_bounds__(256) triad_kernel(float4 *__restrict__ a, const float4 *__restrict__ b,
                                                           const float4 *__restrict__ c, float s, int64_t n) {
  int64_t i = (int64_t)blockIdx.x * 512 + threadIdx.x;
  /* Packs i and i + 256 of the block's 512. */
#pragma unroll
  for (int q = 0; q < 2; q++, i += 256)
    if (i < n) {
      float4 x = b[i], y = c[i];
      a[i] = make_float4(x.x + s * y.x, x.y + s * y.y, x.z + s * y.z, x.w + s * y.w);
    }
}
/* The grid reads the buffer `rounds` times, past L1; thread 0 of block 0 leaves its sum for the check. */
static __global__ void __launch_bounds__(512)
    l2_kernel(const float4 *__restrict__ in, int64_t n, int rounds, float *sink) {
  float4 sum = make_float4(0, 0, 0, 0);
  /* Threads of the whole grid read neighbouring packs, then step over the grid; __ldcg passes by L1, so that every
   * round is served by L2. */
  int64_t step = (int64_t)gridDim.x * blockDim.x, at = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  for (int r = 0; r < rounds; r++)
    for (int64_t i = at; i < n; i += step) {
      float4 v = __ldcg(&in[i]);
      sum.x += v.x, sum.y += v.y, sum.z += v.z, sum.w += v.w;
    }
  /* The condition on the sum is never met by these data; it keeps the compiler from dropping the reads. */
  if (sum.x + sum.y + sum.z + sum.w == -1.0f || at == 0) *sink = sum.x + sum.y + sum.z + sum.w;
}

enum { COPY, MEMCPY, COPY_HALO, TRIAD, L2 };

/* One timed pass. L2: four blocks of 512 threads a multiprocessor, all that can be resident, read 20 times. a is
 * written, b (and c) read; bytes are those of one array. */
static rb_status one_pass(int what, float *a, float *b, float *c, size_t bytes, rb_grid g) {
  rb_status st = RB_OK;
  int64_t n = rb_grid_points(g);
  int device = 0, multiprocessors = 0;
  /* How many blocks fill the device is asked for at each pass; the queries are outside the kernels' time but within
   * the events. */
  RB_CUDA_TRY(cudaGetDevice(&device));
  RB_CUDA_TRY(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  switch (what) {
    case COPY:
      RB_TRY(plain(b, a, g));
      break;
    case MEMCPY:
      RB_CUDA_TRY(cudaMemcpyAsync(a, b, bytes, cudaMemcpyDeviceToDevice, rb_cuda_stream()));
      break;
    case COPY_HALO:
      RB_TRY(halo(b, a, g));
      break;
    case TRIAD:
      RB_LAUNCH(triad_kernel, rb_blocks(n / 4, 512), 256, 0, (float4 *)a, (const float4 *)b, (const float4 *)c, 3.0f,
                n / 4);
      break;
    default:
      RB_LAUNCH(l2_kernel, 4 * multiprocessors, 512, 0, (const float4 *)b, n / 4, 20, a);
      break;
  }
done:
  return st;
}

/* The last 4096 values: what a kernel that stopped early or skipped the tail would miss. */
static rb_status verify(int what, const float *a, int64_t n) {
  rb_status st = RB_OK;
  /* For all but L2 the values at the end of the array; for L2 only its first, the sum of thread 0. */
  float head[4096];
  if (what == L2) { /* integers below 1021: thread 0's sum is positive and whole */
    RB_CUDA_TRY(cudaMemcpy(head, a, sizeof *head, cudaMemcpyDeviceToHost));
    RB_CHECK(head[0] > 0 && head[0] < 1e12f && head[0] == truncf(head[0]), RB_EINVALID, "L2 probe: sum %g",
             (double)head[0]);
    return RB_OK;
  }
  RB_CUDA_TRY(cudaMemcpy(head, a + (n - 4096), sizeof head, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 4096; i++) {
    /* The values that fill_kernel left at these places; the triad's c is half of b, its factor 3. All exact. */
    float b = (float)((n - 4096 + i) % 1021), want = what == TRIAD ? b + 3.0f * (0.5f * b) : b;
    RB_CHECK(head[i] == want, RB_EINVALID, "probe result wrong at the end of the array: %g, not %g", (double)head[i],
             (double)want);
  }
done:
  return st;
}

/* Three passes of warm-up, then `samples` timed ones; the median of their rates. Verified after the last. Allocates
 * two or three arrays of `bytes`, filled once; the timer's events enclose one pass each. */
static rb_status measure(const rb_backend *backend, int what, size_t bytes, int samples, double *rate) {
  rb_status st = RB_OK;
  float *a = NULL, *b = NULL, *c = NULL;
  double moved, seconds, *rates = (double *)calloc((size_t)samples, sizeof *rates);
  /* as a grid: planes of 256 x 256, whole planes only. The three-dimensional shape matters to the halo copy alone. */
  int64_t planes = (int64_t)(bytes / (256 * 256 * sizeof(float)));
  rb_grid g = rb_grid_make(planes > 0 ? planes : 1, 256, 256);
  int64_t n = rb_grid_points(g);
  bytes = (size_t)n * sizeof(float);
  /* Bytes moved by a pass: triad two reads and a write, L2 its 20 rounds of reads, copies a read and a write. */
  moved = what == TRIAD       ? 3.0 * (double)bytes
          : what == L2        ? 20.0 * (double)bytes
          : what == COPY_HALO ? rb_copy_halo_bytes(g)
                              : 2.0 * (double)bytes;
  RB_CHECK(rates, RB_ENOMEM, "host memory");
  RB_TRY(rb_alloc(backend, bytes, (void **)&a));
  RB_TRY(rb_alloc(backend, bytes, (void **)&b));
  RB_LAUNCH(fill_kernel, rb_blocks(n, 256), 256, 0, b, n, 1.0f);
  if (what == TRIAD) {
    RB_TRY(rb_alloc(backend, bytes, (void **)&c));
    RB_LAUNCH(fill_kernel, rb_blocks(n, 256), 256, 0, c, n, 0.5f);
  }
  /* Negative s: warm-up, not recorded. */
  for (int s = -3; s < samples; s++) {
    RB_TRY(backend->timer_start());
    RB_TRY(one_pass(what, a, b, c, bytes, g));
    RB_TRY(backend->timer_stop(&seconds));
    if (s >= 0) rates[s] = moved / seconds;
  }
  RB_TRY(verify(what, a, n));
  *rate = rb_median(rates, samples);
done:
  rb_release(backend, c);
  rb_release(backend, b);
  rb_release(backend, a);
  free(rates);
  return st;
}

#define PROBE(name, what, text, size, copy, tiled)                                                \
  static rb_status name##_measure(const rb_backend *b, size_t bytes, int samples, double *rate) { \
    return measure(b, what, bytes, samples, rate);                                                \
  }                                                                                               \
  extern "C" const rb_probe_ops name = {"B/s", text, name##_measure, size, copy, tiled};

PROBE(rb_probe_copy, COPY, "copy kernel, 16-byte accesses, read + write", large, plain, 0)
PROBE(rb_probe_memcpy, MEMCPY, "cudaMemcpyAsync device to device, read + write", large, NULL, 0)
PROBE(rb_probe_halo, COPY_HALO, "128x32 tiles with halo 4 through shared memory, halo counted", large, halo, 1)
PROBE(rb_probe_triad, TRIAD, "a[i] = b[i] + s c[i], two reads + write", large, NULL, 0)
PROBE(rb_probe_l2, L2, "repeated 16-byte reads of a quarter of L2, past L1", quarter_l2, NULL, 0)
