/* SPDX-License-Identifier: BSD-3-Clause */
/* The atlas: what must not move, what must not change, where things go. */
#include "tests/solvers/atlas_make.h"

#include "experiments/runner/inputs/letter.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Equal images have nothing to do; three of them have weights of 1/3, whose rounding must not be normalised to a
 * step. */
static void equal_images_stay(void **state) {
  (void)state;
  const float *four[4] = {pictures[0], pictures[0], pictures[0], pictures[0]};
  static float mean[N], u[3 * N], own[N];
  rb_atlas_options o = quick();
  float least = 1, greatest = 0;
  for (int i = 0; i < N; i++) least = fminf(least, pictures[0][i]), greatest = fmaxf(greatest, pictures[0][i]);
  for (int i = 0; i < N; i++) own[i] = (pictures[0][i] - least) / (greatest - least);
  for (int s = 0; s < SOLVERS; s++)
    for (int count = 1; count <= 4; count++)
      for (int sum = RB_SUM_FIXED; sum <= RB_SUM_FLOAT; sum++) {
        o.sum = (rb_sum_kind)sum;
        make(solvers[s], &o, count, four, NULL, mean, u);
        for (int i = 0; i < 3 * N; i++) assert_true(u[i] == 0);
        assert_true(furthest(mean, own, N) <= 1 / RB_AVERAGE_UNIT);
      }
}

/* The first movement is as long as was asked for, of every image. */
static void first_step_has_its_length(void **state) {
  (void)state;
  const float *images[3] = {pictures[0], pictures[1], pictures[2]};
  static float mean[N], u[3 * N];
  rb_atlas_options o = quick();
  o.iterations = 1, o.step = 0.3;
  for (int s = 0; s < SOLVERS; s++) {
    rb_atlas *a;
    rb_atlas_result r;
    ok(rb_atlas_create(variant(solvers[s]), &o, grid, 3, images, NULL, rb_team_self(), &a));
    ok(rb_atlas_solve(a, NULL, NULL, &r));
    for (int k = 0; k < 3; k++) {
      double longest = 0;
      ok(rb_atlas_displacement(a, k, u));
      for (int i = 0; i < N; i++)
        longest = fmax(longest, sqrt(pow((double)u[i], 2) + pow((double)u[N + i], 2) + pow((double)u[2 * N + i], 2)));
      assert_true(fabs(longest - 0.3) < 1e-6);
    }
    ok(rb_atlas_mean(a, mean));
    rb_atlas_destroy(a);
  }
}

/* A target that lies 2 voxels further along x3 draws from where the image was: u = -2 there. */
static void known_shift(void **state) {
  (void)state;
  static float target[N], mean[N], u[3 * N];
  const float *image[1] = {pictures[0]};
  rb_atlas_options o = quick();
  o.iterations = 150, o.gamma = 0.002;
  for (int i = 0; i < N; i++) target[i] = i % N3 >= 2 ? pictures[0][i - 2] : pictures[0][i];
  for (int s = 0; s < SOLVERS; s++) {
    const rb_atlas_result r = make(solvers[s], &o, 1, image, target, mean, u);
    double sum = 0, weights = 0;
    for (int i = 0; i < N; i++) sum += (double)(target[i] * u[2 * N + i]), weights += (double)target[i];
    /* zeros at the border hold the shift back: they lie 5 voxels from the ball */
    assert_true(sum / weights < (strstr(solvers[s], "fft") ? -1.8 : -1.2) && sum / weights > -2.3);
    assert_true(r.variance_after < 0.02 * r.variance_before);
    rb_atlas_options other = o;
    other.sum = RB_SUM_FLOAT; /* no mean is made: no difference */
    static float again[3 * N];
    make(solvers[s], &other, 1, image, target, mean, again);
    assert_true(furthest(u, again, 3 * N) == 0);
  }
}

