/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels of cuda/fused of transport. All walk the grid alike: a block owns LANES x ROWS points of PLANES planes,
 * a thread the PLANES points of its column. */
#ifndef RB_TRANSPORT_FUSED_KERNELS_CUH
#define RB_TRANSPORT_FUSED_KERNELS_CUH

#include "kernels/cuda/cuda.cuh"

enum { LANES = 32, ROWS = 8, PLANES = 4 };

/* ---- trilinear gathers -------------------------------------------------------------------------------- */

struct extent {
  int n1, n2, n3; /* of the grid */
  int64_t n;      /* points */
};

/* The cell of a point: its first corner, the offsets to the next along each axis (periodic), and the fractions. */
struct cell {
  int at, d1, d2, d3; /* strides in floats, -(n - 1) steps at the periodic end */
  float t1, t2, t3;
};

static __device__ __forceinline__ int axis_cell(float x, int n, int *next, float *t) {
  float f = floorf(x);
  *t = x - f; /* in [0, 1) */
  int i = rb_wrap_near((int)f, n);
  *next = i + 1 == n ? 1 - n : 1; /* the neighbour, or back to node 0 */
  return i;
}
static __device__ __forceinline__ cell cell_at(extent e, float x1, float x2, float x3) {
  cell c;
  int i1 = axis_cell(x1, e.n1, &c.d1, &c.t1), i2 = axis_cell(x2, e.n2, &c.d2, &c.t2),
      i3 = axis_cell(x3, e.n3, &c.d3, &c.t3);
  c.at = (i1 * e.n2 + i2) * e.n3 + i3;
  c.d1 *= e.n2 * e.n3, c.d2 *= e.n3;
  return c;
}
static __device__ __forceinline__ float lerp(float a, float b, float t) { return fmaf(t, b, fmaf(-t, a, a)); }
static __device__ __forceinline__ float gather(const float *__restrict__ f, const cell &c) {
  const float *p = f + c.at, *q = p + c.d1;
  float a = lerp(lerp(__ldg(p), __ldg(p + c.d3), c.t3), lerp(__ldg(p + c.d2), __ldg(p + c.d2 + c.d3), c.t3), c.t2);
  float b = lerp(lerp(__ldg(q), __ldg(q + c.d3), c.t3), lerp(__ldg(q + c.d2), __ldg(q + c.d2 + c.d3), c.t3), c.t2);
  return lerp(a, b, c.t1);
}

/* A thread's points: (i1, i2, i3), PLANES of them along x1. */
struct walk {
  int i1, i2, i3, count, first, step; /* count: points on the grid; first, step: offsets */
};
static __device__ __forceinline__ walk points_of(extent e) {
  walk w;
  w.i3 = blockIdx.x * LANES + threadIdx.x, w.i2 = blockIdx.y * ROWS + threadIdx.y, w.i1 = blockIdx.z * PLANES;
  w.count = w.i3 < e.n3 && w.i2 < e.n2 ? min(PLANES, e.n1 - w.i1) : 0; /* 0 off the grid */
  w.first = (w.i1 * e.n2 + w.i2) * e.n3 + w.i3;
  w.step = e.n2 * e.n3;
  return w;
}
static __device__ __forceinline__ cell cell_of_foot(extent e, const float *__restrict__ x, int p) {
  return cell_at(e, __ldcs(x + p), __ldcs(x + e.n + p), __ldcs(x + 2 * e.n + p)); /* feet [3][n] */
}

/* ---- kernels ------------------------------------------------------------------------------------------ */

/* X* = x - f v, X = x - f/2 (v + v(X*)); f: sign dt / h an axis. */
static __global__ void __launch_bounds__(LANES *ROWS)
    feet_kernel(extent e, float3 f, const float *__restrict__ v, float *__restrict__ x) {
  const walk w = points_of(e);
#pragma unroll
  for (int k = 0; k < PLANES; k++) {
    if (k >= w.count) break; /* beyond the last plane */
    const int p = w.first + k * w.step;
    const float node[3] = {(float)(w.i1 + k), (float)w.i2, (float)w.i3}, s[3] = {f.x, f.y, f.z};
    const float here[3] = {v[p], v[e.n + p], v[2 * e.n + p]};
    cell c = cell_at(e, node[0] - s[0] * here[0], node[1] - s[1] * here[1], node[2] - s[2] * here[2]);
#pragma unroll
    for (int a = 0; a < 3; a++) __stcs(x + a * e.n + p, node[a] - 0.5f * s[a] * (here[a] + gather(v + a * e.n, c)));
  }
}

