/* SPDX-License-Identifier: BSD-3-Clause */
/* Every CUDA configuration of the solvers takes the same first steps as its CPU twin, on problems small enough for
 * GPUs that are executed on a CPU. */
#include "tests/ok.h"

#include "kernels/base/backend.h"
#include "kernels/base/rng.h"
#include "datasets/mesh.h"
#include "solvers/currents/currents.h"
#include "solvers/atlas/atlas.h"
#include "solvers/claire/claire.h"
#include "solvers/demons/demons.h"
#include "solvers/landmarks/landmarks.h"
#include "tests/solvers/fft_splines.h"

#include <math.h>
#include <string.h>

enum { N = 16, POINTS = N * N * N, LANDMARKS = 24, DIM = 3 };

/* A ball with a soft edge in a cube of N points a side, and the same ball moved and squeezed. */
static void images(float *template_image, float *reference) {
  for (int i = 0; i < POINTS; i++) {
    const double x = i / N / N - 7.5, y = i / N % N - 7.5, z = i % N - 7.5;
    template_image[i] = (float)(1 / (1 + exp(1.2 * (sqrt(x * x + y * y + z * z) - 4.5))));
    reference[i] = (float)(1 / (1 + exp(1.2 * (sqrt(1.15 * x * x + (y + 0.6) * (y + 0.6) + z * z) - 4.5))));
  }
}

/* Skips the test where the family's CUDA variants can run nowhere. */
static void needs_cuda(const rb_variant *v) {
  if (rb_variant_available(v) == RB_OK) return;
  rb_clear();
  skip();
}

static rb_claire_result claire(const char *variant) {
  static float template_image[POINTS], reference[POINTS];
  rb_claire_options o = rb_claire_defaults();
  rb_claire_result r;
  const rb_variant *v = &cpu_fft_splines;
  rb_claire *c;
  o.continuation = 0, o.beta = 1e-2, o.most_newton = 2, o.most_krylov = 8;
  images(template_image, reference);
  if (strcmp(variant, v->name) != 0) ok(rb_variant_find(&rb_claire_family, variant, &v));
  ok(rb_claire_create(v, &o, rb_grid_make(N, N, N), template_image, reference, &c));
  ok(rb_claire_solve(c, NULL, NULL, &r));
  rb_claire_destroy(c);
  return r;
}
static void claire_follows(void **state) {
  (void)state;
  static const struct {
    const char *cuda, *cpu;
    double tolerance;
  } twins[] = {{"fused-fd8-linear", "cpu-fd8-linear", 1e-4},
               {"fused-fd8-cubic", "cpu-fd8-cubic", 1e-4},
               {"fused-fft-cubic", "cpu-fft-splines", 1e-4},
               {"gpu-fd8-linear", "cpu-fd8-linear", 3e-2},
               {"gpu-fd8-cubic", "cpu-fd8-cubic", 3e-2},
               {"gpu-fft-cubic", "cpu-fft-splines", 3e-2}}; /* textures weigh by 256ths: the limit of test_claire */
  const rb_variant *v;
  int compared = 0;
  ok(rb_variant_find(&rb_claire_family, twins[0].cuda, &v));
  needs_cuda(v);
  for (size_t t = 0; t < sizeof twins / sizeof *twins; t++) {
    const rb_claire_result cuda = claire(twins[t].cuda), cpu = claire(twins[t].cpu);
    assert_int_equal(cuda.rows, cpu.rows);
    assert_true(cpu.rows > 1 && cpu.mismatch < 0.7);
    for (int i = 0; i < cpu.rows; i++) {
      const double off = fabs(cuda.table[i].mismatch / cpu.table[i].mismatch - 1);
      if (!(off < twins[t].tolerance))
        fail_msg("%s, row %d: %g from %s's mismatch", twins[t].cuda, i, off, twins[t].cpu);
    }
  }
  for (int i = 0; i < rb_claire_family.count; i++) compared += rb_claire_family.variants[i].backend == RB_CUDA;
  assert_int_equal(compared, sizeof twins / sizeof *twins); /* none is left out */
}

