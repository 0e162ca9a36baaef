/* SPDX-License-Identifier: BSD-3-Clause */
/* anatomies: a whole registration of class posteriors and surfaces (ha2012, Table 1 and section 5.2): of two phantom
 * heads, a small one with a smaller cerebellum onto a large one, or (data: brains, or brains-na02 and so on, size
 * 64x76x64) of a neonate onto an adult (inputs/brains.h), whose cerebellum is compared apart.
 *
 * Axis `terms`: what drives it (both, posteriors, surfaces). sigmas and steps in mm, and iterations, of the levels,
 * separated by +, as in 12+6, or all three of a level in one axis, levels: 12/1.5/100+6/0.75/100; mesh: the particle
 * mesh's spacing over sigma, or "voxel". The operator's smoothing has one length in mm, too, so that a size changes
 * the resolution alone. Timed: the solve. Verified: the energy falls within a level; orientation is kept; and the
 * first iterations' energies are those of the same solver in float64 on the CPU, which shares no kernel with the
 * GPU's.
 *
 * anatomies-pictures: the same with pictures. Axis `show`: surfaces, coloured by their distance to the reference's
 * (also as metrics), or slices of the brains' T1 intensities. */
#include "experiments/runner/base/interrupt.h"
#include "experiments/runner/inputs/anatomy.h"
#include "experiments/runner/inputs/brains.h"
#include "experiments/runner/inputs/phantom_heads.h"
#include "experiments/runner/workloads/anatomy_pictures.h"
#include "experiments/runner/workloads/class_metrics.h"
#include "experiments/runner/workloads/solve_checks.h"
#include "experiments/runner/workloads/workload.h"
#include "solvers/common/by_displacement.h"
#include "solvers/currents/currents.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TWIN_ITERATIONS = 3, TEXT = 64 };
/* Of the first energies: some forty times the worst of 24 recorded runs, 2.6e-8. */
static const double FIRST_LIMIT = 1e-6;

