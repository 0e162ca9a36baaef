/* Judging a record anew: what was measured stays, what it is held against becomes today's. */
#ifndef RB_REJUDGE_H
#define RB_REJUDGE_H

#include "experiments/runner/descriptor.h"

#include <jansson.h>

/* The text of the published CSV beside the descriptor at `path`, checked against its columns; NULL when it names none. malloc'ed. */
rb_status rb_published_read(const rb_descriptor *d, const char *path, char **text);

/* Put the descriptor at `path` (columns, claims, notes, plots) and its published values into the record, with date and version in "judged".
 * RB_EINVAL, and the record as it was, when the descriptor would measure a case of the record in another way or not at all. */
rb_status rb_rejudge(json_t *record, const char *origin, const char *path);
#endif
