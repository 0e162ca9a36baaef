/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a file has the structure of a GIFTI. giftiio takes that for granted, and reads memory that is not there
 * where an element stands in another's place. */
#ifndef RB_GIFTI_STRUCTURE_H
#define RB_GIFTI_STRUCTURE_H

#include "kernels/base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* RB_EFORMAT names the line: not XML, not the elements of GIFTI 1.0 where its DTD has them, or an array that
 * announces more values than its data hold, which giftiio would leave at 0. RB_EIO. */
rb_status rb_gifti_structure(const char *path);

#ifdef __cplusplus
}
#endif
#endif
