/* SPDX-License-Identifier: BSD-3-Clause */
/* Small pictures: 8-bit grey or RGB, rows from the top. In memory, and as PNG files. */
#ifndef RB_PICTURE_H
#define RB_PICTURE_H

#include "kernels/base/status.h"

typedef struct {
  char title[96];
  int width, height, channels; /* channels: 1 (grey) or 3 (RGB) */
  unsigned char *pixels;       /* [height][width][channels] */
} rb_picture;

typedef struct {
  rb_picture *of;
  int count;
} rb_pictures;

/* A copy of the pixels at the end of the list. RB_ENOMEM. */
rb_status rb_pictures_add(rb_pictures *p, const char *title, int width, int height, int channels,
                          const unsigned char *pixels);
rb_status rb_pictures_copy(const rb_pictures *from, rb_pictures *to);
/* Leaves an empty list. */
void rb_pictures_free(rb_pictures *p);

/* The PNG file of a picture, in memory: the caller frees *png. RB_ENOMEM. */
rb_status rb_picture_encode(const rb_picture *p, unsigned char **png, size_t *bytes);
/* Pixels of a PNG file, grey or RGB as it is; the caller frees out->pixels. RB_ENOTFOUND, RB_EFORMAT. */
rb_status rb_picture_read(const char *path, rb_picture *out);
#endif
