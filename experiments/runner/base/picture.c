/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/base/picture.h"

#include "datasets/input_file.h"

#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t bytes_of(const rb_picture *p) { return (size_t)p->width * (size_t)p->height * (size_t)p->channels; }

rb_status rb_pictures_add(rb_pictures *p, const char *title, int width, int height, int channels,
                          const unsigned char *pixels) {
  rb_status st = RB_OK;
  rb_picture one = {.width = width, .height = height, .channels = channels};
  snprintf(one.title, sizeof one.title, "%s", title);
  one.pixels = malloc(bytes_of(&one));
  rb_picture *more = one.pixels ? realloc(p->of, (size_t)(p->count + 1) * sizeof *more) : NULL;
  RB_CHECK(more, RB_ENOMEM, "host memory");
  p->of = more;
  memcpy(one.pixels, pixels, bytes_of(&one));
  p->of[p->count++] = one;
  one.pixels = NULL;
done:
  free(one.pixels);
  return st;
}

rb_status rb_pictures_copy(const rb_pictures *from, rb_pictures *to) {
  rb_status st = RB_OK;
  *to = (rb_pictures){0};
  for (int i = 0; i < from->count; i++) {
    const rb_picture *p = &from->of[i];
    RB_TRY(rb_pictures_add(to, p->title, p->width, p->height, p->channels, p->pixels));
  }
done:
  if (st != RB_OK) rb_pictures_free(to);
  return st;
}

void rb_pictures_free(rb_pictures *p) {
  for (int i = 0; i < p->count; i++) free(p->of[i].pixels);
  free(p->of);
  *p = (rb_pictures){0};
}

rb_status rb_picture_encode(const rb_picture *p, unsigned char **png, size_t *bytes) {
  rb_status st = RB_OK;
  png_image image = {.version = PNG_IMAGE_VERSION,
                     .width = (png_uint_32)p->width,
                     .height = (png_uint_32)p->height,
                     .format = p->channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY};
  png_alloc_size_t room = PNG_IMAGE_PNG_SIZE_MAX(image);
  *png = malloc(room);
  RB_CHECK(*png, RB_ENOMEM, "host memory");
  RB_CHECK(png_image_write_to_memory(&image, *png, &room, 0, p->pixels, 0, NULL), RB_ENOMEM,
           "libpng cannot encode '%s': %s", p->title, image.message);
  *bytes = room;
done:
  if (st != RB_OK) free(*png), *png = NULL;
  return st;
}

rb_status rb_picture_read(const char *path, rb_picture *out) {
  rb_status st = RB_OK;
  png_image image = {.version = PNG_IMAGE_VERSION};
  *out = (rb_picture){0};
  RB_TRY(rb_input_file(path));
  RB_CHECK(png_image_begin_read_from_file(&image, path), RB_EFORMAT, "%s: %s", path, image.message);
  out->channels = image.format & PNG_FORMAT_FLAG_COLOR ? 3 : 1;
  out->width = (int)image.width, out->height = (int)image.height;
  image.format = out->channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  RB_CHECK(image.width <= 1 << 14 && image.height <= 1 << 14, RB_EFORMAT, "%s has %u x %u pixels", path, image.width,
           image.height);
  out->pixels = malloc(bytes_of(out));
  RB_CHECK(out->pixels, RB_ENOMEM, "host memory");
  RB_CHECK(png_image_finish_read(&image, NULL, out->pixels, 0, NULL), RB_EFORMAT, "%s: %s", path, image.message);
done:
  png_image_free(&image);
  if (st != RB_OK) free(out->pixels), out->pixels = NULL;
  return st;
}
