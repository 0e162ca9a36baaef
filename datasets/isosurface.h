/* SPDX-License-Identifier: BSD-3-Clause */
/* Closed surfaces of a volume at a level, by GTS: marching tetrahedra, closed and oriented outward (its marching
 * cubes leaves holes on real maps), coarsened where asked. */
#ifndef RB_ISOSURFACE_H
#define RB_ISOSURFACE_H

#include "datasets/mesh.h"
#include "datasets/world.h"

/* values [n1][n2][n3] (x3 is NIfTI's x). The volume counts as surrounded by zeros, so that surfaces close; level
 * positive. world: from voxels to mm; its faces are turned where it mirrors. `most`: collapse edges, the ones of
 * least change of volume first, down to so many edges; 0: none. Faces and vertices come in an order that depends on
 * the coordinates alone. RB_EINVAL for a level that is not positive; RB_EFORMAT where nothing reaches it; RB_ENOMEM.
 */
rb_status rb_isosurface(rb_grid grid, const float *values, double level, const rb_affine *world, int64_t most,
                        rb_mesh *out);
#endif
