/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of triangle meshes: GIFTI (by giftiio), legacy VTK polydata (ASCII and binary), OFF; told apart by what they
 * hold. */
#ifndef RB_MESH_FILE_H
#define RB_MESH_FILE_H

#include "datasets/mesh.h"

/* Coordinates in mm. A GIFTI's coordinate system is applied where it has one; a matrix of negative determinant turns
 * the faces. RB_ENOTFOUND, RB_EINVAL (a folder, a pipe), RB_EFORMAT: no such file format, no or several surfaces,
 * polygons that are no triangles, fewer values than announced, and what rb_mesh_check refuses. */
rb_status rb_mesh_read(const char *path, rb_mesh *out);
/* GIFTI, coordinates in float32. Whole or not at all. RB_EIO. */
rb_status rb_mesh_write(const char *path, const rb_mesh *mesh);

#endif
