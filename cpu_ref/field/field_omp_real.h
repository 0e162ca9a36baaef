/* SPDX-License-Identifier: BSD-3-Clause */
/* Body of cpu/omp of field, included once a precision with REAL and SUFFIX(name). */

/* Loops below SERIAL values run in one thread; the values do not depend on it. */
static void SUFFIX(fill)(int64_t n, REAL a, REAL *z) {
#pragma omp parallel for simd schedule(static) if (n > SERIAL)
  for (int64_t i = 0; i < n; i++) z[i] = a;
}

/* z = a x + b y + c z. A loop for each set of coefficients that are not 0: an operand with coefficient 0 may be no
 * array or hold NaN. Nodes are independent; x, y and z may be the same array, as each value is read before it is
 * written.
 */
static void SUFFIX(combine)(int64_t n, REAL a, const REAL *x, REAL b, const REAL *y, REAL c, REAL *z) {
  if (a != 0 && b != 0 && c != 0) {
#pragma omp parallel for simd schedule(static) if (n > SERIAL)
    for (int64_t i = 0; i < n; i++) z[i] = a * x[i] + b * y[i] + c * z[i];
  } else if (a != 0 && b != 0) {
#pragma omp parallel for simd schedule(static) if (n > SERIAL)
    for (int64_t i = 0; i < n; i++) z[i] = a * x[i] + b * y[i];
  } else if (a != 0 || b != 0) {
    /* one of the two terms: the same loop for either */
    const REAL *one = a != 0 ? x : y;
    const REAL s = a != 0 ? a : b;
    if (c != 0) {
#pragma omp parallel for simd schedule(static) if (n > SERIAL)
      for (int64_t i = 0; i < n; i++) z[i] = s * one[i] + c * z[i];
    } else {
#pragma omp parallel for simd schedule(static) if (n > SERIAL)
      for (int64_t i = 0; i < n; i++) z[i] = s * one[i];
    }
  } else if (c != 0) {
#pragma omp parallel for simd schedule(static) if (n > SERIAL)
    for (int64_t i = 0; i < n; i++) z[i] *= c;
  } else {
#pragma omp parallel for simd schedule(static) if (n > SERIAL)
    for (int64_t i = 0; i < n; i++) z[i] = 0;
  }
}

/* z = a x y + c z: without c, z is not read. (a x) y, in this order. */
static void SUFFIX(multiply)(int64_t n, REAL a, const REAL *x, const REAL *y, REAL c, REAL *z) {
  if (c != 0) {
#pragma omp parallel for simd schedule(static) if (n > SERIAL)
    for (int64_t i = 0; i < n; i++) z[i] = a * x[i] * y[i] + c * z[i];
  } else {
#pragma omp parallel for simd schedule(static) if (n > SERIAL)
    for (int64_t i = 0; i < n; i++) z[i] = a * x[i] * y[i];
  }
}

/* z = (a x) / y */
static void SUFFIX(divide)(int64_t n, REAL a, const REAL *x, const REAL *y, REAL *z) {
#pragma omp parallel for simd schedule(static) if (n > SERIAL)
  for (int64_t i = 0; i < n; i++) z[i] = a * x[i] / y[i];
}

static void SUFFIX(displace)(rb_grid g, const double a[3], const REAL *v, const double b[3], const REAL *w, REAL *x) {
  int64_t n = rb_grid_points(g);
#pragma omp parallel for collapse(2) schedule(static)
  for (int axis = 0; axis < 3; axis++)
    for (int64_t i1 = 0; i1 < g.n[0]; i1++)
      for (int64_t i2 = 0; i2 < g.n[1]; i2++) {
        /* X_a = i_a + a_a v_a + b_a w_a: the node's coordinate is constant along the row (x1, x2) or counts up along
         * it (x3)
         */
        const int64_t row = axis * n + (i1 * g.n[1] + i2) * g.n[2];
        const REAL base = axis == 0   ? (REAL)i1
                          : axis == 1 ? (REAL)i2
                                      : 0,
                   step = axis == 2 ? 1 : 0, s = (REAL)a[axis], t = (REAL)b[axis];
        for (int64_t i3 = 0; i3 < g.n[2]; i3++)
          x[row + i3] = base + step * (REAL)i3 + (v ? s * v[row + i3] : 0) + (w ? t * w[row + i3] : 0);
      }
}

/* Sums in blocks of fixed size, added in their order: the same bits for any number of threads. */
static double SUFFIX(dot)(int64_t n, const REAL *x, const REAL *y) {
  /* Block b of a group covers SUM_BLOCK values whatever the number of threads; its sum goes to its own place.
   * Within a block the vector lanes have partial sums, whose number the compiler fixes. Products and sums in
   * double. */
  double total = 0;
  /* a group of at most SUM_GROUP blocks: their sums fit the stack, whatever n */
  for (int64_t group = 0; group < n; group += (int64_t)SUM_GROUP * SUM_BLOCK) {
    const int64_t left = (n - group + SUM_BLOCK - 1) / SUM_BLOCK;
    double partial[SUM_GROUP] = {0};
    const int blocks = (int)(left < SUM_GROUP ? left : SUM_GROUP);
#pragma omp parallel for schedule(static) if (n > SERIAL)
    for (int b = 0; b < blocks; b++) {
      const int64_t first = group + (int64_t)b * SUM_BLOCK, last = first + SUM_BLOCK < n ? first + SUM_BLOCK : n;
      double sum = 0;
#pragma omp simd reduction(+ : sum)
      for (int64_t i = first; i < last; i++) sum += (double)x[i] * (double)y[i];
      partial[b] = sum;
    }
    /* in the blocks' order */
    for (int b = 0; b < blocks; b++) total += partial[b];
  }
  return total;
}

static rb_extremes SUFFIX(extremes)(int64_t n, const REAL *x) {
  /* Comparisons pass over a NaN, the sum does not: it tells at the end. */
  rb_extremes e = {INFINITY, -INFINITY, 0};
  for (int64_t group = 0; group < n; group += (int64_t)SUM_GROUP * SUM_BLOCK) {
    const int64_t left = (n - group + SUM_BLOCK - 1) / SUM_BLOCK;
    rb_extremes partial[SUM_GROUP];
    const int blocks = (int)(left < SUM_GROUP ? left : SUM_GROUP);
#pragma omp parallel for schedule(static) if (n > SERIAL)
    for (int b = 0; b < blocks; b++) {
      const int64_t first = group + (int64_t)b * SUM_BLOCK, last = first + SUM_BLOCK < n ? first + SUM_BLOCK : n;
      rb_extremes p = {INFINITY, -INFINITY, 0};
      for (int64_t i = first; i < last; i++) {
        const double v = (double)x[i];
        p.sum += v;
        p.least = v < p.least ? v : p.least;
        p.greatest = v > p.greatest ? v : p.greatest;
      }
      /* joined below in the blocks' order */
      partial[b] = p;
    }
    for (int b = 0; b < blocks; b++) {
      e.sum += partial[b].sum;
      e.least = partial[b].least < e.least ? partial[b].least : e.least;
      e.greatest = partial[b].greatest > e.greatest ? partial[b].greatest : e.greatest;
    }
  }
  return e.sum == e.sum ? e : (rb_extremes){NAN, NAN, NAN};
}