static rb_demons_result demons(const rb_variant *v) {
  static float template_image[POINTS], reference[POINTS];
  rb_demons_options o = rb_demons_defaults();
  static rb_demons_result r;
  rb_demons *s;
  o.sigma_fluid = 1.5, o.sigma_diffusion = 1, o.iterations = 3, o.stop = 0;
  images(template_image, reference);
  ok(rb_demons_create(v, &o, rb_grid_make(N, N, N), template_image, reference, &s));
  ok(rb_demons_solve(s, NULL, NULL, &r));
  rb_demons_destroy(s);
  return r;
}
static void demons_follow(void **state) {
  (void)state;
  static rb_demons_result cpu;
  const rb_variant *twin;
  int compared = 0;
  ok(rb_variant_find(&rb_demons_family, "cpu-f64", &twin));
  cpu = demons(twin);
  assert_true(cpu.iterations == 3 && cpu.energy[2] < 0.7 * cpu.before);
  for (int i = 0; i < rb_demons_family.count; i++) {
    const rb_variant *v = &rb_demons_family.variants[i];
    if (v->backend != RB_CUDA) continue;
    needs_cuda(v);
    const rb_demons_result cuda = demons(v);
    const double tolerance = strstr(v->name, "b4") ? 0.02 : 1e-4; /* b4: textures */
    for (int k = 0; k < cpu.iterations; k++)
      if (!(fabs(cuda.energy[k] / cpu.energy[k] - 1) < tolerance))
        fail_msg("%s, iteration %d: energy %g, not %g", v->name, k, cuda.energy[k], cpu.energy[k]);
    compared++;
  }
  assert_true(compared > 0);
}

static rb_landmarks_result landmarks(const rb_variant *v, rb_dtype t) {
  rb_landmarks_options o = rb_landmarks_defaults();
  static rb_landmarks_result r;
  double q[LANDMARKS * DIM], target[LANDMARKS * DIM];
  rb_landmarks *s;
  for (int i = 0; i < LANDMARKS * DIM; i++) q[i] = 4 * rb_rng_symmetric(1, (uint64_t)i), target[i] = q[i] + 0.2;
  o.lambda = 100, o.steps = 6, o.evaluations = 6, o.dtype = t;
  ok(rb_landmarks_create(v, &o, LANDMARKS, DIM, q, target, &s));
  ok(rb_landmarks_solve(s, NULL, NULL, &r));
  rb_landmarks_destroy(s);
  return r;
}
static void landmarks_follow(void **state) {
  (void)state;
  static rb_landmarks_result cpu;
  const rb_variant *twin;
  int compared = 0;
  ok(rb_variant_find(&rb_gausssum_family, "cpu/omp", &twin));
  cpu = landmarks(twin, RB_F64);
  for (int i = 0; i < rb_gausssum_family.count; i++) {
    const rb_variant *v = &rb_gausssum_family.variants[i];
    if (v->backend != RB_CUDA) continue;
    needs_cuda(v);
    const rb_landmarks_result cuda = landmarks(v, RB_F32);
    assert_true(cuda.rows >= 3 && cpu.rows >= 3);
    for (int k = 0; k < 3; k++)
      if (!(fabs(cuda.table[k].objective / cpu.table[k].objective - 1) < 1e-4))
        fail_msg("%s, evaluation %d: %g, not %g", v->name, k, cuda.table[k].objective, cpu.table[k].objective);
    compared++;
  }
  assert_true(compared > 0);
}

