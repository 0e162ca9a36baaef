/* Checks of the gausssum family. */
#include "experiments/runner/check/check.h"
#include "experiments/runner/host_apply.h"
#include "kernels/gausssum/gausssum.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Points, momenta and the two derivatives, [dim][n] each; what the sums make of them. */
typedef struct {
  void *q, *p, *alpha, *beta;
} points;
typedef struct {
  void *hq, *hp, *fq, *fp, *sum, *hp_alone;
} sums;
static const double DT = 0.05;

static size_t bytes_of(const rb_gausssum_desc *d) { return (size_t)(d->n * d->dim) * rb_dtype_size(d->dtype); }

static points make_points(const rb_gausssum_desc *d, double spread) {
  points in = {malloc(bytes_of(d)), malloc(bytes_of(d)), malloc(bytes_of(d)), malloc(bytes_of(d))};
  int64_t m = d->n * d->dim;
  rb_check_random(d->dtype, in.q, m, 31);
  for (int64_t i = 0; i < m; i++) rb_check_set(d->dtype, in.q, i, spread * rb_check_at(d->dtype, in.q, i));
  rb_check_random(d->dtype, in.p, m, 32);
  rb_check_random(d->dtype, in.alpha, m, 33);
  rb_check_random(d->dtype, in.beta, m, 34);
  return in;
}
static void drop_points(points in) { free(in.q), free(in.p), free(in.alpha), free(in.beta); }
static sums room(const rb_gausssum_desc *d) {
  sums s;
  void **all = (void **)&s;
  for (size_t i = 0; i < sizeof s / sizeof *all; i++) all[i] = malloc(bytes_of(d));
  return s;
}
static void drop_sums(sums s) {
  void **all = (void **)&s;
  for (size_t i = 0; i < sizeof s / sizeof *all; i++) free(all[i]);
}

static rb_status by(const rb_variant *v, const rb_gausssum_desc *d, double sigma, points in, sums out) {
  rb_status st = RB_OK;
  const rb_backend *b;
  rb_gausssum_plan *p = NULL;
  void *q = NULL, *m = NULL, *alpha = NULL, *beta = NULL, *one = NULL, *two = NULL;
  RB_TRY(rb_backend_get(v->backend, &b));
  RB_TRY(rb_gausssum_create(v, d, &p));
  RB_TRY(rb_to_backend(b, in.q, bytes_of(d), &q));
  RB_TRY(rb_to_backend(b, in.p, bytes_of(d), &m));
  RB_TRY(rb_to_backend(b, in.alpha, bytes_of(d), &alpha));
  RB_TRY(rb_to_backend(b, in.beta, bytes_of(d), &beta));
  RB_TRY(rb_poisoned(b, bytes_of(d), &one));
  RB_TRY(rb_poisoned(b, bytes_of(d), &two));
  RB_TRY(rb_gausssum_flow(p, sigma, q, m, one, two));
  RB_TRY(b->download(out.hq, one, bytes_of(d)));
  RB_TRY(b->download(out.hp, two, bytes_of(d)));
  RB_TRY(rb_gausssum_backward(p, sigma, q, m, alpha, beta, one, two));
  RB_TRY(b->download(out.fq, one, bytes_of(d)));
  RB_TRY(b->download(out.fp, two, bytes_of(d)));
  RB_TRY(rb_gausssum_sum(p, sigma, d->n, alpha, q, m, one));
  RB_TRY(b->download(out.sum, one, bytes_of(d)));
  RB_TRY(rb_gausssum_flow(p, sigma, q, m, NULL, two)); /* Hp alone, where a variant has a shorter way */
  RB_TRY(b->download(out.hp_alone, two, bytes_of(d)));
done:
  rb_gausssum_destroy(p);
  if (b) rb_release(b, two), rb_release(b, one), rb_release(b, beta), rb_release(b, alpha), rb_release(b, m), rb_release(b, q);
  return st;
}

