/* SPDX-License-Identifier: BSD-3-Clause */
/* Folders for what lives as long as a case. */
#ifndef RB_TEMPORARY_H
#define RB_TEMPORARY_H

#include "kernels/base/status.h"

#include <stddef.h>

/* A new folder below $TMPDIR or /tmp. RB_EIO; `folder` is "" then. */
rb_status rb_temporary_make(char *folder, size_t size);
/* With all that is in it; what is not there is no error. */
void rb_temporary_remove(const char *folder);

#endif