/* Below the bound on the step the variance falls in every iteration. */
static double last_variance;
static void falls(void *context, const rb_atlas_row *row) {
  (void)context;
  assert_true(row->iteration == 0 || row->variance < last_variance);
  last_variance = row->variance;
}
static void variance_falls(void **state) {
  (void)state;
  const float *images[4] = {pictures[0], pictures[1], pictures[2], pictures[3]};
  rb_atlas_options o = quick();
  o.step = 0.1;
  for (int s = 0; s < 2; s++) {
    rb_atlas *a;
    rb_atlas_result r;
    ok(rb_atlas_create(variant(solvers[s]), &o, grid, 4, images, NULL, rb_team_self(), &a));
    ok(rb_atlas_solve(a, falls, NULL, &r));
    assert_true(r.halvings == 0 && r.iterations == 20 && r.variance_after < 0.7 * r.variance_before);
    rb_atlas_destroy(a);
  }
  /* far above it, halving steps brings it down all the same */
  o.step = 3;
  rb_atlas *a;
  rb_atlas_result r;
  ok(rb_atlas_create(variant("cpu-fft"), &o, grid, 4, images, NULL, rb_team_self(), &a));
  ok(rb_atlas_solve(a, NULL, NULL, &r));
  assert_true(r.halvings > 0 && r.variance_after < r.variance_before);
  rb_atlas_destroy(a);
}

/* Order of the images, and every image twice: the same bits, in fixed point. */
static void order_does_not_matter(void **state) {
  (void)state;
  const float *forth[4] = {pictures[0], pictures[1], pictures[2], pictures[3]},
              *back[4] = {pictures[2], pictures[0], pictures[3], pictures[1]},
              *twice[8] = {pictures[0], pictures[1], pictures[2], pictures[3],
                           pictures[0], pictures[1], pictures[2], pictures[3]};
  static float a[N], b[N];
  rb_atlas_options o = quick();
  for (int s = 0; s < SOLVERS; s++) {
    make(solvers[s], &o, 4, forth, NULL, a, NULL);
    make(solvers[s], &o, 4, back, NULL, b, NULL);
    assert_memory_equal(a, b, sizeof a);
    make(solvers[s], &o, 8, twice, NULL, b, NULL);
    assert_memory_equal(a, b, sizeof a);
    o.sum = RB_SUM_FLOAT;
    make(solvers[s], &o, 4, forth, NULL, a, NULL);
    make(solvers[s], &o, 4, back, NULL, b, NULL);
    assert_true(furthest(a, b, N) < 1e-5);
    o.sum = RB_SUM_FIXED;
  }
}

/* The operator times a power of two, intensities times a power of two: the same bits. */
static void scales_drop_out(void **state) {
  (void)state;
  static float doubled[3][N], a[N], b[N], ua[3 * N], ub[3 * N];
  const float *plain[3] = {pictures[0], pictures[1], pictures[2]}, *big[3] = {doubled[0], doubled[1], doubled[2]};
  rb_atlas_options o = quick(), p = o;
  p.alpha *= 4, p.gamma *= 4;
  for (int k = 0; k < 3; k++)
    for (int i = 0; i < N; i++) doubled[k][i] = 2 * pictures[k][i];
  for (int s = 0; s < SOLVERS; s++) {
    make(solvers[s], &o, 3, plain, NULL, a, ua);
    make(solvers[s], &p, 3, plain, NULL, b, ub);
    assert_memory_equal(a, b, sizeof a);
    assert_memory_equal(ua, ub, sizeof ua);
    make(solvers[s], &o, 3, big, NULL, b, ub);
    assert_memory_equal(a, b, sizeof a);
  }
}

