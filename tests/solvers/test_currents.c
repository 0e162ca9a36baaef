/* SPDX-License-Identifier: BSD-3-Clause */
/* currents: distance and gradient of surfaces by every method; what a registration of phantoms promises. */
#include "tests/ok.h"

#include "experiments/runner/inputs/anatomy.h"
#include "experiments/runner/inputs/surface_products.h"
#include "experiments/runner/inputs/surfaces.h"
#include "solvers/currents/currents.h"
#include "solvers/currents/surface_match.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 32 };
static rb_anatomy head[2]; /* the small one, the large one */

static const rb_variant *variant(const rb_family *f, const char *name) {
  const rb_variant *v;
  ok(rb_variant_find(f, name, &v));
  return v;
}

/* ---- surfaces ---- */

static rb_surface_match_desc described(rb_currents_method method, double sigma) {
  rb_surface_match_desc d = {.currents = {.method = method, .sigma = sigma, .spacing = sigma / 2, .dtype = RB_F64}};
  d.variant = variant(&rb_currents_family, method == RB_CURRENTS_EXACT ? "cpu/omp" : "cpu/mesh");
  d.currents.splat = variant(&rb_splat_family, "cpu/omp");
  return d;
}
static rb_surface of_mesh(const rb_mesh *m) { return (rb_surface){m->vertices, m->faces, m->x, m->face}; }

static rb_array host(const double *x, int64_t vertices) { return rb_array_host(RB_F64, 3 * vertices, x); }

/* E(x + h d) - E(x) - h g.d falls a hundred times for a tenth of h; by sums, and by the cubic mesh, whose gradient is
 * its own energy's. */
static void distance_has_its_gradient(void **state) {
  (void)state;
  static const rb_currents_method methods[] = {RB_CURRENTS_EXACT, RB_CURRENTS_CUBIC};
  const double here[3] = {0, 0, 0}, there[3] = {1, 0.5, -0.3};
  rb_mesh s, t;
  ok(rb_mesh_sphere(2, 5, here, &s));
  ok(rb_mesh_sphere(3, 6, there, &t));
  const rb_surface moving = of_mesh(&s), fixed = of_mesh(&t);
  double *x = malloc(3 * (size_t)s.vertices * sizeof *x), *g = malloc(3 * (size_t)s.vertices * sizeof *g);
  for (int k = 0; k < 2; k++) {
    const rb_surface_match_desc d = described(methods[k], 2);
    rb_surface_match *m;
    double e0, e, slope = 0, rest[2];
    ok(rb_surface_match_create(&d, &moving, &fixed, &m));
    ok(rb_surface_match_eval(m, host(s.x, s.vertices), &e0, host(g, s.vertices)));
    for (int64_t i = 0; i < 3 * s.vertices; i++) slope += g[i] * sin(3.7 * (double)i);
    for (int h = 0; h < 2; h++) {
      const double step = h ? 1e-4 : 1e-3;
      for (int64_t i = 0; i < 3 * s.vertices; i++) x[i] = s.x[i] + step * sin(3.7 * (double)i);
      ok(rb_surface_match_eval(m, host(x, s.vertices), &e, rb_array_none()));
      rest[h] = fabs(e - e0 - step * slope);
    }
    assert_true(fabs(rest[0] / rest[1] / 100 - 1) < 0.1);
    rb_surface_match_destroy(m);
  }
  free(g), free(x);
  rb_mesh_free(&s), rb_mesh_free(&t);
}

/* The match's distance is what `measure surfaces` says; of a surface to itself it is 0, with no gradient. */
static void distance_is_the_measured_one(void **state) {
  (void)state;
  static const rb_currents_method methods[] = {RB_CURRENTS_EXACT, RB_CURRENTS_PLAIN, RB_CURRENTS_CORRECTED,
                                               RB_CURRENTS_CUBIC};
  const rb_mesh *s = &head[0].mesh[2], *t = &head[1].mesh[2];
  const rb_surface moving = of_mesh(s), fixed = of_mesh(t);
  double *g = malloc(3 * (size_t)s->vertices * sizeof *g);
  for (int k = 0; k < 4; k++) {
    const rb_surface_match_desc d = described(methods[k], 8);
    rb_surface_match *m;
    rb_surface_products p;
    double e, longest = 0;
    ok(rb_surface_products_of(s, t, methods[k], 8, 4, NULL, NULL, &p));
    ok(rb_surface_match_create(&d, &moving, &fixed, &m));
    ok(rb_surface_match_eval(m, host(s->x, s->vertices), &e, host(g, s->vertices)));
    /* the two meshes' grids begin elsewhere */
    assert_true(fabs(e / (p.ss - 2 * p.st + p.tt) - 1) < (k == 0 ? 1e-12 : 5e-3));
    assert_true(fabs(rb_surface_match_fixed(m) / p.tt - 1) < (k == 0 ? 1e-12 : 5e-3));
    rb_surface_match_destroy(m);
    ok(rb_surface_match_create(&d, &moving, &moving, &m));
    ok(rb_surface_match_eval(m, host(s->x, s->vertices), &e, host(g, s->vertices)));
    for (int64_t i = 0; i < 3 * s->vertices; i++) longest = fmax(longest, fabs(g[i]));
    assert_true(fabs(e) < 1e-10 * p.ss && longest < 1e-8 * p.ss);
    rb_surface_match_destroy(m);
  }
  free(g);
}

