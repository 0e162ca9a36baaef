/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the steps family. */
#include "experiments/runner/check/check.h"
#include "experiments/runner/inputs/host_apply.h"
#include "kernels/steps/steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 4, ROWS = 3 }; /* one judgement more than there are rows */

/* now [ROUNDS][count] judged one after the other; x [n] scaled by the last step of descent `which`. rows
 * [ROWS][2][count]; *left: how many. */
static rb_status by(const rb_variant *v, const rb_steps_desc *d, const double *a, const double *e, const double *now,
                    int which, int64_t n, const void *x, double *rows, int *left, void *z) {
  rb_status st = RB_OK;
  const rb_backend *b;
  rb_steps_plan *p = NULL;
  rb_array sums = {0}, from = {0}, to = {0};
  RB_TRY(rb_backend_get(v->backend, &b));
  RB_TRY(rb_steps_create(v, d, &p));
  RB_TRY(rb_to_backend(b, now, RB_F64, ROUNDS * d->count, &sums));
  RB_TRY(rb_to_backend(b, x, d->dtype, n, &from));
  RB_TRY(rb_poisoned(b, d->dtype, n, &to));
  for (int again = 0; again < 2; again++) { /* a second begin forgets the first */
    RB_TRY(rb_steps_begin(p, a, e));
    for (int k = 0; k < ROUNDS; k++) RB_TRY(rb_steps_judge(p, rb_array_part(sums, k * d->count, d->count)));
  }
  RB_TRY(rb_steps_rows(p, rows, left));
  RB_TRY(rb_steps_scale(p, which, n, from, to));
  RB_TRY(rb_array_download(to, z));
done:
  rb_steps_destroy(p);
  rb_array_destroy(&to), rb_array_destroy(&from), rb_array_destroy(&sums);
  return st;
}

/* Two bounds of a field of n vectors, kept in rows: one that the field sets, one that `first` does; then of zeros. */
static rb_status bounds_by(const rb_variant *v, rb_dtype t, int64_t n, const void *x, const void *zero,
                           double rows[ROWS][2][2]) {
  rb_status st = RB_OK;
  const rb_backend *b;
  const rb_steps_desc d = {2, ROWS, 0, t};
  const double none[2] = {0};
  rb_steps_plan *p = NULL;
  rb_array now = {0}, field = {0}, still = {0};
  int left;
  RB_TRY(rb_backend_get(v->backend, &b));
  RB_TRY(rb_steps_create(v, &d, &p));
  RB_TRY(rb_to_backend(b, none, RB_F64, 2, &now));
  RB_TRY(rb_to_backend(b, x, t, 3 * n, &field));
  RB_TRY(rb_to_backend(b, zero, t, 3 * n, &still));
  RB_TRY(rb_steps_begin(p, none, none));
  for (int k = 0; k < ROWS; k++) { /* descent 1 of two; the other stays at 0 */
    RB_TRY(rb_steps_bound(p, 1, k ? 0.125 : INFINITY, 0.5, n, k < 2 ? field : still, rb_array_part(now, 1, 1)));
    RB_TRY(rb_steps_judge(p, now));
  }
  RB_TRY(rb_steps_rows(p, &rows[0][0][0], &left));
done:
  rb_steps_destroy(p);
  rb_array_destroy(&still), rb_array_destroy(&field), rb_array_destroy(&now);
  return st;
}
static void bounds(rb_checker *c, rb_dtype t, int64_t n) {
  const size_t bytes = 3 * (size_t)n * rb_dtype_size(t);
  void *x = malloc(bytes), *zero = calloc(3 * (size_t)n, rb_dtype_size(t));
  double got[ROWS][2][2], want[ROWS][2][2];
  rb_check_random(t, x, 3 * n, 104);
  for (int k = 0; k < 2; k++) { /* again with a NaN */
    if (rb_check_status(c, bounds_by(c->variant, t, n, x, zero, got), "bound") &&
        rb_check_status(c, bounds_by(&rb_steps_family.variants[0], t, n, x, zero, want), "oracle")) {
      const double longest = got[0][0][1], free_step = got[0][1][1];
      if (k) {
        rb_check_value(c, isnan(longest) && isnan(free_step) && isnan(got[1][1][1]) ? 0 : 1, 0,
                       "a NaN in the field makes the step one (0: it does)");
      } else {
        rb_check_value(c, fabs(longest / want[0][0][1] - 1), 4 * rb_epsilon(t), "longest of %lld vectors, %s",
                       (long long)n, rb_dtype_name(t));
        rb_check_value(c, fabs(free_step - 0.5 / longest) + fabs(got[1][1][1] - fmin(0.125, 0.5 / longest)), 0,
                       "the step that it allows, and what another bound leaves of it");
      }
      rb_check_value(c, fabs(got[2][0][1]) + fabs(got[2][1][1]) + fabs(got[2][1][0]), 0,
                     "a field of zeros: no step; nor for the other descent");
    }
    rb_check_set(t, x, 3 * n / 2, NAN);
  }
  free(zero), free(x);
}

