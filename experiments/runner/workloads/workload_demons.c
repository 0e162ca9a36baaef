/* SPDX-License-Identifier: BSD-3-Clause */
/* demons: a whole log-demons registration (demons2020, Figure 9), from v = 0 on images that are already on the
 * backend; demons-pictures: the same, and slices of it.
 *
 * Axes: size, data, iterations (75), sigma_fluid (3), update (sum, bch, compose), images ("bytes": point sampling, 0
 * to 255 cut to whole numbers, as the authors' program was given them; "antialias": as brunn2020's), stop (0).
 * Verified: the energies of the first iterations and the energy of the last velocity are what float64 on the CPU
 * gives; energy fell; no voxel folds. */
#include "experiments/runner/base/interrupt.h"
#include "experiments/runner/workloads/demons_images.h"
#include "experiments/runner/workloads/measure.h"
#include "experiments/runner/workloads/panels.h"
#include "experiments/runner/workloads/solve_checks.h"
#include "experiments/runner/workloads/workload.h"
#include "solvers/demons/demons.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TWIN_ITERATIONS = 3, AGREEMENT_MOST = 1500000, SETUPS = 5 };

typedef struct {
  const rb_case *c;
  const rb_backend *backend;
  int64_t n;
  int pictures;
  rb_demons_options options;
  rb_pair pair;
  rb_demons *solver;
  double setup_first, setup_median;            /* of SETUPS, as long as they take less than a second together */
  rb_demons_result result, first, last, timed; /* first, last: float64 on the CPU */
  float *velocity;                             /* of the last verification */
  double mismatch, agreement;
  rb_determinants det;
  rb_overlap before, after;
  rb_pictures panels;
} state;

static rb_status options_of(const rb_case *c, rb_demons_options *o) {
  rb_status st = RB_OK;
  double iterations;
  *o = rb_demons_defaults();
  o->interrupted = &rb_interrupted;
  RB_TRY(rb_case_number(c, "stop", 0, &o->stop));
  RB_TRY(rb_case_number(c, "iterations", 75, &iterations));
  RB_TRY(rb_case_number(c, "sigma_fluid", 3, &o->sigma_fluid));
  RB_TRY(rb_demons_update_parse(rb_case_axis(c, "update", "sum"), &o->update));
  o->iterations = (int)iterations;
done:
  return st;
}

static void predict(const rb_case *c, int rotations, size_t *backend, size_t *host) {
  rb_demons_options o;
  const rb_variant *twin;
  size_t wide = 0;
  (void)rotations;
  *backend = 0;
  if (options_of(c, &o) == RB_OK && rb_demons_predict(c->variant, &o, c->grid, backend) == RB_OK &&
      rb_variant_find(&rb_demons_family, "cpu-f64", &twin) == RB_OK)
    rb_demons_predict(twin, &o, c->grid, &wide);
  rb_clear();
  *host = wide + 20 * (size_t)rb_grid_points(c->grid) * sizeof(float);
}
static size_t footprint(const rb_case *c) { return 18 * (size_t)rb_grid_points(c->grid) * sizeof(float); }

static void teardown(void *p) {
  state *s = p;
  if (!s) return;
  rb_demons_destroy(s->solver);
  rb_pair_free(&s->pair);
  rb_pictures_free(&s->panels);
  free(s->velocity);
  free(s);
}

/* The first set-up of a process also loads kernels and pins memory, once and for all. */
static rb_status create_repeatedly(state *s) {
  rb_status st = RB_OK;
  double seconds[SETUPS], sum = 0, low, high;
  int made = 0;
  while (made < SETUPS && (made == 0 || sum < 1)) {
    rb_demons_destroy(s->solver);
    s->solver = NULL;
    RB_TRY(rb_demons_create(s->c->variant, &s->options, s->c->grid, s->pair.image[RB_TEMPLATE],
                            s->pair.image[RB_REFERENCE], &s->solver));
    seconds[made] = rb_demons_setup_seconds(s->solver);
    sum += seconds[made++];
  }
  s->setup_first = seconds[0];
  rb_order_statistics(seconds, made, &s->setup_median, &low, &high);
done:
  return st;
}

static rb_status setup(const rb_case *c, const rb_backend *b, int rotations, void **out) {
  rb_status st = RB_OK;
  state *s = calloc(1, sizeof *s);
  (void)rotations;
  RB_CHECK(s, RB_ENOMEM, "host memory");
  s->c = c, s->backend = b, s->n = rb_grid_points(c->grid), s->agreement = NAN;
  RB_TRY(options_of(c, &s->options));
  RB_TRY(rb_demons_case_pair(c, &s->pair));
  RB_TRY(create_repeatedly(s));
  rb_demons_set_profile(s->solver, b->kind == RB_CPU); /* stamps cost nothing there, another solve much */
  *out = s;
  s = NULL;
done:
  teardown(s);
  return st;
}
static rb_status setup_pictures(const rb_case *c, const rb_backend *b, int rotations, void **out) {
  rb_status st = setup(c, b, rotations, out);
  if (st == RB_OK) ((state *)*out)->pictures = 1;
  return st;
}

