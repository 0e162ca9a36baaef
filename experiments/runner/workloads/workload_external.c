/* SPDX-License-Identifier: BSD-3-Clause */
/* external-registration: a program of others registers the pair, as a solver of the contract (solvers/external).
 *
 * Axes: size, data, images, iterations, sigma_fluid as for demons; an `update` axis does not apply to it: ITK adds
 * the smoothed update. Timed: the registration with its reading and writing of files, as a user of it would.
 * Verified: the displacement that it leaves brings the template closer to the reference; images, labels and
 * determinants are worked out of that displacement here, whatever else the program writes. Its version goes into the
 * record; an absent program is a skip. */
#include "experiments/runner/base/interrupt.h"
#include "experiments/runner/workloads/demons_images.h"
#include "experiments/runner/workloads/solve_checks.h"
#include "experiments/runner/workloads/workload.h"
#include "solvers/common/overlap.h"
#include "solvers/external/external.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const rb_case *c;
  rb_pair pair;
  rb_subject subject, reference;
  void *solver;
  rb_solution solution;
  char version[256], set[128];
} state;

/* Axes that were given become parameters of the adapter. */
static rb_status options_of(state *s, rb_external_options *o) {
  rb_status st = RB_OK;
  double iterations, sigma;
  RB_TRY(rb_case_number(s->c, "iterations", NAN, &iterations));
  RB_TRY(rb_case_number(s->c, "sigma_fluid", NAN, &sigma));
  if (!isnan(iterations)) snprintf(s->set, sizeof s->set, "iterations=%.0f", iterations);
  const size_t n = strlen(s->set);
  if (!isnan(sigma)) snprintf(s->set + n, sizeof s->set - n, "%ssigma_fluid=%.9g", n ? " " : "", sigma);
  *o = (rb_external_options){"", s->set};
done:
  return st;
}
static rb_problem_shape shape_of(const rb_case *c) {
  return (rb_problem_shape){.grid = c->grid, .channels = 1, .templates = 1, .labels = 1};
}

static void predict(const rb_case *c, int rotations, size_t *backend, size_t *host) {
  const rb_problem_shape shape = shape_of(c);
  (void)rotations;
  rb_solver_external.predict(c->variant, NULL, &shape, backend, host);
}
static size_t footprint(const rb_case *c) { return (size_t)rb_grid_points(c->grid) * sizeof(float); }

static void teardown(void *p) {
  state *s = p;
  if (!s) return;
  rb_solver_external.destroy(s->solver);
  rb_solution_free(&s->solution);
  rb_pair_free(&s->pair);
  free(s);
}

static rb_status setup(const rb_case *c, const rb_backend *b, int rotations, void **out) {
  rb_status st = RB_OK;
  rb_external_options options;
  char version[128];
  rb_adapter *adapter = NULL;
  state *s = calloc(1, sizeof *s);
  (void)b, (void)rotations;
  RB_CHECK(s, RB_ENOMEM, "host memory");
  s->c = c;
  RB_TRY(options_of(s, &options));
  RB_TRY(rb_external_adapter(c->variant, &options, &adapter));
  RB_TRY(rb_adapter_version(adapter, version, sizeof version));
  snprintf(s->version, sizeof s->version, "%.127s; adapter %.12s", version, adapter->sha256);
  RB_TRY(rb_demons_case_pair(c, &s->pair));
  s->subject = (rb_subject){.image = s->pair.image[RB_TEMPLATE], .labels = s->pair.labels[RB_TEMPLATE]};
  s->reference = (rb_subject){.image = s->pair.image[RB_REFERENCE], .labels = s->pair.labels[RB_REFERENCE]};
  const rb_problem problem = {.shape = shape_of(c), .reference = &s->reference, .templates = &s->subject};
  RB_TRY(rb_solver_external.create(c->variant, &options, &problem, rb_team_self(), &rb_interrupted, &s->solver));
  *out = s;
  s = NULL;
done:
  rb_adapter_free(adapter);
  teardown(s);
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

static rb_status get(const state *s, const char *name, float *out) {
  return rb_solver_output(&rb_solver_external, name)->get(s->solver, 0, out);
}

static rb_status add_overlap(const state *s, float *labels, rb_outcome *o) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(s->pair.grid);
  RB_TRY(get(s, "labels", labels));
  const rb_overlap before = rb_overlap_of(n, s->subject.labels, s->reference.labels),
                   after = rb_overlap_of(n, labels, s->reference.labels);
  rb_solve_add_dice(o, &before, &after, "the same, each voxel's nearest label by the displacement");
done:
  return st;
}

static rb_status verify(void *p, int turn, rb_outcome *o) {
  rb_status st = RB_OK;
  state *s = p;
  const int64_t n = rb_grid_points(s->pair.grid);
  int64_t folds = 0;
  float *room = malloc((size_t)n * sizeof *room);
  (void)turn;
  RB_CHECK(room, RB_ENOMEM, "host memory");
  rb_outcome_data(o, s->pair.file[RB_TEMPLATE], s->pair.sha256[RB_TEMPLATE]);
  rb_outcome_verify(o, "mismatch", rb_solution_value(&s->solution, "mismatch"), 1, "the template itself");
  for (int i = 0; i < s->solution.scalar_count; i++) {
    const rb_scalar *x = &s->solution.scalars[i];
    rb_outcome_metric(o, x->name, x->value, x->unit, x->formula);
  }
  RB_TRY(get(s, "jacobian", room));
  const rb_determinants det = rb_determinants_of(n, room);
  for (int64_t i = 0; i < n; i++) folds += !(room[i] > 0);
  rb_outcome_metric(o, "voxels", 1e-6 * (double)n, "M", "of the images");
  rb_outcome_metric(o, "det_min", det.least, "1", "min over voxels of det(I + du/dx)");
  rb_outcome_metric(o, "det_mean", det.mean, "1", "mean");
  rb_outcome_metric(o, "det_max", det.most, "1", "max");
  rb_outcome_metric(o, "folds", 100 * (double)folds / (double)n, "%", "voxels whose determinant is not positive");
  if (s->subject.labels && s->reference.labels) RB_TRY(add_overlap(s, room, o));
  o->details = json_pack("{s:s,s:s}", "program", s->version, "reference", s->pair.file[RB_REFERENCE]);
done:
  free(room);
  return st;
}

static const rb_workload_axis axes[] = {{"size", RB_VALUES_SIZE},        {"data", RB_VALUES_PAIRS},
                                        {"images", "bytes antialias"},   {"sigma_fluid", RB_VALUES_NUMBER},
                                        {"iterations", RB_VALUES_COUNT}, {NULL, NULL}};
const rb_workload rb_workload_external = {"external-registration",
                                          &rb_external_family,
                                          predict,
                                          footprint,
                                          setup,
                                          run,
                                          poison,
                                          verify,
                                          teardown,
                                          axes,
                                          NULL};
