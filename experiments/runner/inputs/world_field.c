/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/inputs/world_field.h"

#include "datasets/displacement_file.h"
#include "experiments/runner/inputs/linear_at.h"
#include "kernels/registry/registry.h"
#include "kernels/interp/interp.h"
#include "solvers/common/by_displacement.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What counts as an inverse, in voxels of a field. */
static const double ENOUGH = 1e-3;

rb_status rb_world_field_read(const char *path, rb_world_field *out) {
  rb_status st = RB_OK;
  *out = (rb_world_field){0};
  RB_TRY(rb_displacement_lattice(path, &out->lattice));
  const size_t bytes = 3 * (size_t)rb_grid_points(out->lattice.grid) * sizeof *out->u;
  out->u = malloc(bytes);
  RB_CHECK(out->u, RB_ENOMEM, "host memory: %zu bytes for %s", bytes, path);
  RB_TRY(rb_displacement_read(path, out->lattice.grid, out->u));
  out->to_world = rb_volume_affine(&out->lattice, out->lattice.grid);
  RB_CHECK(rb_affine_inverse(&out->to_world, &out->to_voxels), RB_EFORMAT, "%s: its affine has no inverse", path);
done:
  if (st != RB_OK) rb_world_field_free(out);
  return st;
}
void rb_world_field_free(rb_world_field *f) {
  rb_volume_free(&f->lattice);
  free(f->u);
  *f = (rb_world_field){0};
}

/* ---- points ----------------------------------------------------------------------------------------------- */

/* World to voxels along x1, x2, x3, or back: NIfTI counts its axes the other way round. */
static void voxels_of(const rb_affine *to_voxels, const double p[3], double x[3]) {
  for (int r = 0; r < 3; r++)
    x[2 - r] = to_voxels->m[r][0] * p[0] + to_voxels->m[r][1] * p[1] + to_voxels->m[r][2] * p[2] + to_voxels->m[r][3];
}
static void world_of(const rb_affine *to_world, const double x[3], double p[3]) {
  for (int r = 0; r < 3; r++)
    p[r] = to_world->m[r][0] * x[2] + to_world->m[r][1] * x[1] + to_world->m[r][2] * x[0] + to_world->m[r][3];
}
/* Within a voxel of the grid: voxels end half a step beyond the outermost centres. */
static int within(rb_grid g, const double x[3]) {
  for (int a = 0; a < 3; a++)
    if (!(x[a] >= -0.5 && x[a] <= (double)g.n[a] - 0.5)) return 0;
  return 1;
}

void rb_world_move(int count, const rb_world_field *fields, const double p[3], double q[3]) {
  memcpy(q, p, 3 * sizeof *q);
  for (int k = 0; k < count; k++) {
    const rb_world_field *f = &fields[k];
    const rb_grid g = f->lattice.grid;
    double x[3], y[3];
    voxels_of(&f->to_voxels, q, x);
    if (!within(g, x)) continue;
    for (int a = 0; a < 3; a++) y[a] = x[a] + rb_linear_at(g, f->u + a * rb_grid_points(g), x);
    world_of(&f->to_world, y, q);
  }
}

double rb_world_find(int count, const rb_world_field *fields, const double p[3], double q[3]) {
  double worst = 0;
  memcpy(q, p, 3 * sizeof *q);
  for (int k = count - 1; k >= 0; k--) {
    const rb_world_field *f = &fields[k];
    double x[3], y[3];
    voxels_of(&f->to_voxels, q, x);
    worst = fmax(worst, rb_displacement_find(f->lattice.grid, f->u, x, y));
    world_of(&f->to_world, y, q);
  }
  return worst;
}

void rb_carry_points(int count, const rb_world_field *fields, int inverse, int64_t n, double *x, rb_carried *report) {
  *report = (rb_carried){0};
  for (int64_t i = 0; i < n; i++) {
    const double p[3] = {x[i], x[n + i], x[2 * n + i]};
    double q[3], left = 0, v[3];
    if (inverse)
      rb_world_move(count, fields, p, q);
    else
      left = rb_world_find(count, fields, p, q);
    voxels_of(&fields[inverse ? 0 : count - 1].to_voxels, p, v);
    report->outside += !within(fields[inverse ? 0 : count - 1].lattice.grid, v);
    report->lost += left > ENOUGH, report->worst = fmax(report->worst, left);
    for (int a = 0; a < 3; a++) x[a * n + i] = q[a];
  }
}

/* ---- images ----------------------------------------------------------------------------------------------- */

rb_status rb_carry_parse(const char *name, rb_carry *out) {
  static const char *const names[] = {"linear", "cubic", "nearest", "labels"};
  for (int k = 0; k < 4; k++)
    if (strcmp(name, names[k]) == 0) return *out = (rb_carry)k, RB_OK;
  return RB_FAIL(RB_EINVAL, "unknown interpolation '%s': linear, cubic, nearest or labels", name);
}

