/* Ours. A thread that marches along an axis keeps the sums that are not complete yet in registers: every value is loaded once and
 * added to all of them, acc[j] = acc[j + 1] + k(j) f, where the shift costs nothing. No tap is read again, nothing is shared.
 *
 * pass: along x1 and x2 a thread a column; along x3 a warp a piece of a row, four outputs a thread from shared memory.
 * run:  all three axes in one kernel: a tile of planes is filtered along x3 and x2 in shared memory and along x1 in registers.
 *
 * Radii are compiled in (3, 6, 7, 9, 12: one between takes the next, with zero weights); beyond, A3's passes. */
#include "kernels/smooth/smooth_cuda.cuh"

/* Radius compiled in for r; 0: none. */
static int compiled_radius(int r, int most) {
  static const int compiled[] = {3, 6, 7, 9, 12};
  for (size_t i = 0; i < sizeof compiled / sizeof *compiled; i++)
    if (r <= compiled[i]) return compiled[i] <= most ? compiled[i] : 0;
  return 0;
}

/* ---- a pass along x1 or x2 ---------------------------------------------------------------------------- */

enum { THREADS = 128, AHEAD = 4 };

/* Blocks that run together work on few planes: columns of one piece first, then the pieces of one line of columns. */
template <int R>
static __global__ void __launch_bounds__(THREADS) column_kernel(view v, weights w, int piece, int across, const float *__restrict__ in, float *__restrict__ out) {
  const int pieces = (v.length + piece - 1) / piece, rest = (int)(blockIdx.x % (unsigned)(across * pieces));
  const int64_t column = (int64_t)(rest % across) * THREADS + threadIdx.x;
  if (column >= v.inner) return;
  const int64_t first = (int64_t)(blockIdx.x / (unsigned)(across * pieces)) * v.length * v.inner + column;
  const int begin = rest / across * piece, end = min(begin + piece, v.length);
  float acc[2 * R + 2] = {}; /* acc[j]: what in[at] adds to output at - R + j; the last stays 0 */
  for (int at = begin - R; at < end + R; at += AHEAD) {
    float f[AHEAD];
#pragma unroll
    for (int q = 0; q < AHEAD; q++) f[q] = at + q >= 0 && at + q < v.length && at + q < end + R ? in[first + (at + q) * v.inner] : 0.0f;
#pragma unroll
    for (int q = 0; q < AHEAD; q++) {
#pragma unroll
      for (int j = 0; j <= 2 * R; j++) acc[j] = fmaf(w.k[j < R ? R - j : j - R], f[q], acc[j + 1]);
      const int to = at + q - R;
      if (to >= begin && to < end) __stcs(out + first + to * v.inner, acc[0]);
    }
  }
}

/* ---- a pass along x3 ---------------------------------------------------------------------------------- */

enum { ROW_WARPS = 4, SEGMENT = 128 };

template <int R>
static __global__ void __launch_bounds__(32 * ROW_WARPS) row_kernel(int64_t rows, int length, int segments, weights w, const float *__restrict__ in, float *__restrict__ out) {
  enum { SIDE = (R + 3) / 4 * 4 };
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
  __syncwarp();
  float f[4 + 2 * SIDE], sum[4];
#pragma unroll
  for (int q = 0; q < 4 + 2 * SIDE; q += 4) *reinterpret_cast<float4 *>(f + q) = *reinterpret_cast<const float4 *>(s + 4 * lane + q);
#pragma unroll
  for (int q = 0; q < 4; q++) {
    sum[q] = w.k[0] * f[SIDE + q];
#pragma unroll
    for (int d = 1; d <= R; d++) sum[q] = fmaf(w.k[d], f[SIDE + q - d] + f[SIDE + q + d], sum[q]);
  }
  __syncwarp();
  *reinterpret_cast<float4 *>(s + 4 * lane) = make_float4(sum[0], sum[1], sum[2], sum[3]);
  __syncwarp();
#pragma unroll
  for (int t = lane; t < SEGMENT; t += 32)
    if (begin + t < length) out[row * length + begin + t] = s[t];
}

/* ---- all three axes ----------------------------------------------------------------------------------- */

enum { FUSED_MOST = 9, TILE3 = 64, TILE2 = 32, FUSED_THREADS = 512, EACH = TILE3 * TILE2 / FUSED_THREADS };

/* V: floats a load brings (4 where rows begin on 16 bytes). Two planes as they are, two filtered along x3. */
template <int R, int V>
struct shape {
  enum { SIDE = (R + 3) / 4 * 4, WIDTH = TILE3 + 2 * SIDE, HEIGHT = TILE2 + 2 * R, CELLS = WIDTH * HEIGHT, LOADS = (CELLS / V + FUSED_THREADS - 1) / FUSED_THREADS };
  enum { FILTERED = HEIGHT * TILE3, BYTES = 2 * (CELLS + FILTERED) * (int)sizeof(float) };
};