/* A kernel that is set later, after evaluations elsewhere, does what one set at first does, to the bit. */
static void kernels_follow_each_other(void **state) {
  (void)state;
  static const rb_currents_method methods[] = {RB_CURRENTS_EXACT, RB_CURRENTS_CORRECTED};
  const rb_mesh *s = &head[0].mesh[2], *t = &head[1].mesh[2];
  const rb_surface moving = of_mesh(s), fixed = of_mesh(t);
  const size_t values = 3 * (size_t)s->vertices;
  double *g = malloc(2 * values * sizeof *g), *x = malloc(values * sizeof *x), e[2], alone[2];
  for (size_t i = 0; i < values; i++) x[i] = s->x[i] + 2;
  for (int k = 0; k < 4; k++) {
    const rb_surface_match_desc before = described(methods[k % 2], 12), d = described(methods[k / 2], 8);
    for (int later = 0; later < 2; later++) {
      rb_surface_match *m;
      ok(rb_surface_match_create(later ? &before : &d, &moving, &fixed, &m));
      if (later) {
        ok(rb_surface_match_eval(m, host(x, s->vertices), &e[1], host(g + values, s->vertices)));
        ok(rb_surface_match_set_kernel(m, &d));
      }
      ok(rb_surface_match_eval(m, host(s->x, s->vertices), &e[later], host(g + (size_t)later * values, s->vertices)));
      alone[later] = rb_surface_match_fixed(m);
      rb_surface_match_destroy(m);
    }
    assert_true(e[0] == e[1] && alone[0] == alone[1]);
    assert_memory_equal(g, g + values, values * sizeof *g);
  }
  free(x), free(g);
}

/* conte69's left hemisphere and its right one mirrored, Gaussian kernel: by brute force in C; FINUFFT 2.5.1 in
 * Fourier space (distance to 2e-10), KeOps (one case, 12 digits). Worked out apart from this project. */
static const struct {
  double sigma, ss, st, tt;
} conte69[] = {{2.5, 1944704.51301, 1538401.60555, 1951173.13574},
               {5, 5843289.25413, 5386999.24688, 5842165.08007},
               {10, 16955471.4892, 16758026.6758, 17004868.9127},
               {20, 47425789.3458, 47492085.4522, 47824719.1161}};
static void norms_of_others(void **state) {
  (void)state;
  rb_mesh pair[2];
  rb_data_source source;
  rb_surface_products p;
#ifdef __SANITIZE_ADDRESS__
  skip(); /* 1.3e10 pairs */
#endif
  if (getenv("REGBENCH_TEST_NORMS") && !strcmp(getenv("REGBENCH_TEST_NORMS"), "no"))
    skip(); /* minutes; scripts/test does it once */
  if (rb_surface_pair("hemispheres", pair, &source) != RB_OK) {
    rb_clear();
    skip();
  }
  const int k = 1; /* all four take a minute; `regbench measure surfaces --mirror` prints them */
  ok(rb_surface_products_of(&pair[0], &pair[1], RB_CURRENTS_EXACT, conte69[k].sigma, 0, NULL, NULL, &p));
  assert_true(fabs(p.ss / conte69[k].ss - 1) < 2e-12 && fabs(p.st / conte69[k].st - 1) < 2e-12 &&
              fabs(p.tt / conte69[k].tt - 1) < 2e-12);
  rb_mesh_free(&pair[0]), rb_mesh_free(&pair[1]);
}

/* ---- a registration ---- */