static rb_status run(void *p, int turn) {
  state *s = p;
  (void)turn;
  rb_status st = rb_demons_solve(s->solver, NULL, NULL, &s->result);
  return st == RB_OK ? rb_solve_check_uninterrupted(s->result.end) : st;
}
static rb_status poison(void *p, int turn) {
  state *s = p;
  (void)turn;
  memset(&s->result, 0xFF, sizeof s->result);
  return RB_OK;
}

/* ---- what is verified ---------------------------------------------------------------------------------- */

/* Energies by float64 on the CPU: `iterations` from v = 0, or at `velocity`. */
static rb_status twin(state *s, const float *velocity, int iterations, rb_demons_result *out) {
  rb_status st = RB_OK;
  rb_demons_options o = s->options;
  const rb_variant *v;
  rb_demons *d = NULL;
  o.iterations = iterations < s->options.iterations ? iterations : s->options.iterations, o.stop = 0;
  RB_TRY(rb_variant_find(&rb_demons_family, "cpu-f64", &v));
  RB_TRY(rb_demons_create(v, &o, s->c->grid, s->pair.image[RB_TEMPLATE], s->pair.image[RB_REFERENCE], &d));
  RB_TRY(rb_demons_start(d, velocity));
  RB_TRY(rb_demons_solve(d, NULL, NULL, out));
  RB_TRY(rb_solve_check_uninterrupted(out->end));
done:
  rb_demons_destroy(d);
  return st;
}

/* Mean squared difference of the image warped by this variant and by the CPU's float32, both after all iterations. */
static rb_status compare_with_cpu(state *s, const float *warped) {
  rb_status st = RB_OK;
  const rb_variant *v;
  rb_demons *d = NULL;
  rb_demons_result *r = calloc(1, sizeof *r);
  float *other = malloc((size_t)s->n * sizeof *other);
  double sum = 0;
  RB_CHECK(r && other, RB_ENOMEM, "host memory");
  RB_TRY(rb_variant_find(&rb_demons_family, "cpu", &v));
  RB_TRY(rb_demons_create(v, &s->options, s->c->grid, s->pair.image[RB_TEMPLATE], s->pair.image[RB_REFERENCE], &d));
  RB_TRY(rb_demons_solve(d, NULL, NULL, r));
  RB_TRY(rb_solve_check_uninterrupted(r->end));
  RB_TRY(rb_demons_warp(d, s->pair.image[RB_TEMPLATE], other));
  for (int64_t i = 0; i < s->n; i++) sum += pow((double)(warped[i] - other[i]), 2);
  s->agreement = sum / (double)s->n;
done:
  rb_demons_destroy(d);
  free(other), free(r);
  return st;
}

static rb_status make_panels(state *s, const float *warped, const float *det, const float *labels) {
  rb_status st = RB_OK;
  const size_t n = (size_t)s->n;
  float most = 0, *room = malloc(3 * n * sizeof *room);
  RB_CHECK(room, RB_ENOMEM, "host memory");
  for (size_t i = 0; i < n; i++) most = fmaxf(most, fmaxf(s->pair.image[0][i], s->pair.image[1][i]));
  most = fmaxf(most, 1e-30f);
  for (size_t i = 0; i < n; i++)
    room[i] = s->pair.image[RB_TEMPLATE][i] / most, room[n + i] = s->pair.image[RB_REFERENCE][i] / most,
    room[2 * n + i] = warped[i] / most;
  const rb_panel_fields f = {room, room + n, room + 2 * n, det, NULL};
  RB_TRY(rb_panels_of(&s->pair, &f, labels, &s->panels));
done:
  free(room);
  return st;
}

static void measure_images(state *s, const float *warped, const float *det) {
  double off = 0, was = 0;
  const float *m = s->pair.image[RB_TEMPLATE], *f = s->pair.image[RB_REFERENCE];
  for (int64_t i = 0; i < s->n; i++) off += pow((double)(warped[i] - f[i]), 2), was += pow((double)(m[i] - f[i]), 2);
  s->mismatch = off / was, s->det = rb_determinants_of(s->n, det);
}

