/* SPDX-License-Identifier: BSD-3-Clause */
/* cuda/mesh of currents: the particle mesh by splat, cuFFT and the passes below; the energy comes from the spectrum,
 * so that a norm alone needs no inverse transforms. */
#include "kernels/cuda/block_sum.cuh"
#include "kernels/cuda/cuda.cuh"
#include "kernels/currents/currents_mesh.h"

/* The gathering code shared with the CPU, as device functions in float32. */
#define FUNCTION static __device__ __forceinline__
#define REAL float
#define SUFFIX(name) name##_f32
#include "kernels/currents/currents_gather.h"

enum { THREADS = 256 };

/* Node k of axis a lies at origin[a] + k spacing, in the points' unit of length. */
typedef struct {
  double origin[3], spacing;
} placement;
/* As kernels take it: by value. */
static placement placement_of(const rb_currents_desc *d) {
  const placement p = {{d->origin[0], d->origin[1], d->origin[2]}, d->spacing};
  return p;
}

/* One thread a point. In float64, so that a far origin costs the difference no digits. points [3][n] in grid
 * units. */
static __global__ void __launch_bounds__(THREADS)
    place_points(placement at, int64_t n, const float *__restrict__ y, float *__restrict__ to) {
  const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (i >= n) return;
  for (int a = 0; a < 3; a++) to[a * n + i] = (float)(((double)y[a * n + i] - at.origin[a]) / at.spacing);
}
/* A thread a value. */
static __global__ void __launch_bounds__(THREADS)
    add_values(int64_t values, const float *__restrict__ fixed, float *__restrict__ grid) {
  const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (i < values) grid[i] += fixed[i];
}
/* For variants of splat that cannot begin with what is there. */
static rb_status add_fixed(rb_currents_mesh *p) {
  rb_status st = RB_OK;
  const int64_t values = 3 * rb_grid_points(p->made_for.grid);
  RB_LAUNCH(add_values, rb_blocks(values, THREADS), THREADS, 0, values, (const float *)p->fixed, (float *)p->grid);
done:
  return st;
}

/* One launch, [3][n] to `points` of the same shape. */
static rb_status to_grid(rb_currents_mesh *p, int64_t n, const void *y, void *points) {
  rb_status st = RB_OK;
  const rb_currents_desc *d = &p->made_for;
  RB_LAUNCH(place_points, rb_blocks(n, THREADS), THREADS, 0, placement_of(d), n, (const float *)y, (float *)points);
done:
  return st;
}

/* A thread takes every so many coefficients, all three components; blocks leave partial sums. Coefficients lie as
 * [n1][n2][n3/2+1]: l, j, k are the indices along x3, x2 and x1. `kernel` holds the factors of the three axes one
 * after the other: n1, n2, n3/2 + 1 values. scale is 1/N. */
