/* SPDX-License-Identifier: BSD-3-Clause */
/* Ways to add the N terms of a row in float32, to see what each costs in accuracy (shooting2018 section 2.2 blames
 * the sequence): cpu/pairwise halves recursively as the GPU's binary reduction does, cpu/block adds sums of 256
 * terms, cpu/kahan carries the lost bits along. Terms and arithmetic are the same as cpu/naive's. */
#include "kernels/gausssum/gausssum.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 256 };

typedef float (*adder)(const float *terms, int64_t n);

static float in_sequence(const float *t, int64_t n) {
  float sum = 0;
  for (int64_t i = 0; i < n; i++) sum += t[i];
  return sum;
}
static float pairwise(const float *t, int64_t n) {
  return n <= 8 ? in_sequence(t, n) : pairwise(t, n / 2) + pairwise(t + n / 2, n - n / 2);
}
static float in_blocks(const float *t, int64_t n) {
  float sum = 0;
  for (int64_t i = 0; i < n; i += BLOCK) sum += in_sequence(t + i, n - i < BLOCK ? n - i : BLOCK);
  return sum;
}
static float compensated(const float *t, int64_t n) {
  float sum = 0, lost = 0;
  for (int64_t i = 0; i < n; i++) {
    const float y = t[i] - lost, next = sum + y;
    lost = (next - sum) - y;
    sum = next;
  }
  return sum;
}

static rb_status supports(const rb_gausssum_desc *d) {
  return d->dtype == RB_F32 ? RB_OK : RB_FAIL(RB_EUNSUPPORTED, "ways of adding are compared in float32");
}
static rb_status plan(const rb_backend *b, const rb_gausssum_desc *d, rb_gausssum_plan **out) {
  (void)b, (void)d;
  *out = calloc(1, sizeof **out);
  return *out ? RB_OK : RB_FAIL(RB_ENOMEM, "host memory");
}
static void destroy(rb_gausssum_plan *p) { free(p); }

/* Arrays of a call; what is NULL is not asked for. */
typedef struct {
  const float *x, *q, *p, *alpha, *beta;
  float *first, *second; /* sums [dim][nx] */
} arrays;

/* The 2 dim terms of the pair (i, j), as gausssum.h has them. */
static void pair_terms(const arrays *a, int dim, int64_t nx, int64_t n, float f, float s, int64_t i, int64_t j,
                       float first[3], float second[3]) {
  float d[3], e[3], r2 = 0, pp = 0, ap = 0, de = 0;
  for (int c = 0; c < dim; c++) {
    const int64_t ci = c * nx + i, cj = c * n + j;
    d[c] = a->x[ci] - a->q[cj];
    r2 += d[c] * d[c];
    if (a->first) pp += a->p[ci] * a->p[cj];
    if (a->alpha)
      e[c] = a->beta[ci] - a->beta[cj], ap += a->alpha[ci] * a->p[cj] + a->alpha[cj] * a->p[ci], de += d[c] * e[c];
  }
  const float g = expf(f * r2);
  for (int c = 0; c < dim; c++) {
    const int64_t cj = c * n + j;
    first[c] = !a->first ? 0 : a->alpha ? s * g * (pp * (e[c] - s * de * d[c]) - ap * d[c]) : -s * g * pp * d[c];
    second[c] = a->alpha ? g * (a->alpha[cj] + s * de * a->p[cj]) : g * a->p[cj];
  }
}

static rb_status sums(const rb_gausssum_plan *plan_, double sigma, int64_t nx, arrays a, adder add) {
  rb_status st = RB_OK;
  const int64_t n = plan_->desc.n;
  const int dim = plan_->desc.dim;
  const float f = (float)(-0.5 / (sigma * sigma)), s = (float)(1 / (sigma * sigma));
  int failed = 0;
#pragma omp parallel
  {
    float *terms = malloc((size_t)(6 * n) * sizeof *terms);
    if (!terms) {
#pragma omp atomic write
      failed = 1;
    }
#pragma omp for schedule(static)
    for (int64_t i = 0; i < nx; i++) {
      if (!terms) continue;
      for (int64_t j = 0; j < n; j++) {
        float first[3], second[3];
        pair_terms(&a, dim, nx, n, f, s, i, j, first, second);
        for (int c = 0; c < dim; c++) terms[c * n + j] = first[c], terms[(3 + c) * n + j] = second[c];
      }
      for (int c = 0; c < dim; c++) {
        if (a.first) a.first[c * nx + i] = add(terms + c * n, n);
        if (a.second) a.second[c * nx + i] = add(terms + (3 + c) * n, n);
      }
    }
    free(terms);
  }
  RB_CHECK(!failed, RB_ENOMEM, "host memory");
done:
  return st;
}

#define VARIANT(name, add)                                                                                       \
  static rb_status name##_flow(rb_gausssum_plan *p, double sigma, const void *q, const void *m, void *hq,        \
                               void *hp) {                                                                       \
    return sums(p, sigma, p->desc.n, (arrays){.x = q, .q = q, .p = m, .first = hq, .second = hp}, add);          \
  }                                                                                                              \
  static rb_status name##_backward(rb_gausssum_plan *p, double sigma, const void *q, const void *m,              \
                                   const void *alpha, const void *beta, void *fq, void *fp) {                    \
    return sums(p, sigma, p->desc.n,                                                                             \
                (arrays){.x = q, .q = q, .p = m, .alpha = alpha, .beta = beta, .first = fq, .second = fp}, add); \
  }                                                                                                              \
  static rb_status name##_sum(rb_gausssum_plan *p, double sigma, int64_t nx, const void *x, const void *q,       \
                              const void *m, void *out) {                                                        \
    return sums(p, sigma, nx, (arrays){.x = x, .q = q, .p = m, .second = out}, add);                             \
  }                                                                                                              \
  const rb_gausssum_ops rb_gausssum_##name = {                                                                   \
      supports, plan, name##_flow, name##_backward, name##_sum, NULL, NULL, destroy, NULL, 0};

VARIANT(pairwise, pairwise)
VARIANT(block, in_blocks)
VARIANT(kahan, compensated)