/* All that depends on the velocity alone: worked out again only when it is not bit for bit the last one. */
static rb_status examine(state *s) {
  rb_status st = RB_OK;
  const size_t n = (size_t)s->n;
  float *v = malloc(3 * n * sizeof *v), *warped = malloc(n * sizeof *warped), *det = malloc(n * sizeof *det),
        *labels = NULL;
  RB_CHECK(v && warped && det, RB_ENOMEM, "host memory");
  RB_TRY(rb_demons_velocity(s->solver, v));
  if (!rb_solve_keep_if_new(&s->velocity, &v, 3 * n * sizeof *v)) goto done;
  RB_TRY(rb_demons_warp(s->solver, s->pair.image[RB_TEMPLATE], warped));
  RB_TRY(rb_demons_determinant(s->solver, det));
  measure_images(s, warped, det);
  if (s->pair.labels[0] && s->pair.labels[1]) {
    labels = malloc(n * sizeof *labels);
    RB_CHECK(labels, RB_ENOMEM, "host memory");
    RB_TRY(rb_demons_labels(s->solver, s->pair.labels[RB_TEMPLATE], labels));
    s->before = rb_overlap_of(s->n, s->pair.labels[RB_TEMPLATE], s->pair.labels[RB_REFERENCE]);
    s->after = rb_overlap_of(s->n, labels, s->pair.labels[RB_REFERENCE]);
  }
  RB_TRY(twin(s, NULL, TWIN_ITERATIONS, &s->first));
  RB_TRY(twin(s, s->velocity, 1, &s->last));
  if (s->backend->kind == RB_CUDA && s->n <= AGREEMENT_MOST) RB_TRY(compare_with_cpu(s, warped));
  if (s->pictures) RB_TRY(make_panels(s, warped, det, labels));
  if (s->backend->kind == RB_CPU) {
    s->timed = s->result;
    goto done;
  }
  rb_demons_set_profile(s->solver, 1);
  RB_TRY(rb_demons_solve(s->solver, NULL, NULL, &s->timed));
  RB_TRY(rb_solve_check_uninterrupted(s->timed.end));
  rb_demons_set_profile(s->solver, 0);
done:
  free(labels), free(det), free(warped), free(v);
  return st;
}

static void add_parts(const state *s, rb_outcome *o) {
  static const char *const names[RB_DEMONS_PARTS] = {
      "time_force", "time_fluid", "time_update", "time_diffusion", "time_exponential", "time_warp", "time_energy"};
  double sum = 0;
  for (int p = 0; p < RB_DEMONS_PARTS; p++) {
    rb_outcome_metric(o, names[p], s->timed.parts[p], "s", "sum over the iterations of the time between two stamps");
    sum += s->timed.parts[p];
  }
  rb_outcome_metric(o, "time_other", fmax(0, s->timed.seconds - sum), "s", "profiled solve - sum of the parts");
}

static json_t *energies(const rb_demons_result *r) {
  json_t *a = json_array();
  for (int i = 0; i < r->iterations && i < RB_DEMONS_ROWS; i++) json_array_append_new(a, json_real(r->energy[i]));
  return a;
}

/* Sums of squares over all voxels. The force is d g / (|g|^2 + d^2): where both are nothing but rounding (flat parts
 * of smooth images) it is as long as elsewhere, and float32 differs from float64 there: 2e-4 of the energy on the
 * anti-aliased phantom. Else the worst of 56 recorded runs on brains and of 168 on phantoms of 8^3 to 64^3 are 3.8e-6
 * and 1.6e-6 of the first and last energies and 2e-13 of the CPU's image in float32; 9.5e-4, 1.7e-5 and 2.3e-6 with
 * weights of 8 bits. The last energy is compared at a velocity that has lost what it held in the padding. */
static const double FIRST_LIMIT = 1e-5, FIRST_LIMIT_SMOOTH_IMAGES = 1e-3, FIRST_LIMIT_TEXTURE = 5e-3,
                    LAST_LIMIT = 1e-5, LAST_LIMIT_TEXTURE = 2e-4, AGREEMENT_LIMIT = 1e-10,
                    AGREEMENT_LIMIT_TEXTURE = 1e-4, RISE_LIMIT = 0.01;

