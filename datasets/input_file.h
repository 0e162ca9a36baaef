/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that a user names as input. */
#ifndef RB_INPUT_FILE_H
#define RB_INPUT_FILE_H

#include "kernels/base/status.h"

#include <stddef.h>

/* RB_OK for a regular file that can be read. Called before anything opens `path`: a pipe would hang in open() and a
 * device may never end. RB_ENOTFOUND: nothing is there; RB_EIO: it may not be read; RB_EINVAL: a folder, a pipe, a
 * device or a socket. */
rb_status rb_input_file(const char *path);
/* Its whole contents, malloc'd, with a NUL behind; besides the above RB_EFORMAT for an empty file. */
rb_status rb_input_text(const char *path, char **out, size_t *size);

#endif
