/* SPDX-License-Identifier: BSD-3-Clause */
/* Files written whole or not at all, compressed by all threads where the name ends in .gz. */
#ifndef RB_GZIP_WRITE_H
#define RB_GZIP_WRITE_H

#include "kernels/base/status.h"

#include <stddef.h>

/* `head`, then `data`. A .gz is a sequence of gzip members of 1 MiB each (RFC 1952: readers join them; zlib, and with
 * it every NIfTI library, does), made at once by all OpenMP threads at zlib's fastest level: its default makes
 * velocity, displacement, det F and warped image of a pair at 128^3 smaller by 0.2 to 2 %, a label map by half. Goes
 * to PATH.part and is renamed; RB_EIO with the cause (a full disk, no permission) leaves PATH as it was, and no part.
 * RB_ENOMEM. */
rb_status rb_gzip_write(const char *path, const void *head, size_t head_bytes, const void *data, size_t data_bytes);

#endif
