/* SPDX-License-Identifier: BSD-3-Clause */
/* Oracle of gausssum: double, the printed sums as they stand. */
#include "cpu_ref/base/values.h"
#include "kernels/gausssum/gausssum.h"

#include <math.h>
#include <stdlib.h>

/* n^2 pairs in a double loop, every pair from both ends, so that rows do not depend on one another and one row can be
 * had alone. */
static rb_status supports(const rb_gausssum_desc *d) {
  (void)d;
  return RB_OK;
}
static rb_status plan(const rb_backend *b, const rb_gausssum_desc *d, rb_gausssum_plan **out) {
  (void)b, (void)d;
  *out = calloc(1, sizeof **out);
  return *out ? RB_OK : RB_FAIL(RB_ENOMEM, "host memory");
}
static void destroy(rb_gausssum_plan *p) { free(p); }

/* Every value is widened to double on reading and rounded once on writing; nothing in between is in the arrays'
 * type. */
static double get(const rb_gausssum_plan *p, const void *a, int64_t i) { return rb_value_get(p->desc.dtype, a, i); }
static void put(const rb_gausssum_plan *p, void *a, int64_t i, double v) { rb_value_put(p->desc.dtype, a, i, v); }
/* Point i of an array of n points.
 * Planar: component c of point i at value c n + i. Components beyond dim are 0 and add nothing to any product. */
static void point(const rb_gausssum_plan *p, const void *a, int64_t n, int64_t i, double out[3]) {
  for (int c = 0; c < 3; c++) out[c] = c < p->desc.dim ? get(p, a, c * n + i) : 0;
}
static double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
/* G and d = x - y.
 * G = exp(-|d|^2 / (2 sigma^2)); a third component of zeros in two dimensions changes nothing */
static double gauss(const double x[3], const double y[3], double sigma, double d[3]) {
  for (int c = 0; c < 3; c++) d[c] = x[c] - y[c];
  return exp(-dot(d, d) / (2 * sigma * sigma));
}

/* sum_p = Hp_i = sum_j G_ij p_j
 * sum_q = Hq_i = -1/sigma^2 sum_j (p_i.p_j) G_ij d_ij
 * in the order of j, the diagonal included. */
static void flow_row(const rb_gausssum_plan *p, double sigma, const void *q, const void *m, int64_t i,
                     double sum_q[3], double sum_p[3]) {
  int64_t n = p->desc.n;
  double qi[3], pi[3];
  for (int c = 0; c < 3; c++) sum_q[c] = sum_p[c] = 0;
  point(p, q, n, i, qi), point(p, m, n, i, pi);
  for (int64_t j = 0; j < n; j++) {
    double qj[3], pj[3], d[3];
    point(p, q, n, j, qj), point(p, m, n, j, pj);
    double g = gauss(qi, qj, sigma, d);
    for (int c = 0; c < 3; c++) {
      sum_p[c] += g * pj[c];
      /* the diagonal adds 0: d_ii = 0 */
      sum_q[c] -= dot(pi, pj) * g * d[c] / (sigma * sigma);
    }
  }
}
/* sum_q = fq_i = 1/sigma^2 sum_j G_ij { (p_i.p_j) [b_ij - d_ij (d_ij.b_ij)/sigma^2]
 *                                       - d_ij (alpha_i.p_j + alpha_j.p_i) }
 * sum_p = fp_i = sum_j G_ij { alpha_j + p_j (d_ij.b_ij)/sigma^2 },   b_ij = beta_i - beta_j */
