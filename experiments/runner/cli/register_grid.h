/* SPDX-License-Identifier: BSD-3-Clause */
/* The dense field of a registration of points (shooting2018 equation 4) on a grid, as NIfTI. */
#ifndef RB_REGISTER_GRID_H
#define RB_REGISTER_GRID_H

#include "datasets/points.h"
#include "solvers/solver.h"

/* In `folder`: velocity.nii.gz at t = 0; inverse_displacement.nii.gz (where the flow takes a point of the template,
 * minus the point) and displacement.nii.gz, its inverse: mm to the left, posterior, superior, as for images; the
 * points count right, anterior, superior. On points `spacing` apart over both sets and `margin` around. 2D sets give
 * one slice. RB_EINVAL: more than 2^24 points, or more than NIfTI-1's 32767 along an axis. `state` is the solver's,
 * after a solve. */
rb_status rb_register_grid_write(const char *folder, const rb_solver *solver, void *state, const rb_points set[2],
                                 double margin, double spacing);
/* The same RB_EINVAL, before any work. */
rb_status rb_register_grid_fits(const rb_points set[2], double margin, double spacing);
/* Two widths of the solver's kernel where it has one. */
double rb_register_grid_margin(const rb_solver *s, const void *options);
#endif
