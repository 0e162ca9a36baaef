/* SPDX-License-Identifier: BSD-3-Clause */
/* GPU-FD8 (brunn2020 2.3.2, 3.2): a block loads a 2D tile with halo into shared memory and differentiates
 * along one axis; one kernel an axis. Any size, periodic. */
#include "kernels/derivative/derivative_fd.cuh"

/* A block of LINE x ROWS threads along x3; along x2 and x1 of WIDTH x STRIP threads, each of which takes DEPTH /
 * STRIP points. */
enum { LINE = 32, ROWS = 4, DEPTH = 32, WIDTH = 32, STRIP = 8 };

/* Along x3: ROWS lines of LINE points; first of the three axes, so it writes where the others may add. s[y]: the
 * thread row's line with HALO points at both ends, periodic. */
static __global__ void along_x3(const float *__restrict__ in, float *__restrict__ out, int64_t rows, int n,
                                fd8_coefficients k) {
  __shared__ float s[ROWS][LINE + 2 * HALO];
  int64_t row = (int64_t)blockIdx.y * ROWS + threadIdx.y;
  int start = blockIdx.x * LINE, at = start + threadIdx.x;
  if (row < rows)
    for (int i = threadIdx.x; i < LINE + 2 * HALO; i += LINE)
      s[threadIdx.y][i] = in[row * n + rb_wrap_near(start + i - HALO, n)];
  /* The lines are whole: threads without a point leave behind it only. */
  __syncthreads();
  if (row >= rows || at >= n) return;
  const float *c = &s[threadIdx.y][threadIdx.x + HALO];
  float v = 0.0f;
#pragma unroll
  for (int l = 1; l <= HALO; l++) v += k.c[2][l - 1] * (c[l] - c[-l]);
  out[row * n + at] = v;
}

/* Along x2 or x1: a tile of DEPTH points of the axis by WIDTH of x3. ADD accumulates into out (divergence). Element
 * (o, i, f) lies at o * other + i * stride + f: o counts the third axis (blockIdx.z), i the differentiated one, f x3.
 * Threads of a warp run along f, in memory as in shared memory. */
template <int AXIS, int ADD>
static __global__ void along_strided(const float *__restrict__ in, float *__restrict__ out, int n, int64_t stride,
                                     int64_t other, int n3, fd8_coefficients k) {
  __shared__ float s[DEPTH + 2 * HALO][WIDTH];
  int f = blockIdx.x * WIDTH + threadIdx.x, start = blockIdx.y * DEPTH;
  int64_t base = (int64_t)blockIdx.z * other + f;
  if (f < n3)
    for (int i = threadIdx.y; i < DEPTH + 2 * HALO; i += STRIP)
      s[i][threadIdx.x] = in[base + rb_wrap_near(start + i - HALO, n) * stride];
  /* The tile with its halo is whole. */
  __syncthreads();
  if (f >= n3) return;
  for (int i = threadIdx.y; i < DEPTH && start + i < n; i += STRIP) {
    int64_t at = base + (start + i) * stride;
    /* The axes follow each other in separate launches, x3 first: their order of summation is fixed. */
    float v = ADD ? out[at] : 0.0f;
#pragma unroll
    for (int l = 1; l <= HALO; l++)
      v += k.c[AXIS][l - 1] * (s[i + HALO + l][threadIdx.x] - s[i + HALO - l][threadIdx.x]);
    out[at] = v;
  }
}

enum { SLAB = RB_MOST_BLOCKS_YZ };

/* in1..3 and out1..3: the fields of the three axes (equal for a gradient's input, a divergence's output). */
template <int ADD>
static rb_status run(rb_grid g, const float *const in[3], float *const out[3]) {
  rb_status st = RB_OK;
  fd8_coefficients k = fd8_make(g);
  int n1 = (int)g.n[0], n2 = (int)g.n[1], n3 = (int)g.n[2];
  int64_t rows = g.n[0] * g.n[1], plane = g.n[1] * g.n[2];
  dim3 line(LINE, ROWS), strip(WIDTH, STRIP);
  /* Blocks along y and z end at 65535: longer axes go in slabs. */
  for (int64_t first = 0; first < rows; first += (int64_t)SLAB * ROWS) {
    int64_t count = rows - first < (int64_t)SLAB * ROWS ? rows - first : (int64_t)SLAB * ROWS;
    RB_LAUNCH(along_x3, dim3(rb_blocks(n3, LINE), rb_blocks(count, ROWS)), line, 0, in[2] + first * n3,
              out[2] + first * n3, count, n3, k);
  }
  /* Along x2: planes are the other axis. */
  for (int first = 0; first < n1; first += SLAB)
    RB_LAUNCH((along_strided<1, ADD>),
              dim3(rb_blocks(n3, WIDTH), rb_blocks(n2, DEPTH), (unsigned)(n1 - first < SLAB ? n1 - first : SLAB)),
              strip, 0, in[1] + first * plane, out[1] + first * plane, n2, g.n[2], plane, n3, k);
  /* Along x1: rows are the other axis. */
  for (int first = 0; first < n2; first += SLAB)
    RB_LAUNCH((along_strided<0, ADD>),
              dim3(rb_blocks(n3, WIDTH), rb_blocks(n1, DEPTH), (unsigned)(n2 - first < SLAB ? n2 - first : SLAB)),
              strip, 0, in[0] + (int64_t)first * n3, out[0] + (int64_t)first * n3, n1, plane, g.n[2], n3, k);
done:
  return st;
}

static rb_status gradient(rb_derivative_plan *p, const void *f, void *g) {
  int64_t n = rb_grid_points(p->desc.grid);
  const float *in[3] = {(const float *)f, (const float *)f, (const float *)f};
  float *out[3] = {(float *)g, (float *)g + n, (float *)g + 2 * n};
  return run<0>(p->desc.grid, in, out);
}
static rb_status divergence(rb_derivative_plan *p, const void *v, void *d) {
  int64_t n = rb_grid_points(p->desc.grid);
  const float *in[3] = {(const float *)v, (const float *)v + n, (const float *)v + 2 * n};
  float *out[3] = {(float *)d, (float *)d, (float *)d};
  return run<1>(p->desc.grid, in, out);
}

extern "C" const rb_derivative_ops rb_derivative_tile = {fd8_supports, fd8_plan, gradient, divergence, fd8_destroy};
