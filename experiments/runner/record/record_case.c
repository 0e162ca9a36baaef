/* SPDX-License-Identifier: BSD-3-Clause */
/* A case as the record writes it: its name, metrics, verification and samples. */
#include "experiments/runner/machine/build.h"
#include "experiments/runner/machine/plugin.h"
#include "experiments/runner/record/record.h"

#include "experiments/runner/machine/environment.h"

#include <math.h>
#include <string.h>

#define COUNTED_METRICS(X)                                                                            \
  X(GFLOP, "counter_gflop", "GFLOP", "1e-9 (fadd + fmul + 2 ffma) of one run")                        \
  X(GBYTE, "counter_gbyte", "GB", "1e-9 bytes read from and written to device memory")                \
  X(L2_GBYTE, "counter_l2_gbyte", "GB", "1e-9 bytes through L2")                                      \
  X(L2_RATE, "counter_l2_rate", "B/s", "bytes through L2 / time")                                     \
  X(MEMORY_RATE, "counter_memory_rate", "B/s", "bytes read from and written to device memory / time") \
  X(INTENSITY, "counter_intensity", "FLOP/B", "counter_gflop / counter_gbyte")
enum {
#define X(symbol, name, unit, formula) symbol,
  COUNTED_METRICS(X)
#undef X
      COUNTED
};
static const struct {
  const char *name, *unit, *formula;
} counted[COUNTED] = {
#define X(symbol, name, unit, formula) {name, unit, formula},
    COUNTED_METRICS(X)
#undef X
};
int rb_metric_is_counted(const char *metric) {
  for (int i = 0; i < COUNTED; i++)
    if (strcmp(metric, counted[i].name) == 0) return 1;
  return 0;
}

const char *rb_case_status_name(rb_case_status s) {
  static const char *const names[] = {"valid", "invalid", "skipped", "failed"};
  return names[s];
}

static void set_metric(json_t *metrics, const char *name, double value, const char *unit, const char *formula) {
  json_object_set_new(metrics, name,
                      json_pack("{s:o,s:s,s:s}", "value", rb_json_number(value), "unit", unit, "formula", formula));
}
/* The metric `prefix_class`. */
static void set_of_class(json_t *metrics, const char *prefix, const char *class, double value, const char *unit,
                         const char *formula) {
  char name[64];
  snprintf(name, sizeof name, "%s_%s", prefix, class);
  set_metric(metrics, name, value, unit, formula);
}

/* Seconds and what is divided by them. */
static int is_a_time(const char *unit) {
  static const char *const units[] = {"s", "1/s", "B/s", "FLOP/s", "J", "%"};
  for (size_t i = 0; i < sizeof units / sizeof *units; i++)
    if (strcmp(unit, units[i]) == 0) return 1;
  return 0;
}

int rb_case_is_slowed(const json_t *c) {
  return json_is_true(json_object_get(json_object_get(c, "timing"), "slowed"));
}

int rb_metric_is_slowed(const json_t *c, const char *metric) {
  const char *unit = rb_json_text(json_object_get(json_object_get(c, "metrics"), metric), "unit", "");
  /* of per cent, those of a roof; those of voxels are no times */
  return rb_case_is_slowed(c) && is_a_time(unit) && (strcmp(unit, "%") != 0 || strncmp(metric, "percent_", 8) == 0);
}

int rb_timing_counts(const json_t *timing, size_t sample) {
  const char *reason;
  json_t *samples, *s;
  size_t i;
  if (json_is_true(json_object_get(timing, "slowed"))) return 1;
  json_object_foreach(json_object_get(timing, "throttled"), reason, samples) {
    json_array_foreach(samples, i, s) if (json_integer_value(s) == (json_int_t)sample) return 0;
  }
  return 1;
}

static void add_outcome(json_t *j, const rb_outcome *o, int valid) {
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
  json_object_set_new(j, "work",
                      json_pack("{s:o,s:o,s:o,s:o,s:o}", "flops", rb_json_number(o->flops), "bytes",
                                rb_json_number(o->bytes), "footprint", rb_json_number(o->footprint), "paper_flops",
                                rb_json_number(o->paper_flops), "paper_bytes", rb_json_number(o->paper_bytes)));
  if (valid && o->details) json_object_set(j, "details", o->details); /* they tell times, too */
  if (o->data_file[0])
    json_object_set_new(j, "data", json_pack("{s:s,s:s}", "file", o->data_file, "sha256", o->data_sha256));
}

static const char bytes_formula[] = "least traffic by the families' models: rate * time";