static void mirror(const float *in, float *out) {
  for (int i = 0; i < N; i++) out[i] = in[i / N3 * N3 + N3 - 1 - i % N3];
}
static void mirrored_images_give_the_mirrored_atlas(void **state) {
  (void)state;
  static float turned[3][N], a[N], b[N], c[N];
  const float *plain[3] = {pictures[0], pictures[1], pictures[2]}, *other[3] = {turned[0], turned[1], turned[2]};
  const rb_atlas_options o = quick();
  for (int k = 0; k < 3; k++) mirror(pictures[k], turned[k]);
  for (int s = 0; s < SOLVERS; s++) {
    make(solvers[s], &o, 3, plain, NULL, a, NULL);
    make(solvers[s], &o, 3, other, NULL, b, NULL);
    mirror(b, c);
    assert_true(furthest(a, c, N) < 2e-5); /* the axis is odd: sweeps visit the colours in the same order */
  }
}

/* |u(x + w(x)) + w(x)| at a node, u linear; the greatest component. */
static double left_over(const float *u, const float *w, int i1, int i2, int i3) {
  const int i = (i1 * N2 + i2) * N3 + i3, stride[3] = {N2 * N3, N3, 1};
  double x[3] = {i1, i2, i3}, t[3], off = 0;
  int base = 0;
  for (int c = 0; c < 3; c++) {
    x[c] += (double)w[c * N + i];
    base += (int)floor(x[c]) * stride[c], t[c] = x[c] - floor(x[c]);
  }
  for (int c = 0; c < 3; c++) {
    double total = (double)w[c * N + i];
    for (int corner = 0; corner < 8; corner++) {
      double weight = 1;
      int at = base;
      for (int q = 0; q < 3; q++) weight *= corner >> q & 1 ? t[q] : 1 - t[q], at += (corner >> q & 1) * stride[q];
      total += weight * (double)u[c * N + at];
    }
    off = fmax(off, fabs(total));
  }
  return off;
}

/* det > 0, and the inverse undoes the displacement. */
static void deformations_can_be_undone(void **state) {
  (void)state;
  const float *images[4] = {pictures[0], pictures[1], pictures[2], pictures[3]};
  static float u[3 * N], w[3 * N], det[N], d[N];
  const rb_atlas_options o = quick();
  rb_atlas *a;
  rb_atlas_result r;
  ok(rb_atlas_create(variant("cpu-fft"), &o, grid, 4, images, NULL, rb_team_self(), &a));
  ok(rb_atlas_solve(a, NULL, NULL, &r));
  static float mean[N], sum[N];
  ok(rb_atlas_mean(a, mean));
  memset(sum, 0, sizeof sum);
  for (int k = 0; k < 4; k++) {
    ok(rb_atlas_warped(a, k, d));
    for (int i = 0; i < N; i++) sum[i] += d[i] / 4;
  }
  assert_true(furthest(mean, sum, N) < 2 / RB_AVERAGE_UNIT); /* the mean is that of the images as they lie now */
  for (int k = 0; k < 4; k++) {
    double off = 0;
    ok(rb_atlas_displacement(a, k, u));
    ok(rb_atlas_inverse(a, k, w));
    ok(rb_atlas_determinant(a, k, det));
    ok(rb_atlas_warped(a, k, d));
    for (int i = 0; i < N; i++) assert_true(det[i] > 0);
    for (int i1 = 4; i1 < N1 - 4; i1++)
      for (int i2 = 4; i2 < N2 - 4; i2++)
        for (int i3 = 4; i3 < N3 - 4; i3++) off = fmax(off, left_over(u, w, i1, i2, i3));
    assert_true(off < 1e-4);
  }
  assert_int_equal(rb_atlas_warped(a, 4, d), RB_EINVAL);
  rb_clear();
  rb_atlas_destroy(a);
}

