/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/workloads/surface_picture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PIXELS = 192, FINE = 2 * PIXELS }; /* drawn twice as fine, then averaged */

void rb_surface_distances(const rb_surface *from, const rb_surface *to, double *out) {
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < from->vertices; i++) {
    double least = INFINITY;
    for (int64_t k = 0; k < to->vertices; k++) {
      double r = 0;
      for (int a = 0; a < 3; a++) {
        const double d = from->x[a * from->vertices + i] - to->x[a * to->vertices + k];
        r += d * d;
      }
      least = r < least ? r : least;
    }
    out[i] = sqrt(least);
  }
}

static void colour_of(double v, double shade, double rgb[3]) {
  static const double stops[3][3] = {{0.14, 0.20, 0.55}, {0.13, 0.62, 0.53}, {0.99, 0.89, 0.15}};
  const double t = v <= 0 ? 0 : v >= 1 ? 2 : 2 * v;
  const int k = t < 1 ? 0 : 1;
  for (int a = 0; a < 3; a++) rgb[a] = shade * (stops[k][a] + (t - k) * (stops[k + 1][a] - stops[k][a]));
}

typedef struct {
  float *depth;        /* [FINE][FINE], of what is nearest */
  float *rgb;          /* [FINE][FINE][3] */
  double scale, at[2]; /* pixel = (coordinate - at) scale */
  rb_surface_view view;
} canvas;

typedef struct {
  double x, y, z, value;
} corner;

static corner corner_of(const canvas *c, const rb_surface *s, const double *value, int32_t i) {
  const double *x = s->x + i;
  const int64_t v = s->vertices;
  return (corner){(x[c->view.across * v] - c->at[0]) * c->scale, (x[c->view.up * v] - c->at[1]) * c->scale,
                  (c->view.behind ? -1 : 1) * x[c->view.depth * v], value[i]};
}

/* The light comes from the eye and a little from above: the brighter the more a face looks there. */
static double shade_of(const corner p[3], double scale) {
  const double ux = p[1].x - p[0].x, uy = p[1].y - p[0].y, uz = (p[1].z - p[0].z) * scale, vx = p[2].x - p[0].x,
               vy = p[2].y - p[0].y, vz = (p[2].z - p[0].z) * scale;
  const double n[3] = {uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx},
               length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
  if (length == 0) return 0.3;
  return 0.3 + 0.7 * fabs(0.2 * n[0] + 0.4 * n[1] + 0.89 * n[2]) / length;
}

/* Pixels whose middle lies in the triangle, where it is nearest; barycentric weights interpolate. */
static void fill(canvas *c, const corner p[3]) {
  const double area = (p[1].x - p[0].x) * (p[2].y - p[0].y) - (p[2].x - p[0].x) * (p[1].y - p[0].y);
  if (!(fabs(area) > 0)) return; /* seen from its edge; no number */
  const double shade = shade_of(p, c->scale);
  const int left = (int)fmax(0, floor(fmin(p[0].x, fmin(p[1].x, p[2].x)))),
            right = (int)fmin(FINE - 1, ceil(fmax(p[0].x, fmax(p[1].x, p[2].x)))),
            low = (int)fmax(0, floor(fmin(p[0].y, fmin(p[1].y, p[2].y)))),
            high = (int)fmin(FINE - 1, ceil(fmax(p[0].y, fmax(p[1].y, p[2].y))));
  for (int y = low; y <= high; y++)
    for (int x = left; x <= right; x++) {
      const double w1 = ((x - p[0].x) * (p[2].y - p[0].y) - (p[2].x - p[0].x) * (y - p[0].y)) / area,
                   w2 = ((p[1].x - p[0].x) * (y - p[0].y) - (x - p[0].x) * (p[1].y - p[0].y)) / area,
                   w0 = 1 - w1 - w2;
      if (w0 < 0 || w1 < 0 || w2 < 0) continue;
      const int at = (FINE - 1 - y) * FINE + x;
      const double z = w0 * p[0].z + w1 * p[1].z + w2 * p[2].z;
      if (z <= (double)c->depth[at]) continue;
      double rgb[3];
      colour_of(w0 * p[0].value + w1 * p[1].value + w2 * p[2].value, shade, rgb);
      c->depth[at] = (float)z;
      for (int a = 0; a < 3; a++) c->rgb[3 * at + a] = (float)rgb[a];
    }
}

static void average(const float *fine, unsigned char *to) {
  for (int y = 0; y < PIXELS; y++)
    for (int x = 0; x < PIXELS; x++)
      for (int a = 0; a < 3; a++) {
        float sum = 0;
        for (int k = 0; k < 4; k++) sum += fine[3 * ((2 * y + k / 2) * FINE + 2 * x + k % 2) + a];
        to[3 * (y * PIXELS + x) + a] = (unsigned char)(255 * sum / 4 + 0.5f);
      }
}

rb_status rb_surface_picture(const char *title, rb_surface_view view, const rb_surface *s, const double *value,
                             const double low[3], const double high[3], rb_pictures *out) {
  rb_status st = RB_OK;
  const double width = high[view.across] - low[view.across], height = high[view.up] - low[view.up],
               side = fmax(fmax(width, height), 1e-9);
  canvas c = {.depth = malloc(sizeof(float) * FINE * FINE),
              .rgb = malloc(sizeof(float) * 3 * FINE * FINE),
              .scale = (FINE - 1) / side,
              .at = {low[view.across] - (side - width) / 2, low[view.up] - (side - height) / 2},
              .view = view};
  unsigned char *pixels = malloc(3 * PIXELS * PIXELS);
  RB_CHECK(c.depth && c.rgb && pixels, RB_ENOMEM, "host memory");
  for (int i = 0; i < FINE * FINE; i++) {
    c.depth[i] = -INFINITY;
    for (int a = 0; a < 3; a++) c.rgb[3 * i + a] = 1;
  }
  for (int64_t f = 0; f < s->faces; f++) {
    corner p[3];
    for (int k = 0; k < 3; k++) p[k] = corner_of(&c, s, value, s->face[3 * f + k]);
    fill(&c, p);
  }
  average(c.rgb, pixels);
  RB_TRY(rb_pictures_add(out, title, PIXELS, PIXELS, 3, pixels));
done:
  free(c.depth), free(c.rgb), free(pixels);
  return st;
}
