/* SPDX-License-Identifier: BSD-3-Clause */
/* anatomies: a whole registration of class posteriors and surfaces (ha2012, Table 1 and section 5.2), on two phantom
 * heads: a small one with a smaller cerebellum onto a large one.
 *
 * Axis `terms`: what drives it (both, posteriors, surfaces). sigmas, steps, iterations: of the levels, separated by
 * +, as in 4+2. Timed: the solve. Verified: the energy falls to less than it was; orientation is kept; and the first
 * iterations' energies are those of the same solver in float64 on the CPU, which shares no kernel with the GPU's. */
#include "experiments/runner/base/interrupt.h"
#include "experiments/runner/inputs/anatomy.h"
#include "experiments/runner/workloads/workload.h"
#include "solvers/currents/currents.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TWIN_ITERATIONS = 3, TEXT = 64 };

typedef struct {
  const rb_case *c;
  const rb_backend *backend;
  rb_currents_options options;
  char sigmas[TEXT], steps[TEXT], iterations[TEXT];
  rb_anatomy head[2];
  rb_subject subject[2];
  rb_problem problem;
  rb_currents *solver;
  rb_currents_result result;
  double first[TWIN_ITERATIONS], last, level_first; /* energies of the run; of the last level */
  int level, compared;                              /* the first level's first iterations */
} state;

/* An axis' numbers over `unit`, with the commas that the solver takes. RB_EINVAL. */
static rb_status levels(const rb_case *c, const char *axis, const char *fallback, double unit, char out[TEXT]) {
  rb_status st = RB_OK;
  size_t length = 0;
  const char *text = rb_case_axis(c, axis, fallback);
  for (const char *at = text;;) {
    char *end;
    const double v = strtod(at, &end);
    RB_CHECK(end != at && v > 0 && isfinite(v) && (*end == '+' || !*end), RB_EINVAL,
             "axis %s: '%s' is no list of positive numbers, separated by +", axis, text);
    length += (size_t)snprintf(out + length, TEXT - length, "%s%.9g", length ? "," : "", v / unit);
    RB_CHECK(length < TEXT, RB_EINVAL, "axis %s: '%s' is too long", axis, text);
    if (!*end) break;
    at = end + 1;
  }
done:
  return st;
}
static rb_status options_of(state *s, const rb_case *c) {
  rb_status st = RB_OK;
  const double voxel = 192.0 / (double)c->grid.n[0], of_defaults = 3; /* mm; what the defaults' alpha is for */
  const char *terms = rb_case_axis(c, "terms", "both"), *mesh = rb_case_axis(c, "mesh", "voxel");
  s->options = rb_currents_defaults();
  s->options.alpha *= pow(of_defaults / voxel, 2);
  RB_TRY(levels(c, "sigmas", "12+6", voxel, s->sigmas));
  RB_TRY(levels(c, "steps", "1.5+0.75", voxel, s->steps));
  RB_TRY(levels(c, "iterations", "100+100", 1, s->iterations));
  s->options.sigmas = s->sigmas, s->options.steps = s->steps, s->options.iterations = s->iterations;
  if (strcmp(mesh, "voxel") != 0) RB_TRY(rb_case_number(c, "mesh", 0.5, &s->options.mesh));
  if (strcmp(terms, "posteriors") == 0) s->options.surface_weight = 0;
  if (strcmp(terms, "surfaces") == 0) s->options.image_weight = 0;
done:
  return st;
}

static void predict(const rb_case *c, int rotations, size_t *backend, size_t *host) {
  const size_t n = (size_t)rb_grid_points(c->grid);
  /* a phantom's surfaces have some 6 faces a square of voxels along the head's side */
  const int64_t faces = 8 * c->grid.n[0] * c->grid.n[0];
  const rb_problem_shape shape = {
      .grid = c->grid, .channels = 3, .templates = 1, .surfaces = 3, .vertices = faces / 2, .faces = 6 * faces};
  const rb_variant *twin;
  size_t wide = 0;
  state s;
  (void)rotations;
  *backend = *host = 0;
  if (options_of(&s, c) == RB_OK && rb_currents_predict(c->variant, &s.options, &shape, backend, host) == RB_OK &&
      rb_variant_find(&rb_currents_solver_family, "cpu-f64", &twin) == RB_OK)
    rb_currents_predict(twin, &s.options, &shape, &wide, host);
  rb_clear();
  *host += wide + 16 * n * sizeof(float);
}
static size_t footprint(const rb_case *c) { return 30 * (size_t)rb_grid_points(c->grid) * sizeof(float); }

