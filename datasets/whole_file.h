/* SPDX-License-Identifier: BSD-3-Clause */
/* A file that appears whole or not at all: written beside its place, synced, then renamed into it; and the folders
 * above it. */
#ifndef RB_WHOLE_FILE_H
#define RB_WHOLE_FILE_H

#include "kernels/base/status.h"

#include <stdio.h>

typedef struct {
  char path[4200];    /* its place */
  char partial[4300]; /* what is written; the place itself where that is no regular file (a device, a FIFO) */
  FILE *f;            /* of partial; NULL: a library writes it by its name */
} rb_whole_file;

/* The names alone, for a library that writes by name. RB_EINVAL for a path that is too long. */
rb_status rb_whole_file_name(rb_whole_file *w, const char *path);
/* And opened for writing. RB_EIO. */
rb_status rb_whole_file_open(rb_whole_file *w, const char *path);
/* Writes all bytes. RB_EIO, with the cause and what to do. */
rb_status rb_whole_file_write(rb_whole_file *w, const void *data, size_t bytes);
/* st RB_OK: the file takes its place. Else what was begun is removed, and the old file stays. Returns st, or RB_EIO.
 * Without a rb_whole_file_name before it (a zeroed *w): nothing. */
rb_status rb_whole_file_end(rb_whole_file *w, rb_status st);

/* A folder and those above it, where they are not there yet. RB_EIO. */
rb_status rb_make_folders(const char *path);
#endif
