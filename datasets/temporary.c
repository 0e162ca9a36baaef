/* SPDX-License-Identifier: BSD-3-Clause */
#define _XOPEN_SOURCE 700 /* nftw */
#include "datasets/temporary.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

rb_status rb_temporary_make(char *folder, size_t size) {
  const char *base = getenv("TMPDIR");
  if (!base || !*base) base = "/tmp";
  const int fits = snprintf(folder, size, "%s/regbench-XXXXXX", base) < (int)size;
  if (fits && mkdtemp(folder)) return RB_OK;
  const int cause = fits ? errno : ENAMETOOLONG;
  folder[0] = '\0';
  return RB_FAIL(RB_EIO, "cannot make a folder in %.200s: %s", base, strerror(cause));
}

static int remove_one(const char *path, const struct stat *s, int type, struct FTW *place) {
  (void)s, (void)type, (void)place;
  remove(path);
  return 0;
}
void rb_temporary_remove(const char *folder) { nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS); }
