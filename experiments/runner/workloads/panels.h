/* SPDX-License-Identifier: BSD-3-Clause */
/* Slices of a registration as small pictures, which lie beside the record (brunn2020, Figures 5 and 6). */
#ifndef RB_PANELS_H
#define RB_PANELS_H

#include "experiments/runner/base/picture.h"
#include "experiments/runner/workloads/registration.h"

/* A coronal and an axial slice through the middle, at most 128 pixels a side, in place of what *out held;
 * warped_labels may be NULL. */
rb_status rb_panels_make(rb_claire *c, const rb_pair *pair, const float *warped_labels, rb_pictures *out);

/* The same of any method's results. Images in [0, 1]; velocity [3][n] or NULL: checkerboards of reference and
 * template, reference and warped image in its place. */
typedef struct {
  const float *template_image, *reference, *warped, *det, *velocity;
} rb_panel_fields;
rb_status rb_panels_of(const rb_pair *pair, const rb_panel_fields *f, const float *warped_labels, rb_pictures *out);
typedef enum { RB_CORONAL, RB_AXIAL, RB_SAGITTAL } rb_panel_view;
/* A slice of one image in [0, 1], `at` of the way along the view's axis, added to *panels. */
rb_status rb_panels_slice(const char *title, rb_panel_view view, double at, rb_grid grid, const float *image,
                          rb_pictures *panels);
/* Titles of pictures whose colours mean something, and that of a determinant: blue at 0, green at 1, yellow from 2
 * on.
 */
#define RB_DETERMINANT_TITLE "det F in [0, 2]"
#define RB_VELOCITY_TITLE "velocity |x| |y| |z|"
void rb_determinant_colour(double d, unsigned char rgb[3]);
#endif
