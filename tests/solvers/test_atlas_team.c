/* SPDX-License-Identifier: BSD-3-Clause */
/* An atlas made by a team is that of one process to the bit, and failures end all its members. Run alone and by MPI's
 * launcher as several processes. CUDA variants take part where they can: on a GPU, or executed on the CPU. */
#include "tests/solvers/atlas_pictures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const solvers[] = {"cpu-fft",        "cpu-sor", "cpu-dst",       "cpu-fft-f64",
                                      "cpu-sor-f64",    "gpu-fft", "gpu-sor-plain", "gpu-sor-block",
                                      "gpu-fft-replay", "gpu-fft", "gpu-sor-replay"};
enum { SOLVERS = sizeof solvers / sizeof *solvers };

/* What is told of each iteration; the step is known to the first member alone. */
enum { ROWS_MOST = 64 };
typedef struct {
  int count;
  rb_atlas_row row[ROWS_MOST];
} history;
static void keep(void *context, const rb_atlas_row *row) {
  history *h = context;
  assert_true(h->count < ROWS_MOST);
  h->row[h->count++] = *row;
}
static void assert_equal_histories(const history *a, const history *b) {
  assert_int_equal(a->count, b->count);
  for (int k = 0; k < a->count; k++) {
    assert_int_equal(a->row[k].iteration, b->row[k].iteration);
    assert_int_equal(a->row[k].halvings, b->row[k].halvings);
    assert_true(a->row[k].variance == b->row[k].variance);
  }
}

