/* SPDX-License-Identifier: BSD-3-Clause */
/* Verdicts, comparisons, CSV: against values worked out by hand. */
#include "tests/cmocka_all.h"

#include "experiments/runner/report/signed_rank.h"
#include "experiments/runner/report/compare.h"
#include "experiments/runner/record/record.h"
#include "experiments/runner/report/table.h"
#include "experiments/runner/report/verdict.h"

#include <math.h>
#include <string.h>

static void printed_units(void **s) {
  (void)s;
  assert_true(fabs(rb_printed_unit("9.9e-3") - 1e-4) < 1e-12);
  assert_true(fabs(rb_printed_unit("2.75") - 0.01) < 1e-12);
  assert_true(rb_printed_unit("221") == 1);
  assert_true(rb_printed_unit("570e9") == 1e9);
  char bound;
  assert_true(rb_printed_number("2200", &bound) == 2200 && !bound);
  assert_true(rb_printed_number(">2200", &bound) == 2200 && bound == '>');
  assert_true(rb_printed_number("<1e-3", &bound) == 1e-3 && bound == '<');
}

static void comparisons(void **s) {
  (void)s;
  const double a[3] = {1, 0.99, 1.01};
  const double same[3] = {1.01, 1.0, 1.02}, slow[3] = {1.2, 1.19, 1.21}, fast[3] = {0.5, 0.49, 0.51},
               vague[3] = {1.05, 0.9, 1.3};
  double r[3];
  assert_int_equal(rb_compare_times(a, same, 0.05, r), RB_SAME);
  assert_int_equal(rb_compare_times(a, slow, 0.05, r), RB_SLOWER);
  assert_true(fabs(r[0] - 1.2) < 1e-12 && r[1] < r[0] && r[2] > r[0]);
  assert_int_equal(rb_compare_times(a, fast, 0.05, r), RB_FASTER);
  assert_int_equal(rb_compare_times(a, vague, 0.05, r), RB_AMBIGUOUS);
  const double above[3] = {1.2, 1.2, INFINITY}, below[3] = {0.5, 0, 0.5},
               none[3] = {NAN, NAN, NAN}; /* printed bounds; nothing */
  assert_int_equal(rb_compare_times(a, above, 0.05, r), RB_SLOWER);
  assert_int_equal(rb_compare_times(a, below, 0.05, r), RB_FASTER);
  assert_int_equal(rb_compare_times(a, none, 0.05, r), RB_INCOMPARABLE);
}

static const char descriptor[] =
    "schema: 1\npaper: p\nname: n\ntitle: t\nsource: s\ncache: warm\n"
    "methods:\n  - {label: A, kind: interp, variant: cpu/omp, basis: linear}\n  - {label: B, kind: interp, variant: "
    "cpu/ref, basis: linear}\n"
    "axes:\n  - {name: size, quick: [\"64\", \"128\"]}\n"
    "columns:\n  - {name: error, metric: error_rms, title: e, class: numeric}\n  - {name: t, metric: time, title: t, "
    "class: hardware}\n"
    "claims:\n"
    "  - {id: c1, text: x, metric: time, left: A, right: B, relation: \"<=\", factor: 0.5}\n"
    "  - {id: c2, text: x, metric: time, left: A, right: B, relation: \">=\", factor: 1, axis: size, values: "
    "[\"64\"]}\n"
    "  - {id: c3, text: x, metric: error_rms, left: A, right: \"0.01\", relation: \"<=\", factor: 1, axis: size, "
    "values: [\"256\"]}\n"
    "  - {id: c4, text: x, metric: time, left: A, right: B, relation: \"<=\", factor: 0.5, where: \"size=64\"}\n"
    "  - {id: c5, text: x, metric: error_rms, left: A, right: published, relation: \"<=\", factor: 1}\n"
    "  - {id: c6, text: x, metric: error_rms, left: A, right: published, relation: \"<=\", factor: 1, where: "
    "\"size=64\"}\n";
static const char published[] =
    "# a comment\nmachine,size,method,error,t\nOld GPU,64,A,9.9e-3,1e-3\nOld "
    "GPU,128,A,7.2e-4,\nHere,64,B,2.6e-2,2e-3\n";

