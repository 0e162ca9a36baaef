/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/report/compare.h"

#include "experiments/runner/record/record.h"
#include "experiments/runner/report/rejudge.h"
#include "experiments/runner/report/verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

rb_compare_verdict rb_compare_times(const double a[3], const double b[3], double delta, double ratio[3]) {
  ratio[0] = b[0] / a[0];
  ratio[1] = b[1] / a[2];
  ratio[2] = b[2] / a[1];
  if (!(ratio[0] > 0) || !isfinite(ratio[0]) || isnan(ratio[1]) || isnan(ratio[2])) return RB_INCOMPARABLE;
  double low = 1 / (1 + delta), high = 1 + delta;
  if (ratio[1] > high) return RB_SLOWER;
  if (ratio[2] < low) return RB_FASTER;
  if (ratio[1] >= low && ratio[2] <= high) return RB_SAME;
  return RB_AMBIGUOUS;
}

const char *rb_compare_name(rb_compare_verdict v) {
  static const char *const names[] = {"FASTER", "SLOWER", "SAME", "AMBIGUOUS", "not comparable"};
  return names[v];
}

/* Whether both tell their input files and these differ, whatever they are called. */
static int inputs_differ(const json_t *a, const json_t *b) {
  const json_t *fa = json_object_get(a, "inputs"), *fb = json_object_get(b, "inputs");
  if (!fa || !fb) return 0; /* records of before 1.6 */
  if (json_array_size(fa) != json_array_size(fb)) return 1;
  for (size_t i = 0; i < json_array_size(fa); i++)
    if (strcmp(rb_json_text(json_array_get(fa, i), "sha256", ""),
               rb_json_text(json_array_get(fb, i), "sha256", "")) != 0)
      return 1;
  return 0;
}

const char *rb_incomparable_field(const json_t *ra, const json_t *a, const json_t *rb, const json_t *b) {
  static const char *const fields[] = {"kind", "axes", "method", "variant"};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
    if (json_object_get(a, fields[i]) && json_object_get(b, fields[i]) &&
        !json_equal(json_object_get(a, fields[i]), json_object_get(b, fields[i])))
      return fields[i]; /* published cases name no variant */
  const char *da = rb_json_text(json_object_get(a, "data"), "sha256", NULL),
             *db = rb_json_text(json_object_get(b, "data"), "sha256", NULL);
  if (da && db && strcmp(da, db) != 0) return "data"; /* what is in the files; older records leave out their names */
  if (inputs_differ(a, b)) return "inputs";
  const json_t *pa = json_object_get(ra, "protocol"), *pb = json_object_get(rb, "protocol");
  if (pa && pb && !json_equal(json_object_get(pa, "cache"), json_object_get(pb, "cache"))) return "protocol.cache";
  return NULL;
}

/* What is printed leaves open: half a unit of the last digit to either side, all to one side of a bound (">2200");
 * nothing of what was measured. */
static void interval_of(const json_t *c, const char *metric, double *low, double *high) {
  const char *printed = rb_json_text(json_object_get(json_object_get(c, "metrics"), metric), "printed", "");
  const double value = rb_json_metric(c, metric), off = *printed ? rb_printed_unit(printed) / 2 : 0;
  char bound = '\0';
  if (*printed) rb_printed_number(printed, &bound);
  *low = bound == '<' ? 0 : bound ? value : value - off;
  *high = bound == '>' ? INFINITY : bound ? value : value + off;
}

/* Median and its interval, of a printed time what its text leaves open. Whether there are too few samples for one. */
static int times_of(const json_t *c, double t[3]) {
  const json_t *timing = json_object_get(c, "timing");
  t[0] = rb_json_metric(c, "time");
  interval_of(c, "time", &t[1], &t[2]);
  if (!timing) return 0;
  t[1] = json_number_value(json_object_get(timing, "low"));
  t[2] = json_number_value(json_object_get(timing, "high"));
  return json_array_size(json_object_get(timing, "samples")) < RB_COMPARE_LEAST_SAMPLES;
}

