/* SPDX-License-Identifier: BSD-3-Clause */
/* l2force in the precision REAL, a row at a time; included once a precision. */

/* Of [channels] images, added in their order. Half the rise over the two neighbours of a node inside, the whole rise
 * over one at the border, over the spacing. */
static void SUFFIX(force)(rb_grid g, const double spacing[3], int channels, REAL weight, const REAL *mean,
                          const REAL *image, REAL *f) {
  const int64_t n = rb_grid_points(g), s1 = g.n[1] * g.n[2], s2 = g.n[2];
#pragma omp parallel for collapse(2) schedule(static)
  for (int64_t i1 = 0; i1 < g.n[0]; i1++)
    for (int64_t i2 = 0; i2 < g.n[1]; i2++) {
      /* Offsets of the neighbours along x1 and x2, 0 where there is none; one pair a row. Rows are independent. */
      const int64_t low1 = i1 > 0 ? s1 : 0, high1 = i1 + 1 < g.n[0] ? s1 : 0, low2 = i2 > 0 ? s2 : 0,
                    high2 = i2 + 1 < g.n[1] ? s2 : 0, row = i1 * s1 + i2 * s2;
      const REAL scale1 = (REAL)((low1 && high1 ? 0.5 : 1.0) / spacing[0]),
                 scale2 = (REAL)((low2 && high2 ? 0.5 : 1.0) / spacing[1]);
      for (int k = 0; k < channels; k++) {
        const REAL *m = mean + k * n, *v = image + k * n;
        for (int64_t i3 = 0; i3 < g.n[2]; i3++) {
          const int64_t i = row + i3, low3 = i3 > 0, high3 = i3 + 1 < g.n[2];
          /* the same along x3, node by node */
          const REAL d = m[i] - v[i], scale3 = (REAL)((low3 && high3 ? 0.5 : 1.0) / spacing[2]);
          const REAL f1 = d * (scale1 * (v[i + high1] - v[i - low1])),
                     f2 = d * (scale2 * (v[i + high2] - v[i - low2])),
                     f3 = d * (scale3 * (v[i + high3] - v[i - low3]));
          f[i] = k ? f[i] + f1 : f1, f[n + i] = k ? f[n + i] + f2 : f2, f[2 * n + i] = k ? f[2 * n + i] + f3 : f3;
        }
      }
      if (weight == 1) continue;
      for (int a = 0; a < 3; a++)
        for (int64_t i = row; i < row + g.n[2]; i++) f[a * n + i] *= weight;
    }
}

/* A plane at a time into plane[n1], then in sequence: the same for any number of threads. */
static double SUFFIX(energy)(rb_grid g, const REAL *mean, const REAL *image, double *plane) {
  const int64_t each = g.n[1] * g.n[2];
  double sum = 0;
#pragma omp parallel for schedule(static)
  for (int64_t i1 = 0; i1 < g.n[0]; i1++) {
    double part = 0;
    for (int64_t i = i1 * each; i < (i1 + 1) * each; i++) {
      /* the difference rounds in the data's precision, square and sum in double */
      const double d = (double)(mean[i] - image[i]);
      part += d * d;
    }
    plane[i1] = part;
  }
  for (int64_t i1 = 0; i1 < g.n[0]; i1++) sum += plane[i1];
  return sum;
}
