/* SPDX-License-Identifier: BSD-3-Clause */
/* fft_planes.c in the precision REAL, by FFTW(name); included once a precision. `half` is n3/2+1. */

typedef struct {
  FFTW(plan) forward, inverse; /* of a plane, [n2][n3] real <-> [n2][half] complex */
  FFTW(plan) down, up;         /* along x1, of the `half` columns of a row, in place */
} SUFFIX(plane_plans);

static rb_status SUFFIX(make_plans)(SUFFIX(plane_plans) * t, rb_grid g) {
  rb_status st = RB_OK;
  /* unaligned: a field, a plane and a row begin anywhere */
  const unsigned how = FFTW_ESTIMATE | FFTW_UNALIGNED;
  const int n1 = (int)g.n[0], n2 = (int)g.n[1], n3 = (int)g.n[2], half = n3 / 2 + 1, plane = n2 * half;
  REAL *real = malloc((size_t)n2 * (size_t)n3 * sizeof *real);
  FFTW(complex) *spectrum = malloc((size_t)rb_fft_coefficients(g) * sizeof *spectrum);
  RB_CHECK(real && spectrum, RB_ENOMEM, "host memory");
  FFTW(plan_with_nthreads)(1);
  t->forward = FFTW(plan_dft_r2c_2d)(n2, n3, real, spectrum, how);
  t->inverse = FFTW(plan_dft_c2r_2d)(n2, n3, spectrum, real, how);
  t->down = FFTW(plan_many_dft)(1, &n1, half, spectrum, NULL, plane, 1, spectrum, NULL, plane, 1, FFTW_FORWARD, how);
  t->up = FFTW(plan_many_dft)(1, &n1, half, spectrum, NULL, plane, 1, spectrum, NULL, plane, 1, FFTW_BACKWARD, how);
  RB_CHECK(t->forward && t->inverse && t->down && t->up, RB_ENOMEM, "FFTW refused a plan for %dx%dx%d", n1, n2, n3);
done:
  free(real), free(spectrum);
  return st;
}
/* Also of what was made in part. */
static void SUFFIX(destroy_plans)(SUFFIX(plane_plans) * t) {
  FFTW(plan) all[] = {t->forward, t->inverse, t->down, t->up};
  for (int k = 0; k < 4; k++)
    if (all[k]) FFTW(destroy_plan)(all[k]);
}

/* All rows of all fields: row j of field c is the numbers (., j, .), which no other turn reads or writes. */
static void SUFFIX(along_x1)(FFTW(plan) plan, rb_grid g, int fields, FFTW(complex) * spectrum) {
  const int64_t half = g.n[2] / 2 + 1, n2 = g.n[1];
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < fields * n2; r++) {
    FFTW(complex) *row = spectrum + (r / n2) * rb_fft_coefficients(g) + (r % n2) * half;
    FFTW(execute_dft)(plan, row, row);
  }
}
/* Planes of all fields are numbered through. */
static void SUFFIX(forward)(const SUFFIX(plane_plans) * t, rb_grid g, int fields, const REAL *real,
                            FFTW(complex) * spectrum) {
  const int64_t plane = g.n[1] * g.n[2], coefficients = g.n[1] * (g.n[2] / 2 + 1);
#pragma omp parallel for schedule(static)
  for (int64_t p = 0; p < fields * g.n[0]; p++) /* the input is kept; its const is cast away for FFTW's prototype */
    FFTW(execute_dft_r2c)(t->forward, (REAL *)real + p * plane, spectrum + p * coefficients);
  SUFFIX(along_x1)(t->down, g, fields, spectrum);
}
static void SUFFIX(inverse)(const SUFFIX(plane_plans) * t, rb_grid g, int fields, FFTW(complex) * spectrum,
                            REAL *real) {
  const int64_t plane = g.n[1] * g.n[2], coefficients = g.n[1] * (g.n[2] / 2 + 1);
  SUFFIX(along_x1)(t->up, g, fields, spectrum);
#pragma omp parallel for schedule(static)
  for (int64_t p = 0; p < fields * g.n[0]; p++)
    FFTW(execute_dft_c2r)(t->inverse, spectrum + p * coefficients, real + p * plane);
}
