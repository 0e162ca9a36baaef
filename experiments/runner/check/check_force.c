/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the force family. */
#include "experiments/runner/check/check.h"
#include "experiments/runner/inputs/host_apply.h"
#include "kernels/force/force.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static rb_status by(const rb_variant *v, const rb_force_desc *d, double ratio, const void *fixed, const void *warped,
                    void *u, double *energy) {
  rb_status st = RB_OK;
  const rb_backend *b;
  rb_force_plan *p = NULL;
  const int64_t n = rb_grid_points(d->grid);
  rb_array f = {0}, w = {0}, to = {0};
  RB_TRY(rb_backend_get(v->backend, &b));
  RB_TRY(rb_force_create(v, d, &p));
  RB_TRY(rb_to_backend(b, fixed, d->dtype, n, &f));
  RB_TRY(rb_to_backend(b, warped, d->dtype, n, &w));
  RB_TRY(rb_poisoned(b, d->dtype, 3 * n, &to));
  RB_TRY(rb_force(p, ratio, f, w, to));
  RB_TRY(rb_array_download(to, u));
  RB_TRY(rb_force_energy(p, f, w, energy));
done:
  rb_force_destroy(p);
  rb_array_destroy(&to), rb_array_destroy(&w), rb_array_destroy(&f);
  return st;
}

/* Against the oracle; the bound on |u|; equal images exert no force; half of the nodes are background. */
static void one_grid(rb_checker *c, const rb_force_desc *d, double ratio) {
  const int64_t n = rb_grid_points(d->grid);
  const size_t bytes = 3 * (size_t)n * rb_dtype_size(d->dtype);
  void *f = malloc(bytes), *w = malloc(bytes), *got = malloc(bytes), *want = malloc(bytes);
  double longest = 0, moved = 0, energy = 0, exact = 0;
  rb_check_random(d->dtype, f, n, 81);
  rb_check_random(d->dtype, w, n, 82);
  for (int64_t i = 0; i < n; i += 4) rb_check_set(d->dtype, f, i, 0);
  for (int64_t i = 2; i < n; i += 4) rb_check_set(d->dtype, w, i, 0);
  if (rb_check_status(c, by(c->variant, d, ratio, f, w, got, &energy), "force") &&
      rb_check_status(c, by(&rb_force_family.variants[0], d, ratio, f, w, want, &exact), "oracle")) {
    rb_check_value(c, rb_check_distance(d->dtype, got, want, 3 * n), rb_force_tolerance(d, ratio),
                   "force, ratio %g %lldx%lldx%lld %s", ratio, (long long)d->grid.n[0], (long long)d->grid.n[1],
                   (long long)d->grid.n[2], rb_dtype_name(d->dtype));
    rb_check_value(c, fabs(energy - exact), rb_force_energy_tolerance(d, 2), "energy, %lldx%lldx%lld %s",
                   (long long)d->grid.n[0], (long long)d->grid.n[1], (long long)d->grid.n[2],
                   rb_dtype_name(d->dtype));
    for (int64_t i = 0; i < n; i++) {
      double square = 0;
      for (int a = 0; a < 3; a++) square += pow(rb_check_at(d->dtype, got, a * n + i), 2);
      longest = fmax(longest, sqrt(square));
      if (i % 2 == 0) moved = fmax(moved, square);
    }
    rb_check_value(c, longest, 0.5 / ratio + rb_force_tolerance(d, ratio),
                   "no update is longer than sigma_x / (2 sigma_i)");
    rb_check_value(c, moved, 0, "background stays");
  }
  if (rb_check_status(c, by(c->variant, d, ratio, w, w, got, &energy), "equal images")) {
    memset(want, 0, bytes);
    rb_check_value(c, rb_check_distance(d->dtype, got, want, 3 * n), 0, "equal images exert no force");
    rb_check_value(c, fabs(energy), 0, "and have no energy");
  }
  for (int64_t i = 0; i < n; i++) rb_check_set(d->dtype, w, i, 0.5);
  if (rb_check_status(c, by(c->variant, d, ratio, w, w, got, &energy), "flat images")) {
    memset(want, 0, bytes);
    rb_check_value(c, rb_check_distance(d->dtype, got, want, 3 * n), 0,
                   "nor do flat ones, where nothing divides by nothing");
  }
  free(want), free(got), free(w), free(f);
}

void rb_check_force(rb_checker *c) {
  for (int t = RB_F32; t <= RB_F64; t++)
    for (int g = 0; g < rb_check_grid_count; g++) {
      rb_force_desc d = {.grid = rb_check_grids[g], .dtype = (rb_dtype)t};
      int ok = ((const rb_force_ops *)c->variant->ops)->supports(&d) == RB_OK;
      rb_clear();
      if (!ok) continue;
      one_grid(c, &d, 1);
      one_grid(c, &d, 0.4);
    }
}

void rb_check_force_golden(rb_checker *c) {
  const rb_variant *v = c->of_variant ? c->variant : &rb_force_family.variants[0];
  const rb_force_desc d = {.grid = {{4, 5, 6}}, .dtype = RB_F32};
  enum { N = 4 * 5 * 6 };
  float f[N], w[N], u[3 * N];
  double energy;
  rb_check_random(RB_F32, f, N, 83);
  rb_check_random(RB_F32, w, N, 84);
  if (!rb_check_status(c, by(v, &d, 0.7, f, w, u, &energy), "golden")) return;
  rb_check_golden(c, "force", u, 3 * N, rb_force_tolerance(&d, 0.7));
  const float e = (float)energy;
  rb_check_golden(c, "energy", &e, 1, rb_force_energy_tolerance(&d, 2));
}
