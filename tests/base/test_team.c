/* SPDX-License-Identifier: BSD-3-Clause */
/* Teams: run as one process, and by MPI's launcher as several. */
#include "tests/ok.h"

#include "kernels/base/team.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const rb_team *team;

static void is_what_the_launcher_started(void **state) {
  (void)state;
  assert_int_equal(team->size, rb_team_processes());
  assert_int_equal(team->rank, rb_team_rank());
}

/* Whole numbers exactly; floating ones in the order of ranks, the same on all. */
static void sums(void **state) {
  (void)state;
  enum { N = 1000 };
  int32_t whole[N];
  double real[N], want[N];
  for (int i = 0; i < N; i++) {
    whole[i] = (team->rank + 1) * (i - 300);
    real[i] = pow(10, -team->rank) * sin(i);
    want[i] = 0;
    for (int r = 0; r < team->size; r++) want[i] += pow(10, -r) * sin(i);
  }
  ok(rb_team_sum_whole(team, whole, N));
  ok(rb_team_sum(team, real, N));
  for (int i = 0; i < N; i++) {
    assert_int_equal(whole[i], team->size * (team->size + 1) / 2 * (i - 300));
    assert_true(real[i] == want[i]);
  }
  ok(rb_team_sum_whole(team, whole, 0));
}

static void passes_on(void **state) {
  (void)state;
  const int root = team->size - 1;
  int value = 100 + team->rank, *all = calloc((size_t)team->size, sizeof *all);
  assert_non_null(all);
  ok(rb_team_gather(team, &value, sizeof value, all));
  for (int r = 0; r < team->size && team->rank == 0; r++) assert_int_equal(all[r], 100 + r);
  ok(rb_team_broadcast(team, &value, sizeof value, root));
  assert_int_equal(value, 100 + root);
  assert_int_equal(rb_team_broadcast(team, &value, sizeof value, team->size), RB_EINVAL);
  rb_clear();
  ok(rb_team_barrier(team));
  free(all);
}

/* One that fails is heard by all; the lowest rank is named. */
static void agrees_on_failure(void **state) {
  (void)state;
  ok(rb_team_agree(team, RB_OK));
  const int last = team->size - 1;
  rb_status st = team->rank == last ? RB_FAIL(RB_EINVALID, "image seven holds a NaN") : RB_OK;
  assert_int_equal(rb_team_agree(team, st), RB_EINVALID);
  assert_non_null(strstr(rb_message(), "image seven holds a NaN"));
  if (team->rank != last) {
    char who[32];
    snprintf(who, sizeof who, "process %d of %d", last, team->size);
    assert_non_null(strstr(rb_message(), who));
  }
  rb_clear();
  ok(rb_team_agree(team, RB_OK)); /* and it can go on */
}

static void shares_cover_all(void **state) {
  (void)state;
  for (int64_t count = 0; count < 20; count++) {
    int64_t first, end, next = 0;
    for (int r = 0; r < team->size; r++) {
      rb_team other = *team;
      other.rank = r;
      rb_team_share(&other, count, &first, &end);
      assert_true(first == next && end - first >= count / team->size && end - first <= count / team->size + 1);
      next = end;
    }
    assert_true(next == count);
  }
}

int main(void) {
  if (rb_team_processes() > 1) {
    if (rb_team_mpi(&team) != RB_OK) return 1;
  } else {
    team = rb_team_self();
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(is_what_the_launcher_started),
      cmocka_unit_test(sums),
      cmocka_unit_test(passes_on),
      cmocka_unit_test(agrees_on_failure),
      cmocka_unit_test(shares_cover_all),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  rb_team_mpi_end();
  return failed;
}
