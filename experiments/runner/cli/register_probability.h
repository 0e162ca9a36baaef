/* SPDX-License-Identifier: BSD-3-Clause */
/* Labels of an atlas: each image's label map carried onto the atlas by its displacement, and how many of the images
 * have a label in a voxel. */
#ifndef RB_REGISTER_PROBABILITY_H
#define RB_REGISTER_PROBABILITY_H

#include "experiments/runner/cli/register.h"

#include <jansson.h>

/* Of the own share, once the images are known: each map is there, of whole numbers from 0 to 255, and lies on its
 * image's voxels. RB_EINVAL, RB_EFORMAT, RB_ENOTFOUND; heard by all. */
rb_status rb_register_labels_check(const rb_register_request *r, const rb_register_inputs *in);
/* probability_001.nii.gz and so on, a file a label above 0: part of the images whose nearest label it is, on the
 * results' lattice at its file's resolution; labels.nii.gz: the label that most images have, the lowest of several.
 * metrics: "labels", their number and files. `state`: after a solve. Nothing where no labels are given. */
rb_status rb_register_probabilities(const rb_register_request *r, const rb_register_inputs *in, void *state,
                                    json_t *metrics);
#endif