typedef struct {
  const rb_case *c;
  const rb_backend *backend;
  rb_currents_options options;
  char sigmas[TEXT], steps[TEXT], iterations[TEXT];
  rb_anatomy head[2]; /* of phantoms: borrowed */
  float *classes[2];  /* of brains: [RB_BRAIN_CLASSES][n] */
  rb_subject subject[2];
  rb_problem problem;
  rb_currents *solver;
  rb_currents_result result;
  double first[TWIN_ITERATIONS], last, level_first; /* energies of the run; of the last level */
  int level, compared;                              /* the first level's first iterations */
  int with_pictures;
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
static const char *data_of(const rb_case *c) { return rb_case_axis(c, "data", "heads"); }
static int of_brains(const rb_case *c) { return rb_brain_data(data_of(c)); }
/* sigma/step/iterations a level, separated by +. RB_EINVAL. */
static rb_status level_triples(const char *text, double unit, state *s) {
  rb_status st = RB_OK;
  char *const to[3] = {s->sigmas, s->steps, s->iterations};
  size_t length[3] = {0};
  for (const char *at = text; *at;) {
    for (int k = 0; k < 3; k++) {
      char *end;
      const double v = strtod(at, &end);
      RB_CHECK(end != at && v > 0 && isfinite(v) && (k < 2 ? *end == '/' : *end == '+' || !*end), RB_EINVAL,
               "axis levels: '%s' is no sigma/step/iterations, separated by +", text);
      length[k] +=
          (size_t)snprintf(to[k] + length[k], TEXT - length[k], "%s%.9g", length[k] ? "," : "", k < 2 ? v / unit : v);
      RB_CHECK(length[k] < TEXT, RB_EINVAL, "axis levels: '%s' is too long", text);
      at = *end ? end + 1 : end;
    }
  }
done:
  return st;
}
static rb_status options_of(state *s, const rb_case *c) {
  rb_status st = RB_OK;
  /* mm; what the defaults' alpha is for, and the case's */
  const double of_defaults = 3, voxel = of_brains(c) ? 3 : rb_anatomy_phantom_voxel(c->grid);
  const char *triples = rb_case_axis(c, "levels", NULL);
  const char *terms = rb_case_axis(c, "terms", "both"), *mesh = rb_case_axis(c, "mesh", "voxel");
  s->options = rb_currents_defaults();
  s->options.alpha *= pow(of_defaults / voxel, 2);
  RB_TRY(levels(c, "sigmas", "12+6", voxel, s->sigmas));
  RB_TRY(levels(c, "steps", "1.5+0.75", voxel, s->steps));
  RB_TRY(levels(c, "iterations", "100+100", 1, s->iterations));
  if (triples) RB_TRY(level_triples(triples, voxel, s));
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
  for (int k = 0; k < 2 && of_brains(s->c); k++) rb_anatomy_free(&s->head[k]), free(s->classes[k]);
  free(s);
}

static rb_status setup(const rb_case *c, const rb_backend *b, int rotations, void **out) {
  rb_status st = RB_OK;
  state *s = calloc(1, sizeof *s);
  (void)rotations;
  RB_CHECK(s, RB_ENOMEM, "host memory");
  s->c = c, s->backend = b;
  RB_TRY(options_of(s, c));
  for (int k = 0; k < 2; k++) {
    RB_TRY(of_brains(c) ? rb_brain(data_of(c), k, &s->head[k], &s->classes[k])
                        : rb_borrow_phantom_head(c->grid, k, &s->head[k]));
    RB_CHECK(rb_grid_points(s->head[k].grid) == rb_grid_points(c->grid), RB_EINVAL, "brains have size 64x76x64");
    s->subject[k] = rb_anatomy_subject(&s->head[k]);
  }
  s->problem = (rb_problem){rb_anatomy_shape(&s->head[0], &s->head[1]), &s->subject[1], &s->subject[0]};
  RB_TRY(rb_currents_solver_create(c->variant, &s->options, &s->problem, &rb_interrupted, &s->solver));
  rb_currents_set_profile(s->solver, b->kind == RB_CPU); /* stamps cost nothing there, another solve much */
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
  return st == RB_OK ? rb_solve_check_uninterrupted(s->result.end) : st;
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

/* The template's classes as they are now, [count][n]: what the solver pulls back, or what its displacement carries.
 */
static rb_status moved_classes(state *s, int count, float *out) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(s->c->grid);
  float *u = NULL;
  if (!s->classes[0]) return rb_currents_warped(s->solver, out);
  u = malloc(3 * (size_t)n * sizeof *u);
  RB_CHECK(u, RB_ENOMEM, "host memory");
  RB_TRY(rb_currents_displacement(s->solver, u));
  for (int k = 0; k < count; k++) RB_TRY(rb_displaced_image(s->c->grid, u, s->classes[0] + k * n, out + k * n));
done:
  free(u);
  return st;
}

static rb_status measure_overlaps(state *s, rb_outcome *o) {
  rb_status st = RB_OK;
  const int brains = s->classes[0] != NULL, count = brains ? RB_BRAIN_CLASSES : 3;
  const int64_t n = rb_grid_points(s->c->grid);
  const float *before[2];
  float *moved = malloc((size_t)count * (size_t)n * sizeof *moved);
  RB_CHECK(moved, RB_ENOMEM, "host memory");
  for (int k = 0; k < 2; k++) before[k] = brains ? s->classes[k] : s->head[k].posteriors;
  RB_TRY(rb_currents_determinant(s->solver, moved));
  const rb_determinants det = rb_determinants_of(n, moved);
  RB_TRY(moved_classes(s, count, moved));
  rb_outcome_classes(o, s->c->grid, count, before, moved);
  rb_outcome_metric(o, "det_min", det.least, "1", "min over voxels of det(I + du/dx)");
  rb_outcome_metric(o, "det_max", det.most, "1", "max");
  rb_solve_verify_orientation(o, "-det (positive: orientation kept)", det.least);
done:
  free(moved);
  return st;
}

/* What the levels are called: their kernel widths in mm; a step of a micrometre is where all begin. */
static void name_of(const state *s, char out[TEXT]) {
  const char *text = rb_case_axis(s->c, "levels", "");
  double width, step, iterations;
  int length = 0, read;
  for (; sscanf(text, "%lf/%lf/%lf%n", &width, &step, &iterations, &read) == 3;
       text += text[read] ? read + 1 : read) {
    if (step <= 1e-3) break;
    length += snprintf(out + length, (size_t)(TEXT - length), "%s%.4g", length ? " + " : "", width);
    if (length >= TEXT - 8) break;
  }
  if (length >= TEXT - 8 || !length)
    snprintf(out, TEXT, "%s", length ? "after many widths" : *text ? "start" : "after");
  else
    snprintf(out + length, (size_t)(TEXT - length), " mm");
}

static rb_status picture_surfaces(state *s, rb_outcome *o) {
  rb_status st = RB_OK;
  const double voxel = of_brains(s->c) ? 3 : rb_anatomy_phantom_voxel(s->c->grid);
  double mean[2], *moved = malloc(3 * ((size_t)s->problem.shape.vertices + 1) * sizeof *moved);
  char name[TEXT];
  rb_pictures pictures = {0};
  RB_CHECK(moved, RB_ENOMEM, "host memory");
  RB_TRY(rb_currents_vertices(s->solver, moved));
  name_of(s, name);
  RB_TRY(rb_anatomy_surfaces(name, &s->head[0], moved, &s->head[1], voxel, mean, &pictures));
  rb_outcome_pictures(o, "slices", &pictures);
  rb_outcome_metric(o, "distance_gm", mean[0], "mm",
                    "mean distance of the vertices of grey matter to the reference's");
  rb_outcome_metric(o, "distance_cerebellum", mean[1], "mm", "the same of the cerebellum");
done:
  rb_pictures_free(&pictures);
  free(moved);
  return st;
}

static rb_status picture_slices(state *s, rb_outcome *o) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(s->c->grid);
  float *image[2] = {NULL}, *u = malloc(4 * (size_t)n * sizeof *u);
  rb_pictures pictures = {0};
  RB_CHECK(u, RB_ENOMEM, "host memory");
  RB_CHECK(s->classes[0], RB_EINVAL, "slices are of brains: phantom heads have no intensities");
  for (int k = 0; k < 2; k++) RB_TRY(rb_brain_intensities(data_of(s->c), k, s->classes[k], &image[k]));
  RB_TRY(rb_currents_displacement(s->solver, u));
  RB_TRY(rb_displaced_image(s->c->grid, u, image[0], u + 3 * n));
  RB_TRY(rb_anatomy_slices(s->c->method->label, s->c->grid, image[0], u + 3 * n, image[1], &pictures));
  rb_outcome_pictures(o, "slices", &pictures);
done:
  rb_pictures_free(&pictures);
  free(u), free(image[0]), free(image[1]);
  return st;
}

