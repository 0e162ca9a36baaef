/* SPDX-License-Identifier: BSD-3-Clause */
/* A neonate's and an adult's anatomy of public atlases, in place of ha2012's subjects: class posteriors on 64 x 76 x
 * 64 voxels of 3 mm in the adult's world, the neonate brought there by an affine map, and surfaces. */
#ifndef RB_BRAINS_H
#define RB_BRAINS_H

#include "experiments/runner/inputs/anatomy.h"

enum { RB_BRAIN_CLASSES = 4 }; /* wm, gm, csf, cerebellum */

/* Values of an axis `data` that mean brains: "brains", the atlases as they are; "brains-na02" and so on: both in the
 * shape of an individual, along the displacement that registers that subject of NIREP to na01 (brain_variation.h). */
int rb_brain_data(const char *data);
/* data: see above. which: 0 the neonate (M-CRIB), 1 the adult (SPM's priors; its cerebellum by AAL's labels).
 * anatomy: what drives a registration, wm, gm with cerebellum, csf, and surfaces of the most probable wm, gm,
 * cerebellum. classes [RB_BRAIN_CLASSES][n], malloc'd: what is compared. RB_ENOTFOUND when a data set is absent. */
rb_status rb_brain(const char *data, int which, rb_anatomy *anatomy, float **classes);
/* T1-weighted intensities on the same grid, in [0, 1]: of the adult MNI's brain, zero outside of the classes; of the
 * neonate, whose atlas has none, made of its classes: csf .15, gm .55, cerebellum .6, wm .4 with up to .4 more about
 * (0, -20, 5) mm, where it is myelinated (Gaussian, 22 mm), and uniform noise of standard deviation .015.
 * image [n], malloc'd. classes: as rb_brain made them of the same `data`. */
rb_status rb_brain_intensities(const char *data, int which, const float *classes, float **image);
#endif
