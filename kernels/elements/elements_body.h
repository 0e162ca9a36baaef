/* SPDX-License-Identifier: BSD-3-Clause */
/* One element's centre and moment, and one vertex' gradient, for the CPU's and the GPU's variants: FUNCTION is what a
 * function begins with, REAL the type, SUFFIX(name) its name. */

/* Corner k of element e. */
FUNCTION void SUFFIX(corner)(const int32_t *index, int64_t elements, int64_t vertices, const REAL *x, int k,
                             int64_t e, REAL v[3]) {
  /* index is [corner][elements], vertices planar [3][vertices] */
  const int32_t i = index[k * elements + e];
  v[0] = x[i], v[1] = x[vertices + i], v[2] = x[2 * vertices + i];
}
FUNCTION void SUFFIX(cross)(const REAL a[3], const REAL b[3], REAL out[3]) {
  out[0] = a[1] * b[2] - a[2] * b[1], out[1] = a[2] * b[0] - a[0] * b[2], out[2] = a[0] * b[1] - a[1] * b[0];
}

FUNCTION void SUFFIX(measure_element)(int dimension, const int32_t *index, int64_t elements, int64_t vertices,
                                      const REAL *x, int64_t e, REAL *centres, REAL *moments) {
  /* point:    centre a,              moment (1, 0, 0)
   * segment:  centre (a + b)/2,      moment b - a
   * triangle: centre (a + b + c)/3,  moment 1/2 (b - a) x (c - a);  b and c become edges once the centre is known */
  REAL a[3], b[3], c[3], moment[3] = {1, 0, 0}, centre[3];
  SUFFIX(corner)(index, elements, vertices, x, 0, e, a);
  if (dimension == 0) {
    for (int k = 0; k < 3; k++) centre[k] = a[k];
  } else if (dimension == 1) {
    SUFFIX(corner)(index, elements, vertices, x, 1, e, b);
    for (int k = 0; k < 3; k++) centre[k] = (a[k] + b[k]) / 2, moment[k] = b[k] - a[k];
  } else {
    SUFFIX(corner)(index, elements, vertices, x, 1, e, b);
    SUFFIX(corner)(index, elements, vertices, x, 2, e, c);
    for (int k = 0; k < 3; k++) centre[k] = (a[k] + b[k] + c[k]) / 3, b[k] -= a[k], c[k] -= a[k];
    SUFFIX(cross)(b, c, moment);
    for (int k = 0; k < 3; k++) moment[k] /= 2;
  }
  for (int k = 0; k < 3; k++) centres[k * elements + e] = centre[k], moments[k * elements + e] = moment[k];
}

/* The gradient at vertex v, gathered from the uses [from, to). */
FUNCTION void SUFFIX(gather_vertex)(int dimension, const int32_t *index, int64_t elements, int64_t vertices,
                                    const int32_t *use, int32_t from, int32_t to, const REAL *x, const REAL *w,
                                    const REAL *z, int64_t v, REAL *out) {
  REAL sum[3] = {0, 0, 0};
  for (int32_t i = from; i < to; i++) {
    /* use = corner * elements + element: which corner of which element the vertex is */
    const int k = (int)(use[i] / elements);
    const int64_t e = use[i] % elements;
    const REAL we[3] = {w[e], w[elements + e], w[2 * elements + e]};
    REAL part[3] = {0, 0, 0};
    if (dimension == 1)
      /* segment:  -w at a, +w at b.   triangle: 1/2 w x (next corner's successor - next corner), by cyclic corners.
       * All: + z / corners. Uses are in the elements' order, so a vertex' sum has one order for any number of
       * threads.
       */
      for (int a = 0; a < 3; a++) part[a] = k ? we[a] : -we[a];
    if (dimension == 2) {
      REAL one[3], two[3];
      SUFFIX(corner)(index, elements, vertices, x, (k + 1) % 3, e, one);
      SUFFIX(corner)(index, elements, vertices, x, (k + 2) % 3, e, two);
      for (int a = 0; a < 3; a++) two[a] = (two[a] - one[a]) / 2;
      SUFFIX(cross)(we, two, part);
    }
    for (int a = 0; a < 3; a++) sum[a] += part[a] + z[a * elements + e] / (REAL)(dimension + 1);
  }
  for (int a = 0; a < 3; a++) out[a * vertices + v] = sum[a];
}
