/* SPDX-License-Identifier: BSD-3-Clause */
/* The landmark solver: its gradient, what a Hamiltonian flow conserves, and a match. */
#include "tests/ok.h"

#include "datasets/points.h"
#include "experiments/runner/cli/register_grid.h"
#include "kernels/base/rng.h"
#include "solvers/krylov/krylov.h"
#include "solvers/landmarks/host_vec.h"
#include "solvers/landmarks/landmarks.h"

#include <math.h>
#include <nifti2_io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 40, DIM = 3, M = N * DIM };

static void sets(double *q, double *target) {
  for (int i = 0; i < M; i++) q[i] = 4 * rb_rng_symmetric(1, (uint64_t)i);
  for (int i = 0; i < M; i++) target[i] = q[i] + 0.3 * sin(0.7 * q[(i + N) % M]) + 0.1;
}

static rb_landmarks *problem(const char *variant, rb_landmarks_options o) {
  double q[M], target[M];
  const rb_variant *v;
  rb_landmarks *s;
  sets(q, target);
  ok(rb_variant_find(&rb_gausssum_family, variant, &v));
  ok(rb_landmarks_create(v, &o, N, DIM, q, target, &s));
  return s;
}
static rb_landmarks_options small(rb_dtype t) {
  rb_landmarks_options o = rb_landmarks_defaults();
  o.lambda = 100, o.steps = 11, o.evaluations = 120, o.dtype = t;
  return o;
}

/* The remainder |E(p + e w) - E(p) - e g.w| falls with e^2; central differences agree to their own accuracy. */
static void gradient_by_taylor(void **state) {
  (void)state;
  rb_landmarks *s = problem("cpu/omp", small(RB_F64));
  double p[M], w[M], g[M], moved[M], here, there, back, slope = 0, first = 0, last = 0;
  for (int i = 0; i < M; i++) p[i] = 0.2 * rb_rng_symmetric(2, (uint64_t)i), w[i] = rb_rng_symmetric(3, (uint64_t)i);
  ok(rb_landmarks_evaluate(s, p, &here, g));
  for (int i = 0; i < M; i++) slope += g[i] * w[i];
  for (int k = 0; k < 4; k++) {
    double e = 0.02 / (1 << (2 * k));
    for (int i = 0; i < M; i++) moved[i] = p[i] + e * w[i];
    ok(rb_landmarks_evaluate(s, moved, &there, NULL));
    last = fabs(there - here - e * slope);
    if (k == 0) first = last;
  }
  double order = log2(first / last) / 6;
  assert_true(order > 1.9 && order < 2.1);
  const double e = 1e-5;
  for (int i = 0; i < M; i++) moved[i] = p[i] + e * w[i];
  ok(rb_landmarks_evaluate(s, moved, &there, NULL));
  for (int i = 0; i < M; i++) moved[i] = p[i] - e * w[i];
  ok(rb_landmarks_evaluate(s, moved, &back, NULL));
  assert_true(fabs((there - back) / (2 * e) - slope) < 1e-6 * fabs(slope));
  rb_landmarks_destroy(s);
}

/* H and the sum of momenta along the flow: H drifts with the Euler step's first order, the momentum not at all. */
static double drift(int steps) {
  rb_landmarks_options o = small(RB_F64);
  o.steps = steps;
  rb_landmarks *s = problem("cpu/omp", o);
  double p[M], *h = malloc((size_t)steps * sizeof *h), value, worst = 0, first[M], last[M];
  for (int i = 0; i < M; i++) p[i] = 0.3 * rb_rng_symmetric(2, (uint64_t)i);
  ok(rb_landmarks_evaluate(s, p, &value, NULL));
  ok(rb_landmarks_energies(s, h));
  for (int t = 0; t < steps; t++) worst = fmax(worst, fabs(h[t] / h[0] - 1));
  ok(rb_landmarks_at(s, 0, NULL, first));
  ok(rb_landmarks_at(s, steps - 1, NULL, last));
  for (int c = 0; c < DIM; c++) {
    double a = 0, b = 0;
    for (int i = 0; i < N; i++) a += first[c * N + i], b += last[c * N + i];
    assert_true(fabs(a - b) < 1e-11);
  }
  free(h);
  rb_landmarks_destroy(s);
  return worst;
}
static void flow_conserves(void **state) {
  (void)state;
  double coarse = drift(21), fine = drift(81);
  assert_true(coarse < 0.2 && fine < 0.3 * coarse);
}

