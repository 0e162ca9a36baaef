/* SPDX-License-Identifier: BSD-3-Clause */
/* The log-demons solver: what an exponential must satisfy, a known deformation found again, and bad options. */
#include "tests/ok.h"

#include "kernels/base/rng.h"
#include "kernels/smooth/smooth.h"
#include "solvers/demons/demons.h"

#include "kernels/base/backend.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N1 = 26, N2 = 30, N3 = 28, N = N1 * N2 * N3 };

/* A ball with a soft edge and a stripe inside, seen through x -> x + shift(x). */
static float ball(double x, double y, double z) {
  const double r = sqrt((x - 13) * (x - 13) + (y - 15) * (y - 15) + (z - 14) * (z - 14));
  return (float)(255 / (1 + exp(1.5 * (r - 8))) * (0.8 + 0.2 * cos(0.7 * x)));
}
static void images(float *template_image, float *reference) {
  for (int i = 0; i < N; i++) {
    const double x = i / N3 / N2, y = i / N3 % N2, z = i % N3;
    template_image[i] = ball(x, y, z);
    reference[i] = ball(x + 1.2 * sin(0.2 * y), y + 1.5, z + 0.8 * cos(0.25 * x));
  }
}

static rb_demons *of_images(const char *variant, rb_demons_options o, const float *template_image,
                            const float *reference) {
  const rb_variant *v;
  rb_demons *s;
  ok(rb_variant_find(&rb_demons_family, variant, &v));
  ok(rb_demons_create(v, &o, rb_grid_make(N1, N2, N3), template_image, reference, &s));
  return s;
}
static rb_demons *problem(const char *variant, rb_demons_options o) {
  static float template_image[N], reference[N];
  images(template_image, reference);
  return of_images(variant, o, template_image, reference);
}
static rb_demons_options small(void) {
  rb_demons_options o = rb_demons_defaults();
  o.sigma_fluid = 1.5, o.sigma_diffusion = 1, o.iterations = 40, o.stop = 0;
  return o;
}

/* The difference falls at every iteration, to a small part; no fold; float32 as float64. */
static void recovers(void **state) {
  (void)state;
  static rb_demons_result r, exact;
  static float det[N];
  rb_demons *s = problem("cpu-f64", small());
  ok(rb_demons_solve(s, NULL, NULL, &exact));
  rb_demons_destroy(s);
  assert_true(exact.iterations == 40 && exact.after < 0.05 * exact.before && exact.energy[0] < exact.before);
  for (int i = 1; i < exact.iterations; i++) assert_true(exact.energy[i] < exact.energy[i - 1]);
  s = problem("cpu", small());
  ok(rb_demons_solve(s, NULL, NULL, &r));
  assert_true(fabs(r.before / exact.before - 1) < 1e-5 && fabs(r.after / exact.after - 1) < 1e-2);
  ok(rb_demons_determinant(s, det));
  for (int i = 0; i < N; i++) assert_true(det[i] > 0.2f && det[i] < 5);
  rb_demons_destroy(s);
}

/* Where every direction of motion can be seen, as in a texture of three plane waves, the displacement is the known
 * one. */
static float texture(double x, double y, double z) {
  return (float)(128 + 40 * (sin(0.7 * x + 0.3 * y) + sin(0.65 * y + 0.4 * z + 1) + sin(0.6 * z - 0.35 * x + 2)));
}
static void known_deformation(void **state) {
  (void)state;
  enum { EDGE = 6 }; /* the radii of both smoothings */
  static rb_demons_result r;
  static float u[3 * N], a[N], b[N];
  double off = 0, size = 0;
  rb_demons_options o = small();
  o.sigma_fluid = 1, o.iterations = 60;
  for (int i = 0; i < N; i++) {
    const double x = i / N3 / N2, y = i / N3 % N2, z = i % N3;
    a[i] = texture(x, y, z), b[i] = texture(x + 1.2 * sin(0.2 * y), y + 1.5, z + 0.8 * cos(0.25 * x));
  }
  rb_demons *s = of_images("cpu", o, a, b);
  ok(rb_demons_solve(s, NULL, NULL, &r));
  ok(rb_demons_displacement(s, u));
  for (int i = 0; i < N; i++) {
    const int x = i / N3 / N2, y = i / N3 % N2, z = i % N3;
    const double want[3] = {1.2 * sin(0.2 * y), 1.5, 0.8 * cos(0.25 * x)};
    const int inside = x >= EDGE && y >= EDGE && z >= EDGE && x < N1 - EDGE && y < N2 - EDGE && z < N3 - EDGE;
    for (int c = 0; c < 3 && inside; c++) off += pow((double)u[c * N + i] - want[c], 2), size += want[c] * want[c];
  }
  assert_true(sqrt(off / size) < 0.15); /* a tenth is what smoothing the velocity keeps off; without motion it is 1 */
  rb_demons_destroy(s);
}

