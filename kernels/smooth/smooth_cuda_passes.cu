/* SPDX-License-Identifier: BSD-3-Clause */
/* Ours, one axis at a time. Along x1 and x2 a thread marches down a column and keeps the sums that are not complete
 * yet in registers: every value is loaded once and added to all of them, acc[j] = acc[j + 1] + k(j) f, where the
 * shift costs nothing. Along x3 a thread works out neighbouring outputs of a row.
 *
 * V: values a thread takes side by side; 4 where rows begin on 16 bytes, else 1. Radii are compiled in
 * (compiled_radius). */
#include "kernels/smooth/smooth_cuda_march.cuh"

/* THREADS a block; SEGMENT outputs of a row for a warp, four a lane; ROW_WARPS warps a block. */
enum { THREADS = 128, SEGMENT = 128, ROW_WARPS = THREADS / 32 };

/* V values from memory, or zeros where there is nothing. Indices modulo V keep the code valid for V = 1, where they
 * are not reached. */
template <int V>
static __device__ __forceinline__ void load(const float *__restrict__ from, bool there, float (&to)[V]) {
  if (V == 4) {
    const float4 f = there ? *reinterpret_cast<const float4 *>(from) : make_float4(0, 0, 0, 0);
    to[0] = f.x, to[1 % V] = f.y, to[2 % V] = f.z, to[3 % V] = f.w;
  } else
    to[0] = there ? *from : 0.0f;
}
/* Results are not read again here: streaming stores leave the cache to the input. */
template <int V>
static __device__ __forceinline__ void store(float *to, const float (&from)[V]) {
  if (V == 4)
    __stcs(reinterpret_cast<float4 *>(to), make_float4(from[0], from[1 % V], from[2 % V], from[3 % V]));
  else
    __stcs(to, from[0]);
}

/* ---- along x1 or x2 ------------------------------------------------------------------------------------ */

/* Columns are counted through all lines, so that no thread idles; the pieces of a column run together, as they share
 * its borders. */
template <int R, int V>
static __global__ void __launch_bounds__(THREADS)
    column_kernel(view v, weights w, int piece, int pieces, const float *__restrict__ in, float *__restrict__ out) {
  /* AHEAD: values along the line that are loaded together, before the first of them is added. */
  enum { AHEAD = V == 4 ? 2 : 4 };
  const unsigned across = (unsigned)(v.inner / V), column = blockIdx.x / (unsigned)pieces * THREADS + threadIdx.x;
  if (column >= across * (unsigned)v.lines) return;
  /* Address of the column's first value: line, then place within `inner`. */
  const int64_t first = (int64_t)(column / across) * v.length * v.inner + (int64_t)(column % across) * V;
  /* This thread's outputs begin .. end - 1; it reads R values more at both ends. */
  const int begin = (int)(blockIdx.x % (unsigned)pieces) * piece, end = min(begin + piece, v.length);
  float acc[V][2 * R + 2] = {}; /* acc[][j]: what in[at] adds to output at - R + j; the last stays 0 */
  for (int at = begin - R; at < end + R; at += AHEAD) {
    /* Zeros beyond the line; what lies beyond the piece's reach is not loaded. */
    float f[AHEAD][V];
#pragma unroll
    for (int q = 0; q < AHEAD; q++)
      load<V>(in + first + (at + q) * v.inner, at + q >= 0 && at + q < v.length && at + q < end + R, f[q]);
#pragma unroll
    for (int q = 0; q < AHEAD; q++) {
      float done[V];
#pragma unroll
      for (int c = 0; c < V; c++) {
        /* Value `at` reaches outputs at - R .. at + R. After it is added, output at - R is complete, in acc[][0]; the
         * shift by one is in the indices and costs no instruction. */
#pragma unroll
        for (int j = 0; j <= 2 * R; j++) acc[c][j] = fmaf(w.k[j < R ? R - j : j - R], f[q][c], acc[c][j + 1]);
        done[c] = acc[c][0];
      }
      const int to = at + q - R;
      if (to >= begin && to < end) store<V>(out + first + to * v.inner, done);
    }
  }
}

/* ---- along x3 ------------------------------------------------------------------------------------------ */

/* sum[q] = the kernel over f[SIDE + q - R .. SIDE + q + R]. Values at equal distance are added before they are
 * multiplied. */
template <int R, int SIDE>
static __device__ __forceinline__ void four(const weights &w, const float *f, float (&sum)[4]) {
#pragma unroll
  for (int q = 0; q < 4; q++) {
    sum[q] = w.k[0] * f[SIDE + q];
#pragma unroll
    for (int d = 1; d <= R; d++) sum[q] = fmaf(w.k[d], f[SIDE + q - d] + f[SIDE + q + d], sum[q]);
  }
}

/* Rows of whole quads: a thread a quad, its neighbours from the L1 cache. */
template <int R>
static __global__ void __launch_bounds__(THREADS)
    quad_kernel(int64_t quads, int across, weights w, const float *__restrict__ in, float *__restrict__ out) {
  /* REACH quads either side hold the R neighbours. */
  enum { REACH = (R + 3) / 4, SIDE = 4 * REACH };
  const int64_t quad = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (quad >= quads) return;
  const int x = (int)(quad % across);
  float f[4 + 2 * SIDE], sum[4];
  /* A quad is outside its row where x + q is: rows follow each other in memory, and the neighbour row must not leak
   * in. */
#pragma unroll
  for (int q = -REACH; q <= REACH; q++) {
    float(&part)[4] = *reinterpret_cast<float(*)[4]>(f + SIDE + 4 * q);
    load<4>(in + 4 * (quad + q), x + q >= 0 && x + q < across, part);
  }
  four<R, SIDE>(w, f, sum);
  store<4>(out + 4 * quad, sum);
}

