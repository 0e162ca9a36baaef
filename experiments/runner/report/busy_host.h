/* SPDX-License-Identifier: BSD-3-Clause */
/* What a record tells of others that used its host while it was made. */
#ifndef RB_BUSY_HOST_H
#define RB_BUSY_HOST_H

#include <jansson.h>
#include <stddef.h>

/* "While 3 of 40 cases were measured others kept up to 1.2 processors busy: ..." of half a processor and more; ""
 * where nobody did, or an older record does not tell. */
void rb_busy_host_text(const json_t *cases, char *text, size_t size);
#endif
