/* SPDX-License-Identifier: BSD-3-Clause */
/* Exact sums of currents on the CPU: cpu/naive, one thread and libm; cpu/omp, all cores, vectorised over the sources,
 * partial sums of TILE terms added in double. */
#include "kernels/currents/currents.h"

#include <math.h>
#include <stdlib.h>

/* sources whose terms are added in the arrays' precision before the sum goes to double */
enum { TILE = 256 };

/* Parameters of exp_real.h: 23 bits of mantissa and exponents biased by 127 (float), 52 and 1023 (double). TERMS of
 * the series for |r| <= ln 2 / 2. */
#define REAL float
#define SUFFIX(name) name##_f32
#define INTEGER int32_t
#define UNSIGNED uint32_t
#define MANTISSA 23
#define BIAS 127
#define TERMS 7
#define LEAST -60.0f /* products with it stay normal numbers */
#include "cpu_ref/currents/currents_exact_real.h"
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
#include "cpu_ref/currents/currents_exact_real.h"

/* u_i = sum_j K(|x_i - y_j|) m_j,   z_i = -1/sigma^2 sum_j (p_i . m_j) K(|x_i - y_j|) (x_i - y_j)
 * cpu/naive: libm's exponential, sums in the arrays' precision. cpu/omp: exp_real.h, tiles, double. */
typedef struct {
  rb_currents_plan head;
  /* borrowed from load until the last eval or energy */
  const void *y, *m;
  void *u; /* [3][sources], for the energy */
} exact_plan;

static rb_status supports(const rb_currents_desc *d) {
  return d->method == RB_CURRENTS_EXACT ? RB_OK
                                        : RB_FAIL(RB_EUNSUPPORTED, "exact sums only; cpu/mesh has the others");
}
/* y and m are the caller's. */
static void destroy(rb_currents_plan *head) {
  rb_release(head->backend, ((exact_plan *)head)->u);
  free(head);
}
/* u [3][sources]: the field at the sources, for the energy alone. */
static rb_status plan(const rb_backend *backend, const rb_currents_desc *d, rb_currents_plan **out) {
  rb_status st = RB_OK;
  exact_plan *p = calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  p->head.backend = backend;
  RB_TRY(rb_alloc(backend, 3 * (size_t)d->sources * rb_dtype_size(d->dtype), &p->u));
  *out = &p->head;
  p = NULL;
done:
  if (p) destroy(&p->head);
  return st;
}
/* Nothing is copied: the sums read the caller's arrays. */
static rb_status load(rb_currents_plan *head, const void *y, const void *m) {
  exact_plan *p = (exact_plan *)head;
  p->y = y, p->m = m;
  return RB_OK;
}

/* E = sum_i m_i . u(y_i): component after component in sequence, products and sum in double */
static double energy_of(const rb_currents_desc *d, const void *m, const void *u) {
  double sum = 0;
  for (int64_t i = 0; i < 3 * d->sources; i++)
    sum += d->dtype == RB_F64 ? ((const double *)m)[i] * ((const double *)u)[i]
                              : (double)((const float *)m)[i] * (double)((const float *)u)[i];
  return sum;
}

/* The sources are the targets of the energy: u(y_i) into the plan's own array, then the sum. No z, no pairing. */
#define DEFINE(NAME)                                                                                        \
  static rb_status NAME##_eval(rb_currents_plan *head, int64_t n, const void *x, const void *pair, void *u, \
                               void *z) {                                                                   \
    const exact_plan *p = (const exact_plan *)head;                                                         \
    if (head->desc.dtype == RB_F64)                                                                         \
      NAME##_f64(&head->desc, p->y, p->m, n, x, pair, u, z);                                                \
    else                                                                                                    \
      NAME##_f32(&head->desc, p->y, p->m, n, x, pair, u, z);                                                \
    return RB_OK;                                                                                           \
  }                                                                                                         \
  static rb_status NAME##_energy(rb_currents_plan *head, double *out) {                                     \
    const exact_plan *p = (const exact_plan *)head;                                                         \
    NAME##_eval(head, head->desc.sources, p->y, NULL, p->u, NULL);                                          \
    *out = energy_of(&head->desc, p->m, p->u);                                                              \
    return RB_OK;                                                                                           \
  }                                                                                                         \
  const rb_currents_ops rb_currents_##NAME = {supports, plan,    load, NAME##_eval,     NAME##_energy,      \
                                              NULL,     destroy, 0,    RB_WEIGHTS_FULL, NULL};
DEFINE(naive)
DEFINE(omp)
