/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers of a registration that are not the solver's: of its determinant, its images, and its energy. */
#include "experiments/runner/machine/rapl.h"
#include "solvers/common/displacement_quality.h"
#include "tests/cmocka_all.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static void determinants(void **state) {
  static const float det[5] = {0.5f, 2, 1, -1, 0}, broken[2] = {1, NAN};
  (void)state;
  const rb_determinant_summary s = rb_summarise_determinant(5, det);
  assert_float_equal(s.least, -1, 0);
  assert_float_equal(s.greatest, 2, 0);
  assert_float_equal(s.mean, 0.5, 1e-15);
  assert_float_equal(s.sd, 1, 1e-12);                          /* of squares .25 4 1 1 0, mean 1.25 */
  assert_float_equal(s.percent_folds, 40, 1e-12);              /* 0 is one, too */
  assert_float_equal(s.log_sd, log(2) * sqrt(2.0 / 3), 1e-12); /* of -log 2, log 2, 0 */
  const rb_determinant_summary b = rb_summarise_determinant(2, broken);
  assert_true(isnan(b.least) && isnan(b.greatest) && isnan(b.mean) && isnan(b.sd) && isnan(b.log_sd));
  assert_float_equal(b.percent_folds, 50, 1e-12);
}

static void mismatches(void **state) {
  static const float before[3] = {1, 2, 3}, after[3] = {1, 1, 2}, reference[3] = {1, 1, 1};
  (void)state;
  const rb_mismatch m = rb_mismatch_of(3, before, after, reference);
  assert_float_equal(m.before, 5, 0);
  assert_float_equal(m.after, 1, 0);
  assert_float_equal(m.ratio, 0.2, 1e-15);
  assert_float_equal(rb_mismatch_of(3, reference, after, reference).ratio, 0, 0); /* equal images */
}

static void put(const char *folder, int k, const char *name, const char *text) {
  char path[256];
  snprintf(path, sizeof path, "%s/intel-rapl:%d", folder, k);
  mkdir(path, 0700);
  snprintf(path, sizeof path, "%s/intel-rapl:%d/%s", folder, k, name);
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
}

static void energy(void **state) {
  char folder[] = "/tmp/regbench-rapl-XXXXXX", command[64];
  rb_rapl from, to;
  (void)state;
  assert_non_null(mkdtemp(folder));
  rb_rapl_read(folder, &from);
  assert_int_equal(from.packages, 0);
  assert_true(isnan(rb_rapl_spent(&from, &from, 1)));
  for (int k = 0; k < 3; k++) {
    put(folder, k, "name", k == 2 ? "psys\n" : "package-0\n"); /* the platform holds the packages again */
    put(folder, k, "energy_uj", "900000000\n");
    put(folder, k, "max_energy_range_uj", "1000000000\n");
  }
  rb_rapl_read(folder, &from);
  put(folder, 0, "energy_uj", "950000000\n");
  put(folder, 1, "energy_uj", "20000000\n"); /* began anew */
  rb_rapl_read(folder, &to);
  assert_int_equal(to.packages, 2);
  assert_float_equal(rb_rapl_spent(&from, &to, 1), 50 + 120, 1e-9);
  assert_true(isnan(rb_rapl_spent(&from, &to, 3))); /* it may have done so twice */
  snprintf(command, sizeof command, "rm -r %s", folder);
  assert_int_equal(system(command), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(determinants), cmocka_unit_test(mismatches),
                                     cmocka_unit_test(energy)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