/* What a sum of n terms, each at most `term`, may be off: the contract's bound counts every rounding as if all pointed the same way, and at thousands of
 * points would let whole terms be missing. Roundings of random terms pile up like the root of their number; the worst seen, cpu/naive's, is 0.2 of this. */
static double limit_of(const rb_variant *v, const rb_gausssum_desc *d, double term) {
  const double eps = d->dtype == RB_F64 ? DBL_EPSILON : FLT_EPSILON;
  return fmin(rb_gausssum_tolerance(v, d, term), 64 * eps * sqrt((double)d->n) * term);
}

static int shoots(const rb_variant *v) { return ((const rb_gausssum_ops *)v->ops)->shoot != NULL; }

/* ---- whole flows -------------------------------------------------------------------------------------- */

enum { MOST_STEPS = 5 };

/* history: q, then p, [steps][dim][n] each, the first of both given; then hp0, alpha0, beta0. `stride` time points a call of the
 * variant's: steps, or 2 for one Euler step at a time. */
static rb_status flow_by(const rb_variant *v, const rb_gausssum_desc *d, double sigma, points in, int steps, int stride, char *history) {
  rb_status st = RB_OK;
  const rb_backend *b;
  const size_t one = bytes_of(d), of_q = (size_t)steps * one;
  rb_gausssum_plan *p = NULL;
  char *at = NULL;
  char *turns[2] = {NULL, NULL}; /* alpha and beta on their way, [2][dim][n] */
  RB_TRY(rb_backend_get(v->backend, &b));
  RB_TRY(rb_gausssum_create(v, d, &p));
  RB_TRY(rb_poisoned(b, 2 * of_q + 3 * one, (void **)&at));
  for (int k = 0; k < 2; k++) RB_TRY(rb_poisoned(b, 2 * one, (void **)&turns[k]));
  RB_TRY(b->upload(at, in.q, one));
  RB_TRY(b->upload(at + of_q, in.p, one));
  for (int again = 0; again < 2; again++) { /* a plan serves more than once */
    char *from = turns[0], *to = turns[1];
    RB_TRY(b->upload(from, in.alpha, one));
    RB_TRY(b->upload(from + one, in.beta, one));
    for (int t = 0; t + 1 < steps; t += stride - 1)
      RB_TRY(rb_gausssum_shoot(p, sigma, DT, stride, at + (size_t)t * one, at + of_q + (size_t)t * one, t == 0 ? at + 2 * of_q : NULL));
    for (int t = steps - stride; t >= 0; t -= stride - 1) {
      char *last = t == 0 ? at + 2 * of_q + one : to;
      RB_TRY(rb_gausssum_shoot_back(p, sigma, DT, stride, at + (size_t)t * one, at + of_q + (size_t)t * one, from, from + one, last, last + one));
      to = from, from = last;
    }
  }
  RB_TRY(b->download(history, at, 2 * of_q + 3 * one));
done:
  rb_gausssum_destroy(p);
  if (b) rb_release(b, turns[1]), rb_release(b, turns[0]), rb_release(b, at);
  return st;
}
static size_t history_bytes(const rb_gausssum_desc *d, int steps) { return (2 * (size_t)steps + 3) * bytes_of(d); }
static rb_status flow_at_once(const rb_variant *v, const rb_gausssum_desc *d, double sigma, points in, int steps, char *history) {
  return flow_by(v, d, sigma, in, steps, steps, history);
}

