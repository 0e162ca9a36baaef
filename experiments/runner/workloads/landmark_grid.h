/* SPDX-License-Identifier: BSD-3-Clause */
/* The dense field of a landmark match (shooting2018 equation 4) on a grid, as NIfTI. */
#ifndef RB_LANDMARK_GRID_H
#define RB_LANDMARK_GRID_H

#include "datasets/points.h"
#include "solvers/landmarks/landmarks.h"

/* velocity.nii.gz at t = 0 and displacement.nii.gz (where the flow takes a point, minus the point) in `folder`: mm
 * along x, y, z, on points `spacing` apart over both sets and two sigma around. 2D sets give one slice. RB_EINVAL:
 * more than 2^24 points, or more than NIfTI-1's 32767 along an axis. */
rb_status rb_landmark_grid_fits(const rb_points set[2], double sigma,
                                double spacing); /* the same RB_EINVAL, before any work */
rb_status rb_landmark_grid_write(const char *folder, rb_landmarks *s, const rb_points set[2], double sigma,
                                 double spacing);
#endif
