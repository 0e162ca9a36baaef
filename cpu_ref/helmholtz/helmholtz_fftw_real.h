/* SPDX-License-Identifier: BSD-3-Clause */
/* cpu/fftw of helmholtz in the precision REAL, by FFTW(name); included once a precision. z: [3][n1][n2][n3/2+1]
 * complex numbers, whose rows hold n3 real ones before the transforms. */

typedef struct {
  FFTW(plan) forward, inverse; /* of a plane, real to complex and back, in place */
  FFTW(plan) down, up;         /* along axis 1, of all n3/2+1 columns of a plane across it, in place */
} SUFFIX(transforms);

static rb_status SUFFIX(make_transforms)(SUFFIX(transforms) * t, rb_grid g, REAL *z) {
  rb_status st = RB_OK;
  /* unaligned: the plans are executed on planes and columns that begin anywhere in z */
  const unsigned how = FFTW_ESTIMATE | FFTW_UNALIGNED;
  const int n1 = (int)g.n[0], n2 = (int)g.n[1], n3 = (int)g.n[2], half = n3 / 2 + 1, across = n2 * half;
  /* in place: a real row has room for 2 (n3/2 + 1) values, of which n3 are used; 2-D plans assume this padding */
  FFTW(complex) *c = (FFTW(complex) *)z;
  FFTW(plan_with_nthreads)(1);
  t->forward = FFTW(plan_dft_r2c_2d)(n2, n3, z, c, how);
  t->inverse = FFTW(plan_dft_c2r_2d)(n2, n3, c, z, how);
  /* n3/2 + 1 transforms of n1 values: neighbours of a transform lie a plane (`across` numbers) apart, transforms
   * one */
  t->down = FFTW(plan_many_dft)(1, &n1, half, c, NULL, across, 1, c, NULL, across, 1, FFTW_FORWARD, how);
  t->up = FFTW(plan_many_dft)(1, &n1, half, c, NULL, across, 1, c, NULL, across, 1, FFTW_BACKWARD, how);
  RB_CHECK(t->forward && t->inverse && t->down && t->up, RB_ENOMEM, "FFTW refused a plan for %dx%dx%d", n1, n2, n3);
done:
  return st;
}
/* Also for a struct of zeros, or one that was made in part. */
static void SUFFIX(destroy_transforms)(SUFFIX(transforms) * t) {
  FFTW(plan) all[] = {t->forward, t->inverse, t->down, t->up};
  for (int k = 0; k < 4; k++)
    if (all[k]) FFTW(destroy_plan)(all[k]);
}

/* Frequencies (., j, .): (re, im) pairs of the three components times M^-1 / N. */
static void SUFFIX(matrices)(const rb_helmholtz_desc *d, double *const c[3], double *const s[3], int64_t j,
                             REAL *const z[3]) {
  const rb_grid g = d->grid;
  const int64_t half = g.n[2] / 2 + 1;
  /* 1/N of the unscaled transforms goes with the solution of each 3 x 3 system */
  const REAL scale = (REAL)(1 / (double)rb_grid_points(g));
  for (int64_t i = 0; i < g.n[0]; i++)
    for (int64_t k = 0; k < half; k++) {
      const int64_t at = 2 * ((i * g.n[1] + j) * half + k);
      const REAL second[3] = {(REAL)c[0][i], (REAL)c[1][j], (REAL)c[2][k]},
                 central[3] = {(REAL)s[0][i], (REAL)s[1][j], (REAL)s[2][k]};
      REAL re[3], im[3];
      for (int a = 0; a < 3; a++) re[a] = z[a][at], im[a] = z[a][at + 1];
      SUFFIX(rb_helmholtz_solve)((REAL)d->alpha, (REAL)d->beta, (REAL)d->gamma, second, central, scale, re, im);
      for (int a = 0; a < 3; a++) z[a][at] = re[a], z[a][at + 1] = im[a];
    }
}

/* Planes there; across them there, through the matrices and back; planes back. Each loop's turns are independent. */
static void SUFFIX(solve)(const SUFFIX(transforms) * t, const rb_helmholtz_desc *d, double *const c[3],
                          double *const s[3], REAL *room, const REAL *f, REAL *v) {
  const rb_grid g = d->grid;
  /* planes of all components are numbered through: p = component * n1 + i */
  const int64_t n1 = g.n[0], n2 = g.n[1], n3 = g.n[2], row = 2 * (n3 / 2 + 1);
  REAL *const z[3] = {room, room + n1 * n2 * row, room + 2 * n1 * n2 * row};
#pragma omp parallel for schedule(static)
  for (int64_t p = 0; p < 3 * n1; p++) {
    REAL *plane = room + p * n2 * row;
    for (int64_t j = 0; j < n2; j++) memcpy(plane + j * row, f + (p * n2 + j) * n3, (size_t)n3 * sizeof *f);
    FFTW(execute_dft_r2c)(t->forward, plane, (FFTW(complex) *)plane);
  }
  /* Slab j: the numbers (., j, .) of all planes and components, which no other turn reads or writes. The matrices
   * need the three components of a frequency, so they come between the transforms across. */
#pragma omp parallel for schedule(static)
  for (int64_t j = 0; j < n2; j++) {
    for (int a = 0; a < 3; a++) {
      FFTW(complex) *across = (FFTW(complex) *)(z[a] + j * row);
      FFTW(execute_dft)(t->down, across, across);
    }
    SUFFIX(matrices)(d, c, s, j, z);
    for (int a = 0; a < 3; a++) {
      FFTW(complex) *across = (FFTW(complex) *)(z[a] + j * row);
      FFTW(execute_dft)(t->up, across, across);
    }
  }
#pragma omp parallel for schedule(static)
  for (int64_t p = 0; p < 3 * n1; p++) {
    REAL *plane = room + p * n2 * row;
    FFTW(execute_dft_c2r)(t->inverse, (FFTW(complex) *)plane, plane);
    for (int64_t j = 0; j < n2; j++) memcpy(v + (p * n2 + j) * n3, plane + j * row, (size_t)n3 * sizeof *v);
  }
}
