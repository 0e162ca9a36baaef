/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/interp/interp.h"
#include "kernels/interp/interp_prefilter.cuh"

#include <cuda_pipeline.h>
#include <math.h>
#include <stdint.h>

/* ---- the paper's 15-tap stencil, one pass an axis ------------------------------------------------ */

/* REACH: taps either side of the middle. LINE x ROWS: points of a block along x3; WIDTH x DEPTH: of a block along x2
 * or x1, by WIDTH x 8 threads. */
enum { REACH = 7, LINE = 64, ROWS = 4, DEPTH = 64, WIDTH = 32 };

struct taps15 {
  float h[REACH + 1];
};
/* Taps z^|l|, scaled so that they add up to 1: a constant stays as it is. In float64, then rounded. */
static taps15 make_taps15(void) {
  taps15 t;
  double sum = 1;
  for (int l = 1; l <= REACH; l++) sum += 2 * pow(RB_BSPLINE_POLE, l);
  for (int l = 0; l <= REACH; l++) t.h[l] = (float)(pow(RB_BSPLINE_POLE, l) / sum);
  return t;
}

/* Along x3: a block takes ROWS lines of LINE points with REACH halo points at both ends. */
static __global__ void stencil_x3(const float *__restrict__ in, float *__restrict__ out, int64_t rows, int n,
                                  taps15 t) {
  __shared__ float s[ROWS][LINE + 2 * REACH];
  int64_t row = (int64_t)blockIdx.y * ROWS + threadIdx.y;
  int start = blockIdx.x * LINE;
  if (row < rows)
    for (int i = threadIdx.x; i < LINE + 2 * REACH; i += LINE)
      s[threadIdx.y][i] = in[row * n + rb_wrap_near(start + i - REACH, n)];
  /* The lines with their halos are whole. Threads without a point leave only now. */
  __syncthreads();
  int at = start + threadIdx.x;
  if (row >= rows || at >= n) return;
  /* Taps of equal weight are added before they are multiplied, from the middle outwards. */
  const float *c = &s[threadIdx.y][threadIdx.x + REACH];
  float v = t.h[0] * c[0];
#pragma unroll
  for (int l = 1; l <= REACH; l++) v += t.h[l] * (c[l] + c[-l]);
  out[row * n + at] = v;
}

/* Along x2 or x1: a block takes WIDTH points of x3 and DEPTH points of the axis. Element (o, k, f):
 * other index o, axis index k, x3 index f, at o*other + k*stride + f. */
static __global__ void stencil_strided(const float *__restrict__ in, float *__restrict__ out, int n, int64_t stride,
                                       int64_t other, int n3, taps15 t) {
  /* s[axis][x3]: a warp runs along x3, so that loads coalesce and lanes meet no bank conflict. */
  __shared__ float s[DEPTH + 2 * REACH][WIDTH];
  int f = blockIdx.x * WIDTH + threadIdx.x, start = blockIdx.y * DEPTH;
  int64_t base = (int64_t)blockIdx.z * other + f;
  if (f < n3)
    for (int k = threadIdx.y; k < DEPTH + 2 * REACH; k += blockDim.y)
      s[k][threadIdx.x] = in[base + rb_wrap_near(start + k - REACH, n) * stride];
  /* The tile with its halo is whole. */
  __syncthreads();
  if (f >= n3) return;
  for (int k = threadIdx.y; k < DEPTH && start + k < n; k += blockDim.y) {
    float v = t.h[0] * s[k + REACH][threadIdx.x];
#pragma unroll
    for (int l = 1; l <= REACH; l++) v += t.h[l] * (s[k + REACH + l][threadIdx.x] + s[k + REACH - l][threadIdx.x]);
    out[base + (start + k) * stride] = v;
  }
}