/* exp(a v) o exp(-a v) is the identity up to terms of second order in a; exp(a v) itself is of first order. */
static void exponentials_are_inverse(void **state) {
  (void)state;
  static rb_demons_result r;
  static float u[3 * N];
  double error[2] = {0, 0}, length[2] = {0, 0};
  rb_demons_options o = small();
  o.iterations = 15;
  rb_demons *s = problem("cpu-f64", o);
  ok(rb_demons_solve(s, NULL, NULL, &r));
  for (int k = 0; k < 4; k++) {
    double worst = 0;
    ok(rb_demons_exponential(s, k % 2 ? 0.5 : 1, k < 2, u));
    for (int c = 0; c < 3; c++)
      for (int i = 0; i < N; i++) {
        const int at[3] = {i / N3 / N2, i / N3 % N2, i % N3};
        if (at[0] > 2 && at[1] > 2 && at[2] > 2 && at[0] < N1 - 3 && at[1] < N2 - 3 && at[2] < N3 - 3)
          worst = fmax(worst, fabs((double)u[c * N + i]));
      }
    *(k < 2 ? &error[k] : &length[k - 2]) = worst;
  }
  assert_true(length[0] > 0.5 && length[0] / length[1] > 1.8 && length[0] / length[1] < 2.2);
  assert_true(error[0] < 0.1 * length[0] && error[0] / error[1] > 3 && error[0] / error[1] < 5);
  rb_demons_destroy(s);
}

static void stops(void **state) {
  (void)state;
  static rb_demons_result r;
  rb_demons_options o = small();
  o.stop = 0.05, o.iterations = 200;
  rb_demons *s = problem("cpu", o);
  ok(rb_demons_solve(s, NULL, NULL, &r));
  assert_int_equal(r.end, RB_END_CONVERGED);
  const int last = r.iterations - 1;
  assert_true(r.energy[last - 5] - r.energy[last] < 0.05 * r.energy[0] &&
              r.energy[last - 6] - r.energy[last - 1] >= 0.05 * r.energy[0]);
  rb_demons_destroy(s);
  volatile int stop_now = 1;
  o.interrupted = &stop_now;
  s = problem("cpu", o);
  ok(rb_demons_solve(s, NULL, NULL, &r));
  assert_int_equal(r.end, RB_END_INTERRUPTED);
  rb_demons_destroy(s);
}

/* Every way to join an update to the velocity finds the deformation; the bracket changes the path, not where it
 * leads. */
static void updates(void **state) {
  (void)state;
  static rb_demons_result r[3];
  for (int k = 0; k < 3; k++) {
    static const char *const names[] = {"sum", "bch", "compose"};
    rb_demons_options o = small();
    ok(rb_demons_update_parse(names[k], &o.update));
    assert_int_equal(o.update, k);
    rb_demons *s = problem("cpu-f64", o);
    ok(rb_demons_solve(s, NULL, NULL, &r[k]));
    assert_true(r[k].after < 0.05 * r[k].before);
    assert_true(k == 0 || (r[k].after != r[0].after && fabs(r[k].energy[9] / r[0].energy[9] - 1) < 0.2));
    rb_demons_destroy(s);
  }
  rb_demons_options o = small();
  assert_int_equal(rb_demons_update_parse("plus", &o.update), RB_EINVAL);
  rb_clear();
}

/* Fewer fine iterations from where coarse ones end reach what many fine ones reach; a velocity given as the start is
 * the start. */
static void levels(void **state) {
  (void)state;
  static float template_image[N], reference[N], v[3 * N], back[3 * N];
  static rb_demons_result r, one;
  const rb_variant *variant;
  rb_demons_options o = small();
  rb_demons *s;
  o.iterations = 8;
  images(template_image, reference);
  ok(rb_variant_find(&rb_demons_family, "cpu", &variant));
  ok(rb_demons_solve_levels(variant, &o, 1, rb_grid_make(N1, N2, N3), template_image, reference, NULL, NULL, &one,
                            &s));
  rb_demons_destroy(s);
  ok(rb_demons_solve_levels(variant, &o, 3, rb_grid_make(N1, N2, N3), template_image, reference, NULL, NULL, &r, &s));
  assert_true(r.before < 0.7 * one.before && r.after < one.after);
  ok(rb_demons_velocity(s, v));
  ok(rb_demons_start(s, v));
  ok(rb_demons_solve(s, NULL, NULL, &one));
  assert_true(fabs(one.before / r.after - 1) < 1e-3); /* but for what the padding held */
  ok(rb_demons_start(s, v));
  ok(rb_demons_velocity(s, back));
  assert_memory_equal(v, back, sizeof v);
  rb_demons_destroy(s);
  assert_int_equal(
      rb_demons_solve_levels(variant, &o, 9, rb_grid_make(N1, N2, N3), template_image, reference, NULL, NULL, &r, &s),
      RB_EINVAL);
  rb_clear();
  assert_int_equal(rb_memory_live(RB_CPU), 0);
}

