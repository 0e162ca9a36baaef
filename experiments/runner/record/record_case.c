/* SPDX-License-Identifier: BSD-3-Clause */
/* A case as the record writes it: its name, metrics, verification and samples. */
#include "experiments/runner/machine/build.h"
#include "experiments/runner/record/record.h"

#include "experiments/runner/machine/environment.h"

#include <math.h>
#include <string.h>

json_t *rb_case_json(const rb_case *c, const char *status, const char *reason) {
  const rb_workload *w;
  json_t *axes = json_object();
  for (int a = 0; a < c->axes; a++) json_object_set_new(axes, c->axis[a], json_string(c->value[a]));
  if (rb_workload_find(c->method->kind, &w) != RB_OK) return json_null();
  return json_pack("{s:s,s:s,s:o,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s}", "id", c->id, "method", c->method->label, "axes",
                   axes, "kind", c->method->kind, "family", w->family->name, "variant", c->variant->name, "tag",
                   c->variant->tag, "backend", c->variant->backend == RB_CUDA ? "cuda" : "cpu", "source",
                   rb_source_hash(w->family->name, c->variant->backend), "status", status, "reason", reason);
}

static void set_metric(json_t *metrics, const char *name, double value, const char *unit, const char *formula) {
  json_object_set_new(metrics, name,
                      json_pack("{s:o,s:s,s:s}", "value", rb_json_number(value), "unit", unit, "formula", formula));
}

/* Seconds and what is divided by them. */
static int is_a_time(const char *unit) {
  static const char *const units[] = {"s", "1/s", "B/s", "FLOP/s", "J", "%"};
  for (size_t i = 0; i < sizeof units / sizeof *units; i++)
    if (strcmp(unit, units[i]) == 0) return 1;
  return 0;
}

void rb_case_json_outcome(json_t *j, const rb_outcome *o) {
  const int valid = strcmp(rb_json_text(j, "status", ""), "valid") == 0;
  json_t *checks = json_array(), *metrics = json_object();
  for (int i = 0; i < o->verification_count; i++) {
    const rb_verification *v = &o->verifications[i];
    json_array_append_new(checks, json_pack("{s:s,s:s,s:o,s:o}", "name", v->name, "against", v->against, "value",
                                            rb_json_number(v->value), "limit", rb_json_number(v->limit)));
  }
  for (int i = 0; i < o->metric_count; i++)
    if (valid || !is_a_time(o->metrics[i].unit))
      set_metric(metrics, o->metrics[i].name, o->metrics[i].value, o->metrics[i].unit, o->metrics[i].formula);
  json_object_set_new(j, "verification", checks);
  json_object_set_new(j, "metrics", metrics);
  json_object_set_new(
      j, "work",
      json_pack("{s:o,s:o,s:o,s:o}", "flops", rb_json_number(o->flops), "bytes", rb_json_number(o->bytes),
                "paper_flops", rb_json_number(o->paper_flops), "paper_bytes", rb_json_number(o->paper_bytes)));
  if (valid && o->details) json_object_set(j, "details", o->details); /* they tell times, too */
  if (o->data.file)
    json_object_set_new(j, "data", json_pack("{s:s,s:s}", "file", o->data.file, "sha256", o->data.sha256));
}

/* The bytes of a kernel class's model, in GB: what its rate and its time make. */
void rb_case_json_bytes(json_t *j) {
  json_t *metrics = json_object_get(j, "metrics"), *m;
  const char *key;
  void *next;
  json_object_foreach_safe(metrics, next, key, m) {
    char name[64];
    if (strncmp(key, "rate_", 5) != 0) continue;
    snprintf(name, sizeof name, "time_%s", key + 5);
    const double bytes = json_number_value(json_object_get(m, "value")) * rb_json_metric(j, name);
    snprintf(name, sizeof name, "gigabytes_%s", key + 5);
    if (bytes == bytes)
      set_metric(metrics, name, 1e-9 * bytes, "GB", "least traffic by the families' models: rate * time");
  }
}

void rb_case_json_timing(json_t *j, const rb_timing *t, const rb_outcome *o, double copy_roof, int rotations) {
  json_t *samples = json_array(), *metrics = json_object_get(j, "metrics");
  for (int i = 0; i < t->count; i++) json_array_append_new(samples, json_real(t->samples[i]));
  json_object_set_new(
      j, "timing",
      json_pack("{s:f,s:f,s:f,s:f,s:f,s:f,s:i,s:i,s:i,s:s,s:o}", "median", t->median, "low", t->low, "high", t->high,
                "coverage", rb_order_coverage(t->count), "least", t->least, "most", t->most, "batch", t->batch,
                "warmups", t->warmups, "rotations", rotations, "stop", t->stop, "samples", samples));
  set_metric(metrics, "time", t->median, "s", "median over samples of (elapsed / batch)");
  if (o->bytes > 0) {
    set_metric(metrics, "bandwidth", o->bytes / t->median, "B/s", "work.bytes / time");
    if (copy_roof > 0)
      set_metric(metrics, "percent_copy", 100 * o->bytes / t->median / copy_roof, "%",
                 "100 bandwidth / measured copy of the same backend");
  }
  /* of workloads whose set-up is a result of its own, over the median like every other time */
  const double setup = rb_json_metric(j, "time_setup"), iterations = rb_json_metric(j, "iterations");
  if (setup == setup) {
    set_metric(metrics, "time_total", setup + t->median, "s", "time_setup + time");
    set_metric(metrics, "setup_share", 100 * setup / (setup + t->median), "%", "100 time_setup / time_total");
    const double first = rb_json_metric(j, "time_setup_first");
    if (first == first)
      set_metric(metrics, "setup_share_first", 100 * first / (first + t->median), "%",
                 "100 time_setup_first / (time_setup_first + time)");
    if (iterations > 0) set_metric(metrics, "time_iteration", t->median / iterations, "s", "time / iterations");
  }
  for (int i = 0; i < o->metric_count; i++) { /* rates of kernel classes, as the whole's is */
    const rb_metric *m = &o->metrics[i];
    char name[64];
    if (strncmp(m->name, "rate_", 5) != 0 || !(copy_roof > 0)) continue;
    snprintf(name, sizeof name, "percent_%s", m->name + 5);
    set_metric(metrics, name, 100 * m->value / copy_roof, "%", "100 rate / measured copy of the same backend");
  }
  rb_case_json_bytes(j);
  if (o->flops > 0) set_metric(metrics, "flop_rate", o->flops / t->median, "FLOP/s", "work.flops / time");
  if (o->pairs > 0)
    set_metric(metrics, "pair_rate", o->pairs / t->median, "1/s", "pairs of points, each counted twice, / time");
  if (isfinite(t->energy))
    set_metric(metrics, "energy", t->energy, "J", "NVML energy counter over all samples / runs");
}
