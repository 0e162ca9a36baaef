/* SPDX-License-Identifier: BSD-3-Clause */
#include "datasets/manifest.h"

#include "datasets/input_notes.h"

#include "datasets/input_file.h"
#include "datasets/whole_file.h"

#include "kernels/base/variant.h"

#include <cyaml/cyaml.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEXT(key, member) CYAML_FIELD_STRING_PTR(key, CYAML_FLAG_POINTER, rb_manifest, member, 1, 4096)
#define TEXT_OPT(key, member) \
  CYAML_FIELD_STRING_PTR(key, CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, rb_manifest, member, 1, 4096)
static const cyaml_schema_field_t file_fields[] = {
    CYAML_FIELD_STRING_PTR("name", CYAML_FLAG_POINTER, rb_manifest_file, name, 1, 256),
    CYAML_FIELD_STRING_PTR("sha256", CYAML_FLAG_POINTER, rb_manifest_file, sha256, 64, 64), CYAML_FIELD_END};
static const cyaml_schema_value_t file_value = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, rb_manifest_file, file_fields)};
#define FILE_OF_PAIR(key, member, flags) \
  CYAML_FIELD_STRING_PTR(key, CYAML_FLAG_POINTER | (flags), rb_manifest_pair, member, 1, 256)
static const cyaml_schema_field_t pair_fields[] = {
    FILE_OF_PAIR("name", name, 0),
    FILE_OF_PAIR("template", template_image, 0),
    FILE_OF_PAIR("reference", reference, 0),
    FILE_OF_PAIR("template_labels", template_labels, CYAML_FLAG_OPTIONAL),
    FILE_OF_PAIR("reference_labels", reference_labels, CYAML_FLAG_OPTIONAL),
    CYAML_FIELD_END};
static const cyaml_schema_value_t pair_value = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, rb_manifest_pair, pair_fields)};
static const cyaml_schema_field_t fields[] = {
    TEXT("name", name),
    TEXT("title", title),
    TEXT("source", source),
    TEXT("licence", licence),
    TEXT("citation", citation),
    TEXT_OPT("package", package),
    TEXT_OPT("path", path),
    TEXT_OPT("image", image),
    CYAML_FIELD_SEQUENCE("files", CYAML_FLAG_POINTER, rb_manifest, files, &file_value, 1, 512),
    CYAML_FIELD_SEQUENCE("pairs", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, rb_manifest, pairs, &pair_value, 1, 512),
    CYAML_FIELD_END};
static const cyaml_schema_value_t schema = {CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, rb_manifest, fields)};
static const cyaml_config_t config = {.log_fn = NULL, .mem_fn = cyaml_mem, .log_level = CYAML_LOG_ERROR};

static int is_home(const char *folder) {
  char path[PATH_MAX + 32];
  struct stat info;
  snprintf(path, sizeof path, "%s/experiments", folder);
  if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode)) return 0;
  snprintf(path, sizeof path, "%s/datasets", folder);
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

rb_status rb_project_root(const char **out) {
  static char home[PATH_MAX];
  *out = home;
  if (home[0]) return RB_OK;
  const char *given = getenv("REGBENCH_HOME");
  if (given) {
    snprintf(home, sizeof home, "%s", given);
    if (is_home(home)) return RB_OK;
    home[0] = '\0';
    return RB_FAIL(RB_ENOTFOUND, "REGBENCH_HOME is %s, which has no experiments/ and datasets/", given);
  }
  ssize_t n = readlink("/proc/self/exe", home, sizeof home - 1);
  if (n > 0) home[n] = '\0';
  for (char *slash; n > 0 && (slash = strrchr(home, '/')) && slash != home;) {
    *slash = '\0';
    if (is_home(home)) return RB_OK;
    const size_t length = strlen(home); /* PREFIX/bin/regbench has its files in PREFIX/share/regbench */
    snprintf(home + length, sizeof home - length, "/share/regbench");
    if (is_home(home)) return RB_OK;
    home[length] = '\0';
  }
  home[0] = '\0';
  return RB_FAIL(RB_ENOTFOUND,
                 "no experiments/ and datasets/ above the program, or in share/regbench there; set REGBENCH_HOME to "
                 "the project's folder");
}

rb_status rb_data_root(char *out, int size) {
  const char *given = getenv("REGBENCH_DATA"), *xdg = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
  if (given && given[0])
    snprintf(out, (size_t)size, "%s", given);
  else if (xdg && xdg[0])
    snprintf(out, (size_t)size, "%s/regbench", xdg);
  else if (home && home[0])
    snprintf(out, (size_t)size, "%s/.local/share/regbench", home);
  else
    return RB_FAIL(RB_ENOTFOUND, "no data folder: set REGBENCH_DATA");
  return RB_OK;
}

