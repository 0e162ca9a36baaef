/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/record/record.h"

#include "datasets/input_file.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A run that died while writing leaves half a line; the next line must not be glued to it. */
static void truncate_incomplete_line(const char *path) {
  long end = 0, at = 0;
  FILE *f = fopen(path, "r");
  for (int c; f && (c = fgetc(f)) != EOF;) {
    at++;
    if (c == '\n') end = at;
  }
  if (f) fclose(f);
  if (f && end < at && truncate(path, end) != 0) return;
}

rb_status rb_record_open(rb_record_place *p, const char *out, const char *slug, const rb_descriptor *d,
                         rb_preset preset, int resume) {
  rb_status st = RB_OK;
  char before[4220];
  memset(p, 0, sizeof *p);
  p->lock = -1;
  RB_CHECK(snprintf(p->folder, sizeof p->folder, "%s/%s/%s/%s", out, slug, d->paper, d->name) < 4000, RB_EINVAL,
           "path too long: %s", out);
  RB_TRY(rb_make_folders(p->folder));
  snprintf(p->path, sizeof p->path, "%s/%s.json", p->folder, rb_preset_name(preset));
  snprintf(p->journal_path, sizeof p->journal_path, "%s/%s.journal", p->folder, rb_preset_name(preset));
  RB_TRY(rb_folder_lock(p->folder, &p->lock));
  snprintf(before, sizeof before, "%s.before", p->journal_path);
  if (resume)
    truncate_incomplete_line(p->journal_path);
  else
    RB_CHECK(rename(p->journal_path, before) == 0 || errno == ENOENT, RB_EIO, "cannot set %s aside: %s",
             p->journal_path, strerror(errno));
  p->journal = fopen(p->journal_path, resume ? "a" : "w");
  RB_CHECK(p->journal, RB_EIO, "cannot write %s: %s", p->journal_path, strerror(errno));
done:
  if (st != RB_OK) rb_record_close(p);
  return st;
}

void rb_record_close(rb_record_place *p) {
  if (p->journal) fclose(p->journal);
  if (p->lock >= 0) {
    close(p->lock); /* the lock file stays: unlinking it would let a second run in beside a third */
  }
  p->journal = NULL;
  p->lock = -1;
}

void rb_record_keep_drawn_panels(json_t *record) {
  int drawn = 0;
  size_t i;
  json_t *c;
  json_array_foreach(json_object_get(record, "cases"), i, c) {
    json_t *details = json_object_get(c, "details");
    if (!json_array_size(json_object_get(details, "panels"))) continue;
    if (drawn || strcmp(rb_json_text(c, "status", ""), "valid") != 0)
      json_object_del(details, "panels");
    else
      drawn = 1;
  }
}

static double number_of(const json_t *object, const char *key) {
  const json_t *v = json_object_get(object, key);
  return json_is_number(v) ? json_number_value(v) : NAN;
}

/* A valid case was verified, and its times are in order. */
static rb_status check_valid_case(const json_t *c, const char *id, const char *path) {
  rb_status st = RB_OK;
  const json_t *checks = json_object_get(c, "verification"), *timing = json_object_get(c, "timing"), *v;
  size_t k;
  RB_CHECK(json_array_size(checks) > 0, RB_EFORMAT, "%s: case '%.100s' is said to be valid and nothing verifies it",
           path, id);
  json_array_foreach((json_t *)checks, k, v)
      RB_CHECK(number_of(v, "value") <= number_of(v, "limit"), RB_EFORMAT,
               "%s: case '%.100s' is said to be valid and fails '%.60s'", path, id, rb_json_text(v, "name", "?"));
  if (timing)
    RB_CHECK(number_of(timing, "low") <= number_of(timing, "median") &&
                 number_of(timing, "median") <= number_of(timing, "high"),
             RB_EFORMAT, "%s: case '%.100s': its median lies outside its interval", path, id);
done:
  return st;
}

static int is_a_status(const char *text) {
  static const char *const all[] = {"valid", "invalid", "skipped", "failed"};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (strcmp(text, all[i]) == 0) return 1;
  return 0;
}

