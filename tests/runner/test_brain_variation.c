/* SPDX-License-Identifier: BSD-3-Clause */
/* Individual shapes of brains, on a lattice that puts MNI's box where na01's brain lies: there the displacement is
 * the registration's own, so that na02 along it comes to na01, whichever way the lattice's axes run. */
#include "experiments/runner/inputs/brain_variation.h"
#include "experiments/runner/inputs/pairs.h"
#include "solvers/common/by_displacement.h"
#include "tests/ok.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double difference(int64_t n, const float *a, const float *b) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += pow((double)(a[i] - b[i]), 2);
  return sum;
}

/* image with its third axis reversed, which is the world's x */
static void reverse(rb_grid g, const float *image, float *out) {
  for (int64_t i = 0; i < rb_grid_points(g); i++) out[i] = image[i / g.n[2] * g.n[2] + g.n[2] - 1 - i % g.n[2]];
}

/* Affine of voxels in NIfTI's order to the world, such that the box [low, high] of x1, x2, x3 is MNI152's; along x it
 * falls, as in NIREP's files, or rises with the reversed image. */
static rb_affine lattice(const double low[3], const double high[3], int64_t n, int reversed) {
  static const double mni[2][3] = {{-72, -108, -72}, {72, 74, 82}};
  rb_affine m;
  memset(&m, 0, sizeof m);
  m.known = 1;
  for (int w = 0; w < 3; w++) {
    const double step = (mni[1][w] - mni[0][w]) / (high[2 - w] - low[2 - w]), first = mni[0][w] - low[2 - w] * step;
    m.m[w][w] = step, m.m[w][3] = first;
    if (w > 0) continue;
    const double last = mni[1][0] + low[2] * step; /* voxel `low` is at the right end */
    m.m[0][0] = -step, m.m[0][3] = last;
    if (reversed) m.m[0][0] = step, m.m[0][3] = last - step * (double)(n - 1);
  }
  return m;
}

static void a_subject_comes_to_na01(void **state) {
  enum { SIZE = 64 };
  (void)state;
  const rb_grid g = rb_grid_make(SIZE, SIZE, SIZE);
  const int64_t n = rb_grid_points(g), stride[3] = {SIZE * SIZE, SIZE, 1};
  rb_pair pair = {0};
  if (rb_pair_load("na02", RB_ANTIALIAS, g, &pair) != RB_OK) {
    puts("na02 of nirep is not at hand");
    rb_clear();
    skip();
  }
  float *subject = pair.image[RB_TEMPLATE], *other = pair.image[RB_REFERENCE], most = 0;
  double low[3] = {SIZE, SIZE, SIZE}, high[3] = {-1, -1, -1};
  for (int64_t i = 0; i < n; i++) most = fmaxf(most, other[i]);
  for (int64_t i = 0; i < n; i++)
    for (int a = 0; a < 3 && other[i] > 0.1f * most; a++) {
      low[a] = fmin(low[a], (double)(i / stride[a] % SIZE));
      high[a] = fmax(high[a], (double)(i / stride[a] % SIZE));
    }
  float *u = malloc(3 * (size_t)n * sizeof *u), *room = malloc(3 * (size_t)n * sizeof *room);
  assert_true(u && room);
  for (int reversed = 0; reversed < 2; reversed++) {
    rb_volume plain = {.grid = g}, like;
    const rb_affine affine = lattice(low, high, SIZE, reversed);
    ok(rb_volume_with_affine(&plain, &affine, &like));
    ok(rb_brain_variation("na02", g, &like, u));
    memcpy(room, subject, (size_t)n * sizeof *room), memcpy(room + n, other, (size_t)n * sizeof *room);
    if (reversed) reverse(g, subject, room), reverse(g, other, room + n);
    ok(rb_displaced_image(g, u, room, room + 2 * n));
    const double before = difference(n, room, room + n), after = difference(n, room + 2 * n, room + n);
    printf("squared difference to na01: %.3g of that before\n", after / before);
    assert_true(after < 0.2 * before);
    rb_volume_free(&like);
  }
  free(room), free(u);
  rb_pair_free(&pair);
}

static void a_subject_that_is_not_there(void **state) {
  const rb_grid g = rb_grid_make(8, 8, 8);
  const double origin[3] = {0, 0, 0};
  float u[3 * 512];
  rb_volume like;
  (void)state;
  ok(rb_volume_geometry(g, 3, origin, &like));
  assert_int_not_equal(rb_brain_variation("na99", g, &like, u), RB_OK);
  assert_true(strlen(rb_message()) > 0);
  rb_clear();
  rb_volume_free(&like);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_subject_that_is_not_there),
                                     cmocka_unit_test(a_subject_comes_to_na01)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
