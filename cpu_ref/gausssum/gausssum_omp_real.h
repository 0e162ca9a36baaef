/* SPDX-License-Identifier: BSD-3-Clause */
/* Body of cpu/omp of gausssum, once a precision: REAL, SUFFIX(name) and what cpu_ref/base/exp_real.h takes. */

#include "cpu_ref/base/exp_real.h"

/* Arrays are [3][n]; planar components beyond dim are zeros. Partial sums of TILE terms are added in double. */
static void SUFFIX(flow)(int64_t n, int dim, REAL sigma, const REAL *restrict q, const REAL *restrict p,
                         REAL *restrict hq, REAL *restrict hp) {
  /* Hq_i = -s sum_j (p_i.p_j) G d,  Hp_i = sum_j G p_j,  G = exp(f |d|^2),  f = -1 / (2 sigma^2),  s = 1 / sigma^2.
   */
  const REAL f = (REAL)-0.5 / (sigma * sigma);
  const double s = 1 / ((double)sigma * (double)sigma);
  const REAL *q0 = q, *q1 = q + n, *q2 = dim > 2 ? q + 2 * n : NULL, *p0 = p, *p1 = p + n,
             *p2 = dim > 2 ? p + 2 * n : NULL;
  /* Rows are independent. A row is summed by one thread: tiles in their order, within a tile as many partial sums as
   * the compiler's vectors have lanes. The same bits for any number of threads; another vector width may give others.
   */
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++) {
    double total[6] = {0};
    /* point i in (x, y, z), its momentum in (u, v, w); 0 in a third dimension that is not there */
    const REAL x = q0[i], y = q1[i], z = q2 ? q2[i] : 0, u = p0[i], v = p1[i], w = p2 ? p2[i] : 0;
    for (int64_t first = 0; first < n; first += TILE) {
      const int64_t last = first + TILE < n ? first + TILE : n;
      /* a: sum of (p_i.p_j) G d.  b: sum of G p_j.  In the arrays' precision over a tile, in double from tile to
       * tile.
       */
      REAL a0 = 0, a1 = 0, a2 = 0, b0 = 0, b1 = 0, b2 = 0;
      if (q2) {
#pragma omp simd reduction(+ : a0, a1, a2, b0, b1, b2)
        for (int64_t j = first; j < last; j++) {
          const REAL d0 = x - q0[j], d1 = y - q1[j], d2 = z - q2[j];
          const REAL g = SUFFIX(exp_negative)(f * (d0 * d0 + d1 * d1 + d2 * d2)),
                     c = g * (u * p0[j] + v * p1[j] + w * p2[j]);
          a0 += c * d0, a1 += c * d1, a2 += c * d2;
          b0 += g * p0[j], b1 += g * p1[j], b2 += g * p2[j];
        }
      } else {
#pragma omp simd reduction(+ : a0, a1, b0, b1)
        for (int64_t j = first; j < last; j++) {
          const REAL d0 = x - q0[j], d1 = y - q1[j];
          const REAL g = SUFFIX(exp_negative)(f * (d0 * d0 + d1 * d1)), c = g * (u * p0[j] + v * p1[j]);
          a0 += c * d0, a1 += c * d1;
          b0 += g * p0[j], b1 += g * p1[j];
        }
      }
      total[0] += (double)a0, total[1] += (double)a1, total[2] += (double)a2;
      total[3] += (double)b0, total[4] += (double)b1, total[5] += (double)b2;
    }
    for (int c = 0; c < dim; c++) {
      /* the common factor -1/sigma^2 once a row, in double */
      if (hq) hq[c * n + i] = (REAL)(-s * total[c]);
      if (hp) hp[c * n + i] = (REAL)total[3 + c];
    }
  }
}