/* to_c = I[f_c](X). */
static __global__ void __launch_bounds__(LANES *ROWS)
    vector_kernel(extent e, const float *__restrict__ x, const float *__restrict__ f, float *__restrict__ to) {
  const walk w = points_of(e);
#pragma unroll
  for (int k = 0; k < PLANES; k++) {
    if (k >= w.count) break;
    const int p = w.first + k * w.step;
    cell c = cell_of_foot(e, x, p);
#pragma unroll
    for (int a = 0; a < 3; a++) __stcs(to + a * e.n + p, gather(f + a * e.n, c));
  }
}

/* growth = 1 + dt/2 (d + dX + dt d dX); dX gathered, or given in at_feet. */
template <int LINEAR>
static __global__ void __launch_bounds__(LANES *ROWS)
    growth_kernel(extent e, float dt, const float *__restrict__ x, const float *__restrict__ d,
                  const float *__restrict__ at_feet, float *__restrict__ growth) {
  const walk w = points_of(e);
#pragma unroll
  for (int k = 0; k < PLANES; k++) {
    if (k >= w.count) break;
    const int p = w.first + k * w.step;
    float there = LINEAR ? gather(d, cell_of_foot(e, x, p)) : at_feet[p], here = d[p];
    growth[p] = 1.0f + 0.5f * dt * (here + there + dt * here * there);
  }
}

/* s^j for all steps: one read of vt and of its values at the feet. */
template <int LINEAR>
static __global__ void __launch_bounds__(LANES *ROWS)
    sources_kernel(extent e, int steps, float half, const float *__restrict__ x, const float *__restrict__ vt,
                   const float *__restrict__ vt_feet, const float *__restrict__ gradients,
                   const float *__restrict__ values, float *__restrict__ s) {
  const walk w = points_of(e);
#pragma unroll 2
  for (int k = 0; k < PLANES; k++) {
    if (k >= w.count) break;
    const int p = w.first + k * w.step;
    float here[3], there[3];
    cell c;
    if (LINEAR) c = cell_of_foot(e, x, p);
#pragma unroll
    for (int a = 0; a < 3; a++) {
      here[a] = vt[a * e.n + p];
      there[a] = LINEAR ? gather(vt + a * e.n, c) : vt_feet[a * e.n + p];
    }
    for (int j = 0; j < steps; j++) {
      float sum = 0;
#pragma unroll
      for (int a = 0; a < 3; a++)
        sum += __ldcs(values + (3 * j + a) * e.n + p) * there[a] +
               __ldcs(gradients + (3 * (j + 1) + a) * e.n + p) * here[a];
      s[j * e.n + p] = -half * sum; /* s^j */
    }
  }
}

/* out = I[f](X) + s, or I[f](X) growth. f at the feet is gathered, or given in at_feet. */
template <int LINEAR, int GROW>
static __global__ void __launch_bounds__(LANES *ROWS)
    step_kernel(extent e, const float *__restrict__ x, const float *__restrict__ f, const float *__restrict__ at_feet,
                const float *s, float *out) {
  const walk w = points_of(e);
#pragma unroll
  for (int k = 0; k < PLANES; k++) {
    if (k >= w.count) break;
    const int p = w.first + k * w.step;
    float value = LINEAR ? gather(f, cell_of_foot(e, x, p)) : at_feet[p];
    out[p] = GROW ? value * s[p] : value + s[p];
  }
}

/* b = dt sum_j w_j l^j grad m^j with w = 1/2 at both ends; l^0 from l^1 on the way. */
template <int LINEAR>
static __global__ void __launch_bounds__(LANES *ROWS)
    force_kernel(extent e, int steps, float dt, const float *__restrict__ x, const float *__restrict__ series,
                 const float *__restrict__ at_feet, const float *__restrict__ growth,
                 const float *__restrict__ gradients, float *__restrict__ b) {
  const walk w = points_of(e);
#pragma unroll 2
  for (int k = 0; k < PLANES; k++) {
    if (k >= w.count) break;
    const int p = w.first + k * w.step;
    float l = 0.5f * growth[p] * (LINEAR ? gather(series + e.n, cell_of_foot(e, x, p)) : at_feet[p]), sum[3];
#pragma unroll
    for (int a = 0; a < 3; a++) sum[a] = l * __ldcs(gradients + a * e.n + p); /* j = 0, w_0 = 1/2 */
    for (int j = 1; j <= steps; j++) {
      l = series[j * e.n + p];
      if (j == steps) l *= 0.5f; /* w_steps = 1/2 */
#pragma unroll
      for (int a = 0; a < 3; a++) sum[a] = fmaf(l, __ldcs(gradients + (3 * j + a) * e.n + p), sum[a]);
    }
#pragma unroll
    for (int a = 0; a < 3; a++) b[a * e.n + p] = dt * sum[a]; /* b [3][n] */
  }
}

#endif
