/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/inputs/inputs.h"

#include "datasets/manifest.h"
#include "datasets/phantom.h"
#include "datasets/resample.h"
#include "datasets/volume.h"
#include "kernels/base/rng.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void waves(rb_grid g, float *f) {
#pragma omp parallel for collapse(2) schedule(static)
  for (int64_t i = 0; i < g.n[0]; i++)
    for (int64_t j = 0; j < g.n[1]; j++)
      for (int64_t k = 0; k < g.n[2]; k++) {
        double x[3] = {(double)i * rb_grid_spacing(g, 0), (double)j * rb_grid_spacing(g, 1),
                       (double)k * rb_grid_spacing(g, 2)};
        f[(i * g.n[1] + j) * g.n[2] + k] = (float)rb_phantom_waves(x);
      }
}

static rb_status image(const char *data, rb_grid g, float *f, rb_data_source *source) {
  rb_status st = RB_OK;
  static char path[PATH_MAX]; /* outlives the case: records quote its last component */
  rb_manifest *m = NULL;
  rb_volume v = {0};
  RB_TRY(rb_manifest_load(data, &m));
  RB_CHECK(m->image, RB_EINVAL, "data set %s has no image for kernels", data);
  RB_TRY(rb_manifest_path(m, m->image, path, sizeof path));
  if (!rb_manifest_present(m))
    RB_CHECK(0, RB_ENOTFOUND, "data set %s is absent (%s)", data, m->package ? m->package : "regbench data import");
  RB_TRY(rb_volume_read(path, &v));
  RB_TRY(rb_resample(RB_ANTIALIAS, v.grid, v.data, g, f));
  float most = 0;
  for (int64_t i = 0; i < rb_grid_points(g); i++) most = f[i] > most ? f[i] : most;
  RB_CHECK(most > 0, RB_EFORMAT, "%s holds no positive voxel", path);
  for (int64_t i = 0; i < rb_grid_points(g); i++) f[i] = (f[i] > 0 ? f[i] : 0) / most;
  source->file = strrchr(path, '/') + 1;
  RB_TRY(rb_sha256_file(path, source->sha256));
done:
  rb_volume_free(&v);
  rb_manifest_free(m);
  return st;
}

rb_status rb_input_field(const char *data, rb_grid g, float *f, rb_data_source *source) {
  if (strcmp(data, "analytic") == 0) {
    waves(g, f);
    return RB_OK;
  }
  if (strcmp(data, "phantom") == 0) {
    rb_phantom_head(g, f, NULL);
    return RB_OK;
  }
  return image(data, g, f, source);
}

enum { PERTURBED, PERTURBED_HALF, SMOOTH, LOCALIZED, KINDS };
static const char *const kinds[] = {"perturbed", "perturbed-half", "smooth", "localized"};

int rb_input_points_localized(const char *kind) { return strcmp(kind, kinds[LOCALIZED]) == 0; }

/* Displacement in cells along an axis: two waves of up to 4 cells together, gradients up to 0.2. */
static double displacement(rb_grid g, int a, const double node[3]) {
  double p = RB_TWO_PI * node[(a + 1) % 3] / (double)g.n[(a + 1) % 3], q = RB_TWO_PI * node[a] / (double)g.n[a];
  double amplitude = fmin(4, 0.02 * (double)g.n[a]);
  return amplitude * (0.7 * sin(2 * p + a) * cos(q) + 0.3 * sin(3 * q + p));
}

rb_status rb_input_points(const char *kind, rb_grid g, float *x) {
  int which = 0;
  while (which < KINDS && strcmp(kind, kinds[which]) != 0) which++;
  if (which == KINDS)
    return RB_FAIL(RB_EINVAL, "unknown points '%s': perturbed, perturbed-half, smooth, localized", kind);
  int64_t n = rb_grid_points(g);
#pragma omp parallel for schedule(static)
  for (int64_t p = 0; p < n; p++) {
    double node[3] = {(double)(p / g.n[2] / g.n[1]), (double)(p / g.n[2] % g.n[1]), (double)(p % g.n[2])};
    for (int a = 0; a < 3; a++) {
      double r = rb_rng_symmetric(101 + (uint64_t)a, (uint64_t)p), at = node[a];
      if (which == PERTURBED) at += r;
      if (which == PERTURBED_HALF) at += 0.5 * r;
      if (which == SMOOTH) at -= displacement(g, a, node);
      if (which == LOCALIZED) at = floor((double)g.n[a] / 3) + 0.5 + 0.49 * r;
      x[a * n + p] = (float)at;
    }
  }
  return RB_OK;
}
