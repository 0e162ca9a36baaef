/* SPDX-License-Identifier: BSD-3-Clause */
/* What cpu/fftw of helmholtz does around its transforms, in the precision REAL; included once a precision. `row`:
 * reals between the rows of z. */

static void SUFFIX(spread)(rb_grid g, int64_t row, const REAL *f, REAL *z) {
  for (int64_t r = 0; r < g.n[0] * g.n[1]; r++) memcpy(z + r * row, f + r * g.n[2], (size_t)g.n[2] * sizeof *f);
}
static void SUFFIX(collect)(rb_grid g, int64_t row, const REAL *z, REAL *v) {
  for (int64_t r = 0; r < g.n[0] * g.n[1]; r++) memcpy(v + r * g.n[2], z + r * row, (size_t)g.n[2] * sizeof *v);
}

/* All frequencies: (re, im) pairs of the three components, `bytes` apart, times M^-1 / N. */
static void SUFFIX(matrices)(const rb_helmholtz_desc *d, double *const c[3], double *const s[3], void *z,
                             size_t bytes) {
  const rb_grid g = d->grid;
  const int64_t half = g.n[2] / 2 + 1;
  const REAL scale = (REAL)(1 / (double)rb_grid_points(g));
  REAL *component[3];
  for (int a = 0; a < 3; a++) component[a] = (REAL *)((char *)z + (size_t)a * bytes);
#pragma omp parallel for collapse(2) schedule(static)
  for (int64_t i = 0; i < g.n[0]; i++)
    for (int64_t j = 0; j < g.n[1]; j++)
      for (int64_t k = 0; k < half; k++) {
        const int64_t at = 2 * ((i * g.n[1] + j) * half + k);
        const REAL second[3] = {(REAL)c[0][i], (REAL)c[1][j], (REAL)c[2][k]},
                   central[3] = {(REAL)s[0][i], (REAL)s[1][j], (REAL)s[2][k]};
        REAL re[3], im[3];
        for (int a = 0; a < 3; a++) re[a] = component[a][at], im[a] = component[a][at + 1];
        SUFFIX(rb_helmholtz_solve)((REAL)d->alpha, (REAL)d->beta, (REAL)d->gamma, second, central, scale, re, im);
        for (int a = 0; a < 3; a++) component[a][at] = re[a], component[a][at + 1] = im[a];
      }
}
