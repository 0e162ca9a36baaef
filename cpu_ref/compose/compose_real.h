/* SPDX-License-Identifier: BSD-3-Clause */
/* Body of cpu/naive and cpu/omp of compose, once a precision: REAL, SUFFIX(name), PARALLEL and PARALLEL_MOST (pragmas
 * or nothing). */

/* Where a point lies: the lower corner's index, whether all eight corners are inside, and the fractions. */
typedef struct {
  int64_t low[3], index;
  int inside;
  REAL t[3];
} SUFFIX(place);

static inline SUFFIX(place) SUFFIX(find)(rb_grid g, const REAL x[3]) {
  SUFFIX(place) q;
  q.inside = 1;
  for (int a = 0; a < 3; a++) {
    /* far outside is as good as just outside, and fits an integer */
    const REAL y = x[a] > -2 ? (x[a] < (REAL)g.n[a] + 1 ? x[a] : (REAL)g.n[a] + 1) : -2, low = SUFFIX(floor_of)(y);
    q.low[a] = (int64_t)low;
    q.t[a] = y - low;
    q.inside &= q.low[a] >= 0 && q.low[a] + 1 < g.n[a];
  }
  /* used only where all eight corners are inside; else it may lie outside of the field */
  q.index = (q.low[0] * g.n[1] + q.low[1]) * g.n[2] + q.low[2];
  return q;
}

static inline REAL SUFFIX(value)(rb_grid g, const REAL *f, const SUFFIX(place) * q) {
  /* u (v (w c000 + t3 c001) + t2 (w c010 + t3 c011)) + t1 (the same at the next plane), u = 1 - t1, v = 1 - t2,
   * w = 1 - t3 */
  const REAL u = 1 - q->t[0], v = 1 - q->t[1], w = 1 - q->t[2];
  const int64_t sy = g.n[2], sx = g.n[1] * g.n[2];
  if (q->inside) {
    const REAL *c = f + q->index;
    return u * (v * (w * c[0] + q->t[2] * c[1]) + q->t[1] * (w * c[sy] + q->t[2] * c[sy + 1])) +
           q->t[0] * (v * (w * c[sx] + q->t[2] * c[sx + 1]) + q->t[1] * (w * c[sx + sy] + q->t[2] * c[sx + sy + 1]));
  }
  REAL sum = 0;
  /* at the border corner by corner; those outside count as 0. Bits 0, 1, 2 of `corner`: the upper node along x1,
   * x2, x3. */
  for (int corner = 0; corner < 8; corner++) {
    const int64_t a = q->low[0] + (corner & 1), b = q->low[1] + (corner >> 1 & 1), c = q->low[2] + (corner >> 2);
    if (a < 0 || b < 0 || c < 0 || a >= g.n[0] || b >= g.n[1] || c >= g.n[2]) continue;
    sum += (corner & 1 ? q->t[0] : u) * (corner & 2 ? q->t[1] : v) * (corner & 4 ? q->t[2] : w) *
           f[(a * g.n[1] + b) * g.n[2] + c];
  }
  return sum;
}

/* components 3: out = a s + a f(x + a s); 1: out = f(x + s), a = 1. */
static void SUFFIX(resample)(rb_grid g, int components, REAL a, const REAL *f, const REAL *s, REAL *out) {
  const int64_t n = rb_grid_points(g);
  PARALLEL
  for (int64_t row = 0; row < g.n[0] * g.n[1]; row++)
    for (int64_t k = 0; k < g.n[2]; k++) {
      const int64_t i = row * g.n[2] + k;
      const REAL x[3] = {(REAL)(row / g.n[1]) + a * s[i], (REAL)(row % g.n[1]) + a * s[n + i],
                         (REAL)k + a * s[2 * n + i]};
      const SUFFIX(place) q = SUFFIX(find)(g, x);
      if (components == 1) /* warp: one component, a = 1 */
        out[i] = SUFFIX(value)(g, f, &q);
      else
        for (int c = 0; c < 3; c++) out[c * n + i] = a * (s[c * n + i] + SUFFIX(value)(g, f + c * n, &q));
    }
}

/* j[c][axis] = derivative of component c at node i.
 * inside (s(x+1) - s(x-1)) / 2, at the border the difference to the one neighbour, 0 along an axis of one node */