static json_t *a_case(const char *method, const char *size, double error, double time) {
  char id[64];
  snprintf(id, sizeof id, "%s size=%s", method, size);
  return json_pack("{s:s,s:s,s:{s:s},s:s,s:s,s:s,s:{s:{s:f,s:s},s:{s:f,s:s}},s:{s:f,s:f}}", "id", id, "method",
                   method, "axes", "size", size, "kind", "interp", "status", "valid", "source", "", "metrics",
                   "error_rms", "value", error, "unit", "1", "time", "value", time, "unit", "s", "timing", "low",
                   time, "high", time);
}

static json_t *a_record(void) {
  return json_pack("{s:s,s:s,s:s,s:s,s:{s:s},s:{s:s},s:[o,o,o,o]}", "schema", "regbench-record", "schema_version",
                   "1.0.0", "descriptor", descriptor, "published", published, "machine", "name", "Here", "experiment",
                   "name", "n", "cases", a_case("A", "64", 9.82e-3, 1e-3), a_case("B", "64", 2.75e-2, 2.0004e-3),
                   a_case("A", "128", 8e-4, 1e-3), a_case("B", "128", 1e-3, 1.5e-3));
}

static void cells(void **s) {
  (void)s;
  json_t *r = a_record();
  rb_judged j;
  assert_int_equal(rb_judged_open(r, "test", &j), RB_OK);
  const rb_column *error = &j.descriptor->columns[0], *time = &j.descriptor->columns[1];
  const json_t *cases = json_object_get(r, "cases");
  assert_int_equal(rb_judge_cell(&j, json_array_get(cases, 0), error),
                   RB_REPRODUCED); /* 9.82e-3 against 9.9e-3 +- 1e-4 */
  assert_int_equal(rb_judge_cell(&j, json_array_get(cases, 1), error),
                   RB_DIFFERS); /* 2.75e-2 against 2.6e-2 +- 1e-3 */
  assert_int_equal(rb_judge_cell(&j, json_array_get(cases, 2), error), RB_DIFFERS);
  assert_int_equal(rb_judge_cell(&j, json_array_get(cases, 3), error), RB_NO_VERDICT);
  assert_int_equal(rb_judge_cell(&j, json_array_get(cases, 0), time), RB_NOT_COMPARABLE); /* another machine */
  assert_int_equal(rb_judge_cell(&j, json_array_get(cases, 1), time),
                   RB_SAME_MACHINE); /* its own: shown, not judged by digits */
  rb_judged_close(&j);
  json_decref(r);
}

static void bounds(void **s) {
  (void)s;
  json_t *r = a_record();
  rb_judged j;
  json_object_set_new(r, "published",
                      json_string("machine,size,method,error,t\nHere,128,B,<1e-3,\nHere,128,A,<1e-3,>1.4e-3\n"));
  assert_int_equal(rb_judged_open(r, "test", &j), RB_OK);
  const rb_column *error = &j.descriptor->columns[0], *time = &j.descriptor->columns[1];
  const json_t *a = json_array_get(json_object_get(r, "cases"), 2),
               *b = json_array_get(json_object_get(r, "cases"), 3);
  assert_int_equal(rb_judge_cell(&j, a, error), RB_REPRODUCED); /* 8e-4 */
  assert_int_equal(rb_judge_cell(&j, b, error), RB_DIFFERS);    /* 1e-3 is not below 1e-3 */
  assert_int_equal(rb_judge_cell(&j, a, time), RB_SAME_MACHINE);
  json_object_set_new(json_object_get(json_object_get(a, "metrics"), "error_rms"), "value",
                      json_null()); /* NaN is no missing value */
  assert_int_equal(rb_judge_cell(&j, a, error), RB_DIFFERS);
  rb_judged_close(&j);
  json_decref(r);
}

