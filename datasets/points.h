/* SPDX-License-Identifier: BSD-3-Clause */
/* Point sets: legacy VTK files in ASCII (POINTS, and POLYGONS kept as they are) and CSV (a point a line). */
#ifndef RB_POINTS_H
#define RB_POINTS_H

#include "kernels/base/status.h"

#include <stdint.h>

typedef struct {
  int64_t n;
  int dim;    /* 2 or 3; a VTK file whose third coordinates are all 0 stays 3 */
  double *x;  /* [dim][n] */
  char *head; /* of a VTK file: its lines before POINTS (version, title, ASCII, DATASET), or NULL: written back
                 unchanged */
  char *rest; /* what follows its points: cells, and attributes unless normals, vectors, tensors or fields are among
                 them, which moved points would belie; or NULL */
} rb_points;

/* RB_ENOTFOUND; RB_EINVAL: a folder, a pipe; RB_EFORMAT: empty, binary VTK, a line that is no point, NaN or infinite,
 * fewer or more points than announced. */
rb_status rb_points_read(const char *path, rb_points *out);
/* By the ending: .vtk or .csv. x [dim][n]; `like`: the file that they stem from, whose cells are kept, or NULL.
 * RB_EIO. */
rb_status rb_points_write(const char *path, int64_t n, int dim, const double *x, const rb_points *like);
void rb_points_free(rb_points *p);
/* RB_EINVAL with the two lines' numbers when two points coincide. */
rb_status rb_points_distinct(const rb_points *p, const char *name);
#endif
