/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/record/journal.h"

#include "experiments/runner/machine/build.h"
#include "experiments/runner/machine/environment.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

rb_status rb_journal_append(rb_record_place *p, const json_t *line) {
  rb_status st = RB_OK;
  char *text = json_dumps(line, JSON_COMPACT);
  RB_CHECK(text, RB_ENOMEM, "host memory");
  RB_CHECK(fprintf(p->journal, "%s\n", text) > 0 && fflush(p->journal) == 0, RB_EIO,
           "cannot write %s: %s; what was measured before is kept in it", p->journal_path, strerror(errno));
  if (fdatasync(fileno(p->journal)) != 0 && errno != EINVAL)
    st = RB_FAIL(RB_EIO, "cannot write %s: %s", p->journal_path, strerror(errno));
done:
  free(text);
  return st;
}

/* ---- the runs --------------------------------------------------------------------------------------------- */

/* What a record says of the run that a header line begins. Headers of before 1.5.0 lack some: null. */
static json_t *run_of(const json_t *header) {
  return json_pack("{s:O?,s:O?,s:O?,s:O?}", "regbench", json_object_get(header, "regbench"), "begun",
                   json_object_get(header, "begun"), "machine", json_object_get(header, "machine"), "roofs",
                   json_object_get(header, "roofs"));
}

/* A case whose code has changed since is measured again. */
static int by_this_code(const json_t *c) {
  const int cuda = strcmp(rb_json_text(c, "backend", ""), "cuda") == 0;
  return rb_source_is_current(rb_json_text(c, "family", ""), cuda ? RB_CUDA : RB_CPU, rb_json_text(c, "source", ""),
                              rb_json_text(c, "kind", ""), rb_json_text(c, "variant", ""));
}

rb_status rb_journal_read(const rb_record_place *p, const json_t *header, int any_code, rb_journal_kept *kept) {
  rb_status st = RB_OK;
  char *line = NULL;
  size_t capacity = 0;
  FILE *f = fopen(p->journal_path, "r");
  json_t *j = NULL;
  int here = 0;
  *kept = (rb_journal_kept){json_object(), json_array(), 0};
  while (f && getline(&line, &capacity, f) > 0) {
    json_decref(j);
    j = json_loads(line, 0, NULL);
    const char *id = rb_json_text(j, "id", NULL);
    if (json_object_get(j, "descriptor_sha256")) { /* a run begins */
      RB_CHECK(json_equal(json_object_get(j, "descriptor_sha256"), json_object_get(header, "descriptor_sha256")),
               RB_EINVAL, "%s was made by another descriptor; run without --resume", p->journal_path);
      here = json_equal(json_object_get(j, "host"), json_object_get(header, "host"));
      json_array_append_new(kept->runs, run_of(j));
    } else if (id && here && (any_code || by_this_code(j))) {
      json_object_set_new(j, "run", json_integer((json_int_t)json_array_size(kept->runs) - 1));
      json_object_set(kept->cases, id, j);
    } else {
      kept->others += id != NULL;
    }
  }
done:
  json_decref(j);
  free(line);
  if (f) fclose(f);
  if (st != RB_OK) rb_journal_kept_free(kept);
  return st;
}
json_t *rb_journal_last_header(const rb_record_place *p) {
  char *line = NULL;
  size_t capacity = 0;
  FILE *f = fopen(p->journal_path, "r");
  json_t *last = NULL;
  while (f && getline(&line, &capacity, f) > 0) {
    json_t *j = json_loads(line, 0, NULL);
    if (json_object_get(j, "descriptor_sha256")) json_decref(last), last = json_incref(j);
    json_decref(j);
  }
  free(line);
  if (f) fclose(f);
  return last;
}
void rb_journal_kept_free(rb_journal_kept *k) {
  json_decref(k->cases), json_decref(k->runs);
  *k = (rb_journal_kept){0};
}

/* Renumbers the runs that cases name to those that `out` holds, the present one, which names none, last. */
json_t *rb_journal_runs(const rb_journal_kept *kept, const json_t *header, json_t *cases) {
  const int known = (int)json_array_size(kept->runs);
  json_t *out = json_array(), *c, *now = NULL;
  size_t i;
  for (int k = 0; k < known; k++) {
    int named = 0;
    json_array_foreach(cases, i, c) {
      const json_t *run = json_object_get(c, "run");
      if (!run || json_integer_value(run) != k) continue;
      named = 1;
      /* new numbers are below 0 until all are given, lest one is taken for an old one */
      json_object_set_new(c, "run", json_integer(-1 - (json_int_t)json_array_size(out)));
    }
    if (named) json_array_append(out, json_array_get(kept->runs, (size_t)k));
  }
  const int kept_runs = (int)json_array_size(out);
  json_array_foreach(cases, i, c) {
    const json_t *run = json_object_get(c, "run");
    if (!run && !now) now = run_of(header), json_array_append_new(out, now);
    if (kept_runs) json_object_set_new(c, "run", json_integer(run ? -1 - json_integer_value(run) : kept_runs));
  }
  if (kept_runs) return out;
  json_decref(out);
  return NULL;
}

/* ---- a journal made again of a record ---------------------------------------------------------------------- */

static rb_status append_cases(rb_record_place *p, const json_t *record, const json_t *header, int run) {
  rb_status st = RB_OK;
  json_t *line = NULL, *c;
  size_t i;
  RB_TRY(rb_journal_append(p, header));
  json_array_foreach(json_object_get(record, "cases"), i, c) {
    const json_t *of = json_object_get(c, "run");
    if ((of ? json_integer_value(of) : 0) != run) continue;
    json_decref(line);
    line = json_copy(c);
    json_object_del(line, "run");
    RB_TRY(rb_journal_append(p, line));
  }
done:
  json_decref(line);
  return st;
}

/* The header line that a run of the record began with, as far as the record tells. */
static json_t *header_again(const json_t *record, const json_t *run) {
  json_t *out = json_pack("{s:O,s:O?}", "descriptor_sha256", json_object_get(record, "descriptor_sha256"), "begun",
                          json_object_get(record, "begun"));
  static const char *const keys[] = {"regbench", "machine", "roofs"};
  for (int k = 0; k < 3; k++) {
    json_t *own = json_object_get(run, keys[k]);
    json_object_set(out, keys[k], own && !json_is_null(own) ? own : json_object_get(record, keys[k]));
  }
  if (run) json_object_set(out, "begun", json_object_get(run, "begun"));
  json_object_set_new(out, "host", rb_environment_of_times(json_object_get(out, "machine")));
  return out;
}

rb_status rb_journal_recall(rb_record_place *p, const json_t *header, int *recalled) {
  rb_status st = RB_OK;
  json_t *record = NULL, *again = NULL;
  *recalled = 0;
  if (fseek(p->journal, 0, SEEK_END) != 0 || ftell(p->journal) != 0) return RB_OK;
  if (rb_record_load(p->path, &record) != RB_OK) return rb_clear(), RB_OK;
  if (!json_equal(json_object_get(record, "descriptor_sha256"), json_object_get(header, "descriptor_sha256")))
    goto done;
  const json_t *runs = json_object_get(record, "runs");
  const int count = runs ? (int)json_array_size(runs) : 1;
  for (int k = 0; k < count; k++) {
    json_decref(again);
    again = header_again(record, json_array_get(runs, (size_t)k));
    RB_TRY(append_cases(p, record, again, k));
  }
  *recalled = (int)json_array_size(json_object_get(record, "cases"));
done:
  json_decref(record), json_decref(again);
  return st;
}
