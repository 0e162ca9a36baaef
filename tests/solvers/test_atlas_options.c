/* SPDX-License-Identifier: BSD-3-Clause */
/* The atlas: what its options must not change, and the numerics behind its steps and levels. */
#include "tests/solvers/atlas_make.h"

#include "cpu_ref/helmholtz/helmholtz_oracle.h"
#include "kernels/compose/compose.h"
#include "kernels/l2force/l2force.h"
#include "kernels/splat/splat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* |f - L v| / |f| of the first image's velocity after a solve, as the operator in float64 has it. */
static double residual_of(const char *solver, const rb_atlas_options *o, const float *reference) {
  const float *images[3] = {pictures[0], pictures[1], pictures[2]};
  static float f[3 * N], v[3 * N];
  const rb_helmholtz_plan *plan;
  rb_array on_f, on_v;
  rb_atlas *a;
  rb_atlas_result r;
  ok(rb_atlas_create(variant(solver), o, grid, reference ? 1 : 3, images, reference, rb_team_self(), &a));
  assert_int_equal(rb_atlas_next_velocity(a, 0, &plan, &on_f, &on_v), RB_EINVAL); /* no solve yet */
  rb_clear();
  ok(rb_atlas_solve(a, NULL, NULL, &r));
  ok(rb_atlas_next_velocity(a, 0, &plan, &on_f, &on_v));
  ok(rb_array_get_floats(on_f, f));
  ok(rb_array_get_floats(on_v, v));
  rb_helmholtz_desc d = plan->desc;
  d.dtype = RB_F32;
  const rb_helmholtz_ops *ops = plan->variant->ops;
  const double residual = rb_helmholtz_residual(&d, f, v, ops->boundary == RB_HELMHOLTZ_PERIODIC);
  rb_atlas_destroy(a);
  return residual;
}

/* Transforms solve for the velocity to rounding; of sweeps, more leave less; of images on the host nothing is left.
 */
static void velocities_are_solved(void **state) {
  (void)state;
  rb_atlas_options o = quick();
  for (int k = 0; k < 2; k++) {
    const float *reference = k ? pictures[1] : NULL;
    assert_true(residual_of("cpu-fft", &o, reference) < 2e-5);
    assert_true(residual_of("cpu-dst", &o, reference) < 2e-5);
    o.sweeps = 2;
    const double few = residual_of("cpu-sor", &o, reference);
    o.sweeps = 20;
    const double many = residual_of("cpu-sor", &o, reference);
    assert_true(few < 1 && many < few / 3);
    o.voxels = RB_VOXELS_SPACING, o.spacing[1] = 1.7; /* the second time */
  }
  const float *images[3] = {pictures[0], pictures[1], pictures[2]};
  const rb_helmholtz_plan *plan;
  rb_array f, v;
  rb_atlas *a;
  rb_atlas_result r;
  o.stream = 1;
  ok(rb_atlas_create(variant("cpu-fft"), &o, grid, 3, images, NULL, rb_team_self(), &a));
  ok(rb_atlas_solve(a, NULL, NULL, &r));
  assert_int_equal(rb_atlas_next_velocity(a, 0, &plan, &f, &v), RB_EUNSUPPORTED);
  rb_clear();
  rb_atlas_destroy(a);
}

/* Voxels that are cubes of any size are cubes, to the bit; sizes that are none are refused. */
static void cubes_of_any_size(void **state) {
  (void)state;
  static float mean[2][N], u[2][3 * N];
  const float *images[3] = {pictures[0], pictures[1], pictures[2]};
  rb_atlas_options o = quick();
  for (int s = 0; s < SOLVERS; s++) {
    o.voxels = RB_VOXELS_CUBES;
    make(solvers[s], &o, 3, images, NULL, mean[0], u[0]);
    o.voxels = RB_VOXELS_SPACING, o.spacing[0] = o.spacing[1] = o.spacing[2] = 2.5;
    make(solvers[s], &o, 3, images, NULL, mean[1], u[1]);
    assert_memory_equal(u[0], u[1], sizeof u[0]);
  }
  static const double bad[] = {0, -1, INFINITY, NAN};
  for (int k = 0; k < 4; k++) {
    rb_atlas *a;
    o.spacing[1] = bad[k], o.stream = k % 2;
    assert_int_equal(rb_atlas_create(variant("cpu-fft"), &o, grid, 3, images, NULL, rb_team_self(), &a), RB_EINVAL);
    assert_non_null(strstr(rb_message(), "axis 2"));
    rb_clear();
  }
}

