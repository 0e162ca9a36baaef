/* SPDX-License-Identifier: BSD-3-Clause */
/* Oracle of the periodic solve: double, transforms by their definition along one axis after the other, the 3 x 3
 * system of a frequency by elimination. */
#include "cpu_ref/base/values.h"
#include "kernels/helmholtz/helmholtz.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>

static rb_status supports(const rb_helmholtz_desc *d) {
  /* n_a terms a value and axis: what takes longer is refused */
  return rb_grid_points(d->grid) <= 1 << 21 ? RB_OK : RB_FAIL(RB_EUNSUPPORTED, "cpu/ref ends at 2^21 points");
}
/* Memory is taken and given back in each call. */
static rb_status plan(const rb_backend *b, const rb_helmholtz_desc *d, rb_helmholtz_plan **out) {
  (void)b, (void)d;
  *out = calloc(1, sizeof **out);
  return *out ? RB_OK : RB_FAIL(RB_ENOMEM, "host memory");
}
static void destroy(rb_helmholtz_plan *p) { free(p); }

/* z_k <- sum_j z_j exp(sign 2 pi i j k / n) along axis a. line[2 n]: room for a line and the n-th roots of unity. */
static void transform(rb_grid g, int a, int sign, double complex *z, double complex *line) {
  const int64_t n = g.n[a], stride = a == 0 ? g.n[1] * g.n[2] : a == 1 ? g.n[2] : 1;
  double complex *root = line + n;
  /* root[j k mod n] = exp(sign 2 pi i j k / n): n exponentials a line instead of n^2 */
  for (int64_t k = 0; k < n; k++) root[k] = cexp(sign * I * RB_TWO_PI * (double)k / (double)n);
  for (int64_t i = 0; i < rb_grid_points(g); i++) {
    if (i / stride % n != 0) continue;
    for (int64_t k = 0; k < n; k++) {
      line[k] = 0;
      for (int64_t j = 0; j < n; j++) line[k] += z[i + j * stride] * root[j * k % n];
    }
    for (int64_t k = 0; k < n; k++) z[i + k * stride] = line[k];
  }
}

/* Gauss without pivoting: m is positive definite, or a multiple of the unit matrix.
 * u <- M^-1 u: forward elimination below the diagonal, then back substitution. M is real, u complex. */
static void eliminate(double m[3][3], double complex u[3]) {
  for (int k = 0; k < 3; k++)
    for (int r = k + 1; r < 3; r++) {
      const double q = m[r][k] / m[k][k];
      for (int c = k; c < 3; c++) m[r][c] -= q * m[k][c];
      u[r] -= q * u[k];
    }
  for (int k = 2; k >= 0; k--) {
    for (int c = k + 1; c < 3; c++) u[k] -= m[k][c] * u[c];
    u[k] /= m[k][k];
  }
}

/* M_aa = lambda - beta c_a,  M_ab = beta S_a S_b,  lambda = gamma - alpha (c_1 + c_2 + c_3);  u <- M^-1 u */
static void solve_frequency(const rb_helmholtz_desc *d, const int64_t k[3], double complex u[3]) {
  double m[3][3], s[3], lambda = d->gamma, second[3];
  for (int a = 0; a < 3; a++) {
    /* c_a = (2 cos(2 pi k_a / n_a) - 2) / s_a^2,   S_a = sin(2 pi k_a / n_a) / s_a */
    const double angle = RB_TWO_PI * (double)k[a] / (double)d->grid.n[a], h = d->spacing[a];
    second[a] = (2 * cos(angle) - 2) / (h * h);
    s[a] = sin(angle) / h;
    lambda -= d->alpha * second[a];
  }
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 3; c++) m[r][c] = r == c ? lambda - d->beta * second[r] : d->beta * s[r] * s[c];
  eliminate(m, u);
}

/* v = F^-1 M^-1 F f: transforms of all three components, a 3 x 3 system a frequency, transforms back; the real part.
 */
static rb_status solve(rb_helmholtz_plan *p, const void *f, void *v) {
  rb_status st = RB_OK;
  const rb_grid g = p->desc.grid;
  const int64_t n = rb_grid_points(g);
  double complex *z = malloc(3 * (size_t)n * sizeof *z);
  /* 2 n values of any one axis, at most */
  double complex *line = malloc(2 * (size_t)(g.n[0] + g.n[1] + g.n[2]) * sizeof *line);
  /* three full complex grids: the spectrum of a component is not halved */
  RB_CHECK(z && line, RB_ENOMEM, "host memory");
  for (int64_t i = 0; i < 3 * n; i++) z[i] = rb_value_get(p->desc.dtype, f, i);
  for (int c = 0; c < 3; c++)
    for (int a = 0; a < 3; a++) transform(g, a, -1, z + c * n, line);
  for (int64_t i = 0; i < n; i++) {
    /* frequencies 0 .. n - 1: cosine and sine have the period n, no wave number below 0 is needed */
    const int64_t k[3] = {i / g.n[2] / g.n[1], i / g.n[2] % g.n[1], i % g.n[2]};
    double complex u[3] = {z[i], z[n + i], z[2 * n + i]};
    solve_frequency(&p->desc, k, u);
    /* 1/N of the two unscaled transforms */
    for (int c = 0; c < 3; c++) z[c * n + i] = u[c] / (double)n;
  }
  for (int c = 0; c < 3; c++)
    for (int a = 0; a < 3; a++) transform(g, a, 1, z + c * n, line);
  for (int64_t i = 0; i < 3 * n; i++) {
    rb_value_put(p->desc.dtype, v, i, creal(z[i]));
  }
done:
  free(line), free(z);
  return st;
}

const rb_helmholtz_ops rb_helmholtz_ref = {supports, plan, solve, NULL, destroy, RB_HELMHOLTZ_PERIODIC, 0};
