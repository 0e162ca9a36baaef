/* SPDX-License-Identifier: BSD-3-Clause */
/* What the program asks of the machine, and its measuring of runs that last as long as is known. */
#include "tests/cmocka_all.h"

#include "experiments/runner/machine/nvml.h"
#include "experiments/runner/machine/roofs.h"
#include "experiments/runner/machine/subnormals.h"
#include "experiments/runner/record/record.h"
#include "experiments/runner/workloads/measure.h"
#include "kernels/probe/probe.h"
#include "kernels/registry/registry.h"

#include <dlfcn.h>
#include <math.h>
#include <omp.h>
#include <string.h>
#include <time.h>

/* Every thread that begins after the call flushes; a B-spline's recursion over zeros ends at 0 and stays there. */
static void subnormals_are_flushed_in_all_threads(void **s) {
  (void)s;
  assert_false(rb_subnormals_are_flushed());
  rb_flush_subnormals();
  int flushed = 0, subnormal = 0;
#pragma omp parallel num_threads(4) reduction(+ : flushed, subnormal)
  {
    volatile float state = 1;
    flushed = rb_subnormals_are_flushed();
    for (int k = 0; k < 200; k++) {
      state *= -0.26794919f;
      subnormal += state != 0 && fabsf(state) < 1.17549435e-38f;
    }
  }
  assert_int_equal(flushed, 4);
  assert_int_equal(subnormal, 0);
}

/* ---- a device whose runs take as long as they are told -------------------------------------------------------- */

static double clock_now, run_seconds; /* the device's own time, of which only runs take any */
static int runs;
static double started;
static rb_status timer_start(void) {
  started = clock_now;
  return RB_OK;
}
static rb_status timer_stop(double *seconds) {
  *seconds = clock_now - started;
  return RB_OK;
}
static rb_status run(void *state, int turn) {
  (void)state, (void)turn;
  runs++;
  clock_now += run_seconds;
  return RB_OK;
}
static rb_timing measured(rb_backend_kind kind, double seconds, rb_preset preset) {
  const rb_workload w = {.run = run};
  const rb_backend b = {.kind = kind, .timer_start = timer_start, .timer_stop = timer_stop};
  const rb_protocol p = rb_protocol_of(preset);
  rb_timing t;
  runs = 0, run_seconds = seconds;
  assert_int_equal(rb_measure(&w, NULL, &b, 3, &p, NULL, NULL, &t), RB_OK);
  assert_int_equal(t.last_turn, (runs - 1) % 3);
  return t;
}
static int near(double a, double b) { return fabs(a - b) < 1e-6 * b; }

static void known_times_are_measured(void **s) {
  (void)s;
  const double seconds[] = {1e-6, 40e-6, 1e-3, 0.1, 0.7, 6};
  const int samples[] = {101, 101, 101, 11, 3, 1};
  for (int i = 0; i < 6; i++) {
    const rb_timing t = measured(RB_CPU, seconds[i], RB_PRESET_PAPER);
    assert_true(near(t.median, seconds[i]) && near(t.low, seconds[i]) && near(t.most, seconds[i]));
    assert_int_equal(t.count, samples[i]);
    assert_true(seconds[i] * t.batch >= 50e-6 * (1 - 1e-9) && t.throttled == 0 && !t.slowed && isnan(t.energy));
  }
}

/* ---- on a board that throttles -------------------------------------------------------------------------------- */

static void (*throttle)(const unsigned char *of_calls, int n);

static void the_stand_in_is_there(void) {
  void *lib = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  void *p = lib ? dlsym(lib, "stand_in_throttle") : NULL;
  if (!p) skip(); /* started by hand, without its environment */
  memcpy(&throttle, &p, sizeof p);
}

