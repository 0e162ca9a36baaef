/* SPDX-License-Identifier: BSD-3-Clause */
/* Body of cpu/omp of smooth, once a precision: REAL, SUFFIX(name). */

/* Along x3: a row between two borders of zeros, then a vector loop a tap. */
static void SUFFIX(along_rows)(int64_t rows, int64_t n, const rb_smooth_kernel *k, const REAL *in, REAL *out,
                               REAL *buffers, int64_t length, int threads) {
  /* o[i] = k(0) f[i] + sum_{d=1..r} k(d) (f[i-d] + f[i+d]);  the zeros on either side are f beyond the grid */
  const int r = k->radius;
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t row = 0; row < rows; row++) {
    /* a buffer a thread; rows are independent */
    REAL *restrict b = buffers + (size_t)omp_get_thread_num() * (size_t)length;
    REAL *restrict o = out + row * n;
    for (int i = 0; i < r; i++) b[i] = b[r + n + i] = 0;
    for (int64_t i = 0; i < n; i++) b[r + i] = in[row * n + i], o[i] = (REAL)k->k[0] * in[row * n + i];
    for (int d = 1; d <= r; d++) {
      const REAL w = (REAL)k->k[d];
#pragma omp simd
      for (int64_t i = 0; i < n; i++) o[i] += w * (b[r + i - d] + b[r + i + d]);
    }
  }
}

/* Along x1 or x2: rows are added to rows. lines x length x inner, filtered along `length`. */
static void SUFFIX(across_rows)(int64_t lines, int64_t length, int64_t inner, const rb_smooth_kernel *k,
                                const REAL *in, REAL *out) {
  /* values of a row that are summed at a time, in an array on the stack */
  enum { PIECE = 512 };
  const int64_t pieces = (inner + PIECE - 1) / PIECE;
#pragma omp parallel for collapse(3) schedule(static)
  for (int64_t line = 0; line < lines; line++)
    for (int64_t at = 0; at < length; at++)
      for (int64_t piece = 0; piece < pieces; piece++) {
        /* Output pieces are independent; the taps of a piece are added from the nearest outward, the lower side
         * first, whatever the thread. Neighbours along the axis are `inner` values apart; what lies outside is left
         * out. */
        const int64_t first = piece * PIECE, count = inner - first < PIECE ? inner - first : PIECE,
                      here = (line * length + at) * inner + first;
        REAL sum[PIECE];
        for (int64_t i = 0; i < count; i++) sum[i] = (REAL)k->k[0] * in[here + i];
        for (int d = 1; d <= k->radius; d++) {
          const REAL w = (REAL)k->k[d];
          if (at - d >= 0)
#pragma omp simd
            for (int64_t i = 0; i < count; i++) sum[i] += w * in[here - d * inner + i];
          if (at + d < length)
#pragma omp simd
            for (int64_t i = 0; i < count; i++) sum[i] += w * in[here + d * inner + i];
        }
        memcpy(out + here, sum, (size_t)count * sizeof *sum);
      }
}