/* The same method at another size on the right. */
static void claims_across_axes(void **state) {
  (void)state;
  json_t *r = a_record(), *cases = json_object_get(r, "cases");
  double time[2] = {0};
  for (size_t i = 0; i < json_array_size(cases); i++) {
    const json_t *c = json_array_get(cases, i);
    if (strcmp(rb_json_text(c, "method", ""), "A") == 0)
      time[strcmp(rb_json_text(json_object_get(c, "axes"), "size", ""), "128") == 0] = rb_json_metric(c, "time");
  }
  rb_judged j;
  char why[256];
  assert_int_equal(rb_judged_open(r, "test", &j), RB_OK);
  rb_claim claim = {.id = "c",
                    .text = "x",
                    .metric = "time",
                    .left = "A",
                    .right = "A",
                    .relation = "<=",
                    .where = "size=64",
                    .at = "size=128",
                    .factor = 1.001 * time[0] / time[1]};
  assert_int_equal(rb_judge_claim(&j, &claim, why, sizeof why), RB_HOLDS);
  claim.factor = 0.999 * time[0] / time[1];
  assert_int_equal(rb_judge_claim(&j, &claim, why, sizeof why), RB_FAILS);
  claim.at = "size=256"; /* no such case */
  assert_int_equal(rb_judge_claim(&j, &claim, why, sizeof why), RB_NOT_JUDGED);
  rb_judged_close(&j);
  json_decref(r);
}

/* The verdict of "A's metric at 128 RELATION factor times what is printed". */
static rb_claim_verdict against_printed_times(json_t *r, const char *csv, const char *metric, const char *relation,
                                              double factor, char *why, size_t size) {
  rb_judged j;
  json_object_set_new(r, "published", json_string(csv));
  assert_int_equal(rb_judged_open(r, "test", &j), RB_OK);
  rb_claim claim = {.id = "c",
                    .text = "x",
                    .metric = (char *)metric,
                    .left = "A",
                    .right = "published",
                    .relation = (char *)relation,
                    .factor = factor,
                    .where = "size=128"};
  const rb_claim_verdict v = rb_judge_claim(&j, &claim, why, size);
  rb_judged_close(&j);
  return v;
}

static rb_claim_verdict against_printed(json_t *r, const char *csv, const char *metric, const char *relation,
                                        char *why, size_t size) {
  return against_printed_times(r, csv, metric, relation, 1, why, size);
}

/* A's error at 128 is 8e-4, its time 1e-3 s, on the machine "Here". */
static void claims_about_printed_values(void **s) {
  (void)s;
  json_t *r = a_record();
  char why[256];
  const char *below = "machine,size,method,error,t\nOld GPU,128,A,<1e-3,\n",
             *above = "machine,size,method,error,t\nOld GPU,128,A,>7e-4,\n";
  assert_int_equal(against_printed(r, below, "error_rms", "<=", why, sizeof why),
                   RB_NOT_JUDGED); /* 8e-4 may be above or below something under 1e-3 */
  assert_non_null(strstr(why, "<1e-3"));
  assert_int_equal(against_printed(r, below, "error_rms", ">=", why, sizeof why), RB_NOT_JUDGED);
  assert_int_equal(against_printed(r, above, "error_rms", "<=", why, sizeof why), RB_NOT_JUDGED);
  above = "machine,size,method,error,t\nOld GPU,128,A,>9e-4,\n";
  assert_int_equal(against_printed(r, above, "error_rms", "<=", why, sizeof why), RB_HOLDS);
  assert_int_equal(against_printed(r, above, "error_rms", ">=", why, sizeof why), RB_FAILS);
  below = "machine,size,method,error,t\nOld GPU,128,A,<7e-4,\n";
  assert_int_equal(against_printed(r, below, "error_rms", ">=", why, sizeof why), RB_HOLDS);
  assert_int_equal(against_printed(r, below, "error_rms", "<=", why, sizeof why), RB_FAILS);
  above = "machine,size,method,error,t\nOld GPU,128,A,>8e-4,\n"; /* more than 8e-4 is not 8e-4 */
  assert_int_equal(against_printed(r, above, "error_rms", ">=", why, sizeof why), RB_FAILS);
  assert_int_equal(against_printed(r, above, "error_rms", "<=", why, sizeof why), RB_HOLDS);
  below = "machine,size,method,error,t\nOld GPU,128,A,<8e-4,\n";
  assert_int_equal(against_printed(r, below, "error_rms", "<=", why, sizeof why), RB_FAILS);
  assert_int_equal(against_printed(r, below, "error_rms", ">=", why, sizeof why), RB_HOLDS);
  /* a factor goes with the bound: 8e-4 is at most half of what is above 1.7e-3, and nobody knows for what is
   * above 1.5e-3 */
  assert_int_equal(against_printed_times(r, "machine,size,method,error,t\nOld GPU,128,A,>1.7e-3,\n", "error_rms",
                                         "<=", 0.5, why, sizeof why),
                   RB_HOLDS);
  assert_int_equal(against_printed_times(r, "machine,size,method,error,t\nOld GPU,128,A,>1.5e-3,\n", "error_rms",
                                         "<=", 0.5, why, sizeof why),
                   RB_NOT_JUDGED);
  /* a time is held to this machine's alone */
  assert_int_equal(
      against_printed(r, "machine,size,method,error,t\nOld GPU,128,A,,2e-3\n", "time", "<=", why, sizeof why),
      RB_NOT_JUDGED);
  assert_non_null(strstr(why, "Old GPU"));
  assert_int_equal(
      against_printed(r, "machine,size,method,error,t\nHere,128,A,,2e-3\n", "time", "<=", why, sizeof why), RB_HOLDS);
  assert_int_equal(
      against_printed(r, "machine,size,method,error,t\nHere,128,A,,5e-4\n", "time", "<=", why, sizeof why), RB_FAILS);
  json_decref(r);
}

