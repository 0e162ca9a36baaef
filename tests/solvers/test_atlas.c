/* SPDX-License-Identifier: BSD-3-Clause */
/* The atlas: what must not move, what must not change, where things go. */
#include "tests/solvers/atlas_pictures.h"

#include "experiments/runner/inputs/letter.h"
#include "kernels/compose/compose.h"
#include "kernels/l2force/l2force.h"
#include "kernels/splat/splat.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The atlas of images[count]; mean[N] and, where not NULL, the displacement of the first. */
static rb_atlas_result make(const char *name, const rb_atlas_options *o, int count, const float *const *images,
                            const float *reference, float *mean, float *u) {
  rb_atlas *a;
  rb_atlas_result r;
  ok(rb_atlas_create(variant(name), o, grid, count, images, reference, rb_team_self(), &a));
  ok(rb_atlas_solve(a, NULL, NULL, &r));
  ok(rb_atlas_mean(a, mean));
  if (u) ok(rb_atlas_displacement(a, 0, u));
  rb_atlas_destroy(a);
  return r;
}

static double furthest(const float *a, const float *b, int n) {
  double most = 0;
  for (int i = 0; i < n; i++) {
    const double d = fabs((double)a[i] - (double)b[i]);
    if (!(d <= most)) most = d; /* a NaN stays */
  }
  return most;
}

static const char *const solvers[] = {"cpu-fft", "cpu-sor", "cpu-dst", "cpu-fft-f64", "cpu-sor-f64"};
enum { SOLVERS = sizeof solvers / sizeof *solvers };

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

/* A box with room around it, beyond which all images are background: nearly the same; u is 0 outside. With so much
 * room that nothing is cut off, the same to the bit. */
static void clipping(void **state) {
  (void)state;
  static float part[3][N], mean[2][N], u[2][3 * N], det[N], w[3 * N];
  const float *images[3] = {part[0], part[1], part[2]};
  rb_atlas_options o = quick();
  for (int k = 0; k < 3; k++)
    for (int i = 0; i < N; i++) part[k][i] = fmaxf(0, pictures[k][i] - 0.5f);
  for (int s = 0; s < SOLVERS; s++)
    for (int levels = 1; levels <= 2; levels++)
      for (int k = 0; k < 2; k++) {
        const float *reference = k ? part[1] : NULL;
        const int count = k ? 1 : 3;
        o.levels = levels, o.clip = -1;
        make(solvers[s], &o, count, images, reference, mean[0], u[0]);
        o.clip = N1 + N2 + N3;
        make(solvers[s], &o, count, images, reference, mean[1], u[1]);
        assert_memory_equal(mean[0], mean[1], sizeof mean[0]);
        assert_memory_equal(u[0], u[1], sizeof u[0]);
        if (levels > 1) continue; /* coarse grids of another box are others */
        o.clip = 2;
        rb_atlas *a;
        rb_atlas_result r;
        ok(rb_atlas_create(variant(solvers[s]), &o, grid, count, images, reference, rb_team_self(), &a));
        ok(rb_atlas_solve(a, NULL, NULL, &r));
        ok(rb_atlas_mean(a, mean[1]));
        ok(rb_atlas_displacement(a, 0, u[1]));
        ok(rb_atlas_determinant(a, 0, det));
        ok(rb_atlas_inverse(a, 0, w));
        rb_atlas_destroy(a);
        int still = 0;
        for (int i = 0; i < N; i++) {
          const int out = u[1][i] == 0 && u[1][N + i] == 0 && u[1][2 * N + i] == 0;
          still += out;
          assert_true(!out || mean[1][i] == 0 || mean[1][i] == mean[0][i]);
        }
        assert_true(still > N / 10 && still < N);
        assert_true(det[0] == 1 && isfinite(w[0]));
        assert_true(furthest(mean[0], mean[1], N) < 0.05);
      }
}

