/* SPDX-License-Identifier: BSD-3-Clause */
/* Atlases by every CPU variant, for the tests of one process. */
#ifndef RB_ATLAS_MAKE_H
#define RB_ATLAS_MAKE_H

#include "tests/solvers/atlas_pictures.h"

/* The atlas of images[count]; mean[N] and, where not NULL, the displacement of the first. */
static rb_atlas_result make(const char *name, const rb_atlas_options *o, int count, const float *const *images,
                            const float *reference, float *mean, float *u) {
  rb_atlas *a;
  rb_atlas_result r;
  ok(rb_atlas_create(variant(name), o, grid, count, images, reference, rb_team_self(), &a));
  ok(rb_atlas_solve(a, NULL, NULL, &r));
  ok(rb_atlas_mean(a, mean));
  if (u) ok(rb_atlas_displacement(a, 0, u));
  rb_atlas_destroy(a);
  return r;
}

static double furthest(const float *a, const float *b, int n) {
  double most = 0;
  for (int i = 0; i < n; i++) {
    const double d = fabs((double)a[i] - (double)b[i]);
    if (!(d <= most)) most = d; /* a NaN stays */
  }
  return most;
}

static const char *const solvers[] = {"cpu-fft", "cpu-sor", "cpu-dst", "cpu-fft-f64", "cpu-sor-f64"};
enum { SOLVERS = sizeof solvers / sizeof *solvers };
#endif
