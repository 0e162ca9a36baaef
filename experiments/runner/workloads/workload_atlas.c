/* SPDX-License-Identifier: BSD-3-Clause */
/* atlas: a mean of `images` images; atlas-pair: one image onto another, atlas-pair-pictures with slices. Whole solves
 * from u = 0, images on the host before (they are brought to the backend by the solve, outside its time), intensities
 * of the cohort in [0, 1].
 *
 * Verified: the variances of a solve of a few iterations a level by the same algorithm in float64 on the CPU; a
 * second solve ends where the timed one did, to the bit; the variance fell. det > 0 is reported, not demanded
 * (ha2009's own examples fold). */
#include "cpu_ref/helmholtz/helmholtz_oracle.h"
#include "experiments/runner/base/interrupt.h"
#include "experiments/runner/inputs/cohort.h"
#include "experiments/runner/inputs/letter.h"
#include "experiments/runner/inputs/pairs.h"
#include "experiments/runner/workloads/atlas_twin.h"
#include "experiments/runner/workloads/panels.h"
#include "experiments/runner/workloads/solve_checks.h"
#include "experiments/runner/workloads/workload.h"
#include "solvers/atlas/atlas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const rb_case *c;
  int pair;
  rb_atlas_options options;
  rb_pair two;
  rb_cohort cohort;
  const float **images;
  const float *reference;
  int count;
  rb_atlas *atlas;
  rb_atlas_result result;
  rb_atlas_variances twin;
  int has_twin;
  double off; /* of a short solve, from the twin's */
  rb_atlas_result profiled;
  double det_min, det_max;
  double residual; /* of the first image's velocity */
  int pictures;
  rb_pictures panels;
} state;

static rb_status options_of(const rb_case *c, rb_atlas_options *o, int *images) {
  static const struct {
    const char *axis;
    size_t at;
  } reals[] = {{"step", offsetof(rb_atlas_options, step)}, {"gamma", offsetof(rb_atlas_options, gamma)}},
    wholes[] = {{"iterations", offsetof(rb_atlas_options, iterations)},
                {"coarse_iterations", offsetof(rb_atlas_options, coarse_iterations)},
                {"levels", offsetof(rb_atlas_options, levels)},
                {"sweeps", offsetof(rb_atlas_options, sweeps)},
                {"clip", offsetof(rb_atlas_options, clip)},
                {"stream", offsetof(rb_atlas_options, stream)},
                {"concurrent", offsetof(rb_atlas_options, concurrent)}};
  rb_status st = RB_OK;
  double number;
  *o = rb_atlas_defaults();
  o->interrupted = &rb_interrupted, o->scale = RB_SCALE_COHORT;
  for (size_t k = 0; k < sizeof reals / sizeof *reals; k++) {
    double *to = (double *)((char *)o + reals[k].at);
    RB_TRY(rb_case_number(c, reals[k].axis, *to, to));
  }
  for (size_t k = 0; k < sizeof wholes / sizeof *wholes; k++) {
    int *to = (int *)((char *)o + wholes[k].at);
    RB_TRY(rb_case_number(c, wholes[k].axis, *to, &number));
    *to = (int)number;
  }
  number = 1;
  if (rb_workload_reads(c->method->kind, "images")) RB_TRY(rb_case_number(c, "images", 1, &number));
  *images = (int)number;
done:
  return st;
}

static void predict(const rb_case *c, int rotations, size_t *backend, size_t *host) {
  rb_atlas_options o;
  int images = 1;
  const size_t n = (size_t)rb_grid_points(c->grid);
  (void)rotations;
  *backend = *host = 0;
  if (options_of(c, &o, &images) != RB_OK ||
      rb_atlas_predict(c->variant, &o, c->grid, images, backend, host) != RB_OK)
    rb_clear();
  const size_t twin = rb_atlas_twin_bytes(c->grid, images);
  *host += n * sizeof(float) * ((size_t)images + 4) + (c->variant->backend == RB_CPU ? 0 : twin);
  if (c->variant->backend == RB_CPU) *backend += twin;
}
static size_t footprint(const rb_case *c) { return 20 * (size_t)rb_grid_points(c->grid) * sizeof(float); }