/* A pair on two levels; with a profile, so that its stamps are taken, too. */
static void keep(void *context, const rb_atlas_row *row) {
  ((double *)context)[4 * (row->level - 1) + row->iteration] = row->variance;
}
static void atlas(const rb_variant *v, rb_atlas_voxels voxels, double variance[8]) {
  static float two[2][POINTS], det[POINTS], w[3 * POINTS];
  const float *both[2] = {two[0], two[1]};
  rb_atlas_options o = rb_atlas_defaults();
  rb_atlas_result r;
  rb_atlas *a;
  o.levels = 2, o.iterations = o.coarse_iterations = 3, o.first_sweeps = 8;
  o.voxels = voxels, o.spacing[0] = 1.5;
  images(two[0], two[1]);
  ok(rb_atlas_create(v, &o, rb_grid_make(N, N, N), 2, both, NULL, rb_team_self(), &a));
  rb_atlas_set_profile(a, 1);
  ok(rb_atlas_solve(a, keep, variance, &r));
  ok(rb_atlas_determinant(a, 1, det));
  ok(rb_atlas_inverse(a, 0, w));
  for (int i = 0; i < POINTS; i++) assert_true(det[i] > 0 && isfinite(w[i]));
  rb_atlas_destroy(a);
}
static void atlas_follows(void **state) {
  (void)state;
  const rb_variant *twin[2];
  double cpu[2][2][8], cuda[8]; /* by voxels, by sweeps */
  int compared = 0;
  ok(rb_variant_find(&rb_atlas_family, "cpu-fft-f64", &twin[0]));
  ok(rb_variant_find(&rb_atlas_family, "cpu-sor-f64", &twin[1]));
  for (int k = 0; k < 4; k++) atlas(twin[k % 2], (rb_atlas_voxels)(k / 2), cpu[k / 2][k % 2]);
  assert_true(fabs(cpu[1][0][7] / cpu[0][0][7] - 1) > 2e-3); /* lengths matter */
  for (int i = 0; i < rb_atlas_family.count; i++) {
    const rb_variant *v = &rb_atlas_family.variants[i];
    if (v->backend != RB_CUDA) continue;
    needs_cuda(v);
    for (int voxels = 0; voxels < 2; voxels++) {
      const double *want = cpu[voxels][((const rb_atlas_config *)v->ops)->sweeps];
      atlas(v, (rb_atlas_voxels)voxels, cuda);
      for (int k = 0; k < 8; k++)
        if (!(fabs(cuda[k] / want[k] - 1) < 2e-4))
          fail_msg("%s, voxels %d, row %d: variance %g, not %g", v->name, voxels, k, cuda[k], want[k]);
    }
    compared++;
  }
  assert_true(compared > 0);
}

/* Iterations that are replayed without the host have the bits of those that it issues: rows, halvings, displacements;
 * of three images, side by side, two at a time or one after another, of one that is drawn to a reference, and where
 * steps are so long that they are halved. So has an atlas whose images stay on the host. */
enum { REPLAYED = 14 };
typedef struct {
  double variance[2 * (REPLAYED + 1)];
  int rows, halvings[2 * (REPLAYED + 1)];
  float u[3 * POINTS], mean[POINTS];
} replayed;
static void keep_row(void *context, const rb_atlas_row *row) {
  replayed *r = context;
  r->variance[r->rows] = row->variance, r->halvings[r->rows++] = row->halvings;
}
static rb_atlas_result by_rows(const char *name, int count, double step, int issue, int stream, int concurrent,
                               replayed *out) {
  static float two[2][POINTS], third[POINTS];
  const float *three[3] = {two[0], two[1], third};
  const rb_variant *v;
  rb_atlas_options o = rb_atlas_defaults();
  rb_atlas_result r;
  rb_atlas *a;
  ok(rb_variant_find(&rb_atlas_family, name, &v));
  o.levels = 2, o.iterations = REPLAYED, o.coarse_iterations = 2, o.first_sweeps = 2, o.step = step,
  o.stream = stream, o.concurrent = concurrent;
  o.voxels = count == 1 ? RB_VOXELS_SPACING : RB_VOXELS_CUBES, o.spacing[2] = 0.7;
  images(two[0], two[1]);
  for (int i = 0; i < POINTS; i++) third[i] = two[1][POINTS - 1 - i];
  out->rows = 0;
  ok(rb_atlas_create(v, &o, rb_grid_make(N, N, N), count, three, count == 1 ? two[1] : NULL, rb_team_self(), &a));
  rb_atlas_set_profile(a, issue); /* then the host issues every iteration */
  ok(rb_atlas_solve(a, keep_row, out, &r));
  ok(rb_atlas_displacement(a, count - 1, out->u));
  ok(rb_atlas_mean(a, out->mean));
  rb_atlas_destroy(a);
  return r;
}
static void replays_have_the_same_bits(void **state) {
  (void)state;
  static const char *const names[2] = {"gpu-fft-replay", "gpu-sor-replay"};
  static replayed issued, again;
  int halved = 0;
  for (int k = 0; k < 10; k++) {
    const rb_variant *v;
    ok(rb_variant_find(&rb_atlas_family, names[k % 2], &v));
    needs_cuda(v);
    const int count = k == 4 || k == 5 ? 1 : 3, stream = k == 6 || k == 9, concurrent = k == 7 || k == 8 ? k - 6 : 0;
    const double step = k / 2 % 2 ? 3 : 0.3;
    const rb_atlas_result r[2] = {by_rows(v->name, count, step, 1, 0, 0, &issued),
                                  by_rows(v->name, count, step, 0, stream, concurrent, &again)};
    assert_int_equal(issued.rows, 2 + 1 + REPLAYED + 1);
    assert_int_equal(again.rows, issued.rows);
    for (int i = 0; i < issued.rows; i++) {
      if (again.variance[i] != issued.variance[i])
        fail_msg("%s, row %d: variance %.17g, not %.17g", v->name, i, again.variance[i], issued.variance[i]);
      assert_int_equal(again.halvings[i], issued.halvings[i]);
    }
    assert_memory_equal(again.u, issued.u, sizeof issued.u);
    assert_memory_equal(again.mean, issued.mean, sizeof issued.mean);
    assert_int_equal(r[1].iterations, r[0].iterations);
    assert_int_equal(r[1].halvings, r[0].halvings);
    halved += r[0].halvings;
  }
  assert_true(halved > 0);
}