/* On a GPU host every variant follows the CPU's energies, iteration by iteration; textures weigh with 8 bits. */
static void gpu_follows(void **state) {
  (void)state;
  static rb_demons_result cpu, gpu;
  int compared = 0;
  rb_demons *s = problem("cpu-f64", small());
  ok(rb_demons_solve(s, NULL, NULL, &cpu));
  rb_demons_destroy(s);
  for (int v = 0; v < rb_demons_family.count; v++) {
    const rb_variant *variant = &rb_demons_family.variants[v];
    if (variant->backend != RB_CUDA || rb_variant_available(variant) != RB_OK) continue;
    s = problem(variant->name, small());
    ok(rb_demons_solve(s, NULL, NULL, &gpu));
    for (int i = 0; i < cpu.iterations; i++)
      assert_true(fabs(gpu.energy[i] / cpu.energy[i] - 1) < (strstr(variant->name, "b4") ? 0.05 : 0.01));
    rb_demons_destroy(s);
    compared++;
  }
  rb_clear();
  if (!compared) skip();
}

/* What is told before a run is what it takes, within the room of small plans. */
static void memory(void **state) {
  (void)state;
  size_t told;
  const rb_variant *v;
  rb_demons_options o = small();
  ok(rb_variant_find(&rb_demons_family, "cpu", &v));
  ok(rb_demons_predict(v, &o, rb_grid_make(N1, N2, N3), &told));
  rb_memory_reset_peak(RB_CPU);
  rb_demons *s = problem("cpu", o);
  const double taken = (double)rb_memory_peak(RB_CPU);
  assert_true(taken > 0.95 * (double)told && taken < 1.1 * (double)told);
  rb_demons_destroy(s);
}

static void bad_options(void **state) {
  (void)state;
  static float image[N];
  const rb_variant *v;
  rb_demons *s;
  ok(rb_variant_find(&rb_demons_family, "cpu", &v));
  rb_demons_options wrong[4];
  for (int k = 0; k < 4; k++) wrong[k] = small();
  wrong[0].sigma_fluid = -1, wrong[1].sigma_x = 0, wrong[2].padding = 0.5, wrong[3].iterations = 0;
  for (int k = 0; k < 4; k++) {
    assert_int_equal(rb_demons_create(v, &wrong[k], rb_grid_make(N1, N2, N3), image, image, &s), RB_EINVAL);
    rb_clear();
  }
  assert_int_equal(rb_memory_live(RB_CPU), 0);
}

/* A variant whose smoothing ends somewhere says so before anything is allocated; others take any sigma. */
static void wide_smoothing(void **state) {
  (void)state;
  static rb_demons_result r, exact;
  const rb_variant *v, *a3;
  size_t bytes;
  rb_demons_options o = small();
  o.sigma_fluid = 40, o.iterations = 2;
  ok(rb_variant_find(&rb_smooth_family, "cuda/shared-coalesced", &a3));
  ok(rb_variant_find(&rb_demons_family, "gpu-a3-b4", &v));
  if (a3->ops) { /* built with CUDA; no GPU is needed to predict */
    assert_int_equal(rb_demons_predict(v, &o, rb_grid_make(80, 90, 100), &bytes), RB_EUNSUPPORTED);
    rb_clear();
    ok(rb_demons_predict(v, &o, rb_grid_make(40, 40, 40), &bytes)); /* taps beyond the grid are left out */
  }
  rb_demons *s = problem("cpu", o);
  ok(rb_demons_solve(s, NULL, NULL, &r));
  rb_demons_destroy(s);
  s = problem("cpu-f64", o);
  ok(rb_demons_solve(s, NULL, NULL, &exact));
  rb_demons_destroy(s);
  assert_true(r.iterations == 2 && r.after != r.before && fabs(r.after / exact.after - 1) < 1e-5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(recovers),
      cmocka_unit_test(known_deformation),
      cmocka_unit_test(exponentials_are_inverse),
      cmocka_unit_test(stops),
      cmocka_unit_test(updates),
      cmocka_unit_test(levels),
      cmocka_unit_test(gpu_follows),
      cmocka_unit_test(memory),
      cmocka_unit_test(bad_options),
      cmocka_unit_test(wide_smoothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
