/* SPDX-License-Identifier: BSD-3-Clause */
/* Verdicts, comparisons, CSV: against values worked out by hand. */
#include "tests/cmocka_all.h"

#include "experiments/runner/report/signed_rank.h"
#include "experiments/runner/report/compare.h"
#include "experiments/runner/record/record.h"
#include "experiments/runner/report/table.h"
#include "experiments/runner/report/verdict.h"
#include "tests/runner/small_record.h"

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

static void cells(void **s) {
  (void)s;
  json_t *r = a_record();
  rb_judged j;
  assert_int_equal(rb_judged_open(r, "test", &j), RB_OK);
  const rb_column *error = &j.descriptor->columns[0], *time = &j.descriptor->columns[1];
  const json_t *cases = json_object_get(r, "cases");
  assert_int_equal(rb_judge_cell(&j, json_array_get(cases, 0), error),
                   RB_DIFFERS); /* 9.82e-3 against 9.9e-3 +- 5e-5 */
  assert_true(rb_cell_within_a_unit(&j, json_array_get(cases, 0), error));
  assert_false(rb_cell_within_a_unit(&j, json_array_get(cases, 1), error));
  double tolerance = 0.004; /* +- 9e-5 with it */
  rb_column wider = *error;
  wider.tolerance = &tolerance;
  assert_int_equal(rb_judge_cell(&j, json_array_get(cases, 0), &wider), RB_REPRODUCED);
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
      cmocka_unit_test(times_of_a_throttled_gpu_are_not_judged),
      cmocka_unit_test(published_values_are_a_machine),
      cmocka_unit_test(pictures_that_are_drawn_stay),
      cmocka_unit_test(what_was_not_run_is_printed),
      cmocka_unit_test(incomparable_fields_are_named),
      cmocka_unit_test(csv_rows_must_fit),
      cmocka_unit_test(human_units),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