static void verify_values(const state *s, rb_outcome *o) {
  const int texture = rb_demons_weight_bits(s->c->variant) != 0,
            whole_numbers = strcmp(rb_case_axis(s->c, "images", "bytes"), "bytes") == 0;
  const int checked = TWIN_ITERATIONS < s->options.iterations ? TWIN_ITERATIONS : s->options.iterations;
  const rb_demons_result *r = &s->result;
  double off = rb_greater_error(0, rb_relative_error(r->before, s->first.before)), rose = 0;
  for (int i = 0; i < checked; i++) off = rb_greater_error(off, rb_relative_error(r->energy[i], s->first.energy[i]));
  for (int i = 0; i < r->iterations; i++)
    rose = rb_greater_error(rose, r->energy[i] / (i ? r->energy[i - 1] : r->before) - 1);
  rb_outcome_verify(o, "float64 iterations that were not made", checked - s->first.iterations, 0, "cpu float64");
  rb_outcome_verify(o, "relative error of the first energies", off,
                    texture         ? FIRST_LIMIT_TEXTURE
                    : whole_numbers ? FIRST_LIMIT
                                    : FIRST_LIMIT_SMOOTH_IMAGES,
                    "cpu float64, three iterations");
  rb_outcome_verify(o, "relative error of the last energy", rb_relative_error(r->after, s->last.before),
                    texture ? LAST_LIMIT_TEXTURE : LAST_LIMIT,
                    "cpu float64 at the same velocity, without what it holds in the padding");
  if (s->agreement == s->agreement)
    rb_outcome_verify(o, "mean squared difference to the CPU's result over that before", s->agreement / r->before,
                      texture ? AGREEMENT_LIMIT_TEXTURE : AGREEMENT_LIMIT, "cpu float32, all iterations");
  rb_outcome_verify(o, "greatest relative rise of the energy in an iteration", rose, RISE_LIMIT, "descent");
  rb_solve_verify_orientation(o, "-det (positive: orientation kept)", s->det.least);
}

static rb_status verify(void *p, int turn, rb_outcome *o) {
  rb_status st = RB_OK;
  state *s = p;
  (void)turn;
  const rb_demons_result timed = s->result;
  rb_outcome_data(o, s->pair.file[RB_TEMPLATE], s->pair.sha256[RB_TEMPLATE]);
  if (timed.iterations < 1 || timed.iterations > RB_DEMONS_ROWS) { /* nothing ran */
    rb_outcome_verify(o, "iterations", NAN, 0, "a solve");
    return RB_OK;
  }
  RB_TRY(examine(s));
  o->details =
      json_pack("{s:s,s:s,s:s,s:o}", "reference", s->pair.file[RB_REFERENCE], "reference_sha256",
                s->pair.sha256[RB_REFERENCE], "end", rb_solver_end_name(timed.end), "energies", energies(&timed));
  if (s->panels.count) rb_outcome_pictures(o, "panels", &s->panels);
  verify_values(s, o);
  rb_outcome_metric(o, "before", timed.before, "1", "sum over the padded grid of (F - M)^2 / voxels of the images");
  rb_outcome_metric(o, "after", timed.after, "1", "the same of the warped image");
  rb_outcome_metric(o, "mismatch", s->mismatch, "1", "|M o s - F|^2 / |M - F|^2 on the images' own grid");
  if (s->agreement == s->agreement)
    rb_outcome_metric(o, "agreement", s->agreement, "1",
                      "mean squared difference of the images warped by this variant and by float32 on the CPU");
  rb_outcome_metric(o, "iterations", timed.iterations, "1", "iterations done");
  rb_outcome_metric(o, "time_setup", s->setup_median, "s",
                    "buffers, textures and images on the backend, median of up to 5; outside time");
  rb_outcome_metric(o, "time_setup_first", s->setup_first, "s", "the first of them");
  rb_outcome_metric(o, "voxels", 1e-6 * (double)s->n, "M", "of the images, without padding");
  rb_outcome_metric(o, "longest", timed.longest, "voxel", "greatest displacement");
  rb_outcome_metric(o, "det_min", s->det.least, "1", "min over voxels of det(I + ds/dx)");
  rb_outcome_metric(o, "det_mean", s->det.mean, "1", "mean");
  rb_outcome_metric(o, "det_max", s->det.most, "1", "max");
  if (s->pair.labels[0] && s->pair.labels[1])
    rb_solve_add_dice(o, &s->before, &s->after, "the same, each voxel with the label nearest to where it comes from");
  add_parts(s, o);
done:
  return st;
}

static const rb_workload_axis axes[] = {{"size", RB_VALUES_SIZE},          {"data", RB_VALUES_PAIRS},
                                        {"images", "bytes antialias"},     {"update", "sum bch compose"},
                                        {"sigma_fluid", RB_VALUES_NUMBER}, {"iterations", RB_VALUES_COUNT},
                                        {"stop", RB_VALUES_NUMBER},        {NULL, NULL}};
const rb_workload rb_workload_demons = {"demons", &rb_demons_family, predict, footprint, setup, run, poison,
                                        verify,   teardown,          axes,    NULL};
const rb_workload rb_workload_demons_pictures = {"demons-pictures",
                                                 &rb_demons_family,
                                                 predict,
                                                 footprint,
                                                 setup_pictures,
                                                 run,
                                                 poison,
                                                 verify,
                                                 teardown,
                                                 axes,
                                                 NULL};
