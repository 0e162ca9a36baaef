/* SPDX-License-Identifier: BSD-3-Clause */
/* Baseline of gausssum on the CPU: all cores, the inner loop vectorised with its own exponential, sums by tiles in
 * double. */
#include "kernels/gausssum/gausssum.h"

#include <stdlib.h>
#include <string.h>

/* terms that are added in the arrays' precision before the sum goes on in double */
enum { TILE = 256 };

/* Parameters of exp_real.h: 23 bits of mantissa and exponents biased by 127 (float), 52 and 1023 (double). */
#define REAL float
#define SUFFIX(name) name##_f32
#define INTEGER int32_t
#define UNSIGNED uint32_t
#define MANTISSA 23
#define BIAS 127
#define TERMS 7
#define LEAST -60.0f /* products with it stay normal numbers */
#include "cpu_ref/gausssum/gausssum_omp_real.h"
#undef REAL
#undef SUFFIX
#undef INTEGER
#undef UNSIGNED
#undef MANTISSA
#undef BIAS
#undef TERMS
#undef LEAST
#define REAL double
#define SUFFIX(name) name##_f64
#define INTEGER int64_t
#define UNSIGNED uint64_t
#define MANTISSA 52
#define BIAS 1023
#define TERMS 14
#define LEAST -500.0
#include "cpu_ref/gausssum/gausssum_omp_real.h"

/* A row i is one thread's: tiles of TILE terms in the arrays' precision, vectorised over j, added in double.
 * f = -1/(2 sigma^2), s = 1/sigma^2. In two dimensions flow has a loop of its own; backward and sum take the third
 * component from `zero`. */
typedef struct {
  rb_gausssum_plan head;
  /* n values of the plan's type */
  void *zero; /* a third component for 2D */
} omp_plan;

static rb_status supports(const rb_gausssum_desc *d) {
  (void)d;
  return RB_OK;
}
/* n zeros, also for dim 3, where they are not read. */
static size_t workspace(const rb_gausssum_desc *d) { return (size_t)d->n * rb_dtype_size(d->dtype); }
static void destroy(rb_gausssum_plan *head) {
  rb_release(head->backend, ((omp_plan *)head)->zero);
  free(head);
}
static rb_status plan(const rb_backend *backend, const rb_gausssum_desc *d, rb_gausssum_plan **out) {
  rb_status st = RB_OK;
  omp_plan *p = calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  p->head.backend = backend;
  RB_TRY(rb_alloc(backend, workspace(d), &p->zero));
  /* all bytes 0 are the number 0 in both precisions */
  memset(p->zero, 0, workspace(d));
  *out = &p->head;
  return RB_OK;
done:
  if (p) destroy(&p->head);
  return st;
}
/* sigma is rounded to the arrays' precision here */
static rb_status run_flow(rb_gausssum_plan *p, double sigma, const void *q, const void *m, void *hq, void *hp) {
  if (p->desc.dtype == RB_F64)
    flow_f64(p->desc.n, p->desc.dim, sigma, q, m, hq, hp);
  else
    flow_f32(p->desc.n, p->desc.dim, (float)sigma, q, m, hq, hp);
  return RB_OK;
}
static rb_status run_backward(rb_gausssum_plan *p, double sigma, const void *q, const void *m, const void *alpha,
                              const void *beta, void *fq, void *fp) {
  const void *zero = ((omp_plan *)p)->zero;
  if (p->desc.dtype == RB_F64)
    backward_f64(p->desc.n, p->desc.dim, sigma, q, m, alpha, beta, zero, fq, fp);
  else
    backward_f32(p->desc.n, p->desc.dim, (float)sigma, q, m, alpha, beta, zero, fq, fp);
  return RB_OK;
}
static rb_status run_sum(rb_gausssum_plan *p, double sigma, int64_t nx, const void *x, const void *q, const void *m,
                         void *out) {
  const void *zero = ((omp_plan *)p)->zero;
  if (p->desc.dtype == RB_F64)
    sum_f64(p->desc.n, p->desc.dim, sigma, nx, x, q, m, zero, out);
  else
    sum_f32(p->desc.n, p->desc.dim, (float)sigma, nx, x, q, m, zero, out);
  return RB_OK;
}

/* no whole flow (shoot, shoot_back); sequential 0: sums are in blocks */
const rb_gausssum_ops rb_gausssum_omp = {supports, plan, run_flow, run_backward, run_sum,
                                         NULL,     NULL, destroy,  workspace,    0};