static void teardown(void *p) {
  state *s = p;
  if (!s) return;
  rb_currents_solver_destroy(s->solver);
  for (int k = 0; k < 2; k++) rb_anatomy_free(&s->head[k]);
  free(s);
}

static rb_status setup(const rb_case *c, const rb_backend *b, int rotations, void **out) {
  rb_status st = RB_OK;
  state *s = calloc(1, sizeof *s);
  (void)rotations;
  RB_CHECK(s, RB_ENOMEM, "host memory");
  s->c = c, s->backend = b;
  RB_CHECK(c->grid.n[0] == c->grid.n[1] && c->grid.n[1] == c->grid.n[2], RB_EINVAL, "phantom heads are cubes");
  RB_TRY(options_of(s, c));
  for (int k = 0; k < 2; k++) {
    RB_TRY(rb_anatomy_phantom(c->grid.n[0], k, &s->head[k]));
    s->subject[k] = rb_anatomy_subject(&s->head[k]);
  }
  s->problem = (rb_problem){rb_anatomy_shape(&s->head[0], &s->head[1]), &s->subject[1], &s->subject[0]};
  RB_TRY(rb_currents_solver_create(c->variant, &s->options, &s->problem, &rb_interrupted, &s->solver));
  *out = s;
  s = NULL;
done:
  teardown(s);
  return st;
}

static void keep(void *context, const rb_currents_row *row) {
  state *s = context;
  if (row->level == 1 && row->iteration <= TWIN_ITERATIONS)
    s->first[row->iteration - 1] = row->energy, s->compared = row->iteration;
  if (row->level != s->level) s->level = row->level, s->level_first = row->energy;
  s->last = row->energy;
}
static rb_status run(void *p, int turn) {
  state *s = p;
  (void)turn;
  const rb_status st = rb_currents_solve(s->solver, keep, s, &s->result);
  return st == RB_OK && s->result.end == RB_END_INTERRUPTED ? RB_FAIL(RB_EINTERRUPTED, "interrupted") : st;
}
static rb_status poison(void *p, int turn) {
  state *s = p;
  (void)turn;
  for (int k = 0; k < TWIN_ITERATIONS; k++) s->first[k] = NAN;
  s->last = s->level_first = NAN, s->level = s->compared = 0;
  return RB_OK;
}

/* Energies of the first iterations by float64 on the CPU. */
typedef struct {
  double energy[TWIN_ITERATIONS];
} twin_energies;
static void keep_twin(void *context, const rb_currents_row *row) {
  if (row->iteration <= TWIN_ITERATIONS) ((twin_energies *)context)->energy[row->iteration - 1] = row->energy;
}
static rb_status twin_of(const state *s, twin_energies *e) {
  rb_status st = RB_OK;
  rb_currents_options o = s->options;
  rb_currents_result r;
  rb_currents *twin = NULL;
  const rb_variant *v;
  char sigma[TEXT], step[TEXT];
  snprintf(sigma, sizeof sigma, "%s", o.sigmas), snprintf(step, sizeof step, "%s", o.steps);
  sigma[strcspn(sigma, ",")] = '\0', step[strcspn(step, ",")] = '\0';
  o.sigmas = sigma, o.steps = step, o.iterations = "3";
  RB_TRY(rb_variant_find(&rb_currents_solver_family, "cpu-f64", &v));
  RB_TRY(rb_currents_solver_create(v, &o, &s->problem, &rb_interrupted, &twin));
  RB_TRY(rb_currents_solve(twin, keep_twin, e, &r));
done:
  rb_currents_solver_destroy(twin);
  return st;
}

