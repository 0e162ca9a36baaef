/* SPDX-License-Identifier: BSD-3-Clause */
#include "datasets/input_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

rb_status rb_input_file(const char *path) {
  rb_status st = RB_OK;
  struct stat info;
  const int absent = stat(path, &info) != 0 ? errno : 0;
  RB_CHECK(absent != ENOENT && absent != ENOTDIR, RB_ENOTFOUND, "no file %s", path);
  RB_CHECK(!absent, RB_EIO, "cannot open %s: %s", path, strerror(absent));
  RB_CHECK(!S_ISDIR(info.st_mode), RB_EINVAL, "%s is a folder; name a file in it", path);
  RB_CHECK(S_ISREG(info.st_mode), RB_EINVAL, "%s is a %s; save its contents in a file and name that", path,
           S_ISFIFO(info.st_mode)   ? "pipe"
           : S_ISSOCK(info.st_mode) ? "socket"
                                    : "device");
  RB_CHECK(access(path, R_OK) == 0, RB_EIO, "cannot read %s: %s", path, strerror(errno));
done:
  return st;
}

rb_status rb_input_text(const char *path, char **out, size_t *size) {
  rb_status st = RB_OK;
  long length;
  FILE *f = NULL;
  *out = NULL;
  RB_TRY(rb_input_file(path));
  f = fopen(path, "rb");
  RB_CHECK(f, RB_EIO, "cannot open %s: %s", path, strerror(errno));
  RB_CHECK(fseek(f, 0, SEEK_END) == 0 && (length = ftell(f)) >= 0 && fseek(f, 0, SEEK_SET) == 0, RB_EIO,
           "cannot read %s: %s", path, strerror(errno));
  RB_CHECK(length > 0, RB_EFORMAT, "%s is empty", path);
  *out = malloc((size_t)length + 1);
  RB_CHECK(*out, RB_ENOMEM, "host memory: %ld bytes for %s", length, path);
  *size = fread(*out, 1, (size_t)length, f);
  RB_CHECK(*size == (size_t)length, RB_EIO, "cannot read %s completely", path);
  (*out)[*size] = '\0';
done:
  if (f) fclose(f);
  if (st != RB_OK) free(*out), *out = NULL;
  return st;
}
