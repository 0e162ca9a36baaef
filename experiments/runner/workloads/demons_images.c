/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/workloads/demons_images.h"

#include "experiments/runner/inputs/linear_at.h"
#include "solvers/demons/demons.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void to_bytes(int64_t n, float *f) {
  float least = INFINITY, most = -INFINITY;
  for (int64_t i = 0; i < n; i++) least = fminf(least, f[i]), most = fmaxf(most, f[i]);
  const float scale = most > least ? 255 / (most - least) : 0;
  for (int64_t i = 0; i < n; i++) f[i] = floorf((f[i] - least) * scale);
}

rb_status rb_demons_pair(const char *name, rb_grid grid, rb_pair *out) {
  rb_status st = RB_OK;
  RB_TRY(rb_pair_load(name, RB_POINT, grid, out));
  for (int k = 0; k < 2; k++) to_bytes(rb_grid_points(grid), out->image[k]);
done:
  return st;
}

rb_status rb_demons_case_pair(const rb_case *c, rb_pair *out) {
  const char *images = rb_case_axis(c, "images", "bytes"), *data = rb_case_axis(c, "data", "phantom");
  if (strcmp(images, "antialias") == 0) return rb_pair_load(data, RB_ANTIALIAS, c->grid, out);
  if (strcmp(images, "bytes") == 0) return rb_demons_pair(data, c->grid, out);
  return RB_FAIL(RB_EINVAL, "axis images: '%s'; bytes, antialias", images);
}

/* ---- the velocity ------------------------------------------------------------------------------------- */

static struct {
  char name[16];
  rb_grid grid;
  float *v; /* [3][n], kept for the life of the process */
} kept;

static rb_grid grid_of(const char *name) {
  return strcmp(name, "phantom") == 0 ? rb_grid_make(52, 61, 52) : rb_grid_make(104, 122, 104);
}
size_t rb_demons_velocity_bytes(const char *name) {
  const rb_demons_options o = rb_demons_defaults();
  const rb_variant *variant;
  size_t bytes = 0;
  if (rb_variant_find(&rb_demons_family, "cpu", &variant) != RB_OK ||
      rb_demons_predict(variant, &o, grid_of(name), &bytes) != RB_OK)
    rb_clear();
  return bytes;
}

static rb_status register_once(const char *name) {
  rb_status st = RB_OK;
  rb_pair pair = {0};
  rb_demons *s = NULL;
  const rb_variant *variant;
  rb_demons_result *r = calloc(1, sizeof *r);
  rb_demons_options o = rb_demons_defaults();
  const rb_grid grid = grid_of(name);
  RB_CHECK(r, RB_ENOMEM, "host memory");
  if (kept.v && strcmp(kept.name, name) == 0) goto done;
  o.stop = 0;
  RB_TRY(rb_demons_pair(name, grid, &pair));
  RB_TRY(rb_variant_find(&rb_demons_family, "cpu", &variant));
  RB_TRY(rb_demons_create(variant, &o, grid, pair.image[RB_TEMPLATE], pair.image[RB_REFERENCE], &s));
  RB_TRY(rb_demons_solve(s, NULL, NULL, r));
  free(kept.v);
  kept.name[0] = '\0'; /* until it is whole */
  kept.v = malloc(3 * (size_t)rb_grid_points(grid) * sizeof *kept.v);
  RB_CHECK(kept.v, RB_ENOMEM, "host memory");
  RB_TRY(rb_demons_velocity(s, kept.v));
  snprintf(kept.name, sizeof kept.name, "%.15s", name);
  kept.grid = grid;
done:
  rb_demons_destroy(s);
  rb_pair_free(&pair);
  free(r);
  return st;
}

/* Place of node i of n on an axis of m nodes, voxel centre to voxel centre. */
static double place(int64_t i, int64_t n, int64_t m) { return ((double)i + 0.5) * (double)m / (double)n - 0.5; }

rb_status rb_demons_velocity_field(const char *name, rb_grid grid, float *v) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(grid);
  RB_TRY(register_once(name));
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++) {
    const int64_t at[3] = {i / grid.n[2] / grid.n[1], i / grid.n[2] % grid.n[1], i % grid.n[2]};
    double x[3];
    for (int a = 0; a < 3; a++) x[a] = place(at[a], grid.n[a], kept.grid.n[a]);
    for (int c = 0; c < 3; c++)
      v[c * n + i] = (float)(rb_linear_at(kept.grid, kept.v + c * rb_grid_points(kept.grid), x) * (double)grid.n[c] /
                             (double)kept.grid.n[c]);
  }
done:
  return st;
}
