/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/workloads/panels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PIXELS = 128 };

/* A view: picture columns along one axis, rows (upwards) along another, at a place of the third. */
typedef struct {
  const char *name;
  int across, up, at;
} view;
static const view views[] = {
    [RB_CORONAL] = {"coronal", 2, 0, 1}, [RB_AXIAL] = {"axial", 2, 1, 0}, [RB_SAGITTAL] = {"sagittal", 1, 0, 2}};
enum { VIEWS_OF_A_PAIR = 2 }; /* coronal and axial, through the middle */

typedef struct {
  int width, height;
  int64_t *voxel; /* [height][width], row 0 at the top */
  int step;
} sampling;

static rb_status sample(rb_grid g, view v, double where, sampling *s) {
  rb_status st = RB_OK;
  const int64_t stride[3] = {g.n[1] * g.n[2], g.n[2], 1}, plane = (int64_t)(where * (double)g.n[v.at]);
  int64_t longest = g.n[v.across] > g.n[v.up] ? g.n[v.across] : g.n[v.up];
  s->step = (int)((longest + MOST_PIXELS - 1) / MOST_PIXELS);
  s->width = (int)(g.n[v.across] / s->step), s->height = (int)(g.n[v.up] / s->step);
  s->voxel = malloc((size_t)(s->width * s->height) * sizeof *s->voxel);
  RB_CHECK(s->voxel, RB_ENOMEM, "host memory");
  for (int r = 0; r < s->height; r++)
    for (int q = 0; q < s->width; q++)
      s->voxel[r * s->width + q] = plane * stride[v.at] + (int64_t)(s->height - 1 - r) * s->step * stride[v.up] +
                                   (int64_t)q * s->step * stride[v.across];
done:
  return st;
}

static unsigned char byte_of(double v) { return (unsigned char)(v <= 0 ? 0 : v >= 1 ? 255 : 255 * v + 0.5); }

static rb_status add(rb_pictures *panels, const char *view_name, const char *title, const sampling *s, int channels,
                     const unsigned char *pixels) {
  char name[96];
  snprintf(name, sizeof name, "%s, %s", title, view_name);
  return rb_pictures_add(panels, name, s->width, s->height, channels, pixels);
}

void rb_determinant_colour(double d, unsigned char rgb[3]) {
  static const double stops[3][3] = {{0.05, 0.15, 0.55}, {0.15, 0.65, 0.35}, {0.98, 0.90, 0.15}};
  double t = d <= 0 ? 0 : d >= 2 ? 2 : d;
  int k = t < 1 ? 0 : 1;
  for (int a = 0; a < 3; a++) rgb[a] = byte_of(stops[k][a] + (t - k) * (stops[k + 1][a] - stops[k][a]));
}

/* The pixel lies on the edge of the union of labels. */
static int on_contour(const float *labels, const sampling *s, int r, int q) {
  int inside = labels[s->voxel[r * s->width + q]] > 0;
  if (!inside) return 0;
  if (r == 0 || q == 0 || r == s->height - 1 || q == s->width - 1) return 1;
  return !(labels[s->voxel[(r - 1) * s->width + q]] > 0 && labels[s->voxel[(r + 1) * s->width + q]] > 0 &&
           labels[s->voxel[r * s->width + q - 1]] > 0 && labels[s->voxel[r * s->width + q + 1]] > 0);
}

/* Reference in grey, the moving label's contour orange over the reference label's blue. */
static void contours(const float *grey, const float *moving, const float *fixed, const sampling *s,
                     unsigned char *to) {
  for (int r = 0; r < s->height; r++)
    for (int q = 0; q < s->width; q++) {
      int at = r * s->width + q;
      for (int a = 0; a < 3; a++) to[3 * at + a] = byte_of(0.8 * (double)grey[s->voxel[at]]);
      if (on_contour(fixed, s, r, q)) to[3 * at] = 0, to[3 * at + 1] = 130, to[3 * at + 2] = 230;
      if (on_contour(moving, s, r, q)) to[3 * at] = 245, to[3 * at + 1] = 140, to[3 * at + 2] = 0;
    }
}

/* Squares of 16 pixels from one image and the other in turn. */
static void checkerboard(const float *a, const float *b, const sampling *s, unsigned char *to) {
  for (int r = 0; r < s->height; r++)
    for (int q = 0; q < s->width; q++)
      to[r * s->width + q] = byte_of((double)((r / 16 + q / 16) % 2 ? b : a)[s->voxel[r * s->width + q]]);
}

