/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the l2force family. */
#include "experiments/runner/check/check.h"
#include "experiments/runner/inputs/host_apply.h"
#include "kernels/l2force/l2force.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static rb_status by(const rb_variant *v, const rb_l2force_desc *d, const void *mean, const void *image, void *f,
                    double *energy) {
  rb_status st = RB_OK;
  double kept;
  const rb_backend *b;
  rb_l2force_plan *p = NULL;
  const int64_t n = rb_grid_points(d->grid);
  rb_array m = {0}, i = {0}, to = {0}, sum = {0};
  RB_TRY(rb_backend_get(v->backend, &b));
  RB_TRY(rb_l2force_create(v, d, &p));
  RB_TRY(rb_to_backend(b, mean, d->dtype, n, &m));
  RB_TRY(rb_to_backend(b, image, d->dtype, n, &i));
  RB_TRY(rb_poisoned(b, d->dtype, 3 * n, &to));
  RB_TRY(rb_l2force(p, m, i, to));
  RB_TRY(rb_array_download(to, f));
  RB_TRY(rb_l2force_energy(p, m, i, energy));
  RB_TRY(rb_array_create(b, RB_F64, 1, &sum));
  RB_TRY(rb_l2force_energy_kept(p, m, i, sum));
  RB_TRY(rb_array_download(sum, &kept));
  RB_CHECK(kept == *energy, RB_EINVALID, "the energy that is kept is %.17g, the one that is fetched %.17g", kept,
           *energy);
done:
  rb_l2force_destroy(p);
  rb_array_destroy(&sum), rb_array_destroy(&to), rb_array_destroy(&i), rb_array_destroy(&m);
  return st;
}

/* Several channels' forces together, and their differences. */
static rb_status sum_by(const rb_variant *v, const rb_l2force_desc *d, int channels, double weight, const void *mean,
                        const void *image, void *f, double *energy) {
  rb_status st = RB_OK;
  const rb_backend *b;
  rb_l2force_plan *p = NULL;
  const int64_t n = rb_grid_points(d->grid);
  rb_array m = {0}, i = {0}, to = {0}, kept = {0};
  RB_TRY(rb_backend_get(v->backend, &b));
  RB_TRY(rb_l2force_create(v, d, &p));
  RB_TRY(rb_array_create(b, RB_F64, 1, &kept));
  RB_TRY(rb_to_backend(b, mean, d->dtype, channels * n, &m));
  RB_TRY(rb_to_backend(b, image, d->dtype, channels * n, &i));
  RB_TRY(rb_poisoned(b, d->dtype, 3 * n, &to));
  RB_TRY(rb_l2force_sum(p, channels, weight, m, i, to, kept));
  RB_TRY(rb_array_download(kept, energy));
  RB_TRY(rb_l2force_sum(p, channels, weight, m, i, to, rb_array_none()));
  RB_TRY(rb_array_download(to, f));
done:
  rb_l2force_destroy(p);
  rb_array_destroy(&kept), rb_array_destroy(&to), rb_array_destroy(&i), rb_array_destroy(&m);
  return st;
}
static void channels(rb_checker *c, const rb_l2force_desc *d) {
  enum { MOST = 3 };
  const int64_t n = rb_grid_points(d->grid);
  const size_t bytes = 3 * (size_t)n * rb_dtype_size(d->dtype);
  void *m = malloc(bytes), *i = malloc(bytes), *got = malloc(bytes), *want = malloc(bytes), *one = malloc(bytes);
  double energy = 0, exact = 0;
  rb_check_random(d->dtype, m, MOST * n, 95);
  rb_check_random(d->dtype, i, MOST * n, 96);
  if (rb_check_status(c, sum_by(c->variant, d, MOST, 0.75, m, i, got, &energy), "sum") &&
      rb_check_status(c, sum_by(&rb_l2force_family.variants[0], d, MOST, 0.75, m, i, want, &exact), "oracle")) {
    rb_check_value(c, rb_check_distance(d->dtype, got, want, 3 * n), MOST * rb_l2force_tolerance(d, 1),
                   "forces of %d channels together %lldx%lldx%lld %s", MOST, (long long)d->grid.n[0],
                   (long long)d->grid.n[1], (long long)d->grid.n[2], rb_dtype_name(d->dtype));
    rb_check_value(c, fabs(energy - exact), MOST * rb_l2force_energy_tolerance(d, 1), "and their energies");
  }
  if (rb_check_status(c, sum_by(c->variant, d, 1, 1, m, i, got, &energy), "of one") &&
      rb_check_status(c, by(c->variant, d, m, i, one, &energy), "force"))
    rb_check_value(c, rb_check_distance(d->dtype, got, one, 3 * n), 0, "of one channel it is its force, to the bit");
  free(one), free(want), free(got), free(i), free(m);
}

