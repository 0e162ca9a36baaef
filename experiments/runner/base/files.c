/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/base/files.h"

#include "datasets/input_file.h"
#include "datasets/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

rb_status rb_read_file(const char *path, char **out, size_t *length) {
  rb_status st = RB_OK;
  char *text = NULL;
  struct stat info;
  FILE *f = NULL;
  RB_TRY(rb_input_file(path));
  f = fopen(path, "rb");
  RB_CHECK(f, RB_ENOTFOUND, "cannot open %s: %s", path, strerror(errno));
  RB_CHECK(fstat(fileno(f), &info) == 0, RB_EIO, "cannot read %s: %s", path, strerror(errno));
  text = malloc((size_t)info.st_size + 1);
  RB_CHECK(text, RB_ENOMEM, "host memory: %lld bytes for %s", (long long)info.st_size, path);
  size_t got = fread(text, 1, (size_t)info.st_size, f);
  RB_CHECK(got == (size_t)info.st_size, RB_EIO, "%s: read %zu of %lld bytes", path, got, (long long)info.st_size);
  text[got] = '\0';
  RB_CHECK(strlen(text) == got, RB_EFORMAT, "%s: byte %zu is NUL: not a text file", path, strlen(text));
  if (length) *length = got;
  *out = text;
  text = NULL;
done:
  free(text);
  if (f) fclose(f);
  return st;
}

void rb_sha256_text(const char *text, char out[65]) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA2_CTX context;
  SHA256Init(&context);
  SHA256Update(&context, (const uint8_t *)text, strlen(text));
  SHA256Final(digest, &context);
  for (int i = 0; i < SHA256_DIGEST_LENGTH; i++) sprintf(out + 2 * i, "%02x", digest[i]);
}

rb_status rb_write_atomically(const char *path, const void *data, size_t length) {
  rb_status st = RB_OK;
  rb_whole_file w = {0};
  RB_TRY(rb_whole_file_open(&w, path));
  RB_TRY(rb_whole_file_write(&w, data, length));
done:
  return rb_whole_file_end(&w, st);
}

rb_status rb_folder_lock(const char *folder, int *lock) {
  rb_status st = RB_OK;
  char path[4200];
  snprintf(path, sizeof path, "%s/.lock", folder);
  *lock = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0666);
  RB_CHECK(*lock >= 0, RB_EIO, "cannot write in %s: %s", folder, strerror(errno));
  RB_CHECK(flock(*lock, LOCK_EX | LOCK_NB) == 0, RB_EBUSY,
           "another regbench run is writing into %s; wait for it or choose another --out", folder);
done:
  return st;
}
