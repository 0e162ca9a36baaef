/* SPDX-License-Identifier: BSD-3-Clause */
/* A record's pictures: PNG files in the folder `pictures` beside it, named after what they show and their content, so
 * that a file is never written over while some record tells its sha256. */
#include "datasets/manifest.h"
#include "datasets/sealed_file.h"
#include "experiments/runner/base/picture.h"
#include "experiments/runner/record/record.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "det F in [0, 2], axial" -> "det-f-in-0-2-axial". */
static void slug_of(const char *title, char *out, size_t size) {
  size_t n = 0;
  for (const char *s = title; *s && n + 1 < size; s++)
    if (isalnum((unsigned char)*s))
      out[n++] = (char)tolower((unsigned char)*s);
    else if (n && out[n - 1] != '-')
      out[n++] = '-';
  while (n && out[n - 1] == '-') n--;
  out[n] = '\0';
}

static rb_status store(const rb_record_place *place, const rb_picture *p, json_t *list) {
  rb_status st = RB_OK;
  char slug[96], sha256[65], file[160], path[4300];
  unsigned char *png = NULL;
  size_t bytes;
  RB_TRY(rb_picture_encode(p, &png, &bytes));
  rb_sha256_data(png, bytes, sha256);
  slug_of(p->title, slug, sizeof slug);
  snprintf(file, sizeof file, "pictures/%s-%.12s.png", slug, sha256);
  snprintf(path, sizeof path, "%s/%s", place->folder, file);
  RB_TRY(rb_write_atomically(path, png, bytes));
  json_array_append_new(list, json_pack("{s:s,s:i,s:i,s:i,s:s,s:s}", "title", p->title, "width", p->width, "height",
                                        p->height, "channels", p->channels, "file", file, "sha256", sha256));
done:
  free(png);
  return st;
}

rb_status rb_record_store_pictures(const rb_record_place *place, const rb_outcome *o, json_t *c) {
  rb_status st = RB_OK;
  char path[4300];
  json_t *details, *list = json_array();
  if (!o->pictures.count || strcmp(rb_json_text(c, "status", ""), "valid") != 0) goto done;
  snprintf(path, sizeof path, "%s/pictures", place->folder);
  RB_TRY(rb_make_folders(path));
  for (int i = 0; i < o->pictures.count; i++) RB_TRY(store(place, &o->pictures.of[i], list));
  details = json_object_get(c, "details");
  if (!details) json_object_set_new(c, "details", details = json_object());
  json_object_set(details, o->pictures_name, list);
done:
  json_decref(list);
  return st;
}

rb_status rb_record_check_pictures(const json_t *list, const char *path) {
  rb_status st = RB_OK;
  size_t i;
  json_t *p;
  const char *slash = strrchr(path, '/');
  json_array_foreach((json_t *)list, i, p) {
    char file[8400], sha256[65];
    const char *name = rb_json_text(p, "file", NULL);
    if (!name) continue;
    RB_CHECK(strncmp(name, "pictures/", 9) == 0 && !strchr(name + 9, '/'), RB_EFORMAT,
             "%s names '%.100s': pictures lie in the folder pictures beside it", path, name);
    snprintf(file, sizeof file, "%.*s%.160s", slash ? (int)(slash - path) + 1 : 0, path, name);
    RB_TRY(rb_sha256_file(file, sha256));
    RB_CHECK(strcmp(sha256, rb_json_text(p, "sha256", "")) == 0, RB_EFORMAT,
             "%s is not the picture that %s was written with", file, path);
  }
done:
  return st;
}

/* Whether a record of the folder, one that was set aside or a journal names it. */
static int is_named(const char *folder, const char *picture) {
  int named = 0;
  DIR *d = opendir(folder);
  for (struct dirent *e; d && !named && (e = readdir(d));) {
    char path[8400], *text = NULL;
    if (!strstr(e->d_name, ".json") && !strstr(e->d_name, ".journal")) continue;
    snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    if (rb_read_file(path, &text, NULL) == RB_OK)
      named = strstr(text, picture) != NULL;
    else
      rb_clear(), named = 1; /* cannot tell: keep it */
    free(text);
  }
  if (d) closedir(d);
  return named;
}

void rb_record_prune_pictures(const char *folder) {
  char place[8300], path[8600];
  snprintf(place, sizeof place, "%s/pictures", folder);
  DIR *d = opendir(place);
  for (struct dirent *e; d && (e = readdir(d));) {
    const size_t length = strlen(e->d_name);
    if (length < 5 || strcmp(e->d_name + length - 4, ".png") != 0 || is_named(folder, e->d_name)) continue;
    snprintf(path, sizeof path, "%s/%s", place, e->d_name);
    unlink(path);
  }
  if (d) closedir(d);
}
