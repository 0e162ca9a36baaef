/* SPDX-License-Identifier: BSD-3-Clause */
/* What times are divided by and what registrations are judged by, against counts made by hand: bytes and FLOPs of
 * the families' models on a grid of 4 x 5 x 6 = 120 nodes, overlaps of eight voxels, the CPU's timer against a pause.
 */
#include "kernels/average/average.h"
#include "kernels/compose/compose.h"
#include "kernels/currents/currents.h"
#include "kernels/derivative/derivative.h"
#include "kernels/elements/elements.h"
#include "kernels/force/force.h"
#include "kernels/gausssum/gausssum.h"
#include "kernels/helmholtz/helmholtz.h"
#include "kernels/interp/interp.h"
#include "kernels/l2force/l2force.h"
#include "kernels/probe/probe.h"
#include "kernels/registry/registry.h"
#include "kernels/smooth/smooth.h"
#include "kernels/spectral/spectral.h"
#include "kernels/splat/splat.h"
#include "solvers/common/overlap.h"
#include "tests/ok.h"

#include <math.h>
#include <time.h>

static rb_grid grid(void) { return rb_grid_make(4, 5, 6); }
static void equal(double model, double by_hand) { assert_true(fabs(model - by_hand) <= 1e-12 * by_hand); }

/* 4 bytes a value, and each value of each field once. */
static void bytes_are_those_of_the_fields(void **state) {
  (void)state;
  /* coordinates 3 x 120, the field 120, values 120 */
  equal(rb_interp_bytes(&(rb_interp_desc){.grid = grid(), .basis = RB_LINEAR, .dtype = RB_F32, .components = 1}, 120),
        4 * (360 + 120 + 120));
  /* three components at 7 points in float64: 21 coordinates, 360 values of the field, 21 results */
  equal(rb_interp_bytes(&(rb_interp_desc){.grid = grid(), .basis = RB_LINEAR, .dtype = RB_F64, .components = 3}, 7),
        8 * (21 + 360 + 21));
  equal(rb_derivative_bytes(&(rb_derivative_desc){grid(), RB_FD8, RB_F32}), 4 * (120 + 360));
  equal(rb_spectral_bytes(&(rb_spectral_desc){grid(), RB_F32, 3}), 4 * (360 + 360));
  equal(rb_smooth_bytes(&(rb_smooth_desc){.grid = grid(), .components = 3, .dtype = RB_F32}, 1), 4 * (360 + 360));
  equal(rb_smooth_bytes(&(rb_smooth_desc){.grid = grid(), .components = 3, .dtype = RB_F32}, 3), 3 * 4 * (360 + 360));
  equal(rb_compose_bytes(&(rb_compose_desc){grid(), RB_F32}), 4 * (360 + 360 + 360)); /* two fields, the result */
  equal(rb_force_bytes(&(rb_force_desc){grid(), RB_F32}), 4 * (120 + 120 + 360));     /* two images, the force */
  equal(rb_l2force_bytes(&(rb_l2force_desc){grid(), {1, 1, 1}, RB_F32}), 4 * (120 + 120 + 360));
  /* 10 points with 3 coordinates and 2 masses, two sums a node */
  equal(rb_splat_bytes(&(rb_splat_desc){.grid = grid(), .np = 10, .dtype = RB_F32, .components = 2}),
        4 * (30 + 20 + 240));
  /* a volume read, and whole sums of 4 bytes read and written */
  equal(rb_average_bytes(&(rb_average_desc){120, RB_SUM_FIXED, RB_F32}), 4 * 120 + 4 * 120 + 4 * 120);
  /* 5 vertices of 3 coordinates; 4 triangles of 3 indices, whose centroid and normal are written */
  equal(rb_elements_bytes(&(rb_elements_desc){.dimension = 2, .vertices = 5, .elements = 4, .dtype = RB_F32}),
        4 * 15 + 4 * 12 + 4 * 24);
}

static void sweeps_move_a_force_and_a_velocity_twice(void **state) {
  (void)state;
  const rb_helmholtz_desc d = {.grid = grid(), .spacing = {1, 1, 1}, .alpha = 1, .gamma = 1, .dtype = RB_F32};
  const rb_variant *direct, *sor;
  ok(rb_variant_find(&rb_helmholtz_family, "cpu/fftw", &direct));
  ok(rb_variant_find(&rb_helmholtz_family, "cpu/sor", &sor));
  equal(rb_helmholtz_bytes(direct, &d, 1), 4 * (360 + 360)); /* the force read, the velocity written */
  const int passes = ((const rb_helmholtz_ops *)sor->ops)->sweeps_a_pass
                         ? 4 / ((const rb_helmholtz_ops *)sor->ops)->sweeps_a_pass
                         : 8;
  equal(rb_helmholtz_bytes(sor, &d, 4),
        passes * 4.0 * (360 + 360 + 360)); /* force and velocity read, velocity written */
}

/* A tile of 32 by 8 nodes reads a halo of 4 around it (brunn2020, section 3.2). */
static void a_copy_with_halo_reads_the_rims_of_its_tiles(void **state) {
  (void)state;
  const rb_grid g =
      rb_grid_make(3, 2 * RB_HALO_TILE_Y, 3 * RB_HALO_TILE_X + 1); /* 2 by 4 tiles in each of 3 planes */
  const double points = 3.0 * 2 * RB_HALO_TILE_Y * (3 * RB_HALO_TILE_X + 1),
               rim = RB_HALO_WIDTH * 2.0 * (RB_HALO_TILE_X + RB_HALO_TILE_Y);
  equal(rb_copy_halo_bytes(g), 4 * (2 * points + 3 * 8 * rim));
}

