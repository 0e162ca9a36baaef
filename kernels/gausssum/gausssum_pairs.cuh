/* SPDX-License-Identifier: BSD-3-Clause */
/* What one pair of points adds to the sums of the family, for every CUDA variant; float32.
 *
 * An op holds the values that it reads of a point (IN: q, p, alpha, beta as it needs them), the sums that it keeps
 * (OUT) and two ways of adding a pair: to point i alone, or to both. Points beyond the last are all zeros: they add
 * nothing, because every term has a factor p or alpha. */
#ifndef RB_GAUSSSUM_PAIRS_CUH
#define RB_GAUSSSUM_PAIRS_CUH

#include "kernels/cuda/cuda.cuh"
#include "kernels/gausssum/gausssum.h"

/* G = 2^(f r^2), f = -log2(e) / (2 sigma^2); s = 1 / sigma^2. f: for the exponential to base 2; s: for the
 * derivatives. */
struct kernel_width {
  float f, s;
};
static inline kernel_width width_of(double sigma) {
  kernel_width k = {(float)(-1.44269504088896340736 / (2 * sigma * sigma)), (float)(1 / (sigma * sigma))};
  return k;
}

/* G of points a and b, and d = a - b. The square of the distance rounds once a component: fused multiply-adds in the
 * order of the axes. */
template <int D>
static __device__ __forceinline__ float gauss(kernel_width k, const float *a, const float *b, float (&d)[D]) {
  float r2 = 0;
  /* d_ij along axis c. */
#pragma unroll
  for (int c = 0; c < D; c++) {
    d[c] = a[c] - b[c];
    r2 = c == 0 ? d[c] * d[c] : fmaf(d[c], d[c], r2);
  }
  return rb_exp2_approx(k.f * r2); /* one instruction */
}
/* Scalar product of D components, in their order. */
template <int D>
static __device__ __forceinline__ float product(const float *a, const float *b) {
  float sum = a[0] * b[0];
#pragma unroll
  for (int c = 1; c < D; c++) sum = fmaf(a[c], b[c], sum);
  return sum;
}

/* out_i = sum_j G p_j. In: q, p; a and b hold D values of each, one after the other. */
template <int D>
struct vector_sum {
  enum { IN = 2 * D, OUT = D };
  static __device__ __forceinline__ void one(kernel_width k, const float (&a)[IN], const float (&b)[IN],
                                             float (&sum)[OUT]) {
    /* The pair's weight for p_j. */
    float d[D], g = gauss<D>(k, a, b, d);
#pragma unroll
    for (int c = 0; c < D; c++) sum[c] = fmaf(g, b[D + c], sum[c]);
  }
  /* The distance and the exponential are shared by the two sums of the pair. */
  static __device__ __forceinline__ void both(kernel_width k, const float (&a)[IN], const float (&b)[IN],
                                              float (&sum)[OUT], float (&other)[OUT]) {
    float d[D], g = gauss<D>(k, a, b, d);
#pragma unroll
    for (int c = 0; c < D; c++) sum[c] = fmaf(g, b[D + c], sum[c]), other[c] = fmaf(g, a[D + c], other[c]);
  }
};

/* (sum (p_i.p_j) G d, sum G p_j). In: q, p. OUT: D sums that become Hq, then D that become Hp. */
template <int D>
struct hamiltonian_flow {
  enum { IN = 2 * D, OUT = 2 * D };
  static __device__ __forceinline__ void one(kernel_width k, const float (&a)[IN], const float (&b)[IN],
                                             float (&sum)[OUT]) {
    float d[D], g = gauss<D>(k, a, b, d);
    one_from(k, a, b, d, g, sum);
  }
  /* The same with d and G given: `rows` computes them ahead. */
  static __device__ __forceinline__ void one_from(kernel_width, const float (&a)[IN], const float (&b)[IN],
                                                  const float (&d)[D], float g, float (&sum)[OUT]) {
    /* (p_i.p_j) G, the weight of d. */
    const float gp = g * product<D>(a + D, b + D);
#pragma unroll
    for (int c = 0; c < D; c++) sum[c] = fmaf(gp, d[c], sum[c]), sum[D + c] = fmaf(g, b[D + c], sum[D + c]);
  }
  static __device__ __forceinline__ void both(kernel_width k, const float (&a)[IN], const float (&b)[IN],
                                              float (&sum)[OUT], float (&other)[OUT]) {
    float d[D], g = gauss<D>(k, a, b, d), gp = g * product<D>(a + D, b + D);
    /* d changes sign with the order of the pair: `other` takes the first term negated. */
#pragma unroll
    for (int c = 0; c < D; c++) {
      sum[c] = fmaf(gp, d[c], sum[c]), other[c] = fmaf(-gp, d[c], other[c]);
      sum[D + c] = fmaf(g, b[D + c], sum[D + c]), other[D + c] = fmaf(g, a[D + c], other[D + c]);
    }
  }
};