rb_status rb_manifest_load(const char *name, rb_manifest **out) {
  rb_status st = RB_OK;
  const char *home;
  char path[PATH_MAX + 64];
  *out = NULL;
  RB_TRY(rb_project_root(&home));
  snprintf(path, sizeof path, "%s/datasets/%s.yaml", home, name);
  if (access(path, R_OK) != 0) {
    char names[64][64];
    const char *list[64];
    int count = rb_manifest_names(names, 64);
    for (int i = 0; i < count; i++) list[i] = names[i];
    const char *near = rb_nearest(name, list, count);
    return RB_FAIL(RB_ENOTFOUND, "no data set '%s'%s%s; 'regbench data list' shows all", name,
                   near ? ": nearest is " : "", near ? near : "");
  }
  cyaml_err_t e = cyaml_load_file(path, &config, &schema, (cyaml_data_t **)out, NULL);
  RB_CHECK(e == CYAML_OK, RB_EFORMAT, "%s: %s", path, cyaml_strerror(e));
  RB_CHECK(*out, RB_EFORMAT, "%s is empty: no manifest stands in it", path);
done:
  return st;
}

void rb_manifest_free(rb_manifest *m) {
  if (m) cyaml_free(&config, &schema, m, 0);
}

static int by_name(const void *a, const void *b) { return strcmp(a, b); }

int rb_manifest_names(char names[][64], int most) {
  const char *home;
  char path[PATH_MAX + 64];
  int count = 0;
  struct dirent *entry;
  if (rb_project_root(&home) != RB_OK) return 0;
  snprintf(path, sizeof path, "%s/datasets", home);
  DIR *folder = opendir(path);
  while (folder && (entry = readdir(folder)) && count < most) {
    size_t n = strlen(entry->d_name);
    if (n < 6 || n > 60 || strcmp(entry->d_name + n - 5, ".yaml") != 0) continue;
    memcpy(names[count], entry->d_name, n - 5);
    names[count++][n - 5] = '\0';
  }
  if (folder) closedir(folder);
  qsort(names, (size_t)count, 64, by_name);
  return count;
}

static rb_status path_of(const rb_manifest *m, const char *file, char *out, int size) {
  rb_status st = RB_OK;
  char root[PATH_MAX];
  if (m->path) { /* a package's folder; on hosts without packages an imported copy may stand in */
    RB_TRY(rb_path(out, (size_t)size, "%s/%s", m->path, file));
    if (access(out, R_OK) == 0) return RB_OK;
  }
  RB_TRY(rb_data_root(root, sizeof root));
  RB_TRY(rb_path(out, (size_t)size, "%s/%s/%s", root, m->name, file));
done:
  return st;
}

rb_status rb_manifest_path(const rb_manifest *m, const char *file, char *out, int size) {
  rb_status st = path_of(m, file, out, size);
  if (st == RB_OK) st = rb_note_input(out);
  return st;
}

int rb_manifest_present(const rb_manifest *m) {
  char path[PATH_MAX];
  int there =
      path_of(m, m->image ? m->image : m->files[0].name, path, sizeof path) == RB_OK && access(path, R_OK) == 0;
  rb_clear();
  return there;
}

rb_status rb_manifest_of_pair(const char *name, rb_manifest **out, const rb_manifest_pair **pair) {
  char names[64][64];
  const int count = rb_manifest_names(names, 64);
  rb_status st = RB_OK;
  *out = NULL;
  for (int i = 0; i < count; i++) {
    RB_TRY(rb_manifest_load(names[i], out));
    for (unsigned k = 0; k < (*out)->pairs_count; k++)
      if (strcmp((*out)->pairs[k].name, name) == 0) {
        *pair = &(*out)->pairs[k];
        return RB_OK;
      }
    rb_manifest_free(*out);
    *out = NULL;
  }
  st = RB_FAIL(RB_ENOTFOUND, "no data set has a pair '%s'; 'regbench data list' shows all", name);
done:
  return st;
}

int rb_manifest_pair_names(char names[][64], int most) {
  char sets[64][64];
  const int count = rb_manifest_names(sets, 64);
  int found = 0;
  for (int i = 0; i < count; i++) {
    rb_manifest *m = NULL;
    if (rb_manifest_load(sets[i], &m) != RB_OK) {
      rb_clear();
      continue;
    }
    if (m->image && found < most) snprintf(names[found++], 64, "%.63s", m->name);
    for (unsigned k = 0; k < m->pairs_count && found < most; k++)
      snprintf(names[found++], 64, "%.63s", m->pairs[k].name);
    rb_manifest_free(m);
  }
  return found;
}