rb_status rb_prefilter_stencil15(rb_grid g, const float *in, float *out, float *scratch) {
  rb_status st = RB_OK;
  taps15 t = make_taps15();
  int n1 = (int)g.n[0], n2 = (int)g.n[1], n3 = (int)g.n[2];
  int64_t rows = g.n[0] * g.n[1], plane = g.n[1] * g.n[2];
  dim3 line(LINE, ROWS), tile(WIDTH, 8);
  /* gridDim.y ends at 65535: long row counts go in slabs. Passes: along x3 from in to out, along x2 from out to
   * scratch, along x1 from scratch to out. */
  for (int64_t first = 0; first < rows; first += RB_MOST_BLOCKS_YZ * ROWS) {
    int64_t count = rows - first < RB_MOST_BLOCKS_YZ * ROWS ? rows - first : RB_MOST_BLOCKS_YZ * ROWS;
    RB_LAUNCH(stencil_x3, dim3(rb_blocks(n3, LINE), rb_blocks(count, ROWS)), line, 0, in + first * n3,
              out + first * n3, count, n3, t);
  }
  /* blockIdx.z: planes, `plane` apart; the axis x2 has stride n3. */
  for (int first = 0; first < n1; first += RB_MOST_BLOCKS_YZ)
    RB_LAUNCH(stencil_strided,
              dim3(rb_blocks(n3, WIDTH), rb_blocks(n2, DEPTH),
                   (unsigned)(n1 - first < RB_MOST_BLOCKS_YZ ? n1 - first : RB_MOST_BLOCKS_YZ)),
              tile, 0, out + first * plane, scratch + first * plane, n2, g.n[2], plane, n3, t);
  /* blockIdx.z: rows of x2, n3 apart; the axis x1 has stride `plane`. */
  for (int first = 0; first < n2; first += RB_MOST_BLOCKS_YZ)
    RB_LAUNCH(stencil_strided,
              dim3(rb_blocks(n3, WIDTH), rb_blocks(n1, DEPTH),
                   (unsigned)(n2 - first < RB_MOST_BLOCKS_YZ ? n2 - first : RB_MOST_BLOCKS_YZ)),
              tile, 0, scratch + (int64_t)first * n3, out + (int64_t)first * n3, n1, plane, g.n[2], n3, t);
done:
  return st;
}

/* ---- ours: exact to float32 rounding, two passes -------------------------------------------------- */

/* A tile of TX x TY with H samples of run-up on all sides; segments of SEG results a thread. SPAN: side of the tile
 * with run-up; PITCH: floats from row to row of it; TASKS: threads, one for each segment of each row; KEEP: results a
 * thread along x1. */
enum {
  H = 12,
  TX = 64,
  TY = 64,
  SEG = 16,
  SPAN = TX + 2 * H,
  PITCH = SPAN + 4,
  TASKS = SPAN * (TX / SEG),
  KEEP = 32
};

/* Inverse filter by recursion with pole z, causal then anticausal: `KEPT` results from samples sample(0) ..
 * sample(KEPT + 2H - 1), of which H either side are run-up (z^13 < 4e-8). Gain 6 = (1 - z)(1 - 1/z). */
template <int KEPT, typename SAMPLE>
static __device__ __forceinline__ void recursion(SAMPLE sample, float *result) {
  const float z = (float)RB_BSPLINE_POLE;
  /* Causal: c_k = s_k + z c_{k-1}. The first H samples only bring the state near what an endless line would have. */
  float causal[KEPT + H], state = 0; /* results, and H samples behind them: the anticausal run-up */
#pragma unroll
  for (int k = 0; k < H; k++) state = sample(k) + z * state;
#pragma unroll
  for (int k = 0; k < KEPT + H; k++) causal[k] = state = sample(H + k) + z * state;
  /* Anticausal: d_k = z (d_{k+1} - c_k), from the far end; the last KEPT of them are stored. */
  state = 0;
#pragma unroll
  for (int k = KEPT + H - 1; k >= 0; k--) {
    state = z * (state - causal[k]);
    if (k < KEPT) result[k] = 6.0f * state;
  }
}

/* Samples held in registers. */
struct held {
  const float *v;
  __device__ __forceinline__ float operator()(int k) const { return v[k]; }
};
/* Samples `step` floats apart, in shared memory. */
struct strided {
  const float *v;
  int step;
  __device__ __forceinline__ float operator()(int k) const { return v[k * step]; }
};
/* A column of the field, periodic. */
struct column_of {
  const float *v;
  int first, n;
  int64_t step;
  __device__ __forceinline__ float operator()(int k) const { return v[rb_wrap_near(first + k, n) * step]; }
};
/* The same where no sample wraps. */
struct inner_column {
  const float *v;
  int64_t step;
  __device__ __forceinline__ float operator()(int k) const { return v[k * step]; }
};

/* x3 and x2 of one plane: load a tile with run-up, filter its rows in place, then its columns.
 * V: floats a copy; 4 when n3 divides by 4 (x0 - H is then a multiple of 4 too). */