void rb_case_json_bytes(json_t *j) {
  static const char *const classes[] = {"interpolation", "gradients", "divergences", "spectral", "field", "fused"};
  json_t *metrics = json_object_get(j, "metrics");
  for (size_t k = 0; k < sizeof classes / sizeof *classes; k++) {
    char rate[64], time[64];
    snprintf(rate, sizeof rate, "rate_%s", classes[k]), snprintf(time, sizeof time, "time_%s", classes[k]);
    const double bytes = rb_json_metric(j, rate) * rb_json_metric(j, time);
    if (bytes == bytes) set_of_class(metrics, "gigabytes", classes[k], 1e-9 * bytes, "GB", bytes_formula);
  }
}

static void add_class(json_t *metrics, const rb_class_work *k, double copy_roof) {
  set_of_class(metrics, "time", k->name, k->seconds, "s",
               "sum over the solve of the time between two events around each call");
  if (!(k->seconds > 0)) return;
  const double rate = k->bytes / k->seconds;
  set_of_class(metrics, "rate", k->name, rate, "B/s", "least traffic by the families' models / time");
  set_of_class(metrics, "gigabytes", k->name, 1e-9 * k->bytes, "GB", bytes_formula);
  if (copy_roof > 0)
    set_of_class(metrics, "percent", k->name, 100 * rate / copy_roof, "%",
                 "100 rate / measured copy of the same backend");
}

/* Samples, from 0 on, at whose end the GPU's clocks were held down, by reason. */
static json_t *throttled(const rb_timing *t) {
  json_t *all = json_object();
  unsigned char bit;
  const char *name;
  for (int k = 0; (name = rb_nvml_throttle_name(k, &bit)); k++) {
    json_t *samples = json_array();
    for (int i = 0; i < t->count; i++)
      if (t->throttle[i] & bit) json_array_append_new(samples, json_integer(i));
    if (json_array_size(samples))
      json_object_set_new(all, name, samples);
    else
      json_decref(samples);
  }
  return all;
}

static void add_timing(json_t *j, const rb_case_result *r) {
  const rb_timing *t = &r->timing;
  const rb_outcome *o = &r->outcome;
  json_t *samples = json_array(), *metrics = json_object_get(j, "metrics");
  for (int i = 0; i < t->count; i++) json_array_append_new(samples, json_real(t->samples[i]));
  json_object_set_new(
      j, "timing",
      json_pack("{s:f,s:f,s:f,s:f,s:f,s:f,s:i,s:i,s:i,s:s,s:o}", "median", t->median, "low", t->low, "high", t->high,
                "coverage", rb_order_coverage(t->slowed ? t->count : t->count - t->throttled), "least", t->least,
                "most", t->most, "batch", t->batch, "warmups", t->warmups, "rotations", r->rotations, "stop", t->stop,
                "samples", samples));
  if (t->throttled) {
    json_object_set_new(json_object_get(j, "timing"), "throttled", throttled(t));
    json_object_set_new(json_object_get(j, "timing"), "slowed", json_boolean(t->slowed));
  }
  set_metric(metrics, "time", t->median, "s", "median over samples of (elapsed / batch)");
  if (o->bytes > 0) {
    set_metric(metrics, "bandwidth", o->bytes / t->median, "B/s", "work.bytes / time");
    if (r->copy_roof > 0)
      set_metric(metrics, "percent_copy", 100 * o->bytes / t->median / r->copy_roof, "%",
                 "100 bandwidth / measured copy of the same backend");
  }
  /* of workloads whose set-up is a result of its own, over the median like every other time */
  const double setup = rb_outcome_value(o, "time_setup"), iterations = rb_outcome_value(o, "iterations"),
               first = rb_outcome_value(o, "time_setup_first");
  if (setup == setup) {
    set_metric(metrics, "time_total", setup + t->median, "s", "time_setup + time");
    set_metric(metrics, "setup_share", 100 * setup / (setup + t->median), "%", "100 time_setup / time_total");
    if (first == first)
      set_metric(metrics, "setup_share_first", 100 * first / (first + t->median), "%",
                 "100 time_setup_first / (time_setup_first + time)");
    if (iterations > 0) set_metric(metrics, "time_iteration", t->median / iterations, "s", "time / iterations");
  }
  for (int i = 0; i < o->class_count; i++) add_class(metrics, &o->classes[i], r->copy_roof);
  if (o->flops > 0) set_metric(metrics, "flop_rate", o->flops / t->median, "FLOP/s", "work.flops / time");
  if (o->pairs > 0)
    set_metric(metrics, "pair_rate", o->pairs / t->median, "1/s", "pairs of points, each counted twice, / time");
  if (o->fetches > 0)
    set_metric(metrics, "fetch_rate", o->fetches / t->median, "1/s", "trilinear fetches of the texture unit / time");
  if (isfinite(t->energy)) set_metric(metrics, "energy", t->energy, "J", "NVML energy counter / runs");
}