/* The parts of the timed solve, or on a GPU of another with stamps, whose energies are the same to the bit. */
static rb_status measure_parts(state *s, rb_outcome *o) {
  static const char *const times[RB_CURRENTS_PARTS] = {"time_pull_back", "time_force", "time_sums", "time_splat",
                                                       "time_velocity",  "time_step",  "time_move"};
  static const char *const shares[RB_CURRENTS_PARTS] = {"share_pull_back", "share_force", "share_sums", "share_splat",
                                                        "share_velocity",  "share_step",  "share_move"};
  rb_status st = RB_OK;
  const double last = s->last;
  rb_currents_result profiled = s->result;
  if (s->backend->kind != RB_CPU) {
    rb_currents_set_profile(s->solver, 1);
    RB_TRY(rb_currents_solve(s->solver, keep, s, &profiled));
    RB_TRY(rb_solve_check_uninterrupted(profiled.end));
    rb_outcome_verify(o, "difference of the timed and the profiled solve's last energy", fabs(s->last - last), 0,
                      "the same solve again");
  }
  for (int k = 0; k < RB_CURRENTS_PARTS; k++) {
    rb_outcome_metric(o, times[k], profiled.parts[k], "s", "sum over the solve of the time between two stamps");
    rb_outcome_metric(o, shares[k], 100 * profiled.parts[k] / profiled.seconds, "%", "of the profiled solve");
  }
  rb_outcome_metric(
      o, "share_critical",
      100 * (profiled.parts[RB_CURRENTS_VELOCITY] + profiled.parts[RB_CURRENTS_SUMS]) / profiled.seconds, "%",
      "velocity and sums of surfaces");
done:
  rb_currents_set_profile(s->solver, s->backend->kind == RB_CPU);
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
  for (int k = 0; k < s->compared; k++) off = rb_greater_error(off, rb_relative_error(s->first[k], e.energy[k]));
  rb_outcome_verify(o, "relative error of the first energies", off, FIRST_LIMIT,
                    "cpu float64, up to three iterations");
  rb_outcome_verify(o, "energy at the last level's end over that at its start", s->last / s->level_first, 1,
                    "descent");
  RB_TRY(measure_overlaps(s, o));
  rb_outcome_metric(o, "images", r->image_after, "1", "mismatch of the posteriors over that at the start");
  rb_outcome_metric(o, "surfaces", r->surface_after, "1", "sum of the squared distances over the reference's own");
  rb_outcome_metric(o, "drift", r->drift, "voxel", "mean |h(x_v) - x_v(0)| of the surfaces' vertices");
  rb_outcome_metric(o, "count", r->iterations, "1", "iterations");
  rb_outcome_metric(o, "time_iteration", (r->seconds + r->level_seconds) / r->iterations, "s",
                    "solve over iterations, time_levels among it");
  rb_outcome_metric(o, "time_iteration_alone", r->seconds / r->iterations, "s",
                    "solve over iterations, time_levels left out");
  rb_outcome_metric(o, "time_levels", r->level_seconds, "s", "of the solve: plans and sums made anew for each level");
  RB_TRY(measure_parts(s, o));
  rb_outcome_metric(o, "faces", (double)s->problem.shape.faces, "1", "of all surfaces, both heads");
  if (s->with_pictures)
    RB_TRY(strcmp(rb_case_axis(s->c, "show", "surfaces"), "slices") == 0 ? picture_slices(s, o)
                                                                         : picture_surfaces(s, o));
done:
  return st;
}

static const rb_workload_axis axes_of_pictures[] = {{"show", "surfaces slices"},
                                                    {"size", RB_VALUES_SIZE},
                                                    {"data", "heads brains brains-na??"},
                                                    {"levels", "*"},
                                                    {"terms", "both posteriors surfaces"},
                                                    {"mesh", "voxel 0.25 0.5 1"},
                                                    {"sigmas", "*"},
                                                    {"steps", "*"},
                                                    {"iterations", "*"},
                                                    {NULL, NULL}};
/* Without pictures nothing is shown: `show` is left out. */
const rb_workload rb_workload_anatomies = {
    "anatomies", &rb_currents_solver_family, predict, footprint, setup, run, poison, verify,
    teardown,    axes_of_pictures + 1,       NULL};
const rb_workload rb_workload_anatomies_pictures = {"anatomies-pictures",
                                                    &rb_currents_solver_family,
                                                    predict,
                                                    footprint,
                                                    setup_pictures,
                                                    run,
                                                    poison,
                                                    verify,
                                                    teardown,
                                                    axes_of_pictures,
                                                    NULL};
