/* SPDX-License-Identifier: BSD-3-Clause */
/* Fields and point sets that the cases of an experiment run on. */
#ifndef RB_INPUTS_H
#define RB_INPUTS_H

#include "kernels/base/grid.h"
#include "kernels/base/status.h"

typedef struct {
  const char *file; /* an image that was read, or NULL */
  char sha256[65];
} rb_data_source;

/* Field of axis `data`: "analytic" (brunn2020's waves), or an image: "phantom", or a data set's (resampled with
 * anti-aliasing to the grid, divided by its maximum). n values. Tells file and checksum of what was read.
 * RB_ENOTFOUND when the data set is absent: a recorded skip. */
rb_status rb_input_field(const char *data, rb_grid grid, float *f, rb_data_source *source);

/* Points of axis `points`, [3][n] in grid units, one near every node:
 *   perturbed       node + uniform in (-1, 1) cells an axis: the choice that reproduces brunn2020's Table 4
 *   perturbed-half  node + uniform in (-1/2, 1/2)
 *   smooth          node - u(x), u a smooth displacement of up to 4 cells: as a characteristic foot in a registration
 *   localized       all within one cell (brunn2020 section 3.1.1) */
rb_status rb_input_points(const char *kind, rb_grid grid, float *x);
int rb_input_points_localized(const char *kind);
#endif
