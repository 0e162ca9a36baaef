/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the gausssum family: whole flows. */
#include "experiments/runner/check/check_gausssum.h"
#include "experiments/runner/inputs/host_apply.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double DT = 0.05;

/* history: q, then p, [steps][dim][n] each, the first of both given; then hp0, alpha0, beta0. `stride` time points a
 * call of the variant's: steps, or 2 for one Euler step at a time. */
static rb_status flow_by(const rb_variant *v, const rb_gausssum_desc *d, double sigma, rb_gauss_points in, int steps,
                         int stride, char *history) {
  rb_status st = RB_OK;
  const rb_backend *b;
  const int64_t n = d->dim * d->n, whole = steps * n;
  rb_gausssum_plan *p = NULL;
  rb_array at = {0}, turns[2] = {{0}, {0}}; /* the history; alpha and beta on their way, [2][dim][n] */
  RB_TRY(rb_backend_get(v->backend, &b));
  RB_TRY(rb_gausssum_create(v, d, &p));
  RB_TRY(rb_poisoned(b, d->dtype, 2 * whole + 3 * n, &at));
  for (int k = 0; k < 2; k++) RB_TRY(rb_poisoned(b, d->dtype, 2 * n, &turns[k]));
  RB_TRY(rb_array_upload(rb_array_part(at, 0, n), in.q));
  RB_TRY(rb_array_upload(rb_array_part(at, whole, n), in.p));
  for (int again = 0; again < 2; again++) { /* a plan serves more than once */
    rb_array from = turns[0], to = turns[1];
    RB_TRY(rb_array_upload(rb_array_part(from, 0, n), in.alpha));
    RB_TRY(rb_array_upload(rb_array_part(from, n, n), in.beta));
    for (int t = 0; t + 1 < steps; t += stride - 1)
      RB_TRY(rb_gausssum_shoot(p, sigma, DT, stride, rb_array_part(at, t * n, stride * n),
                               rb_array_part(at, whole + t * n, stride * n),
                               t == 0 ? rb_array_part(at, 2 * whole, n) : rb_array_none()));
    for (int t = steps - stride; t >= 0; t -= stride - 1) {
      const rb_array last = t == 0 ? rb_array_part(at, 2 * whole + n, 2 * n) : to;
      RB_TRY(rb_gausssum_shoot_back(p, sigma, DT, stride, rb_array_part(at, t * n, stride * n),
                                    rb_array_part(at, whole + t * n, stride * n), rb_array_part(from, 0, n),
                                    rb_array_part(from, n, n), rb_array_part(last, 0, n), rb_array_part(last, n, n)));
      to = from, from = last;
    }
  }
  RB_TRY(rb_array_download(at, history));
done:
  rb_gausssum_destroy(p);
  rb_array_destroy(&turns[1]), rb_array_destroy(&turns[0]), rb_array_destroy(&at);
  return st;
}
static size_t history_bytes(const rb_gausssum_desc *d, int steps) {
  return (2 * (size_t)steps + 3) * rb_gauss_bytes(d);
}
static rb_status flow_at_once(const rb_variant *v, const rb_gausssum_desc *d, double sigma, rb_gauss_points in,
                              int steps, char *history) {
  return flow_by(v, d, sigma, in, steps, steps, history);
}