/* What `machine` is printed with for a case, by metric. */
static json_t *printed_metrics(const rb_judged *j, const json_t *c, const char *wanted) {
  json_t *metrics = json_object();
  const char *machine;
  char bound;
  for (unsigned k = 0; k < j->descriptor->columns_count; k++) {
    const rb_column *column = &j->descriptor->columns[k];
    const char *printed = rb_published_value(j, c, column->name, &machine);
    if (!printed || strcmp(machine, wanted) != 0) continue;
    const char *unit = strcmp(column->metric, "time") == 0        ? "s"
                       : strcmp(column->metric, "bandwidth") == 0 ? "B/s"
                                                                  : "1";
    json_object_set_new(metrics, column->metric,
                        json_pack("{s:f,s:s,s:s,s:s}", "value", rb_printed_number(printed, &bound), "unit", unit,
                                  "formula", "as printed", "printed", printed));
  }
  return metrics;
}
static json_t *published_by(const rb_judged *j, const json_t *record, const json_t *of, const char *machine) {
  json_t *cases = json_array(), *c;
  size_t i;
  json_array_foreach((json_t *)of, i, c) {
    json_t *metrics = printed_metrics(j, c, machine);
    if (json_object_size(metrics))
      json_array_append_new(cases, json_pack("{s:O,s:O,s:O,s:O,s:s,s:s,s:s,s:o}", "id", json_object_get(c, "id"),
                                             "method", json_object_get(c, "method"), "axes",
                                             json_object_get(c, "axes"), "kind", json_object_get(c, "kind"), "source",
                                             "published", "status", "valid", "reason", "", "metrics", metrics));
    else
      json_decref(metrics);
  }
  json_t *out = json_pack("{s:s,s:s,s:O,s:O,s:s,s:{s:s,s:s},s:o}", "schema", RB_RECORD_SCHEMA, "schema_version",
                          RB_RECORD_VERSION, "experiment", json_object_get(record, "experiment"), "descriptor",
                          json_object_get(record, "descriptor"), "preset", "published", "machine", "name", machine,
                          "slug", "published", "cases", cases);
  if (out && json_object_get(record, "published"))
    json_object_set(out, "published", json_object_get(record, "published"));
  return out;
}

json_t *rb_published_records(const json_t *record, const char *origin) {
  rb_judged j;
  json_t *machines = json_object(), *all = json_array(), *c, *value, *out = json_array();
  const char *machine;
  size_t i;
  if (rb_judged_open((json_t *)record, origin, &j) == RB_OK) {
    json_array_extend(all, json_object_get(record, "cases"));
    for (unsigned m = 0; m < j.descriptor->methods_count; m++) {
      json_t *printed = rb_judged_printed(&j, j.descriptor->methods[m].label);
      json_array_extend(all, printed);
      json_decref(printed);
    }
    json_array_foreach(all, i, c) for (unsigned k = 0; k < j.descriptor->columns_count;
                                       k++) if (rb_published_value(&j, c, j.descriptor->columns[k].name, &machine))
        json_object_set_new(machines, machine, json_true());
  }
  json_object_foreach(machines, machine, value) json_array_append_new(out, published_by(&j, record, all, machine));
  rb_judged_close(&j);
  json_decref(all);
  json_decref(machines);
  return out;
}

static const json_t *case_of(const json_t *record, const char *id) {
  size_t i;
  json_t *c;
  json_array_foreach(json_object_get(record, "cases"), i, c) {
    if (strcmp(rb_json_text(c, "id", ""), id) == 0) return c;
  }
  return NULL;
}

static void row(rb_table *t, const char *id, const double a[3], const double b[3], const double ratio[3], int assumed,
                const char *verdict) {
  char left[32], right[32];
  if (rb_table_row(t) != RB_OK) return;
  rb_format_value(a[0], "s", left, sizeof left);
  rb_format_value(b[0], "s", right, sizeof right);
  rb_table_set(t, 0, "%s", id);
  rb_table_set(t, 1, "%s", left);
  rb_table_set(t, 2, "%s", right);
  if (ratio[0] == ratio[0])
    rb_table_set(t, 3, "%.3f [%.3f, %.3f]%s", ratio[0], ratio[1], ratio[2], assumed ? "*" : "");
  rb_table_set(t, 4, "%s", verdict);
}