static void teardown(void *p) {
  state *s = p;
  if (!s) return;
  rb_atlas_destroy(s->atlas);
  rb_pictures_free(&s->panels);
  rb_cohort_free(&s->cohort);
  rb_pair_free(&s->two);
  free(s->images);
  free(s);
}

static rb_status read_images(state *s) {
  rb_status st = RB_OK;
  const rb_case *c = s->c;
  s->images = calloc((size_t)s->count, sizeof *s->images);
  RB_CHECK(s->images, RB_ENOMEM, "host memory");
  if (s->pair) {
    const char *data = rb_case_axis(c, "data", "phantom");
    RB_TRY(strcmp(data, "letter") == 0 ? rb_letter_pair(c->grid, &s->two)
                                       : rb_pair_load(data, RB_ANTIALIAS, c->grid, &s->two));
    s->images[0] = s->two.image[RB_TEMPLATE], s->reference = s->two.image[RB_REFERENCE];
  } else {
    RB_TRY(rb_cohort_known(rb_case_axis(c, "data", "phantom"), s->count, RB_ANTIALIAS, c->grid, &s->cohort));
    for (int k = 0; k < s->count; k++) s->images[k] = s->cohort.image[k];
  }
done:
  return st;
}

static rb_status setup_kind(const rb_case *c, int pair, void **out) {
  rb_status st = RB_OK;
  state *s = calloc(1, sizeof *s);
  RB_CHECK(s, RB_ENOMEM, "host memory");
  s->c = c, s->pair = pair;
  RB_TRY(options_of(c, &s->options, &s->count));
  RB_TRY(read_images(s));
  RB_TRY(rb_atlas_create(c->variant, &s->options, c->grid, s->count, s->images, s->reference, rb_team_self(),
                         &s->atlas));
  *out = s;
  s = NULL;
done:
  teardown(s);
  return st;
}
static rb_status setup(const rb_case *c, const rb_backend *b, int rotations, void **out) {
  return (void)b, (void)rotations, setup_kind(c, 0, out);
}
static rb_status setup_pair(const rb_case *c, const rb_backend *b, int rotations, void **out) {
  return (void)b, (void)rotations, setup_kind(c, 1, out);
}

static rb_status setup_pictures(const rb_case *c, const rb_backend *b, int rotations, void **out) {
  rb_status st = setup_pair(c, b, rotations, out);
  if (st == RB_OK) ((state *)*out)->pictures = 1;
  return st;
}

static rb_status run(void *p, int turn) {
  rb_status st = RB_OK;
  state *s = p;
  (void)turn;
  RB_TRY(rb_atlas_solve(s->atlas, NULL, NULL, &s->result));
  RB_TRY(rb_solve_check_uninterrupted(s->result.end));
done:
  return st;
}
static rb_status poison(void *p, int turn) {
  state *s = p;
  (void)turn;
  memset(&s->result, 0xFF, sizeof s->result);
  return RB_OK;
}

/* ---- what is verified ------------------------------------------------------------------------------------- */

/* Extremes of all images' determinants. */
static rb_status measure_determinants(state *s) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(s->c->grid);
  float *det = malloc((size_t)n * sizeof *det);
  RB_CHECK(det, RB_ENOMEM, "host memory");
  s->det_min = INFINITY, s->det_max = -INFINITY;
  for (int k = 0; k < s->count; k++) {
    RB_TRY(rb_atlas_determinant(s->atlas, k, det));
    const rb_determinants one = rb_determinants_of(n, det);
    s->det_min = -rb_greater_error(-s->det_min, -one.least); /* a NaN stays */
    s->det_max = rb_greater_error(s->det_max, one.most);
  }
done:
  free(det);
  return st;
}

/* |f - L v| / |f| of the first image's velocity in one more iteration, in float64 on the host: how far sweeps have
 * solved what transforms solve. */
