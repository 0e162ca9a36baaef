/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/inputs/brain_variation.h"

#include "experiments/runner/base/interrupt.h"
#include "experiments/runner/inputs/linear_at.h"
#include "experiments/runner/inputs/pairs.h"
#include "solvers/claire/claire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 64 };

/* MNI152's brain, mm along x, y, z of the world. */
static const double mni[2][3] = {{-72, -108, -72}, {72, 74, 82}};

/* What was found for a subject: u in voxels of the pair's grid, and where na01's brain lies there. */
typedef struct {
  char subject[16];
  rb_grid grid;
  float *u;               /* [3][n] */
  double low[3], high[3]; /* along x1, x2, x3 */
  int sign[3];            /* of the world along x1, x2, x3 */
} variation;

static rb_status register_subject(variation *v, const rb_pair *pair) {
  rb_status st = RB_OK;
  rb_claire *c = NULL;
  const rb_variant *variant;
  rb_claire_options o = rb_claire_defaults();
  rb_claire_result *r = calloc(1, sizeof *r);
  RB_CHECK(r, RB_ENOMEM, "host memory");
  o.interrupted = &rb_interrupted;
  RB_TRY(rb_variant_find(&rb_claire_family, "cpu-fd8-linear", &variant));
  RB_TRY(rb_claire_create(variant, &o, pair->grid, pair->image[RB_TEMPLATE], pair->image[RB_REFERENCE], &c));
  RB_TRY(rb_claire_solve(c, NULL, NULL, r));
  RB_CHECK(r->end != RB_END_INTERRUPTED, RB_EINTERRUPTED, "interrupted");
  RB_CHECK(r->end == RB_END_CONVERGED, RB_EINVALID, "%s did not register to na01: its shape is not known",
           v->subject);
  RB_TRY(rb_claire_displacement(c, v->u));
done:
  rb_claire_destroy(c);
  free(r);
  return st;
}

/* The box of what is brighter than a tenth of the brightest voxel; skulls and scalps are stripped. */
static void find_box(variation *v, const float *image) {
  const int64_t n = rb_grid_points(v->grid), stride[3] = {v->grid.n[1] * v->grid.n[2], v->grid.n[2], 1};
  float most = 0;
  for (int64_t i = 0; i < n; i++) most = image[i] > most ? image[i] : most;
  for (int a = 0; a < 3; a++) v->low[a] = (double)v->grid.n[a], v->high[a] = -1;
  for (int64_t i = 0; i < n; i++)
    for (int a = 0; a < 3 && image[i] > 0.1f * most; a++) {
      const double at = (double)(i / stride[a] % v->grid.n[a]);
      if (at < v->low[a]) v->low[a] = at;
      if (at > v->high[a]) v->high[a] = at;
    }
}

static rb_status make(const char *subject, variation *v) {
  rb_status st = RB_OK;
  rb_pair pair = {0};
  v->grid = rb_grid_make(SIZE, SIZE, SIZE);
  snprintf(v->subject, sizeof v->subject, "%s", subject);
  RB_TRY(rb_pair_load(subject, RB_ANTIALIAS, v->grid, &pair));
  if (!v->u) v->u = malloc(3 * (size_t)rb_grid_points(v->grid) * sizeof *v->u);
  RB_CHECK(v->u, RB_ENOMEM, "host memory");
  const rb_affine world = rb_volume_affine(&pair.like, pair.grid);
  for (int a = 0; a < 3; a++) v->sign[a] = world.m[2 - a][2 - a] < 0 ? -1 : 1; /* x1 is the world's z */
  find_box(v, pair.image[RB_REFERENCE]);
  RB_TRY(register_subject(v, &pair));
done:
  if (st != RB_OK) v->subject[0] = '\0';
  rb_pair_free(&pair);
  return st;
}

rb_status rb_brain_variation(const char *subject, rb_grid grid, const rb_volume *like, float *u) {
  static variation kept;
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(grid), stride[3] = {grid.n[1] * grid.n[2], grid.n[2], 1};
  const rb_affine world = rb_volume_affine(like, grid);
  if (strcmp(kept.subject, subject) != 0) RB_TRY(make(subject, &kept));
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++) {
    double x[3], scale[3]; /* x: in the pair's voxels; scale: a voxel of the pair in voxels of the grid */
    for (int a = 0; a < 3; a++) {
      const int w = 2 - a; /* the world's axis along x_a */
      const double mm = world.m[w][w] * (double)(i / stride[a] % grid.n[a]) + world.m[w][3];
      const double part = (mm - mni[0][w]) / (mni[1][w] - mni[0][w]), size = kept.high[a] - kept.low[a];
      x[a] = kept.sign[a] > 0 ? kept.low[a] + part * size : kept.high[a] - part * size;
      scale[a] = kept.sign[a] * (mni[1][w] - mni[0][w]) / size / world.m[w][w];
    }
    for (int a = 0; a < 3; a++)
      u[a * n + i] = (float)(scale[a] * rb_linear_at(kept.grid, kept.u + a * rb_grid_points(kept.grid), x));
  }
done:
  return st;
}