static void SUFFIX(backward)(int64_t n, int dim, REAL sigma, const REAL *restrict q, const REAL *restrict p,
                             const REAL *restrict alpha, const REAL *restrict beta, const REAL *restrict zero,
                             REAL *restrict fq, REAL *restrict fp) {
  /* de = (d.b)/sigma^2,  pp = G (p_i.p_j),  ap = G (alpha_i.p_j + alpha_j.p_i) + pp de,  b_ij = beta_i - beta_j in e:
   * fq_i = 1/sigma^2 sum_j { pp b - ap d },   fp_i = sum_j G { alpha_j + de p_j }
   * In two dimensions the third components point to n zeros: one loop serves both. */
  const REAL f = (REAL)-0.5 / (sigma * sigma), s = 1 / (sigma * sigma);
  const REAL *q0 = q, *q1 = q + n, *q2 = dim > 2 ? q + 2 * n : zero, *p0 = p, *p1 = p + n,
             *p2 = dim > 2 ? p + 2 * n : zero;
  const REAL *a0 = alpha, *a1 = alpha + n, *a2 = dim > 2 ? alpha + 2 * n : zero, *b0 = beta, *b1 = beta + n,
             *b2 = dim > 2 ? beta + 2 * n : zero;
  /* rows as in flow: one thread each, tiles in their order */
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++) {
    double total[6] = {0};
    for (int64_t first = 0; first < n; first += TILE) {
      const int64_t last = first + TILE < n ? first + TILE : n;
      REAL t0 = 0, t1 = 0, t2 = 0, u0 = 0, u1 = 0, u2 = 0;
#pragma omp simd reduction(+ : t0, t1, t2, u0, u1, u2)
      for (int64_t j = first; j < last; j++) {
        const REAL d0 = q0[i] - q0[j], d1 = q1[i] - q1[j], d2 = q2[i] - q2[j], e0 = b0[i] - b0[j], e1 = b1[i] - b1[j],
                   e2 = b2[i] - b2[j];
        const REAL g = SUFFIX(exp_negative)(f * (d0 * d0 + d1 * d1 + d2 * d2)),
                   de = s * (d0 * e0 + d1 * e1 + d2 * e2);
        /* G multiplies every term once */
        const REAL pp = g * (p0[i] * p0[j] + p1[i] * p1[j] + p2[i] * p2[j]);
        const REAL ap =
            g * (a0[i] * p0[j] + a1[i] * p1[j] + a2[i] * p2[j] + a0[j] * p0[i] + a1[j] * p1[i] + a2[j] * p2[i]) +
            pp * de;
        t0 += pp * e0 - ap * d0, t1 += pp * e1 - ap * d1, t2 += pp * e2 - ap * d2;
        u0 += g * (a0[j] + de * p0[j]), u1 += g * (a1[j] + de * p1[j]), u2 += g * (a2[j] + de * p2[j]);
      }
      total[0] += (double)t0, total[1] += (double)t1, total[2] += (double)t2;
      total[3] += (double)u0, total[4] += (double)u1, total[5] += (double)u2;
    }
    /* s was rounded to the arrays' precision, the product is not */
    for (int c = 0; c < dim; c++) fq[c * n + i] = (REAL)((double)s * total[c]), fp[c * n + i] = (REAL)total[3 + c];
  }
}

static void SUFFIX(sum)(int64_t n, int dim, REAL sigma, int64_t nx, const REAL *restrict x, const REAL *restrict q,
                        const REAL *restrict p, const REAL *restrict zero, REAL *restrict out) {
  const REAL f = (REAL)-0.5 / (sigma * sigma);
  const REAL *q0 = q, *q1 = q + n, *q2 = dim > 2 ? q + 2 * n : zero, *p0 = p, *p1 = p + n,
             *p2 = dim > 2 ? p + 2 * n : zero;
  /* out_i = sum_j G(x_i, q_j) p_j for nx points; x has no third component in two dimensions and takes 0 */
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < nx; i++) {
    /* tiles are added in double */
    double total[3] = {0};
    const REAL x0 = x[i], x1 = x[nx + i], x2 = dim > 2 ? x[2 * nx + i] : 0;
    for (int64_t first = 0; first < n; first += TILE) {
      const int64_t last = first + TILE < n ? first + TILE : n;
      REAL u0 = 0, u1 = 0, u2 = 0;
#pragma omp simd reduction(+ : u0, u1, u2)
      for (int64_t j = first; j < last; j++) {
        const REAL d0 = x0 - q0[j], d1 = x1 - q1[j], d2 = x2 - q2[j],
                   g = SUFFIX(exp_negative)(f * (d0 * d0 + d1 * d1 + d2 * d2));
        u0 += g * p0[j], u1 += g * p1[j], u2 += g * p2[j];
      }
      total[0] += (double)u0, total[1] += (double)u1, total[2] += (double)u2;
    }
    for (int c = 0; c < dim; c++) out[c * nx + i] = (REAL)total[c];
  }
}
