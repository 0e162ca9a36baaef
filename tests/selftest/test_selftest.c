/* SPDX-License-Identifier: BSD-3-Clause */
/* Breaks kernels on purpose and demands that check notices: a check that cannot fail proves nothing.
 *
 * Each saboteur wraps a correct variant and spoils its output in one way that real kernels fail. */
#include "tests/cmocka_all.h"

#include "experiments/runner/check/check.h"
#include "kernels/compose/compose.h"
#include "kernels/derivative/derivative.h"
#include "kernels/field/field.h"
#include "kernels/force/force.h"
#include "kernels/gausssum/gausssum.h"
#include "kernels/interp/interp.h"
#include "kernels/registry/registry.h"
#include "kernels/smooth/smooth.h"
#include "kernels/spectral/spectral.h"
#include "kernels/transport/transport.h"

#include <math.h>
#include <string.h>

typedef enum { HONEST, ONE_VALUE, NOT_A_NUMBER, UNWRITTEN_TAIL, SHIFTED, SCALED, SMALL_BIAS } planted_error;
static planted_error now;
#ifdef __SANITIZE_ADDRESS__
static const planted_error worst = ONE_VALUE; /* here memory is looked at, not judgement */
#else
static const planted_error worst = SMALL_BIAS;
#endif

static void spoil(rb_dtype t, void *out, int64_t n) {
  if (n < 8) return;
  switch (now) {
    case HONEST:
      break;
    case ONE_VALUE:
      rb_check_set(t, out, n / 2, rb_check_at(t, out, n / 2) + 0.1);
      break;
    case NOT_A_NUMBER:
      rb_check_set(t, out, n / 3, NAN);
      break;
    case UNWRITTEN_TAIL:
      memset((char *)out + (size_t)(n - 2) * rb_dtype_size(t), 0xFF, 2 * rb_dtype_size(t));
      break;
    case SHIFTED:
      for (int64_t i = n - 1; i > 0; i--) rb_check_set(t, out, i, rb_check_at(t, out, i - 1));
      break;
    case SCALED:
      for (int64_t i = 0; i < n; i++) rb_check_set(t, out, i, 1.01 * rb_check_at(t, out, i));
      break;
    case SMALL_BIAS: /* a hundred times the rounding of float32 */
      for (int64_t i = 0; i < n; i++)
        rb_check_set(t, out, i, rb_check_at(t, out, i) + 1e-4 * (1 + fabs(rb_check_at(t, out, i))));
      break;
  }
}

extern const rb_interp_ops rb_interp_omp;
extern const rb_derivative_ops rb_derivative_omp;
extern const rb_spectral_ops rb_spectral_fftw;
extern const rb_gausssum_ops rb_gausssum_omp;
extern const rb_smooth_ops rb_smooth_omp;
extern const rb_compose_ops rb_compose_omp;
extern const rb_force_ops rb_force_omp;
extern const rb_field_ops rb_field_omp;
extern const rb_transport_ops rb_transport_cpu;

static rb_status interp_eval(rb_interp_plan *p, int64_t np, const void *x, void *out) {
  rb_status st = rb_interp_omp.eval(p, np, x, out);
  spoil(p->desc.dtype, out, np * p->desc.components);
  return st;
}
static rb_status derivative_gradient(rb_derivative_plan *p, const void *f, void *g) {
  rb_status st = rb_derivative_omp.gradient(p, f, g);
  spoil(p->desc.dtype, g, 3 * rb_grid_points(p->desc.grid));
  return st;
}
static rb_status spectral_apply(rb_spectral_plan *p, const rb_spectral_op *op, const void *in, void *out) {
  rb_status st = rb_spectral_fftw.apply(p, op, in, out);
  spoil(p->desc.dtype, out, rb_grid_points(p->desc.grid) * p->desc.components);
  return st;
}

