/* SPDX-License-Identifier: BSD-3-Clause */
#include "datasets/input_notes.h"

#include "datasets/manifest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* All files that the process noted, with their hashes; `place` counts from 1 in the order of the case at hand. */
typedef struct file {
  struct file *next;
  struct timespec changed;
  off_t size;
  int place;
  rb_input_note note;
  char path[];
} file;
static file *files;
static int noted;

static file *known(const char *path, const struct stat *info) {
  for (file *f = files; f; f = f->next)
    if (strcmp(f->path, path) == 0 && f->size == info->st_size && f->changed.tv_sec == info->st_mtim.tv_sec &&
        f->changed.tv_nsec == info->st_mtim.tv_nsec)
      return f;
  return NULL;
}

rb_status rb_note_input(const char *path) {
  rb_status st = RB_OK;
  struct stat info;
  if (stat(path, &info) != 0 || !S_ISREG(info.st_mode)) return RB_OK;
  file *f = known(path, &info), *made = NULL;
  if (!f) {
    const size_t length = strlen(path) + 1;
    made = calloc(1, sizeof *made + length);
    RB_CHECK(made, RB_ENOMEM, "host memory");
    memcpy(made->path, path, length);
    made->size = info.st_size, made->changed = info.st_mtim;
    const char *slash = strrchr(path, '/');
    snprintf(made->note.name, sizeof made->note.name, "%.127s", slash ? slash + 1 : path);
    for (char *s = made->note.name; *s; s++) /* records are UTF-8, file names need not be */
      if ((unsigned char)*s >= 128) *s = '?';
    if (rb_sha256_file(path, made->note.sha256) != RB_OK) {
      rb_clear();
      goto done;
    }
    made->next = files;
    f = files = made;
    made = NULL;
  }
  if (!f->place) f->place = ++noted;
done:
  free(made);
  return st;
}

void rb_note_again(const rb_input_note *note) {
  for (file *f = files; f; f = f->next)
    if (&f->note == note && !f->place) f->place = ++noted;
}

void rb_forget_inputs(void) {
  for (file *f = files; f; f = f->next) f->place = 0;
  noted = 0;
}

const rb_input_note *rb_noted_input(int i) {
  for (const file *f = files; f; f = f->next)
    if (f->place == i + 1) return &f->note;
  return NULL;
}