static void throttled_samples_do_not_count(void **s) {
  (void)s;
  enum { IDLE = 1, CAP = 4, HEAT = 0x40, SET = 2 };
  const unsigned char first_five[] = {CAP, CAP, CAP, HEAT | CAP, CAP, IDLE}, always[] = {CAP | IDLE}, never[] = {SET};
  the_stand_in_is_there();
  throttle(first_five, 6);
  rb_timing t = measured(RB_CUDA, 0.1, RB_PRESET_PAPER);
  assert_int_equal(t.throttled, 5);
  assert_int_equal(t.count, 16); /* eleven that count */
  assert_false(t.slowed);
  assert_true(t.throttle[3] == (HEAT | CAP) && t.throttle[4] == CAP && t.throttle[5] == 0);
  assert_string_equal(t.stop, "time budget reached");
  throttle(always, 1);
  t = measured(RB_CUDA, 0.1, RB_PRESET_PAPER);
  assert_true(t.slowed && t.throttled == t.count && near(t.median, 0.1));
  assert_string_equal(t.stop, "throttled for four times the budget");
  throttle(never, 1);
  t = measured(RB_CUDA, 0.1, RB_PRESET_PAPER);
  assert_true(t.throttled == 0 && !t.slowed);
  throttle(never, 0);
}

/* The median is that of the samples that count. */
static double slow_first(int i) { return i < 5 ? 2 : 1; }
static rb_status run_slow_first(void *state, int turn) {
  (void)state, (void)turn;
  clock_now += 0.1 * slow_first(runs++ - 3); /* three warm-ups */
  return RB_OK;
}
static void the_median_is_of_what_counts(void **s) {
  (void)s;
  const unsigned char mask[] = {4, 4, 4, 4, 4, 0};
  const rb_workload w = {.run = run_slow_first};
  const rb_backend b = {.kind = RB_CUDA, .timer_start = timer_start, .timer_stop = timer_stop};
  rb_protocol p = rb_protocol_of(RB_PRESET_PAPER);
  rb_timing t;
  p.least = 5;
  the_stand_in_is_there();
  throttle(mask, 6);
  runs = 0;
  assert_int_equal(rb_measure(&w, NULL, &b, 1, &p, NULL, NULL, &t), RB_OK);
  assert_true(near(t.median, 0.1) && near(t.high, 0.1) && near(t.most, 0.2) && t.throttled == 5);
  throttle(mask, 0);
}

/* Runs that take no time of the host's are repeated until the counter has moved: by their own time, and not in quick.
 */
static void energy_is_measured_of_short_runs(void **s) {
  (void)s;
  the_stand_in_is_there();
  rb_timing t = measured(RB_CUDA, 1e-3, RB_PRESET_PAPER);
  const int most = 101 + 20 + 550;
  assert_true(isfinite(t.energy) && runs >= 101 + 500 && runs <= most);
  t = measured(RB_CUDA, 1e-3, RB_PRESET_QUICK);
  assert_true(isnan(t.energy));
  t = measured(RB_CUDA, 0.1, RB_PRESET_PAPER); /* long enough: not repeated */
  assert_true(isfinite(t.energy) && runs <= 3 + t.count);
  const rb_protocol one = {.once = 12, .once_energy = 3600, .once_throttle = 4},
                    brief = {.once = 0.1, .once_energy = 30};
  rb_timing_of_one(&one, &t);
  assert_true(t.energy == 3600 && t.slowed && t.throttled == 1 && t.median == 12);
  rb_timing_of_one(&brief, &t);
  assert_true(isnan(t.energy) && !t.slowed);
}

static void a_timer_tells_microseconds_apart(void **s) {
  (void)s;
  assert_true(rb_timer_resolution(RB_CPU) > 0 && rb_timer_resolution(RB_CPU) < 1e-6 &&
              rb_timer_resolution(RB_CUDA) < 1e-6);
}

/* A name that no probe has would be a roof that is never measured, without a word. */
static void every_roof_is_a_probe(void **s) {
  (void)s;
  const rb_variant *v;
  int count = 0;
  for (; rb_roof_name(count); count++)
    assert_int_equal(rb_variant_find(&rb_probe_family, rb_roof_name(count), &v), RB_OK);
  assert_true(count >= 7);
}

int main(void) {
  omp_set_dynamic(0);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(subnormals_are_flushed_in_all_threads), cmocka_unit_test(known_times_are_measured),
      cmocka_unit_test(throttled_samples_do_not_count),        cmocka_unit_test(the_median_is_of_what_counts),
      cmocka_unit_test(energy_is_measured_of_short_runs),      cmocka_unit_test(every_roof_is_a_probe),
      cmocka_unit_test(a_timer_tells_microseconds_apart),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