/* A ball with its surface onto one that lies apart: three iterations of two levels by every way of summing. */
static void keep_energy(void *context, const rb_currents_row *row) {
  ((double *)context)[row->iteration - 1] = row->energy;
}
static void currents(const rb_variant *v, int method, double energy[4]) {
  static float two[2][POINTS], u[3 * POINTS];
  rb_currents_options o = rb_currents_defaults();
  rb_mesh ball[2];
  rb_surface surface[2];
  rb_subject subject[2];
  double again[4];
  rb_currents_result r;
  rb_currents *s;
  images(two[0], two[1]);
  for (int k = 0; k < 2; k++) {
    const double centre[3] = {(N - 1) / 2.0, (N - 1) / 2.0, (N - 1) / 2.0 + 0.7 * k};
    ok(rb_mesh_sphere(1, N / 4.0, centre, &ball[k]));
    surface[k] = (rb_surface){ball[k].vertices, ball[k].faces, ball[k].x, ball[k].face};
    subject[k] = (rb_subject){.image = two[k], .surfaces = &surface[k]};
  }
  const rb_problem problem = {.shape = {.grid = rb_grid_make(N, N, N),
                                        .channels = 1,
                                        .templates = 1,
                                        .surfaces = 1,
                                        .vertices = ball[0].vertices,
                                        .faces = 2 * ball[0].faces},
                              .reference = &subject[1],
                              .templates = &subject[0]};
  o.sigmas = "1.5,1", o.steps = "0.3,0.2", o.iterations = "2,2", o.method = method;
  ok(rb_currents_solver_create(v, &o, &problem, NULL, &s));
  ok(rb_currents_solve(s, keep_energy, energy, &r));
  for (int k = 0; k < RB_CURRENTS_PARTS; k++) assert_true(r.parts[k] == 0); /* nobody asked */
  ok(rb_currents_displacement(s, u));
  rb_currents_set_profile(s, 1); /* in place of recordings: the same bits */
  ok(rb_currents_solve(s, keep_energy, again, &r));
  for (int k = 0; k < 4; k++) assert_true(again[k] == energy[k]);
  for (int k = 0; k < RB_CURRENTS_PARTS; k++)
    assert_false(r.parts[k] <= 0 || r.parts[k] > r.seconds); /* emulated: NaN */
  for (int i = 0; i < 3 * POINTS; i++) assert_true(isfinite(u[i]));
  rb_currents_solver_destroy(s);
  rb_mesh_free(&ball[0]), rb_mesh_free(&ball[1]);
}
static void currents_follow(void **state) {
  (void)state;
  const rb_variant *twin, *v;
  ok(rb_variant_find(&rb_currents_solver_family, "cpu-f64", &twin));
  ok(rb_variant_find(&rb_currents_solver_family, "gpu", &v));
  needs_cuda(v);
  for (int method = 0; method < 4; method++) {
    double cpu[4], cuda[4];
    currents(twin, method, cpu);
    currents(v, method, cuda);
    for (int k = 0; k < 4; k++)
      if (!(fabs(cuda[k] / cpu[k] - 1) < 2e-4))
        fail_msg("method %d, iteration %d: energy %g, not %g", method, k + 1, cuda[k], cpu[k]);
  }
}

/* usage: test_cuda_twins [PATTERN]: of names, with * and ? */
int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(claire_follows),
                                     cmocka_unit_test(demons_follow),
                                     cmocka_unit_test(landmarks_follow),
                                     cmocka_unit_test(atlas_follows),
                                     cmocka_unit_test(replays_have_the_same_bits),
                                     cmocka_unit_test(currents_follow)};
  if (argc > 1) cmocka_set_test_filter(argv[1]);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