/* V floats to shared memory without waiting; zeros where there is no source. */
template <int V>
static __device__ __forceinline__ void fetch(float *to, const float *from, int there) {
#if __CUDA_ARCH__ >= 800
  const unsigned address = (unsigned)__cvta_generic_to_shared(to);
  const int bytes = there ? 4 * V : 0;
  if (V == 4) asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(bytes) : "memory");
  else asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(address), "l"(from), "r"(bytes) : "memory");
#else
  for (int q = 0; q < V; q++) to[q] = there ? from[q] : 0.0f;
#endif
}
static __device__ __forceinline__ void fetch_end(void) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

/* sum[q] = the kernel over a[SIDE + q - R .. SIDE + q + R]. */
template <int R, int COUNT, int SIDE>
static __device__ __forceinline__ void filter(const weights &w, const float *a, float *sum) {
#pragma unroll
  for (int q = 0; q < COUNT; q++) {
    sum[q] = w.k[0] * a[SIDE + q];
#pragma unroll
    for (int d = 1; d <= R; d++) sum[q] = fmaf(w.k[d], a[SIDE + q - d] + a[SIDE + q + d], sum[q]);
  }
}

/* One barrier a plane: while plane z is filtered along x3 and plane z + 1 is on its way, plane z - 1 is filtered along x2 and added
 * to the 2 R + 1 sums along x1. */
template <int R, int V>
static __global__ void __launch_bounds__(FUSED_THREADS, 1) fused_kernel(int n1, int n2, int n3, int piece, int pieces, weights w, const float *__restrict__ in,
                                                                       float *__restrict__ out) {
  typedef shape<R, V> S;
  extern __shared__ __align__(16) float planes[];
  float *const raw = planes, *const rows = planes + 2 * S::CELLS;
  const int t = threadIdx.x, x0 = blockIdx.x * TILE3, y0 = blockIdx.y * TILE2, begin = (int)(blockIdx.z % pieces) * piece, end = min(begin + piece, n1);
  const int64_t plane = (int64_t)n2 * n3;
  const float *f = in + blockIdx.z / pieces * plane * n1;
  float *g = out + blockIdx.z / pieces * plane * n1;
  int from[S::LOADS]; /* of a plane; -1: zeros */
#pragma unroll
  for (int q = 0; q < S::LOADS; q++) {
    const int cell = (t + q * FUSED_THREADS) * V, x = x0 + cell % S::WIDTH - S::SIDE, y = y0 + cell / S::WIDTH - R;
    const int used = V > 1 || (x >= x0 - R && x < x0 + TILE3 + R);
    from[q] = cell < S::CELLS && x >= 0 && x < n3 && y >= 0 && y < n2 && used ? y * n3 + x : -1;
  }
  const int column = t % TILE3, row = t / TILE3 * EACH;
  float acc[EACH][2 * R + 2] = {};

  auto load = [&](int z, int turn) {
    const float *source = f + z * plane;
#pragma unroll
    for (int q = 0; q < S::LOADS; q++) {
      const int cell = (t + q * FUSED_THREADS) * V;
      if (cell < S::CELLS) fetch<V>(raw + turn * S::CELLS + cell, source + (from[q] < 0 ? 0 : from[q]), from[q] >= 0);
    }
  };
  const int low = max(begin - R, 0), high = min(end + R, n1);
  load(low, 0);
  /* outputs before `low` + R need nothing from below it: zeros, as acc starts */
  for (int z = low; z <= end + R; z++) {
    const int turn = (z - low) & 1;
    if (z < high) fetch_end();
    __syncthreads(); /* plane z is there, and so are the rows of plane z - 1; the other buffers are read no more */
    if (z + 1 < high) load(z + 1, turn ^ 1);
    for (int task = t; z < high && task < S::HEIGHT * (TILE3 / 4); task += FUSED_THREADS) {
      const float *s = raw + turn * S::CELLS + task / (TILE3 / 4) * S::WIDTH + task % (TILE3 / 4) * 4;
      float a[4 + 2 * S::SIDE], sum[4];
#pragma unroll
      for (int q = 0; q < 4 + 2 * S::SIDE; q += 4) *reinterpret_cast<float4 *>(a + q) = *reinterpret_cast<const float4 *>(s + q);
      filter<R, 4, S::SIDE>(w, a, sum);
      *reinterpret_cast<float4 *>(rows + turn * S::FILTERED + task * 4) = make_float4(sum[0], sum[1], sum[2], sum[3]);
    }
    if (z == low) continue;
    float v[EACH] = {};
    if (z - 1 < high) {
      float b[EACH + 2 * R];
#pragma unroll
      for (int q = 0; q < EACH + 2 * R; q++) b[q] = rows[(turn ^ 1) * S::FILTERED + (row + q) * TILE3 + column];
      filter<R, EACH, R>(w, b, v);
    }
    const int to = z - 1 - R;
#pragma unroll
    for (int q = 0; q < EACH; q++) {
#pragma unroll
      for (int j = 0; j <= 2 * R; j++) acc[q][j] = fmaf(w.k[j < R ? R - j : j - R], v[q], acc[q][j + 1]);
      if (to >= begin && y0 + row + q < n2 && x0 + column < n3) __stcs(g + to * plane + (int64_t)(y0 + row + q) * n3 + x0 + column, acc[q][0]);
    }
  }
}