/* A case whose output was wrong does not drop out of a claim in silence. */
static void an_invalid_case_keeps_a_claim_from_holding(void **s) {
  (void)s;
  json_t *r = a_record(), *wrong = json_array_get(json_object_get(r, "cases"), 3); /* B at 128 */
  rb_judged j;
  char why[256];
  assert_int_equal(rb_judged_open(r, "test", &j), RB_OK);
  rb_claim claim = {
      .id = "c", .text = "x", .metric = "time", .left = "A", .right = "B", .relation = "<=", .factor = 1};
  assert_int_equal(rb_judge_claim(&j, &claim, why, sizeof why), RB_HOLDS);
  json_object_set_new(wrong, "status", json_string("invalid"));
  json_object_set_new(wrong, "reason", json_string("error is 1, limit 0.1"));
  assert_int_equal(rb_judge_claim(&j, &claim, why, sizeof why), RB_NOT_JUDGED);
  assert_non_null(strstr(why, "B: error is 1"));
  json_object_set_new(wrong, "status", json_string("skipped")); /* not run: the others speak */
  assert_int_equal(rb_judge_claim(&j, &claim, why, sizeof why), RB_HOLDS);
  assert_non_null(strstr(why, "1 of 2 cases"));
  json_object_set_new(wrong, "status", json_string("valid"));
  json_object_set_new(json_array_get(json_object_get(r, "cases"), 2), "status",
                      json_string("invalid")); /* A at 128, on the left */
  assert_int_equal(rb_judge_claim(&j, &claim, why, sizeof why), RB_NOT_JUDGED);
  claim.factor = 0.1; /* what fails fails, and tells of the invalid one */
  assert_int_equal(rb_judge_claim(&j, &claim, why, sizeof why), RB_FAILS);
  assert_non_null(strstr(why, "; 1 invalid"));
  rb_judged_close(&j);
  json_decref(r);
}

