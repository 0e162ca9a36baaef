/* SPDX-License-Identifier: BSD-3-Clause */
/* The exact sums of currents, once a precision: REAL, SUFFIX(name) and what cpu_ref/base/exp_real.h takes. */

#include "cpu_ref/base/exp_real.h"

static void SUFFIX(naive)(const rb_currents_desc *d, const REAL *y, const REAL *m, int64_t n, const REAL *x,
                          const REAL *pair, REAL *u, REAL *z) {
  /* u_i = sum_j K m_j,   z_i = -s sum_j (p_i.m_j) K (x_i - y_j),   K = exp(f |x_i - y_j|^2),   s = 1 / sigma^2
   * One source after the other, sums in the arrays' precision. */
  const REAL f = (REAL)(-0.5 / (d->sigma * d->sigma)), s = (REAL)(1 / (d->sigma * d->sigma));
  const int64_t ns = d->sources;
  for (int64_t i = 0; i < n; i++) {
    /* sum: of K m_j.  turn: of -(p_i.m_j) K (x_i - y_j), without 1/sigma^2 */
    REAL sum[3] = {0, 0, 0}, turn[3] = {0, 0, 0};
    for (int64_t j = 0; j < ns; j++) {
      const REAL d0 = x[i] - y[j], d1 = x[n + i] - y[ns + j], d2 = x[2 * n + i] - y[2 * ns + j];
      /* the exponential in double of an argument in REAL */
      const REAL k = (REAL)exp((double)(f * (d0 * d0 + d1 * d1 + d2 * d2)));
      sum[0] += k * m[j], sum[1] += k * m[ns + j], sum[2] += k * m[2 * ns + j];
      /* without z the pairing is not read: it may be NULL */
      if (z) {
        const REAL c = k * (pair[i] * m[j] + pair[n + i] * m[ns + j] + pair[2 * n + i] * m[2 * ns + j]);
        turn[0] -= c * d0, turn[1] -= c * d1, turn[2] -= c * d2;
      }
    }
    for (int a = 0; a < 3; a++) u[a * n + i] = sum[a];
    for (int a = 0; a < 3 && z; a++) z[a * n + i] = s * turn[a];
  }
}

/* A row's sums of the sources [first, last): u, and with WITH_Z the derivative's without its factor.
 * a: sum of K m_j.  b: sum of (q.m_j) K d.  Sums over [first, last) in REAL, a lane each of the vector loop, then
 * added to the row's totals in double. WITH_Z is a constant: the loop without z has no branch. */
#define DEFINE_ROW(NAME, WITH_Z)                                                                             \
  static inline void SUFFIX(NAME)(const REAL *restrict y0, const REAL *restrict y1, const REAL *restrict y2, \
                                  const REAL *restrict m0, const REAL *restrict m1, const REAL *restrict m2, \
                                  int64_t first, int64_t last, REAL f, const REAL x[3], const REAL q[3],     \
                                  double total[6]) {                                                         \
    REAL a0 = 0, a1 = 0, a2 = 0, b0 = 0, b1 = 0, b2 = 0;                                                     \
    _Pragma("omp simd reduction(+ : a0, a1, a2, b0, b1, b2)") for (int64_t j = first; j < last; j++) {       \
      const REAL d0 = x[0] - y0[j], d1 = x[1] - y1[j], d2 = x[2] - y2[j];                                    \
      const REAL k = SUFFIX(exp_negative)(f * (d0 * d0 + d1 * d1 + d2 * d2));                                \
      a0 += k * m0[j], a1 += k * m1[j], a2 += k * m2[j];                                                     \
      if (WITH_Z) {                                                                                          \
        const REAL c = k * (q[0] * m0[j] + q[1] * m1[j] + q[2] * m2[j]);                                     \
        b0 += c * d0, b1 += c * d1, b2 += c * d2;                                                            \
      }                                                                                                      \
    }                                                                                                        \
    total[0] += (double)a0, total[1] += (double)a1, total[2] += (double)a2;                                  \
    total[3] += (double)b0, total[4] += (double)b1, total[5] += (double)b2;                                  \
  }
DEFINE_ROW(row_field, 0)
DEFINE_ROW(row_both, 1)
#undef DEFINE_ROW

static void SUFFIX(omp)(const rb_currents_desc *d, const REAL *y, const REAL *m, int64_t n, const REAL *x,
                        const REAL *pair, REAL *u, REAL *z) {
  const REAL f = (REAL)(-0.5 / (d->sigma * d->sigma));
  const double s = 1 / (d->sigma * d->sigma);
  const int64_t ns = d->sources;
  /* Targets are independent: a row is one thread's, its tiles are added in their order, whatever the number of
   * threads. */
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++) {
    const REAL at[3] = {x[i], x[n + i], x[2 * n + i]};
    REAL q[3] = {0, 0, 0};
    double total[6] = {0};
    for (int a = 0; a < 3 && z; a++) q[a] = pair[a * n + i];
    for (int64_t first = 0; first < ns; first += TILE) {
      /* the last tile may be shorter */
      const int64_t last = first + TILE < ns ? first + TILE : ns;
      if (z)
        SUFFIX(row_both)(y, y + ns, y + 2 * ns, m, m + ns, m + 2 * ns, first, last, f, at, q, total);
      else
        SUFFIX(row_field)(y, y + ns, y + 2 * ns, m, m + ns, m + 2 * ns, first, last, f, at, q, total);
    }
    for (int a = 0; a < 3; a++) u[a * n + i] = (REAL)total[a];
    /* -1/sigma^2 once a row, in double */
    for (int a = 0; a < 3 && z; a++) z[a * n + i] = (REAL)(-s * total[3 + a]);
  }
}
