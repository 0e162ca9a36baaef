/* SPDX-License-Identifier: BSD-3-Clause */
/* An atlas made by a team is that of one process to the bit, and failures end all its members. Run alone and by MPI's
 * launcher as several processes. CUDA variants take part where they can: on a GPU, or executed on the CPU. */
#include "tests/solvers/atlas_pictures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const solvers[] = {"cpu-fft",     "cpu-sor", "cpu-dst",       "cpu-fft-f64",
                                      "cpu-sor-f64", "gpu-fft", "gpu-sor-plain", "gpu-sor-block"};
enum { SOLVERS = sizeof solvers / sizeof *solvers };

/* The atlas and every displacement by a team, against this process alone: equal to the bit. */
static void a_team_makes_the_same(void **state) {
  (void)state;
  const rb_team *team = rb_team_self();
  const float *all[MOST], *own[MOST];
  static float alone[N], shared[N], ua[3 * N], ub[3 * N];
  if (rb_team_processes() > 1) ok(rb_team_mpi(&team));
  for (int count = team->size; count <= MOST; count += 3)
    for (int s = 0; s < SOLVERS; s++) {
      const rb_variant *v = variant(solvers[s]);
      if (rb_variant_available(v) != RB_OK || (v->backend == RB_CUDA && count > team->size)) {
        rb_clear();
        continue;
      }
      rb_atlas_options o = quick();
      rb_atlas *a, *b;
      rb_atlas_result ra, rb;
      o.levels = 2, o.coarse_iterations = 5, o.iterations = 6, o.step = 1, o.scale = RB_SCALE_COHORT;
      int64_t first, end;
      rb_team_share(team, count, &first, &end);
      for (int k = 0; k < count; k++) all[k] = pictures[k], own[k] = k >= first && k < end ? pictures[k] : NULL;
      ok(rb_atlas_create(variant(solvers[s]), &o, grid, count, all, NULL, rb_team_self(), &a));
      ok(rb_atlas_create(variant(solvers[s]), &o, grid, count, own, NULL, team, &b));
      ok(rb_atlas_solve(a, NULL, NULL, &ra));
      ok(rb_atlas_solve(b, NULL, NULL, &rb));
      ok(rb_atlas_mean(a, alone));
      ok(rb_atlas_mean(b, shared));
      assert_memory_equal(alone, shared, sizeof alone);
      assert_true(ra.variance_after == rb.variance_after && ra.halvings == rb.halvings);
      for (int k = (int)first; k < end; k++) {
        ok(rb_atlas_displacement(a, k, ua));
        ok(rb_atlas_displacement(b, k, ub));
        assert_memory_equal(ua, ub, sizeof ua);
      }
      rb_atlas_destroy(b), rb_atlas_destroy(a);
    }
}

/* One member's bad image ends all, each with the reason; more members than images is told. */
static void a_team_hears_of_failures(void **state) {
  (void)state;
  const rb_team *team = rb_team_self();
  static float broken[N];
  const float *images[MOST];
  const rb_atlas_options o = quick();
  rb_atlas *a;
  if (rb_team_processes() > 1) ok(rb_team_mpi(&team));
  memcpy(broken, pictures[1], sizeof broken);
  broken[3] = INFINITY;
  for (int k = 0; k < MOST; k++) images[k] = k == MOST - 1 ? broken : pictures[k];
  assert_int_equal(rb_atlas_create(variant("cpu-fft"), &o, grid, MOST, images, NULL, team, &a), RB_EINVAL);
  assert_non_null(strstr(rb_message(), "image 8: voxel 3 is not finite"));
  rb_clear();
  if (team->size > 1) {
    assert_int_equal(rb_atlas_create(variant("cpu-fft"), &o, grid, team->size - 1, images, NULL, team, &a),
                     RB_EINVAL);
    assert_non_null(strstr(rb_message(), "a process needs one"));
    rb_clear();
  }
}

int main(void) {
  fill_pictures();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_team_makes_the_same),
      cmocka_unit_test(a_team_hears_of_failures),
  };
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  rb_team_mpi_end();
  return failed;
}
