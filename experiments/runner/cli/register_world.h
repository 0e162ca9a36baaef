/* SPDX-License-Identifier: BSD-3-Clause */
/* What a registration of two images leaves in the world, whichever method found it: worked out of the displacement
 * and the files as they are, by one code for all methods, each image interpolated once. */
#ifndef RB_REGISTER_WORLD_H
#define RB_REGISTER_WORLD_H

#include "experiments/runner/cli/register_quality.h"
#include "experiments/runner/inputs/world_field.h"

#include <jansson.h>

/* Whether the output of that name is made here: warped, displacement, inverse_displacement,
 * jacobian, labels. */
int rb_register_world_has(const rb_register_request *r, const char *name);
void rb_register_world_print_help(void);
/* Whether --outputs asks for it; without it all are. */
int rb_register_wanted(const rb_register_request *r, const char *name);
/* Those files, and what is measured by them: "by_displacement", "inverse_displacement", "label_table", "points" of
 * metrics.json; determinants join q. `state`: the solver's, after a solve. */
rb_status rb_register_world_write(const rb_register_request *r, const rb_register_inputs *in, void *state,
                                  rb_quality *q, json_t *metrics);
/* Of the other methods (several images, or posteriors): a template's file by the displacement of template `t`, where
 * the results lie and at that file's own resolution, interpolated once, to the file `path`. */
rb_status rb_register_world_carry(const rb_register_request *r, const rb_register_inputs *in, void *state, int t,
                                  const char *file, const char *path);
/* The same to an array, to be freed. */
rb_status rb_register_world_carried(const rb_register_request *r, const rb_register_inputs *in, void *state, int t,
                                    const char *file, rb_carry how, float **out);
#endif
