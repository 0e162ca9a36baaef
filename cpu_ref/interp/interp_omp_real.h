/* SPDX-License-Identifier: BSD-3-Clause */
/* Body of interp_omp.c, included once a precision with REAL and SUFFIX(name) defined. */

/* One axis at a point: node offsets (already times the axis's stride) and weights. */
typedef struct {
  int64_t offset[4];
  REAL weight[4];
} SUFFIX(axis);

/* t = x - floor(x) in [0, 1), u = 1 - t. Nodes 0, 1 (linear) or -1, 0, 1, 2 (cubic):
 *   Lagrange:  -t u (2-t)/6,  (1+t)(2-t) u/2,  (1+t)(2-t) t/2,  -t u (1+t)/6
 *   B-spline:  u^3/6,  2/3 - t^2 (2-t)/2,  what is left of 1,  t^3/6
 * The third B-spline weight as a remainder: the four sum to 1 to within a rounding. */
static inline void SUFFIX(basis_weights)(rb_interp_basis basis, REAL t, REAL w[4]) {
  REAL u = 1 - t;
  if (basis == RB_LINEAR) {
    w[0] = u, w[1] = t;
  } else if (basis == RB_LAGRANGE) {
    REAL outer = t * u / 6, inner = (1 + t) * (2 - t) / 2;
    w[0] = -outer * (2 - t), w[1] = inner * u, w[2] = inner * t, w[3] = -outer * (1 + t);
  } else {
    REAL sixth = (REAL)1 / 6;
    w[0] = u * u * u * sixth, w[3] = t * t * t * sixth;
    w[1] = (REAL)2 / 3 - t * t * (2 - t) / 2, w[2] = 1 - w[0] - w[1] - w[3];
  }
}

/* Zero boundary: a tap outside keeps a valid offset and gets weight 0. */
static inline void SUFFIX(axis_setup)(SUFFIX(axis) * s, const rb_interp_desc *d, int a, int64_t stride, REAL x) {
  int taps = d->basis == RB_LINEAR ? 2 : 4;
  /* Coordinates beyond +-1e9 are cut before they become whole numbers, a NaN gets node 0: indices are always
   * defined. The fraction is that of the uncut coordinate, so that a NaN or an infinity makes the weights and the
   * result NaN. */
  int64_t n = d->grid.n[a];
  REAL cell = FLOOR(x), bounded = cell < -1000000000 ? -1000000000 : cell > 1000000000 ? 1000000000 : cell;
  SUFFIX(basis_weights)(d->basis, x - cell, s->weight);
  int64_t base = (bounded == bounded ? (int64_t)bounded : 0) - (taps == 4);
  /* all taps inside: no boundary rule */
  if (base >= 0 && base + taps <= n) {
    for (int i = 0; i < taps; i++) s->offset[i] = (base + i) * stride;
    return;
  }
  for (int i = 0; i < taps; i++) {
    int64_t k = base + i;
    if (d->boundary == RB_PERIODIC) /* taps beyond more than one period wrap, too */
      k = rb_wrap(k, n);
    else if (k < 0 || k >= n) {
      if (d->boundary == RB_ZERO) s->weight[i] = 0;
      k = k < 0 ? 0 : n - 1;
    }
    s->offset[i] = k * stride;
  }
}

/* sum_ijk w_i w_j w_k c[b1+i, b2+j, b3+k] of one component; the order of the sum is fixed by the loops */
static inline REAL SUFFIX(gather)(const REAL *c, const SUFFIX(axis) s[3], int taps) {
  REAL sum = 0;
  if (taps == 2) {
    for (int i = 0; i < 2; i++)
      for (int j = 0; j < 2; j++) {
        const REAL *row = c + s[0].offset[i] + s[1].offset[j];
        sum += s[0].weight[i] * s[1].weight[j] *
               (s[2].weight[0] * row[s[2].offset[0]] + s[2].weight[1] * row[s[2].offset[1]]);
      }
    return sum;
  }
  /* Four x3 taps in a row of memory vectorise; the wrapped case falls back to gathers.
   * lane[k] = sum_ij w_i w_j c[.., .., b3 + k]; weights along x3 come last, once for all 16 rows. */
  REAL lane[4] = {0, 0, 0, 0};
  int contiguous = s[2].offset[3] - s[2].offset[0] == 3 && s[2].offset[1] - s[2].offset[0] == 1;
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) {
      const REAL *row = c + s[0].offset[i] + s[1].offset[j];
      REAL w = s[0].weight[i] * s[1].weight[j];
      if (contiguous)
        for (int k = 0; k < 4; k++) lane[k] += w * row[s[2].offset[0] + k];
      else
        for (int k = 0; k < 4; k++) lane[k] += w * row[s[2].offset[k]];
    }
  for (int k = 0; k < 4; k++) sum += s[2].weight[k] * lane[k];
  return sum;
}

/* Points are independent: a thread writes the values of its own points. Offsets and weights are made once a point
 * and serve all components. */
static void SUFFIX(eval_points)(const rb_interp_desc *d, const REAL *c, int64_t np, const REAL *x, REAL *out,
                                int threads) {
  int taps = d->basis == RB_LINEAR ? 2 : 4;
  int64_t n = rb_grid_points(d->grid), s2 = d->grid.n[2], s1 = d->grid.n[1] * s2;
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t p = 0; p < np; p++) {
    SUFFIX(axis) s[3];
    SUFFIX(axis_setup)(&s[0], d, 0, s1, x[p]);
    SUFFIX(axis_setup)(&s[1], d, 1, s2, x[np + p]);
    SUFFIX(axis_setup)(&s[2], d, 2, 1, x[2 * np + p]);
    for (int k = 0; k < d->components; k++) out[k * np + p] = SUFFIX(gather)(c + k * n, s, taps);
  }
}

