/* SPDX-License-Identifier: BSD-3-Clause */
#include "cpu_ref/base/values.h"
#include "cpu_ref/helmholtz/helmholtz_oracle.h"

#include <math.h>
#include <stdlib.h>

/* Index of a node in one component. */
static int64_t at(const rb_helmholtz_desc *d, const int64_t i[3]) {
  return (i[0] * d->grid.n[1] + i[1]) * d->grid.n[2] + i[2];
}
/* v at x + step along axis a (and, with b >= 0, + step2 along b), periodic or 0 outside. */
static double near(const rb_helmholtz_desc *d, const double *v, const int64_t x[3], int a, int step, int b, int step2,
                   int periodic) {
  int64_t i[3] = {x[0], x[1], x[2]};
  i[a] += step;
  if (b >= 0) i[b] += step2;
  for (int c = 0; c < 3; c++) {
    if (periodic) i[c] = rb_wrap(i[c], d->grid.n[c]);
    if (i[c] < 0 || i[c] >= d->grid.n[c]) return 0;
  }
  return v[at(d, i)];
}

/* (L v)_c at x.
 * (L v)_c = gamma v_c - alpha sum_a D_aa v_c - beta sum_a D_ca v_a
 * D_aa:           (v(x+s) - 2 v(x) + v(x-s)) / s_a^2
 * D_ca, a != c:   (v(+,+) - v(+,-) - v(-,+) + v(-,-)) / (4 s_c s_a), a product of central differences */
static double operator_at(const rb_helmholtz_desc *d, const double *v, int c, const int64_t x[3], int periodic) {
  const int64_t n = rb_grid_points(d->grid);
  const double *mine = v + c * n;
  double sum = d->gamma * mine[at(d, x)];
  for (int a = 0; a < 3; a++) {
    const double h = d->spacing[a];
    sum -= d->alpha *
           (near(d, mine, x, a, 1, -1, 0, periodic) - 2 * mine[at(d, x)] + near(d, mine, x, a, -1, -1, 0, periodic)) /
           (h * h);
    if (d->beta == 0) continue;
    /* grad div couples the components: row c has all of v_1, v_2, v_3 */
    const double *other = v + a * n;
    if (a == c)
      sum -=
          d->beta *
          (near(d, mine, x, a, 1, -1, 0, periodic) - 2 * mine[at(d, x)] + near(d, mine, x, a, -1, -1, 0, periodic)) /
          (h * h);
    else
      /* the four corners with the sign s t */
      for (int s = -1; s <= 1; s += 2)
        for (int t = -1; t <= 1; t += 2)
          sum -= d->beta * s * t * near(d, other, x, c, s, a, t, periodic) / (4 * h * d->spacing[c]);
  }
  return sum;
}

double rb_helmholtz_residual(const rb_helmholtz_desc *d, const void *f, const void *v, int periodic) {
  const rb_grid g = d->grid;
  /* with a border of zeros only the nodes inside are equations */
  const int64_t n = rb_grid_points(g), b = periodic ? 0 : d->border;
  /* over = |f - L v|^2, under = |f|^2. The sums of threads are added in no fixed order: last bits may differ. */
  double over = 0, under = 0, *wide = malloc(3 * (size_t)n * sizeof *wide);
  /* NaN fails every comparison with a bound */
  if (!wide) return NAN;
  /* v is widened once: the operator reads each value many times */
  for (int64_t i = 0; i < 3 * n; i++) wide[i] = rb_value_get(d->dtype, v, i);
  for (int c = 0; c < 3; c++)
#pragma omp parallel for reduction(+ : over, under) schedule(static)
    for (int64_t i = b; i < g.n[0] - b; i++)
      for (int64_t j = b; j < g.n[1] - b; j++)
        for (int64_t k = b; k < g.n[2] - b; k++) {
          const int64_t x[3] = {i, j, k};
          const double want = rb_value_get(d->dtype, f, c * n + at(d, x));
          over += pow(want - operator_at(d, wide, c, x, periodic), 2), under += want * want;
        }
  free(wide);
  /* f = 0: the residual itself */
  return under > 0 ? sqrt(over / under) : sqrt(over);
}

/* The update of the contract, a node at a time, every operation rounded as the variants promise.
 * v <- omega / diagonal (f + sum_a w_a (v(x-s_a) + v(x+s_a))) + (1 - omega) v,  w_a = alpha / s_a^2,
 * diagonal = gamma + 2 sum_a w_a.  Half 0, 2, ..: nodes of even i + j + k; half 1, 3, ..: odd ones.
 * Rounded: w_a, gain and keep once, each sum of opposite neighbours once; three fused multiply-adds in the order of
 * the axes, the product with gain, a last fused multiply-add. */
#define DEFINE_PLAIN(REAL, SUFFIX, FMA)                                                                      \
  static void plain_##SUFFIX(const rb_helmholtz_desc *d, int sweeps, double omega, const REAL *f, REAL *v) { \
    const int64_t n1 = d->grid.n[0], n2 = d->grid.n[1], n3 = d->grid.n[2], n = n1 * n2 * n3, b = d->border;  \
    double w[3], diagonal = d->gamma;                                                                        \
    for (int a = 0; a < 3; a++) w[a] = d->alpha / (d->spacing[a] * d->spacing[a]), diagonal += 2 * w[a];     \
    const REAL gain = (REAL)(omega / diagonal), keep = (REAL)(1 - omega);                                    \
    for (int64_t half = 0; half < 2 * sweeps; half++)                                                        \
      for (int64_t c = 0; c < 3; c++)                                                                        \
        for (int64_t i = b; i < n1 - b; i++)                                                                 \
          for (int64_t j = b; j < n2 - b; j++)                                                               \
            for (int64_t k = b; k < n3 - b; k++) {                                                           \
              if ((i + j + k + half) % 2) continue;                                                          \
              const int64_t x = c * n + (i * n2 + j) * n3 + k;                                               \
              REAL s = FMA((REAL)w[0], v[x - n2 * n3] + v[x + n2 * n3], f[x]);                               \
              s = FMA((REAL)w[1], v[x - n3] + v[x + n3], s);                                                 \
              s = FMA((REAL)w[2], v[x - 1] + v[x + 1], s);                                                   \
              s = gain * s;                                                                                  \
              v[x] = FMA(keep, v[x], s);                                                                     \
            }                                                                                                \
  }
DEFINE_PLAIN(float, f32, fmaf)
DEFINE_PLAIN(double, f64, fma)

/* In place in v, serial: what sweeps of any variant are compared with. */
void rb_helmholtz_plain_sweeps(const rb_helmholtz_desc *d, int sweeps, double omega, const void *f, void *v) {
  if (d->dtype == RB_F64)
    plain_f64(d, sweeps, omega, f, v);
  else
    plain_f32(d, sweeps, omega, f, v);
}