/* Both methods at two sizes: the deviation of two values is their difference over the root of two. */
static void claims_about_spreads(void **state) {
  (void)state;
  json_t *r = a_record(), *cases = json_object_get(r, "cases");
  double value[2][2] = {{0}}; /* of A and B, at 64 and 128 */
  for (size_t i = 0; i < json_array_size(cases); i++) {
    const json_t *c = json_array_get(cases, i);
    const int b = strcmp(rb_json_text(c, "method", ""), "B") == 0,
              large = strcmp(rb_json_text(json_object_get(c, "axes"), "size", ""), "128") == 0;
    value[b][large] = rb_json_metric(c, "error_rms");
  }
  const double ratio = fabs(value[0][0] - value[0][1]) / fabs(value[1][0] - value[1][1]);
  rb_judged j;
  char why[256], expected[64];
  assert_int_equal(rb_judged_open(r, "test", &j), RB_OK);
  rb_claim claim = {.id = "c",
                    .text = "x",
                    .metric = "error_rms",
                    .left = "A",
                    .right = "B",
                    .relation = "<=",
                    .spread = "size",
                    .factor = 1.001 * ratio};
  assert_int_equal(rb_judge_claim(&j, &claim, why, sizeof why), RB_HOLDS);
  snprintf(expected, sizeof expected, "over 2 cases: ratio %.3g", ratio);
  assert_non_null(strstr(why, expected));
  claim.factor = 0.999 * ratio;
  assert_int_equal(rb_judge_claim(&j, &claim, why, sizeof why), RB_FAILS);
  claim.relation = ">=";
  assert_int_equal(rb_judge_claim(&j, &claim, why, sizeof why), RB_HOLDS);
  claim.where = "size=64"; /* one value has no spread */
  assert_int_equal(rb_judge_claim(&j, &claim, why, sizeof why), RB_NOT_JUDGED);
  claim.where = NULL;
  json_object_set_new(json_array_get(cases, 3), "status", json_string("invalid")); /* B's would be of fewer cases */
  assert_int_equal(rb_judge_claim(&j, &claim, why, sizeof why), RB_NOT_JUDGED);
  assert_non_null(strstr(why, "1 of 2 of 'B'"));
  rb_judged_close(&j);
  json_decref(r);
}

/* Times of a GPU that held its clocks down are shown; they are judged and compared by nobody. Its errors are. */
static void times_of_a_throttled_gpu_are_not_judged(void **s) {
  (void)s;
  json_t *r = a_record();
  char reason[300];
  rb_judged j;
  json_t *c = json_array_get(json_object_get(r, "cases"), 0), *timing = json_object_get(c, "timing");
  json_object_set_new(timing, "throttled", json_pack("{s:[i,i]}", "power cap", 0, 2));
  assert_int_equal(rb_judged_open(r, "test", &j), RB_OK);
  assert_true(!rb_case_is_slowed(c) && rb_timing_counts(timing, 1) && !rb_timing_counts(timing, 2));
  assert_int_equal(rb_judge_claim(&j, &j.descriptor->claims[3], reason, sizeof reason), RB_HOLDS);
  json_object_set_new(timing, "slowed", json_true());
  assert_true(rb_case_is_slowed(c) && rb_timing_counts(timing, 2));
  assert_true(rb_metric_is_slowed(c, "time") && !rb_metric_is_slowed(c, "error_rms"));
  assert_int_equal(rb_judge_claim(&j, &j.descriptor->claims[3], reason, sizeof reason), RB_NOT_JUDGED);
  assert_non_null(strstr(reason, "throttled"));
  assert_int_equal(rb_judge_claim(&j, &j.descriptor->claims[5], reason, sizeof reason), RB_HOLDS);
  const rb_timed_pair p = rb_timed_pair_of(&j, c, &j);
  assert_true(p.kind == RB_PAIR_DIFFERS && strcmp(p.field, "throttling") == 0);
  rb_judged_close(&j);
  json_decref(r);
}