/* A long flow at once is bit for bit the same as one Euler step a call, and repeats bit by bit. */
static void long_flow(rb_checker *c, const rb_gausssum_desc *d) {
  enum { STEPS = 40 };
  const size_t bytes = history_bytes(d, STEPS);
  char *history[3];
  points in = make_points(d, 3);
  int made = 1;
  for (int64_t i = 0; i < d->n * d->dim; i++) rb_check_set(d->dtype, in.p, i, 0.05 * rb_check_at(d->dtype, in.p, i)); /* points stay apart */
  for (int k = 0; k < 3; k++) {
    history[k] = malloc(bytes);
    made = made && rb_check_status(c, flow_by(c->variant, d, 0.7, in, STEPS, k == 0 ? 2 : STEPS, history[k]), "long flow");
  }
  for (int k = 1; k < 3 && made; k++)
    rb_check_value(c, memcmp(history[0], history[k], bytes) == 0 ? 0 : 1, 0, "%d time points %s, n %lld dim %d", STEPS, k == 1 ? "at once" : "again", (long long)d->n, d->dim);
  int finite = made;
  for (int64_t i = 0; finite && i < (int64_t)(bytes / rb_dtype_size(d->dtype)); i++) finite = isfinite(rb_check_at(d->dtype, history[0], i));
  if (made) rb_check_value(c, finite ? 0 : 1, 0, "long flow stays finite, n %lld dim %d", (long long)d->n, d->dim);
  for (int k = 0; k < 3; k++) free(history[k]);
  drop_points(in);
}

/* worst: largest |got - (from + dt rate)|, which a NaN keeps; largest: of the values wanted. */
static void euler(const rb_gausssum_desc *d, const void *from, double dt, const void *rate, const void *got, double *worst, double *largest) {
  for (int64_t i = 0; i < d->n * d->dim; i++) {
    double want = rb_check_at(d->dtype, from, i) + dt * rb_check_at(d->dtype, rate, i), off = fabs(rb_check_at(d->dtype, got, i) - want);
    if (*worst == *worst && !(off <= *worst)) *worst = off;
    *largest = fmax(*largest, fabs(want));
  }
}

static double greatest(const rb_gausssum_desc *d, const void *v) {
  double most = 0;
  for (int64_t i = 0; i < d->n * d->dim; i++) most = fmax(most, fabs(rb_check_at(d->dtype, v, i)));
  return most;
}

/* A flow at once is the variant's own sums and Euler steps, each to the rounding of one product and sum; what is carried back along
 * it piles up the roundings of all its steps. */
static void against_steps(rb_checker *c, const rb_gausssum_desc *d, double sigma, points in, int steps) {
  const size_t one = bytes_of(d), of_q = (size_t)steps * one;
  const double eps = d->dtype == RB_F64 ? DBL_EPSILON : FLT_EPSILON;
  char *history = malloc(history_bytes(d, steps)), *hp0 = history + 2 * of_q;
  sums s = room(d);
  points now = {NULL, NULL, malloc(one), malloc(one)};
  double worst[2] = {0, 0}, largest[2] = {0, 0}, most = 0; /* most: of alpha and beta on their way */
  memcpy(now.alpha, in.alpha, one), memcpy(now.beta, in.beta, one);
  if (!rb_check_status(c, flow_at_once(c->variant, d, sigma, in, steps, history), "flow at once")) goto done;
  for (int t = steps - 2; t >= 0; t--) {
    char *q = history + (size_t)t * one, *p = q + of_q;
    now.q = q, now.p = p;
    if (!rb_check_status(c, by(c->variant, d, sigma, now, s), "sums")) goto done;
    euler(d, q, DT, s.hp, q + one, &worst[0], &largest[0]);
    euler(d, p, -DT, s.hq, p + one, &worst[1], &largest[1]);
    for (int64_t i = 0; i < d->n * d->dim; i++) {
      rb_check_set(d->dtype, now.alpha, i, rb_check_at(d->dtype, now.alpha, i) + DT * rb_check_at(d->dtype, s.fq, i));
      rb_check_set(d->dtype, now.beta, i, rb_check_at(d->dtype, now.beta, i) + DT * rb_check_at(d->dtype, s.fp, i));
    }
    most = fmax(most, fmax(greatest(d, now.alpha), greatest(d, now.beta)));
  }
  rb_check_value(c, rb_check_distance(d->dtype, hp0, s.hp, d->n * d->dim), 0, "a flow's first Hp, n %lld dim %d", (long long)d->n, d->dim);
  for (int k = 0; k < 2; k++) {
    rb_check_value(c, worst[k], 4 * eps * largest[k], "flow at once, %s, %d time points, n %lld dim %d", k ? "p" : "q", steps, (long long)d->n, d->dim);
    /* a difference of one rounding in alpha or beta grows by dt times the products' slopes, far below 100, at every step before */
    rb_check_value(c, rb_check_distance(d->dtype, k ? now.beta : now.alpha, hp0 + (size_t)(k + 1) * one, d->n * d->dim), 100 * steps * eps * most,
                   "carried back at once, %s, %d time points, n %lld dim %d", k ? "beta" : "alpha", steps, (long long)d->n, d->dim);
  }
done:
  free(now.beta), free(now.alpha), free(history);
  drop_sums(s);
}

