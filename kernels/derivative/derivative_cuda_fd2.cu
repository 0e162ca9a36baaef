/* SPDX-License-Identifier: BSD-3-Clause */
/* Central differences of second order, periodic: the gradient of ha2009's Table 1, plain and optimised, and ours.
 *
 *   cuda/fd2-naive   plain: a thread a point, six reads from global memory
 *   cuda/fd2-tile    the paper's: a tile of a plane with its border in shared memory, marching along x1 with the
 *                    planes before and behind in registers
 *   cuda/fd2-direct  ours: four values of x3 a thread by 16-byte accesses, neighbours from the L1 cache, no barrier
 */
#include "kernels/cuda/cuda.cuh"
#include "kernels/derivative/derivative.h"

#include <stdlib.h>

enum { LINE = 32, ROWS = 8, THREADS = LINE * ROWS }; /* a block: LINE threads along x3, ROWS along x2 */
enum { PLANES = 16 };                                /* that a block of fd2-tile marches through */

/* 1 / (2 h_a) */
struct fd2_coefficients {
  float c[3];
};
static fd2_coefficients fd2_make(rb_grid g) {
  fd2_coefficients k;
  for (int a = 0; a < 3; a++) k.c[a] = (float)(0.5 / rb_grid_spacing(g, a));
  return k;
}

/* blocks.y and .z end at 65535 */
static rb_status supports(const rb_derivative_desc *d) {
  if (d->scheme != RB_FD2 || d->dtype != RB_F32)
    return RB_FAIL(RB_EUNSUPPORTED, "this variant is fd2 in float32 only");
  if (d->grid.n[0] > RB_MOST_BLOCKS_YZ || d->grid.n[1] > (int64_t)RB_MOST_BLOCKS_YZ * ROWS)
    return RB_FAIL(RB_EUNSUPPORTED, "this variant ends at %d planes of %d rows", RB_MOST_BLOCKS_YZ,
                   RB_MOST_BLOCKS_YZ * ROWS);
  return RB_OK;
}
static rb_status plan(const rb_backend *, const rb_derivative_desc *, rb_derivative_plan **out) {
  *out = (rb_derivative_plan *)calloc(1, sizeof **out);
  return *out ? RB_OK : RB_FAIL(RB_ENOMEM, "host memory");
}
static void destroy(rb_derivative_plan *p) { free(p); }

static __device__ __forceinline__ int after(int i, int n) { return i + 1 < n ? i + 1 : 0; }
static __device__ __forceinline__ int before(int i, int n) { return i > 0 ? i - 1 : n - 1; }

/* ---- plain, and any divergence: thread (x, y) of block z owns a point of plane z --------------------------------
 */

/* in1, in2, in3: what is differentiated along each axis. SUM: one output, else three. */
template <int SUM>
static __global__ void __launch_bounds__(THREADS)
    points(const float *__restrict__ in1, const float *__restrict__ in2, const float *__restrict__ in3,
           float *__restrict__ out, int n1, int n2, int n3, fd2_coefficients k) {
  const int x = blockIdx.x * LINE + threadIdx.x, y = blockIdx.y * ROWS + threadIdx.y, z = blockIdx.z;
  if (x >= n3 || y >= n2) return;
  const int64_t plane = (int64_t)n2 * n3, row = z * plane + (int64_t)y * n3, n = n1 * plane, p = row + x;
  const int64_t column = (int64_t)y * n3 + x;
  const float d1 = k.c[0] * (in1[after(z, n1) * plane + column] - in1[before(z, n1) * plane + column]);
  const float d2 =
      k.c[1] * (in2[z * plane + (int64_t)after(y, n2) * n3 + x] - in2[z * plane + (int64_t)before(y, n2) * n3 + x]);
  const float d3 = k.c[2] * (in3[row + after(x, n3)] - in3[row + before(x, n3)]);
  if (SUM)
    out[p] = d1 + d2 + d3;
  else
    out[p] = d1, out[n + p] = d2, out[2 * n + p] = d3;
}
static dim3 blocks_of(rb_grid g, int values, int planes) {
  return dim3(rb_blocks(g.n[2], LINE * values), rb_blocks(g.n[1], ROWS), rb_blocks(g.n[0], planes));
}
static rb_status naive_gradient(rb_derivative_plan *p, const void *f, void *out) {
  rb_status st = RB_OK;
  const rb_grid g = p->desc.grid;
  const float *in = (const float *)f;
  RB_LAUNCH(points<0>, blocks_of(g, 1, 1), dim3(LINE, ROWS), 0, in, in, in, (float *)out, (int)g.n[0], (int)g.n[1],
            (int)g.n[2], fd2_make(g));
done:
  return st;
}
static rb_status divergence(rb_derivative_plan *p, const void *v, void *out) {
  rb_status st = RB_OK;
  const rb_grid g = p->desc.grid;
  const int64_t n = rb_grid_points(g);
  const float *in = (const float *)v;
  RB_LAUNCH(points<1>, blocks_of(g, 1, 1), dim3(LINE, ROWS), 0, in, in + n, in + 2 * n, (float *)out, (int)g.n[0],
            (int)g.n[1], (int)g.n[2], fd2_make(g));
done:
  return st;
}

/* ---- the paper's: s holds the plane's tile with one point around it ----------------------------------------------
 */

/* Thread (x, y) owns a column of PLANES points. It keeps its own values of the planes before, at and behind the
 * current one; the edge threads also load the tile's border. */