static __global__ void __launch_bounds__(RB_SUM_THREADS)
    multiply(int64_t count, int n1, int n2, int n3, double scale, const float *__restrict__ kernel, float2 *spectrum,
             double *partial) {
  const int half = n3 / 2 + 1;
  double sum = 0;
  /* Strides of the whole grid: neighbouring threads read neighbouring coefficients in every round. */
  for (int64_t i = (int64_t)blockIdx.x * RB_SUM_THREADS + threadIdx.x; i < count;
       i += (int64_t)gridDim.x * RB_SUM_THREADS) {
    const int l = (int)(i % half), j = (int)(i / half % n2), k = (int)(i / half / n2);
    /* K^ at this frequency, a product of three axes. */
    const double factor = (double)kernel[k] * (double)kernel[n1 + j] * (double)kernel[n1 + n2 + l] * scale;
    /* A coefficient with 0 < l < n3/2 stands for its complex conjugate, too, which the real transform leaves out. */
    const double w = l == 0 || 2 * l == n3 ? 1 : 2;
    for (int c = 0; c < 3; c++) {
      float2 f = spectrum[c * count + i];
      /* Energy from the spectrum before it is multiplied: factor |F|^2 with factor = K^ / N. */
      sum += w * factor * ((double)f.x * (double)f.x + (double)f.y * (double)f.y);
      /* Three factors and 1/N in float64, one rounding to float. */
      f.x = (float)((double)f.x * factor), f.y = (float)((double)f.y * factor);
      spectrum[c * count + i] = f;
    }
  }
  sum = rb_block_sum(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}
/* Two launches: the product with partial sums, and the sum of these. */
static rb_status filter(rb_currents_mesh *p) {
  rb_status st = RB_OK;
  const rb_grid g = p->made_for.grid;
  const int64_t count = rb_fft_coefficients(g);
  const unsigned blocks = rb_sum_blocks(count);
  /* energy[0] is the total, the blocks' parts follow. */
  RB_LAUNCH(multiply, blocks, RB_SUM_THREADS, 0, count, (int)g.n[0], (int)g.n[1], (int)g.n[2],
            1 / (double)rb_grid_points(g), (const float *)p->kernel, (float2 *)p->spectrum, p->energy + 1);
  RB_LAUNCH(rb_sum_partials, 1, RB_SUM_THREADS, 0, (int)blocks, p->energy + 1, p->energy);
done:
  return st;
}

static rb_status keep(rb_currents_mesh *p, double *kept) {
  rb_status st = RB_OK;
  RB_CUDA_TRY(cudaMemcpyAsync(kept, p->energy, sizeof *kept, cudaMemcpyDeviceToDevice, rb_cuda_stream()));
done:
  return st;
}

/* One thread a place. */
template <int METHOD>
static __global__ void __launch_bounds__(THREADS)
    gather_all(currents_lattice l, placement where, int64_t n, const float *__restrict__ grid,
               const float *__restrict__ x, const float *__restrict__ pair, float *__restrict__ u,
               float *__restrict__ z) {
  /* at: the place in grid units; q: what z is paired with; first, second: u and z before scaling. */
  const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (i >= n) return;
  float at[3], q[3] = {0, 0, 0}, first[3], second[3];
  for (int a = 0; a < 3; a++) {
    /* In float64, as in place_points: x of this thread in grid units. */
    at[a] = (float)(((double)x[a * n + i] - where.origin[a]) / where.spacing);
    if (z) q[a] = pair[a * n + i];
  }
  /* METHOD is known when compiled: one branch is left. */
  if (METHOD == RB_CURRENTS_PLAIN)
    gather_plain_f32(&l, grid, at, q, first, second);
  else if (METHOD == RB_CURRENTS_CORRECTED)
    gather_linear_f32(&l, grid, at, q, first, second);
  else
    gather_cubic_f32(&l, grid, at, q, first, second);
  for (int a = 0; a < 3; a++) {
    u[a * n + i] = first[a];
    /* The derivative comes by grid units; dividing by the spacing gives it by length. */
    if (z) z[a * n + i] = second[a] / (float)where.spacing;
  }
}
/* One launch by the plan's method, a thread a place; u and z [3][n]. */
static rb_status gather(rb_currents_mesh *p, int64_t n, const void *x, const void *pair, void *u, void *z) {
  rb_status st = RB_OK;
  /* Sizes along the axes and nodes in all, the distance between components. */
  const rb_currents_desc *d = &p->made_for;
  const currents_lattice l = {(int)d->grid.n[0], (int)d->grid.n[1], (int)d->grid.n[2], rb_grid_points(d->grid)};
#define GATHER(METHOD)                                                                                            \
  RB_LAUNCH(gather_all<METHOD>, rb_blocks(n, THREADS), THREADS, 0, l, placement_of(d), n, (const float *)p->grid, \
            (const float *)x, (const float *)pair, (float *)u, (float *)z)
  if (d->method == RB_CURRENTS_PLAIN)
    GATHER(RB_CURRENTS_PLAIN);
  else if (d->method == RB_CURRENTS_CORRECTED)
    GATHER(RB_CURRENTS_CORRECTED);
  else
    GATHER(RB_CURRENTS_CUBIC);
#undef GATHER
done:
  return st;
}

/* What cuda/mesh gives to the shared particle mesh; the rest is in currents_mesh.c. */
static const rb_currents_mesh_parts parts = {&rb_fft_cufft, to_grid, add_fixed, filter, keep, gather};
/* Methods and grid are checked by the shared part. */
static rb_status supports(const rb_currents_desc *d) {
  if (d->dtype != RB_F32) return RB_FAIL(RB_EUNSUPPORTED, "the CUDA variants are float32 only");
  return rb_currents_mesh_supports(d);
}
static rb_status plan(const rb_backend *backend, const rb_currents_desc *d, rb_currents_plan **out) {
  return rb_currents_mesh_plan(backend, d, &parts, out);
}

extern "C" const rb_currents_ops rb_currents_mesh_cuda = {supports,
                                                          plan,
                                                          rb_currents_mesh_load,
                                                          rb_currents_mesh_eval,
                                                          rb_currents_mesh_energy,
                                                          rb_currents_mesh_outcome,
                                                          rb_currents_mesh_destroy,
                                                          0,
                                                          RB_WEIGHTS_FULL,
                                                          rb_currents_mesh_set_fixed};
