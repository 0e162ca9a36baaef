#include "experiments/runner/report/compare.h"

#include "experiments/runner/exit_codes.h"
#include "experiments/runner/record.h"
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

const char *rb_incomparable_field(const json_t *ra, const json_t *a, const json_t *rb, const json_t *b) {
  static const char *const fields[] = {"kind", "axes", "method", "variant"};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
    if (json_object_get(a, fields[i]) && json_object_get(b, fields[i]) && !json_equal(json_object_get(a, fields[i]), json_object_get(b, fields[i])))
      return fields[i]; /* published cases name no variant */
  if (json_object_get(a, "data") && json_object_get(b, "data") && !json_equal(json_object_get(a, "data"), json_object_get(b, "data"))) return "data";
  const json_t *pa = json_object_get(ra, "protocol"), *pb = json_object_get(rb, "protocol");
  if (pa && pb && !json_equal(json_object_get(pa, "cache"), json_object_get(pb, "cache"))) return "protocol.cache";
  return NULL;
}

/* What is printed leaves open: half a unit of the last digit to either side, all to one side of a bound (">2200"); nothing of what was measured. */
static void interval_of(const json_t *c, const char *metric, double *low, double *high) {
  const char *printed = rb_json_text(json_object_get(json_object_get(c, "metrics"), metric), "printed", "");
  const double value = rb_json_metric(c, metric), off = *printed ? rb_printed_unit(printed) / 2 : 0;
  char bound = '\0';
  if (*printed) rb_printed_number(printed, &bound);
  *low = bound == '<' ? 0 : bound ? value : value - off;
  *high = bound == '>' ? INFINITY : bound ? value : value + off;
}