/* The value of the eight voxels around x that has most of their linear weights, the first of equals. */
static float majority_at(rb_grid g, const float *f, const double x[3]) {
  float value[8], best = 0;
  double weight[8], most = 0;
  int equal = 1;
  for (int corner = 0; corner < 8; corner++) {
    int64_t at = 0;
    weight[corner] = 1;
    for (int a = 0; a < 3; a++) {
      const double y = fmin(fmax(x[a], 0), (double)(g.n[a] - 1)), low = floor(y);
      const int up = corner >> a & 1;
      weight[corner] *= up ? y - low : 1 - (y - low);
      at = at * g.n[a] + (int64_t)low + (up && (int64_t)low + 1 < g.n[a]);
    }
    value[corner] = f[at];
    equal = equal && value[corner] == value[0];
  }
  if (equal) return value[0]; /* as nearly everywhere */
  for (int c = 0; c < 8; c++) {
    double sum = 0;
    for (int d = 0; d < 8; d++) sum += value[d] == value[c] ? weight[d] : 0;
    if (sum > most) most = sum, best = value[c];
  }
  return best;
}
static float nearest_at(rb_grid g, const float *f, const double x[3]) {
  int64_t at = 0;
  for (int a = 0; a < 3; a++) {
    const int64_t i = (int64_t)floor(x[a] + 0.5);
    at = at * g.n[a] + (i < 0 ? 0 : i >= g.n[a] ? g.n[a] - 1 : i);
  }
  return f[at];
}

/* Lagrange's cubic by the family interp; the border's value holds beyond it. x [3][n] of voxels, values [n]. */
static rb_status cubic_at(const rb_volume *image, int64_t n, float *x, float *values) {
  rb_status st = RB_OK;
  const rb_variant *v;
  const rb_interp_desc d = {
      .grid = image->grid, .basis = RB_LAGRANGE, .boundary = RB_CLAMP, .dtype = RB_F32, .components = 1};
  rb_interp_plan *plan = NULL;
  RB_TRY(rb_variant_find(&rb_interp_family, "cpu/omp", &v));
  RB_TRY(rb_interp_create(v, &d, &plan));
  RB_TRY(rb_interp_load(plan, rb_array_host(RB_F32, rb_grid_points(image->grid), image->data)));
  RB_TRY(rb_interp_eval(plan, n, rb_array_host(RB_F32, 3 * n, x), rb_array_host(RB_F32, n, values)));
done:
  rb_interp_destroy(plan);
  return st;
}

/* Where voxel i of `like` is read in the image, in its voxels. */
static double place_of(int count, const rb_world_field *fields, int inverse, const rb_volume *like,
                       const rb_affine *like_to_world, const rb_affine *to_image, int64_t i, double x[3]) {
  const rb_grid g = like->grid;
  const double v[3] = {(double)(i / g.n[2] / g.n[1]), (double)(i / g.n[2] % g.n[1]), (double)(i % g.n[2])};
  double p[3], q[3], left = 0;
  world_of(like_to_world, v, p);
  if (inverse)
    left = rb_world_find(count, fields, p, q);
  else
    rb_world_move(count, fields, p, q);
  voxels_of(to_image, q, x);
  return left;
}

/* Whether voxel i of both is the same place, to the bit. */
static int same_lattice(const rb_volume *a, const rb_affine *of_a, const rb_volume *b, const rb_affine *of_b) {
  return memcmp(a->grid.n, b->grid.n, sizeof a->grid.n) == 0 && memcmp(of_a->m, of_b->m, sizeof of_a->m) == 0;
}

rb_status rb_carry_image(int count, const rb_world_field *fields, int inverse, const rb_volume *image,
                         const rb_volume *like, rb_carry how, float *out, rb_carried *report) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(like->grid);
  const rb_affine like_to_world = rb_volume_affine(like, like->grid),
                  image_to_world = rb_volume_affine(image, image->grid);
  rb_affine to_image;
  int64_t outside = 0, lost = 0;
  double worst = 0;
  float *x = NULL;
  RB_CHECK(rb_affine_inverse(&image_to_world, &to_image), RB_EFORMAT, "the image's affine has no inverse");
  if (count == 0 && same_lattice(image, &image_to_world, like, &like_to_world)) { /* all weights are 1 or 0 */
    rb_copy_parallel(out, image->data, (size_t)n * sizeof *out);
    *report = (rb_carried){0};
    return RB_OK;
  }
  if (how == RB_CARRY_CUBIC) {
    x = malloc(3 * (size_t)n * sizeof *x);
    RB_CHECK(x, RB_ENOMEM, "host memory: %zu bytes for places", 3 * (size_t)n * sizeof *x);
  }
#pragma omp parallel for schedule(dynamic, 4096) reduction(+ : outside, lost) reduction(max : worst)
  for (int64_t i = 0; i < n; i++) {
    double at[3];
    const double left = place_of(count, fields, inverse, like, &like_to_world, &to_image, i, at);
    const int inside = within(image->grid, at);
    lost += left > ENOUGH, worst = fmax(worst, left), outside += !inside;
    for (int a = 0; a < 3 && x; a++) x[a * n + i] = (float)at[a];
    if (how == RB_CARRY_CUBIC)
      out[i] = inside ? 1 : 0;
    else
      out[i] = !inside                   ? 0
               : how == RB_CARRY_LINEAR  ? (float)rb_linear_at(image->grid, image->data, at)
               : how == RB_CARRY_NEAREST ? nearest_at(image->grid, image->data, at)
                                         : majority_at(image->grid, image->data, at);
  }
  if (how == RB_CARRY_CUBIC) {
    float *values = malloc((size_t)n * sizeof *values);
    st = values ? cubic_at(image, n, x, values) : RB_FAIL(RB_ENOMEM, "host memory");
    for (int64_t i = 0; i < n && st == RB_OK; i++) out[i] = out[i] != 0 ? values[i] : 0;
    free(values);
  }
  *report = (rb_carried){outside, lost, worst};
done:
  free(x);
  return st;
}