typedef struct {
  rb_currents_result r;
  double first, energy, rise, det_least;
  float *u;
} run_of;
static void see(void *context, const rb_currents_row *row) {
  run_of *k = context;
  if (row->iteration == 1) k->first = row->energy;
  if (row->iteration > 1 && row->level == 1) k->rise = fmax(k->rise, row->energy / k->energy - 1);
  k->energy = row->energy;
}
static run_of run(const char *name, const rb_anatomy *from, const rb_anatomy *to, rb_currents_options o) {
  const rb_subject subject[2] = {rb_anatomy_subject(from), rb_anatomy_subject(to)};
  const rb_problem problem = {
      .shape = rb_anatomy_shape(from, to), .reference = &subject[1], .templates = &subject[0]};
  const int64_t n = rb_grid_points(to->grid);
  run_of k = {.det_least = INFINITY, .u = malloc(3 * (size_t)n * sizeof(float))};
  rb_currents *s;
  ok(rb_currents_solver_create(variant(&rb_currents_solver_family, name), &o, &problem, NULL, &s));
  rb_currents_set_profile(s, 1);
  ok(rb_currents_solve(s, see, &k, &k.r));
  ok(rb_currents_determinant(s, k.u));
  for (int64_t i = 0; i < n; i++) k.det_least = fmin(k.det_least, (double)k.u[i]);
  ok(rb_currents_displacement(s, k.u));
  rb_currents_solver_destroy(s);
  return k;
}
static rb_currents_options short_run(void) {
  rb_currents_options o = rb_currents_defaults();
  o.sigmas = "3,1.5", o.steps = "0.4,0.2", o.iterations = "25,15";
  return o;
}

/* Energy falls, orientation is kept, images and surfaces both come closer. */
static void heads_come_together(void **state) {
  (void)state;
  const run_of k = run("cpu", &head[0], &head[1], short_run());
  printf("currents on 32^3: images %.3f, surfaces %.4f of %.3f, det from %.3f, drift %.3f voxel\n", k.r.image_after,
         k.r.surface_after, k.r.surface_before, k.det_least, k.r.drift);
  assert_true(k.r.end == RB_END_ITERATIONS && k.r.iterations == 40);
  assert_true(k.r.seconds > 0 && k.r.level_seconds > 0 && k.r.setup_seconds > k.r.level_seconds);
  double parts = 0;
  for (int p = 0; p < RB_CURRENTS_PARTS; p++) {
    assert_true(k.r.parts[p] > 0);
    parts += k.r.parts[p];
  }
  assert_true(parts > 0.5 * k.r.seconds && parts <= k.r.seconds); /* iterations are made of nothing else */
  assert_true(k.rise < 0.01 && k.energy < 0.3 * k.first && k.det_least > 0);
  assert_true(k.r.image_after < 0.3 && k.r.surface_after < 0.1 * k.r.surface_before && k.r.drift < 0.5);
  free(k.u);
}

/* Equal anatomies do not move. */
static void equals_stay(void **state) {
  (void)state;
  rb_currents_options o = short_run();
  o.method = 3; /* exact: no force but rounding's */
  const run_of k = run("cpu-f64", &head[1], &head[1], o);
  double most = 0;
  for (int64_t i = 0; i < 3 * rb_grid_points(head[1].grid); i++) most = fmax(most, fabs((double)k.u[i]));
  printf("heads that are equal move by %.1e voxel at most\n", most);
  assert_true(most < 1e-3);
  assert_true(k.r.image_before == 0 && fabs(k.r.surface_before) < 1e-12);
  free(k.u);
}

/* Images and surfaces drift apart by the steps' order, and by what interpolation on the grid smooths away, which
 * steps of any length leave: what half the step changes is twice what a quarter does. */
static void drift_is_of_first_order(void **state) {
  (void)state;
  static const char *const steps[] = {"0.8", "0.4", "0.2"}, *const iterations[] = {"6", "12", "24"};
  rb_currents_options o = short_run();
  double of[3];
  o.sigmas = "3";
  for (int k = 0; k < 3; k++) {
    o.steps = steps[k], o.iterations = iterations[k];
    const run_of one = run("cpu-f64", &head[0], &head[1], o);
    of[k] = one.r.drift;
    free(one.u);
  }
  printf("drift %.4f, %.4f, %.4f voxel at steps of 0.8, 0.4, 0.2\n", of[0], of[1], of[2]);
  assert_true(of[2] < of[1] && of[1] < of[0] && of[0] < 0.5);
  assert_true((of[0] - of[1]) / (of[1] - of[2]) > 1.4 && (of[0] - of[1]) / (of[1] - of[2]) < 3);
}