static void set_positive(json_t *metrics, const char *name, double value, const char *unit, const char *formula) {
  if (isfinite(value) && value > 0) set_metric(metrics, name, value, unit, formula);
}
static void add_counters(json_t *j, const rb_case_result *r) {
  const rb_outcome *o = &r->outcome;
  const rb_counters *k = &r->counters;
  const double points = (double)rb_grid_points(r->c->grid), seconds = r->timing.median;
  json_t *metrics = json_object_get(j, "metrics");
  set_positive(metrics, "analytic_flops", o->paper_flops / points, "1", "work.paper_flops / points");
  set_positive(metrics, "analytic_bytes", o->paper_bytes / points, "1", "work.paper_bytes / points");
  set_positive(metrics, "analytic_intensity", o->paper_flops / o->paper_bytes, "FLOP/B",
               "work.paper_flops / work.paper_bytes");
  set_positive(metrics, "model_intensity", o->flops / o->bytes, "FLOP/B", "work.flops / work.bytes");
  if (r->no_counters[0]) {
    json_object_set_new(j, "counters", json_pack("{s:s}", "unavailable", r->no_counters));
    return;
  }
  json_object_set_new(j, "counters",
                      json_pack("{s:s,s:f,s:f,s:f}", "how", k->how, "flops", k->flops, "dram_bytes", k->dram_bytes,
                                "l2_bytes", k->l2_bytes));
  const double values[COUNTED] = {[GFLOP] = 1e-9 * k->flops,
                                  [GBYTE] = 1e-9 * k->dram_bytes,
                                  [L2_GBYTE] = 1e-9 * k->l2_bytes,
                                  [L2_RATE] = k->l2_bytes / seconds,
                                  [MEMORY_RATE] = k->dram_bytes / seconds,
                                  [INTENSITY] = k->flops / k->dram_bytes};
  for (int i = 0; i < COUNTED; i++)
    set_positive(metrics, counted[i].name, values[i], counted[i].unit, counted[i].formula);
}

static json_t *clocks(const rb_nvml_state *s) {
  return json_pack("{s:o,s:o,s:o,s:o}", "sm_mhz", rb_json_number(s->sm_clock), "memory_mhz",
                   rb_json_number(s->memory_clock), "watt", rb_json_number(s->power), "celsius",
                   rb_json_number(s->temperature));
}

json_t *rb_case_json(const rb_case_result *r) {
  const rb_case *c = r->c;
  const rb_workload *w;
  if (rb_workload_find(c->method->kind, &w) != RB_OK) return json_null();
  json_t *axes = json_object();
  for (int a = 0; a < c->axes; a++) json_object_set_new(axes, c->axis[a], json_string(c->value[a]));
  const char *plugin = rb_plugin_source(c->variant);
  json_t *j = json_pack("{s:s,s:s,s:o,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s}", "id", c->id, "method", c->method->label,
                        "axes", axes, "kind", c->method->kind, "family", w->family->name, "variant", c->variant->name,
                        "tag", c->variant->tag, "backend", c->variant->backend == RB_CUDA ? "cuda" : "cpu", "source",
                        plugin ? plugin : rb_source_hash(w->family->name, c->variant->backend), "status",
                        rb_case_status_name(r->status), "reason", r->reason);
  if (!r->ran) return j;
  if (r->inputs) json_object_set(j, "inputs", r->inputs);
  add_outcome(j, &r->outcome, r->status == RB_CASE_VALID);
  if (!r->timed) return j;
  if (r->status == RB_CASE_VALID) add_timing(j, r);
  if (r->status == RB_CASE_VALID && r->counted) add_counters(j, r);
  json_object_set_new(j, "memory_peak_bytes", json_integer((json_int_t)r->memory_peak));
  json_object_set_new(j, "clocks",
                      json_pack("{s:o,s:o}", "before", r->has_clocks ? clocks(&r->before) : json_null(), "after",
                                r->has_clocks ? clocks(&r->after) : json_null()));
  return j;
}

void rb_case_result_free(rb_case_result *r) {
  json_decref(r->inputs);
  r->inputs = NULL;
  rb_outcome_free(&r->outcome);
}