static rb_status gausssum_flow(rb_gausssum_plan *p, double sigma, const void *q, const void *m, void *hq, void *hp) {
  rb_status st = rb_gausssum_omp.flow(p, sigma, q, m, hq, hp);
  if (hp) spoil(p->desc.dtype, hp, p->desc.dim * p->desc.n);
  return st;
}
static rb_status gausssum_backward(rb_gausssum_plan *p, double sigma, const void *q, const void *m, const void *alpha,
                                   const void *beta, void *fq, void *fp) {
  rb_status st = rb_gausssum_omp.backward(p, sigma, q, m, alpha, beta, fq, fp);
  spoil(p->desc.dtype, fp, p->desc.n * p->desc.dim);
  return st;
}
static rb_status gausssum_sum(rb_gausssum_plan *p, double sigma, int64_t nx, const void *x, const void *q,
                              const void *m, void *out) {
  rb_status st = rb_gausssum_omp.sum(p, sigma, nx, x, q, m, out);
  spoil(p->desc.dtype, out, nx * p->desc.dim);
  return st;
}
static rb_status smooth_pass(rb_smooth_plan *p, const rb_smooth_kernel *k, int axis, const void *in, void *out) {
  rb_status st = rb_smooth_omp.pass(p, k, axis, in, out);
  spoil(p->desc.dtype, out, p->desc.components * rb_grid_points(p->desc.grid));
  return st;
}
static rb_status compose_compose(rb_compose_plan *p, double a, const void *s1, const void *s2, void *out) {
  rb_status st = rb_compose_omp.compose(p, a, s1, s2, out);
  spoil(p->desc.dtype, out, 3 * rb_grid_points(p->desc.grid));
  return st;
}
static rb_status compose_warp(rb_compose_plan *p, const void *f, const void *s, void *out) {
  rb_status st = rb_compose_omp.warp(p, f, s, out);
  spoil(p->desc.dtype, out, rb_grid_points(p->desc.grid));
  return st;
}
static rb_status compose_determinant(rb_compose_plan *p, const void *s, void *out) {
  rb_status st = rb_compose_omp.determinant(p, s, out);
  spoil(p->desc.dtype, out, rb_grid_points(p->desc.grid));
  return st;
}
static rb_status compose_bracket(rb_compose_plan *p, const void *v, const void *w, void *out) {
  rb_status st = rb_compose_omp.bracket(p, v, w, out);
  spoil(p->desc.dtype, out, 3 * rb_grid_points(p->desc.grid));
  return st;
}
static rb_status field_combine(rb_field_plan *p, int64_t n, double a, const void *x, double b, const void *y,
                               double c, void *z) {
  rb_status st = rb_field_omp.combine(p, n, a, x, b, y, c, z);
  spoil(p->desc.dtype, z, n);
  return st;
}
static rb_status field_multiply(rb_field_plan *p, int64_t n, double a, const void *x, const void *y, double c,
                                void *z) {
  rb_status st = rb_field_omp.multiply(p, n, a, x, y, c, z);
  spoil(p->desc.dtype, z, n);
  return st;
}
static rb_status field_displace(rb_field_plan *p, rb_grid g, const double a[3], const void *v, const double b[3],
                                const void *w, void *x) {
  rb_status st = rb_field_omp.displace(p, g, a, v, b, w, x);
  spoil(p->desc.dtype, x, 3 * rb_grid_points(g));
  return st;
}
static rb_status transport_adjoint(rb_transport_plan *p, void *lambda, void *b) {
  rb_status st = rb_transport_cpu.adjoint(p, lambda, b);
  spoil(p->desc.dtype, b, 3 * rb_grid_points(p->desc.grid));
  return st;
}
static rb_status transport_incremental(rb_transport_plan *p, const void *vt, void *mt) {
  rb_status st = rb_transport_cpu.incremental(p, vt, mt);
  spoil(p->desc.dtype, mt, rb_grid_points(p->desc.grid));
  return st;
}
static rb_status force_force(rb_force_plan *p, double ratio, const void *fixed, const void *warped, void *u) {
  rb_status st = rb_force_omp.force(p, ratio, fixed, warped, u);
  spoil(p->desc.dtype, u, 3 * rb_grid_points(p->desc.grid));
  return st;
}

static int failures(const rb_family *family, void (*check)(rb_checker *), const void *ops) {
  const rb_variant v = {"cpu/saboteur", "", "", RB_ON_CPU(ops)};
  rb_checker c = {
      .out = stdout, .variant = &v, .family = family, .largest = 10000}; /* a fault shows in small sets, too */
  check(&c);
  assert_true(c.passed + c.failed > 20);
  return c.failed;
}

static void every_crime_is_noticed(const rb_family *family, void (*check)(rb_checker *), const void *ops) {
  now = HONEST;
  assert_int_equal(failures(family, check, ops), 0);
  for (now = ONE_VALUE; now <= worst; now++) assert_true(failures(family, check, ops) > 0);
}