static inline void SUFFIX(derivatives)(rb_grid g, const REAL *s, int64_t row, int64_t k, REAL j[3][3]) {
  const int64_t n = rb_grid_points(g), stride[3] = {g.n[1] * g.n[2], g.n[2], 1}, i = row * g.n[2] + k,
                at[3] = {row / g.n[1], row % g.n[1], k};
  for (int a = 0; a < 3; a++) {
    const int64_t low = at[a] > 0 ? -stride[a] : 0, high = at[a] + 1 < g.n[a] ? stride[a] : 0;
    const REAL per = high - low == 2 * stride[a] ? (REAL)0.5 : high != low ? 1 : 0;
    for (int c = 0; c < 3; c++) j[c][a] = per * (s[c * n + i + high] - s[c * n + i + low]);
  }
}

/* det(I + ds/dx), without unit. Rows are independent. */
static void SUFFIX(jacobian)(rb_grid g, const REAL *s, REAL *out) {
  PARALLEL
  for (int64_t row = 0; row < g.n[0] * g.n[1]; row++)
    for (int64_t k = 0; k < g.n[2]; k++) {
      REAL j[3][3];
      SUFFIX(derivatives)(g, s, row, k, j);
      /* I + ds/dx, expanded by the first row */
      for (int c = 0; c < 3; c++) j[c][c] += 1;
      out[row * g.n[2] + k] = j[0][0] * (j[1][1] * j[2][2] - j[1][2] * j[2][1]) -
                              j[0][1] * (j[1][0] * j[2][2] - j[1][2] * j[2][0]) +
                              j[0][2] * (j[1][0] * j[2][1] - j[1][1] * j[2][0]);
    }
}

/* The bracket [v, w] = dv/dx w - dw/dx v. Rows are independent. */
static void SUFFIX(lie)(rb_grid g, const REAL *v, const REAL *w, REAL *out) {
  const int64_t n = rb_grid_points(g);
  PARALLEL
  for (int64_t row = 0; row < g.n[0] * g.n[1]; row++)
    for (int64_t k = 0; k < g.n[2]; k++) {
      const int64_t i = row * g.n[2] + k;
      /* out_c = sum_a ( d_a v_c  w_a - d_a w_c  v_a ) */
      REAL dv[3][3], dw[3][3];
      SUFFIX(derivatives)(g, v, row, k, dv);
      SUFFIX(derivatives)(g, w, row, k, dw);
      for (int c = 0; c < 3; c++) {
        REAL sum = 0;
        for (int a = 0; a < 3; a++) sum += dv[c][a] * w[a * n + i] - dw[c][a] * v[a * n + i];
        out[c * n + i] = sum;
      }
    }
}

/* Square of the greatest length; a NaN wins. */
static double SUFFIX(most)(rb_grid g, const REAL *s) {
  const int64_t n = rb_grid_points(g);
  double most = 0;
  PARALLEL_MOST
  for (int64_t i = 0; i < n; i++) {
    /* in double in either precision: squares of floats are exact there */
    const double x = (double)s[i], y = (double)s[n + i], z = (double)s[2 * n + i], square = x * x + y * y + z * z;
    /* a NaN is greater than nothing and not less or equal: it is taken, and then kept */
    if (!(square <= most) && most == most) most = square;
  }
  return most;
}

/* Row by row of the large grid: `wide` is where the inner row begins in it, `narrow` where it begins in the inner
 * grid. Different rows are different memory on both sides. */
static void SUFFIX(embed)(rb_grid g, rb_grid inner, int crop, const REAL *f, REAL *out) {
  const int64_t shift[3] = {(g.n[0] - inner.n[0]) / 2, (g.n[1] - inner.n[1]) / 2, (g.n[2] - inner.n[2]) / 2};
  PARALLEL
  for (int64_t row = 0; row < g.n[0] * g.n[1]; row++) {
    const int64_t a = row / g.n[1] - shift[0], b = row % g.n[1] - shift[1], wide = row * g.n[2] + shift[2],
                  narrow = (a * inner.n[1] + b) * inner.n[2];
    /* crop leaves out rows that the inner grid does not have; pad writes zeros there */
    const int inside = a >= 0 && a < inner.n[0] && b >= 0 && b < inner.n[1];
    if (!crop) memset(out + row * g.n[2], 0, (size_t)g.n[2] * sizeof *out);
    if (inside)
      memcpy(crop ? out + narrow : out + wide, crop ? f + wide : f + narrow, (size_t)inner.n[2] * sizeof *out);
  }
}