/* Images that stay on the host: the same bits of everything that is told or left. */
typedef struct {
  rb_atlas_row row[64];
  int rows;
  rb_atlas_result result;
  float mean[N], u[3 * N], warped[N], det[N];
} all_of_it;
static void keep_rows(void *context, const rb_atlas_row *row) {
  all_of_it *k = context;
  k->row[k->rows++] = *row;
}
static void streaming(void **state) {
  (void)state;
  static all_of_it kept[2];
  const float *images[3] = {pictures[0], pictures[1], pictures[2]};
  int halvings = 0;
  for (int s = 0; s < SOLVERS; s++)
    for (int k = 0; k < 4; k++) {
      rb_atlas_options o = quick();
      o.levels = 1 + k % 2, o.coarse_iterations = 5, o.step = k < 2 ? 0.3 : 3;
      for (o.stream = 0; o.stream < 2; o.stream++) {
        all_of_it *here = &kept[o.stream];
        rb_atlas *a;
        here->rows = 0;
        ok(rb_atlas_create(variant(solvers[s]), &o, grid, k == 3 ? 1 : 3, images, k == 3 ? pictures[3] : NULL,
                           rb_team_self(), &a));
        ok(rb_atlas_solve(a, keep_rows, here, &here->result));
        ok(rb_atlas_mean(a, here->mean)), ok(rb_atlas_displacement(a, 0, here->u));
        ok(rb_atlas_warped(a, 0, here->warped)), ok(rb_atlas_determinant(a, 0, here->det));
        rb_atlas_destroy(a);
      }
      assert_int_equal(kept[1].rows, kept[0].rows);
      for (int i = 0; i < kept[0].rows; i++) {
        const rb_atlas_row *x = &kept[0].row[i], *y = &kept[1].row[i];
        assert_true(x->level == y->level && x->iteration == y->iteration && x->variance == y->variance &&
                    x->halvings == y->halvings);
        assert_true(x->step == y->step || (isnan(x->step) && isnan(y->step)));
      }
      assert_memory_equal(kept[0].mean, kept[1].mean, sizeof kept[0].mean);
      assert_memory_equal(kept[0].u, kept[1].u, sizeof kept[0].u);
      assert_memory_equal(kept[0].warped, kept[1].warped, sizeof kept[0].warped);
      assert_memory_equal(kept[0].det, kept[1].det, sizeof kept[0].det);
      assert_true(kept[0].result.variance_before == kept[1].result.variance_before &&
                  kept[0].result.variance_after == kept[1].result.variance_after);
      assert_true(kept[0].result.iterations == kept[1].result.iterations &&
                  kept[0].result.halvings == kept[1].result.halvings && kept[0].result.end == kept[1].result.end);
      halvings += kept[0].result.halvings;
    }
  assert_true(halvings > 0);
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
  ok(rb_atlas_restrict(grid, flat, half, out));
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

/* Levels whose factor is no power of two, and no divisor either: 16, 20, 17 voxels become 5, 6, 5. A slope keeps its
 * place both ways, away from the border. */
static void uneven_levels(void **state) {
  (void)state;
  const rb_grid third = rb_atlas_coarse_grid(grid, 3);
  static float slope[N], out[N], u[3 * N], fine[3 * N];
  assert_true(third.n[0] == 5 && third.n[1] == 6 && third.n[2] == 5);
  for (int a = 0; a < 3; a++) {
    const int m = (int)rb_grid_points(third), n = (int)grid.n[a], few = (int)third.n[a];
    const double r = (double)n / few;
    const int stride[2] = {a == 0   ? N2 * N3
                           : a == 1 ? N3
                                    : 1,
                           (int)(a == 0   ? third.n[1] * third.n[2]
                                 : a == 1 ? third.n[2]
                                          : 1)};
    for (int i = 0; i < N; i++) slope[i] = (float)(i / stride[0] % n);
    ok(rb_atlas_restrict(grid, slope, third, out));
    for (int i = 0; i < m; i++) {
      const int k = i / stride[1] % few;
      if (k > 0 && k < few - 1) assert_true(fabs((double)out[i] - ((k + 0.5) * r - 0.5)) < 0.02);
    }
    memset(u, 0, sizeof u);
    for (int i = 0; i < m; i++) u[a * m + i] = (float)(i / stride[1] % few);
    ok(rb_atlas_prolong(third, u, grid, fine));
    for (int i = 0; i < N; i++) {
      const int k = i / stride[0] % n;
      const double at = (k + 0.5) / r - 0.5;
      if (at > 0 && at < few - 1) assert_true(fabs((double)fine[a * N + i] - r * at) < 1e-4);
    }
  }
}

/* The iteration is d <- d - e grad D . K (d grad D) for the difference d, to first order: it is stable while e < 2
 * over that operator's greatest eigenvalue. Below the bound the variance falls in every iteration, above it soon
 * rises. Steps are told as lengths: e = step / max |v| of the first velocity. */
static void operator_of(rb_l2force_plan *force, rb_helmholtz_plan *solve, const double *image, const double *d,
                        double *f, double *v, double *out) {
  static double mean[N], gradient[3 * N];
  for (int i = 0; i < N; i++) mean[i] = image[i] + 1;
  ok(rb_l2force(force, rb_array_host(RB_F64, N, mean), rb_array_host(RB_F64, N, image),
                rb_array_host(RB_F64, 3 * N, gradient)));
  for (int i = 0; i < N; i++) mean[i] = image[i] + d[i];
  ok(rb_l2force(force, rb_array_host(RB_F64, N, mean), rb_array_host(RB_F64, N, image),
                rb_array_host(RB_F64, 3 * N, f)));
  ok(rb_helmholtz_solve(solve, rb_array_host(RB_F64, 3 * N, f), rb_array_host(RB_F64, 3 * N, v)));
  for (int i = 0; i < N; i++)
    out[i] = gradient[i] * v[i] + gradient[N + i] * v[N + i] + gradient[2 * N + i] * v[2 * N + i];
}
static int rises;
static void count_rises(void *context, const rb_atlas_row *row) {
  (void)context;
  rises += row->iteration > 0 && row->variance > last_variance;
  last_variance = row->variance;
}
static void step_bound(void **state) {
  (void)state;
  static double image[N], d[N], next[N], f[3 * N], v[3 * N];
  const float *one[1] = {pictures[0]};
  rb_atlas_options o = quick();
  float least = 1, greatest = 0, low = 1, high = 0;
  const rb_l2force_desc force_of = {.grid = grid, .spacing = {1, 1, 1}, .dtype = RB_F64};
  const rb_helmholtz_desc solve_of = {
      .grid = grid, .spacing = {1, 1, 1}, .alpha = 1, .gamma = 0.02, .border = 1, .dtype = RB_F64};
  const rb_variant *variant_of;
  rb_l2force_plan *force;
  rb_helmholtz_plan *solve;
  double eigenvalue = 0, longest = 0;
  ok(rb_variant_find(&rb_l2force_family, "cpu/omp", &variant_of));
  ok(rb_l2force_create(variant_of, &force_of, &force));
  ok(rb_variant_find(&rb_helmholtz_family, "cpu/fftw", &variant_of));
  ok(rb_helmholtz_create(variant_of, &solve_of, &solve));
  for (int i = 0; i < N; i++) {
    least = fminf(least, pictures[0][i]), greatest = fmaxf(greatest, pictures[0][i]);
    low = fminf(low, pictures[1][i]), high = fmaxf(high, pictures[1][i]);
  }
  for (int i = 0; i < N; i++)
    image[i] = ((double)pictures[0][i] - (double)least) / ((double)greatest - (double)least);
  for (int i = 0; i < N; i++) d[i] = sin(1.0 + i * (1 + 0.37 * i));
  for (int k = 0; k < 200; k++) { /* the power method */
    double norm = 0;
    operator_of(force, solve, image, d, f, v, next);
    for (int i = 0; i < N; i++) norm += next[i] * next[i];
    eigenvalue = sqrt(norm);
    for (int i = 0; i < N; i++) d[i] = next[i] / eigenvalue;
  }
  for (int i = 0; i < N; i++) d[i] = ((double)pictures[1][i] - (double)low) / ((double)high - (double)low) - image[i];
  operator_of(force, solve, image, d, f, v, next);
  for (int i = 0; i < N; i++)
    longest = fmax(longest, sqrt(v[i] * v[i] + v[N + i] * v[N + i] + v[2 * N + i] * v[2 * N + i]));
  rb_helmholtz_destroy(solve), rb_l2force_destroy(force);
  o.halve = 0, o.iterations = 60;
  for (int above = 0; above < 2; above++) {
    rb_atlas *a;
    rb_atlas_result r;
    o.step = (above ? 1.5 : 0.8) * 2 / eigenvalue * longest;
    rises = 0;
    ok(rb_atlas_create(variant("cpu-fft-f64"), &o, grid, 1, one, pictures[1], rb_team_self(), &a));
    ok(rb_atlas_solve(a, count_rises, NULL, &r));
    rb_atlas_destroy(a);
    print_message("step %g voxels, %s the bound: %d rises\n", o.step, above ? "above" : "below", rises);
    assert_true(above ? rises > 0 : rises == 0);
  }
}

/* Warping and spreading are each other's transposes: <I o h, J> = <I, splat of J at h>. */
static void warp_against_splat(void **state) {
  (void)state;
  static double image[N], mass[N], u[3 * N], x[3 * N], warped[N], spread[N];
  const rb_compose_desc compose_of = {.grid = grid, .dtype = RB_F64};
  const rb_splat_desc splat_of = {
      .grid = grid, .np = N, .basis = RB_SPLAT_LINEAR, .boundary = RB_ZERO, .dtype = RB_F64, .components = 1};
  const rb_variant *v;
  rb_compose_plan *compose;
  rb_splat_plan *splat;
  double left = 0, right = 0, size = 0;
  for (int i = 0; i < N; i++) {
    image[i] = sin(1.0 + 3 * i), mass[i] = cos(2.0 + 7 * i);
    for (int a = 0; a < 3; a++) u[a * N + i] = 2.5 * sin(0.3 * i + a); /* some leave the grid */
    x[i] = i / N3 / N2 + u[i], x[N + i] = i / N3 % N2 + u[N + i], x[2 * N + i] = i % N3 + u[2 * N + i];
  }
  ok(rb_variant_find(&rb_compose_family, "cpu/omp", &v));
  ok(rb_compose_create(v, &compose_of, &compose));
  ok(rb_compose_warp(compose, rb_array_host(RB_F64, N, image), rb_array_host(RB_F64, 3 * N, u),
                     rb_array_host(RB_F64, N, warped)));
  ok(rb_variant_find(&rb_splat_family, "cpu/omp", &v));
  ok(rb_splat_create(v, &splat_of, &splat));
  ok(rb_splat_run(splat, rb_array_host(RB_F64, 3 * N, x), rb_array_host(RB_F64, N, mass),
                  rb_array_host(RB_F64, N, spread)));
  for (int i = 0; i < N; i++)
    left += warped[i] * mass[i], right += image[i] * spread[i], size += fabs(warped[i] * mass[i]);
  assert_true(fabs(left - right) < 1e-12 * size);
  rb_splat_destroy(splat), rb_compose_destroy(compose);
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
      cmocka_unit_test(streaming),
      cmocka_unit_test(clipping),
      cmocka_unit_test(uneven_levels),
      cmocka_unit_test(step_bound),
      cmocka_unit_test(warp_against_splat),
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
