/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/report/rejudge.h"

#include "experiments/runner/base/date.h"
#include "experiments/runner/machine/build.h"
#include "experiments/runner/machine/build_info.h"
#include "experiments/runner/record/record.h"
#include "experiments/runner/report/published.h"
#include "experiments/runner/report/verdict.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static const rb_method *method_of(const rb_descriptor *d, const char *label) {
  for (unsigned i = 0; i < d->methods_count; i++)
    if (strcmp(d->methods[i].label, label) == 0) return &d->methods[i];
  return NULL;
}
static int same(const char *a, const char *b) { return strcmp(a ? a : "", b ? b : "") == 0; }

const char *rb_method_difference(const rb_descriptor *then, const rb_descriptor *now, const char *label) {
  const rb_method *a = method_of(then, label), *b = method_of(now, label);
  if (!a || !b) return "method";
  if (!same(a->kind, b->kind)) return "kind";
  if (!same(a->variant, b->variant)) return "variant";
  if (!same(a->basis, b->basis)) return "basis";
  if (!same(a->scheme, b->scheme)) return "scheme";
  return same(a->sums, b->sums) ? NULL : "sums";
}

static int has_value(const rb_axis *axis, const char *value) {
  for (int p = 0; p < RB_PRESETS; p++) {
    const rb_strings v = rb_axis_values(axis, (rb_preset)p);
    for (unsigned i = 0; i < v.count; i++)
      if (strcmp(v.values[i], value) == 0) return 1;
  }
  return 0;
}

/* Would `now` measure the case of a record made from `then` in the same way? */
static rb_status same_measurement(const rb_descriptor *then, const rb_descriptor *now, const json_t *c,
                                  const char *origin) {
  rb_status st = RB_OK;
  const char *id = rb_json_text(c, "id", "?"), *label = rb_json_text(c, "method", "");
  const json_t *axes = json_object_get(c, "axes");
  const char *field = rb_method_difference(then, now, label);
  RB_CHECK(!field, RB_EINVAL, "%s: case '%s' was measured by another %s than today's descriptor names; run it again",
           origin, id, field);
  RB_CHECK(json_object_size(axes) == now->axes_count, RB_EINVAL,
           "%s: case '%s' has other axes than today's descriptor; run it again", origin, id);
  for (unsigned k = 0; k < now->axes_count; k++) {
    const char *value = rb_json_text(axes, now->axes[k].name, NULL);
    RB_CHECK(value && has_value(&now->axes[k], value), RB_EINVAL,
             "%s: case '%s': today's descriptor has no %s of that value; run it again", origin, id,
             now->axes[k].name);
  }
done:
  return st;
}

rb_status rb_rejudge(json_t *record, const char *origin, const char *path) {
  rb_status st = RB_OK;
  rb_descriptor *then = NULL, *now = NULL;
  char *published = NULL, when[RB_DATE_SIZE];
  size_t i;
  json_t *c;
  RB_TRY(rb_descriptor_parse(rb_json_text(record, "descriptor", ""), origin, &then));
  RB_TRY(rb_descriptor_load(path, &now));
  RB_TRY(rb_published_read(now, path, &published));
  RB_CHECK(same(then->paper, now->paper) && same(then->name, now->name), RB_EINVAL, "%s is no record of %s", origin,
           path);
  RB_CHECK(same(then->cache, now->cache), RB_EINVAL, "%s was measured with %s caches; run it again", origin,
           then->cache);
  json_array_foreach(json_object_get(record, "cases"), i, c) RB_TRY(same_measurement(then, now, c, origin));
  json_array_foreach(json_object_get(record, "cases"), i, c) rb_case_json_bytes(c);
  rb_record_keep_drawn_panels(record);
  if (strcmp(then->sha256, now->sha256) == 0 && same(published, rb_json_text(record, "published", NULL))) goto done;
  rb_date_now(when);
  json_object_set_new(
      record, "judged",
      json_pack("{s:s,s:s,s:s,s:s}", "created", when, "version", RB_VERSION, "commit", rb_build_commit(),
                "measured_with", rb_json_text(json_object_get(record, "judged"), "measured_with", then->sha256)));
  json_object_set_new(record, "schema_version", json_string(RB_RECORD_VERSION));
  json_object_set_new(record, "experiment",
                      json_pack("{s:s,s:s,s:s,s:s}", "paper", now->paper, "name", now->name, "title", now->title,
                                "source", now->source));
  json_object_set_new(record, "descriptor", json_string(now->text));
  json_object_set_new(record, "descriptor_sha256", json_string(now->sha256));
  if (published)
    json_object_set_new(record, "published", json_string(published));
  else
    json_object_del(record, "published");
done:
  free(published);
  rb_descriptor_free(now);
  rb_descriptor_free(then);
  return st;
}