static void against_oracle(rb_checker *c, const rb_gausssum_desc *d, double sigma) {
  points in = make_points(d, 3);
  sums mine = room(d), oracle = room(d);
  int64_t m = d->n * d->dim;
  if (rb_check_status(c, by(c->variant, d, sigma, in, mine), "sums") && rb_check_status(c, by(&rb_gausssum_family.variants[0], d, sigma, in, oracle), "oracle")) {
    const void *a[] = {mine.hq, mine.hp, mine.fq, mine.fp, mine.sum, mine.hp_alone};
    const void *b[] = {oracle.hq, oracle.hp, oracle.fq, oracle.fp, oracle.sum, oracle.hp_alone};
    static const char *const names[] = {"Hq", "Hp", "fq", "fp", "sum", "Hp alone"};
    /* largest terms: G d / sigma stays below 1 / sqrt(e), products of 3 momenta below 3 */
    const double terms[] = {3 / sigma, 1, (3 * (2 + 2 * d->dim) + 6) / (sigma * sigma) * (1 + sigma), 1 + 6 / sigma, 1, 1};
    for (int k = 0; k < 6; k++)
      rb_check_value(c, rb_check_distance(d->dtype, a[k], b[k], m), limit_of(c->variant, d, terms[k]), "%s n %lld dim %d sigma %g %s", names[k],
                     (long long)d->n, d->dim, sigma, rb_dtype_name(d->dtype));
    for (int t = 2; t <= MOST_STEPS && shoots(c->variant); t += 1 + (d->n > 300)) against_steps(c, d, sigma, in, t);
  }
  drop_sums(oracle), drop_sums(mine), drop_points(in);
}

/* Every pair pushes as it is pushed: sum_i Hq_i = 0; and <alpha, Hp> is symmetric in alpha and p. */
static void conservation(rb_checker *c, const rb_gausssum_desc *d, double sigma) {
  points in = make_points(d, 3);
  sums s = room(d);
  int64_t m = d->n * d->dim;
  if (rb_check_status(c, by(c->variant, d, sigma, in, s), "sums")) {
    for (int k = 0; k < d->dim; k++) {
      double total = 0;
      for (int64_t i = 0; i < d->n; i++) total += rb_check_at(d->dtype, s.hq, k * d->n + i);
      rb_check_value(c, fabs(total), (double)d->n * limit_of(c->variant, d, 3 / sigma), "momentum is conserved, dim %d %s", d->dim, rb_dtype_name(d->dtype));
    }
    double forward = rb_check_dot(d->dtype, in.alpha, s.hp, m);
    points swapped = in;
    swapped.p = in.alpha;
    if (rb_check_status(c, by(c->variant, d, sigma, swapped, s), "sums"))
      rb_check_value(c, fabs(forward - rb_check_dot(d->dtype, in.p, s.hp, m)), (double)m * limit_of(c->variant, d, 1), "the kernel is symmetric, %s", rb_dtype_name(d->dtype));
  }
  drop_sums(s), drop_points(in);
}