/* A displacement that stretches by far more than 1: no fixed-point iteration inverts it. */
static void strong_deformations_can_be_undone(void **state) {
  (void)state;
  const float *images[1] = {pictures[0]};
  static float target[N], w[3 * N], u[3 * N], det[N];
  rb_atlas_options o = quick();
  rb_atlas *a;
  rb_atlas_result r;
  double greatest = 0, off = 0;
  o.iterations = 200, o.gamma = 0.002, o.step = 0.2;
  for (int i = 0; i < N; i++) { /* half the ball */
    const double x = i / N3 / N2 - 7.5, y = i / N3 % N2 - 9.5, z = i % N3 - 8;
    target[i] = (float)(1 / (1 + exp(2 * (sqrt(x * x + y * y + z * z) - 2.5))));
  }
  ok(rb_atlas_create(variant("cpu-fft"), &o, grid, 1, images, target, rb_team_self(), &a));
  ok(rb_atlas_solve(a, NULL, NULL, &r));
  ok(rb_atlas_displacement(a, 0, u));
  ok(rb_atlas_inverse(a, 0, w));
  ok(rb_atlas_determinant(a, 0, det));
  for (int i = 0; i < N; i++) greatest = fmax(greatest, (double)det[i]);
  assert_true(greatest > 3);
  for (int i1 = 4; i1 < N1 - 4; i1++)
    for (int i2 = 4; i2 < N2 - 4; i2++)
      for (int i3 = 4; i3 < N3 - 4; i3++) off = fmax(off, left_over(u, w, i1, i2, i3));
  assert_true(off < 1e-4);
  rb_atlas_destroy(a);
}

/* Two levels reach what one does in fewer fine iterations; a coarse image of a constant, and a displacement back. */
static void levels(void **state) {
  (void)state;
  const float *images[4] = {pictures[0], pictures[1], pictures[2], pictures[3]};
  static float mean[N], flat[N], out[N], u[3 * N], fine[3 * N];
  rb_atlas_options o = quick(), p = o;
  p.levels = 2, p.iterations = 10, p.coarse_iterations = 20;
  const rb_atlas_result one = make("cpu-fft", &o, 4, images, NULL, mean, NULL),
                        two = make("cpu-fft", &p, 4, images, NULL, mean, NULL);
  assert_true(two.iterations == 30 && two.variance_after < 1.1 * one.variance_after);
  const rb_grid half = rb_atlas_coarse_grid(grid, 2);
  const double longer[3] = {2, 2, (double)N3 / (double)half.n[2]}; /* fine voxels a coarse one */
  const int m = (int)rb_grid_points(half);
  for (int i = 0; i < N; i++) flat[i] = 0.75f;
  ok(rb_atlas_restrict(grid, flat, 0, 1, half, out));
  for (int i = 0; i < m; i++) assert_true(fabsf(out[i] - 0.75f) < 1e-6f);
  for (int c = 0; c < 3; c++)
    for (int i = 0; i < m; i++) u[c * m + i] = (float)(c + 1); /* a shift stays that shift, in finer voxels */
  ok(rb_atlas_prolong(half, u, grid, fine));
  for (int c = 0; c < 3; c++)
    for (int i = 0; i < N; i++) assert_true(fabs((double)fine[c * N + i] - longer[c] * (c + 1)) < 1e-5);
  /* a slope keeps its place: no half voxel of drift */
  for (int i = 0; i < m; i++) u[2 * m + i] = (float)(i % (int)half.n[2]);
  ok(rb_atlas_prolong(half, u, grid, fine));
  for (int i = 0; i < N; i++) {
    const int k = i % N3;
    if (k > 0 && k < N3 - 1)
      assert_true(fabs((double)fine[2 * N + i] - longer[2] * ((k + 0.5) / longer[2] - 0.5)) < 1e-5);
  }
}

