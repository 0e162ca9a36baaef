/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/run/recover.h"

#include "datasets/input_file.h"
#include "experiments/runner/base/date.h"
#include "experiments/runner/descriptor/cases.h"
#include "experiments/runner/record/journal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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
  rb_journal_kept kept = {0};
  json_t *header = NULL, *list = json_array(), *c;
  struct stat info;
  char when[RB_DATE_SIZE];
  const char *id;
  size_t i;
  int preset = 0, written = 0;
  *cases = 0;
  RB_TRY(rb_input_file(journal));
  RB_TRY(place_of(journal, &place));
  RB_CHECK(stat(journal, &info) == 0, RB_EIO, "cannot read %s", journal);
  header = rb_journal_last_header(&place);
  RB_CHECK(header && strcmp(rb_json_text(header, "schema", ""), RB_RECORD_SCHEMA) == 0, RB_EFORMAT,
           "%s is no journal of regbench", journal);
  if (ended(place.path, header)) goto done;
  RB_TRY(rb_journal_read(&place, header, 1, &kept));
  json_object_foreach(kept.cases, id, c) json_array_append(list, c);
  RB_TRY(preset_cases(header, journal, &preset));
  json_t *runs = rb_journal_runs(&kept, header, list);
  if (json_array_size(runs) > 1) json_object_set(header, "runs", runs);
  json_decref(runs);
  if (!json_object_get(header, "runs"))
    json_array_foreach(list, i, c) json_object_del(c, "run"); /* the header tells */
  json_object_del(header, "host");                            /* `machine` tells more */
  rb_date_of(info.st_mtime, when);                            /* when the last case was measured */
  json_object_set_new(header, "created", json_string(when));
  json_object_set_new(header, "complete", json_false());
  json_object_set_new(header, "preset_cases", json_integer(preset));
  json_object_set(header, "cases", list);
  rb_record_keep_drawn_panels(header);
  RB_TRY(rb_record_write(&place, header, &written));
  if (written) *cases = (int)json_array_size(list);
  RB_TRY(rb_path(record, size, "%s", place.path));
done:
  rb_record_close(&place);
  rb_journal_kept_free(&kept);
  json_decref(header), json_decref(list);
  return st;
}