/* (sum G {(p_i.p_j) (b_ij - s d (d.b_ij)) - d (alpha_i.p_j + alpha_j.p_i)}, sum G {alpha_j + s (d.b_ij) p_j}). In: q,
 * p, alpha, beta. With u = alpha_j + s (d.b_ij) p_j the factor of -d is alpha_i.p_j + p_i.u, the same for both
 * points. a and b hold q, p, alpha, beta, D values each. */
template <int D>
struct backward_products {
  enum { IN = 4 * D, OUT = 2 * D };
  /* d = q_i - q_j, e = beta_i - beta_j, u as above; g = G, gp = G p_i.p_j, de = s (d.e), gw = G times the factor of
   * -d. */
  struct terms {
    float d[D], e[D], u[D], g, gp, gw, de;
  };
  static __device__ __forceinline__ terms of(kernel_width k, const float (&a)[IN], const float (&b)[IN]) {
    float d[D], g = gauss<D>(k, a, b, d);
    return from(k, a, b, d, g);
  }
  /* All that the two points' sums have in common. */
  static __device__ __forceinline__ terms from(kernel_width k, const float (&a)[IN], const float (&b)[IN],
                                               const float (&d)[D], float g) {
    terms t;
    t.g = g;
    /* Copied, so that `both` finds all terms in one place. */
#pragma unroll
    for (int c = 0; c < D; c++) t.d[c] = d[c];
#pragma unroll
    for (int c = 0; c < D; c++) t.e[c] = a[3 * D + c] - b[3 * D + c];
    t.de = k.s * product<D>(t.d, t.e);
    t.gp = t.g * product<D>(a + D, b + D);
#pragma unroll
    for (int c = 0; c < D; c++) t.u[c] = fmaf(t.de, b[D + c], b[2 * D + c]);
    /* alpha_i.p_j + p_i.u */
    float w = product<D>(a + 2 * D, b + D);
#pragma unroll
    for (int c = 0; c < D; c++) w = fmaf(a[D + c], t.u[c], w);
    t.gw = t.g * w;
    return t;
  }
  static __device__ __forceinline__ void one(kernel_width k, const float (&a)[IN], const float (&b)[IN],
                                             float (&sum)[OUT]) {
    add(of(k, a, b), sum);
  }
  static __device__ __forceinline__ void one_from(kernel_width k, const float (&a)[IN], const float (&b)[IN],
                                                  const float (&d)[D], float g, float (&sum)[OUT]) {
    add(from(k, a, b, d, g), sum);
  }
  static __device__ __forceinline__ void add(const terms &t, float (&sum)[OUT]) {
#pragma unroll
    for (int c = 0; c < D; c++) {
      /* G (p_i.p_j) e first, then -G w d: two roundings. */
      sum[c] = fmaf(t.gp, t.e[c], sum[c]), sum[c] = fmaf(-t.gw, t.d[c], sum[c]);
      sum[D + c] = fmaf(t.g, t.u[c], sum[D + c]);
    }
  }
  static __device__ __forceinline__ void both(kernel_width k, const float (&a)[IN], const float (&b)[IN],
                                              float (&sum)[OUT], float (&other)[OUT]) {
    const terms t = of(k, a, b);
#pragma unroll
    for (int c = 0; c < D; c++) {
      /* d and e change sign with the order of the pair, gp and gw do not: the two points take opposite terms. */
      const float force = fmaf(t.gp, t.e[c], -t.gw * t.d[c]);
      sum[c] += force, other[c] -= force;
      sum[D + c] = fmaf(t.g, t.u[c], sum[D + c]);
      /* u as the other point sees it: alpha_i + s (d.e) p_i. */
      other[D + c] = fmaf(t.g, fmaf(t.de, a[D + c], a[2 * D + c]), other[D + c]);
    }
  }
};

