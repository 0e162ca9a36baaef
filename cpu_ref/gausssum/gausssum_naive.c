/* SPDX-License-Identifier: BSD-3-Clause */
/* The paper's own CPU code in spirit (shooting2018, Algorithm 2): one thread, a double loop over the upper triangle,
 * every term added into the result arrays in memory, in sequence and in the arrays' precision. Its lost digits are a
 * result. */
#include "kernels/gausssum/gausssum.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static rb_status supports(const rb_gausssum_desc *d) {
  return d->dtype == RB_F32 ? RB_OK : RB_FAIL(RB_EUNSUPPORTED, "cpu/naive is float32, as the paper's");
}
static rb_status plan(const rb_backend *b, const rb_gausssum_desc *d, rb_gausssum_plan **out) {
  (void)b, (void)d;
  *out = calloc(1, sizeof **out);
  return *out ? RB_OK : RB_FAIL(RB_ENOMEM, "host memory");
}
static void destroy(rb_gausssum_plan *p) { free(p); }

static rb_status flow(rb_gausssum_plan *plan_, double sigma, const void *q_, const void *m_, void *hq_, void *hp_) {
  const int64_t n = plan_->desc.n;
  const int dim = plan_->desc.dim;
  /* f = -1 / (2 sigma^2) and s = 1 / sigma^2 are rounded once to float */
  const float *q = q_, *p = m_, f = (float)(-0.5 / (sigma * sigma)), s = (float)(1 / (sigma * sigma));
  /* hq and hp may be NULL; their diagonal: d_ii = 0 and G_ii = 1 */
  float *hq = hq_, *hp = hp_;
  size_t bytes = (size_t)(n * dim) * sizeof(float);
  if (hq) memset(hq, 0, bytes);
  if (hp) memcpy(hp, p, bytes); /* the diagonal */
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = i + 1; j < n; j++) {
      float d[3], r2 = 0, pp = 0;
      for (int c = 0; c < dim; c++) {
        d[c] = q[c * n + i] - q[c * n + j];
        r2 += d[c] * d[c];
        pp += p[c * n + i] * p[c * n + j];
      }
      /* a pair (i, j), i < j, adds to both rows: G is symmetric, d_ij antisymmetric, so that j's Hq term has the
       * other sign
       */
      const float g = expf(f * r2);
      for (int c = 0; c < dim; c++) {
        if (hq) hq[c * n + i] -= s * g * pp * d[c], hq[c * n + j] += s * g * pp * d[c];
        if (hp) hp[c * n + i] += g * p[c * n + j], hp[c * n + j] += g * p[c * n + i];
      }
    }
  return RB_OK;
}

/* fq and fp of gausssum.h, pair by pair over the upper triangle */
static rb_status backward(rb_gausssum_plan *plan_, double sigma, const void *q_, const void *m_, const void *alpha_,
                          const void *beta_, void *fq_, void *fp_) {
  const int64_t n = plan_->desc.n;
  const int dim = plan_->desc.dim;
  const float *q = q_, *p = m_, *a = alpha_, *b = beta_, f = (float)(-0.5 / (sigma * sigma)),
              s = (float)(1 / (sigma * sigma));
  float *fq = fq_, *fp = fp_;
  /* the diagonal: d = b = 0 leaves nothing of fq, and G = 1 leaves alpha_i of fp */
  memset(fq, 0, (size_t)(n * dim) * sizeof(float));
  memcpy(fp, a, (size_t)(n * dim) * sizeof(float));
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = i + 1; j < n; j++) {
      float d[3], e[3], r2 = 0, pp = 0, ap = 0, de = 0;
      for (int c = 0; c < dim; c++) {
        const int64_t ci = c * n + i, cj = c * n + j;
        d[c] = q[ci] - q[cj], e[c] = b[ci] - b[cj];
        r2 += d[c] * d[c], pp += p[ci] * p[cj], ap += a[ci] * p[cj] + a[cj] * p[ci], de += d[c] * e[c];
      }
      const float g = expf(f * r2);
      for (int c = 0; c < dim; c++) {
        const int64_t ci = c * n + i, cj = c * n + j;
        /* t = 1/sigma^2 G { (p_i.p_j) (b - d (d.b)/sigma^2) - d (alpha_i.p_j + alpha_j.p_i) } turns its sign with i
         * and j exchanged; fp's bracket { alpha_j + p_j (d.b)/sigma^2 } keeps that of d.b. */
        const float t = s * g * (pp * (e[c] - s * de * d[c]) - ap * d[c]);
        fq[ci] += t, fq[cj] -= t;
        fp[ci] += g * (a[cj] + s * de * p[cj]), fp[cj] += g * (a[ci] + s * de * p[ci]);
      }
    }
  return RB_OK;
}

static rb_status sum(rb_gausssum_plan *plan_, double sigma, int64_t nx, const void *x_, const void *q_,
                     const void *m_, void *out_) {
  const int64_t n = plan_->desc.n;
  const int dim = plan_->desc.dim;
  const float *x = x_, *q = q_, *p = m_, f = (float)(-0.5 / (sigma * sigma));
  float *out = out_;
  /* two sets: no symmetry, all nx n pairs */
  memset(out, 0, (size_t)(nx * dim) * sizeof(float));
  for (int64_t i = 0; i < nx; i++)
    for (int64_t j = 0; j < n; j++) {
      float r2 = 0;
      for (int c = 0; c < dim; c++) r2 += (x[c * nx + i] - q[c * n + j]) * (x[c * nx + i] - q[c * n + j]);
      const float g = expf(f * r2);
      for (int c = 0; c < dim; c++) out[c * nx + i] += g * p[c * n + j];
    }
  return RB_OK;
}

const rb_gausssum_ops rb_gausssum_naive = {supports, plan, flow, backward, sum, NULL, NULL, destroy, NULL, 1};