static void flops_are_counted(void **state) {
  (void)state;
  const rb_interp_desc linear = {.grid = grid(), .basis = RB_LINEAR, .dtype = RB_F32, .components = 1},
                       lagrange = {.grid = grid(), .basis = RB_LAGRANGE, .dtype = RB_F32, .components = 1},
                       bspline = {.grid = grid(), .basis = RB_BSPLINE, .dtype = RB_F32, .components = 1};
  /* 14 multiply-adds (8 along x3, 4, 2) and three weights; 84 (64, 16, 4) and 36; a prefilter of 15 a value */
  equal(rb_interp_flops(&linear, 10), 10 * (28 + 3));
  equal(rb_interp_flops(&lagrange, 10), 10 * (168 + 36));
  equal(rb_interp_flops(&bspline, 10), 10 * (168 + 36) + 120 * 15);
  /* FD8: four differences, four products, three sums and a scaling: 12 an axis */
  equal(rb_derivative_flops(&(rb_derivative_desc){grid(), RB_FD8, RB_F32}), 120 * 3 * 12);
  equal(rb_derivative_flops(&(rb_derivative_desc){grid(), RB_FD2, RB_F32}), 120 * 3 * 2);
  /* on 8^3: four transforms of 2.5 * 512 * 9, six for each of 3 * 256 coefficients */
  equal(rb_derivative_flops(&(rb_derivative_desc){rb_grid_make(8, 8, 8), RB_SPECTRAL, RB_F32}),
        4 * 2.5 * 512 * 9 + 6 * 3 * 256);
  equal(rb_spectral_flops(&(rb_spectral_desc){rb_grid_make(8, 8, 8), RB_F32, 3}), 3 * (2 * 2.5 * 512 * 9 + 6 * 256));
  /* sigma 1 reaches 3 nodes: 7 taps, two FLOPs each, along axes of 16 */
  equal(rb_smooth_flops(&(rb_smooth_desc){.grid = rb_grid_make(16, 16, 16), .components = 2, .dtype = RB_F32}, 1),
        4096 * 2 * 3 * 2 * 7);
  /* 5 points in space: 25 pairs of 9 for the distance, 1 exponential, 6 for the sum; a flow 15 in place of 6 */
  equal(rb_gausssum_flops(&(rb_gausssum_desc){5, 3, RB_F32}, 's'), 25 * (9 + 1 + 6));
  equal(rb_gausssum_flops(&(rb_gausssum_desc){5, 3, RB_F32}, 'f'), 25 * (9 + 1 + 15));
  equal(rb_gausssum_flops(&(rb_gausssum_desc){5, 2, RB_F32}, 'b'), 25 * (6 + 1 + 30));
  equal(rb_currents_flops(&(rb_currents_desc){.sources = 7}, 11), 7 * 11 * 26);
}

/*   a: 0 0 1 1 1 2 2 3     label 1: 2 of 3 and 3, so 4/6; label 2: 1 of 2 and 2, so 2/4; label 3: none of 1 and 0, so
 * 0; b: 0 1 1 1 2 2 0 0     label 4: in neither; any label: 4 of 6 and 5, so 8/11; background: 1 of 2 and 3, so 2/5
 */
static void overlaps_by_hand(void **state) {
  (void)state;
  const float a[] = {0, 0, 1, 1, 1, 2, 2, 3}, b[] = {0, 1, 1, 1, 2, 2, 0, 0};
  const rb_overlap o = rb_overlap_of(8, a, b);
  equal(o.all, 8.0 / 11);
  equal(o.label[0], 2.0 / 5);
  equal(o.label[1], 4.0 / 6);
  equal(o.label[2], 2.0 / 4);
  assert_true(o.label[3] == 0 && isnan(o.label[4]));
  assert_int_equal(o.count, 3); /* the background does not count */
  equal(o.mean, (4.0 / 6 + 2.0 / 4 + 0) / 3);
  assert_true(o.least == 0);
  /* what is no label is background, and is told */
  const float bad[] = {1, -1, 300, 1.5f, NAN, 1, 0, 255};
  assert_int_equal(rb_overlap_first_bad(8, bad), 1);
  assert_int_equal(rb_overlap_first_bad(8, a), -1);
  equal(rb_overlap_of(8, bad, bad).label[0], 1);
  equal(rb_overlap_of(8, bad, bad).label[1], 1);
  equal(rb_overlap_of(8, bad, bad).label[255], 1);
  assert_true(isnan(rb_overlap_of(8, bad, bad).label[254]));
  const float none[] = {0, 0};
  assert_true(isnan(rb_overlap_of(2, none, none).mean) && isnan(rb_overlap_of(2, none, none).all));
}

static void a_pause_takes_its_time(void **state) {
  (void)state;
  const rb_backend *cpu;
  double seconds;
  ok(rb_cpu_backend(&cpu));
  ok(cpu->timer_start());
  nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
  ok(cpu->timer_stop(&seconds));
  assert_true(seconds >= 0.03 && seconds < 3); /* a busy machine may wake late */
  ok(cpu->timer_start());
  ok(cpu->timer_stop(&seconds));
  assert_true(seconds >= 0 && seconds < 0.03);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(bytes_are_those_of_the_fields),
                                     cmocka_unit_test(sweeps_move_a_force_and_a_velocity_twice),
                                     cmocka_unit_test(a_copy_with_halo_reads_the_rims_of_its_tiles),
                                     cmocka_unit_test(flops_are_counted),
                                     cmocka_unit_test(overlaps_by_hand),
                                     cmocka_unit_test(a_pause_takes_its_time)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
