/* SPDX-License-Identifier: BSD-3-Clause */
/* A triangle surface drawn small: parallel rays, one light, a colour a vertex. */
#ifndef RB_SURFACE_PICTURE_H
#define RB_SURFACE_PICTURE_H

#include "experiments/runner/base/picture.h"
#include "solvers/solver.h"

/* Axes of the surface's coordinates: to the picture's right, upwards, towards the eye; where `behind` is set the
 * smallest coordinate of the third is nearest. */
typedef struct {
  int across, up, depth, behind;
} rb_surface_view;

/* Distance of each vertex to the nearest vertex of another surface. */
void rb_surface_distances(const rb_surface *from, const rb_surface *to, double *out);
/* A square picture of the box low .. high, added to *out: value [vertices], 0 blue, 0.5 green, 1 and above yellow, on
 * white. RB_ENOMEM. */
rb_status rb_surface_picture(const char *title, rb_surface_view view, const rb_surface *s, const double *value,
                             const double low[3], const double high[3], rb_pictures *out);
#endif