/* A pair of soft balls, moved along axis 3, on a grid whose voxels are `thick` along axis 1: value at x in units of
 * axes 2 and 3. */
enum { ACROSS = 32 };
static void fill_ball(float *out, rb_grid g, double thick, double shift) {
  for (int64_t i = 0; i < rb_grid_points(g); i++) {
    const double x = ((double)(i / g.n[2] / g.n[1]) + 0.5) * thick - ACROSS / 2.0,
                 y = (double)(i / g.n[2] % g.n[1]) + 0.5 - ACROSS / 2.0,
                 z = (double)(i % g.n[2]) + 0.5 - ACROSS / 2.0 - shift;
    out[i] = (float)exp(-(x * x + y * y + z * z) / 50);
  }
}

/* Twice as thick voxels along axis 1, told as such, give the displacement of cubes (to what sampling costs), in
 * voxels of the axis; taken for cubes they do not. alpha is of a length squared, whose unit is a cube of the same
 * volume. */
static void thick_voxels_know_their_length(void **state) {
  (void)state;
  static float a[2][ACROSS * ACROSS * ACROSS], u[3][3 * ACROSS * ACROSS * ACROSS];
  const rb_grid fine = {{ACROSS, ACROSS, ACROSS}}, thick = {{ACROSS / 2, ACROSS, ACROSS}};
  for (int sweeps = 0; sweeps < 2; sweeps++) {
    const rb_variant *v = variant(sweeps ? "cpu-sor-f64" : "cpu-fft-f64");
    for (int k = 0; k < 3; k++) { /* cubes; thick; thick taken for cubes */
      const rb_grid g = k ? thick : fine;
      rb_atlas_options o = quick();
      rb_atlas *atlas;
      rb_atlas_result r;
      const float *images[1] = {a[0]};
      o.iterations = 12, o.sweeps = o.first_sweeps = 200, o.scale = RB_SCALE_NONE, o.omega = RB_OMEGA_SHIFTED;
      o.spacing[0] = 2, o.voxels = k == 1 ? RB_VOXELS_SPACING : RB_VOXELS_CUBES;
      if (k == 1) o.alpha /= cbrt(2) * cbrt(2);
      for (int i = 0; i < 2; i++) fill_ball(a[i], g, k ? 2 : 1, 1.5 * i);
      ok(rb_atlas_create(v, &o, g, 1, images, a[1], rb_team_self(), &atlas));
      ok(rb_atlas_solve(atlas, NULL, NULL, &r));
      ok(rb_atlas_displacement(atlas, 0, u[k]));
      rb_atlas_destroy(atlas);
    }
    double off[2] = {0}, most[3] = {0};
    const int64_t n = rb_grid_points(thick), m = rb_grid_points(fine), plane = ACROSS * ACROSS;
    for (int c = 0; c < 3; c++)
      for (int64_t i = 0; i < n; i++) { /* a thick voxel's centre lies between two of the others */
        const float *f = u[0] + c * m + i / plane * 2 * plane + i % plane;
        const double want = ((double)f[0] + (double)f[plane]) / 2, length = c == 0 ? 2 : 1;
        most[c] = fmax(most[c], fabs(want));
        for (int k = 0; k < 2; k++)
          off[k] = fmax(off[k], fabs((double)u[1 + k][c * n + i] * (k == 0 ? length : 1) - want));
      }
    assert_true(most[2] > 1 && most[0] > 0.05); /* it moves, and across, too */
    assert_true(off[0] < 0.05 * most[2]);
    assert_true(off[1] > 3 * off[0]);
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
    ok(rb_atlas_restrict(grid, slope, 0, 1, third, out));
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
static double last_variance;
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

int main(void) {
  fill_pictures();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(clipping),          cmocka_unit_test(velocities_are_solved),
      cmocka_unit_test(cubes_of_any_size), cmocka_unit_test(thick_voxels_know_their_length),
      cmocka_unit_test(streaming),         cmocka_unit_test(uneven_levels),
      cmocka_unit_test(step_bound),        cmocka_unit_test(warp_against_splat)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
