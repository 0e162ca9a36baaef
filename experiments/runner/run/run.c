/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/run/run.h"

#include "experiments/runner/base/date.h"
#include "experiments/runner/machine/build_info.h"
#include "experiments/runner/machine/environment.h"
#include "experiments/runner/base/interrupt.h"
#include "experiments/runner/machine/build.h"
#include "experiments/runner/machine/plugin.h"
#include "experiments/runner/machine/load.h"
#include "experiments/runner/record/journal.h"
#include "experiments/runner/machine/roofs.h"
#include "experiments/runner/run/run_case.h"
#include "experiments/runner/report/busy_host.h"
#include "experiments/runner/report/published.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const rb_run_options *options;
  const char *path; /* of the descriptor */
  rb_descriptor *d;
  rb_case *cases;
  int count;
  rb_record_place place;
  char *published; /* text of the CSV, or NULL */
  json_t *header;
  rb_journal_kept kept; /* of earlier runs */
  const rb_listener *listener;
  rb_run_counts counts;
} run_state;

/* ---- the cases of an experiment ------------------------------------------------------------------------ */

/* What a failure of rb_run_case means for the record: what is absent, unsupported or too large for this machine is a
 * skip; a device that fails at work is a failure. */
static rb_case_status status_of(rb_status st) {
  return st == RB_EUNSUPPORTED || st == RB_ENOTFOUND || st == RB_ENOMEM ? RB_CASE_SKIPPED : RB_CASE_FAILED;
}

__attribute__((format(printf, 2, 3))) static void say(const run_state *s, const char *format, ...) {
  char text[8800];
  va_list args;
  const int n = snprintf(text, sizeof text, "%s/%s: ", s->d->paper, s->d->name);
  va_start(args, format);
  vsnprintf(text + n, sizeof text - (size_t)n, format, args);
  va_end(args);
  s->listener->message(s->listener->context, text);
}

static int reusable(const json_t *old) {
  const char *status = rb_json_text(old, "status", "");
  return strcmp(status, "valid") == 0 || strcmp(status, "invalid") == 0;
}

static void count(rb_run_counts *t, const char *status) {
  t->valid += strcmp(status, "valid") == 0;
  t->invalid += strcmp(status, "invalid") == 0;
  t->skipped += strcmp(status, "skipped") == 0;
  t->failed += strcmp(status, "failed") == 0;
}

/* A line about the case: its time, or why it has none. */
static void report_finished(const rb_listener *to, const rb_case_result *r) {
  char text[160];
  const double t = r->timing.median, error = rb_outcome_value(&r->outcome, "error_rms"),
               roof = 100 * r->outcome.bytes / t / r->copy_roof;
  if (r->status != RB_CASE_VALID) {
    snprintf(text, sizeof text, "%.150s", r->reason);
  } else {
    int n = snprintf(text, sizeof text, "%.4g ms", 1e3 * t);
    if (r->outcome.bytes > 0 && r->copy_roof > 0)
      n += snprintf(text + n, sizeof text - (size_t)n, ", %.1f %% of copy", roof);
    if (error == error) snprintf(text + n, sizeof text - (size_t)n, ", error %.3g", error);
  }
  to->case_finished(to->context, rb_case_status_name(r->status), text);
}

/* What others took of the processors while the case was measured, of one that has times. */
static void add_load(json_t *c, double others) {
  json_t *timing = json_object_get(c, "timing");
  if (timing && isfinite(others)) json_object_set_new(timing, "others_busy", json_real(round(100 * others) / 100));
}

