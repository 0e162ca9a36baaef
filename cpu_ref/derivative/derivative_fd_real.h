/* SPDX-License-Identifier: BSD-3-Clause */
/* Body of derivative_omp.c, included once a precision with REAL and SUFFIX(name) defined.
 * A row is n3 contiguous values. Rows along x1 and x2 vectorise over x3; along x3 only the `taps` values
 * at both ends need the modulo. */

/* Along x3, within a row of n values: out = sum_{l=1..taps} c_l (f[k+l] - f[k-l]), c with 1/h in it; add: on top of
 * out. */
static void SUFFIX(row_x3)(const REAL *f, REAL *out, int64_t n, const REAL *c, int taps, int add) {
  int64_t lead = taps < n ? taps : n, tail = n - taps > lead ? n - taps : lead;
  for (int64_t k = 0; k < n; k++) {
    if (k == lead) k = tail;
    if (k >= n) break;
    REAL s = 0;
    /* the same terms in the same order as in the loops without the modulo */
    for (int l = 1; l <= taps; l++) s += c[l - 1] * (f[rb_wrap(k + l, n)] - f[rb_wrap(k - l, n)]);
    out[k] = add ? out[k] + s : s;
  }
  if (taps == 4) {
    for (int64_t k = lead; k < tail; k++) {
      REAL s = c[0] * (f[k + 1] - f[k - 1]) + c[1] * (f[k + 2] - f[k - 2]) + c[2] * (f[k + 3] - f[k - 3]) +
               c[3] * (f[k + 4] - f[k - 4]);
      out[k] = add ? out[k] + s : s;
    }
  } else {
    for (int64_t k = lead; k < tail; k++) {
      REAL s = c[0] * (f[k + 1] - f[k - 1]);
      out[k] = add ? out[k] + s : s;
    }
  }
}

/* Difference across rows: up[l], down[l] are the rows at +-(l+1).
 * Values of a node's neighbours across rows lie at the same k: the loop over k vectorises without any modulo. */
static void SUFFIX(row_across)(const REAL *const up[4], const REAL *const down[4], REAL *out, int64_t n,
                               const REAL *c, int taps, int add) {
  if (taps == 4) {
    const REAL *u0 = up[0], *u1 = up[1], *u2 = up[2], *u3 = up[3];
    const REAL *d0 = down[0], *d1 = down[1], *d2 = down[2], *d3 = down[3];
    for (int64_t k = 0; k < n; k++) {
      REAL s = c[0] * (u0[k] - d0[k]) + c[1] * (u1[k] - d1[k]) + c[2] * (u2[k] - d2[k]) + c[3] * (u3[k] - d3[k]);
      out[k] = add ? out[k] + s : s;
    }
  } else {
    const REAL *u0 = up[0], *d0 = down[0];
    for (int64_t k = 0; k < n; k++) {
      REAL s = c[0] * (u0[k] - d0[k]);
      out[k] = add ? out[k] + s : s;
    }
  }
}

/* out (+)= d f / d x_axis for row (i, j). f, out: one component. */
static void SUFFIX(row)(rb_grid g, int axis, int64_t i, int64_t j, const REAL *f, REAL *out, const REAL *c, int taps,
                        int add) {
  /* row (i, j) begins at value (i n2 + j) n3 of a component */
  int64_t n2 = g.n[1], n3 = g.n[2];
  REAL *to = out + (i * n2 + j) * n3;
  if (axis == 2) {
    SUFFIX(row_x3)(f + (i * n2 + j) * n3, to, n3, c, taps, add);
    return;
  }
  /* rows i +- l or j +- l, the index modulo the axis once a row */
  const REAL *up[4], *down[4];
  for (int l = 1; l <= taps; l++) {
    int64_t iu = axis == 0 ? rb_wrap(i + l, g.n[0]) : i, id = axis == 0 ? rb_wrap(i - l, g.n[0]) : i;
    int64_t ju = axis == 1 ? rb_wrap(j + l, n2) : j, jd = axis == 1 ? rb_wrap(j - l, n2) : j;
    up[l - 1] = f + (iu * n2 + ju) * n3;
    down[l - 1] = f + (id * n2 + jd) * n3;
  }
  SUFFIX(row_across)(up, down, to, n3, c, taps, add);
}

/* c_l / h_a, divided in double and rounded once; FD2 uses the first, 1/2 / h_a. */
static void SUFFIX(coefficients)(const rb_derivative_desc *d, REAL c[3][4]) {
  for (int a = 0; a < 3; a++)
    for (int l = 0; l < 4; l++)
      c[a][l] = (REAL)((d->scheme == RB_FD8 ? rb_fd8[l] : 0.5) / rb_grid_spacing(d->grid, a));
}

/* f is read by all threads, each writes rows of its own. */
static void SUFFIX(gradient)(const rb_derivative_desc *d, const REAL *f, REAL *g) {
  REAL c[3][4];
  SUFFIX(coefficients)(d, c);
  int64_t n = rb_grid_points(d->grid);
  int taps = d->scheme == RB_FD8 ? 4 : 1;
#pragma omp parallel for collapse(2) schedule(static)
  for (int64_t i = 0; i < d->grid.n[0]; i++)
    for (int64_t j = 0; j < d->grid.n[1]; j++)
      /* rows of the output are independent: a thread writes row (i, j) of all three components */
      for (int a = 0; a < 3; a++) SUFFIX(row)(d->grid, a, i, j, f, g + a * n, c[a], taps, 0);
}

static void SUFFIX(divergence)(const rb_derivative_desc *d, const REAL *v, REAL *out) {
  REAL c[3][4];
  SUFFIX(coefficients)(d, c);
  int64_t n = rb_grid_points(d->grid);
  int taps = d->scheme == RB_FD8 ? 4 : 1;
#pragma omp parallel for collapse(2) schedule(static)
  for (int64_t i = 0; i < d->grid.n[0]; i++)
    for (int64_t j = 0; j < d->grid.n[1]; j++)
      /* the same row three times: d_1 v_1, then + d_2 v_2, + d_3 v_3, by one thread and in this order */
      for (int a = 0; a < 3; a++) SUFFIX(row)(d->grid, a, i, j, v + a * n, out, c[a], taps, a > 0);
}