static rb_status one_view(const rb_pair *pair, const rb_panel_fields *f, const float *warped_labels, view v,
                          rb_pictures *panels) {
  rb_status st = RB_OK;
  sampling s = {0};
  int64_t n = rb_grid_points(pair->grid);
  unsigned char *px = NULL;
  RB_TRY(sample(pair->grid, v, 0.5, &s));
  if (s.width < 2 || s.height < 2) goto done; /* a grid of one plane has one view */
  int count = s.width * s.height;
  px = calloc(3, (size_t)count);
  RB_CHECK(px, RB_ENOMEM, "host memory");
  for (int i = 0; i < count; i++) px[i] = byte_of((double)f->template_image[s.voxel[i]]);
  RB_TRY(add(panels, v.name, "template", &s, 1, px));
  for (int i = 0; i < count; i++) px[i] = byte_of((double)f->reference[s.voxel[i]]);
  RB_TRY(add(panels, v.name, "reference", &s, 1, px));
  for (int i = 0; i < count; i++)
    px[i] = byte_of(1 - fabs((double)(f->template_image[s.voxel[i]] - f->reference[s.voxel[i]])));
  RB_TRY(add(panels, v.name, "mismatch before", &s, 1, px));
  for (int i = 0; i < count; i++)
    px[i] = byte_of(1 - fabs((double)(f->warped[s.voxel[i]] - f->reference[s.voxel[i]])));
  RB_TRY(add(panels, v.name, "mismatch after", &s, 1, px));
  for (int i = 0; i < count; i++) rb_determinant_colour((double)f->det[s.voxel[i]], px + 3 * i);
  RB_TRY(add(panels, v.name, RB_DETERMINANT_TITLE, &s, 3, px));
  if (!f->velocity) {
    checkerboard(f->reference, f->template_image, &s, px);
    RB_TRY(add(panels, v.name, "checkerboard before", &s, 1, px));
    checkerboard(f->reference, f->warped, &s, px);
    RB_TRY(add(panels, v.name, "checkerboard after", &s, 1, px));
  }
  for (int i = 0; f->velocity && i < count; i++) {
    double length = 0;
    for (int a = 0; a < 3; a++) length += pow((double)f->velocity[a * n + s.voxel[i]], 2);
    for (int a = 0; a < 3; a++)
      px[3 * i + a] = length > 0 ? byte_of(fabs((double)f->velocity[(2 - a) * n + s.voxel[i]]) / sqrt(length)) : 0;
  }
  if (f->velocity) RB_TRY(add(panels, v.name, RB_VELOCITY_TITLE, &s, 3, px));
  if (warped_labels && pair->labels[0] && pair->labels[1]) {
    contours(f->reference, pair->labels[0], pair->labels[1], &s, px);
    RB_TRY(add(panels, v.name, "labels before (reference blue)", &s, 3, px));
    contours(f->reference, warped_labels, pair->labels[1], &s, px);
    RB_TRY(add(panels, v.name, "labels after (reference blue)", &s, 3, px));
  }
done:
  free(px);
  free(s.voxel);
  return st;
}

rb_status rb_panels_of(const rb_pair *pair, const rb_panel_fields *f, const float *warped_labels, rb_pictures *out) {
  rb_status st = RB_OK;
  rb_pictures_free(out);
  for (int v = 0; v < VIEWS_OF_A_PAIR; v++) RB_TRY(one_view(pair, f, warped_labels, views[v], out));
done:
  if (st != RB_OK) rb_pictures_free(out);
  return st;
}

rb_status rb_panels_slice(const char *title, rb_panel_view v, double at, rb_grid grid, const float *image,
                          rb_pictures *panels) {
  rb_status st = RB_OK;
  sampling s = {0};
  unsigned char *px = NULL;
  RB_TRY(sample(grid, views[v], at, &s));
  px = malloc((size_t)(s.width * s.height) + 1);
  RB_CHECK(px, RB_ENOMEM, "host memory");
  for (int i = 0; i < s.width * s.height; i++) px[i] = byte_of((double)image[s.voxel[i]]);
  RB_TRY(add(panels, views[v].name, title, &s, 1, px));
done:
  free(px);
  free(s.voxel);
  return st;
}

rb_status rb_panels_make(rb_claire *c, const rb_pair *pair, const float *warped_labels, rb_pictures *out) {
  rb_status st = RB_OK;
  const size_t n = (size_t)rb_grid_points(pair->grid);
  float *room = malloc(7 * n * sizeof *room);
  rb_claire_determinant det;
  RB_CHECK(room, RB_ENOMEM, "host memory: %zu bytes for pictures", 7 * n * sizeof *room);
  const rb_panel_fields f = {room, room + n, room + 2 * n, room + 3 * n, room + 4 * n};
  RB_TRY(rb_claire_images(c, room, room + n));
  RB_TRY(rb_claire_warped(c, room + 2 * n));
  RB_TRY(rb_claire_jacobian(c, room + 3 * n, &det));
  RB_TRY(rb_claire_velocity(c, room + 4 * n));
  RB_TRY(rb_panels_of(pair, &f, warped_labels, out));
done:
  free(room);
  return st;
}
