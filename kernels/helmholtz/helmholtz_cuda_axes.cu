/* SPDX-License-Identifier: BSD-3-Clause */
/* cuda/axes of helmholtz: cuFFT transforms planes (axes 2 and 3); one kernel does the rest, all in one pass over
 * memory: transforms along axis 1, solves, transforms back. cuda/cufft makes a pass of each of these three.
 *
 * An axis of N = R S values, x[s + S r], takes two transforms of R and S values that a thread holds:
 *   a[s][k1] = w_N^(s k1) sum_r x[s + S r] w_R^(r k1),   X[k1 + R k2] = sum_s a[s][k1] w_S^(s k2),   w_N = exp(-2 pi
 * i/N) and back the same way in reverse, with conjugate roots. Between both the values change threads in shared
 * memory.
 *
 * A block owns COLUMNS neighbours in memory of a plane and all of axis 1 for them. Thread (column, t): in the first
 * half it is s = t and holds all r, in the second it is k1 = t and holds all k2; threads beyond S or R wait
 * meanwhile. Shared memory holds a[k1][s][column]: written by s, read by k1; on the way back k1 writes over what it
 * alone has read. Without beta components do not meet: a block has one. With beta a block has all three. */
#include "kernels/helmholtz/helmholtz.h"
#include "kernels/helmholtz/helmholtz_symbol.h"
#include "kernels/cuda/cuda.cuh"
#include "kernels/fft/fft.h"
#include "kernels/fft/register_dft.cuh"

#include <math.h>
#include <stdlib.h>

extern "C" const rb_helmholtz_ops rb_helmholtz_cufft;

enum { COLUMNS = 16 }; /* 128 bytes of float2 */

/* Of axis 1, by index: w_N^k; 2 sin(pi k/n) / s, whose square is -c, and S = sin(2 pi k/n) / s. */
typedef struct {
  float2 root, symbol;
} axis_entry;

typedef struct {
  rb_helmholtz_plan head;
  rb_helmholtz_plan *whole; /* cuda/cufft, for lengths of axis 1 that are not below; then nothing else is made */
  rb_fft *planes;           /* 3 n1 of them */
  float2 *spectrum;         /* [3][n1][n2][n3/2+1] */
  axis_entry *axis;         /* [n1] on the GPU */
} axes_plan;

/* scale: 1/N of the transforms there and back; over, inverse: 1/n and 1/s of axes 2 and 3. */
typedef struct {
  float alpha, beta, gamma, scale, over[2], inverse[2];
  int half;        /* coefficients along axis 3 */
  int64_t columns; /* n2 half */
} symbol;

/* Forward along axis 1: x holds r on entry, k2 at the end. */
template <int R, int S>
static __device__ __forceinline__ void there(const axis_entry *axis, int t, int column, float2 *x, float2 *shared) {
  if (t < S) {
    rb_dft<R, -1>(x);
#pragma unroll
    for (int k1 = 0; k1 < R; k1++)
      shared[(k1 * S + t) * COLUMNS + column] = k1 ? rb_cturn<-1>(x[k1], axis[t * k1].root) : x[k1];
  }
  __syncthreads();
  if (t < R) {
#pragma unroll
    for (int s = 0; s < S; s++) x[s] = shared[(t * S + s) * COLUMNS + column];
    rb_dft<S, -1>(x);
  }
}
/* And back. */
template <int R, int S>
static __device__ __forceinline__ void back(const axis_entry *axis, int t, int column, float2 *x, float2 *shared) {
  if (t < R) {
    rb_dft<S, 1>(x);
#pragma unroll
    for (int s = 0; s < S; s++)
      shared[(t * S + s) * COLUMNS + column] = s ? rb_cturn<1>(x[s], axis[t * s].root) : x[s];
  }
  __syncthreads();
  if (t < S) {
#pragma unroll
    for (int k1 = 0; k1 < R; k1++) x[k1] = shared[(k1 * S + t) * COLUMNS + column];
    rb_dft<R, 1>(x);
  }
}