static void claims(void **s) {
  (void)s;
  json_t *r = a_record();
  rb_judged j;
  char why[256];
  assert_int_equal(rb_judged_open(r, "test", &j), RB_OK);
  assert_int_equal(rb_judge_claim(&j, &j.descriptor->claims[0], why, sizeof why), RB_FAILS); /* 128: 0.67 > 0.5 */
  assert_non_null(strstr(why, "128"));
  assert_int_equal(rb_judge_claim(&j, &j.descriptor->claims[1], why, sizeof why), RB_FAILS);
  assert_int_equal(rb_judge_claim(&j, &j.descriptor->claims[2], why, sizeof why), RB_NOT_JUDGED);
  assert_int_equal(rb_judge_claim(&j, &j.descriptor->claims[3], why, sizeof why),
                   RB_HOLDS); /* the first claim but for 128 */
  assert_int_equal(rb_judge_claim(&j, &j.descriptor->claims[4], why, sizeof why),
                   RB_FAILS); /* 8e-4 at 128, 7.2e-4 printed */
  assert_int_equal(rb_judge_claim(&j, &j.descriptor->claims[5], why, sizeof why), RB_HOLDS);
  assert_null(strstr(why, "STALE"));
  json_object_set_new(json_array_get(json_object_get(r, "cases"), 1), "family",
                      json_string("interp")); /* what a claim rests on may be of other code */
  json_object_set_new(json_array_get(json_object_get(r, "cases"), 1), "source", json_string("other"));
  assert_int_equal(rb_judge_claim(&j, &j.descriptor->claims[0], why, sizeof why), RB_FAILS);
  assert_non_null(strstr(why, "; 1 of 2 STALE"));
  json_t *time = json_object_get(json_object_get(json_array_get(json_object_get(r, "cases"), 0), "metrics"), "time");
  json_object_set_new(time, "value", json_real(3e-3)); /* the first fails by more than the last */
  assert_int_equal(rb_judge_claim(&j, &j.descriptor->claims[0], why, sizeof why), RB_FAILS);
  assert_non_null(strstr(why, "2 of 2 cases, worst A size=64: ratio 1.5"));
  rb_judged_close(&j);
  json_decref(r);
}

static void pictures_that_are_drawn_stay(void **s) {
  (void)s;
  json_t *r = json_pack("{s:[{s:s,s:{s:[i]}},{s:s,s:{s:[i]}},{s:s,s:{s:[i],s:i}}]}", "cases", "status", "invalid",
                        "details", "panels", 1, "status", "valid", "details", "panels", 2, "status", "valid",
                        "details", "panels", 3, "dice", 4);
  const json_t *cases = json_object_get(r, "cases");
  rb_record_keep_drawn_panels(r);
  assert_null(json_object_get(json_object_get(json_array_get(cases, 0), "details"), "panels"));
  assert_non_null(json_object_get(json_object_get(json_array_get(cases, 1), "details"), "panels"));
  assert_null(json_object_get(json_object_get(json_array_get(cases, 2), "details"), "panels"));
  assert_non_null(json_object_get(json_object_get(json_array_get(cases, 2), "details"), "dice"));
  json_decref(r);
}

static void published_values_are_a_machine(void **s) {
  (void)s;
  json_t *r = a_record(), *all = rb_published_records(r, "test"), *p = json_array_get(all, 0);
  assert_int_equal(json_array_size(all), 2);
  assert_string_equal(rb_json_text(json_object_get(p, "machine"), "name", ""), "Old GPU");
  assert_string_equal(rb_json_text(json_object_get(json_array_get(all, 1), "machine"), "name", ""), "Here");
  assert_int_equal(json_array_size(json_object_get(p, "cases")), 2);
  assert_int_equal(json_array_size(json_object_get(json_array_get(all, 1), "cases")), 1);
  assert_true(rb_json_metric(json_array_get(json_object_get(p, "cases"), 0), "time") == 1e-3);
  json_decref(all);
  json_decref(r);
}

/* A method that was not run is printed at the sizes that were, and is a machine's all the same. */
static void what_was_not_run_is_printed(void **s) {
  (void)s;
  json_t *r = a_record(), *all, *rows;
  json_t *cases = json_object_get(r, "cases");
  rb_judged j;
  assert_int_equal(rb_judged_open(r, "test", &j), RB_OK);
  rows = rb_judged_printed(&j, "B");
  assert_int_equal(json_array_size(rows), 0); /* it was run */
  json_decref(rows);
  json_array_remove(cases, 3), json_array_remove(cases, 1);
  rows = rb_judged_printed(&j, "B");
  assert_int_equal(json_array_size(rows), 1);
  assert_string_equal(rb_json_text(json_array_get(rows, 0), "id", ""), "B size=64");
  assert_string_equal(rb_published_value(&j, json_array_get(rows, 0), "error", NULL), "2.6e-2");
  json_decref(rows);
  all = rb_published_records(r, "test");
  assert_int_equal(json_array_size(all), 2);
  json_decref(all);
  json_array_remove(cases, 0); /* 128 alone is left, of which nothing is printed for B */
  rows = rb_judged_printed(&j, "B");
  assert_int_equal(json_array_size(rows), 0);
  json_decref(rows);
  rb_judged_close(&j);
  json_decref(r);
}

