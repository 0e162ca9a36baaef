/* SPDX-License-Identifier: BSD-3-Clause */
/* Several resolutions: the velocity of a grid half as fine is where the finer one starts. */
#include "solvers/demons/demons.h"

#include <stdlib.h>
#include <string.h>

/* Rounded up: a coarse voxel covers two fine ones an axis, the last one perhaps one. */
static rb_grid half_of(rb_grid g) {
  for (int a = 0; a < 3; a++) g.n[a] = (g.n[a] + 1) / 2;
  return g;
}

/* Mean of the up to eight voxels that a coarse one covers. Voxel centres stay where they are: coarse voxel i lies
 * between fine 2i and 2i + 1. */
static void restrict_to(rb_grid fine, const float *f, rb_grid coarse, float *out) {
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < rb_grid_points(coarse); i++) {
    const int64_t at[3] = {i / coarse.n[2] / coarse.n[1], i / coarse.n[2] % coarse.n[1], i % coarse.n[2]};
    double sum = 0;
    int count = 0;
    for (int corner = 0; corner < 8; corner++) {
      const int64_t a = 2 * at[0] + (corner & 1), b = 2 * at[1] + (corner >> 1 & 1), c = 2 * at[2] + (corner >> 2);
      if (a >= fine.n[0] || b >= fine.n[1] || c >= fine.n[2]) continue;
      sum += (double)f[(a * fine.n[1] + b) * fine.n[2] + c];
      count++;
    }
    out[i] = (float)(sum / count);
  }
}

/* Twice the coarse velocity (voxels are half as long), linear between voxel centres: weights 3/4 and 1/4. Fine voxel
 * 2i lies a quarter of a coarse one below the centre of coarse i, 2i + 1 a quarter above it: so the nearer of two
 * coarse neighbours weighs 3/4 an axis. Beyond the coarse grid its border's value is taken. The factor 2 is the first
 * of `weight`. */
static void prolong(rb_grid coarse, const float *v, rb_grid fine, float *out) {
  const int64_t n = rb_grid_points(fine), m = rb_grid_points(coarse);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++) {
    const int64_t at[3] = {i / fine.n[2] / fine.n[1], i / fine.n[2] % fine.n[1], i % fine.n[2]};
    for (int c = 0; c < 3; c++) {
      double sum = 0;
      for (int corner = 0; corner < 8; corner++) {
        double weight = 2;
        int64_t from[3];
        for (int a = 0; a < 3; a++) {
          const int near = corner >> a & 1; /* of the two coarse neighbours */
          from[a] = at[a] / 2 + (near ? 0 : at[a] % 2 ? 1 : -1);
          from[a] = from[a] < 0 ? 0 : from[a] >= coarse.n[a] ? coarse.n[a] - 1 : from[a];
          weight *= near ? 0.75 : 0.25;
        }
        sum += weight * (double)v[c * m + (from[0] * coarse.n[1] + from[1]) * coarse.n[2] + from[2]];
      }
      out[c * n + i] = (float)sum;
    }
  }
}

/* Velocity [3][n] of the coarser levels, brought to `grid`. It calls rb_demons_solve_levels for one level less, which
 * calls it again: the coarsest level is solved first. The solver is destroyed before the finer one is made, only the
 * velocity stays; room: both images and the velocity of the coarse grid, on the host. */
static rb_status coarse_velocity(const rb_variant *variant, const rb_demons_options *o, int levels, rb_grid grid,
                                 const float *const image[2], rb_demons_hook hook, void *context,
                                 rb_demons_result *result, float *v) {
  rb_status st = RB_OK;
  const rb_grid half = half_of(grid);
  const size_t m = (size_t)rb_grid_points(half);
  rb_demons *s = NULL;
  float *room = malloc(5 * m * sizeof *room); /* 2 images, 3 components */
  RB_CHECK(room, RB_ENOMEM, "host memory: %zu bytes for a coarser level", 5 * m * sizeof *room);
  for (int k = 0; k < 2; k++) restrict_to(grid, image[k], half, room + (size_t)k * m);
  RB_TRY(rb_demons_solve_levels(variant, o, levels, half, room, room + m, hook, context, result, &s));
  RB_TRY(rb_demons_velocity(s, room + 2 * m));
  prolong(half, room + 2 * m, grid, v);
done:
  rb_demons_destroy(s);
  free(room);
  return st;
}

/* Every level has the same options, widths in its own voxels included. Seconds add up over levels, iterations and
 * energies are the finest level's. An interrupted coarse level hands on what it has; the finer ones then end before
 * their first iteration. */
rb_status rb_demons_solve_levels(const rb_variant *variant, const rb_demons_options *options, int levels,
                                 rb_grid grid, const float *template_image, const float *reference,
                                 rb_demons_hook hook, void *context, rb_demons_result *result, rb_demons **out) {
  rb_status st = RB_OK;
  const float *const image[2] = {template_image, reference};
  rb_demons *s = NULL;
  float *v = NULL;
  double seconds = 0, setup = 0; /* of the coarser levels */
  *out = NULL;
  RB_CHECK(levels >= 1 && levels <= 8, RB_EINVAL, "%d levels; 1 to 8 work", levels);
  for (int a = 0; a < 3 && levels > 1; a++)
    RB_CHECK(grid.n[a] >= 8, RB_EINVAL, "axis %d has %lld voxels: too few to halve %d times more", a + 1,
             (long long)grid.n[a], levels - 1);
  if (levels > 1) {
    v = malloc(3 * (size_t)rb_grid_points(grid) * sizeof *v);
    RB_CHECK(v, RB_ENOMEM, "host memory: %zu bytes for a velocity", 3 * (size_t)rb_grid_points(grid) * sizeof *v);
    RB_TRY(coarse_velocity(variant, options, levels - 1, grid, image, hook, context, result, v));
    seconds = result->seconds, setup = result->setup_seconds;
  }
  RB_TRY(rb_demons_create(variant, options, grid, template_image, reference, &s));
  RB_TRY(rb_demons_start(s, v));
  RB_TRY(rb_demons_solve(s, hook, context, result));
  result->seconds += seconds, result->setup_seconds += setup;
  *out = s;
  s = NULL;
done:
  rb_demons_destroy(s);
  free(v);
  return st;
}