/* A long flow at once is bit for bit the same as one Euler step a call, and repeats bit by bit. */
void rb_check_gauss_long_flow(rb_checker *c, const rb_gausssum_desc *d) {
  const int steps = c->largest ? 6 : 40;
  const size_t bytes = history_bytes(d, steps);
  char *history[3];
  rb_gauss_points in = rb_gauss_points_make(d, 3);
  int made = 1;
  for (int64_t i = 0; i < d->n * d->dim; i++)
    rb_check_set(d->dtype, in.p, i, 0.05 * rb_check_at(d->dtype, in.p, i)); /* points stay apart */
  for (int k = 0; k < 3; k++) {
    history[k] = malloc(bytes);
    made = made &&
           rb_check_status(c, flow_by(c->variant, d, 0.7, in, steps, k == 0 ? 2 : steps, history[k]), "long flow");
  }
  for (int k = 1; k < 3 && made; k++)
    rb_check_value(c, memcmp(history[0], history[k], bytes) == 0 ? 0 : 1, 0, "%d time points %s, n %lld dim %d",
                   steps, k == 1 ? "at once" : "again", (long long)d->n, d->dim);
  int finite = made;
  for (int64_t i = 0; finite && i < (int64_t)(bytes / rb_dtype_size(d->dtype)); i++)
    finite = isfinite(rb_check_at(d->dtype, history[0], i));
  if (made) rb_check_value(c, finite ? 0 : 1, 0, "long flow stays finite, n %lld dim %d", (long long)d->n, d->dim);
  for (int k = 0; k < 3; k++) free(history[k]);
  rb_gauss_points_drop(in);
}

/* worst: largest |got - (from + dt rate)|, which a NaN keeps; largest: of the values wanted. */
static void euler(const rb_gausssum_desc *d, const void *from, double dt, const void *rate, const void *got,
                  double *worst, double *largest) {
  for (int64_t i = 0; i < d->n * d->dim; i++) {
    double want = rb_check_at(d->dtype, from, i) + dt * rb_check_at(d->dtype, rate, i),
           off = fabs(rb_check_at(d->dtype, got, i) - want);
    if (*worst == *worst && !(off <= *worst)) *worst = off;
    *largest = fmax(*largest, fabs(want));
  }
}

static double greatest(const rb_gausssum_desc *d, const void *v) {
  double most = 0;
  for (int64_t i = 0; i < d->n * d->dim; i++) most = fmax(most, fabs(rb_check_at(d->dtype, v, i)));
  return most;
}

/* A flow at once is the variant's own sums and Euler steps, each to the rounding of one product and sum; what is
 * carried back along it piles up the roundings of all its steps. */
void rb_check_gauss_steps(rb_checker *c, const rb_gausssum_desc *d, double sigma, rb_gauss_points in, int steps) {
  const size_t one = rb_gauss_bytes(d), of_q = (size_t)steps * one;
  const double eps = rb_epsilon(d->dtype);
  char *history = malloc(history_bytes(d, steps)), *hp0 = history + 2 * of_q;
  rb_gauss_sums s = rb_gauss_sums_room(d);
  rb_gauss_points now = {NULL, NULL, malloc(one), malloc(one)};
  double worst[2] = {0, 0}, largest[2] = {0, 0}, most = 0; /* most: of alpha and beta on their way */
  memcpy(now.alpha, in.alpha, one), memcpy(now.beta, in.beta, one);
  if (!rb_check_status(c, flow_at_once(c->variant, d, sigma, in, steps, history), "flow at once")) goto done;
  for (int t = steps - 2; t >= 0; t--) {
    char *q = history + (size_t)t * one, *p = q + of_q;
    now.q = q, now.p = p;
    if (!rb_check_status(c, rb_gauss_sums_by(c->variant, d, sigma, now, s), "sums")) goto done;
    euler(d, q, DT, s.hp, q + one, &worst[0], &largest[0]);
    euler(d, p, -DT, s.hq, p + one, &worst[1], &largest[1]);
    for (int64_t i = 0; i < d->n * d->dim; i++) {
      rb_check_set(d->dtype, now.alpha, i, rb_check_at(d->dtype, now.alpha, i) + DT * rb_check_at(d->dtype, s.fq, i));
      rb_check_set(d->dtype, now.beta, i, rb_check_at(d->dtype, now.beta, i) + DT * rb_check_at(d->dtype, s.fp, i));
    }
    most = fmax(most, fmax(greatest(d, now.alpha), greatest(d, now.beta)));
  }
  rb_check_value(c, rb_check_distance(d->dtype, hp0, s.hp, d->n * d->dim), 0, "a flow's first Hp, n %lld dim %d",
                 (long long)d->n, d->dim);
  for (int k = 0; k < 2; k++) {
    rb_check_value(c, worst[k], 4 * eps * largest[k], "flow at once, %s, %d time points, n %lld dim %d",
                   k ? "p" : "q", steps, (long long)d->n, d->dim);
    /* a difference of one rounding in alpha or beta grows by dt times the products' slopes, far below 100, at every
     * step before */
    rb_check_value(c,
                   rb_check_distance(d->dtype, k ? now.beta : now.alpha, hp0 + (size_t)(k + 1) * one, d->n * d->dim),
                   100 * steps * eps * most, "carried back at once, %s, %d time points, n %lld dim %d",
                   k ? "beta" : "alpha", steps, (long long)d->n, d->dim);
  }
done:
  free(now.beta), free(now.alpha), free(history);
  rb_gauss_sums_drop(s);
}