/* Landmarks carried along as other points go where the flow takes them; shooting back from the end returns. */
static void apply_and_return(void **state) {
  (void)state;
  rb_landmarks_options o = small(RB_F64);
  o.steps = 201;
  rb_landmarks *s = problem("cpu/omp", o);
  double q[M], target[M], p[M], end[M], momentum[M], x[M], value;
  const rb_variant *v;
  sets(q, target);
  for (int i = 0; i < M; i++) p[i] = 0.3 * rb_rng_symmetric(2, (uint64_t)i);
  ok(rb_landmarks_evaluate(s, p, &value, NULL));
  ok(rb_landmarks_at(s, o.steps - 1, end, momentum));
  memcpy(x, q, sizeof x);
  ok(rb_landmarks_apply(s, N, x));
  for (int i = 0; i < M; i++) assert_true(fabs(x[i] - end[i]) < 1e-12);
  rb_landmarks_destroy(s);
  for (int i = 0; i < M; i++) momentum[i] = -momentum[i];
  ok(rb_variant_find(&rb_gausssum_family, "cpu/omp", &v));
  ok(rb_landmarks_create(v, &o, N, DIM, end, target, &s));
  ok(rb_landmarks_evaluate(s, momentum, &value, NULL));
  ok(rb_landmarks_at(s, o.steps - 1, x, NULL));
  double worst = 0, way = 0;
  for (int i = 0; i < M; i++) worst = fmax(worst, fabs(x[i] - q[i])), way = fmax(way, fabs(end[i] - q[i]));
  assert_true(worst < 0.02 * way);
  rb_landmarks_destroy(s);
}

/* Rotating both sets rotates the answer; numbering them otherwise renumbers it: the objective is the same. */
static void invariances(void **state) {
  (void)state;
  rb_landmarks_options o = small(RB_F64);
  double q[M], target[M], p[M], rq[M], rt[M], rp[M], a, b, c;
  const rb_variant *v;
  rb_landmarks *s;
  const double ct = cos(0.6), sn = sin(0.6);
  sets(q, target);
  for (int i = 0; i < M; i++) p[i] = 0.3 * rb_rng_symmetric(2, (uint64_t)i);
  s = problem("cpu/omp", o);
  ok(rb_landmarks_evaluate(s, p, &a, NULL));
  rb_landmarks_destroy(s);
  const double *from[] = {q, target, p};
  double *to[] = {rq, rt, rp};
  for (int k = 0; k < 3; k++)
    for (int i = 0; i < N; i++) {
      to[k][i] = ct * from[k][i] - sn * from[k][N + i], to[k][N + i] = sn * from[k][i] + ct * from[k][N + i];
      to[k][2 * N + i] = from[k][2 * N + i];
    }
  ok(rb_variant_find(&rb_gausssum_family, "cpu/omp", &v));
  ok(rb_landmarks_create(v, &o, N, DIM, rq, rt, &s));
  ok(rb_landmarks_evaluate(s, rp, &b, NULL));
  rb_landmarks_destroy(s);
  for (int k = 0; k < 3; k++)
    for (int i = 0; i < M; i++) to[k][i / N * N + (i % N * 7) % N] = from[k][i];
  ok(rb_landmarks_create(v, &o, N, DIM, rq, rt, &s));
  ok(rb_landmarks_evaluate(s, rp, &c, NULL));
  rb_landmarks_destroy(s);
  assert_true(fabs(a - b) < 1e-10 * a && fabs(a - c) < 1e-10 * a);
}

static void matches(void **state) {
  (void)state;
  static rb_landmarks_result r;
  rb_landmarks *s = problem("cpu/omp", small(RB_F64));
  ok(rb_landmarks_solve(s, NULL, NULL, &r));
  rb_landmarks_destroy(s);
  assert_true(r.average_after < 0.1 * r.average_before && r.objective < 0.2 * r.table[0].objective);
}

/* Every variant of this machine walks the same way in float32 as the CPU in float64: each objective of the first
 * evaluations, and the end. */
static void all_follow(void **state) {
  (void)state;
  static rb_landmarks_result exact, r;
  enum { FIRST = 5 };
  rb_landmarks *s = problem("cpu/omp", small(RB_F64));
  ok(rb_landmarks_solve(s, NULL, NULL, &exact));
  rb_landmarks_destroy(s);
  assert_true(exact.rows > FIRST);
  for (int v = 1; v < rb_gausssum_family.count; v++) { /* but the oracle */
    const rb_variant *variant = &rb_gausssum_family.variants[v];
    if (rb_variant_available(variant) != RB_OK) continue;
    s = problem(variant->name, small(RB_F32));
    ok(rb_landmarks_solve(s, NULL, NULL, &r));
    for (int i = 0; i < FIRST; i++) assert_true(fabs(r.table[i].objective / exact.table[i].objective - 1) < 1e-4);
    assert_true(fabs(r.objective / exact.objective - 1) <
                0.01); /* paths part by rounding, but lead down the same valley */
    rb_landmarks_destroy(s);
  }
  rb_clear();
}