static void backward_row(const rb_gausssum_plan *p, double sigma, const void *q, const void *m, const void *alpha,
                         const void *beta, int64_t i, double sum_q[3], double sum_p[3]) {
  int64_t n = p->desc.n;
  double s2 = sigma * sigma, qi[3], pi[3], ai[3], bi[3];
  for (int c = 0; c < 3; c++) sum_q[c] = sum_p[c] = 0;
  point(p, q, n, i, qi), point(p, m, n, i, pi), point(p, alpha, n, i, ai), point(p, beta, n, i, bi);
  for (int64_t j = 0; j < n; j++) {
    double qj[3], pj[3], aj[3], bj[3], d[3], b[3];
    point(p, q, n, j, qj), point(p, m, n, j, pj), point(p, alpha, n, j, aj), point(p, beta, n, j, bj);
    double g = gauss(qi, qj, sigma, d);
    for (int c = 0; c < 3; c++) b[c] = bi[c] - bj[c];
    for (int c = 0; c < 3; c++) {
      sum_p[c] += g * (aj[c] + pj[c] * dot(d, b) / s2);
      sum_q[c] += g / s2 * (dot(pi, pj) * (b[c] - d[c] * dot(d, b) / s2) - d[c] * (dot(ai, pj) + dot(aj, pi)));
    }
  }
}

/* n rows of n terms. hq or hp may be NULL: both sums are made, one is stored. */
static rb_status flow(rb_gausssum_plan *p, double sigma, const void *q, const void *m, void *hq, void *hp) {
  int64_t n = p->desc.n;
  for (int64_t i = 0; i < n; i++) {
    double sum_q[3], sum_p[3];
    flow_row(p, sigma, q, m, i, sum_q, sum_p);
    for (int c = 0; c < p->desc.dim; c++) {
      /* one rounding, to the arrays' type */
      if (hq) put(p, hq, c * n + i, sum_q[c]);
      if (hp) put(p, hp, c * n + i, sum_p[c]);
    }
  }
  return RB_OK;
}
/* fq and fp, both wanted */
static rb_status backward(rb_gausssum_plan *p, double sigma, const void *q, const void *m, const void *alpha,
                          const void *beta, void *fq, void *fp) {
  int64_t n = p->desc.n;
  for (int64_t i = 0; i < n; i++) {
    double sum_q[3], sum_p[3];
    backward_row(p, sigma, q, m, alpha, beta, i, sum_q, sum_p);
    for (int c = 0; c < p->desc.dim; c++) put(p, fq, c * n + i, sum_q[c]), put(p, fp, c * n + i, sum_p[c]);
  }
  return RB_OK;
}

/* alpha NULL: a row of the flow (Hq_i, Hp_i), else of the backward products (fq_i, fp_i). O(n): a few rows of many
 * points can be checked without all n^2 pairs. */
void rb_gausssum_oracle_row(const rb_gausssum_desc *d, double sigma, const void *q, const void *m, const void *alpha,
                            const void *beta, int64_t i, double first[3], double second[3]) {
  /* the rows read nothing of a plan but its description */
  const rb_gausssum_plan p = {.desc = *d};
  if (alpha)
    backward_row(&p, sigma, q, m, alpha, beta, i, first, second);
  else
    flow_row(&p, sigma, q, m, i, first, second);
}

static rb_status sum(rb_gausssum_plan *p, double sigma, int64_t nx, const void *x, const void *q, const void *m,
                     void *out) {
  for (int64_t i = 0; i < nx; i++) {
    /* out_i = sum_j exp(-|x_i - q_j|^2 / (2 sigma^2)) p_j */
    double xi[3], total[3] = {0};
    point(p, x, nx, i, xi);
    for (int64_t j = 0; j < p->desc.n; j++) {
      double qj[3], pj[3], d[3];
      point(p, q, p->desc.n, j, qj), point(p, m, p->desc.n, j, pj);
      /* d is not used: only G enters */
      double g = gauss(xi, qj, sigma, d);
      for (int c = 0; c < 3; c++) total[c] += g * pj[c];
    }
    for (int c = 0; c < p->desc.dim; c++) put(p, out, c * nx + i, total[c]);
  }
  return RB_OK;
}

const rb_gausssum_ops rb_gausssum_ref = {supports, plan, flow, backward, sum, NULL, NULL, destroy, NULL, 0};
