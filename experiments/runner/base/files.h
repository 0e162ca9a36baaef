/* SPDX-License-Identifier: BSD-3-Clause */
/* Files and folders: read whole, written whole or not at all. */
#ifndef RB_FILES_H
#define RB_FILES_H

#include "datasets/whole_file.h"
#include "kernels/base/status.h"

#include <stddef.h>

/* Whole file as a NUL-terminated string. RB_ENOTFOUND, RB_EIO. */
rb_status rb_read_file(const char *path, char **out, size_t *length);
/* SHA-256 of a text, in hexadecimal digits. */
void rb_sha256_text(const char *text, char out[65]);
/* A whole file (datasets/whole_file.h): at every moment the old or the new one is there. RB_EIO. */
rb_status rb_write_atomically(const char *path, const void *data, size_t length);
/* Take a folder's lock, which the process holds until *lock (-1: none) is closed. RB_EBUSY when another run holds it.
 */
rb_status rb_folder_lock(const char *folder, int *lock);
#endif