static rb_status run_cases(run_state *s, json_t *cases) {
  rb_status st = RB_OK;
  const rb_listener *to = s->listener;
  for (int i = 0; i < s->count && !rb_interrupted; i++) {
    const rb_case *c = &s->cases[i];
    json_t *j = NULL, *old = json_object_get(s->kept.cases, c->id);
    to->case_started(to->context, i, s->count, c->id);
    if (old && reusable(old)) {
      count(&s->counts, rb_json_text(old, "status", ""));
      json_array_append(cases, old);
      to->case_finished(to->context, "kept", "from the journal");
      continue;
    }
    rb_case_result r;
    rb_load before, after;
    rb_load_now(&before);
    const rb_status case_status =
        rb_run_case(&(rb_case_run){c, s->options->preset, s->path, s->d->counters, s->d->single_run, to}, &r);
    if (case_status == RB_EINTERRUPTED) {
      rb_clear();
      rb_case_result_free(&r);
      break;
    }
    if (case_status != RB_OK) {
      r.status = status_of(case_status), r.ran = 0;
      snprintf(r.reason, sizeof r.reason, "%s", rb_message());
      rb_clear();
    }
    rb_load_now(&after);
    j = rb_case_json(&r);
    add_load(j, rb_load_of_others(&before, &after));
    count(&s->counts, rb_case_status_name(r.status));
    report_finished(to, &r);
    if (j) st = rb_record_store_pictures(&s->place, &r.outcome, j);
    rb_case_result_free(&r);
    RB_CHECK(j, RB_ENOMEM, "host memory");
    json_array_append_new(cases, j);
    RB_TRY(st);
    RB_TRY(rb_journal_append(&s->place, j));
  }
done:
  return st;
}

/* ---- one experiment ----------------------------------------------------------------------------------- */

static json_t *timestamp(void) {
  char when[RB_DATE_SIZE];
  rb_date_now(when);
  return json_string(when);
}

static json_t *make_header(const rb_descriptor *d, rb_preset preset) {
  rb_protocol p = rb_protocol_of(preset);
  json_t *sources = json_object();
  int n;
  const rb_family *const *f = rb_families(&n);
  for (int i = 0; i < n; i++)
    json_object_set_new(sources, f[i]->name,
                        json_pack("{s:s,s:s}", "cpu", rb_source_hash(f[i]->name, RB_CPU), "cuda",
                                  rb_source_hash(f[i]->name, RB_CUDA)));
  return json_pack("{s:s,s:s,s:{s:s,s:s,s:b},s:{s:s,s:s,s:s,s:s},s:s,s:s,s:s,s:{s:i,s:i,s:f,s:f,s:i,s:s},s:o}",
                   "schema", RB_RECORD_SCHEMA, "schema_version", RB_RECORD_VERSION, "regbench", "version", RB_VERSION,
                   "commit", rb_build_commit(), "dirty", rb_build_dirty(), "experiment", "paper", d->paper, "name",
                   d->name, "title", d->title, "source", d->source, "descriptor", d->text, "descriptor_sha256",
                   d->sha256, "preset", rb_preset_name(preset), "protocol", "least_samples", p.least, "most_samples",
                   p.most, "budget_s", p.budget, "batch_under_s", p.batch_under, "warmups", p.warmups, "cache",
                   d->cache, "sources", sources);
}

/* After a resumed run with a filter: cases of the journal that the filter left out stay in the record, in table
 * order. `preset`: how many cases the preset has. */
static rb_status merge_kept_cases(const run_state *s, const json_t *cases, json_t **out, int *complete, int *preset) {
  rb_status st = RB_OK;
  rb_case *all = NULL;
  int count;
  json_t *by_id = json_object(), *c;
  size_t i;
  *out = json_array();
  json_array_foreach(cases, i, c) json_object_set(by_id, rb_json_text(c, "id", ""), c);
  RB_TRY(rb_cases_expand(s->d, s->options->preset, -1, NULL, 0, &all, &count));
  *preset = count;
  for (int k = 0; k < count; k++) {
    json_t *found = json_object_get(by_id, all[k].id), *old = json_object_get(s->kept.cases, all[k].id);
    if (!found && old && reusable(old)) found = old;
    if (found) json_array_append(*out, found);
    json_object_del(by_id, all[k].id);
  }
  json_array_foreach(cases, i, c) /* asked for by name where a phantom would stand in */
      if (json_object_get(by_id, rb_json_text(c, "id", ""))) json_array_append(*out, c);
  /* complete: all that was asked for now, and nothing kept from a wider run that never ended */
  *complete = (int)json_array_size(cases) == s->count &&
              (json_array_size(*out) == json_array_size(cases) || (int)json_array_size(*out) == count);
done:
  free(all);
  json_decref(by_id);
  return st;
}

