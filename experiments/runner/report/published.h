/* SPDX-License-Identifier: BSD-3-Clause */
/* The values that a paper prints, in a CSV beside the descriptor. */
#ifndef RB_PUBLISHED_H
#define RB_PUBLISHED_H

#include "experiments/runner/descriptor/descriptor.h"

/* The text of the published CSV beside the descriptor at `path`, checked against its columns; NULL when it names
 * none. malloc'ed. */
rb_status rb_published_read(const rb_descriptor *d, const char *path, char **text);

#endif