/* fq and fp are derivatives of f = <alpha, Hp> - <beta, Hq>: central differences in float64. */
static void derivatives(rb_checker *c, const rb_gausssum_desc *d, double sigma) {
  points in = make_points(d, 2);
  sums s = room(d), t = room(d);
  int64_t m = d->n * d->dim;
  double e = 1e-5, worst = 0;
  if (rb_check_status(c, by(c->variant, d, sigma, in, s), "sums"))
    for (int64_t i = 0; i < m; i += 5)
      for (int which = 0; which < 2; which++) {
        double *x = which ? in.p : in.q, keep = x[i], f[2];
        for (int side = 0; side < 2; side++) {
          x[i] = keep + (side ? e : -e);
          if (by(c->variant, d, sigma, in, t) != RB_OK) break;
          f[side] = rb_check_dot(RB_F64, in.alpha, t.hp, m) - rb_check_dot(RB_F64, in.beta, t.hq, m);
        }
        x[i] = keep;
        worst = fmax(worst, fabs((f[1] - f[0]) / (2 * e) - ((double *)(which ? s.fp : s.fq))[i]));
      }
  rb_check_value(c, worst, 1e-7, "backward products are derivatives, dim %d", d->dim);
  drop_sums(t), drop_sums(s), drop_points(in);
}

/* Sums at other points than the set's own, fewer and more. */
static rb_status sum_at(const rb_variant *v, const rb_gausssum_desc *d, double sigma, points in, int64_t nx, const void *x, void *out) {
  rb_status st = RB_OK;
  const rb_backend *b;
  const size_t bytes = (size_t)(nx * d->dim) * rb_dtype_size(d->dtype);
  rb_gausssum_plan *p = NULL;
  void *at = NULL, *q = NULL, *m = NULL, *sum = NULL;
  RB_TRY(rb_backend_get(v->backend, &b));
  RB_TRY(rb_gausssum_create(v, d, &p));
  RB_TRY(rb_to_backend(b, x, bytes, &at));
  RB_TRY(rb_to_backend(b, in.q, bytes_of(d), &q));
  RB_TRY(rb_to_backend(b, in.p, bytes_of(d), &m));
  RB_TRY(rb_poisoned(b, bytes, &sum));
  RB_TRY(rb_gausssum_sum(p, sigma, nx, at, q, m, sum));
  RB_TRY(b->download(out, sum, bytes));
done:
  rb_gausssum_destroy(p);
  if (b) rb_release(b, sum), rb_release(b, m), rb_release(b, q), rb_release(b, at);
  return st;
}
static void other_points(rb_checker *c, const rb_gausssum_desc *d, double sigma) {
  points in = make_points(d, 3);
  for (int more = 0; more < 2; more++) {
    const int64_t nx = more ? 3 * d->n + 5 : d->n / 3 + 1, m = nx * d->dim;
    const rb_gausssum_desc wide = {.n = nx, .dim = d->dim, .dtype = d->dtype};
    void *mine = malloc(bytes_of(&wide)), *oracle = malloc(bytes_of(&wide));
    points x = make_points(&wide, 3);
    if (rb_check_status(c, sum_at(c->variant, d, sigma, in, nx, x.alpha, mine), "sum") &&
        rb_check_status(c, sum_at(&rb_gausssum_family.variants[0], d, sigma, in, nx, x.alpha, oracle), "oracle"))
      rb_check_value(c, rb_check_distance(d->dtype, mine, oracle, m), limit_of(c->variant, d, 1), "sum of %lld at %lld points dim %d %s", (long long)d->n,
                     (long long)nx, d->dim, rb_dtype_name(d->dtype));
    drop_points(x);
    free(oracle), free(mine);
  }
  drop_points(in);
}