static rb_status measure_overlaps(state *s, rb_outcome *o) {
  static const char *const before[] = {"overlap_wm_before", "overlap_gm_before", "overlap_csf_before", NULL,
                                       "overlap_parenchyma_before"},
                           *const after[] = {"overlap_wm", "overlap_gm", "overlap_csf", NULL, "overlap_parenchyma"},
                           *const dice[] = {"dice_wm", "dice_gm", "dice_csf", NULL, "dice_parenchyma"};
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(s->c->grid);
  rb_class_overlap was[5], is[5];
  double least = INFINITY, most = -INFINITY;
  float *moved = malloc(3 * (size_t)n * sizeof *moved);
  RB_CHECK(moved, RB_ENOMEM, "host memory");
  RB_TRY(rb_currents_determinant(s->solver, moved));
  for (int64_t i = 0; i < n; i++) least = fmin(least, (double)moved[i]), most = fmax(most, (double)moved[i]);
  RB_TRY(rb_currents_warped(s->solver, moved));
  rb_class_overlaps(s->c->grid, 3, s->head[0].posteriors, s->head[1].posteriors, was);
  rb_class_overlaps(s->c->grid, 3, moved, s->head[1].posteriors, is);
  for (int c = 0; c < 5; c++) {
    if (!after[c]) continue;
    rb_outcome_metric(o, before[c], was[c].printed, "1", "|A n B| / |B| by the most probable class, B the reference");
    rb_outcome_metric(o, after[c], is[c].printed, "1", "the same after");
    rb_outcome_metric(o, dice[c], is[c].dice, "1", "2 |A n B| / (|A| + |B|) after");
  }
  rb_outcome_metric(o, "det_min", least, "1", "min over voxels of det(I + du/dx)");
  rb_outcome_metric(o, "det_max", most, "1", "max");
  rb_outcome_verify(o, "-det (positive: orientation kept)", -least, 0, "diffeomorphism");
done:
  free(moved);
  return st;
}

static rb_status verify(void *p, int turn, rb_outcome *o) {
  rb_status st = RB_OK;
  state *s = p;
  twin_energies e = {{NAN, NAN, NAN}};
  const rb_currents_result *r = &s->result;
  double off = 0;
  (void)turn;
  RB_TRY(twin_of(s, &e));
  if (s->compared == 0) off = NAN; /* nothing ran */
  for (int k = 0; k < s->compared; k++) {
    const double one = fabs(s->first[k] / e.energy[k] - 1);
    if (!(one <= off)) off = one; /* a NaN stays */
  }
  rb_outcome_verify(o, "relative error of the first energies", off, 2e-4, "cpu float64, up to three iterations");
  rb_outcome_verify(o, "energy at the last level's end over that at its start", s->last / s->level_first, 1,
                    "descent");
  RB_TRY(measure_overlaps(s, o));
  rb_outcome_metric(o, "images", r->image_after, "1", "mismatch of the posteriors over that at the start");
  rb_outcome_metric(o, "surfaces", r->surface_after, "1", "sum of the squared distances over the reference's own");
  rb_outcome_metric(o, "drift", r->drift, "voxel", "mean |h(x_v) - x_v(0)| of the surfaces' vertices");
  rb_outcome_metric(o, "count", r->iterations, "1", "iterations");
  rb_outcome_metric(o, "time_iteration", r->seconds / r->iterations, "s", "solve over iterations");
  rb_outcome_metric(o, "faces", (double)s->problem.shape.faces, "1", "of all surfaces, both heads");
done:
  return st;
}

static const rb_workload_axis axes[] = {{"size", RB_VALUES_SIZE},
                                        {"terms", "both posteriors surfaces"},
                                        {"mesh", "voxel 0.25 0.5 1"},
                                        {"sigmas", "*"},
                                        {"steps", "*"},
                                        {"iterations", "*"},
                                        {NULL, NULL}};
const rb_workload rb_workload_anatomies = {
    "anatomies", &rb_currents_solver_family, predict, footprint, setup, run, poison, verify, teardown, axes};