/* Recorded: a flow of 5 time points and what is carried back along it; the oracle makes it step by step. */
void rb_check_gauss_golden_flow(rb_checker *c, const rb_gausssum_desc *d, double sigma, rb_gauss_points in) {
  const size_t one = rb_gauss_bytes(d), of_q = RB_GAUSS_MOST_STEPS * one;
  const int64_t m = d->n * d->dim;
  char *history = malloc(history_bytes(d, RB_GAUSS_MOST_STEPS));
  float *last[4] = {(float *)(history + of_q - one), (float *)(history + 2 * of_q - one),
                    (float *)(history + 2 * of_q + one), (float *)(history + 2 * of_q + 2 * one)};
  static const char *const names[] = {"flow-q", "flow-p", "flow-alpha", "flow-beta"};
  if (c->of_variant) {
    if (!rb_check_status(c, flow_at_once(c->variant, d, sigma, in, RB_GAUSS_MOST_STEPS, history), "golden flow"))
      goto done;
  } else {
    rb_gauss_sums s = rb_gauss_sums_room(d);
    rb_gauss_points now = in;
    int made = 1;
    memcpy(history, in.q, one), memcpy(history + of_q, in.p, one);
    now.alpha = last[2], now.beta = last[3];
    memcpy(now.alpha, in.alpha, one), memcpy(now.beta, in.beta, one);
    for (int t = 0; t + 1 < RB_GAUSS_MOST_STEPS && made; t++) {
      float *q = (float *)(history + (size_t)t * one), *p = (float *)(history + of_q + (size_t)t * one);
      now.q = q, now.p = p;
      made = rb_check_status(c, rb_gauss_sums_by(&rb_gausssum_family.variants[0], d, sigma, now, s), "golden flow");
      for (int64_t i = 0; i < m; i++)
        q[m + i] = q[i] + (float)DT * ((float *)s.hp)[i], p[m + i] = p[i] - (float)DT * ((float *)s.hq)[i];
    }
    for (int t = RB_GAUSS_MOST_STEPS - 2; t >= 0 && made; t--) {
      now.q = history + (size_t)t * one, now.p = history + of_q + (size_t)t * one;
      made = rb_check_status(c, rb_gauss_sums_by(&rb_gausssum_family.variants[0], d, sigma, now, s), "golden flow");
      for (int64_t i = 0; i < m; i++)
        last[2][i] += (float)DT * ((float *)s.fq)[i], last[3][i] += (float)DT * ((float *)s.fp)[i];
    }
    rb_gauss_sums_drop(s);
    if (!made) goto done;
  }
  /* roundings of all steps, as in rb_check_gauss_steps */
  for (int k = 0; k < 4; k++)
    rb_check_golden(c, names[k], last[k], m, 100 * RB_GAUSS_MOST_STEPS * FLT_EPSILON * fmax(1, greatest(d, last[k])));
done:
  free(history);
}