static int file_present(const rb_manifest *m, const char *file) {
  char path[PATH_MAX];
  return path_of(m, file, path, sizeof path) == RB_OK && access(path, R_OK) == 0;
}

int rb_data_present(const char *value) {
  char names[64][64];
  const int count = rb_manifest_names(names, 64);
  rb_manifest *m = NULL;
  const rb_manifest_pair *pair;
  int there = 1;
  for (int i = 0; i < count; i++)
    if (strcmp(names[i], value) == 0) {
      there = rb_manifest_load(value, &m) == RB_OK && rb_manifest_present(m);
      goto done;
    }
  if (rb_manifest_of_pair(value, &m, &pair) == RB_OK)
    there = file_present(m, pair->template_image) && file_present(m, pair->reference);
done:
  rb_manifest_free(m);
  rb_clear();
  return there;
}

rb_status rb_sha256_file(const char *path, char out[65]) {
  const rb_status st = rb_input_file(path);
  if (st != RB_OK) return st;
  return SHA256File(path, out) ? RB_OK : RB_FAIL(RB_EIO, "cannot read %s", path);
}

static const char *import_hint(const rb_manifest *m, char *text, size_t size) {
  if (m->package)
    snprintf(text, size, "apt-get install %s", m->package);
  else
    snprintf(text, size, "regbench data import %s FOLDER", m->name);
  return text;
}

unsigned rb_manifest_count(const rb_manifest *m) {
  char path[PATH_MAX];
  unsigned n = 0;
  for (unsigned i = 0; i < m->files_count; i++)
    n += path_of(m, m->files[i].name, path, sizeof path) == RB_OK && access(path, R_OK) == 0;
  rb_clear();
  return n;
}

rb_status rb_manifest_verify(const rb_manifest *m) {
  rb_status st = RB_OK;
  char path[PATH_MAX], sum[65], hint[256];
  RB_CHECK(rb_manifest_count(m), RB_ENOTFOUND, "data set %s is absent: %s", m->name,
           import_hint(m, hint, sizeof hint));
  for (unsigned i = 0; i < m->files_count; i++) {
    RB_TRY(path_of(m, m->files[i].name, path, sizeof path));
    if (access(path, R_OK) != 0) continue;
    RB_TRY(rb_sha256_file(path, sum));
    RB_CHECK(strcmp(sum, m->files[i].sha256) == 0, RB_EFORMAT,
             "data set %s: %s has another sha256 than the manifest: %s", m->name, path,
             import_hint(m, hint, sizeof hint));
  }
done:
  return st;
}

static rb_status copy_file(const char *from, const char *to) {
  rb_status st = RB_OK;
  char block[1 << 16];
  size_t got;
  rb_whole_file out = {0};
  FILE *in = fopen(from, "rb");
  RB_CHECK(in, RB_ENOTFOUND, "cannot open %s: %s", from, strerror(errno));
  RB_TRY(rb_whole_file_open(&out, to));
  while ((got = fread(block, 1, sizeof block, in)) > 0) RB_TRY(rb_whole_file_write(&out, block, got));
  RB_CHECK(!ferror(in), RB_EIO, "cannot read %s: %s", from, strerror(errno));
done:
  if (in) fclose(in);
  return rb_whole_file_end(&out, st);
}

/* Files that the folder lacks are left out: a subset of a large set is useful. None at all is an error. */
rb_status rb_manifest_import(const rb_manifest *m, const char *folder, int *copied) {
  rb_status st = RB_OK;
  char from[PATH_MAX], to[PATH_MAX], root[PATH_MAX + 128], sum[65];
  *copied = 0;
  struct stat info;
  RB_CHECK(stat(folder, &info) == 0 && S_ISDIR(info.st_mode), RB_ENOTFOUND, "no folder %s", folder);
  char base[PATH_MAX];
  RB_TRY(rb_data_root(base, sizeof base));
  snprintf(root, sizeof root, "%s/%s", base, m->name);
  RB_TRY(rb_make_folders(root));
  for (unsigned i = 0; i < m->files_count; i++) {
    snprintf(from, sizeof from, "%s/%s", folder, m->files[i].name);
    if (access(from, R_OK) != 0) continue;
    RB_TRY(rb_sha256_file(from, sum));
    RB_CHECK(strcmp(sum, m->files[i].sha256) == 0, RB_EFORMAT,
             "%s has another sha256 than the manifest of %s: another version, or damaged", from, m->name);
    RB_TRY(rb_path(to, sizeof to, "%s/%s", root, m->files[i].name)); /* not where a package has it */
    RB_TRY(copy_file(from, to));
    ++*copied;
  }
  RB_CHECK(*copied, RB_ENOTFOUND, "%s holds none of the %u files of data set %s", folder, m->files_count, m->name);
done:
  return st;
}