/* Among very many points the oracle works out some rows only. */
static void rows_of_many(rb_checker *c, int64_t n) {
  enum { ALL = 5 };
  const rb_gausssum_desc d = {.n = n, .dim = 3, .dtype = RB_F32};
  const double sigma = 2, terms[ALL] = {3 / sigma, 1, 30 / (sigma * sigma) * (1 + sigma), 1 + 6 / sigma, 1}; /* as in against_oracle */
  static const char *const names[ALL] = {"Hq", "Hp", "fq", "fp", "Hp alone"};
  points in = make_points(&d, 8);
  sums s = room(&d);
  const void *mine[ALL] = {s.hq, s.hp, s.fq, s.fp, s.hp_alone};
  if (rb_check_status(c, by(c->variant, &d, sigma, in, s), "sums")) {
    double worst[ALL] = {0};
    for (int64_t i = 0; i < n; i += n / 23) {
      double exact[ALL][3];
      rb_gausssum_oracle_row(&d, sigma, in.q, in.p, NULL, NULL, i, exact[0], exact[1]);
      rb_gausssum_oracle_row(&d, sigma, in.q, in.p, in.alpha, in.beta, i, exact[2], exact[3]);
      memcpy(exact[4], exact[1], sizeof exact[1]);
      for (int k = 0; k < ALL; k++)
        for (int a = 0; a < 3; a++) {
          const double e = fabs(rb_check_at(d.dtype, mine[k], a * n + i) - exact[k][a]);
          if (worst[k] == worst[k] && !(e <= worst[k])) worst[k] = e;
        }
    }
    for (int k = 0; k < ALL; k++) rb_check_value(c, worst[k], limit_of(c->variant, &d, terms[k]), "%s, some rows of %lld", names[k], (long long)n);
  }
  drop_sums(s), drop_points(in);
}

/* Whether the variant under test takes such sets, and was not asked to leave them out. */
static int wanted(const rb_checker *c, const rb_gausssum_desc *d) {
  int ok = ((const rb_gausssum_ops *)c->variant->ops)->supports(d) == RB_OK;
  rb_clear();
  return ok && (c->largest == 0 || d->n <= c->largest);
}

void rb_check_gausssum(rb_checker *c) {
  static const int64_t counts[] = {1, 2, 31, 255, 256, 257, 1000}, large[] = {2048, 6001}; /* where cuda/tiled takes other shapes */
  for (int t = RB_F32; t <= RB_F64; t++)
    for (int dim = 2; dim <= 3; dim++) {
      for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        rb_gausssum_desc d = {.n = counts[k], .dim = dim, .dtype = (rb_dtype)t};
        if (!wanted(c, &d)) continue;
        against_oracle(c, &d, 0.7);
        against_oracle(c, &d, 2);
      }
      for (size_t k = 0; k < sizeof large / sizeof *large && c->variant->backend == RB_CUDA; k++) {
        rb_gausssum_desc d = {.n = large[k], .dim = dim, .dtype = (rb_dtype)t};
        if (wanted(c, &d)) against_oracle(c, &d, 0.7);
      }
      static const int64_t many[] = {16001, 70001, 150001}; /* larger tiles */
      for (size_t k = 0; k < sizeof many / sizeof *many && c->variant->backend == RB_CUDA && shoots(c->variant) && t == RB_F32 && dim == 3; k++) {
        rb_gausssum_desc d = {.n = many[k], .dim = dim, .dtype = RB_F32};
        if (wanted(c, &d)) rows_of_many(c, many[k]);
      }
      /* every shape of cuda/tiled's flows: one, two and four groups of rows a block; then a launch a step, in 3D by rows and by tiles */
      static const int64_t flows[] = {1, 20, 1847, 2500, 2900, 5000};
      for (size_t k = 0; k < sizeof flows / sizeof *flows && c->variant->backend == RB_CUDA && shoots(c->variant); k++) {
        rb_gausssum_desc d = {.n = flows[k], .dim = dim, .dtype = (rb_dtype)t};
        if (wanted(c, &d)) long_flow(c, &d);
      }
      rb_gausssum_desc d = {.n = 97, .dim = dim, .dtype = (rb_dtype)t};
      if (!wanted(c, &d)) continue;
      other_points(c, &d, 1.2);
      conservation(c, &d, 1.2);
      d.n = 20;
      if (t == RB_F64) derivatives(c, &d, 1.2);
    }
}

