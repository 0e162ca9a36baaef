/* SPDX-License-Identifier: BSD-3-Clause */
/* Pairs of surfaces that experiments match, in mm. */
#ifndef RB_SURFACES_H
#define RB_SURFACES_H

#include "datasets/mesh.h"
#include "experiments/runner/inputs/inputs.h"

/* spheres      two icospheres of 20480 faces, radii 20 and 22, 3 apart: no data needed
 * icosahedra   of 20 faces, radii 2 and 2.2, 0.3 apart
 * hemispheres  conte69's left, and its right mirrored
 * paper        as many faces as ha2012 section 5.2: the first 160535 of SPM's grey matter at 1/2, the first 127043 of
 *              both hemispheres of conte69 (open surfaces, as odd counts must be)
 * source: the first file that was read. RB_ENOTFOUND when data is absent. */
rb_status rb_surface_pair(const char *data, rb_mesh pair[2], rb_data_source *source);
#endif