/* The conventions that no table prints, where they can be worked out by hand: a lone point moves by its momentum in
 * all, steps of 1 / (T - 1); the start is (target - template) / T; lambda weighs the whole square, the kinetic energy
 * half of one. */
static void lone_point(void **state) {
  (void)state;
  static rb_landmarks_result r;
  const double q[DIM] = {1, -2, 0.5}, target[DIM] = {2, -1.5, 3}, p[DIM] = {0.3, -0.2, 0.7};
  double at[DIM], value, square = 0, moved = 0, missed = 0;
  const rb_variant *v;
  rb_landmarks *s;
  rb_landmarks_options o = small(RB_F64);
  ok(rb_variant_find(&rb_gausssum_family, "cpu/omp", &v));
  ok(rb_landmarks_create(v, &o, 1, DIM, q, target, &s));
  ok(rb_landmarks_evaluate(s, p, &value, NULL));
  ok(rb_landmarks_at(s, o.steps - 1, at, NULL));
  for (int c = 0; c < DIM; c++) {
    assert_true(fabs(at[c] - q[c] - p[c]) < 1e-14);
    square += pow(target[c] - q[c], 2), moved += p[c] * p[c], missed += pow(target[c] - q[c] - p[c], 2);
  }
  assert_true(fabs(value - moved / 2 - o.lambda * missed) < 1e-12 * value);
  ok(rb_landmarks_solve(s, NULL, NULL, &r));
  const double share = 1.0 / o.steps;
  assert_true(fabs(r.table[0].kinetic - square * share * share / 2) < 1e-12 * square);
  assert_true(fabs(r.table[0].objective - r.table[0].kinetic - o.lambda * square * (1 - share) * (1 - share)) <
              1e-12 * r.table[0].objective);
  rb_landmarks_destroy(s);
}

/* The optimiser's vectors on the host do what PETSc's own do, operation by operation, copies and duplicates included.
 */
static void host_vectors(void **state) {
  (void)state;
  enum { COUNT = 101 }; /* no multiple of what is added side by side */
  Vec v[2][3];
  ok(rb_krylov_open());
  for (int kind = 0; kind < 2; kind++) {
    if (kind == 0)
      ok(rb_host_vec_create(COUNT, &v[kind][0]));
    else
      assert_int_equal(VecCreateSeq(PETSC_COMM_SELF, COUNT, &v[kind][0]), 0);
    for (int i = 1; i < 3; i++) assert_int_equal(VecDuplicate(v[kind][0], &v[kind][i]), 0);
    for (int i = 0; i < 3; i++)
      for (PetscInt k = 0; k < COUNT; k++)
        assert_int_equal(VecSetValue(v[kind][i], k, sin(1.0 + k + 7 * i), INSERT_VALUES), 0);
    for (int i = 0; i < 3; i++) assert_int_equal(VecAssemblyBegin(v[kind][i]) || VecAssemblyEnd(v[kind][i]), 0);
  }
  double seen[2][12] = {{0}};
  for (int kind = 0; kind < 2; kind++) {
    Vec x = v[kind][0], y = v[kind][1], z = v[kind][2];
    double *to = seen[kind], several[2], weights[2] = {0.5, -0.25};
    assert_false(VecDot(x, y, to) || VecTDot(y, z, to + 1) || VecNorm(x, NORM_2, to + 2) ||
                 VecNorm(x, NORM_1, to + 3) || VecNorm(x, NORM_INFINITY, to + 4));
    assert_false(VecAXPY(z, 0.3, x) || VecAYPX(z, -2, y) || VecAXPBY(z, 1.5, 0.7, x) || VecDot(z, z, to + 5));
    assert_false(VecWAXPY(z, 0.2, x, y) || VecAXPBYPCZ(z, 2, 3, 0.1, x, y) || VecDot(z, x, to + 6));
    assert_false(VecAXPBYPCZ(z, 2, 3, 0, x, y) || VecScale(z, 0.9) || VecDot(z, y, to + 7));
    assert_false(VecMAXPY(z, 2, weights, v[kind]) || VecMDot(z, 2, v[kind], several));
    to[8] = several[0], to[9] = several[1];
    assert_false(VecCopy(x, z) || VecAXPY(z, -1, x) || VecNorm(z, NORM_2, to + 10) || VecCopy(y, y) || VecSet(x, 0) ||
                 VecNorm(x, NORM_2, to + 11));
    for (int i = 0; i < 3; i++) assert_int_equal(VecDestroy(&v[kind][i]), 0);
  }
  for (int i = 0; i < 12; i++) assert_true(fabs(seen[0][i] - seen[1][i]) <= 1e-12 * (1 + fabs(seen[1][i])));
  assert_true(seen[0][10] == 0 && seen[0][11] == 0);
}