/* The atlas, every displacement and what is told by a team, against this process alone: equal to the bit. */
static void a_team_makes_the_same(void **state) {
  (void)state;
  const rb_team *team = rb_team_self();
  const float *all[MOST], *own[MOST];
  static float alone[N], shared[N], ua[3 * N], ub[3 * N];
  if (rb_team_processes() > 1) ok(rb_team_mpi(&team));
  for (int count = team->size; count <= MOST; count += 3)
    for (int s = 0; s < SOLVERS; s++) {
      const rb_variant *v = variant(solvers[s]);
      const int replays = ((const rb_atlas_config *)v->ops)->steps != NULL;
      if (rb_variant_available(v) != RB_OK ||
          (v->backend == RB_CUDA && count > (replays && team->size > 1 ? team->size + 3 : team->size))) {
        rb_clear();
        continue;
      }
      rb_atlas_options o = quick();
      rb_atlas *a, *b;
      rb_atlas_result ra, rb;
      o.levels = 2, o.coarse_iterations = 5, o.iterations = 6, o.step = 1, o.scale = RB_SCALE_COHORT;
      o.slabs = s % 2 ? 4 : 0;
      o.concurrent = s == SOLVERS - 1; /* all images in one stream: members need different numbers of phases */
      if (replays) o.iterations = 12;  /* of two bursts */
      int64_t first, end;
      rb_team_share(team, count, &first, &end);
      for (int k = 0; k < count; k++) all[k] = pictures[k], own[k] = k >= first && k < end ? pictures[k] : NULL;
      ok(rb_atlas_create(variant(solvers[s]), &o, grid, count, all, NULL, rb_team_self(), &a));
      ok(rb_atlas_create(variant(solvers[s]), &o, grid, count, own, NULL, team, &b));
      rb_atlas_set_profile(b, s % 2); /* stamps change nothing */
      history of_one = {0}, of_team = {0};
      ok(rb_atlas_solve(a, keep, &of_one, &ra));
      ok(rb_atlas_solve(b, keep, &of_team, &rb));
      assert_equal_histories(&of_one, &of_team);
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

/* ---- checkpoints ------------------------------------------------------------------------------------------ */

/* Rises when row `stop_at` of a solve is told. */
static volatile int stop;
static int rows_seen, stop_at;
static void stop_there(void *context, const rb_atlas_row *row) {
  (void)context, (void)row;
  if (++rows_seen == stop_at) stop = 1;
}

static rb_atlas_options with_checkpoints(const char *folder) {
  rb_atlas_options o = quick();
  o.levels = 2, o.coarse_iterations = 5, o.iterations = 6, o.step = 1;
  o.checkpoint = folder, o.checkpoint_minutes = 1e6; /* none but where it is interrupted */
  return o;
}

enum { IMAGES = 5 };

/* A solve by `team` that is interrupted at row `at` (0: not); the mean to mean[N], the own first displacement to u.
 */
static rb_status solve_with(const rb_variant *v, const rb_atlas_options *options, const rb_team *team, int at,
                            rb_atlas_result *r, float *mean, float *u) {
  rb_atlas_options o = *options;
  const float *images[IMAGES];
  rb_atlas *a = NULL;
  int64_t first, end;
  for (int k = 0; k < IMAGES; k++) images[k] = pictures[k];
  stop = 0, rows_seen = 0, stop_at = at;
  o.interrupted = &stop;
  rb_team_share(team, IMAGES, &first, &end);
  rb_status st = rb_atlas_create(v, &o, grid, IMAGES, images, NULL, team, &a);
  if (st == RB_OK) st = rb_atlas_solve(a, stop_there, NULL, r);
  if (st == RB_OK) st = rb_atlas_mean(a, mean);
  if (st == RB_OK) st = rb_atlas_displacement(a, (int)first, u);
  rb_atlas_destroy(a);
  return st;
}

/* On devices by NCCL, or on hosts: the same bits. Where NCCL is not at hand, or this variant has no device, a request
 * for it is refused on all members with the way out, and the hosts do it unasked. */
static void devices_add_the_mean(void **state) {
  (void)state;
  const rb_team *team = rb_team_self();
  static float hosts[N], devices[N], u[3 * N], ub[3 * N];
  rb_atlas_options o = quick();
  rb_atlas_result r;
  if (rb_team_processes() > 1) ok(rb_team_mpi(&team));
  o.reduce = RB_REDUCE_DEVICES;
  assert_int_equal(solve_with(variant("cpu-fft"), &o, team, 0, &r, devices, u), RB_EUNSUPPORTED);
  assert_non_null(strstr(rb_message(), "cpu-fft has no devices"));
  rb_clear();
  if (rb_variant_available(variant("gpu-fft")) != RB_OK) {
    rb_clear();
    return;
  }
  o.reduce = RB_REDUCE_HOSTS;
  ok(solve_with(variant("gpu-fft"), &o, team, 0, &r, hosts, u));
  assert_int_equal(r.on_devices, team->size > 1 ? 0 : -1);
  o.reduce = RB_REDUCE_DEVICES;
  const rb_status st = solve_with(variant("gpu-fft"), &o, team, 0, &r, devices, ub);
  if (st == RB_EUNSUPPORTED && !getenv("REGBENCH_NCCL")) { /* no NCCL, or one device for all */
    assert_true(strstr(rb_message(), "REGBENCH_NCCL") || strstr(rb_message(), "share a device"));
    rb_clear();
    o.reduce = RB_REDUCE_AUTO;
    ok(solve_with(variant("gpu-fft"), &o, team, 0, &r, devices, ub));
    assert_int_equal(r.on_devices, 0);
  } else {
    ok(st);
    assert_int_equal(r.on_devices, team->size > 1 ? 1 : -1);
  }
  assert_memory_equal(hosts, devices, sizeof hosts);
  assert_memory_equal(u, ub, sizeof u);
}

/* A folder that all members know; made by rank 0. */
static void shared_folder(const rb_team *team, char folder[64]) {
  snprintf(folder, 64, "/tmp/regbench-atlas-XXXXXX");
  if (team->rank == 0) assert_non_null(mkdtemp(folder));
  ok(rb_team_broadcast(team, folder, 64, 0));
}
static void remove_folder(const rb_team *team, const char *folder) {
  char command[96];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  ok(rb_team_barrier(team));
  if (team->rank == 0) assert_int_equal(system(command), 0);
}

/* Interrupted by a team and resumed by one process, and the other way round, on either level: the same bits as in one
 * go, and the same history. */
static void another_team_goes_on(void **state) {
  (void)state;
  const rb_team *team = rb_team_self();
  static float alone[N], mean[N], ua[3 * N], u[3 * N];
  if (rb_team_processes() > 1) ok(rb_team_mpi(&team));
  for (int s = 0; s < SOLVERS; s++) {
    const rb_variant *v = variant(solvers[s]);
    if (rb_variant_available(v) != RB_OK || (v->backend == RB_CUDA && s > 5)) {
      rb_clear();
      continue;
    }
    rb_atlas_result whole, part, rest;
    rb_atlas_options plain = with_checkpoints(NULL);
    ok(solve_with(v, &plain, rb_team_self(), 0, &whole, alone, ua));
    const int rows = rows_seen;
    for (int turn = 0; turn < 4; turn++) {
      const int by_team = turn & 1, at = turn & 2 ? 9 : 3; /* rows 1 to 6 are of the coarse level */
      char folder[64];
      shared_folder(team, folder);
      rb_atlas_options o = with_checkpoints(folder);
      if (by_team || team->rank == 0) ok(solve_with(v, &o, by_team ? team : rb_team_self(), at, &part, mean, u));
      ok(rb_team_barrier(team));
      o.resume = 1;
      if (!by_team || team->rank == 0) {
        ok(solve_with(v, &o, by_team ? rb_team_self() : team, 0, &rest, mean, u));
        assert_int_equal(rows_seen, rows);
        assert_true(rest.end == RB_END_ITERATIONS && rest.iterations == whole.iterations);
        assert_true(rest.variance_after == whole.variance_after && rest.halvings == whole.halvings &&
                    rest.variance_before == whole.variance_before);
        assert_memory_equal(mean, alone, sizeof mean);
        if (team->rank == 0) assert_memory_equal(u, ua, sizeof u);
      }
      if (by_team || team->rank == 0) assert_int_equal(part.end, RB_END_INTERRUPTED);
      remove_folder(team, folder);
    }
  }
}

/* What a folder holds is refused where it does not belong to the problem, or is damaged; an empty one begins anew. */
static void wrong_checkpoints_are_refused(void **state) {
  (void)state;
  const rb_team *team = rb_team_self();
  static float mean[N], u[3 * N], kept[N];
  char folder[64], path[128];
  rb_atlas_result r;
  if (rb_team_processes() > 1) return; /* files: one process tells it all */
  shared_folder(team, folder);
  rb_atlas_options o = with_checkpoints(folder);
  const rb_variant *v = variant("cpu-fft");
  o.resume = 1;
  ok(solve_with(v, &o, team, 4, &r, mean, u)); /* nothing there: from the beginning */
  o.resume = 0;                                /* would write over it */
  assert_int_equal(solve_with(v, &o, team, 0, &r, mean, u), RB_EINVAL);
  assert_non_null(strstr(rb_message(), "holds a checkpoint"));
  rb_clear();
  o.resume = 1, o.gamma = 0.01;
  assert_int_equal(solve_with(v, &o, team, 0, &r, mean, u), RB_EINVAL);
  assert_non_null(strstr(rb_message(), "of other options"));
  rb_clear();
  o = with_checkpoints(folder), o.resume = 1;
  memcpy(kept, pictures[2], sizeof kept);
  pictures[2][77] += 0.25f;
  assert_int_equal(solve_with(v, &o, team, 0, &r, mean, u), RB_EINVAL);
  assert_non_null(strstr(rb_message(), "image 3 has another content"));
  rb_clear();
  memcpy(pictures[2], kept, sizeof kept);
  snprintf(path, sizeof path, "%s/0/image_00002", folder);
  FILE *f = fopen(path, "r+b");
  assert_non_null(f);
  fseek(f, 4000, SEEK_SET), fputc(1, f), fputc(2, f), fclose(f);
  assert_int_equal(solve_with(v, &o, team, 0, &r, mean, u), RB_EFORMAT);
  assert_non_null(strstr(rb_message(), "is damaged"));
  rb_clear();
  o.checkpoint = "/dev/null/x", o.resume = 0;
  assert_int_equal(solve_with(v, &o, team, 0, &r, mean, u), RB_EIO);
  rb_clear();
  remove_folder(team, folder);
}

int main(void) {
  fill_pictures();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_team_makes_the_same),         cmocka_unit_test(a_team_hears_of_failures),
      cmocka_unit_test(devices_add_the_mean),          cmocka_unit_test(another_team_goes_on),
      cmocka_unit_test(wrong_checkpoints_are_refused),
  };
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  rb_team_mpi_end();
  return failed;
}
