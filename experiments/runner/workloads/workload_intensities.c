/* SPDX-License-Identifier: BSD-3-Clause */
/* anatomies-external: the neonate and the adult of the kind anatomies (inputs/brains.h), registered by their
 * intensities and by a program of others (solvers/external): ha2012's comparison with mutual information.
 *
 * Axes: size and data as anatomies has them; knots: the distance of elastix' B-splines in mm. Timed: the program with
 * its files. Verified: the displacement is finite and not one and the same everywhere; classes are carried and
 * compared here by that displacement, by the code that compares those of the kind anatomies. Folds are told, not
 * judged: they are the program's. anatomies-external-pictures: the same with slices. */
#include "experiments/runner/base/interrupt.h"
#include "experiments/runner/inputs/brains.h"
#include "experiments/runner/workloads/anatomy_pictures.h"
#include "experiments/runner/workloads/class_metrics.h"
#include "experiments/runner/workloads/workload.h"
#include "solvers/common/by_displacement.h"
#include "solvers/common/displacement_quality.h"
#include "solvers/external/external.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { CLASSES = RB_BRAIN_CLASSES };

typedef struct {
  const rb_case *c;
  rb_anatomy head[2];
  float *classes[2], *image[2]; /* neonate, adult: [CLASSES][n], [n] */
  rb_subject subject[2];
  void *solver;
  rb_solution solution;
  char version[256], set[64];
  int with_pictures;
} state;

static const char *data_of(const rb_case *c) { return rb_case_axis(c, "data", "brains"); }
static rb_problem_shape shape_of(const rb_case *c) {
  return (rb_problem_shape){.grid = c->grid, .channels = 1, .templates = 1};
}
static void predict(const rb_case *c, int rotations, size_t *backend, size_t *host) {
  const rb_problem_shape shape = shape_of(c);
  (void)rotations;
  rb_solver_external.predict(c->variant, NULL, &shape, backend, host);
  *host += 20 * (size_t)rb_grid_points(c->grid) * sizeof(float);
}
static size_t footprint(const rb_case *c) { return (size_t)rb_grid_points(c->grid) * sizeof(float); }

static void teardown(void *p) {
  state *s = p;
  if (!s) return;
  rb_solver_external.destroy(s->solver);
  rb_solution_free(&s->solution);
  for (int k = 0; k < 2; k++) rb_anatomy_free(&s->head[k]), free(s->classes[k]), free(s->image[k]);
  free(s);
}

static rb_status program_of(state *s, rb_external_options *o) {
  rb_status st = RB_OK;
  double knots;
  char version[128];
  rb_adapter *adapter = NULL;
  RB_TRY(rb_case_number(s->c, "knots", 10, &knots));
  snprintf(s->set, sizeof s->set, "knots=%.9g", knots / 3); /* voxels of 3 mm */
  *o = (rb_external_options){"", s->set};
  RB_TRY(rb_external_adapter(s->c->variant, o, &adapter));
  RB_TRY(rb_adapter_version(adapter, version, sizeof version));
  snprintf(s->version, sizeof s->version, "%.127s; adapter %.12s", version, adapter->sha256);
done:
  rb_adapter_free(adapter);
  return st;
}

static rb_status setup(const rb_case *c, const rb_backend *b, int rotations, void **out) {
  rb_status st = RB_OK;
  rb_external_options options;
  state *s = calloc(1, sizeof *s);
  (void)b, (void)rotations;
  RB_CHECK(s, RB_ENOMEM, "host memory");
  s->c = c;
  RB_TRY(program_of(s, &options));
  for (int k = 0; k < 2; k++) {
    RB_TRY(rb_brain(data_of(c), k, &s->head[k], &s->classes[k]));
    RB_CHECK(rb_grid_points(s->head[k].grid) == rb_grid_points(c->grid), RB_EINVAL, "brains have size 64x76x64");
    RB_TRY(rb_brain_intensities(data_of(c), k, s->classes[k], &s->image[k]));
    s->subject[k] = (rb_subject){.image = s->image[k]};
  }
  const rb_problem problem = {shape_of(c), &s->subject[1], &s->subject[0]};
  RB_TRY(rb_solver_external.create(c->variant, &options, &problem, rb_team_self(), &rb_interrupted, &s->solver));
  *out = s;
  s = NULL;
done:
  teardown(s);
  return st;
}

