/* SPDX-License-Identifier: BSD-3-Clause */
/* What a case reports, and the statistics of its times: against values worked out by hand. */
#include "tests/cmocka_all.h"

#include "experiments/runner/record/record.h"
#include "experiments/runner/run/run_case.h"
#include "experiments/runner/workloads/image_statistics.h"
#include "experiments/runner/workloads/workload.h"
#include "kernels/base/statistics.h"
#include "kernels/interp/interp.h"
#include "kernels/registry/registry.h"

#include <math.h>

static void medians_and_intervals(void **s) {
  (void)s;
  double m, lo, hi, nine[9] = {9, 1, 8, 2, 7, 3, 6, 4, 5}, one[1] = {3};
  rb_order_statistics(nine, 9, &m, &lo, &hi);
  assert_true(m == 5 && lo == 1 && hi == 9 && nine[0] == 9); /* ranks 4.5 -+ 2.94: 1 and 9; input untouched */
  assert_true(rb_order_coverage(9) > 0.95 && rb_order_coverage(100) > 0.93);
  assert_true(fabs(rb_order_coverage(3) - 0.75) < 1e-12 && rb_order_coverage(1) == 0);
  rb_order_statistics(one, 1, &m, &lo, &hi);
  assert_true(m == 3 && lo == 3 && hi == 3);
  double hundred[100];
  for (int i = 0; i < 100; i++) hundred[i] = 100 - i;
  rb_order_statistics(hundred, 100, &m, &lo, &hi);
  assert_true(m == 50.5 && lo == 40 && hi == 61);
}

/* A case holds as many values as it reports; one that is lost makes it invalid. */
static void metrics_are_not_dropped(void **s) {
  (void)s;
  rb_outcome o = {0};
  for (int i = 0; i < 300; i++) rb_outcome_metric(&o, "m", i, "1", ""), rb_outcome_verify(&o, "v", 0, 1, "");
  assert_int_equal(o.metric_count, 300);
  assert_int_equal(o.verification_count, 300);
  assert_true(o.metrics[299].value == 299 && rb_outcome_is_valid(&o));
  rb_outcome_verify(&o, "nan", NAN, 1, "");
  assert_false(rb_outcome_is_valid(&o));
  rb_outcome_free(&o);
  rb_outcome_verify(&o, "v", 0, 1, "");
  o.lost = 1;
  assert_false(rb_outcome_is_valid(&o));
  rb_outcome_free(&o);
}

/* What a case tells of time is written for a valid one alone. */
static void an_invalid_case_has_no_time(void **s) {
  (void)s;
  for (int valid = 0; valid < 2; valid++) {
    rb_case made = {.method = &(rb_method){.label = "m", .kind = "copy"}, .variant = &rb_probe_family.variants[0]};
    rb_case_result r = {.c = &made, .status = valid ? RB_CASE_VALID : RB_CASE_INVALID, .ran = 1, .timed = 1};
    rb_outcome o = {.details = json_pack("{s:f}", "seconds", 1.0), .fetches = 32};
    rb_outcome_metric(&o, "error_rms", 0.1, "1", "");
    rb_outcome_metric(&o, "time_step", 2, "s", "");
    rb_outcome_metric(&o, "pair_rate", 3, "1/s", "");
    rb_outcome_class(&o, "field", 2, 8);
    r.outcome = o, r.copy_roof = 16, r.timing = (rb_timing){.median = 1, .energy = NAN, .stop = ""};
    json_t *c = rb_case_json(&r);
    assert_true(rb_json_metric(c, "error_rms") == 0.1);
    assert_int_equal(json_object_size(json_object_get(c, "metrics")), valid ? 9 : 1);
    assert_true(!valid || (rb_json_metric(c, "rate_field") == 4 && rb_json_metric(c, "percent_field") == 25));
    assert_true(!valid || rb_json_metric(c, "fetch_rate") == 32);
    assert_int_equal(json_object_get(c, "details") != NULL, valid);
    rb_case_result_free(&r);
    json_decref(c);
  }
}

/* What of a variant's work the texture unit does; nothing where it is not built. */
static void texture_fetches_are_counted(void **s) {
  (void)s;
  static const struct {
    const char *name;
    int each;
  } known[] = {{"cuda/texture-linear", 1},  {"cuda/texture-lagrange", 27},
               {"cuda/texture-bspline", 8}, {"cuda/texture-lookup-lagrange", 0},
               {"cuda/march", 0},           {"cpu/omp", 0}};
  const rb_interp_desc d = {.components = 3};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    const rb_variant *v;
    assert_int_equal(rb_variant_find(&rb_interp_family, known[i].name, &v), RB_OK);
    assert_true(rb_interp_fetches(v, &d, 10) == (v->ops ? 30 * known[i].each : 0));
  }
}

/* Four values in equal parts are two bits; a slope of 3 a voxel along one axis. */
static void image_statistics(void **state) {
  (void)state;
  enum { N = 4 * 5 * 6 };
  const rb_grid g = {{4, 5, 6}};
  float f[N], mask[N];
  for (int i = 0; i < N; i++) f[i] = (float)(i % 4) / 4, mask[i] = (float)(i % 2);
  assert_true(fabs(rb_image_entropy(N, f, NULL, 0) - 2) < 1e-12);
  assert_true(fabs(rb_image_entropy(N, f, mask, 0.5) - 1) < 1e-12); /* two of the values remain */
  assert_true(isnan(rb_image_entropy(N, f, mask, 2)));
  for (int i = 0; i < N; i++) f[i] = 3 * (float)(i / 6 % 5);
  assert_true(fabs(rb_image_rms_gradient(g, f) - 3) < 1e-6);
}

/* A kernel that returns at once has no valid time. */
static void times_that_physics_forbids(void **s) {
  (void)s;
  const rb_case_roofs gpu = {60000000, 4e12, 8e12, 6e13, "cache", "fma"}, unknown = {0, NAN, NAN, NAN, "", ""};
  const struct {
    size_t footprint;
    double bytes, flops, seconds;
    int valid;
  } cases[] = {
      {400000000, 4e8, 0, 1e-4, 1},   /* as fast as a copy */
      {400000000, 4e8, 0, 9e-5, 0},   /* 1.11 times as fast */
      {400000000, 1e6, 0, 1e-6, 1},   /* buffers of which a run needs little */
      {100000000, 1e9, 0, 1.3e-5, 1}, /* many passes over what the cache holds */
      {100000000, 1e9, 0, 1e-5, 0},   /* faster than one pass */
      {1000000, 1e6, 6e9, 5e-5, 1},   /* as fast as multiply-adds for half of it */
      {1000000, 1e6, 6e9, 4.5e-5, 0}, {400000000, 4e8, 0, 0, 0},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    for (int known = 0; known < 2; known++) {
      rb_outcome o = {.bytes = cases[k].bytes, .flops = cases[k].flops};
      rb_outcome_verify(&o, "right", 0, 1, "an oracle");
      rb_case_verify_possible(known ? &gpu : &unknown, cases[k].footprint, cases[k].seconds, &o);
      assert_int_equal(rb_outcome_is_valid(&o), known ? cases[k].valid : 1);
      rb_outcome_free(&o);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(image_statistics),
      cmocka_unit_test(medians_and_intervals),
      cmocka_unit_test(metrics_are_not_dropped),
      cmocka_unit_test(an_invalid_case_has_no_time),
      cmocka_unit_test(texture_fetches_are_counted),
      cmocka_unit_test(times_that_physics_forbids),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
