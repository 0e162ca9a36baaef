/* SPDX-License-Identifier: BSD-3-Clause */
/* currents: fixed sources are as good as loaded. */
#include "experiments/runner/check/check.h"
#include "experiments/runner/inputs/host_apply.h"
#include "kernels/currents/currents.h"
#include "kernels/splat/splat.h"

#include <math.h>
#include <string.h>

enum { LOADED = 120, FIXED = 90, ALL = LOADED + FIXED, TARGETS = 70 };

/* Sources 0 .. LOADED - 1 of y and m [3][ALL] loaded, the others fixed, or with `together` all loaded. Twice, with
 * other moments before: fixed ones are not added up from load to load. out: u [3][TARGETS], then z. */
typedef struct {
  double y[3 * ALL], m[3 * ALL], x[3 * TARGETS], p[3 * TARGETS];
} example;
static rb_status put(const rb_backend *b, rb_dtype t, const double *from, int first, int n, double scale,
                     rb_array *to) {
  double part[3 * ALL];
  float narrow[3 * ALL];
  for (int a = 0; a < 3; a++)
    for (int i = 0; i < n; i++) part[a * n + i] = scale * from[a * ALL + first + i];
  for (int i = 0; i < 3 * n; i++) narrow[i] = (float)part[i];
  return rb_to_backend(b, t == RB_F64 ? (void *)part : (void *)narrow, t, 3 * n, to);
}
static rb_status run(const rb_variant *v, rb_currents_desc d, const example *e, int together, double *u, double *z,
                     double *energy) {
  rb_status st = RB_OK;
  const int loaded = together ? ALL : LOADED;
  const rb_backend *b;
  rb_currents_plan *p = NULL;
  rb_array y = {0}, m = {0}, before = {0}, fixed_y = {0}, fixed_m = {0}, x = {0}, pair = {0}, to[2] = {{0}};
  RB_TRY(rb_backend_get(v->backend, &b));
  d.sources = loaded, d.targets = TARGETS;
  RB_TRY(rb_currents_create(v, &d, &p));
  RB_TRY(put(b, d.dtype, e->y, 0, loaded, 1, &y));
  RB_TRY(put(b, d.dtype, e->m, 0, loaded, 1, &m));
  RB_TRY(put(b, d.dtype, e->m, 0, loaded, -3, &before));
  RB_TRY(put(b, d.dtype, e->y, LOADED, FIXED, 1, &fixed_y));
  RB_TRY(put(b, d.dtype, e->m, LOADED, FIXED, 1, &fixed_m));
  RB_TRY(rb_array_create(b, d.dtype, 3 * TARGETS, &x));
  RB_TRY(rb_array_create(b, d.dtype, 3 * TARGETS, &pair));
  RB_TRY(rb_array_put_doubles(x, e->x));
  RB_TRY(rb_array_put_doubles(pair, e->p));
  for (int k = 0; k < 2; k++) RB_TRY(rb_poisoned(b, d.dtype, 3 * TARGETS, &to[k]));
  if (!together) RB_TRY(rb_currents_set_fixed(p, FIXED, fixed_y, fixed_m));
  RB_TRY(rb_currents_load(p, y, before));
  RB_TRY(rb_currents_load(p, y, m));
  RB_TRY(rb_currents_eval(p, TARGETS, x, pair, to[0], to[1]));
  RB_TRY(rb_currents_energy(p, energy));
  RB_TRY(rb_array_get_doubles(to[0], u));
  RB_TRY(rb_array_get_doubles(to[1], z));
done:
  rb_currents_destroy(p);
  rb_array *const all[] = {&y, &m, &before, &fixed_y, &fixed_m, &x, &pair, &to[0], &to[1]};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) rb_array_destroy(all[k]);
  return st;
}

void rb_check_currents_fixed(rb_checker *c) {
  example e;
  double u[2][3 * TARGETS], z[2][3 * TARGETS], energy[2], total = 0;
  const double low[3] = {-3, -3, -3}, high[3] = {3, 3, 3};
  /* one that begins with what stands, and one that does not */
  static const char *const splats[2][2] = {{"cpu/omp", "cpu/omp"}, {"cuda/fixed64", "cuda/float-atomic"}};
  if (!rb_currents_takes_fixed(c->variant)) return;
  rb_check_random(RB_F64, e.y, 3 * ALL, 71), rb_check_random(RB_F64, e.m, 3 * ALL, 72);
  rb_check_random(RB_F64, e.x, 3 * TARGETS, 73), rb_check_random(RB_F64, e.p, 3 * TARGETS, 74);
  for (int i = 0; i < ALL; i++) total += sqrt(pow(e.m[i], 2) + pow(e.m[ALL + i], 2) + pow(e.m[2 * ALL + i], 2));
  for (int t = RB_F32; t <= RB_F64; t++)
    for (int method = RB_CURRENTS_PLAIN; method <= RB_CURRENTS_CUBIC; method++) {
      rb_currents_desc d = {.method = (rb_currents_method)method, .sigma = 0.8, .spacing = 0.4, .dtype = (rb_dtype)t};
      const rb_currents_ops *ops = c->variant->ops;
      rb_currents_fit_grid(low, high, &d);
      if (rb_variant_find(&rb_splat_family, splats[c->variant->backend == RB_CUDA][t == RB_F64 ? 0 : method % 2],
                          &d.splat) != RB_OK ||
          ops->supports(&d) != RB_OK) {
        rb_clear();
        continue;
      }
      for (int k = 0; k < 2; k++)
        if (!rb_check_status(c, run(c->variant, d, &e, k, u[k], z[k], &energy[k]), "fixed sources")) return;
      const double limit = rb_currents_tolerance(c->variant, &d, total, total);
      rb_check_value(c, rb_check_distance(RB_F64, u[0], u[1], 3 * TARGETS), limit,
                     "u with fixed sources, method %d %s", method, rb_dtype_name(d.dtype));
      rb_check_value(c, rb_check_distance(RB_F64, z[0], z[1], 3 * TARGETS), 4 * sqrt(3) / d.spacing * limit,
                     "z with fixed sources, method %d %s", method, rb_dtype_name(d.dtype));
      rb_check_value(c, fabs(energy[0] - energy[1]), limit * total, "energy with fixed sources, method %d %s", method,
                     rb_dtype_name(d.dtype));
    }
}
