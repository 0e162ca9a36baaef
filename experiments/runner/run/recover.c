/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/run/recover.h"

#include "datasets/input_file.h"
#include "experiments/runner/base/date.h"
#include "experiments/runner/descriptor/cases.h"
#include "experiments/runner/record/journal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The journal's lines that parse; a killed run leaves half of its last one. New reference. */
static json_t *lines_of(FILE *f) {
  json_t *out = json_array();
  char *line = NULL;
  size_t capacity = 0;
  while (getline(&line, &capacity, f) > 0) {
    json_t *j = json_loads(line, 0, NULL);
    if (j) json_array_append_new(out, j);
  }
  free(line);
  return out;
}
static int is_header(const json_t *line) { return json_object_get(line, "descriptor_sha256") != NULL; }

/* The header of the last run; borrowed, NULL: none. */
static json_t *last_header(const json_t *lines) {
  json_t *line, *last = NULL;
  size_t i;
  json_array_foreach((json_t *)lines, i, line) if (is_header(line)) last = line;
  return last;
}

/* Cases in the order in which they were first measured; a later measurement takes the place of an earlier one. */
static rb_status cases_of(const json_t *lines, const json_t *header, rb_journal_kept *kept, json_t *out) {
  rb_status st = RB_OK;
  json_t *line, *by_id = json_object();
  size_t i;
  int here = 0;
  const char *id;
  json_array_foreach((json_t *)lines, i, line) {
    if (is_header(line)) {
      here = json_equal(json_object_get(line, "descriptor_sha256"), json_object_get(header, "descriptor_sha256")) &&
             json_equal(json_object_get(line, "host"), json_object_get(header, "host"));
      RB_TRY(rb_journal_add_run(kept, line));
    } else if (here && (id = rb_json_text(line, "id", NULL))) {
      json_object_set_new(line, "run", json_integer((json_int_t)json_array_size(kept->runs) - 1));
      json_object_set(by_id, id, line);
    }
  }
  json_object_foreach(by_id, id, line) json_array_append(out, line);
done:
  json_decref(by_id);
  return st;
}

/* How many cases the preset has, by the descriptor that the journal holds. */
static rb_status preset_cases(const json_t *header, const char *origin, int *count) {
  rb_status st = RB_OK;
  rb_descriptor *d = NULL;
  rb_case *all = NULL;
  rb_preset preset;
  RB_TRY(rb_descriptor_parse(rb_json_text(header, "descriptor", ""), origin, &d));
  RB_TRY(rb_preset_parse(rb_json_text(header, "preset", ""), &preset));
  RB_TRY(rb_cases_expand(d, preset, -1, NULL, 0, &all, count));
done:
  free(all);
  rb_descriptor_free(d);
  return st;
}

/* Whether the run of the header wrote its record itself. */
static int ended(const char *path, const json_t *header) {
  json_t *record = NULL;
  if (rb_record_load(path, &record) != RB_OK) return rb_clear(), 0;
  const int younger = strcmp(rb_json_text(record, "created", ""), rb_json_text(header, "begun", "")) >= 0;
  json_decref(record);
  return younger;
}

static rb_status place_of(const char *journal, rb_record_place *p) {
  rb_status st = RB_OK;
  const char *dot = strrchr(journal, '.'), *slash = strrchr(journal, '/');
  RB_CHECK(dot && strcmp(dot, ".journal") == 0, RB_EFORMAT, "%s: a journal is named <preset>.journal", journal);
  RB_TRY(rb_path(p->journal_path, sizeof p->journal_path, "%s", journal));
  RB_TRY(rb_path(p->path, sizeof p->path, "%.*s.json", (int)(dot - journal), journal));
  RB_TRY(rb_path(p->folder, sizeof p->folder, "%.*s", slash ? (int)(slash - journal) : 1, slash ? journal : "."));
  RB_TRY(rb_folder_lock(p->folder, &p->lock));
done:
  return st;
}

rb_status rb_recover(const char *journal, char *record, size_t size, int *cases) {
  rb_status st = RB_OK;
  rb_record_place place = {.lock = -1};
  rb_journal_kept kept = {json_object(), json_array(), 0};
  json_t *lines = NULL, *out = NULL, *list = json_array();
  struct stat info;
  char when[RB_DATE_SIZE];
  int preset = 0, written = 0;
  FILE *f = NULL;
  *cases = 0;
  RB_TRY(rb_input_file(journal));
  RB_TRY(place_of(journal, &place));
  f = fopen(journal, "r");
  RB_CHECK(f && fstat(fileno(f), &info) == 0, RB_EIO, "cannot read %s", journal);
  lines = lines_of(f);
  const json_t *header = last_header(lines);
  RB_CHECK(header && strcmp(rb_json_text(header, "schema", ""), RB_RECORD_SCHEMA) == 0, RB_EFORMAT,
           "%s is no journal of regbench", journal);
  if (ended(place.path, header)) goto done;
  RB_TRY(cases_of(lines, header, &kept, list));
  RB_TRY(preset_cases(header, journal, &preset));
  json_t *runs = rb_journal_runs(&kept, header, list);
  if (runs && json_array_size(runs) > 1) {
    out = json_deep_copy(header);
    json_object_set(out, "runs", runs);
  } else { /* of one run: its header tells all */
    json_t *c;
    size_t i;
    json_array_foreach(list, i, c) json_object_del(c, "run");
    out = json_deep_copy(header);
  }
  json_decref(runs);
  json_object_del(out, "host");
  rb_date_of(info.st_mtime, when); /* when the last case was measured */
  json_object_set_new(out, "created", json_string(when));
  json_object_set_new(out, "complete", json_false());
  json_object_set_new(out, "preset_cases", json_integer(preset));
  json_object_set(out, "cases", list);
  rb_record_keep_drawn_panels(out);
  RB_TRY(rb_record_write(&place, out, &written));
  if (written) *cases = (int)json_array_size(list);
  RB_TRY(rb_path(record, size, "%s", place.path));
done:
  if (f) fclose(f);
  rb_record_close(&place);
  rb_journal_kept_free(&kept);
  json_decref(lines), json_decref(out), json_decref(list);
  return st;
}
