/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/workloads/atlas_twin.h"

#include "experiments/runner/workloads/solve_checks.h"

static void keep(void *context, const rb_atlas_row *row) {
  rb_atlas_variances *course = context;
  if (row->level <= RB_TWIN_LEVELS)
    course->variance[(row->level - 1) * (RB_TWIN_ITERATIONS + 1) + row->iteration] = row->variance;
}
static int fewer(int iterations) { return iterations < RB_TWIN_ITERATIONS ? iterations : RB_TWIN_ITERATIONS; }

rb_status rb_atlas_twin_variances(const rb_variant *variant, const rb_atlas_options *options, rb_grid grid, int count,
                                  const float *const *images, const float *reference, rb_atlas_variances *out) {
  rb_status st = RB_OK;
  const rb_atlas_config *config = variant->ops;
  const rb_variant *solver, *twin;
  rb_atlas *a = NULL;
  rb_atlas_options o = *options;
  *out = (rb_atlas_variances){{0}};
  RB_TRY(rb_variant_find(&rb_helmholtz_family, config->helmholtz, &solver));
  const int zero = ((const rb_helmholtz_ops *)solver->ops)->boundary == RB_HELMHOLTZ_ZERO;
  RB_TRY(rb_variant_find(&rb_atlas_family,
                         config->sweeps ? "cpu-sor-f64"
                         : zero         ? "cpu-dst-f64"
                                        : "cpu-fft-f64",
                         &twin));
  RB_TRY(rb_atlas_create(twin, &o, grid, count, images, reference, rb_team_self(), &a));
  RB_TRY(rb_atlas_short_solve(a, &o, out));
done:
  rb_atlas_destroy(a);
  return st;
}

rb_status rb_atlas_short_solve(rb_atlas *a, const rb_atlas_options *o, rb_atlas_variances *out) {
  rb_status st = RB_OK;
  rb_atlas_result r;
  *out = (rb_atlas_variances){{0}};
  rb_atlas_set_iterations(a, fewer(o->coarse_iterations), fewer(o->iterations));
  RB_TRY(rb_atlas_solve(a, keep, out, &r));
  RB_TRY(rb_solve_check_uninterrupted(r.end));
done:
  rb_atlas_set_iterations(a, o->coarse_iterations, o->iterations);
  return st;
}

double rb_atlas_variance_difference(const rb_atlas_variances *a, const rb_atlas_variances *b) {
  double off = 0;
  for (int i = 0; i < RB_TWIN_ROWS; i++) {
    if (a->variance[i] == 0 && b->variance[i] == 0) continue; /* fewer iterations or levels were asked for */
    off = rb_greater_error(off, rb_relative_error(a->variance[i], b->variance[i]));
  }
  return off;
}

size_t rb_atlas_twin_bytes(rb_grid grid, int count) {
  return (size_t)rb_grid_points(grid) * sizeof(double) * (8 * (size_t)count + 18);
}
