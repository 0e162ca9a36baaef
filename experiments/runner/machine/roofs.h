/* SPDX-License-Identifier: BSD-3-Clause */
/* The machine's roofs, measured once a process: what every "% of copy" of a run divides by. */
#ifndef RB_ROOFS_H
#define RB_ROOFS_H

#include "kernels/base/backend.h"

#include <jansson.h>

/* B/s of a plain copy on that backend; NaN where it cannot be measured. */
double rb_copy_roof(rb_backend_kind kind);
/* FLOP/s of multiply-adds in registers; exponentials a second (CUDA only), likewise. */
double rb_fma_roof(rb_backend_kind kind);
double rb_exp2_roof(rb_backend_kind kind);
/* Trilinear fetches/s of the texture units. */
double rb_texture_roof(rb_backend_kind kind);
/* Reads of a GPU's L2 cache. */
double rb_cache_roof(rb_backend_kind kind);
/* Their probes' names, in the order of records; NULL behind the last. */
const char *rb_roof_name(int index);
/* Of a roof by its probe's name; of one that is not known B/s. */
const char *rb_roof_unit(const char *name);
/* All roofs by their probes' names. New reference. */
json_t *rb_roofs_json(void);
#endif