static rb_status finish(run_state *s, json_t *asked) {
  rb_status st = RB_OK;
  json_t *cases = NULL;
  int complete = 0, preset = 0, written = 0;
  char busy[256];
  json_t *record = json_deep_copy(s->header);
  json_object_del(record, "host"); /* `machine` tells more */
  json_object_set_new(record, "created", timestamp());
  RB_TRY(merge_kept_cases(s, asked, &cases, &complete, &preset));
  json_object_set_new(record, "complete", json_boolean(complete));
  json_object_set_new(record, "preset_cases", json_integer(preset));
  json_object_set(record, "cases", cases);
  json_t *runs = rb_journal_runs(&s->kept, s->header, cases);
  if (runs) json_object_set_new(record, "runs", runs);
  if (s->published) json_object_set_new(record, "published", json_string(s->published));
  rb_record_keep_drawn_panels(record);
  st = rb_record_write(&s->place, record, &written);
  if (s->place.set_aside[0]) say(s, "%s held more; it is %s now", s->place.path, s->place.set_aside);
  RB_TRY(st);
  rb_busy_host_text(cases, busy, sizeof busy);
  if (busy[0]) say(s, "%s", busy);
  say(s, "%d valid, %d invalid, %d skipped, %d failed%s %s", s->counts.valid, s->counts.invalid, s->counts.skipped,
      s->counts.failed, written ? " ->" : "; kept is", s->place.path);
done:
  json_decref(cases);
  json_decref(record);
  return st;
}

/* Roofs are measured before the cases: their memory is theirs. */
static void tell_of_host(run_state *s) {
  json_t *machine = rb_environment();
  json_object_set_new(s->header, "host", rb_environment_of_times(machine));
  json_object_set_new(s->header, "machine", machine);
  json_object_set_new(s->header, "roofs", rb_roofs_json());
  json_object_set_new(s->header, "begun", timestamp());
  json_t *plugins = rb_plugins_json();
  if (plugins) json_object_set_new(s->header, "plugins", plugins);
}

static rb_status keep_earlier_cases(run_state *s) {
  rb_status st = RB_OK;
  int recalled = 0;
  RB_TRY(rb_journal_recall(&s->place, s->header, &recalled));
  if (recalled) say(s, "there is no journal; %d cases of %s are taken for it", recalled, s->place.path);
  RB_TRY(rb_journal_read(&s->place, s->header, 0, &s->kept));
  if (s->kept.others)
    say(s, "%d cases of the journal are of other code, another build or another host; they are not kept",
        s->kept.others);
done:
  return st;
}

rb_status rb_run_experiment(const rb_run_options *o, const char *path, const rb_listener *listener,
                            rb_run_counts *total) {
  rb_status st = RB_OK;
  char slug[320];
  run_state s = {.options = o, .path = path, .listener = listener, .place = {.lock = -1}};
  json_t *cases = json_array();
  RB_TRY(rb_descriptor_load(path, &s.d));
  RB_TRY(rb_published_read(s.d, path,
                           &s.published)); /* travels in the record, so that tables render from records alone */
  RB_TRY(rb_cases_expand(s.d, o->preset, o->backend, o->filters, o->filter_count, &s.cases, &s.count));
  if (s.count == 0) {
    say(&s, "none of its cases is asked for by this --backend and --where");
    goto done;
  }
  const char *absent = rb_cases_absent_data(s.d, o->preset, o->filters, o->filter_count);
  if (absent)
    say(&s, "data %s is absent here, a phantom stands in; 'regbench data list' tells how to get it", absent);
  rb_machine_slug(slug, sizeof slug);
  RB_TRY(rb_record_open(&s.place, o->out, slug, s.d, o->preset, o->resume));
  s.header = make_header(s.d, o->preset);
  tell_of_host(&s);
  if (o->resume) RB_TRY(keep_earlier_cases(&s));
  RB_TRY(rb_journal_append(&s.place, s.header)); /* once a run: what follows is of this build and host */
  listener->experiment(listener->context, s.d->paper, s.d->name);
  st = run_cases(&s, cases);
  listener->experiment(listener->context, NULL, NULL);
  if (st != RB_OK) goto done;
  RB_TRY(finish(&s, cases));
done:
  total->valid += s.counts.valid, total->invalid += s.counts.invalid, total->skipped += s.counts.skipped,
      total->failed += s.counts.failed;
  rb_record_close(&s.place);
  json_decref(cases);
  json_decref(s.header);
  rb_journal_kept_free(&s.kept);
  free(s.published);
  free(s.cases);
  rb_descriptor_free(s.d);
  return st;
}
