/* SPDX-License-Identifier: BSD-3-Clause */
#include "datasets/sealed_file.h"

#include <sys/types.h>

#include <errno.h>
#include <fcntl.h>
#include <sha2.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static rb_status write_all(int fd, const void *data, size_t bytes, const char *path) {
  for (size_t at = 0; at < bytes;) {
    const ssize_t wrote = write(fd, (const char *)data + at, bytes - at);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return RB_FAIL(RB_EIO, "cannot write %s: %s", path, strerror(errno));
    at += (size_t)wrote;
  }
  return RB_OK;
}

rb_status rb_sealed_write(const char *path, const rb_part *parts, int count) {
  rb_status st = RB_OK;
  char partial[4300];
  uint8_t digest[SHA256_DIGEST_LENGTH];
  SHA2_CTX sum;
  snprintf(partial, sizeof partial, "%s.partial", path);
  const int fd = open(partial, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0666);
  RB_CHECK(fd >= 0, RB_EIO, "cannot write %s: %s", partial, strerror(errno));
  SHA256Init(&sum);
  for (int k = 0; k < count; k++) {
    SHA256Update(&sum, parts[k].data, parts[k].bytes);
    RB_TRY(write_all(fd, parts[k].data, parts[k].bytes, path));
  }
  SHA256Final(digest, &sum);
  RB_TRY(write_all(fd, digest, sizeof digest, path));
  RB_CHECK(fsync(fd) == 0, RB_EIO, "cannot write %s: %s", path, strerror(errno));
done:
  if (fd >= 0 && close(fd) != 0 && st == RB_OK) st = RB_FAIL(RB_EIO, "cannot write %s: %s", path, strerror(errno));
  if (st == RB_OK && rename(partial, path) != 0) st = RB_FAIL(RB_EIO, "cannot write %s: %s", path, strerror(errno));
  if (st != RB_OK && fd >= 0) unlink(partial);
  return st;
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
