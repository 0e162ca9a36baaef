/* SPDX-License-Identifier: BSD-3-Clause */
#include "datasets/sealed_file.h"

#include "datasets/whole_file.h"

#include <sys/types.h>

#include <errno.h>
#include <sha2.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

rb_status rb_sealed_write(const char *path, const rb_part *parts, int count) {
  rb_status st = RB_OK;
  rb_whole_file w = {0};
  uint8_t digest[SHA256_DIGEST_LENGTH];
  SHA2_CTX sum;
  RB_TRY(rb_whole_file_open(&w, path));
  SHA256Init(&sum);
  for (int k = 0; k < count; k++) {
    SHA256Update(&sum, parts[k].data, parts[k].bytes);
    RB_TRY(rb_whole_file_write(&w, parts[k].data, parts[k].bytes));
  }
  SHA256Final(digest, &sum);
  RB_TRY(rb_whole_file_write(&w, digest, sizeof digest));
done:
  return rb_whole_file_end(&w, st);
}

rb_status rb_sealed_read(const char *path, const rb_part *parts, int count) {
  rb_status st = RB_OK;
  uint8_t digest[SHA256_DIGEST_LENGTH], want[SHA256_DIGEST_LENGTH];
  struct stat info;
  SHA2_CTX sum;
  size_t bytes = sizeof want;
  FILE *f = NULL;
  for (int k = 0; k < count; k++) bytes += parts[k].bytes;
  RB_CHECK(stat(path, &info) == 0, errno == ENOENT ? RB_ENOTFOUND : RB_EIO, "cannot read %s: %s", path,
           strerror(errno));
  RB_CHECK(S_ISREG(info.st_mode) && (size_t)info.st_size == bytes, RB_EFORMAT,
           "%s is not what was written there: %lld bytes, not %zu", path, (long long)info.st_size, bytes);
  f = fopen(path, "rb");
  RB_CHECK(f, RB_EIO, "cannot read %s: %s", path, strerror(errno));
  SHA256Init(&sum);
  for (int k = 0; k < count; k++) {
    RB_CHECK(fread(parts[k].data, 1, parts[k].bytes, f) == parts[k].bytes, RB_EIO, "cannot read %s", path);
    SHA256Update(&sum, parts[k].data, parts[k].bytes);
  }
  SHA256Final(digest, &sum);
  RB_CHECK(fread(want, 1, sizeof want, f) == sizeof want, RB_EIO, "cannot read %s", path);
  RB_CHECK(memcmp(digest, want, sizeof want) == 0, RB_EFORMAT, "%s is damaged: its sha256 differs", path);
done:
  if (f) fclose(f);
  return st;
}

void rb_sha256_data(const void *data, size_t bytes, char out[65]) {
  SHA2_CTX sum;
  SHA256Init(&sum);
  SHA256Update(&sum, data, bytes);
  SHA256End(&sum, out);
}
