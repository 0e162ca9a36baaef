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

/* One term after another: the error grows with n in the worst case, with sqrt(n) where roundings fall either way. */
static float in_sequence(const float *t, int64_t n) {
  float sum = 0;
  for (int64_t i = 0; i < n; i++) sum += t[i];
  return sum;
}
/* A tree of halves: a term takes part in about log2(n / 8) + 8 additions. The last eight are added in sequence. */
static float pairwise(const float *t, int64_t n) {
  return n <= 8 ? in_sequence(t, n) : pairwise(t, n / 2) + pairwise(t + n / 2, n - n / 2);
}
/* n / 256 sums of 256 terms; the sums are added in sequence. */
static float in_blocks(const float *t, int64_t n) {
  float sum = 0;
  for (int64_t i = 0; i < n; i += BLOCK) sum += in_sequence(t + i, n - i < BLOCK ? n - i : BLOCK);
  return sum;
}
/* Kahan's sum: `lost` is what the last addition rounded off, with its sign turned, and is taken off the next term.
 * It depends on additions that are made as they are written. */
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
/* The terms of a row are memory of each call. */
static rb_status plan(const rb_backend *b, const rb_gausssum_desc *d, rb_gausssum_plan **out) {
  (void)b, (void)d;
  *out = calloc(1, sizeof **out);
  return *out ? RB_OK : RB_FAIL(RB_ENOMEM, "host memory");
}
static void destroy(rb_gausssum_plan *p) { free(p); }

/* Arrays of a call; what is NULL is not asked for. */
typedef struct {
  /* q, p, alpha, beta: [dim][n]; x: [dim][nx], of which q is one case */
  const float *x, *q, *p, *alpha, *beta;
  float *first, *second; /* sums [dim][nx] */
} arrays;

/* The 2 dim terms of the pair (i, j), as gausssum.h has them. */
static void pair_terms(const arrays *a, int dim, int64_t nx, int64_t n, float f, float s, int64_t i, int64_t j,
                       float first[3], float second[3]) {
  /* d = x_i - q_j,  r2 = |d|^2,  pp = p_i.p_j,  e = beta_i - beta_j,  ap = alpha_i.p_j + alpha_j.p_i,  de = d.e;
   * f = -1 / (2 sigma^2),  s = 1 / sigma^2,  g = exp(f r2) */
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
    /* backward: fq's term s g (pp (e - s de d) - ap d), fp's g (alpha_j + s de p_j);
     * flow:     Hq's term -s g pp d, Hp's g p_j;   sum: g p_j alone */
    first[c] = !a->first ? 0 : a->alpha ? s * g * (pp * (e[c] - s * de * d[c]) - ap * d[c]) : -s * g * pp * d[c];
    second[c] = a->alpha ? g * (a->alpha[cj] + s * de * a->p[cj]) : g * a->p[cj];
  }
}

/* All terms of a row are stored, then added by `add`: the ways of adding see the same numbers. A row is one
 * thread's, and the result does not depend on how many threads there are. */
static rb_status sums(const rb_gausssum_plan *plan_, double sigma, int64_t nx, arrays a, adder add) {
  rb_status st = RB_OK;
  const int64_t n = plan_->desc.n;
  const int dim = plan_->desc.dim;
  const float f = (float)(-0.5 / (sigma * sigma)), s = (float)(1 / (sigma * sigma));
  int failed = 0;
#pragma omp parallel
  {
    /* [6][n]: three components of first, three of second */
    float *terms = malloc((size_t)(6 * n) * sizeof *terms);
    /* every thread must reach the loop below, also one without memory: its rows are left out, and the call fails */
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

/* flow and backward: the rows are the points themselves, nx = n, x = q. sum: other points, and `second` alone.
 * Where `first` is NULL, its terms are zeros that nobody adds. */
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