static rb_status measure_residual(state *s) {
  rb_status st = RB_OK;
  const rb_helmholtz_plan *plan;
  rb_array f, v;
  float *room = NULL; /* f, v */
  if (s->options.stream) return RB_OK;
  RB_TRY(rb_atlas_next_velocity(s->atlas, 0, &plan, &f, &v));
  rb_helmholtz_desc d = plan->desc;
  const int64_t values = 3 * rb_grid_points(d.grid);
  room = malloc(2 * (size_t)values * sizeof *room);
  RB_CHECK(room, RB_ENOMEM, "host memory");
  RB_TRY(rb_array_get_floats(f, room));
  RB_TRY(rb_array_get_floats(v, room + values));
  d.dtype = RB_F32;
  const rb_helmholtz_ops *ops = plan->variant->ops;
  s->residual = rb_helmholtz_residual(&d, room, room + values, ops->boundary == RB_HELMHOLTZ_PERIODIC);
done:
  free(room);
  return st;
}

/* The determinants of the timed solve, a short one to compare with its twin, and one more whole one with stamps. */
static rb_status examine(state *s) {
  rb_status st = RB_OK;
  rb_atlas_variances own;
  RB_TRY(measure_determinants(s));
  if (!s->has_twin)
    RB_TRY(
        rb_atlas_twin_variances(s->c->variant, &s->options, s->c->grid, s->count, s->images, s->reference, &s->twin));
  s->has_twin = 1;
  RB_TRY(rb_atlas_short_solve(s->atlas, &s->options, &own));
  s->off = rb_atlas_variance_difference(&own, &s->twin);
  rb_atlas_set_profile(s->atlas, 1);
  RB_TRY(rb_atlas_solve(s->atlas, NULL, NULL, &s->profiled));
  RB_TRY(rb_solve_check_uninterrupted(s->profiled.end));
  RB_TRY(measure_residual(s));
done:
  rb_atlas_set_profile(s->atlas, 0);
  return st;
}

/* Of a pair, whose images are brought to [0, 1] as the solver has them: overlap of what is brighter than half, and
 * slices. */
static rb_status compare_pair(state *s, rb_outcome *o) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(s->c->grid);
  float low = s->two.image[0][0], high = low, *room = malloc(4 * (size_t)n * sizeof *room);
  double both[2] = {0}, sum[2] = {0};
  RB_CHECK(room, RB_ENOMEM, "host memory");
  for (int64_t i = 0; i < n; i++)
    for (int k = 0; k < 2; k++) low = fminf(low, s->two.image[k][i]), high = fmaxf(high, s->two.image[k][i]);
  for (int64_t i = 0; i < n; i++)
    for (int k = 0; k < 2; k++) room[k * n + i] = (s->two.image[k][i] - low) / (high - low);
  RB_TRY(rb_atlas_warped(s->atlas, 0, room + 2 * n));
  for (int64_t i = 0; i < n; i++)
    for (int k = 0; k < 2; k++) { /* the template, then the warped image, with the reference */
      const int in = room[2 * k * n + i] > 0.5f, there = room[n + i] > 0.5f;
      both[k] += 2 * (in && there), sum[k] += in + there;
    }
  rb_outcome_metric(o, "dice_half_before", both[0] / sum[0], "1", "2 |A n B| / (|A| + |B|) of values above 1/2");
  rb_outcome_metric(o, "dice_half", both[1] / sum[1], "1", "the same of the warped image");
  if (!s->pictures) goto done;
  RB_TRY(rb_atlas_determinant(s->atlas, 0, room + 3 * n));
  const rb_panel_fields f = {room, room + n, room + 2 * n, room + 3 * n, NULL};
  RB_TRY(rb_panels_of(&s->two, &f, NULL, &s->panels));
  rb_outcome_pictures(o, "panels", &s->panels);
done:
  free(room);
  return st;
}

static void add_parts(const state *s, rb_outcome *o) {
  static const char *const times[RB_ATLAS_PARTS] = {"time_average", "time_force", "time_solve", "time_update",
                                                    "time_energy"};
  static const char *const shares[RB_ATLAS_PARTS] = {"share_average", "share_force", "share_solve", "share_update",
                                                     "share_energy"};
  for (int p = 0; p < RB_ATLAS_PARTS; p++) {
    rb_outcome_metric(o, times[p], s->profiled.parts[p], "s", "sum over the solve of the time between two stamps");
    rb_outcome_metric(o, shares[p], 100 * s->profiled.parts[p] / s->profiled.seconds, "%", "of the profiled solve");
  }
}

