/* SPDX-License-Identifier: BSD-3-Clause */
/* Slices of a registration as small pictures that travel in the record (brunn2020, Figures 5 and 6). */
#ifndef RB_PANELS_H
#define RB_PANELS_H

#include "experiments/runner/workloads/registration.h"

/* Array of {title, width, height, channels, data}: 8-bit grey or RGB, rows from the top, as hexadecimal text.
 * A coronal and an axial slice through the middle, at most 128 pixels a side; warped_labels may be NULL. New
 * reference. */
rb_status rb_panels_make(rb_claire *c, const rb_pair *pair, const float *warped_labels, json_t **out);

/* The same of any method's results. Images in [0, 1]; velocity [3][n] or NULL: checkerboards of reference and
 * template, reference and warped image in its place. */
typedef struct {
  const float *template_image, *reference, *warped, *det, *velocity;
} rb_panel_fields;
rb_status rb_panels_of(const rb_pair *pair, const rb_panel_fields *f, const float *warped_labels, json_t **out);
/* The axial slice of one image in [0, 1], added to *panels (made where NULL). */
rb_status rb_panels_slice(const char *title, rb_grid grid, const float *image, json_t **panels);
#endif