/* B's interval, so wide that the ratio's is at least as wide as is assumed. */
static void assume_spread(double tb[3]) {
  tb[1] = fmin(tb[1], (1 - RB_COMPARE_ASSUMED) * tb[0]);
  tb[2] = fmax(tb[2], (1 + RB_COMPARE_ASSUMED) * tb[0]);
}

/* A case that A timed and B did not: to drop it would let a kernel that went wrong pass. */
static void lost_case(const json_t *c, const json_t *other, const double ta[3], rb_table *t, rb_comparison *sum) {
  const double none[3] = {NAN, NAN, NAN};
  const char *status = other ? rb_json_text(other, "status", "?") : "not in B";
  char text[300];
  if (other && strcmp(status, "invalid") == 0)
    sum->wrong++;
  else
    sum->lost++;
  snprintf(text, sizeof text, "LOST: %.60s%s%.200s", status, other ? ": " : "",
           other ? rb_json_text(other, "reason", "") : "");
  row(t, rb_json_text(c, "id", ""), ta, none, none, 0, text);
}

/* B's time by its printed bandwidth and A's bytes: the ratio of rates turned into one of times. 0: there is no such.
 */
static int by_bandwidth(const json_t *c, const json_t *other, const double ta[3], double tb[3]) {
  const double bytes = rb_json_metric(c, "bandwidth") * ta[0], theirs = rb_json_metric(other, "bandwidth");
  double low, high;
  if (!json_object_get(c, "timing") || !(bytes > 0) || theirs != theirs) return 0;
  interval_of(other, "bandwidth", &low, &high);
  tb[0] = bytes / theirs, tb[1] = bytes / high, tb[2] = bytes / low;
  return 1;
}

static int is_printed(const json_t *record) { return strcmp(rb_json_text(record, "preset", ""), "published") == 0; }

rb_timed_pair rb_timed_pair_of(const rb_judged *a, const json_t *c, const rb_judged *b) {
  rb_timed_pair p = {.kind = RB_PAIR_NONE, .b = {NAN, NAN, NAN}};
  p.other = case_of(b->record, rb_json_text(c, "id", ""));
  const int printed =
      is_printed(a->record) || is_printed(b->record); /* what a paper has not, or nobody can run here, is no loss */
  const int there = p.other && strcmp(rb_json_text(p.other, "status", ""), "valid") == 0;
  p.assumed = times_of(c, p.a);
  if (there) p.assumed |= times_of(p.other, p.b);
  if (p.b[0] != p.b[0] && !(there && by_bandwidth(c, p.other, p.a, p.b))) {
    if (p.a[0] == p.a[0] && !printed) p.kind = RB_PAIR_LOST;
    return p;
  }
  if (p.a[0] != p.a[0]) return p; /* B alone has it */
  p.field = rb_incomparable_field(a->record, c, b->record, p.other);
  if (!p.field) p.field = rb_method_difference(a->descriptor, b->descriptor, rb_json_text(c, "method", ""));
  if (!p.field && (rb_case_is_slowed(c) || rb_case_is_slowed(p.other))) p.field = "throttling";
  p.kind = p.field ? RB_PAIR_DIFFERS : RB_PAIR_TIMED;
  if (p.assumed && !p.field) assume_spread(p.b);
  return p;
}

