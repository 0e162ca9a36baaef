/* SPDX-License-Identifier: BSD-3-Clause */
/* What demons2020's experiments run on: pairs with intensities as its authors' program takes them, and a velocity
 * that registers a pair. */
#ifndef RB_DEMONS_IMAGES_H
#define RB_DEMONS_IMAGES_H

#include "experiments/runner/inputs/pairs.h"
#include "experiments/runner/workloads/workload.h"

/* The pair `name` (na02 ..., phantom) on the grid by linear interpolation at voxel centres; each image from its least
 * to its greatest value to 0 ... 255, fractions cut off. */
rb_status rb_demons_pair(const char *name, rb_grid grid, rb_pair *out);
/* The pair of a case: axis `images` is "bytes" (the above, the default) or "antialias" (as brunn2020's); axis `data`
 * names it. */
rb_status rb_demons_case_pair(const rb_case *c, rb_pair *out);

/* Velocity [3][n] in voxels of `grid`: found by 75 iterations of log-demons on the pair at 104x122x104 (52x61x52 for
 * the phantom), brought to the grid by linear interpolation. The registration is done once a process, on the CPU. */
rb_status rb_demons_velocity_field(const char *name, rb_grid grid, float *v);
/* What the registration asks of the CPU's backend, in bytes. */
size_t rb_demons_velocity_bytes(const char *name);
#endif
