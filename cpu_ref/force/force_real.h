/* SPDX-License-Identifier: BSD-3-Clause */
/* Body of cpu/naive and cpu/omp of force, once a precision: REAL, SUFFIX(name), PARALLEL and PARALLEL_SUM (pragmas or
 * nothing). */
static void SUFFIX(force)(rb_grid g, REAL ratio, const REAL *fixed, const REAL *w, REAL *u) {
  /* Rows are independent: u at a node is from `fixed` there, and `w` there and at its six neighbours. */
  const int64_t n = rb_grid_points(g), stride[3] = {g.n[1] * g.n[2], g.n[2], 1};
  PARALLEL
  for (int64_t row = 0; row < g.n[0] * g.n[1]; row++)
    for (int64_t k = 0; k < g.n[2]; k++) {
      const int64_t i = row * g.n[2] + k, at[3] = {row / g.n[1], row % g.n[1], k};
      REAL slope[3], square = 0;
      for (int a = 0; a < 3; a++) {
        const int64_t low = at[a] > 0 ? -stride[a] : 0, high = at[a] + 1 < g.n[a] ? stride[a] : 0;
        slope[a] = (high - low == 2 * stride[a] ? (REAL)0.5 : 1) * (w[i + high] - w[i + low]);
        square += slope[a] * slope[a];
      }
      /* u = d g / (|g|^2 + ratio^2 d^2),  0 on background (an intensity of 0) and where the denominator is 0 */
      const REAL d = fixed[i] - w[i], under = square + ratio * ratio * d * d,
                 scale = fixed[i] != 0 && w[i] != 0 && under > 0 ? d / under : 0;
      for (int a = 0; a < 3; a++) u[a * n + i] = scale * slope[a];
    }
}
static double SUFFIX(energy)(rb_grid g, const REAL *fixed, const REAL *w) {
  /* sum (fixed - w)^2 in double. With threads their sums are added in no fixed order: the last bits may differ. */
  double sum = 0;
  PARALLEL_SUM
  for (int64_t i = 0; i < rb_grid_points(g); i++) {
    const double d = (double)fixed[i] - (double)w[i];
    sum += d * d;
  }
  return sum;
}