/* z [3][R S][columns] in place. COMPONENTS of a block: 1 with beta = 0, then blockIdx.y is which; else 3. */
template <int R, int S, int COMPONENTS>
static __global__ void __launch_bounds__(COLUMNS *(R > S ? R : S))
    axis_kernel(symbol m, const axis_entry *__restrict__ axis, float2 *z) {
  constexpr int N = R * S, MOST = R > S ? R : S;
  __shared__ float2 shared[N * COLUMNS];
  const int column = threadIdx.x % COLUMNS, t = threadIdx.x / COLUMNS;
  const int64_t at = (int64_t)blockIdx.x * COLUMNS + column;
  const int inside = at < m.columns; /* all threads stay for the barriers */
  float2 x[COMPONENTS][MOST];
#pragma unroll
  for (int c = 0; c < COMPONENTS; c++) {
    const float2 *from = z + (int64_t)(COMPONENTS == 1 ? blockIdx.y : c) * N * m.columns + at;
#pragma unroll
    for (int r = 0; r < R; r++)
      x[c][r] = inside && t < S ? from[(t + (int64_t)S * r) * m.columns] : make_float2(0.0f, 0.0f);
    if (c) { /* the component before has been read */
      __syncthreads();
    }
    there<R, S>(axis, t, column, x[c], shared);
  }
  if (t < R && inside) {
    const float k2 = (float)(at / m.half), k3 = (float)(at % m.half);
    const float turn2 = k2 * m.over[0], turn3 = k3 * m.over[1];
    const float e2 = 2.0f * sinpif(turn2) * m.inverse[0], e3 = 2.0f * sinpif(turn3) * m.inverse[1];
    const float s2 = sinpif(2.0f * turn2) * m.inverse[0], s3 = sinpif(2.0f * turn3) * m.inverse[1];
#pragma unroll
    for (int k = 0; k < S; k++) {
      const float2 one = axis[t + R * k].symbol;
      const float c[3] = {-one.x * one.x, -e2 * e2, -e3 * e3}, s[3] = {one.y, s2, s3};
      if (COMPONENTS == 1) {
        const float over = m.scale / (m.gamma - m.alpha * (c[0] + c[1] + c[2]));
        x[0][k].x *= over, x[0][k].y *= over;
      } else {
        float re[3], im[3];
#pragma unroll
        for (int a = 0; a < 3; a++) re[a] = x[a % COMPONENTS][k].x, im[a] = x[a % COMPONENTS][k].y;
        rb_helmholtz_solve_f32(m.alpha, m.beta, m.gamma, c, s, m.scale, re, im);
#pragma unroll
        for (int a = 0; a < 3; a++) x[a % COMPONENTS][k] = make_float2(re[a], im[a]);
      }
    }
  }
#pragma unroll
  for (int c = 0; c < COMPONENTS; c++) {
    float2 *to = z + (int64_t)(COMPONENTS == 1 ? blockIdx.y : c) * N * m.columns + at;
    if (c) {
      __syncthreads();
    }
    back<R, S>(axis, t, column, x[c], shared);
#pragma unroll
    for (int r = 0; r < R; r++)
      if (inside && t < S) to[(t + (int64_t)S * r) * m.columns] = x[c][r];
  }
}

typedef rb_status launcher(const symbol *m, const axis_entry *axis, float2 *z);
template <int R, int S>
static rb_status launch(const symbol *m, const axis_entry *axis, float2 *z) {
  rb_status st = RB_OK;
  const unsigned tiles = rb_blocks(m->columns, COLUMNS), threads = COLUMNS * (R > S ? R : S);
  if (m->beta == 0)
    RB_LAUNCH((axis_kernel<R, S, 1>), dim3(tiles, 3), threads, 0, *m, axis, z);
  else
    RB_LAUNCH((axis_kernel<R, S, 3>), tiles, threads, 0, *m, axis, z);
done:
  return st;
}
static const struct {
  int64_t n;
  launcher *run;
} lengths[] = {{16, launch<4, 4>},    {32, launch<8, 4>},    {64, launch<8, 8>},
               {96, launch<12, 8>},   {128, launch<16, 8>},  {160, launch<16, 10>},
               {192, launch<16, 12>}, {224, launch<16, 14>}, {256, launch<16, 16>}};