static __global__ void __launch_bounds__(THREADS)
    tile(const float *__restrict__ f, float *__restrict__ g, int n1, int n2, int n3, fd2_coefficients k) {
  __shared__ float s[ROWS + 2][LINE + 2];
  const int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * LINE + tx, y = blockIdx.y * ROWS + ty;
  const int first = blockIdx.z * PLANES, last = first + PLANES < n1 ? first + PLANES : n1;
  const bool inside = x < n3 && y < n2;
  const int64_t plane = (int64_t)n2 * n3, n = n1 * plane, column = (int64_t)y * n3 + x;
  float low = inside ? f[before(first, n1) * plane + column] : 0.0f, own = inside ? f[first * plane + column] : 0.0f;
  for (int z = first; z < last; z++) {
    const float *at = f + z * plane;
    const float high = inside ? f[after(z, n1) * plane + column] : 0.0f;
    /* No thread still reads the plane before. */
    __syncthreads();
    if (inside) {
      s[ty + 1][tx + 1] = own;
      if (ty == 0) s[0][tx + 1] = at[(int64_t)before(y, n2) * n3 + x];
      if (ty == ROWS - 1 || y == n2 - 1) s[ty + 2][tx + 1] = at[(int64_t)after(y, n2) * n3 + x];
      if (tx == 0) s[ty + 1][0] = at[(int64_t)y * n3 + before(x, n3)];
      if (tx == LINE - 1 || x == n3 - 1) s[ty + 1][tx + 2] = at[(int64_t)y * n3 + after(x, n3)];
    }
    /* The tile and its border are whole. */
    __syncthreads();
    if (inside) {
      const int64_t p = z * plane + column;
      g[p] = k.c[0] * (high - low);
      g[n + p] = k.c[1] * (s[ty + 2][tx + 1] - s[ty][tx + 1]);
      g[2 * n + p] = k.c[2] * (s[ty + 1][tx + 2] - s[ty + 1][tx]);
    }
    low = own, own = high;
  }
}
static rb_status tile_gradient(rb_derivative_plan *p, const void *f, void *out) {
  rb_status st = RB_OK;
  const rb_grid g = p->desc.grid;
  RB_LAUNCH(tile, blocks_of(g, 1, PLANES), dim3(LINE, ROWS), 0, (const float *)f, (float *)out, (int)g.n[0],
            (int)g.n[1], (int)g.n[2], fd2_make(g));
done:
  return st;
}

/* ---- ours: thread (x, y) of block z owns four neighbouring points of x3 in plane z -------------------------------
 */

static __device__ __forceinline__ float4 four(const float *f, int64_t at) {
  return *reinterpret_cast<const float4 *>(f + at);
}
/* Results are not read again here: leave the cache to the field. */
static __device__ __forceinline__ void put(float *f, int64_t at, float c, float4 a, float4 b) {
  __stcs(reinterpret_cast<float4 *>(f + at),
         make_float4(c * (a.x - b.x), c * (a.y - b.y), c * (a.z - b.z), c * (a.w - b.w)));
}
/* n3 is a multiple of four and both arrays are aligned to 16 bytes. */
static __global__ void __launch_bounds__(THREADS)
    direct(const float *__restrict__ f, float *__restrict__ g, int n1, int n2, int n3, fd2_coefficients k) {
  const int x = (blockIdx.x * LINE + threadIdx.x) * 4, y = blockIdx.y * ROWS + threadIdx.y, z = blockIdx.z;
  if (x >= n3 || y >= n2) return;
  const int64_t plane = (int64_t)n2 * n3, row = z * plane + (int64_t)y * n3, n = n1 * plane, p = row + x;
  const int64_t column = (int64_t)y * n3 + x;
  const float4 own = four(f, p);
  const float left = f[row + before(x, n3)], right = f[row + after(x + 3, n3)];
  put(g, p, k.c[0], four(f, after(z, n1) * plane + column), four(f, before(z, n1) * plane + column));
  put(g, n + p, k.c[1], four(f, z * plane + (int64_t)after(y, n2) * n3 + x),
      four(f, z * plane + (int64_t)before(y, n2) * n3 + x));
  put(g, 2 * n + p, k.c[2], make_float4(own.y, own.z, own.w, right), make_float4(left, own.x, own.y, own.z));
}
/* Rows that are no whole packs of four, or unaligned arrays: the plain kernel. */
static rb_status direct_gradient(rb_derivative_plan *p, const void *f, void *out) {
  rb_status st = RB_OK;
  const rb_grid g = p->desc.grid;
  if (g.n[2] % 4 != 0 || ((uintptr_t)f | (uintptr_t)out) % 16 != 0) return naive_gradient(p, f, out);
  RB_LAUNCH(direct, blocks_of(g, 4, 1), dim3(LINE, ROWS), 0, (const float *)f, (float *)out, (int)g.n[0], (int)g.n[1],
            (int)g.n[2], fd2_make(g));
done:
  return st;
}

extern "C" const rb_derivative_ops rb_derivative_fd2_naive = {supports, plan, naive_gradient, divergence, destroy};
extern "C" const rb_derivative_ops rb_derivative_fd2_tile = {supports, plan, tile_gradient, divergence, destroy};
extern "C" const rb_derivative_ops rb_derivative_fd2_direct = {supports, plan, direct_gradient, divergence, destroy};