static void incomparable_fields_are_named(void **s) {
  (void)s;
  json_t *r = a_record();
  const json_t *cases = json_object_get(r, "cases");
  assert_null(rb_incomparable_field(r, json_array_get(cases, 0), r, json_array_get(cases, 0)));
  assert_string_equal(rb_incomparable_field(r, json_array_get(cases, 0), r, json_array_get(cases, 2)), "axes");
  json_decref(r);
}

static void csv_rows_must_fit(void **s) {
  (void)s;
  rb_csv c;
  assert_int_equal(rb_csv_parse("a,b\n1,2\n3\n", "f.csv", &c), RB_EFORMAT);
  assert_non_null(strstr(rb_message(), "f.csv:3"));
  rb_clear();
  assert_int_equal(rb_csv_parse("a,b\n1,\n", "f.csv", &c), RB_OK);
  assert_string_equal(rb_csv_at(&c, 1, 1), "");
  assert_int_equal(rb_csv_column(&c, "b"), 1);
  assert_int_equal(rb_csv_column(&c, "z"), -1);
  rb_csv_free(&c);
}

static void human_units(void **s) {
  (void)s;
  char t[32];
  rb_format_value(1.234e-4, "s", t, sizeof t);
  assert_string_equal(t, "123.4 us");
  rb_format_value(4.07e12, "B/s", t, sizeof t);
  assert_string_equal(t, "4.07 TB/s");
  rb_format_value(NAN, "s", t, sizeof t);
  assert_string_equal(t, "");
}

/* Counted by hand: five of one sign leave 2 of 32 ways; 1, 2, 3 against -4: 7 of 16 ways have at most 4 on a side.
 * Ties share their ranks, zeros do not count. */
static void signed_ranks(void **state) {
  (void)state;
  const double one_sign[5] = {0.1, 0.5, 0.2, 3, 4}, mixed[4] = {1, 2, 3, -4}, ties[4] = {1, 1, 0, 1}, odd[1] = {NAN};
  assert_float_equal(rb_signed_rank(5, one_sign), 2.0 / 32, 1e-15);
  assert_float_equal(rb_signed_rank(4, mixed), 14.0 / 16, 1e-15);
  assert_float_equal(rb_signed_rank(4, ties), 0.25, 1e-15);
  assert_true(isnan(rb_signed_rank(1, odd)) && isnan(rb_signed_rank(0, NULL)));
  const double sorted[4] = {1, 2, 4, 8};
  assert_float_equal(rb_quantile(4, sorted, 0.5), 3, 0);
  assert_float_equal(rb_quantile(4, sorted, 0.25), 1.75, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(signed_ranks),
      cmocka_unit_test(printed_units),
      cmocka_unit_test(comparisons),
      cmocka_unit_test(cells),
      cmocka_unit_test(bounds),
      cmocka_unit_test(claims),
      cmocka_unit_test(times_of_a_throttled_gpu_are_not_judged),
      cmocka_unit_test(claims_across_axes),
      cmocka_unit_test(claims_about_printed_values),
      cmocka_unit_test(an_invalid_case_keeps_a_claim_from_holding),
      cmocka_unit_test(claims_about_spreads),
      cmocka_unit_test(published_values_are_a_machine),
      cmocka_unit_test(pictures_that_are_drawn_stay),
      cmocka_unit_test(what_was_not_run_is_printed),
      cmocka_unit_test(incomparable_fields_are_named),
      cmocka_unit_test(csv_rows_must_fit),
      cmocka_unit_test(human_units),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