/* One case of A beside B's of the same id. */
static void compare_case(const rb_judged *a, const json_t *c, const rb_judged *b, double delta, rb_table *t,
                         rb_comparison *sum) {
  const char *id = rb_json_text(c, "id", "");
  const rb_timed_pair p = rb_timed_pair_of(a, c, b);
  double ratio[3] = {NAN, NAN, NAN};
  char text[96];
  if (p.kind == RB_PAIR_LOST) lost_case(c, p.other, p.a, t, sum);
  if (p.kind == RB_PAIR_NONE || p.kind == RB_PAIR_LOST) return;
  sum->compared++;
  if (p.kind == RB_PAIR_DIFFERS) {
    sum->incomparable++;
    snprintf(text, sizeof text, "not comparable: %s differs", p.field);
    row(t, id, p.a, p.b, ratio, 0, text);
    return;
  }
  const rb_compare_verdict v = rb_compare_times(p.a, p.b, delta, ratio);
  sum->verdicts[v]++;
  sum->ambiguous_slower += v == RB_AMBIGUOUS && ratio[0] > 1 + delta;
  sum->assumed += p.assumed;
  row(t, id, p.a, p.b, ratio, p.assumed, rb_compare_name(v));
}

static void experiment_of(const json_t *record, char *out, size_t size) {
  const json_t *e = json_object_get(record, "experiment");
  snprintf(out, size, "%.60s/%.90s", rb_json_text(e, "paper", ""), rb_json_text(e, "name", ""));
}

/* One table of two records. */
static rb_status compare_pair(const rb_judged *a, const json_t *record_b, const char *origin,
                              const rb_compare_options *o, rb_comparison *sum) {
  static const char *const heads[] = {"case", "A", "B", "B / A [95 %]", "B is"};
  rb_status st = RB_OK;
  rb_judged b = {0};
  rb_table t;
  char title[512];
  size_t i;
  json_t *c;
  rb_table_init(&t, 5);
  RB_TRY(rb_judged_open((json_t *)record_b, origin, &b));
  RB_TRY(rb_table_row(&t));
  for (int k = 0; k < 5; k++) rb_table_set(&t, k, "%s", heads[k]);
  json_array_foreach(json_object_get(a->record, "cases"), i, c) compare_case(a, c, &b, o->delta, &t, sum);
  snprintf(title, sizeof title, "A: %.120s (%.20s)   B: %.120s (%.20s)   delta %.3g",
           rb_json_text(json_object_get(a->record, "machine"), "name", "?"), rb_json_text(a->record, "preset", "?"),
           rb_json_text(json_object_get(record_b, "machine"), "name", "?"), rb_json_text(record_b, "preset", "?"),
           o->delta);
  if (t.rows > 1)
    rb_table_print(&t, o->format, title, o->out); /* not every printed machine has times of these cases */
done:
  rb_table_free(&t);
  rb_judged_close(&b);
  return st;
}

/* The records that stand on B's side: one, or one for each machine that printed values stem from. New reference. */
static rb_status load_others(const json_t *a, const char *path_a, const char *path_b, json_t **out) {
  rb_status st = RB_OK;
  json_t *b = NULL;
  *out = NULL;
  if (strcmp(path_b, "published") == 0) {
    *out = rb_published_records(a, path_a);
    if (!json_array_size(*out))
      st = rb_message()[0] ? RB_EFORMAT : RB_FAIL(RB_ENOTFOUND, "%s has no published values", path_a);
    return st;
  }
  RB_TRY(rb_record_load(path_b, &b));
  *out = json_pack("[o]", b);
done:
  return st;
}

rb_status rb_compare(const char *path_a, const char *path_b, const rb_compare_options *o, rb_comparison *out) {
  rb_status st = RB_OK;
  json_t *record = NULL, *all = NULL, *other;
  rb_judged a = {0};
  char ea[160], eb[160];
  size_t i;
  *out = (rb_comparison){0};
  RB_TRY(rb_record_load(path_a, &record));
  RB_TRY(load_others(record, path_a, path_b, &all));
  experiment_of(record, ea, sizeof ea);
  json_array_foreach(all, i, other) {
    experiment_of(other, eb, sizeof eb);
    if (strcmp(ea, eb) == 0) continue;
    snprintf(out->different, sizeof out->different, "%s, %s", ea, eb);
    goto done;
  }
  RB_TRY(rb_judged_open(record, path_a, &a));
  json_array_foreach(all, i, other) RB_TRY(compare_pair(&a, other, path_b, o, out));
done:
  rb_judged_close(&a);
  json_decref(all);
  json_decref(record);
  return st;
}