static launcher *launcher_of(int64_t n) {
  for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
    if (lengths[k].n == n) return lengths[k].run;
  return NULL;
}

static rb_status supports(const rb_helmholtz_desc *d) { return rb_helmholtz_cufft.supports(d); }
static void destroy(rb_helmholtz_plan *head) {
  axes_plan *p = (axes_plan *)head;
  if (p->whole) rb_helmholtz_cufft.destroy(p->whole);
  rb_fft_destroy(p->planes);
  rb_release(head->backend, p->axis), rb_release(head->backend, p->spectrum);
  free(p);
}

static rb_status make_axis(axes_plan *p, const rb_helmholtz_desc *d) {
  rb_status st = RB_OK;
  const int64_t n = d->grid.n[0];
  const double pi = 3.14159265358979323846;
  axis_entry *entry = (axis_entry *)malloc((size_t)n * sizeof *entry);
  RB_CHECK(entry, RB_ENOMEM, "host memory");
  for (int64_t k = 0; k < n; k++) {
    const double turn = pi * (double)k / (double)n;
    entry[k].root = make_float2((float)cos(2 * turn), (float)-sin(2 * turn));
    entry[k].symbol = make_float2((float)(2 * sin(turn) / d->spacing[0]), (float)(sin(2 * turn) / d->spacing[0]));
  }
  RB_TRY(rb_alloc(p->head.backend, (size_t)n * sizeof *entry, (void **)&p->axis));
  RB_TRY(p->head.backend->upload(p->axis, entry, (size_t)n * sizeof *entry));
done:
  free(entry);
  return st;
}

/* One spectrum, and transforms of all planes of three fields at once. */
static rb_status plan(const rb_backend *backend, const rb_helmholtz_desc *d, rb_helmholtz_plan **out) {
  rb_status st = RB_OK;
  const rb_grid plane = {{1, d->grid.n[1], d->grid.n[2]}};
  axes_plan *p = (axes_plan *)calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  p->head.backend = backend;
  if (launcher_of(d->grid.n[0])) {
    RB_TRY(rb_alloc(backend, 3 * (size_t)rb_fft_coefficients(d->grid) * sizeof(float2), (void **)&p->spectrum));
    RB_TRY(make_axis(p, d));
    RB_TRY(rb_fft_create(&rb_fft_cufft, backend, plane, d->dtype, 3 * (int)d->grid.n[0], &p->planes));
  } else {
    RB_TRY(rb_helmholtz_cufft.plan(backend, d, &p->whole));
    p->whole->backend = backend, p->whole->desc = *d;
  }
  *out = &p->head;
  p = NULL;
done:
  if (p) destroy(&p->head);
  return st;
}

static rb_status solve(rb_helmholtz_plan *head, const void *f, void *v) {
  rb_status st = RB_OK;
  axes_plan *p = (axes_plan *)head;
  const rb_helmholtz_desc *d = &head->desc;
  const int half = (int)(d->grid.n[2] / 2 + 1), planes = 3 * (int)d->grid.n[0];
  symbol m = {
      (float)d->alpha,    (float)d->beta, (float)d->gamma, (float)(1 / (double)rb_grid_points(d->grid)), {}, {}, half,
      d->grid.n[1] * half};
  if (p->whole) return rb_helmholtz_cufft.solve(p->whole, f, v);
  for (int a = 0; a < 2; a++)
    m.over[a] = (float)(1 / (double)d->grid.n[a + 1]), m.inverse[a] = (float)(1 / d->spacing[a + 1]);
  RB_TRY(rb_fft_forward(p->planes, planes, (const float *)f, p->spectrum));
  RB_TRY(launcher_of(d->grid.n[0])(&m, p->axis, p->spectrum));
  RB_TRY(rb_fft_inverse(p->planes, planes, p->spectrum, (float *)v));
done:
  return st;
}

extern "C" const rb_helmholtz_ops rb_helmholtz_axes = {supports, plan, solve, NULL, destroy, RB_HELMHOLTZ_PERIODIC,
                                                       0};
