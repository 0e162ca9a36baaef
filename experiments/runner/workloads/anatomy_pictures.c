/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/workloads/anatomy_pictures.h"

#include "experiments/runner/workloads/panels.h"
#include "experiments/runner/workloads/surface_picture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Axes x1, x2, x3 of a grid run upwards, to the front, to the right. */
static const rb_surface_view from_the_right = {.across = 1, .up = 0, .depth = 2},
                             from_behind = {.across = 2, .up = 0, .depth = 1, .behind = 1};
enum { GREY_MATTER = 1, CEREBELLUM = 2 };
static const double YELLOW = 6; /* mm */

rb_status rb_anatomy_slices(const char *who, rb_grid grid, const float *before, const float *after,
                            const float *reference, rb_pictures *out) {
  rb_status st = RB_OK;
  static const rb_panel_view views[] = {RB_AXIAL, RB_SAGITTAL};
  static const double at[] = {0.5, 0.56}; /* beside the cleft between the hemispheres */
  char title[64];
  rb_pictures_free(out);
  for (int v = 0; v < 2; v++) {
    RB_TRY(rb_panels_slice("before", views[v], at[v], grid, before, out));
    snprintf(title, sizeof title, "after, %.40s", who);
    for (char *c = title + 6; *c; c++) *c = *c == ',' ? ';' : *c; /* the last comma parts title and view */
    RB_TRY(rb_panels_slice(title, views[v], at[v], grid, after, out));
    RB_TRY(rb_panels_slice("reference", views[v], at[v], grid, reference, out));
  }
done:
  if (st != RB_OK) rb_pictures_free(out);
  return st;
}

/* The box of the reference's surface with a tenth around it. */
static void box_of(const rb_surface *s, double low[3], double high[3]) {
  for (int a = 0; a < 3; a++) {
    low[a] = INFINITY, high[a] = -INFINITY;
    for (int64_t i = 0; i < s->vertices; i++)
      low[a] = fmin(low[a], s->x[a * s->vertices + i]), high[a] = fmax(high[a], s->x[a * s->vertices + i]);
    const double margin = 0.1 * (high[a] - low[a]);
    low[a] -= margin, high[a] += margin;
  }
}

/* One surface's vertices of moved [3][all], as an array of their own. */
static double *vertices_of(const rb_anatomy *moving, int which, const double *moved) {
  int64_t all = 0, first = 0;
  for (int j = 0; j < moving->surfaces; j++) {
    if (j < which) first += moving->surface[j].vertices;
    all += moving->surface[j].vertices;
  }
  const int64_t v = moving->surface[which].vertices;
  double *x = malloc(3 * (size_t)v * sizeof *x);
  for (int a = 0; x && a < 3; a++)
    for (int64_t i = 0; i < v; i++) x[a * v + i] = moved[a * all + first + i];
  return x;
}

static rb_status one_surface(const char *what, const char *name, rb_surface_view view, int which,
                             const rb_anatomy *moving, const double *moved, const rb_anatomy *fixed, double voxel,
                             double *mean, rb_pictures *out) {
  rb_status st = RB_OK;
  rb_surface s = moving->surface[which];
  double low[3], high[3], *x = vertices_of(moving, which, moved), *d = malloc(((size_t)s.vertices + 1) * sizeof *d);
  char title[96];
  RB_CHECK(x && d, RB_ENOMEM, "host memory");
  s.x = x;
  rb_surface_distances(&s, &fixed->surface[which], d);
  *mean = 0;
  for (int64_t i = 0; i < s.vertices; i++) {
    d[i] *= voxel;
    *mean += d[i] / (double)s.vertices;
    d[i] /= YELLOW;
  }
  box_of(&fixed->surface[which], low, high);
  snprintf(title, sizeof title, "%.40s, %s: %.2f mm", what, name, *mean);
  RB_TRY(rb_surface_picture(title, view, &s, d, low, high, out));
done:
  free(x), free(d);
  return st;
}

rb_status rb_anatomy_surfaces(const char *what, const rb_anatomy *moving, const double *moved,
                              const rb_anatomy *fixed, double voxel, double mean[2], rb_pictures *out) {
  rb_status st = RB_OK;
  rb_pictures_free(out);
  RB_CHECK(moving->surfaces > CEREBELLUM && fixed->surfaces > CEREBELLUM, RB_EINVAL,
           "pictures of surfaces need grey matter and cerebellum");
  RB_TRY(one_surface(what, "grey matter", from_the_right, GREY_MATTER, moving, moved, fixed, voxel, &mean[0], out));
  RB_TRY(one_surface(what, "cerebellum", from_behind, CEREBELLUM, moving, moved, fixed, voxel, &mean[1], out));
done:
  if (st != RB_OK) rb_pictures_free(out);
  return st;
}
