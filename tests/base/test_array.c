/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays, and that front doors refuse those which do not fit their plan. */
#include "tests/ok.h"

#include "kernels/field/field.h"
#include "kernels/registry/registry.h"
#include "kernels/splat/splat.h"

#include <stdlib.h>
#include <string.h>

static const rb_backend *cpu;

static void holds_and_converts(void **state) {
  (void)state;
  const double values[4] = {1, -2.5, 1e-3, 7};
  double back[4];
  float narrow[4];
  for (int k = 0; k < 2; k++) {
    const rb_dtype type = k ? RB_F64 : RB_F32;
    rb_array a;
    ok(rb_array_create(cpu, type, 4, &a));
    assert_int_equal(rb_array_bytes(a), 4 * rb_dtype_size(type));
    ok(rb_array_put_doubles(a, values));
    ok(rb_array_get_doubles(a, back));
    ok(rb_array_get_floats(a, narrow));
    for (int i = 0; i < 4; i++) {
      assert_true(back[i] == (k ? values[i] : (double)(float)values[i]));
      assert_true(narrow[i] == (float)values[i]);
    }
    ok(rb_array_put_floats(rb_array_part(a, 2, 2), narrow));
    ok(rb_array_get_doubles(a, back));
    assert_true(back[2] == 1 && back[3] == -2.5 && back[1] == -2.5);
    ok(rb_array_fill(a, 0xFF));
    ok(rb_array_get_doubles(a, back));
    assert_true(back[0] != back[0]);
    rb_array_destroy(&a);
    rb_array_destroy(&a);
    assert_null(a.data);
  }
  assert_null(rb_array_part(rb_array_none(), 5, 1).data);
}

/* st is RB_EINVAL, and its message names argument and cause. */
static void refused(rb_status st, const char *argument, const char *cause) {
  assert_int_equal(st, RB_EINVAL);
  if (!strstr(rb_message(), argument) || !strstr(rb_message(), cause))
    fail_msg("'%s' lacks '%s' or '%s'", rb_message(), argument, cause);
  rb_clear();
}

static void front_doors_check(void **state) {
  (void)state;
  enum { N = 4 * 5 * 6 };
  static double f[3 * N], x[3 * N], out[3 * N];
  const rb_interp_desc interp = {
      .grid = {{4, 5, 6}}, .basis = RB_LINEAR, .boundary = RB_CLAMP, .dtype = RB_F64, .components = 1};
  const rb_splat_desc splat = {.grid = interp.grid, .np = N, .boundary = RB_CLAMP, .dtype = RB_F64, .components = 1};
  const rb_field_desc field = {.count = N, .dtype = RB_F64};
  const rb_array whole = rb_array_host(RB_F64, N, f), points = rb_array_host(RB_F64, 3 * N, x),
                 short_one = rb_array_host(RB_F64, N - 1, out), narrow = rb_array_host(RB_F32, 3 * N, out);
  rb_backend elsewhere = *cpu;
  rb_array foreign = rb_array_view(&elsewhere, RB_F64, 3 * N, out);
  rb_interp_plan *i;
  rb_splat_plan *s;
  rb_field_plan *p;
  elsewhere.name = "elsewhere";
  ok(rb_interp_create(&rb_interp_family.variants[0], &interp, &i));
  ok(rb_interp_load(i, whole));
  ok(rb_interp_eval(i, N, points, whole));
  refused(rb_interp_load(i, short_one), "interp: f", "holds 119 values, 120 are needed");
  refused(rb_interp_load(i, narrow), "interp: f", "holds float32, the plan is for float64");
  refused(rb_interp_eval(i, N, points, foreign), "interp: out", "lies on elsewhere, the plan on cpu");
  refused(rb_interp_eval(i, N, whole, whole), "interp: x", "360 are needed");
  refused(rb_interp_eval(i, N, points, rb_array_none()), "interp: out", "is missing");
  ok(rb_splat_create(&rb_splat_family.variants[0], &splat, &s));
  ok(rb_splat_run(s, points, whole, rb_array_host(RB_F64, N, out)));
  refused(rb_splat_run(s, points, whole, short_one), "splat: out", "120 are needed");
  ok(rb_field_create(&rb_field_family.variants[0], &field, &p));
  ok(rb_field_combine(p, N, 1, whole, 0, rb_array_none(), 0, rb_array_host(RB_F64, N, out)));
  refused(rb_field_combine(p, N, 1, whole, 1, rb_array_none(), 0, whole), "field: y", "is missing");
  rb_field_destroy(p), rb_splat_destroy(s), rb_interp_destroy(i);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(holds_and_converts), cmocka_unit_test(front_doors_check)};
  if (rb_cpu_backend(&cpu) != RB_OK) return 1;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
