/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/workloads/atlas_twin.h"

#include "datasets/sealed_file.h"

#include "experiments/runner/workloads/solve_checks.h"

#include <stdio.h>
#include <string.h>

static void keep(void *context, const rb_atlas_row *row) {
  rb_atlas_variances *course = context;
  if (row->level <= RB_TWIN_LEVELS)
    course->variance[(row->level - 1) * (RB_TWIN_ITERATIONS + 1) + row->iteration] = row->variance;
}
static int fewer(int iterations) { return iterations < RB_TWIN_ITERATIONS ? iterations : RB_TWIN_ITERATIONS; }

/* Courses that this program has worked out: cases of one experiment ask for few, again and again. */
enum { KNOWN = 16, KEY = 65 };
static struct {
  char key[KEY];
  rb_atlas_variances course;
} known[KNOWN];
static int known_next; /* the place that is taken next */

/* sha256 of all that a twin's course depends on. */
static void key_of(const char *twin, const rb_atlas_options *o, rb_grid g, int count, const float *const *images,
                   const float *reference, char key[KEY]) {
  const size_t bytes = (size_t)rb_grid_points(g) * sizeof(float);
  char text[512 + KEY], each[KEY] = "";
  for (int k = -1; k < count; k++) { /* each hash holds those before */
    const float *image = k < 0 ? reference : images[k];
    char own[2 * KEY];
    memcpy(own, each, KEY);
    own[KEY - 1] = '\0';
    if (image) rb_sha256_data(image, bytes, own + KEY - 1);
    rb_sha256_data(own, image ? 2 * (KEY - 1) : 0, each);
  }
  const int length = snprintf(text, sizeof text,
                              "%s %lldx%lldx%lld %d images %s: %a %a %a %a %d %d %d %d %d %d %d %d %d %d %d %a %a %a",
                              twin, (long long)g.n[0], (long long)g.n[1], (long long)g.n[2], count, each, o->alpha,
                              o->beta, o->gamma, o->step, fewer(o->iterations), fewer(o->coarse_iterations),
                              o->levels, o->first_sweeps, o->sweeps, (int)o->omega, o->halve, (int)o->sum,
                              (int)o->scale, o->clip, (int)o->voxels, o->spacing[0], o->spacing[1], o->spacing[2]);
  rb_sha256_data(text, (size_t)length, key);
}

rb_status rb_atlas_twin_variances(const rb_variant *variant, const rb_atlas_options *options, rb_grid grid, int count,
                                  const float *const *images, const float *reference, rb_atlas_variances *out) {
  rb_status st = RB_OK;
  char key[KEY];
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
  key_of(twin->name, &o, grid, count, images, reference, key);
  for (int k = 0; k < KNOWN; k++)
    if (strcmp(known[k].key, key) == 0) {
      *out = known[k].course;
      return RB_OK;
    }
  o.stream = o.concurrent = 0; /* changes nothing */
  RB_TRY(rb_atlas_create(twin, &o, grid, count, images, reference, rb_team_self(), &a));
  RB_TRY(rb_atlas_short_solve(a, &o, out));
  memcpy(known[known_next].key, key, KEY);
  known[known_next].course = *out;
  known_next = (known_next + 1) % KNOWN;
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