/* The dense field on a grid is what the carried points and the momenta's kernel sum say, in mm and in the points'
 * axes. */
static void field_on_a_grid(void **state) {
  (void)state;
  const double spacing = 1.1;
  char folder[] = "/tmp/regbench-grid-XXXXXX", path[64];
  const rb_solver *solver = &rb_solver_landmarks;
  const rb_variant *v;
  rb_landmarks_options o = small(RB_F64);
  rb_points set[2];
  rb_subject subject[2];
  rb_solution solution = {0};
  double q[M], target[M], p[M], x[DIM], velocity[DIM] = {0};
  void *s;
  sets(q, target);
  for (int k = 0; k < 2; k++) {
    set[k] = (rb_points){.n = N, .dim = DIM, .x = k ? target : q};
    subject[k] = (rb_subject){.points = set[k].x};
  }
  const rb_problem problem = {{.points = N, .dim = DIM, .templates = 1}, &subject[1], &subject[0]};
  ok(rb_variant_find(solver->family, "cpu-f64", &v));
  ok(solver->create(v, &o, &problem, rb_team_self(), NULL, &s));
  ok(rb_solver_solve(solver, s, &solution));
  ok(rb_solver_output(solver, "momentum")->get(s, 0, p));
  assert_non_null(mkdtemp(folder));
  ok(rb_register_grid_write(folder, solver, s, set, 3, spacing));
  for (int which = 0; which < 2; which++) {
    snprintf(path, sizeof path, "%s/%s.nii.gz", folder, which ? "inverse_displacement" : "velocity");
    nifti_image *h = nifti_image_read(path, 1);
    assert_non_null(h);
    assert_true(h->nu == 3 && fabs((double)h->dx - spacing) < 1e-6);
    const int64_t at[3] = {h->nx / 2, h->ny / 3, h->nz / 2};
    for (int c = 0; c < DIM; c++) x[c] = h->sto_xyz.m[c][3] + h->sto_xyz.m[c][c] * (double)at[c];
    double want[DIM], from[DIM];
    memcpy(from, x, sizeof x);
    if (which) ok(solver->carry(s, 1, x));
    for (int j = 0; j < N && !which; j++) {
      double r2 = 0;
      for (int c = 0; c < DIM; c++) r2 += (x[c] - q[c * N + j]) * (x[c] - q[c * N + j]);
      for (int c = 0; c < DIM; c++) velocity[c] += exp(-r2 / (2 * 1.5 * 1.5)) * p[c * N + j];
    }
    for (int c = 0; c < DIM; c++) want[c] = which ? x[c] - from[c] : velocity[c];
    const size_t voxels = (size_t)h->nx * (size_t)h->ny * (size_t)h->nz,
                 here = ((size_t)at[2] * (size_t)h->ny + (size_t)at[1]) * (size_t)h->nx + (size_t)at[0];
    for (int c = 0; c < DIM; c++) /* of a file: left and posterior */
      assert_true(fabs((c < 2 ? -1 : 1) * (double)((float *)h->data)[(size_t)c * voxels + here] - want[c]) < 1e-5);
    nifti_image_free(h);
    remove(path);
  }
  snprintf(path, sizeof path, "%s/displacement.nii.gz", folder);
  remove(path);
  rmdir(folder);
  rb_solution_free(&solution);
  solver->destroy(s);
}

static void bad_options(void **state) {
  (void)state;
  double q[M], target[M];
  const rb_variant *v;
  rb_landmarks *s;
  rb_landmarks_options o = small(RB_F64);
  sets(q, target);
  ok(rb_variant_find(&rb_gausssum_family, "cpu/omp", &v));
  o.sigma = 0;
  assert_int_equal(rb_landmarks_create(v, &o, N, DIM, q, target, &s), RB_EINVAL);
  rb_clear();
  o = small(RB_F64), o.steps = 1;
  assert_int_equal(rb_landmarks_create(v, &o, N, DIM, q, target, &s), RB_EINVAL);
  rb_clear();
  o = small(RB_F64);
  assert_int_equal(rb_landmarks_create(v, &o, N, 4, q, target, &s), RB_EINVAL);
  rb_clear();
  assert_int_equal(rb_memory_live(RB_CPU), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(gradient_by_taylor), cmocka_unit_test(flow_conserves),
                                     cmocka_unit_test(apply_and_return),   cmocka_unit_test(invariances),
                                     cmocka_unit_test(all_follow),         cmocka_unit_test(matches),
                                     cmocka_unit_test(lone_point),         cmocka_unit_test(host_vectors),
                                     cmocka_unit_test(field_on_a_grid),    cmocka_unit_test(bad_options)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  rb_krylov_close();
  return failed;
}
