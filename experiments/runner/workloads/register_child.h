/* SPDX-License-Identifier: BSD-3-Clause */
/* The verb register as a child process on a pair of files, in a temporary folder: files in, files out. The data set's
 * own files where the pair comes from one (256 x 300 x 256 for nirep, brought to the case's size by the verb), else a
 * phantom's at that size. */
#ifndef RB_REGISTER_CHILD_H
#define RB_REGISTER_CHILD_H

#include "datasets/volume.h"
#include "experiments/runner/inputs/pairs.h"

#include <jansson.h>
#include <limits.h>

/* Voxels of a pair's own files, for predictions of memory. */
enum { RB_NIREP_VOXELS = 256 * 300 * 256 };

typedef struct {
  rb_grid grid;
  rb_pair pair; /* on the grid, as the verb brings it there */
  char folder[1024], program[PATH_MAX];
  char images[2][PATH_MAX], labels[2][PATH_MAX]; /* files; labels may be "" */
} rb_register_child;

/* RB_ENOTFOUND: the data set is not here. */
rb_status rb_register_child_create(const char *data, rb_grid grid, rb_register_child *out);
void rb_register_child_free(rb_register_child *c);

/* `register METHOD --variant VARIANT MORE...` on the pair, into FOLDER/out; more: up to a NULL. A
 * solve that did not converge has its files, too, and is RB_OK. RB_EIO, RB_EINTERRUPTED as rb_child_run. */
rb_status rb_register_child_run(rb_register_child *c, const char *method, const char *variant,
                                const char *const *more);
/* Removes what an earlier run wrote. */
rb_status rb_register_child_clear(rb_register_child *c);

/* Files of FOLDER/out: a volume of `grid`, a displacement in voxels, metrics.json. RB_EFORMAT, RB_ENOTFOUND. */
rb_status rb_register_child_volume(const rb_register_child *c, const char *name, rb_grid grid, rb_volume *out);
rb_status rb_register_child_vectors(const rb_register_child *c, const char *name, float *out);
/* The template's displacement by `method`, under whatever name it left it. */
rb_status rb_register_child_displacement(const rb_register_child *c, const char *method, float *out);
rb_status rb_register_child_metrics(const rb_register_child *c, json_t **out);
/* A number of it: outer NULL for one at its root. NaN where there is none. */
double rb_metrics_number(const json_t *metrics, const char *outer, const char *inner);
#endif