/* Into how many pieces x1 is cut: whole rounds of blocks, and few planes filtered twice. */
static int best_pieces(int64_t tiles, int n1, int radius, int slots) {
  int best = 1;
  double least = 0;
  for (int pieces = 1; pieces <= n1 && pieces <= 64; pieces++) {
    const int piece = (n1 + pieces - 1) / pieces;
    const double cost = (double)((tiles * pieces + slots - 1) / slots) * (piece + 2 * radius);
    if (pieces == 1 || cost < least) least = cost, best = pieces;
  }
  return best;
}
static rb_status multiprocessors(int *out) {
  rb_status st = RB_OK;
  int device;
  RB_CUDA_TRY(cudaGetDevice(&device));
  RB_CUDA_TRY(cudaDeviceGetAttribute(out, cudaDevAttrMultiProcessorCount, device));
done:
  return st;
}

/* ---- dispatch ----------------------------------------------------------------------------------------- */

template <int R>
static rb_status along(const rb_smooth_plan *p, const rb_smooth_kernel *k, int axis, const void *in, void *out) {
  rb_status st = RB_OK;
  const view v = view_of(&p->desc, axis);
  if (axis == 2) {
    const int segments = (v.length + SEGMENT - 1) / SEGMENT;
    RB_LAUNCH(row_kernel<R>, rb_blocks(v.lines * segments, ROW_WARPS), 32 * ROW_WARPS, 0, v.lines, v.length, segments, weights_of(k), (const float *)in, (float *)out);
  } else {
    /* short pieces along x2, whose rows lie a row apart, longer ones along x1: measured at 2 and 37 M voxels */
    const int pieces = (v.length + (axis == 1 ? 47 : 79)) / (axis == 1 ? 48 : 80), piece = (v.length + pieces - 1) / pieces, across = (int)rb_blocks(v.inner, THREADS);
    RB_LAUNCH(column_kernel<R>, (unsigned)(v.lines * across * ((v.length + piece - 1) / piece)), THREADS, 0, v, weights_of(k), piece, across, (const float *)in, (float *)out);
  }
done:
  return st;
}
static rb_status pass(rb_smooth_plan *p, const rb_smooth_kernel *k, int axis, const void *in, void *out) {
  switch (compiled_radius(k->radius, 12)) {
    case 3: return along<3>(p, k, axis, in, out);
    case 6: return along<6>(p, k, axis, in, out);
    case 7: return along<7>(p, k, axis, in, out);
    case 9: return along<9>(p, k, axis, in, out);
    case 12: return along<12>(p, k, axis, in, out);
    default: return axis == 2 ? smooth_lines(p, k, axis, in, out) : smooth_tiles(p, k, axis, in, out);
  }
}

template <int R, int V>
static rb_status fused_by(const rb_smooth_plan *p, const rb_smooth_kernel *k, const void *in, void *out) {
  rb_status st = RB_OK;
  const rb_grid g = p->desc.grid;
  dim3 blocks(rb_blocks(g.n[2], TILE3), rb_blocks(g.n[1], TILE2));
  int sms;
  RB_TRY(multiprocessors(&sms));
  RB_CUDA_TRY(cudaFuncSetAttribute(fused_kernel<R, V>, cudaFuncAttributeMaxDynamicSharedMemorySize, shape<R, V>::BYTES));
  {
    const int pieces = best_pieces((int64_t)blocks.x * blocks.y * p->desc.components, (int)g.n[0], R, sms), piece = ((int)g.n[0] + pieces - 1) / pieces;
    const int used = ((int)g.n[0] + piece - 1) / piece;
    blocks.z = (unsigned)(used * p->desc.components);
    RB_LAUNCH((fused_kernel<R, V>), blocks, FUSED_THREADS, (shape<R, V>::BYTES), (int)g.n[0], (int)g.n[1], (int)g.n[2], piece, used, weights_of(k), (const float *)in,
              (float *)out);
  }
done:
  return st;
}
template <int R>
static rb_status fused(const rb_smooth_plan *p, const rb_smooth_kernel *k, const void *in, void *out) {
  return p->desc.grid.n[2] % 4 == 0 && (uintptr_t)in % 16 == 0 ? fused_by<R, 4>(p, k, in, out) : fused_by<R, 1>(p, k, in, out);
}
static rb_status run(rb_smooth_plan *p, const rb_smooth_kernel *k, const void *in, void *out) {
  rb_status st = RB_OK;
  switch (compiled_radius(k->radius, FUSED_MOST)) {
    case 3: return fused<3>(p, k, in, out);
    case 6: return fused<6>(p, k, in, out);
    case 7: return fused<7>(p, k, in, out);
    case 9: return fused<9>(p, k, in, out);
    default: break;
  }
  RB_TRY(pass(p, k, 2, in, out));
  RB_TRY(pass(p, k, 1, out, p->scratch));
  RB_TRY(pass(p, k, 0, p->scratch, out));
done:
  return st;
}

extern "C" const rb_smooth_ops rb_smooth_march = {smooth_supports, smooth_plan, pass, run, smooth_destroy};