/* Recorded: a flow of 5 time points and what is carried back along it; the oracle makes it step by step. */
static void golden_flow(rb_checker *c, const rb_gausssum_desc *d, double sigma, points in) {
  const size_t one = bytes_of(d), of_q = MOST_STEPS * one;
  const int64_t m = d->n * d->dim;
  char *history = malloc(history_bytes(d, MOST_STEPS));
  float *last[4] = {(float *)(history + of_q - one), (float *)(history + 2 * of_q - one), (float *)(history + 2 * of_q + one), (float *)(history + 2 * of_q + 2 * one)};
  static const char *const names[] = {"flow-q", "flow-p", "flow-alpha", "flow-beta"};
  if (c->record) {
    if (!rb_check_status(c, flow_at_once(c->variant, d, sigma, in, MOST_STEPS, history), "golden flow")) goto done;
  } else {
    sums s = room(d);
    points now = in;
    int made = 1;
    memcpy(history, in.q, one), memcpy(history + of_q, in.p, one);
    now.alpha = last[2], now.beta = last[3];
    memcpy(now.alpha, in.alpha, one), memcpy(now.beta, in.beta, one);
    for (int t = 0; t + 1 < MOST_STEPS && made; t++) {
      float *q = (float *)(history + (size_t)t * one), *p = (float *)(history + of_q + (size_t)t * one);
      now.q = q, now.p = p;
      made = rb_check_status(c, by(&rb_gausssum_family.variants[0], d, sigma, now, s), "golden flow");
      for (int64_t i = 0; i < m; i++) q[m + i] = q[i] + (float)DT * ((float *)s.hp)[i], p[m + i] = p[i] - (float)DT * ((float *)s.hq)[i];
    }
    for (int t = MOST_STEPS - 2; t >= 0 && made; t--) {
      now.q = history + (size_t)t * one, now.p = history + of_q + (size_t)t * one;
      made = rb_check_status(c, by(&rb_gausssum_family.variants[0], d, sigma, now, s), "golden flow");
      for (int64_t i = 0; i < m; i++) last[2][i] += (float)DT * ((float *)s.fq)[i], last[3][i] += (float)DT * ((float *)s.fp)[i];
    }
    drop_sums(s);
    if (!made) goto done;
  }
  /* roundings of all steps, as in against_steps */
  for (int k = 0; k < 4; k++) rb_check_golden(c, names[k], last[k], m, 100 * MOST_STEPS * FLT_EPSILON * fmax(1, greatest(d, last[k])));
done:
  free(history);
}

/* Recorded: 3D sums of 60 points in float32. */
void rb_check_gausssum_golden(rb_checker *c) {
  const rb_gausssum_desc d = {.n = 60, .dim = 3, .dtype = RB_F32};
  points in = make_points(&d, 3);
  sums s = room(&d);
  const double sigma = 1.2, terms[] = {3 / sigma, 1, (3 * (2 + 2 * d.dim) + 6) / (sigma * sigma) * (1 + sigma), 1 + 6 / sigma, 1};
  static const char *const names[] = {"Hq", "Hp", "fq", "fp", "sum"};
  const rb_variant *v = c->record ? c->variant : &rb_gausssum_family.variants[0];
  if (rb_check_status(c, by(v, &d, sigma, in, s), "golden")) {
    const void *values[] = {s.hq, s.hp, s.fq, s.fp, s.sum};
    for (int k = 0; k < 5; k++) rb_check_golden(c, names[k], values[k], d.n * d.dim, limit_of(c->variant, &d, terms[k]));
  }
  if (!c->record || shoots(c->variant)) golden_flow(c, &d, sigma, in); /* compared where the recording holds it: a build without CUDA knows no ops */
  drop_sums(s), drop_points(in);
}