/* Part of a letter C onto the whole (ha2009 Figure 1), in one plane, against a prototype's numbers. */
static void letter(void **state) {
  (void)state;
  static const struct {
    int iterations;
    double left; /* of the squared difference */
  } after[] = {{50, 0.568}, {100, 0.117}, {200, 0.0022}};
  const rb_grid plane = {{1, 128, 128}};
  enum { PIXELS = 128 * 128 };
  static float warped[PIXELS];
  rb_pair pair;
  rb_atlas_options o = rb_atlas_defaults();
  double both = 0, either = 0, squared = 0;
  o.gamma = 0.002, o.step = 0.5, o.halve = 0;
  ok(rb_letter_pair(plane, &pair));
  for (int i = 0; i < PIXELS; i++) squared += pow((double)(pair.image[0][i] - pair.image[1][i]), 2);
  assert_true(fabs(squared - 1406.5) < 1);
  const float *image[1] = {pair.image[RB_TEMPLATE]};
  for (size_t k = 0; k < sizeof after / sizeof *after; k++) {
    rb_atlas *a;
    rb_atlas_result r;
    o.iterations = after[k].iterations;
    ok(rb_atlas_create(variant("cpu-fft"), &o, plane, 1, image, pair.image[RB_REFERENCE], rb_team_self(), &a));
    ok(rb_atlas_solve(a, NULL, NULL, &r));
    ok(rb_atlas_warped(a, 0, warped));
    assert_true(fabs(r.variance_after / r.variance_before / after[k].left - 1) < 0.05);
    rb_atlas_destroy(a);
  }
  for (int i = 0; i < PIXELS; i++) {
    const int in = warped[i] > 0.5f, there = pair.image[RB_REFERENCE][i] > 0.5f;
    both += 2 * (in && there), either += in + there;
  }
  assert_true(both / either > 0.999);
  rb_pair_free(&pair);
}

static void bad_input(void **state) {
  (void)state;
  static float broken[N], constant[N];
  const float *images[3] = {pictures[0], broken, pictures[2]};
  rb_atlas_options o = quick();
  rb_atlas *a;
  memcpy(broken, pictures[1], sizeof broken);
  broken[77] = NAN;
  assert_int_equal(rb_atlas_create(variant("cpu-fft"), &o, grid, 3, images, NULL, rb_team_self(), &a), RB_EINVAL);
  assert_non_null(strstr(rb_message(), "image 2: voxel 77 is not finite"));
  rb_clear();
  images[1] = constant;
  assert_int_equal(rb_atlas_create(variant("cpu-fft"), &o, grid, 3, images, NULL, rb_team_self(), &a), RB_EINVAL);
  assert_non_null(strstr(rb_message(), "image 2 is constant"));
  rb_clear();
  images[1] = pictures[1];
  o.gamma = 0;
  assert_int_equal(rb_atlas_create(variant("cpu-sor"), &o, grid, 3, images, NULL, rb_team_self(), &a), RB_EINVAL);
  rb_clear();
  o = quick(), o.beta = 0.1;
  assert_int_equal(rb_atlas_create(variant("cpu-sor"), &o, grid, 3, images, NULL, rb_team_self(), &a),
                   RB_EUNSUPPORTED);
  assert_non_null(strstr(rb_message(), "neglect"));
  rb_clear();
  o = quick(), o.levels = 5;
  assert_int_equal(rb_atlas_create(variant("cpu-fft"), &o, grid, 3, images, NULL, rb_team_self(), &a), RB_EINVAL);
  rb_clear();
  assert_int_equal(rb_atlas_create(variant("cpu-fft"), &o, grid, 0, images, NULL, rb_team_self(), &a), RB_EINVAL);
  rb_clear();
}

int main(void) {
  fill_pictures();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equal_images_stay),
      cmocka_unit_test(first_step_has_its_length),
      cmocka_unit_test(known_shift),
      cmocka_unit_test(variance_falls),
      cmocka_unit_test(order_does_not_matter),
      cmocka_unit_test(scales_drop_out),
      cmocka_unit_test(mirrored_images_give_the_mirrored_atlas),
      cmocka_unit_test(deformations_can_be_undone),
      cmocka_unit_test(strong_deformations_can_be_undone),
      cmocka_unit_test(levels),
      cmocka_unit_test(letter),
      cmocka_unit_test(bad_input),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