/* Arrays [D][n] that an op reads: q, p, alpha, beta in this order. What an op does not read may be NULL. */
struct point_arrays {
  const float *array[4];
};
static inline point_arrays point_arrays_of(const void *q, const void *p, const void *alpha, const void *beta) {
  point_arrays a = {{(const float *)q, (const float *)p, (const float *)alpha, (const float *)beta}};
  return a;
}
/* Value v of point i is component v % D of array v / D. Neighbouring i are neighbours in memory. */
template <int D, int IN>
static __device__ __forceinline__ void load_point(const point_arrays &in, int n, int i, float (&value)[IN]) {
#pragma unroll
  for (int v = 0; v < IN; v++) value[v] = i < n ? in.array[v / D][(size_t)(v % D) * n + i] : 0.0f;
}

/* What becomes of the finished sums of a row: scaled and stored, or used for an explicit Euler step at once. Any
 * target may be NULL. The first D sums times `scale` go to `first`, the others to `second`; a step adds dt times them
 * to from -> to. */
struct row_end {
  float scale, dt_first, dt_second;
  float *first, *second;
  const float *from_first, *from_second;
  float *to_first, *to_second;
};
/* Sum o of row i: the first D belong to the first vector, the others to the second. */
template <int D>
static __device__ __forceinline__ void finish_row(const row_end &e, int n, int i, int o, float sum) {
  /* Component o % D of row i in an array [D][n]. */
  const size_t at = (size_t)(o % D) * n + i;
  if (o < D) {
    const float v = e.scale * sum;
    if (e.first) e.first[at] = v;
    /* One rounding: the step is a fused multiply-add. */
    if (e.to_first) e.to_first[at] = fmaf(e.dt_first, v, e.from_first[at]);
  } else {
    if (e.second) e.second[at] = sum;
    if (e.to_second) e.to_second[at] = fmaf(e.dt_second, sum, e.from_second[at]);
  }
}

static inline row_end end_sum(void *out) {
  row_end e = {1, 0, 0, (float *)out, NULL, NULL, NULL, NULL, NULL};
  return e;
}
/* The first sums lack the factor -1/sigma^2 of Hq. */
static inline row_end end_flow(double sigma, void *hq, void *hp) {
  row_end e = {-width_of(sigma).s, 0, 0, (float *)hq, (float *)hp, NULL, NULL, NULL, NULL};
  return e;
}
/* p_next = p - dt Hq, q_next = q + dt Hp. The first sums scaled are Hq, which moves the momenta; the second, Hp,
 * moves the points. */
static inline row_end end_step(double sigma, double dt, const void *q, const void *m, void *hp, void *q_next,
                               void *m_next) {
  row_end e = end_flow(sigma, NULL, hp);
  e.dt_first = (float)-dt, e.from_first = (const float *)m, e.to_first = (float *)m_next;
  e.dt_second = (float)dt, e.from_second = (const float *)q, e.to_second = (float *)q_next;
  return e;
}
/* fq and fp, stored. */
static inline row_end end_backward(double sigma, void *fq, void *fp) {
  row_end e = {width_of(sigma).s, 0, 0, (float *)fq, (float *)fp, NULL, NULL, NULL, NULL};
  return e;
}
/* alpha takes dt fq, beta dt fp. */
static inline row_end end_step_back(double sigma, double dt, const void *alpha, const void *beta, void *alpha_before,
                                    void *beta_before) {
  row_end e = end_backward(sigma, NULL, NULL);
  e.dt_first = (float)dt, e.from_first = (const float *)alpha, e.to_first = (float *)alpha_before;
  e.dt_second = (float)dt, e.from_second = (const float *)beta, e.to_second = (float *)beta_before;
  return e;
}

#endif