/* What a run writes holds; what does not was edited or damaged. */
static rb_status check_record(const json_t *record, const char *path) {
  rb_status st = RB_OK;
  const int printed = strcmp(rb_json_text(record, "preset", ""), "published") == 0; /* nobody's measurements */
  const char *text = rb_json_text(record, "descriptor", "");
  char sha256[65];
  json_t *seen = json_object(), *c;
  size_t i;
  rb_sha256_text(text, sha256);
  RB_CHECK(printed || strcmp(sha256, rb_json_text(record, "descriptor_sha256", "")) == 0, RB_EFORMAT,
           "%s: its descriptor is not the one that descriptor_sha256 names: it was edited or damaged", path);
  json_array_foreach(json_object_get(record, "cases"), i, c) {
    const char *id = rb_json_text(c, "id", NULL);
    RB_CHECK(id, RB_EFORMAT, "%s: case %zu has no id", path, i + 1);
    RB_CHECK(printed || is_a_status(rb_json_text(c, "status", "")), RB_EFORMAT,
             "%s: case '%.100s' has status '%.40s', which is none", path, id, rb_json_text(c, "status", ""));
    RB_CHECK(!json_object_get(seen, id), RB_EFORMAT, "%s: two cases are named '%.100s'", path, id);
    json_object_set_new(seen, id, json_true());
    const json_t *run = json_object_get(c, "run");
    RB_CHECK(!run || (json_integer_value(run) >= 0 &&
                      json_array_get(json_object_get(record, "runs"), (size_t)json_integer_value(run))),
             RB_EFORMAT, "%s: case '%.100s' is of a run that `runs` does not hold", path, id);
    RB_TRY(rb_record_check_pictures(json_object_get(json_object_get(c, "details"), "panels"), path));
    RB_TRY(rb_record_check_pictures(json_object_get(json_object_get(c, "details"), "slices"), path));
    if (!printed && strcmp(rb_json_text(c, "status", ""), "valid") == 0) RB_TRY(check_valid_case(c, id, path));
  }
done:
  json_decref(seen);
  return st;
}

rb_status rb_record_load(const char *path, json_t **out) {
  rb_status st = RB_OK;
  json_error_t e;
  int major = 0;
  *out = NULL;
  RB_TRY(rb_input_file(path));
  *out = json_load_file(path, JSON_REJECT_DUPLICATES, &e);
  RB_CHECK(*out, RB_EFORMAT, "%s:%d: %s", path, e.line, e.text);
  RB_CHECK(strcmp(rb_json_text(*out, "schema", ""), RB_RECORD_SCHEMA) == 0, RB_EFORMAT, "%s is not a regbench record",
           path);
  sscanf(rb_json_text(*out, "schema_version", "0"), "%d", &major);
  RB_CHECK(major == 1, RB_EFORMAT, "%s has record schema %s; this program reads 1.x", path,
           rb_json_text(*out, "schema_version", "?"));
  RB_CHECK(json_is_array(json_object_get(*out, "cases")), RB_EFORMAT, "%s has no list of cases: it is damaged", path);
  RB_TRY(check_record(*out, path));
done:
  if (st != RB_OK) {
    json_decref(*out);
    *out = NULL;
  }
  return st;
}

static int measured_in(const json_t *record) {
  int n = 0;
  size_t i;
  json_t *c;
  json_array_foreach(json_object_get(record, "cases"), i, c) {
    const char *status = rb_json_text(c, "status", "");
    n += strcmp(status, "valid") == 0 || strcmp(status, "invalid") == 0;
  }
  return n;
}

/* Measured cases of the record at `path`; 0 where there is none; more than any record has where it is there and
 * cannot be read: it is not to be lost either. */
static int measured_at(const char *path, int *complete) {
  json_t *record = NULL;
  *complete = 0;
  if (rb_record_load(path, &record) != RB_OK) {
    rb_clear();
    return access(path, F_OK) == 0 ? INT_MAX : 0;
  }
  const int n = measured_in(record);
  *complete = json_is_true(json_object_get(record, "complete"));
  json_decref(record);
  return n;
}

/* What would be lost by writing over it gets the first free name of PRESET.json.before, PRESET.json.before.2 ... */
static rb_status keep_older_record(rb_record_place *p, const json_t *record) {
  rb_status st = RB_OK;
  char before[sizeof p->set_aside];
  int whole;
  const int there = measured_at(p->path, &whole);
  if (there <= measured_in(record) && !(whole && json_is_false(json_object_get(record, "complete")))) return RB_OK;
  snprintf(before, sizeof before, "%s.before", p->path);
  for (int k = 2; access(before, F_OK) == 0; k++) snprintf(before, sizeof before, "%s.before.%d", p->path, k);
  RB_CHECK(rename(p->path, before) == 0, RB_EIO, "cannot set %s aside: %s", p->path, strerror(errno));
  snprintf(p->set_aside, sizeof p->set_aside, "%s", before);
done:
  return st;
}

rb_status rb_record_write(rb_record_place *p, const json_t *record, int *written) {
  rb_status st = RB_OK;
  char *text = NULL;
  int whole;
  *written = measured_in(record) || !measured_at(p->path, &whole);
  if (!*written) return RB_OK;
  text = json_dumps(record, JSON_INDENT(1) | JSON_REAL_PRECISION(12));
  RB_CHECK(text, RB_ENOMEM, "host memory");
  RB_TRY(keep_older_record(p, record));
  RB_TRY(rb_write_atomically(p->path, text, strlen(text)));
  rb_record_prune_pictures(p->folder);
done:
  free(text);
  return st;
}

double rb_json_metric(const json_t *c, const char *metric) {
  const json_t *v = json_object_get(json_object_get(json_object_get(c, "metrics"), metric), "value");
  return json_is_number(v) ? json_number_value(v) : NAN;
}
const char *rb_json_text(const json_t *object, const char *key, const char *fallback) {
  const char *s = json_string_value(json_object_get(object, key));
  return s ? s : fallback;
}
