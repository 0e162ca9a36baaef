/* SPDX-License-Identifier: BSD-3-Clause */
/* The points of splat on the CPU, once a precision: REAL, SUFFIX. */

/* Weights of the nodes from floor(x) - taps/2 + 1 on, for the fraction t of x. */
static inline void SUFFIX(weights)(rb_splat_basis basis, REAL t, REAL w[4]) {
  /* cubic:  u^3/6,  2/3 - t^2 (2-t)/2,  what is left of 1,  t^3/6:  a point's weights sum to 1 to within a rounding
   */
  const REAL u = 1 - t;
  if (basis == RB_SPLAT_LINEAR) {
    w[0] = u, w[1] = t;
  } else {
    w[0] = u * u * u / 6, w[3] = t * t * t / 6;
    w[1] = (REAL)2 / 3 - t * t * (2 - t) / 2, w[2] = 1 - w[0] - w[1] - w[3];
  }
}

/* Where a point's nodes lie along the axes, and their weights; 0: the point is no finite place, or one of its masses
 * none. */
static inline int SUFFIX(place)(const rb_splat_desc *d, const REAL *x, const REAL *m, int64_t q, int64_t base[3],
                                REAL w[3][4]) {
  for (int a = 0; a < 3; a++) {
    /* the cut is for the whole number only; the fraction is that of v */
    const REAL v = x[a * d->np + q], floor_v = SUFFIX(floor_of)(v);
    if (!isfinite(v)) return 0;
    base[a] = (int64_t)(floor_v < -FAR  ? -FAR
                        : floor_v > FAR ? FAR
                                        : floor_v) -
              (d->basis == RB_SPLAT_LINEAR ? 0 : 1);
    SUFFIX(weights)(d->basis, v - floor_v, w[a]);
  }
  /* one mass that is not finite drops the point from all components */
  for (int c = 0; c < d->components; c++)
    if (!isfinite(m[c * d->np + q])) return 0;
  return 1;
}

/* A point's contributions to the planes [first, last) of x1. */
static inline void SUFFIX(add_point)(const rb_splat_desc *d, const int64_t base[3], REAL w[3][4], const REAL *m,
                                     int64_t q, int64_t first, int64_t last, REAL *out) {
  /* Nodes by the boundary's rule, -1 where dropped. With clamp or periodic several taps may be the same node: they
   * are added one after the other. */
  const int64_t *n = d->grid.n, all = rb_grid_points(d->grid);
  const int taps = d->basis == RB_SPLAT_LINEAR ? 2 : 4;
  int64_t at[3][4];
  for (int a = 0; a < 3; a++)
    for (int i = 0; i < taps; i++) at[a][i] = splat_node(base[a] + i, n[a], d->boundary);
  for (int i = 0; i < taps; i++) {
    /* dropped nodes are below `first` in any slab */
    if (at[0][i] < first || at[0][i] >= last) continue;
    for (int j = 0; j < taps; j++) {
      if (at[1][j] < 0) continue;
      const REAL wij = w[0][i] * w[1][j];
      REAL *row = out + (at[0][i] * n[1] + at[1][j]) * n[2];
      for (int k = 0; k < taps; k++) {
        if (at[2][k] < 0) continue;
        for (int c = 0; c < d->components; c++) row[c * all + at[2][k]] += wij * w[2][k] * m[c * d->np + q];
      }
    }
  }
}
