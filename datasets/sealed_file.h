/* SPDX-License-Identifier: BSD-3-Clause */
/* Binary files that are whole or not there: written under another name, synced, renamed, with a sha256 at the end. */
#ifndef RB_SEALED_FILE_H
#define RB_SEALED_FILE_H

#include "kernels/base/status.h"

#include <stddef.h>

typedef struct {
  void *data; /* only read by rb_sealed_write */
  size_t bytes;
} rb_part;

/* RB_EIO with the reason; what was there before stays then. */
rb_status rb_sealed_write(const char *path, const rb_part *parts, int count);
/* Into parts of the sizes that were written. RB_ENOTFOUND; RB_EFORMAT: another size, or damaged. */
rb_status rb_sealed_read(const char *path, const rb_part *parts, int count);
/* sha256 of an array as 64 hexadecimal digits. */
void rb_sha256_data(const void *data, size_t bytes, char out[65]);
#endif