static rb_status setup_pictures(const rb_case *c, const rb_backend *b, int rotations, void **out) {
  const rb_status st = setup(c, b, rotations, out);
  if (st == RB_OK) ((state *)*out)->with_pictures = 1;
  return st;
}

/* A solve removes what an earlier one left. */
static rb_status run(void *p, int turn) {
  state *s = p;
  (void)turn;
  return rb_solver_solve(&rb_solver_external, s->solver, &s->solution);
}
static rb_status poison(void *p, int turn) {
  state *s = p;
  (void)turn;
  rb_solution_free(&s->solution);
  return RB_OK;
}

/* moved [n]: room. */
static rb_status picture(state *s, const float *u, float *moved, rb_outcome *o) {
  rb_status st = RB_OK;
  rb_pictures pictures = {0};
  RB_TRY(rb_displaced_image(s->c->grid, u, s->image[0], moved));
  RB_TRY(rb_anatomy_slices(s->c->method->label, s->c->grid, s->image[0], moved, s->image[1], &pictures));
  rb_outcome_pictures(o, "slices", &pictures);
done:
  rb_pictures_free(&pictures);
  return st;
}

static rb_status verify(void *p, int turn, rb_outcome *o) {
  rb_status st = RB_OK;
  state *s = p;
  const int64_t n = rb_grid_points(s->c->grid);
  int64_t same = 0;
  float *u = malloc(3 * (size_t)n * sizeof *u), *moved = malloc(CLASSES * (size_t)n * sizeof *moved);
  (void)turn;
  RB_CHECK(u && moved, RB_ENOMEM, "host memory");
  RB_TRY(rb_solver_output(&rb_solver_external, "displacement")->get(s->solver, 0, u));
  for (int64_t i = 0; i < n; i++) same += u[i] == u[0] && u[n + i] == u[n] && u[2 * n + i] == u[2 * n];
  rb_outcome_verify(o, "one and the same displacement everywhere", same == n, 0, "a registration");
  RB_TRY(rb_displacement_determinant(s->c->grid, u, moved));
  const rb_determinant_summary det = rb_summarise_determinant(n, moved);
  rb_outcome_verify(o, "determinants that are no numbers", isnan(det.least) || isnan(det.greatest), 0, "finite");
  for (int k = 0; k < CLASSES; k++) RB_TRY(rb_displaced_image(s->c->grid, u, s->classes[0] + k * n, moved + k * n));
  rb_outcome_classes(o, s->c->grid, CLASSES, (const float *const[2]){s->classes[0], s->classes[1]}, moved);
  rb_outcome_metric(o, "det_min", det.least, "1", "min over voxels of det(I + du/dx)");
  rb_outcome_metric(o, "det_max", det.greatest, "1", "max");
  rb_outcome_metric(o, "folds", det.percent_folds, "%", "voxels whose det is not positive");
  o->details = json_pack("{s:s}", "program", s->version);
  if (s->with_pictures) RB_TRY(picture(s, u, moved, o));
done:
  free(u), free(moved);
  return st;
}

static const rb_workload_axis axes[] = {
    {"size", RB_VALUES_SIZE}, {"data", "brains brains-na??"}, {"knots", RB_VALUES_NUMBER}, {NULL, NULL}};
const rb_workload rb_workload_intensities = {
    "anatomies-external", &rb_external_family, predict, footprint, setup, run, poison, verify, teardown, axes, NULL};
const rb_workload rb_workload_intensities_pictures = {"anatomies-external-pictures",
                                                      &rb_external_family,
                                                      predict,
                                                      footprint,
                                                      setup_pictures,
                                                      run,
                                                      poison,
                                                      verify,
                                                      teardown,
                                                      axes,
                                                      NULL};