static void interp_crimes(void **s) {
  (void)s;
  rb_interp_ops ops = rb_interp_omp;
  ops.eval = interp_eval;
  every_crime_is_noticed(&rb_interp_family, rb_check_interp, &ops);
}
static void derivative_crimes(void **s) {
  (void)s;
  rb_derivative_ops ops = rb_derivative_omp;
  ops.gradient = derivative_gradient;
  every_crime_is_noticed(&rb_derivative_family, rb_check_derivative, &ops);
}
static void spectral_crimes(void **s) {
  (void)s;
  rb_spectral_ops ops = rb_spectral_fftw;
  ops.apply = spectral_apply;
  every_crime_is_noticed(&rb_spectral_family, rb_check_spectral, &ops);
}

static void gausssum_crimes(void **s) {
  (void)s;
  rb_gausssum_ops ops = rb_gausssum_omp;
  ops.flow = gausssum_flow;
  every_crime_is_noticed(&rb_gausssum_family, rb_check_gausssum, &ops);
  ops = rb_gausssum_omp, ops.backward = gausssum_backward;
  every_crime_is_noticed(&rb_gausssum_family, rb_check_gausssum, &ops);
  ops = rb_gausssum_omp, ops.sum = gausssum_sum;
  every_crime_is_noticed(&rb_gausssum_family, rb_check_gausssum, &ops);
}
static void smooth_crimes(void **s) {
  (void)s;
  rb_smooth_ops ops = rb_smooth_omp;
  ops.pass = smooth_pass;
  every_crime_is_noticed(&rb_smooth_family, rb_check_smooth, &ops);
}
static void compose_crimes(void **s) {
  (void)s;
  rb_compose_ops ops = rb_compose_omp;
  ops.compose = compose_compose;
  every_crime_is_noticed(&rb_compose_family, rb_check_compose, &ops);
  ops = rb_compose_omp, ops.warp = compose_warp;
  every_crime_is_noticed(&rb_compose_family, rb_check_compose, &ops);
  ops = rb_compose_omp, ops.determinant = compose_determinant;
  every_crime_is_noticed(&rb_compose_family, rb_check_compose, &ops);
  ops = rb_compose_omp, ops.bracket = compose_bracket;
  every_crime_is_noticed(&rb_compose_family, rb_check_compose, &ops);
}
static void field_crimes(void **s) {
  (void)s;
  rb_field_ops ops = rb_field_omp;
  ops.combine = field_combine;
  every_crime_is_noticed(&rb_field_family, rb_check_field, &ops);
  ops = rb_field_omp, ops.multiply = field_multiply;
  every_crime_is_noticed(&rb_field_family, rb_check_field, &ops);
  ops = rb_field_omp, ops.displace = field_displace;
  every_crime_is_noticed(&rb_field_family, rb_check_field, &ops);
}
/* Half a minute each, so two of them, and none under a sanitizer. */
static void transport_crimes(void **s) {
  (void)s;
  if (worst != SMALL_BIAS) skip();
  rb_transport_ops ops = rb_transport_cpu;
  ops.adjoint = transport_adjoint, now = ONE_VALUE;
  assert_true(failures(&rb_transport_family, rb_check_transport, &ops) > 0);
  ops = rb_transport_cpu, ops.incremental = transport_incremental, now = SMALL_BIAS;
  assert_true(failures(&rb_transport_family, rb_check_transport, &ops) > 0);
}
static void force_crimes(void **s) {
  (void)s;
  rb_force_ops ops = rb_force_omp;
  ops.force = force_force;
  every_crime_is_noticed(&rb_force_family, rb_check_force, &ops);
}

/* A value that is no number must fail, whatever the limit. */
static void a_nan_never_passes(void **s) {
  (void)s;
  const rb_variant v = {"cpu/none", "", "", RB_ON_CPU(NULL)};
  rb_checker c = {.out = stdout, .variant = &v, .family = &rb_interp_family};
  rb_check_value(&c, NAN, INFINITY, "nan");
  assert_int_equal(c.failed, 1);
  float a[3] = {1, NAN, 3}, b[3] = {1, 2, 3};
  assert_true(isnan(rb_check_distance(RB_F32, a, b, 3)));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(interp_crimes),      cmocka_unit_test(derivative_crimes), cmocka_unit_test(spectral_crimes),
      cmocka_unit_test(gausssum_crimes),    cmocka_unit_test(smooth_crimes),     cmocka_unit_test(compose_crimes),
      cmocka_unit_test(force_crimes),       cmocka_unit_test(field_crimes),      cmocka_unit_test(transport_crimes),
      cmocka_unit_test(a_nan_never_passes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
