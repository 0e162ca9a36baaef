/* SPDX-License-Identifier: BSD-3-Clause */
/* Oracle of derivative: serial, double. Spectral derivatives are explicit sums over wave numbers, line by
 * line, O(n) a point: slow, obvious, and free of any FFT. */
#include "cpu_ref/base/values.h"
#include "kernels/derivative/derivative.h"

#include <math.h>
#include <stdlib.h>

typedef struct {
  rb_derivative_plan head;
  /* exact for all three schemes: each is a linear map of a line that commutes with shifts */
  double *stencil[3];       /* periodic convolution kernel of d/dx_a: n_a values */
  int64_t *tap[3], taps[3]; /* where it differs from 0: 2 or 8 places for finite differences */
} ref_plan;

/* All three schemes, either precision, axes of any length. */
static rb_status supports(const rb_derivative_desc *desc) {
  (void)desc;
  return RB_OK;
}

/* s with (d f)_i = sum_j s_{(i-j) mod n} f_j */
static void make_stencil(double *s, int64_t n, rb_scheme scheme) {
  /* spectral:  s_m = 1/n sum_k i w_k exp(i w_k m h) = -1/n sum_k w_k sin(w_k m h), real, as k and -k are
   *            conjugate; w_k = 0 at Nyquist
   * FD:        (1/h) sum_l c_l (f_{i+l} - f_{i-l}): f_{i+l} has i - j = -l, f_{i-l} has i - j = l */
  double h = RB_TWO_PI / (double)n;
  for (int64_t m = 0; m < n; m++) s[m] = 0;
  if (scheme == RB_SPECTRAL) {
    for (int64_t m = 0; m < n; m++)
      for (int64_t k = 0; k < n; k++) {
        double w = (double)rb_wavenumber(k, n);
        s[m] -= w * sin(w * (double)m * h) / (double)n;
      }
    return;
  }
  /* FD8: c = 4/5, -1/5, 4/105, -1/280;  FD2: 1/2 */
  int taps = scheme == RB_FD8 ? 4 : 1;
  for (int l = 1; l <= taps; l++) {
    double c = (scheme == RB_FD8 ? rb_fd8[l - 1] : 0.5) / h;
    /* added, not set: on short axes several taps meet the same node */
    s[rb_wrap(-l, n)] += c;
    s[rb_wrap(l, n)] -= c;
  }
}

static void destroy(rb_derivative_plan *head) {
  ref_plan *p = (ref_plan *)head;
  for (int a = 0; a < 3; a++) rb_release(head->backend, p->stencil[a]), rb_release(head->backend, p->tap[a]);
  free(p);
}

static rb_status plan(const rb_backend *backend, const rb_derivative_desc *desc, rb_derivative_plan **out) {
  rb_status st = RB_OK;
  ref_plan *p = calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  p->head.backend = backend;
  for (int a = 0; a < 3; a++) {
    const int64_t n = desc->grid.n[a];
    RB_TRY(rb_alloc(backend, (size_t)n * sizeof(double), (void **)&p->stencil[a]));
    RB_TRY(rb_alloc(backend, (size_t)n * sizeof(int64_t), (void **)&p->tap[a]));
    make_stencil(p->stencil[a], n, desc->scheme);
    for (int64_t m = 0; m < n; m++)
      if (p->stencil[a][m] != 0) p->tap[a][p->taps[a]++] = m;
  }
  *out = &p->head;
  p = NULL;
done:
  if (p) destroy(&p->head); /* calloc left NULL in what was not reached */
  return st;
}

/* d f / d x_axis at flat index i of the field that starts at `offset`. */
static double partial(const ref_plan *p, const void *f, int64_t offset, int axis, int64_t i) {
  const rb_derivative_desc *d = &p->head.desc;
  /* the line through i along the axis begins at `line`; its node j is `stride` j further */
  int64_t n = d->grid.n[axis], stride = axis == 2 ? 1 : axis == 1 ? d->grid.n[2] : d->grid.n[1] * d->grid.n[2];
  int64_t at = i / stride % n, line = i - at * stride;
  double sum = 0;
  for (int64_t k = 0; k < p->taps[axis]; k++) {
    const int64_t m = p->tap[axis][k];
    sum += p->stencil[axis][m] * rb_value_get(d->dtype, f, offset + line + rb_wrap(at - m, n) * stride);
  }
  return sum;
}

/* g_a = d f / d x_a: three planar components of one field. */
static rb_status gradient(rb_derivative_plan *head, const void *f, void *g) {
  int64_t n = rb_grid_points(head->desc.grid);
  for (int a = 0; a < 3; a++)
    for (int64_t i = 0; i < n; i++)
      rb_value_put(head->desc.dtype, g, a * n + i, partial((ref_plan *)head, f, 0, a, i));
  return RB_OK;
}

/* d = sum_a d v_a / d x_a: component a begins at value a * N. The sum is rounded once. */
static rb_status divergence(rb_derivative_plan *head, const void *v, void *d) {
  int64_t n = rb_grid_points(head->desc.grid);
  for (int64_t i = 0; i < n; i++) {
    double sum = 0;
    for (int a = 0; a < 3; a++) sum += partial((ref_plan *)head, v, a * n, a, i);
    rb_value_put(head->desc.dtype, d, i, sum);
  }
  return RB_OK;
}

rb_status rb_derivative_oracle_at(const rb_derivative_desc *desc, int divergence, const void *in, int64_t count,
                                  const int64_t *at, double *out) {
  rb_status st = RB_OK;
  const rb_backend *host;
  rb_derivative_plan *head = NULL;
  const int64_t n = rb_grid_points(desc->grid);
  RB_TRY(rb_cpu_backend(&host));
  RB_TRY(plan(host, desc, &head));
  head->desc = *desc;
  for (int64_t k = 0; k < count; k++) {
    double d[3];
    for (int a = 0; a < 3; a++) d[a] = partial((ref_plan *)head, in, divergence ? a * n : 0, a, at[k]);
    if (divergence)
      out[k] = d[0] + d[1] + d[2];
    else
      for (int a = 0; a < 3; a++) out[a * count + k] = d[a];
  }
done:
  if (head) destroy(head);
  return st;
}

const rb_derivative_ops rb_derivative_ref = {supports, plan, gradient, divergence, destroy};
