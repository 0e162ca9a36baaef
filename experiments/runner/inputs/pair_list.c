/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/inputs/pair_list.h"

#include "datasets/input_file.h"

#include <ctype.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COLUMNS = 7, MOST = 10000 };
static const char *const columns[COLUMNS] = {"fixed",        "moving",        "fixed_labels", "moving_labels",
                                             "fixed_points", "moving_points", "name"};
static char **slot(rb_listed_pair *p, int column) {
  char **const all[COLUMNS] = {&p->fixed,        &p->moving,        &p->fixed_labels, &p->moving_labels,
                               &p->fixed_points, &p->moving_points, &p->name};
  return all[column];
}

void rb_pair_list_free(rb_listed_pair *pairs, int count) {
  for (int i = 0; i < count; i++)
    for (int c = 0; c < COLUMNS; c++) free(*slot(&pairs[i], c));
  free(pairs);
}

/* A file of the list by its path from here. */
static rb_status take_file(const char *list, const char *value, char **out) {
  rb_status st = RB_OK;
  char path[PATH_MAX];
  const char *slash = strrchr(list, '/');
  if (*value == '/' || !slash)
    RB_TRY(rb_path(path, sizeof path, "%s", value));
  else
    RB_TRY(rb_path(path, sizeof path, "%.*s/%s", (int)(slash - list), list, value));
  *out = strdup(path);
  RB_CHECK(*out, RB_ENOMEM, "host memory");
done:
  return st;
}

/* "na02 to na01" where no name is given: the files' names up to their first point; what a folder's name takes. */
static rb_status name_pair(rb_listed_pair *p) {
  const char *moving = strrchr(p->moving, '/') ? strrchr(p->moving, '/') + 1 : p->moving;
  const char *fixed = strrchr(p->fixed, '/') ? strrchr(p->fixed, '/') + 1 : p->fixed;
  char name[200];
  if (p->name)
    snprintf(name, sizeof name, "%s", p->name);
  else
    snprintf(name, sizeof name, "%.*s-to-%.*s", (int)strcspn(moving, "."), moving, (int)strcspn(fixed, "."), fixed);
  for (char *c = name; *c; c++)
    if (!isalnum((unsigned char)*c) && !strchr("-_", *c)) *c = '-';
  free(p->name);
  return (p->name = strdup(name)) ? RB_OK : RB_FAIL(RB_ENOMEM, "host memory");
}

static rb_status check_pairs(const char *list, rb_listed_pair *pairs, int count, int first_row) {
  rb_status st = RB_OK;
  RB_CHECK(count > 0, RB_EFORMAT, "%s lists no pair", list);
  for (int i = 0; i < count; i++) {
    rb_listed_pair *p = &pairs[i];
    RB_CHECK(p->fixed && p->moving, RB_EFORMAT, "%s, row %d: fixed and moving are needed", list, i + first_row);
    RB_CHECK(!p->fixed_points == !p->moving_points, RB_EFORMAT, "%s, row %d: points of both images, or of none", list,
             i + first_row);
    RB_CHECK(!p->fixed_labels || p->moving_labels, RB_EFORMAT, "%s, row %d: fixed_labels without moving_labels", list,
             i + first_row);
    for (int c = 0; c < COLUMNS - 1; c++) {
      const char *file = *slot(p, c);
      RB_CHECK(!file || access(file, R_OK) == 0, RB_ENOTFOUND, "%s, row %d: no file %s (%s)", list, i + first_row,
               file, columns[c]);
    }
    RB_TRY(name_pair(p));
    for (int k = 0; k < i; k++)
      RB_CHECK(strcmp(pairs[k].name, p->name) != 0, RB_EFORMAT,
               "%s: rows %d and %d are both called %s; give them names (column name)", list, k + first_row,
               i + first_row, p->name);
  }
done:
  return st;
}

/* ---- CSV -------------------------------------------------------------------------------------------------- */

/* The next value of a line, without quotes and blanks around it, in place; *at goes behind its comma, or to NULL. */
static char *next_value(char **at) {
  char *from = *at + strspn(*at, " \t"), *to = from, *read = from;
  if (*from == '"') {
    for (read++; *read && !(*read == '"' && read[1] != '"'); read++) {
      if (*read == '"') read++; /* two stand for one */
      *to++ = *read;
    }
    read += strcspn(read, ",");
  } else {
    read += strcspn(read, ",");
    to = read;
    while (to > from && isspace((unsigned char)to[-1])) to--;
  }
  *at = *read ? read + 1 : NULL;
  *to = '\0';
  return from;
}