/* Median and its interval, of a printed time what its text leaves open. */
static void times_of(const json_t *c, double t[3]) {
  const json_t *timing = json_object_get(c, "timing");
  t[0] = rb_json_metric(c, "time");
  interval_of(c, "time", &t[1], &t[2]);
  if (!timing) return;
  t[1] = json_number_value(json_object_get(timing, "low"));
  t[2] = json_number_value(json_object_get(timing, "high"));
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
    const char *unit = strcmp(column->metric, "time") == 0 ? "s" : strcmp(column->metric, "bandwidth") == 0 ? "B/s" : "1";
    json_object_set_new(metrics, column->metric, json_pack("{s:f,s:s,s:s,s:s}", "value", rb_printed_number(printed, &bound), "unit", unit, "formula", "as printed", "printed", printed));
  }
  return metrics;
}
static json_t *published_by(const rb_judged *j, const json_t *record, const json_t *of, const char *machine) {
  json_t *cases = json_array(), *c;
  size_t i;
  json_array_foreach((json_t *)of, i, c) {
    json_t *metrics = printed_metrics(j, c, machine);
    if (json_object_size(metrics))
      json_array_append_new(cases, json_pack("{s:O,s:O,s:O,s:O,s:s,s:s,s:s,s:o}", "id", json_object_get(c, "id"), "method", json_object_get(c, "method"),
                                             "axes", json_object_get(c, "axes"), "kind", json_object_get(c, "kind"), "source", "published", "status",
                                             "valid", "reason", "", "metrics", metrics));
    else
      json_decref(metrics);
  }
  json_t *out = json_pack("{s:s,s:s,s:O,s:O,s:s,s:{s:s,s:s},s:o}", "schema", RB_RECORD_SCHEMA, "schema_version", RB_RECORD_VERSION, "experiment",
                          json_object_get(record, "experiment"), "descriptor", json_object_get(record, "descriptor"), "preset", "published", "machine", "name", machine,
                          "slug", "published", "cases", cases);
  if (out && json_object_get(record, "published")) json_object_set(out, "published", json_object_get(record, "published"));
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
    json_array_foreach(all, i, c)
      for (unsigned k = 0; k < j.descriptor->columns_count; k++)
        if (rb_published_value(&j, c, j.descriptor->columns[k].name, &machine)) json_object_set_new(machines, machine, json_true());
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

static void row(rb_table *t, const char *id, const double a[3], const double b[3], const double ratio[3], const char *verdict) {
  char left[32], right[32];
  if (rb_table_row(t) != RB_OK) return;
  rb_human(a[0], "s", left, sizeof left);
  rb_human(b[0], "s", right, sizeof right);
  rb_table_set(t, 0, "%s", id);
  rb_table_set(t, 1, "%s", left);
  rb_table_set(t, 2, "%s", right);
  if (ratio[0] == ratio[0]) rb_table_set(t, 3, "%.3f [%.3f, %.3f]", ratio[0], ratio[1], ratio[2]);
  rb_table_set(t, 4, "%s", verdict);
}

/* A row a case that both have and both timed, or of which bandwidths are known; grows `counts`. How many. */
static int compare_cases(const json_t *a, const json_t *b, double delta, rb_table *t, int counts[5], int *incomparable) {
  size_t i;
  json_t *c;
  int compared = 0;
  json_array_foreach(json_object_get(a, "cases"), i, c) {
    const json_t *other = case_of(b, rb_json_text(c, "id", ""));
    double ta[3], tb[3], ratio[3] = {NAN, NAN, NAN};
    if (!other) continue;
    times_of(c, ta);
    times_of(other, tb);
    if (ta[0] != ta[0] || tb[0] != tb[0]) { /* bandwidths of published tables: ratio of rates turned into one of times */
      double ba = rb_json_metric(c, "bandwidth"), bb = rb_json_metric(other, "bandwidth");
      if (ba != ba || bb != bb) continue;
      const json_t *timing = json_object_get(c, "timing");
      double bytes = ba * ta[0];
      if (!timing || !(bytes > 0)) continue;
      double low, high;
      interval_of(other, "bandwidth", &low, &high);
      tb[0] = bytes / bb, tb[1] = bytes / high, tb[2] = bytes / low;
    }
    const char *field = rb_incomparable_field(a, c, b, other);
    char text[96];
    compared++;
    if (field) {
      ++*incomparable;
      snprintf(text, sizeof text, "not comparable: %s differs", field);
      row(t, rb_json_text(c, "id", ""), ta, tb, ratio, text);
      continue;
    }
    rb_compare_verdict v = rb_compare_times(ta, tb, delta, ratio);
    counts[v]++;
    row(t, rb_json_text(c, "id", ""), ta, tb, ratio, rb_compare_name(v));
  }
  return compared;
}

static void experiment_of(const json_t *record, char *out, size_t size) {
  const json_t *e = json_object_get(record, "experiment");
  snprintf(out, size, "%.60s/%.90s", rb_json_text(e, "paper", ""), rb_json_text(e, "name", ""));
}

/* One table; `counts` grow by it. Cases compared, or -1. */
static int compare_pair(const json_t *a, const json_t *b, double delta, rb_format format, int counts[5], int *incomparable) {
  static const char *const heads[] = {"case", "A", "B", "B / A [95 %]", "B is"};
  rb_table t;
  char title[512];
  rb_table_init(&t, 5);
  if (rb_table_row(&t) != RB_OK) return -1;
  for (int i = 0; i < 5; i++) rb_table_set(&t, i, "%s", heads[i]);
  const int compared = compare_cases(a, b, delta, &t, counts, incomparable);
  snprintf(title, sizeof title, "A: %.120s (%.20s)   B: %.120s (%.20s)   delta %.3g", rb_json_text(json_object_get(a, "machine"), "name", "?"),
           rb_json_text(a, "preset", "?"), rb_json_text(json_object_get(b, "machine"), "name", "?"), rb_json_text(b, "preset", "?"), delta);
  rb_table_print(&t, format, title, stdout);
  rb_table_free(&t);
  return compared;
}

int rb_compare(const char *path_a, const char *path_b, double delta, rb_format format) {
  json_t *a = NULL, *all = NULL, *b;
  char ea[160], eb[160];
  int counts[5] = {0}, incomparable = 0, compared = 0, code = RB_EXIT_USAGE;
  size_t i;
  if (rb_record_load(path_a, &a) != RB_OK) goto failed;
  if (strcmp(path_b, "published") == 0) {
    all = rb_published_records(a, path_a); /* one for each machine that printed values stem from */
    if (!json_array_size(all) && rb_message()[0] == '\0') RB_FAIL(RB_ENOTFOUND, "%s has no published values", path_a);
    if (!json_array_size(all)) goto failed;
  } else {
    if (rb_record_load(path_b, &b) != RB_OK) goto failed;
    all = json_pack("[o]", b);
  }
  experiment_of(a, ea, sizeof ea);
  json_array_foreach(all, i, b) {
    experiment_of(b, eb, sizeof eb);
    if (strcmp(ea, eb) != 0) {
      fprintf(stderr, "regbench compare: not comparable: experiment differs (%s, %s)\n", ea, eb);
      code = RB_EXIT_NOT_COMPARABLE;
      goto done;
    }
    const int more = compare_pair(a, b, delta, format, counts, &incomparable);
    if (more < 0) goto failed;
    compared += more;
  }
  if (format != RB_CSV)
    printf("%d compared: %d FASTER, %d SLOWER, %d SAME, %d AMBIGUOUS, %d not comparable\n", compared, counts[RB_FASTER], counts[RB_SLOWER],
           counts[RB_SAME], counts[RB_AMBIGUOUS], incomparable + counts[RB_INCOMPARABLE]);
  code = compared == 0 ? RB_EXIT_NOTHING : counts[RB_SLOWER] ? RB_EXIT_REGRESSION : incomparable + counts[RB_INCOMPARABLE] == compared ? RB_EXIT_NOT_COMPARABLE : RB_EXIT_OK;
  goto done;
failed:
  fprintf(stderr, "regbench compare: %s\n", rb_message());
done:
  json_decref(all);
  json_decref(a);
  return code;
}
