/* SPDX-License-Identifier: BSD-3-Clause */
/* Which records are of this program's code: with the rows of tests/runner/same_code in place of the project's. */
#include "experiments/runner/machine/build.c"

#include "tests/cmocka_all.h"

static int current(const char *family, rb_backend_kind backend, const char *hash) {
  return rb_source_is_current(family, backend, hash, "splat", "cuda/tile");
}

static void rows_lead_to_the_hash_of_now(void **state) {
  (void)state;
  assert_true(current("splat", RB_CUDA, "g3"));
  assert_true(current("splat", RB_CUDA, "g2"));
  assert_true(current("splat", RB_CUDA, "g1")); /* by two rows */
  assert_false(current("splat", RB_CUDA, "g0"));
  assert_false(current("splat", RB_CPU, "c1")); /* its row ends at c2 */
  assert_false(current("splat", RB_CPU, "g2")); /* another backend's */
  assert_false(current("atlas", RB_CUDA, "g2"));
  assert_true(current("atlas", RB_CPU, "a1"));
}
static void rows_do_not_hold_for_what_they_except(void **state) {
  (void)state;
  assert_false(rb_source_is_current("splat", RB_CUDA, "g1", "splat", "cuda/fixed64"));
  assert_false(rb_source_is_current("splat", RB_CUDA, "g1", "splat-cold", "cuda/tile"));
  assert_true(rb_source_is_current("splat", RB_CUDA, "g1", "splat", "cuda/fixed")); /* whole words only */
  assert_true(rb_source_is_current("splat", RB_CUDA, "g1", "splat", "fixed64"));
  assert_true(rb_source_is_current("splat", RB_CUDA, "g1", "", ""));
  assert_true(rb_source_is_current("splat", RB_CUDA, "g2", "splat", "cuda/fixed64")); /* a later row */
}
static void rows_in_a_circle_end(void **state) {
  (void)state;
  assert_false(current("atlas", RB_CPU, "a3"));
  assert_true(current("atlas", RB_CPU, "a2"));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(rows_lead_to_the_hash_of_now),
                                     cmocka_unit_test(rows_do_not_hold_for_what_they_except),
                                     cmocka_unit_test(rows_in_a_circle_end)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