static rb_status read_csv(const char *path, char *text, rb_listed_pair **out, int *count) {
  rb_status st = RB_OK;
  int of[64], width = 0, has[COLUMNS] = {0}, row = 0;
  char *rest = NULL;
  if (strncmp(text, "\xEF\xBB\xBF", 3) == 0) text += 3;
  for (char *line = strtok_r(text, "\r\n", &rest); line; line = strtok_r(NULL, "\r\n", &rest)) {
    char *at = line;
    int column = 0;
    row++;
    if (row == 1) {
      while (at && width < 64) {
        const char *name = next_value(&at);
        of[width] = 0;
        while (of[width] < COLUMNS && strcmp(columns[of[width]], name) != 0) of[width]++;
        RB_CHECK(of[width] < COLUMNS, RB_EFORMAT,
                 "%s: unknown column '%s'; fixed, moving, fixed_labels, moving_labels, fixed_points, moving_points, "
                 "name work",
                 path, name);
        RB_CHECK(!has[of[width]], RB_EFORMAT, "%s has the column '%s' twice", path, name);
        has[of[width++]] = 1;
      }
      RB_CHECK(has[0] && has[1], RB_EFORMAT, "%s: its first row must name the columns fixed and moving", path);
      continue;
    }
    if (!line[strspn(line, " \t,")]) continue;
    RB_CHECK(*count < MOST, RB_EFORMAT, "%s lists more than %d pairs", path, MOST);
    rb_listed_pair *p = &(*out)[(*count)++];
    for (; at; column++) {
      char *value = next_value(&at);
      RB_CHECK(column < width, RB_EFORMAT, "%s, row %d: more values than columns", path, row);
      if (!*value) continue;
      if (of[column] == COLUMNS - 1)
        RB_CHECK((p->name = strdup(value)), RB_ENOMEM, "host memory");
      else
        RB_TRY(take_file(path, value, slot(p, of[column])));
    }
  }
  RB_TRY(check_pairs(path, *out, *count, 2));
done:
  return st;
}

/* ---- Learn2Reg -------------------------------------------------------------------------------------------- */

/* imagesTr/A.nii.gz -> labelsTr/A.nii.gz, keypointsTr/A.csv, where both images have such a file. */
static rb_status beside(const char *const images[2], const char *what, const char *ending, char **const out[2]) {
  char path[2][PATH_MAX];
  for (int k = 0; k < 2; k++) {
    const char *name = strrchr(images[k], '/') ? strrchr(images[k], '/') + 1 : images[k], *folder = NULL;
    for (const char *at = strstr(images[k], "images"); at && at < name; at = strstr(at + 1, "images")) folder = at;
    if (!folder) return RB_OK;
    const size_t stem = ending ? strcspn(name, ".") : strlen(name);
    snprintf(path[k], sizeof path[k], "%.*s%s%.*s%s", (int)(folder - images[k]), images[k], what,
             (int)(name - folder - (long)strlen("images") + (long)stem), folder + strlen("images"),
             ending ? ending : "");
    if (access(path[k], R_OK) != 0) return RB_OK;
  }
  for (int k = 0; k < 2; k++)
    if (!(*out[k] = strdup(path[k]))) return RB_FAIL(RB_ENOMEM, "host memory");
  return RB_OK;
}
static rb_status take_pair(const char *path, const char *fixed, const char *moving, rb_listed_pair *p) {
  rb_status st = RB_OK;
  RB_CHECK(fixed && moving, RB_EFORMAT, "%s: a pair without fixed and moving", path);
  RB_TRY(take_file(path, fixed, &p->fixed));
  RB_TRY(take_file(path, moving, &p->moving));
  const char *const images[2] = {p->fixed, p->moving};
  RB_TRY(beside(images, "labels", NULL, (char **const[2]){&p->fixed_labels, &p->moving_labels}));
  RB_TRY(beside(images, "keypoints", ".csv", (char **const[2]){&p->fixed_points, &p->moving_points}));
  p->points_in_voxels = p->fixed_points != NULL;
done:
  return st;
}
static rb_status read_json(const char *path, const char *text, rb_listed_pair **out, int *count) {
  rb_status st = RB_OK;
  json_error_t error;
  json_t *j = json_loads(text, 0, &error), *pair;
  size_t i;
  RB_CHECK(j, RB_EFORMAT, "%s: line %d: %s", path, error.line, error.text);
  const json_t *list = json_object_get(j, "registration_val");
  if (!json_array_size(list)) list = json_object_get(j, "registration_test");
  if (!json_array_size(list)) list = json_object_get(j, "pairings");
  RB_CHECK(json_array_size(list) && json_array_size(list) <= MOST, RB_EFORMAT,
           "%s: no pairs in registration_val or registration_test (of a Learn2Reg task)", path);
  json_array_foreach((json_t *)list, i, pair)
      RB_TRY(take_pair(path, json_string_value(json_object_get(pair, "fixed")),
                       json_string_value(json_object_get(pair, "moving")), &(*out)[(*count)++]));
  RB_TRY(check_pairs(path, *out, *count, 1));
done:
  json_decref(j);
  return st;
}

rb_status rb_pair_list_read(const char *path, rb_listed_pair **out, int *count) {
  rb_status st = RB_OK;
  char *text = NULL;
  size_t size, n = strlen(path);
  *count = 0;
  *out = calloc(MOST, sizeof **out);
  RB_CHECK(*out, RB_ENOMEM, "host memory");
  RB_TRY(rb_input_text(path, &text, &size));
  RB_TRY(n > 5 && strcmp(path + n - 5, ".json") == 0 ? read_json(path, text, out, count)
                                                     : read_csv(path, text, out, count));
done:
  free(text);
  if (st != RB_OK) rb_pair_list_free(*out, *count), *out = NULL, *count = 0;
  return st;
}
