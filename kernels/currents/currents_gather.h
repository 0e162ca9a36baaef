/* SPDX-License-Identifier: BSD-3-Clause */
/* u and z of one place from a particle mesh's grid, for the CPU's and the GPU's variants: FUNCTION is what a function
 * begins with, REAL the type, SUFFIX(name) its name. Places in grid units; z in moments a node. */
#ifndef RB_CURRENTS_GATHER_TYPES
#define RB_CURRENTS_GATHER_TYPES
typedef struct {
  int n1, n2, n3;
  int64_t nodes;
} currents_lattice;
#endif

/* The whole number of a floor, 0 for what an int does not hold. */
FUNCTION int SUFFIX(whole)(REAL f) { return f > -1e9f && f < 1e9f ? (int)f : 0; }
/* Node i of a periodic axis of n. */
FUNCTION int SUFFIX(periodic)(int i, int n) {
  const int m = i % n;
  return m < 0 ? m + n : m;
}

/* First node, weights and their derivatives along an axis.
 * w = (1 - t, t),  dw = (-1, 1) per grid cell,  t = x - floor(x) */
FUNCTION int SUFFIX(linear_weights)(REAL x, REAL w[2], REAL dw[2]) {
  const REAL f = floor(x), t = x - f;
  w[0] = 1 - t, w[1] = t, dw[0] = -1, dw[1] = 1;
  return SUFFIX(whole)(f);
}
/* w = (u^3/6, 2/3 - t^2 (2-t)/2, 2/3 - u^2 (2-u)/2, t^3/6),  u = 1 - t, for nodes floor(x) - 1 .. floor(x) + 2;
 * dw = (-u^2/2, t (3/2 t - 2), -u (3/2 u - 2), t^2/2) */
FUNCTION int SUFFIX(cubic_weights)(REAL x, REAL w[4], REAL dw[4]) {
  const REAL f = floor(x), t = x - f, u = 1 - t;
  w[0] = u * u * u / 6, w[3] = t * t * t / 6;
  w[1] = (REAL)2 / 3 - t * t * (2 - t) / 2, w[2] = (REAL)2 / 3 - u * u * (2 - u) / 2;
  dw[0] = -u * u / 2, dw[3] = t * t / 2;
  dw[1] = t * ((REAL)1.5 * t - 2), dw[2] = -u * ((REAL)1.5 * u - 2);
  return SUFFIX(whole)(f) - 1;
}

/* u   = sum_ijk w_i w_j w_k F[node]
 * z_a = sum_ijk (q . F[node]) dw/dx_a: in the product, axis a's weight is replaced by its derivative
 * F [3][n1][n2][n3]: component c at c * nodes. */
#define DEFINE_GATHER(NAME, TAPS, WEIGHTS)                                                                  \
  FUNCTION void SUFFIX(NAME)(const currents_lattice *l, const REAL *grid, const REAL x[3], const REAL q[3], \
                             REAL u[3], REAL z[3]) {                                                        \
    REAL w1[TAPS], w2[TAPS], w3[TAPS], d1[TAPS], d2[TAPS], d3[TAPS];                                        \
    const int b1 = SUFFIX(WEIGHTS)(x[0], w1, d1), b2 = SUFFIX(WEIGHTS)(x[1], w2, d2),                       \
              b3 = SUFFIX(WEIGHTS)(x[2], w3, d3);                                                           \
    for (int a = 0; a < 3; a++) u[a] = z[a] = 0;                                                            \
    for (int i = 0; i < TAPS; i++)                                                                          \
      for (int j = 0; j < TAPS; j++) {                                                                      \
        const int64_t row =                                                                                 \
            ((int64_t)SUFFIX(periodic)(b1 + i, l->n1) * l->n2 + SUFFIX(periodic)(b2 + j, l->n2)) * l->n3;   \
        for (int k = 0; k < TAPS; k++) {                                                                    \
          const int64_t at = row + SUFFIX(periodic)(b3 + k, l->n3);                                         \
          const REAL f0 = grid[at], f1 = grid[l->nodes + at], f2 = grid[2 * l->nodes + at];                 \
          const REAL w = w1[i] * w2[j] * w3[k], qf = q[0] * f0 + q[1] * f1 + q[2] * f2;                     \
          u[0] += w * f0, u[1] += w * f1, u[2] += w * f2;                                                   \
          z[0] += d1[i] * w2[j] * w3[k] * qf, z[1] += w1[i] * d2[j] * w3[k] * qf,                           \
              z[2] += w1[i] * w2[j] * d3[k] * qf;                                                           \
        }                                                                                                   \
      }                                                                                                     \
  }
DEFINE_GATHER(gather_linear, 2, linear_weights)
DEFINE_GATHER(gather_cubic, 4, cubic_weights)
#undef DEFINE_GATHER

/* The paper's: linear weights of the field, and of its centred differences paired with q. */
FUNCTION void SUFFIX(gather_plain)(const currents_lattice *l, const REAL *grid, const REAL x[3], const REAL q[3],
                                   REAL u[3], REAL z[3]) {
  REAL w[3][2], d[2];
  int b[3];
  const int n[3] = {l->n1, l->n2, l->n3};
  /* the weights' derivatives are not used */
  for (int a = 0; a < 3; a++) b[a] = SUFFIX(linear_weights)(x[a], w[a], d), u[a] = z[a] = 0;
  /* u = sum w F[node],  z_a = sum w (q . F[node + e_a] - q . F[node - e_a]) / 2:  differences of neighbours, per node
   */
  for (int c = 0; c < 8; c++) {
    const int i[3] = {c >> 2, c >> 1 & 1, c & 1};
    const REAL weight = w[0][i[0]] * w[1][i[1]] * w[2][i[2]];
    for (int k = 0; k < 7; k++) { /* the node; the next and the one before along each axis */
      int at[3];
      for (int a = 0; a < 3; a++)
        at[a] = SUFFIX(periodic)(b[a] + i[a] + (k && (k - 1) / 2 == a ? (k % 2 ? 1 : -1) : 0), n[a]);
      const int64_t node = ((int64_t)at[0] * n[1] + at[1]) * n[2] + at[2];
      const REAL f0 = grid[node], f1 = grid[l->nodes + node], f2 = grid[2 * l->nodes + node];
      const REAL half = (k % 2 ? weight : -weight) / 2 * (q[0] * f0 + q[1] * f1 + q[2] * f2);
      if (k == 0)
        u[0] += weight * f0, u[1] += weight * f1, u[2] += weight * f2;
      else
        z[(k - 1) / 2] += half;
    }
  }
}