static void one(rb_checker *c, const rb_steps_desc *d, int64_t n) {
  const size_t m = (size_t)d->count, bytes = (size_t)n * rb_dtype_size(d->dtype);
  double *in = malloc((2 + ROUNDS) * m * sizeof *in), *rows = calloc(4 * ROWS * m, sizeof *rows);
  char *x = malloc(3 * bytes), *got = x + bytes, *want = got + bytes;
  int left = 0, exact = 0;
  const int which = d->count % 5 == 0 ? d->count - 2 : d->count - 1; /* the last that has a step */
  double apart = 0;
  rb_check_random(d->dtype, x, n, 101);
  rb_check_random(RB_F64, in, (int64_t)((2 + ROUNDS) * m), 102);
  for (size_t k = 0; k < m; k++) in[k] = k % 5 == 4 ? 0 : fabs(in[k]) + 0.1; /* some stand still */
  if (m > 1) in[2 * m + 1] = NAN;
  if (rb_check_status(c, by(c->variant, d, in, in + m, in + 2 * m, which, n, x, rows, &left, got), "steps") &&
      rb_check_status(
          c,
          by(&rb_steps_family.variants[0], d, in, in + m, in + 2 * m, which, n, x, rows + 2 * ROWS * m, &exact, want),
          "oracle")) {
    const double *r = rows, *o = rows + 2 * ROWS * m;
    for (size_t k = 0; k < 2 * ROWS * m; k++) apart += !(r[k] == o[k] || (isnan(r[k]) && isnan(o[k])));
    rb_check_value(c, apart + abs(left - ROWS) + abs(exact - ROWS), 0, "%d descents, %d judgements, %s: to the bit",
                   d->count, ROUNDS, d->halve ? "halved" : "not halved");
    rb_check_value(c, rb_check_distance(d->dtype, got, want, n), rb_steps_tolerance(d, 2),
                   "a step times %lld values, %s", (long long)n, rb_dtype_name(d->dtype));
    double least = INFINITY;
    for (size_t k = 0; k < m; k++) least = fmin(least, r[2 * (ROWS - 1) * m + m + k] - in[k]);
    if (m > 7)
      rb_check_value(c, d->halve ? least : -least, d->halve ? -1e-3 : 0,
                     "a step of a rising difference shrinks, others do not");
  }
  free(x), free(rows), free(in);
}

void rb_check_steps(rb_checker *c) {
  static const int counts[] = {1, 2, 8, 257, 1000};
  static const int64_t values[] = {1, 3, 4, 1021, 4096};
  for (int t = RB_F32; t <= RB_F64; t++)
    for (int k = 0; k < 5; k++)
      for (int halve = 0; halve < 2; halve++) {
        const rb_steps_desc d = {counts[k], ROWS, halve, (rb_dtype)t};
        int ok = ((const rb_steps_ops *)c->variant->ops)->supports(&d) == RB_OK;
        rb_clear();
        if (ok) one(c, &d, values[k]);
        if (ok && !halve) bounds(c, (rb_dtype)t, values[k]);
      }
}

void rb_check_steps_golden(rb_checker *c) {
  const rb_variant *v = c->of_variant ? c->variant : &rb_steps_family.variants[0];
  const rb_steps_desc d = {3, ROWS, 1, RB_F32};
  static const double in[2 + ROUNDS][3] = {{0.5, 0.3, 0}, {3, 2, 1}, {2, 3, 2}, {1, 4, 3}, {2, 3, 1}, {1, 1, 1}};
  enum { N = 23 };
  float x[N], z[N], rows[2 * ROWS * 3];
  double r[2 * ROWS * 3];
  int left;
  rb_check_random(RB_F32, x, N, 103);
  if (!rb_check_status(c, by(v, &d, in[0], in[1], in[2], 1, N, x, r, &left, z), "golden")) return;
  for (int k = 0; k < 2 * ROWS * 3; k++) rows[k] = (float)r[k];
  rb_check_golden(c, "rows", rows, 2 * ROWS * 3, 1e-7);
  rb_check_golden(c, "scaled", z, N, rb_steps_tolerance(&d, 2));
}
