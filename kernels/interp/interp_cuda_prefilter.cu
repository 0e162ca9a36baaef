#include "kernels/interp/interp.h"
#include "kernels/interp/interp_prefilter.cuh"

#include <math.h>

/* ---- the paper's 15-tap stencil, one pass an axis ------------------------------------------------ */

enum { REACH = 7, LINE = 64, ROWS = 4, DEPTH = 64, WIDTH = 32 };

struct taps15 {
  float h[REACH + 1];
};
static taps15 make_taps15(void) {
  taps15 t;
  double sum = 1;
  for (int l = 1; l <= REACH; l++) sum += 2 * pow(RB_BSPLINE_POLE, l);
  for (int l = 0; l <= REACH; l++) t.h[l] = (float)(pow(RB_BSPLINE_POLE, l) / sum);
  return t;
}

/* Along x3: a block takes ROWS lines of LINE points with REACH halo points at both ends. */
static __global__ void stencil_x3(const float *__restrict__ in, float *__restrict__ out, int64_t rows, int n, taps15 t) {
  __shared__ float s[ROWS][LINE + 2 * REACH];
  int64_t row = (int64_t)blockIdx.y * ROWS + threadIdx.y;
  int start = blockIdx.x * LINE;
  if (row < rows)
    for (int i = threadIdx.x; i < LINE + 2 * REACH; i += LINE)
      s[threadIdx.y][i] = in[row * n + rb_wrap_near(start + i - REACH, n)];
  __syncthreads();
  int at = start + threadIdx.x;
  if (row >= rows || at >= n) return;
  const float *c = &s[threadIdx.y][threadIdx.x + REACH];
  float v = t.h[0] * c[0];
#pragma unroll
  for (int l = 1; l <= REACH; l++) v += t.h[l] * (c[l] + c[-l]);
  out[row * n + at] = v;
}

/* Along x2 or x1: a block takes WIDTH points of x3 and DEPTH points of the axis. Element (o, k, f):
 * other index o, axis index k, x3 index f, at o*other + k*stride + f. */
static __global__ void stencil_strided(const float *__restrict__ in, float *__restrict__ out, int n, int64_t stride, int64_t other,
                                       int n3, taps15 t) {
  __shared__ float s[DEPTH + 2 * REACH][WIDTH];
  int f = blockIdx.x * WIDTH + threadIdx.x, start = blockIdx.y * DEPTH;
  int64_t base = (int64_t)blockIdx.z * other + f;
  if (f < n3)
    for (int k = threadIdx.y; k < DEPTH + 2 * REACH; k += blockDim.y)
      s[k][threadIdx.x] = in[base + rb_wrap_near(start + k - REACH, n) * stride];
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
  /* gridDim.y ends at 65535: long row counts go in slabs. */
  for (int64_t first = 0; first < rows; first += 65535 * ROWS) {
    int64_t count = rows - first < 65535 * ROWS ? rows - first : 65535 * ROWS;
    RB_LAUNCH(stencil_x3, dim3(rb_blocks(n3, LINE), rb_blocks(count, ROWS)), line, 0, in + first * n3, out + first * n3, count, n3, t);
  }
  for (int first = 0; first < n1; first += 65535)
    RB_LAUNCH(stencil_strided, dim3(rb_blocks(n3, WIDTH), rb_blocks(n2, DEPTH), (unsigned)(n1 - first < 65535 ? n1 - first : 65535)),
              tile, 0, out + first * plane, scratch + first * plane, n2, g.n[2], plane, n3, t);
  for (int first = 0; first < n2; first += 65535)
    RB_LAUNCH(stencil_strided, dim3(rb_blocks(n3, WIDTH), rb_blocks(n1, DEPTH), (unsigned)(n2 - first < 65535 ? n2 - first : 65535)),
              tile, 0, scratch + (int64_t)first * n3, out + (int64_t)first * n3, n1, plane, g.n[2], n3, t);
done:
  return st;
}

/* ---- ours: exact to float32 rounding, two passes -------------------------------------------------- */

enum { H = 12, TX = 64, TY = 64, SEG = 16, SPAN = TX + 2 * H, PITCH = SPAN + 1, RING = 2 * H + 1, MARCH = 64 };

/* Inverse filter of samples v[0], v[step], ... : `keep` results from v[H*step] on, H samples of run-up
 * either side. Gain 6 = (1 - z)(1 - 1/z). */