/* In place along one axis: W lines side by side, one a vector lane.
 * Exact: causal then anticausal recursion with pole z, started by a periodic sum of 2*horizon terms.
 * 15 taps: direct convolution. line: 2 * n * W values of scratch. */
enum { SUFFIX(W) = 16 };
static void SUFFIX(filter_lines)(REAL *c, int64_t n, int64_t stride, int64_t lane_stride, int lanes,
                                 rb_prefilter kind, REAL *line) {
  /* in, tmp: [n][W], node k of all W lines side by side, so that the recursion runs along k and vectorises over the
   * lines. Lanes beyond `lanes` are zeros and are not written back. */
  const REAL z = (REAL)RB_BSPLINE_POLE;
  enum { W = SUFFIX(W) };
  REAL *in = line, *tmp = line + n * W;
  for (int64_t k = 0; k < n; k++)
    for (int v = 0; v < W; v++) in[k * W + v] = v < lanes ? c[k * stride + v * lane_stride] : 0;
  if (kind == RB_PREFILTER_15TAP) {
    /* h_l = z^|l| / (1 + 2 sum_{m=1..7} z^m), |l| <= 7: divided by its sum, so that constants stay */
    REAL h[8], sum = 1;
    h[0] = 1;
    for (int l = 1; l < 8; l++) h[l] = h[l - 1] * z, sum += 2 * h[l];
    for (int64_t k = 0; k < n; k++)
      for (int l = -7; l <= 7; l++) {
        const REAL *src = in + rb_wrap(k + l, n) * W;
        REAL w = h[l < 0 ? -l : l] / sum;
        for (int v = 0; v < W; v++) tmp[k * W + v] = (l == -7 ? 0 : tmp[k * W + v]) + w * src[v];
      }
  } else {
    /* causal:      s_k = f_k + z s_{k-1},            k = -HORIZON .. n - 1, from 0; kept for k >= 0
     * anticausal:  r_k = z (r_{k+1} - s_k),          k = n - 1 + HORIZON .. 0, from 0; c_k = 6 r_k for k < n
     * Both begin HORIZON nodes early, in the periodic continuation: what is neglected is of the order z^HORIZON,
     * 7e-10 for 16 nodes and 5e-19 for 32. */
    enum { HORIZON = sizeof(REAL) == 4 ? 16 : 32 };
    REAL state[W];
    for (int v = 0; v < W; v++) state[v] = 0;
    for (int64_t k = -HORIZON; k < n; k++)
      for (int v = 0; v < W; v++) {
        state[v] = in[rb_wrap(k, n) * W + v] + z * state[v];
        if (k >= 0) tmp[k * W + v] = state[v];
      }
    for (int v = 0; v < W; v++) state[v] = 0;
    for (int64_t k = n - 1 + HORIZON; k >= 0; k--)
      for (int v = 0; v < W; v++) {
        state[v] = z * (state[v] - tmp[rb_wrap(k, n) * W + v]);
        if (k < n) in[k * W + v] = 6 * state[v];
      }
    tmp = in;
  }
  for (int64_t k = 0; k < n; k++)
    for (int v = 0; v < lanes; v++) c[k * stride + v * lane_stride] = tmp[k * W + v];
}

/* scratch: 2 * longest * W values a thread. Lanes run over rows for axis 2, over x3 for the others. */
static void SUFFIX(prefilter)(REAL *c, rb_grid g, rb_prefilter kind, REAL *scratch, int64_t per_thread, int threads) {
  int64_t s2 = g.n[2], s1 = g.n[1] * g.n[2];
  enum { W = SUFFIX(W) };
  int64_t rows = g.n[0] * g.n[1], blocks = (s2 + W - 1) / W;
#pragma omp parallel num_threads(threads)
  {
    /* Three passes, x3, x2, x1, with the barrier of `omp for` between them. Within a pass every block of W lines is
     * read and written by one thread; a line's arithmetic does not depend on which, nor on its neighbours in the
     * block. */
    REAL *line = scratch + per_thread * omp_get_thread_num();
#pragma omp for schedule(static)
    /* along x3: lines are n3 values apart */
    for (int64_t r = 0; r < rows; r += W)
      SUFFIX(filter_lines)(c + r * s2, s2, 1, s2, (int)(rows - r < W ? rows - r : W), kind, line);
#pragma omp for collapse(2) schedule(static)
    for (int64_t i = 0; i < g.n[0]; i++)
      /* along x2: W neighbours along x3 are the lanes, a step along the line is n3 values */
      for (int64_t b = 0; b < blocks; b++)
        SUFFIX(filter_lines)(c + i * s1 + b * W, g.n[1], s2, 1, (int)(s2 - b * W < W ? s2 - b * W : W), kind, line);
#pragma omp for collapse(2) schedule(static)
    for (int64_t j = 0; j < g.n[1]; j++) /* along x1: the same, a step is n2 n3 values */
      for (int64_t b = 0; b < blocks; b++)
        SUFFIX(filter_lines)(c + j * s2 + b * W, g.n[0], s1, 1, (int)(s2 - b * W < W ? s2 - b * W : W), kind, line);
  }
}
