/* SPDX-License-Identifier: BSD-3-Clause */
/* The folder of a registration's results: held by one run at a time, without what an earlier one left, and never over
 * an input. */
#include "experiments/runner/cli/register.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char LIST[] = ".results"; /* one name a line, of this folder */

/* Whether some method's result may be called so: an output's name, then a point or a number. */
static int is_result(const char *name) {
  static const char *const others[] = {"metrics",      "applied", "inverse_displacement", "velocity",
                                       "displacement", "labels",  "probability",          "history"};
  int solvers;
  const rb_solver *const *all = rb_solvers(&solvers);
  for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
    const size_t n = strlen(others[k]);
    if (strncmp(name, others[k], n) == 0 && strchr("._", name[n])) return 1;
  }
  for (int i = 0; i < solvers; i++)
    for (const rb_output *o = all[i]->outputs; o->name; o++) {
      const size_t n = strlen(o->name);
      if (strncmp(name, o->name, n) == 0 && strchr("._", name[n])) return 1;
    }
  return 0;
}

/* RB_EINVAL for an input that lies in the folder (`at`) under a result's name. */
static rb_status check_input(const struct stat *at, const char *file) {
  rb_status st = RB_OK;
  struct stat above;
  char *one = NULL, *two = NULL;
  if (!file) return RB_OK;
  one = strdup(file), two = strdup(file);
  RB_CHECK(one && two, RB_ENOMEM, "host memory");
  if (stat(dirname(one), &above) != 0 || above.st_dev != at->st_dev || above.st_ino != at->st_ino) goto done;
  RB_CHECK(!is_result(basename(two)), RB_EINVAL, "%s is an input that a result could overwrite: another --out", file);
done:
  free(one), free(two);
  return st;
}
static rb_status check_inputs(const rb_register_request *r, const struct stat *at) {
  rb_status st = RB_OK;
  const char *const files[] = {r->apply, r->affine, r->label_names, r->list};
  for (size_t k = 0; k < sizeof files / sizeof *files; k++) RB_TRY(check_input(at, files[k]));
  for (int k = 0; k < 2; k++) {
    RB_TRY(check_input(at, r->files[k]));
    RB_TRY(check_input(at, r->labels[k]));
    RB_TRY(check_input(at, r->marks[k]));
    for (int i = 0; i < r->posteriors[k].count; i++) RB_TRY(check_input(at, r->posteriors[k].files[i]));
    for (int i = 0; i < r->surfaces[k].count; i++) RB_TRY(check_input(at, r->surfaces[k].files[i]));
  }
  for (int i = 0; i < r->image_count; i++) RB_TRY(check_input(at, r->images[i]));
  for (int i = 0; i < r->label_count; i++) RB_TRY(check_input(at, r->label_files[i]));
done:
  return st;
}

rb_status rb_register_folder_take(const rb_register_request *r, rb_register_folder *f) {
  rb_status st = RB_OK;
  struct stat info;
  f->lock = 0;
  if (r->team->rank > 0) return RB_OK;
  RB_CHECK(mkdir(r->out, 0777) == 0 || errno == EEXIST, RB_EIO, "cannot make %s: %s", r->out, strerror(errno));
  RB_CHECK(stat(r->out, &info) == 0 && S_ISDIR(info.st_mode), RB_EINVAL, "%s is a file; --out names a folder",
           r->out);
  RB_CHECK(access(r->out, W_OK) == 0, RB_EIO, "cannot write in %s: %s", r->out, strerror(errno));
  f->lock = open(r->out, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  RB_CHECK(f->lock > 0, RB_EIO, "cannot open %s: %s", r->out, strerror(errno));
  RB_CHECK(flock(f->lock, LOCK_EX | LOCK_NB) == 0 || errno == ENOLCK || errno == EOPNOTSUPP, RB_EBUSY,
           "another registration is writing into %s; wait for it or choose another --out", r->out);
  RB_TRY(check_inputs(r, &info));
done:
  if (st != RB_OK) rb_register_folder_release(f);
  return st;
}
void rb_register_folder_release(rb_register_folder *f) {
  if (f->lock > 0) close(f->lock);
  f->lock = 0;
}

void rb_register_folder_clear(const rb_register_request *r) {
  char list[4200], line[512], path[4800];
  FILE *f;
  snprintf(list, sizeof list, "%s/%s", r->out, LIST);
  f = fopen(list, "r");
  while (f && fgets(line, sizeof line, f)) {
    line[strcspn(line, "\n")] = '\0';
    if (!*line || strchr(line, '/') || !is_result(line)) continue; /* not ours */
    snprintf(path, sizeof path, "%s/%s", r->out, line);
    unlink(path);
  }
  if (f) fclose(f);
  unlink(list);
}

rb_status rb_register_path(const rb_register_request *r, char *path, size_t size, const char *format, ...) {
  rb_status st = RB_OK;
  char list[4200], name[512];
  FILE *f = NULL;
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(name, sizeof name, format, arguments);
  va_end(arguments);
  RB_CHECK(length >= 0 && length < (int)sizeof name, RB_EINVAL, "a result's name is too long: %s", name);
  RB_TRY(rb_path(list, sizeof list, "%s/%s", r->out, LIST));
  RB_TRY(rb_path(path, size, "%s/%s", r->out, name));
  f = fopen(list, "a"); /* a line is one write: processes of a team append each its own */
  RB_CHECK(f, RB_EIO, "cannot write %s: %s", list, strerror(errno));
  fprintf(f, "%s\n", name);
  RB_CHECK(fflush(f) == 0, RB_EIO, "cannot write %s: %s", list, strerror(errno));
done:
  if (f) fclose(f);
  return st;
}