template <int KEEP>
static __device__ __forceinline__ void recursion(const float *v, int step, float *result) {
  const float z = (float)RB_BSPLINE_POLE;
  float causal[KEEP + H], state = 0;
#pragma unroll
  for (int k = 0; k < H; k++) state = v[k * step] + z * state;
#pragma unroll
  for (int k = 0; k < KEEP + H; k++) causal[k] = state = v[(H + k) * step] + z * state;
  state = 0;
#pragma unroll
  for (int k = KEEP + H - 1; k >= 0; k--) {
    state = z * (state - causal[k]);
    if (k < KEEP) result[k] = 6.0f * state;
  }
}

/* x3 and x2 of one plane: load a tile with halo, filter its rows in place, then its columns. */
static __global__ void __launch_bounds__(256, 3) prefilter_plane(const float *__restrict__ in, float *__restrict__ out, int n2, int n3) {
  __shared__ float s[SPAN * PITCH];
  int64_t plane = (int64_t)blockIdx.z * n2 * n3;
  int x0 = blockIdx.x * TX, y0 = blockIdx.y * TY;
  for (int r = threadIdx.x / 32; r < SPAN; r += 8) {
    const float *row = in + plane + (int64_t)rb_wrap_near(y0 + r - H, n2) * n3;
    for (int c = threadIdx.x % 32; c < SPAN; c += 32) s[r * PITCH + c] = row[rb_wrap_near(x0 + c - H, n3)];
  }
  __syncthreads();
  float kept[2][SEG];
  enum { ROW_TASKS = SPAN * (TX / SEG) };
#pragma unroll
  for (int q = 0; q < 2; q++) {
    int task = threadIdx.x + 256 * q;
    if (task < ROW_TASKS) recursion<SEG>(s + (task % SPAN) * PITCH + task / SPAN * SEG, 1, kept[q]);
  }
  __syncthreads();
#pragma unroll
  for (int q = 0; q < 2; q++) {
    int task = threadIdx.x + 256 * q;
    if (task < ROW_TASKS)
#pragma unroll
      for (int k = 0; k < SEG; k++) s[(task % SPAN) * PITCH + task / SPAN * SEG + H + k] = kept[q][k];
  }
  __syncthreads();
  int column = threadIdx.x % TX, segment = threadIdx.x / TX * SEG;
  recursion<SEG>(s + segment * PITCH + H + column, PITCH, kept[0]);
#pragma unroll
  for (int k = 0; k < SEG; k++)
    if (x0 + column < n3 && y0 + segment + k < n2) out[plane + (int64_t)(y0 + segment + k) * n3 + x0 + column] = kept[0][k];
}

struct taps25 {
  float h[H + 1];
};

/* x1: a thread marches down a column with the last 25 values in registers. */
static __global__ void __launch_bounds__(128) prefilter_march(const float *__restrict__ in, float *__restrict__ out, int n1,
                                                             int64_t plane, taps25 t) {
  int64_t column = (int64_t)blockIdx.x * 128 + threadIdx.x;
  int start = blockIdx.y * MARCH;
  if (column >= plane) return;
  float ring[RING];
#pragma unroll
  for (int k = 0; k < RING - 1; k++) ring[k] = in[(int64_t)rb_wrap_near(start + k - H, n1) * plane + column];
  for (int k0 = 0; k0 < MARCH; k0 += RING) {
#pragma unroll
    for (int k = 0; k < RING; k++) {
      int at = start + k0 + k;
      if (k0 + k < MARCH && at < n1) {
        ring[(k + RING - 1) % RING] = in[(int64_t)rb_wrap_near(at + H, n1) * plane + column];
        float v = t.h[0] * ring[(k + H) % RING];
#pragma unroll
        for (int l = 1; l <= H; l++) v += t.h[l] * (ring[(k + H + l) % RING] + ring[(k + H - l) % RING]);
        out[(int64_t)at * plane + column] = v;
      }
    }
  }
}

rb_status rb_prefilter_exact(rb_grid g, const float *in, float *out, float *scratch) {
  rb_status st = RB_OK;
  int n1 = (int)g.n[0], n2 = (int)g.n[1], n3 = (int)g.n[2];
  int64_t plane = g.n[1] * g.n[2];
  taps25 t;
  for (int l = 0; l <= H; l++) t.h[l] = (float)(sqrt(3.0) * pow(RB_BSPLINE_POLE, l));
  for (int first = 0; first < n1; first += 65535)
    RB_LAUNCH(prefilter_plane, dim3(rb_blocks(n3, TX), rb_blocks(n2, TY), (unsigned)(n1 - first < 65535 ? n1 - first : 65535)), 256, 0,
              in + first * plane, scratch + first * plane, n2, n3);
  RB_LAUNCH(prefilter_march, dim3(rb_blocks(plane, 128), rb_blocks(n1, MARCH)), 128, 0, scratch, out, n1, plane, t);
done:
  return st;
}