/* The same bits on one thread and on all, and float32 close to float64. */
static void threads_and_types(void **state) {
  (void)state;
  rb_currents_options o = short_run();
  o.iterations = "8,4";
  const int64_t values = 3 * rb_grid_points(head[1].grid);
  const int threads = omp_get_max_threads();
  const run_of all = run("cpu", &head[0], &head[1], o);
  omp_set_num_threads(1);
  const run_of one = run("cpu", &head[0], &head[1], o);
  omp_set_num_threads(threads);
  const run_of wide = run("cpu-f64", &head[0], &head[1], o);
  double most = 0;
  int64_t differ = 0;
  for (int64_t i = 0; i < values; i++) {
    differ += all.u[i] != one.u[i];
    most = fmax(most, fabs((double)(all.u[i] - wide.u[i])));
  }
  printf("one thread: %lld of %lld values differ; float32 against float64: %.2g voxel\n", (long long)differ,
         (long long)values, most);
  assert_true(differ == 0 && most < 2e-3);
  free(all.u), free(one.u), free(wide.u);
}

static void options_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *sigmas, *steps, *iterations;
  } bad[] = {{"4,2", "0.5", "10,10"}, {"4", "0", "10"},    {"x", "1", "1"},
             {"4,", "1,1", "1,1"},    {"4", "0.5", "1.5"}, {"1,1,1,1,1,1,1,1,1", "1", "1"},
             {"", "1", "1"},          {"inf", "1", "1"}};
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    rb_currents_options o = rb_currents_defaults();
    rb_currents_level level[RB_CURRENTS_LEVELS];
    int count;
    o.sigmas = bad[k].sigmas, o.steps = bad[k].steps, o.iterations = bad[k].iterations;
    assert_int_equal(rb_currents_levels(&o, level, &count), RB_EINVAL);
    rb_clear();
  }
}

/* On a box a head is what it is on a cube, moved into the middle: posteriors, and surfaces in voxels. */
static void heads_stand_in_the_middle(void **state) {
  (void)state;
  const int64_t wide = SIZE + 8, n = SIZE * SIZE * SIZE;
  rb_anatomy box;
  ok(rb_anatomy_phantom(rb_grid_make(SIZE, wide, SIZE), 0, &box));
  assert_true(rb_anatomy_phantom_voxel(box.grid) == 192.0 / SIZE);
  for (int64_t i = 0; i < 3 * n; i++) {
    const int64_t at = i / (SIZE * SIZE) * wide * SIZE + (i / SIZE % SIZE + 4) * SIZE + i % SIZE;
    assert_true(fabsf(box.posteriors[at] - head[0].posteriors[i]) < 1e-5f);
  }
  assert_int_equal(box.surfaces, 3);
  for (int k = 0; k < 3; k++) {
    const rb_surface *a = &head[0].surface[k], *b = &box.surface[k];
    double low[2][3], high[2][3];
    for (int c = 0; c < 3; c++) {
      low[0][c] = low[1][c] = INFINITY, high[0][c] = high[1][c] = -INFINITY;
      for (int64_t v = 0; v < a->vertices; v++)
        low[0][c] = fmin(low[0][c], a->x[c * a->vertices + v]),
        high[0][c] = fmax(high[0][c], a->x[c * a->vertices + v]);
      for (int64_t v = 0; v < b->vertices; v++)
        low[1][c] = fmin(low[1][c], b->x[c * b->vertices + v]),
        high[1][c] = fmax(high[1][c], b->x[c * b->vertices + v]);
      const double moved = c == 1 ? 4 : 0;
      assert_true(fabs(low[1][c] - low[0][c] - moved) < 1e-3 && fabs(high[1][c] - high[0][c] - moved) < 1e-3);
    }
  }
  rb_anatomy_free(&box);
}

int main(void) {
  for (int k = 0; k < 2; k++) ok(rb_anatomy_phantom(rb_grid_make(SIZE, SIZE, SIZE), k, &head[k]));
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(distance_has_its_gradient), cmocka_unit_test(distance_is_the_measured_one),
      cmocka_unit_test(kernels_follow_each_other), cmocka_unit_test(norms_of_others),
      cmocka_unit_test(heads_come_together),       cmocka_unit_test(equals_stay),
      cmocka_unit_test(drift_is_of_first_order),   cmocka_unit_test(threads_and_types),
      cmocka_unit_test(options_are_refused),       cmocka_unit_test(heads_stand_in_the_middle),
  };
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  for (int k = 0; k < 2; k++) rb_anatomy_free(&head[k]);
  return failed;
}