static rb_status verify(void *p, int turn, rb_outcome *o) {
  rb_status st = RB_OK;
  state *s = p;
  const rb_atlas_result timed = s->result;
  (void)turn;
  if (s->pair)
    rb_outcome_data(o, s->two.file[RB_TEMPLATE], s->two.sha256[RB_TEMPLATE]);
  else
    rb_outcome_data(o, s->cohort.name[0], s->cohort.sha256[0]);
  if (timed.iterations < 1) { /* nothing ran */
    rb_outcome_verify(o, "iterations", NAN, 0, "a solve");
    return RB_OK;
  }
  RB_TRY(examine(s));
  rb_outcome_verify(o, "relative error of a short solve's variances", s->off, RB_VARIANCE_LIMIT,
                    "cpu float64, three iterations a level");
  rb_outcome_verify(o, "difference of the timed and the profiled solve's variance",
                    fabs(timed.variance_after - s->profiled.variance_after), 0, "the same solve again");
  rb_outcome_verify(o, "rise of the variance", fmax(timed.variance_after / timed.variance_before - 1, 0), 0,
                    "descent");
  rb_outcome_metric(o, "variance_before", timed.variance_before, "1", "mean over images and voxels of (mean - D)^2");
  rb_outcome_metric(o, "variance_after", timed.variance_after, "1", "the same at the end");
  rb_outcome_metric(o, "percent_box", 100 * s->result.box, "%", "voxels of the box that is worked on, of all");
  rb_outcome_metric(o, "variance_ratio", timed.variance_after / timed.variance_before, "1", "after over before");
  rb_outcome_metric(o, "halvings", timed.halvings, "1", "of steps, all images");
  rb_outcome_metric(o, "iterations", timed.iterations, "1", "over all levels");
  rb_outcome_metric(o, "time_solver", timed.seconds, "s", "iterations of all levels; what lies between is left out");
  rb_outcome_metric(o, "voxels", 1e-6 * (double)rb_grid_points(s->c->grid), "M", "of an image");
  rb_outcome_metric(o, "det_min", s->det_min, "1", "min over images and voxels of det(I + du/dx)");
  rb_outcome_metric(o, "det_max", s->det_max, "1", "max");
  if (!s->options.stream)
    rb_outcome_metric(o, "residual", s->residual, "1", "|f - L v| / |f| of one more iteration's velocity, float64");
  add_parts(s, o);
  if (s->pair) RB_TRY(compare_pair(s, o));
done:
  return st;
}

#define COMMON_AXES                                                                                          \
  {"clip", RB_VALUES_NUMBER}, {"stream", "0 1"}, {"concurrent", RB_VALUES_NUMBER}, {"size", RB_VALUES_SIZE}, \
      {"step", RB_VALUES_NUMBER}, {"gamma", RB_VALUES_NUMBER}, {"iterations", RB_VALUES_COUNT},              \
      {"coarse_iterations", RB_VALUES_COUNT}, {"levels", RB_VALUES_COUNT}, {                                 \
    "sweeps", RB_VALUES_COUNT                                                                                \
  }
static const rb_workload_axis axes[] = {
    COMMON_AXES, {"images", RB_VALUES_COUNT}, {"data", "phantom nirep"}, {NULL, NULL}};
static const rb_workload_axis pair_axes[] = {COMMON_AXES, {"data", RB_VALUES_PAIRS " letter"}, {NULL, NULL}};
const rb_workload rb_workload_atlas = {"atlas", &rb_atlas_family, predict,  footprint, setup, run,
                                       poison,  verify,           teardown, axes,      NULL};
const rb_workload rb_workload_atlas_pair = {"atlas-pair", &rb_atlas_family, predict,  footprint, setup_pair, run,
                                            poison,       verify,           teardown, pair_axes, NULL};
const rb_workload rb_workload_atlas_pair_pictures = {"atlas-pair-pictures",
                                                     &rb_atlas_family,
                                                     predict,
                                                     footprint,
                                                     setup_pictures,
                                                     run,
                                                     poison,
                                                     verify,
                                                     teardown,
                                                     pair_axes,
                                                     NULL};
