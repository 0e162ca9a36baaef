/* SPDX-License-Identifier: BSD-3-Clause */
/* The passes of cpu/mesh of currents, once a precision: REAL, SUFFIX(name). */

static void SUFFIX(to_grid)(const rb_currents_mesh *p, int64_t n, const REAL *y, REAL *to) {
  const rb_currents_desc *d = &p->made_for;
  /* (y - origin) / spacing in double, rounded once. Each value is one thread's. */
#pragma omp parallel for schedule(static) collapse(2)
  for (int a = 0; a < 3; a++)
    for (int64_t i = 0; i < n; i++) to[a * n + i] = (REAL)(((double)y[a * n + i] - d->origin[a]) / d->spacing);
}
static void SUFFIX(add_fixed)(rb_currents_mesh *p) {
  const int64_t values = 3 * rb_grid_points(p->made_for.grid);
  const REAL *fixed = p->fixed;
  REAL *grid = p->grid;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < values; i++) grid[i] += fixed[i];
}

/* A plane of x1 has its own sum; planes are added in their order. */
static void SUFFIX(filter)(rb_currents_mesh *p) {
  /* k = K^_1(i) K^_2(j) K^_3(l) / N.   energy += w k |F^|^2,  w = 2 where a coefficient stands for itself and its
   * mirror image;  F^ *= k.  Products in double, the spectrum in REAL. */
  const rb_grid g = p->made_for.grid;
  const int64_t n3 = g.n[2] / 2 + 1, count = rb_fft_coefficients(g);
  const REAL *k1 = p->kernel, *k2 = k1 + g.n[0], *k3 = k2 + g.n[1];
  const double scale = 1 / (double)rb_grid_points(g);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < g.n[0]; i++) {
    double plane = 0;
    for (int64_t j = 0; j < g.n[1]; j++)
      for (int64_t l = 0; l < n3; l++) {
        const double k = (double)k1[i] * (double)k2[j] * (double)k3[l] * scale;
        const double w = l == 0 || 2 * l == g.n[2] ? 1 : 2;
        for (int c = 0; c < 3; c++) {
          /* component c begins at coefficient c * count; a coefficient is a pair */
          REAL *f = (REAL *)p->spectrum + 2 * (c * count + (i * g.n[1] + j) * n3 + l);
          plane += w * k * ((double)f[0] * (double)f[0] + (double)f[1] * (double)f[1]);
          f[0] = (REAL)((double)f[0] * k), f[1] = (REAL)((double)f[1] * k);
        }
      }
    /* a place for each plane: the sum below is in the order of planes for any number of threads */
    p->energy[1 + i] = plane;
  }
  p->energy[0] = 0;
  for (int64_t i = 0; i < g.n[0]; i++) p->energy[0] += p->energy[1 + i];
}

static void SUFFIX(gather)(rb_currents_mesh *p, int64_t n, const REAL *x, const REAL *pair, REAL *u, REAL *z) {
  const rb_currents_desc *d = &p->made_for;
  /* Points are independent. p->grid holds the field; q is the pairing, or zeros where no z is asked for. */
  const currents_lattice l = {(int)d->grid.n[0], (int)d->grid.n[1], (int)d->grid.n[2], rb_grid_points(d->grid)};
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++) {
    REAL at[3], q[3] = {0, 0, 0}, first[3], second[3];
    for (int a = 0; a < 3; a++) at[a] = (REAL)(((double)x[a * n + i] - d->origin[a]) / d->spacing);
    for (int a = 0; a < 3 && z; a++) q[a] = pair[a * n + i];
    if (d->method == RB_CURRENTS_PLAIN)
      SUFFIX(gather_plain)(&l, p->grid, at, q, first, second);
    else if (d->method == RB_CURRENTS_CORRECTED)
      SUFFIX(gather_linear)(&l, p->grid, at, q, first, second);
    else
      SUFFIX(gather_cubic)(&l, p->grid, at, q, first, second);
    for (int a = 0; a < 3; a++) {
      u[a * n + i] = first[a];
      /* per unit of length: the weights' derivatives are per grid cell */
      if (z) z[a * n + i] = second[a] / (REAL)d->spacing;
    }
  }
}
