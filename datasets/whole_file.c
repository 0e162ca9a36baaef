/* SPDX-License-Identifier: BSD-3-Clause */
#include "datasets/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int is_special(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

rb_status rb_whole_file_name(rb_whole_file *w, const char *path) {
  *w = (rb_whole_file){0};
  if (strlen(path) >= sizeof w->path) return RB_FAIL(RB_EINVAL, "path too long: %.80s...", path);
  char *target = realpath(path, NULL); /* what a link points at is written, and the link stays */
  if (target && strlen(target) >= sizeof w->path) free(target), target = NULL;
  snprintf(w->path, sizeof w->path, "%s", target ? target : path);
  free(target);
  if (is_special(w->path))
    snprintf(w->partial, sizeof w->partial, "%s", w->path);
  else /* two may write one file: each its own beginning */
    snprintf(w->partial, sizeof w->partial, "%s.%ld.partial", w->path, (long)getpid());
  return RB_OK;
}

rb_status rb_whole_file_open(rb_whole_file *w, const char *path) {
  rb_status st = RB_OK;
  RB_TRY(rb_whole_file_name(w, path));
  const int fd =
      open(w->partial, (strcmp(w->partial, w->path) == 0 ? 0 : O_CREAT | O_TRUNC) | O_WRONLY | O_CLOEXEC, 0666);
  w->f = fd >= 0 ? fdopen(fd, "wb") : NULL;
  RB_CHECK(w->f, RB_EIO, "cannot write %s: %s", w->partial, strerror(errno));
done:
  if (st != RB_OK) *w = (rb_whole_file){0};
  return st;
}

static rb_status cannot_write(const rb_whole_file *w) {
  return RB_FAIL(
      RB_EIO, "cannot write %s: %s%s", w->path, strerror(errno),
      errno == ENOSPC || errno == EFBIG ? "; free space there and run again (regbench run: with --resume)" : "");
}

rb_status rb_whole_file_write(rb_whole_file *w, const void *data, size_t bytes) {
  return fwrite(data, 1, bytes, w->f) == bytes ? RB_OK : cannot_write(w);
}

rb_status rb_whole_file_end(rb_whole_file *w, rb_status st) {
  const int in_place = strcmp(w->partial, w->path) == 0;
  if (!w->path[0]) return st;
  if (w->f && st == RB_OK && (fflush(w->f) != 0 || (fsync(fileno(w->f)) != 0 && errno != EINVAL)))
    st = cannot_write(w); /* EINVAL: what has nothing to sync, as a device */
  if (w->f && fclose(w->f) != 0 && st == RB_OK) st = cannot_write(w);
  if (st == RB_OK && !in_place && rename(w->partial, w->path) != 0) st = cannot_write(w);
  if (st != RB_OK && !in_place) unlink(w->partial);
  *w = (rb_whole_file){0};
  return st;
}

rb_status rb_make_folders(const char *path) {
  char part[4200];
  if (strlen(path) >= sizeof part) return RB_FAIL(RB_EINVAL, "path too long: %.80s...", path);
  snprintf(part, sizeof part, "%s", path);
  for (char *s = part + 1;; s++)
    if (*s == '/' || *s == '\0') {
      char keep = *s;
      *s = '\0';
      if (mkdir(part, 0777) != 0 && errno != EEXIST)
        return RB_FAIL(RB_EIO, "cannot make folder %s: %s", part, strerror(errno));
      if (keep == '\0') return RB_OK;
      *s = keep;
    }
}