template <int V>
static __global__ void __launch_bounds__(TASKS, 3)
    prefilter_plane(const float *__restrict__ in, float *__restrict__ out, int n2, int n3) {
  /* SPAN rows of PITCH floats: 2 H + TX values each. */
  __shared__ __align__(16) float s[SPAN * PITCH];
  enum { PACKS = SPAN / V };
  const int x0 = blockIdx.x * TX, y0 = blockIdx.y * TY;
  const int64_t plane = (int64_t)blockIdx.z * n2 * n3;
  /* Copies to shared memory that pass by the registers; the tile's border is periodic. */
  for (int e = threadIdx.x; e < SPAN * PACKS; e += TASKS) {
    int r = e / PACKS, c = (e % PACKS) * V; /* constants: multiplications */
    __pipeline_memcpy_async(s + r * PITCH + c,
                            in + plane + rb_wrap_near(y0 + r - H, n2) * n3 + rb_wrap_near(x0 + c - H, n3),
                            V * sizeof(float));
  }
  __pipeline_commit();
  __pipeline_wait_prior(0);
  /* Each thread has waited for its own copies; now all have come. */
  __syncthreads();
  /* One segment of one row a thread, by 16-byte accesses: with PITCH = 28 mod 32 the eight rows of such an
   * access's phase lie in eight different groups of banks. */
  float kept[SEG], samples[SEG + 2 * H];
  /* Row threadIdx.x % SPAN, segment threadIdx.x / SPAN, with its run-up. Segments of a row overlap in their run-
   * ups. */
  float4 *segment = reinterpret_cast<float4 *>(s + (threadIdx.x % SPAN) * PITCH + threadIdx.x / SPAN * SEG);
#pragma unroll
  for (int k = 0; k < SEG + 2 * H; k += 4) {
    float4 v = segment[k / 4];
    samples[k] = v.x, samples[k + 1] = v.y, samples[k + 2] = v.z, samples[k + 3] = v.w;
  }
  recursion<SEG>(held{samples}, kept);
  /* All samples are in registers: rows may be overwritten. */
  __syncthreads();
#pragma unroll
  for (int k = 0; k < SEG; k += 4) segment[(H + k) / 4] = make_float4(kept[k], kept[k + 1], kept[k + 2], kept[k + 3]);
  /* All rows are filtered: columns may begin. They need TX (TY / SEG) threads, fewer than the rows did. */
  __syncthreads();
  if (threadIdx.x >= TX * (TY / SEG)) return;
  int column = threadIdx.x % TX, first = threadIdx.x / TX * SEG;
  /* Column H + `column` of the tile, rows first .. first + SEG + 2 H - 1; lanes run along a row. */
  recursion<SEG>(strided{s + first * PITCH + H + column, PITCH}, kept);
#pragma unroll
  for (int k = 0; k < SEG; k++)
    if (x0 + column < n3 && y0 + first + k < n2) out[plane + (y0 + first + k) * n3 + x0 + column] = kept[k];
}

/* x1: a thread filters KEEP points of a column in registers. Columns are counted through the plane: neighbouring
 * threads read neighbouring values at every step. */
static __global__ void __launch_bounds__(128)
    prefilter_columns(const float *__restrict__ in, float *__restrict__ out, int n1, int64_t plane) {
  int64_t column = (int64_t)blockIdx.x * 128 + threadIdx.x;
  int start = blockIdx.y * KEEP;
  if (column >= plane) return;
  float kept[KEEP];
  /* Uniform over the block: where nothing wraps, addresses are a constant step apart. */
  if (start >= H && start + KEEP + H <= n1)
    recursion<KEEP>(inner_column{in + column + (start - H) * plane, plane}, kept);
  else
    recursion<KEEP>(column_of{in + column, start - H, n1, plane}, kept);
#pragma unroll
  for (int k = 0; k < KEEP; k++)
    if (start + k < n1) out[(start + k) * plane + column] = kept[k];
}

rb_status rb_prefilter_exact(rb_grid g, const float *in, float *out, float *scratch) {
  rb_status st = RB_OK;
  int n1 = (int)g.n[0], n2 = (int)g.n[1], n3 = (int)g.n[2];
  int64_t plane = g.n[1] * g.n[2];
  int vector = n3 % 4 == 0 && (uintptr_t)in % 16 == 0;
  for (int first = 0; first < n1; first += RB_MOST_BLOCKS_YZ) {
    dim3 blocks(rb_blocks(n3, TX), rb_blocks(n2, TY),
                (unsigned)(n1 - first < RB_MOST_BLOCKS_YZ ? n1 - first : RB_MOST_BLOCKS_YZ));
    if (vector)
      RB_LAUNCH(prefilter_plane<4>, blocks, TASKS, 0, in + first * plane, scratch + first * plane, n2, n3);
    else
      RB_LAUNCH(prefilter_plane<1>, blocks, TASKS, 0, in + first * plane, scratch + first * plane, n2, n3);
  }
  RB_LAUNCH(prefilter_columns, dim3(rb_blocks(plane, 128), rb_blocks(n1, KEEP)), 128, 0, scratch, out, n1, plane);
done:
  return st;
}
