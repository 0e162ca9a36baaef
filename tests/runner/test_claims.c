/* SPDX-License-Identifier: BSD-3-Clause */
/* Claims: against verdicts worked out by hand. */
#include "tests/cmocka_all.h"

#include "experiments/runner/record/record.h"
#include "experiments/runner/report/table.h"
#include "experiments/runner/report/verdict.h"
#include "tests/runner/small_record.h"

#include <math.h>
#include <string.h>

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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(claims),
      cmocka_unit_test(claims_across_axes),
      cmocka_unit_test(claims_about_printed_values),
      cmocka_unit_test(an_invalid_case_keeps_a_claim_from_holding),
      cmocka_unit_test(claims_about_spreads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
