/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/cli/register_grid.h"

#include "datasets/displacement_file.h"
#include "datasets/volume.h"
#include "solvers/common/by_displacement.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  rb_grid grid; /* x3 is the points' x, x2 y, x1 z */
  double origin[3], spacing;
  int dim;
} box;

static rb_status box_of(const rb_points set[2], double margin, double spacing, box *b) {
  rb_status st = RB_OK;
  double cells[3] = {1, 1, 1};
  *b = (box){.spacing = spacing, .dim = set[0].dim};
  for (int c = 0; c < b->dim; c++) {
    double low = INFINITY, high = -INFINITY;
    for (int k = 0; k < 2; k++)
      for (int64_t i = 0; i < set[k].n; i++)
        low = fmin(low, set[k].x[c * set[k].n + i]), high = fmax(high, set[k].x[c * set[k].n + i]);
    b->origin[c] = low - margin;
    cells[c] = ceil((high - low + 2 * margin) / spacing) + 1;
    RB_CHECK(cells[c] <= 32767, RB_EINVAL,
             "a grid of %.0f points along %c is too fine (NIfTI ends at 32767); take a larger --grid", cells[c],
             "xyz"[c]);
  }
  RB_CHECK(cells[0] * cells[1] * cells[2] <= 1 << 24, RB_EINVAL,
           "a grid of %.0f x %.0f x %.0f points is too fine (2^24 at most); take a larger --grid", cells[0], cells[1],
           cells[2]);
  b->grid = rb_grid_make((int64_t)cells[2], (int64_t)cells[1], (int64_t)cells[0]);
done:
  return st;
}

rb_status rb_register_grid_fits(const rb_points set[2], double margin, double spacing) {
  box b;
  return box_of(set, margin, spacing, &b);
}

double rb_register_grid_margin(const rb_solver *s, const void *options) {
  const rb_solver_option *width = rb_solver_option_find(s->options, "sigma");
  return width ? 2 * rb_solver_option_number(width, options) : 0;
}

/* x [dim][points] */
static void grid_points(const box *b, double *x) {
  const int64_t n = rb_grid_points(b->grid);
  for (int64_t p = 0; p < n; p++) {
    const int64_t at[3] = {p % b->grid.n[2], p / b->grid.n[2] % b->grid.n[1], p / b->grid.n[2] / b->grid.n[1]};
    for (int c = 0; c < b->dim; c++) x[c * n + p] = b->origin[c] + b->spacing * (double)at[c];
  }
}

/* v [dim][points] in the points' unit, of their world -> [3][points] in grid cells along x1, x2, x3. */
static void cells_of(const box *b, const double *v, float *cells) {
  const int64_t n = rb_grid_points(b->grid);
  memset(cells, 0, 3 * (size_t)n * sizeof *cells);
  for (int c = 0; c < b->dim; c++)
    for (int64_t p = 0; p < n; p++) cells[(2 - c) * n + p] = (float)(v[c * n + p] / b->spacing);
}
static rb_status write_field(const char *folder, const char *name, const box *b, const float *cells) {
  rb_status st = RB_OK;
  char path[4096];
  rb_volume like = {0};
  RB_TRY(rb_volume_geometry(b->grid, b->spacing, b->origin, &like));
  RB_TRY(rb_path(path, sizeof path, "%s/%s.nii.gz", folder, name));
  RB_TRY(rb_displacement_write(path, &like, b->grid, cells));
done:
  rb_volume_free(&like);
  return st;
}

/* The flow carries the template's points to the reference's: that is the inverse displacement. What an image of the
 * template would be read by is its inverse. */
rb_status rb_register_grid_write(const char *folder, const rb_solver *solver, void *state, const rb_points set[2],
                                 double margin, double spacing) {
  rb_status st = RB_OK;
  box b;
  double *x = NULL, *v = NULL;
  float *cells = NULL, *inverse = NULL;
  RB_TRY(box_of(set, margin, spacing, &b));
  const int64_t n = rb_grid_points(b.grid);
  x = malloc((size_t)(n * b.dim) * sizeof *x);
  v = malloc((size_t)(n * b.dim) * sizeof *v);
  cells = malloc(3 * (size_t)n * sizeof *cells), inverse = malloc(3 * (size_t)n * sizeof *inverse);
  RB_CHECK(x && v && cells && inverse, RB_ENOMEM, "host memory: %zu bytes for a grid", 9 * (size_t)n * sizeof *x);
  grid_points(&b, x);
  RB_TRY(solver->velocity_at(state, n, x, v));
  cells_of(&b, v, cells);
  RB_TRY(write_field(folder, "velocity", &b, cells));
  memcpy(v, x, (size_t)(n * b.dim) * sizeof *v);
  RB_TRY(solver->carry(state, n, v));
  for (int64_t i = 0; i < n * b.dim; i++) v[i] -= x[i];
  cells_of(&b, v, cells);
  RB_TRY(write_field(folder, "inverse_displacement", &b, cells));
  rb_displacement_inverse(b.grid, cells, inverse);
  RB_TRY(write_field(folder, "displacement", &b, inverse));
done:
  free(inverse), free(cells), free(v), free(x);
  return st;
}
