/* SPDX-License-Identifier: BSD-3-Clause */
/* Judging a record anew: what was measured stays, what it is held against becomes today's. */
#ifndef RB_REJUDGE_H
#define RB_REJUDGE_H

#include "experiments/runner/descriptor/descriptor.h"

#include <jansson.h>

/* Put the descriptor at `path` (columns, claims, notes, plots) and its published values into the record, with date
 * and version in "judged". RB_EINVAL, and the record as it was, when the descriptor would measure a case of the
 * record in another way or not at all. */
rb_status rb_rejudge(json_t *record, const char *origin, const char *path);
/* The key in which two descriptors' methods of one label differ so that they compute different things ("basis"), or
 * NULL. A label that one of them lacks: "method". */
const char *rb_method_difference(const rb_descriptor *a, const rb_descriptor *b, const char *label);
#endif