/* Against the oracle; an image that is its own mean; a slope along one axis, where the force is known. */
static void one_grid(rb_checker *c, const rb_l2force_desc *d) {
  const rb_grid g = d->grid;
  const int64_t n = rb_grid_points(g);
  const size_t bytes = 3 * (size_t)n * rb_dtype_size(d->dtype);
  void *m = malloc(bytes), *i = malloc(bytes), *got = malloc(bytes), *want = malloc(bytes);
  double energy = 0, exact = 0;
  rb_check_random(d->dtype, m, n, 91);
  rb_check_random(d->dtype, i, n, 92);
  if (rb_check_status(c, by(c->variant, d, m, i, got, &energy), "force") &&
      rb_check_status(c, by(&rb_l2force_family.variants[0], d, m, i, want, &exact), "oracle")) {
    rb_check_value(c, rb_check_distance(d->dtype, got, want, 3 * n), rb_l2force_tolerance(d, 1),
                   "force %lldx%lldx%lld %s", (long long)g.n[0], (long long)g.n[1], (long long)g.n[2],
                   rb_dtype_name(d->dtype));
    rb_check_value(c, fabs(energy - exact), rb_l2force_energy_tolerance(d, 1), "energy %lldx%lldx%lld %s",
                   (long long)g.n[0], (long long)g.n[1], (long long)g.n[2], rb_dtype_name(d->dtype));
  }
  if (rb_check_status(c, by(c->variant, d, i, i, got, &energy), "an image that is its own mean")) {
    memset(want, 0, bytes);
    rb_check_value(c, rb_check_distance(d->dtype, got, want, 3 * n) + fabs(energy), 0,
                   "an image that is its own mean: neither force nor energy");
  }
  for (int64_t p = 0; p < n; p++) {
    rb_check_set(d->dtype, i, p, (double)(p % g.n[2]) * d->spacing[2] / 8);
    rb_check_set(d->dtype, m, p, rb_check_at(d->dtype, i, p) + 0.5);
    for (int a = 0; a < 3; a++) rb_check_set(d->dtype, want, a * n + p, a == 2 && g.n[2] > 1 ? 0.0625 : 0);
  }
  if (rb_check_status(c, by(c->variant, d, m, i, got, &energy), "a slope"))
    rb_check_value(c, rb_check_distance(d->dtype, got, want, 3 * n), rb_l2force_tolerance(d, (double)g.n[2] / 8),
                   "a slope of 1/8 below a mean 1/2 higher pulls upwards by 1/16");
  free(want), free(got), free(i), free(m);
}

void rb_check_l2force(rb_checker *c) {
  for (int t = RB_F32; t <= RB_F64; t++)
    for (int g = 0; g < rb_check_grid_count; g++) {
      rb_l2force_desc d = {.grid = rb_check_grids[g], .spacing = {1, 1, 1}, .dtype = (rb_dtype)t};
      int ok = ((const rb_l2force_ops *)c->variant->ops)->supports(&d) == RB_OK;
      rb_clear();
      if (!ok) continue;
      one_grid(c, &d);
      d.spacing[0] = 0.5, d.spacing[1] = 3, d.spacing[2] = 1.25;
      one_grid(c, &d);
      channels(c, &d);
    }
}

void rb_check_l2force_golden(rb_checker *c) {
  const rb_variant *v = c->of_variant ? c->variant : &rb_l2force_family.variants[0];
  const rb_l2force_desc d = {.grid = {{4, 5, 6}}, .spacing = {1, 0.5, 2}, .dtype = RB_F32};
  enum { N = 4 * 5 * 6 };
  float m[N], i[N], f[3 * N];
  double energy;
  rb_check_random(RB_F32, m, N, 93);
  rb_check_random(RB_F32, i, N, 94);
  if (!rb_check_status(c, by(v, &d, m, i, f, &energy), "golden")) return;
  rb_check_golden(c, "force", f, 3 * N, rb_l2force_tolerance(&d, 1));
  const float e = (float)energy;
  rb_check_golden(c, "energy", &e, 1, rb_l2force_energy_tolerance(&d, 1));
}