/* Any rows: a warp a piece of a row, four outputs a thread from shared memory. */
template <int R>
static __global__ void __launch_bounds__(THREADS) row_kernel(int64_t rows, int length, int segments, weights w,
                                                             const float *__restrict__ in, float *__restrict__ out) {
  /* A row's border rounded up to whole quads, so that 16-byte reads are aligned. */
  enum { SIDE = (R + 3) / 4 * 4 };
  /* Each warp has its own segment with its border: only the warp itself waits, no barrier of the block is needed. A
   * warp without a row may leave. */
  __shared__ __align__(16) float buffer[ROW_WARPS][SEGMENT + 2 * SIDE];
  float *s = buffer[threadIdx.x / 32];
  const int lane = threadIdx.x % 32;
  const int64_t task = (int64_t)blockIdx.x * ROW_WARPS + threadIdx.x / 32, row = task / segments;
  if (row >= rows) return;
  const int begin = (int)(task % segments) * SEGMENT;
#pragma unroll
  for (int t = lane; t < SEGMENT + 2 * SIDE; t += 32) {
    const int at = begin + t - SIDE;
    s[t] = at >= 0 && at < length ? in[row * length + at] : 0.0f;
  }
  /* The segment is whole. */
  __syncwarp();
  float f[4 + 2 * SIDE], sum[4];
#pragma unroll
  for (int q = 0; q < 4 + 2 * SIDE; q += 4)
    *reinterpret_cast<float4 *>(f + q) = *reinterpret_cast<const float4 *>(s + 4 * lane + q);
  four<R, SIDE>(w, f, sum);
  /* All lanes have read their inputs: the outputs may take their place. */
  __syncwarp();
  *reinterpret_cast<float4 *>(s + 4 * lane) = make_float4(sum[0], sum[1], sum[2], sum[3]);
  /* All outputs are there: lanes store along the row. */
  __syncwarp();
#pragma unroll
  for (int t = lane; t < SEGMENT; t += 32)
    if (begin + t < length) out[row * length + begin + t] = s[t];
}

/* ---- dispatch ------------------------------------------------------------------------------------------ */

template <int R, int V>
static rb_status columns(const view &v, int axis, const weights &w, const float *in, float *out) {
  rb_status st = RB_OK;
  /* longest piece: few columns need short ones, rows that lie a row apart shorter ones than planes: measured on an
   * H200 at 2, 26 and 37 M voxels */
  const int64_t count = v.lines * v.inner;
  const int most = V == 4 ? (count < 250000 ? 24
                             : axis == 1    ? 62
                                            : 80)
                          : (count < 100000 ? 48
                             : axis == 1    ? 24
                                            : 160);
  /* The number of pieces is the fewest that are at most `most` long; then all are made equally long. */
  const int piece = (v.length + (v.length + most - 1) / most - 1) / ((v.length + most - 1) / most),
            pieces = (v.length + piece - 1) / piece;
  RB_LAUNCH((column_kernel<R, V>), rb_blocks(v.lines * v.inner / V, THREADS) * (unsigned)pieces, THREADS, 0, v, w,
            piece, pieces, in, out);
done:
  return st;
}
template <int R>
static rb_status along(const rb_smooth_plan *p, const rb_smooth_kernel *k, int axis, const float *in, float *out) {
  rb_status st = RB_OK;
  const view v = view_of(&p->desc, axis);
  const bool quads = p->desc.grid.n[2] % 4 == 0 && ((uintptr_t)in | (uintptr_t)out) % 16 == 0;
  if (axis < 2)
    return quads ? columns<R, 4>(v, axis, weights_of(k), in, out) : columns<R, 1>(v, axis, weights_of(k), in, out);
  if (quads)
    RB_LAUNCH(quad_kernel<R>, rb_blocks(v.lines * v.length / 4, THREADS), THREADS, 0, v.lines * v.length / 4,
              v.length / 4, weights_of(k), in, out);
  else {
    const int segments = (v.length + SEGMENT - 1) / SEGMENT;
    RB_LAUNCH(row_kernel<R>, rb_blocks(v.lines * segments, ROW_WARPS), THREADS, 0, v.lines, v.length, segments,
              weights_of(k), in, out);
  }
done:
  return st;
}
rb_status smooth_march_pass(rb_smooth_plan *p, const rb_smooth_kernel *k, int axis, const void *in, void *out) {
  switch (compiled_radius(k->radius, PASSES_MOST)) {
    case 3:
      return along<3>(p, k, axis, (const float *)in, (float *)out);
    case 6:
      return along<6>(p, k, axis, (const float *)in, (float *)out);
    case 7:
      return along<7>(p, k, axis, (const float *)in, (float *)out);
    case 9:
      return along<9>(p, k, axis, (const float *)in, (float *)out);
    case PASSES_MOST:
      return along<PASSES_MOST>(p, k, axis, (const float *)in, (float *)out);
    default:
      return smooth_wide_pass(p, k, axis, in, out);
  }
}
