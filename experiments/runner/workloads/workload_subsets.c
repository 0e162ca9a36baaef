/* SPDX-License-Identifier: BSD-3-Clause */
/* subset-means, subset-atlases: how sharp a mean of `images` brains is, over random subsets of a cohort of `cohort`
 * (ha2009, Figure 7): arithmetic means, and atlases; of a single subset slices of both, too (Figure 6). A run makes
 * the means of all subsets. Intensities of the whole cohort are brought to [0, 1] first.
 *
 * Verified: arithmetic means, and each atlas's from its warped images, by a float64 sum at every voxel; the first
 * subset's short solve by the same algorithm in float64; every variance fell. */
#include "experiments/runner/base/interrupt.h"
#include "experiments/runner/inputs/cohort.h"
#include "experiments/runner/workloads/atlas_twin.h"
#include "experiments/runner/workloads/image_statistics.h"
#include "experiments/runner/workloads/panels.h"
#include "experiments/runner/workloads/solve_checks.h"
#include "experiments/runner/workloads/workload.h"
#include "kernels/base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COHORT_MOST = 16 };

typedef struct {
  const rb_case *c;
  const rb_backend *backend;
  int atlases; /* else arithmetic means */
  rb_atlas_options options;
  rb_cohort cohort;
  int images, subsets;
  unsigned *subset;   /* [subsets]: bit k for image k */
  float *mean;        /* [subsets][n] */
  rb_pictures panels; /* of a single subset */
  double *ratio;      /* [subsets]: variance after over before */
  double *off;        /* [subsets]: of the mean from the float64 sum */
  double seconds;     /* of the iterations of all atlases */
  rb_atlas_variances own, twin;
  rb_average_plan *average;
  rb_array in, out; /* on the backend, of arithmetic means: [cohort][n], [n] */
} state;

typedef struct {
  int images, cohort, subsets;
} numbers;

static rb_status numbers_of(const rb_case *c, numbers *out) {
  rb_status st = RB_OK;
  double images, cohort, subsets;
  RB_TRY(rb_case_number(c, "images", 2, &images));
  RB_TRY(rb_case_number(c, "cohort", 8, &cohort));
  RB_TRY(rb_case_number(c, "subsets", 2, &subsets));
  *out = (numbers){(int)images, (int)cohort, (int)subsets};
  RB_CHECK(out->cohort <= COHORT_MOST && out->images <= out->cohort, RB_EINVAL,
           "%d images of a cohort of %d: at most all of at most %d", out->images, out->cohort, (int)COHORT_MOST);
done:
  return st;
}

static rb_status options_of(const rb_case *c, rb_atlas_options *o) {
  rb_status st = RB_OK;
  double levels, iterations, coarse;
  *o = rb_atlas_defaults();
  o->interrupted = &rb_interrupted, o->scale = RB_SCALE_NONE;
  RB_TRY(rb_case_number(c, "step", o->step, &o->step));
  RB_TRY(rb_case_number(c, "levels", o->levels, &levels));
  RB_TRY(rb_case_number(c, "iterations", o->iterations, &iterations));
  RB_TRY(rb_case_number(c, "coarse_iterations", o->coarse_iterations, &coarse));
  o->levels = (int)levels, o->iterations = (int)iterations, o->coarse_iterations = (int)coarse;
done:
  return st;
}

static void predict_kind(const rb_case *c, int atlases, size_t *backend, size_t *host) {
  rb_atlas_options o;
  numbers k = {2, 8, 2};
  const size_t volume = (size_t)rb_grid_points(c->grid) * sizeof(float);
  *backend = *host = 0;
  if (numbers_of(c, &k) != RB_OK) rb_clear();
  if (!atlases)
    *backend = ((size_t)k.cohort + 2) * volume;
  else if (options_of(c, &o) != RB_OK || rb_atlas_predict(c->variant, &o, c->grid, k.images, backend, host) != RB_OK)
    rb_clear();
  *host += ((size_t)k.cohort + (size_t)k.subsets + 4) * volume;
  *(c->variant->backend == RB_CPU ? backend : host) += atlases ? rb_atlas_twin_bytes(c->grid, k.images) : 0;
}
static void predict_means(const rb_case *c, int rotations, size_t *backend, size_t *host) {
  (void)rotations, predict_kind(c, 0, backend, host);
}
static void predict_atlases(const rb_case *c, int rotations, size_t *backend, size_t *host) {
  (void)rotations, predict_kind(c, 1, backend, host);
}
static size_t footprint(const rb_case *c) { return 20 * (size_t)rb_grid_points(c->grid) * sizeof(float); }

static void teardown(void *p) {
  state *s = p;
  if (!s) return;
  rb_average_destroy(s->average);
  rb_array_destroy(&s->in), rb_array_destroy(&s->out);
  rb_cohort_free(&s->cohort);
  rb_pictures_free(&s->panels);
  free(s->subset), free(s->mean), free(s->ratio), free(s->off);
  free(s);
}

/* ---- subsets ---------------------------------------------------------------------------------------------- */

static int size_of(unsigned subset) {
  int n = 0;
  for (; subset; subset &= subset - 1) n++;
  return n;
}

/* Different ones: all, where no more were asked for than there are, else random ones. */
static void draw_subsets(state *s, int cohort, int asked) {
  const unsigned all = 1u << cohort;
  int there = 0, drawn = 0;
  for (unsigned one = 0; one < all; one++) there += size_of(one) == s->images;
  for (unsigned one = 0; one < all && there <= asked; one++)
    if (size_of(one) == s->images) s->subset[drawn++] = one;
  for (uint64_t k = 0; drawn < asked && there > asked; k++) {
    const unsigned one = (unsigned)(rb_rng_uniform(107, k) * all);
    int known = size_of(one) != s->images;
    for (int i = 0; i < drawn; i++) known = known || s->subset[i] == one;
    if (!known) s->subset[drawn++] = one;
  }
  s->subsets = drawn;
}

/* The images of a subset. */
static void members(const state *s, int subset, const float **images) {
  for (int k = 0, at = 0; k < s->cohort.count; k++)
    if (s->subset[subset] >> k & 1) images[at++] = s->cohort.image[k];
}

/* ---- set-up ----------------------------------------------------------------------------------------------- */

static rb_status setup_means(state *s) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(s->c->grid);
  const rb_average_desc d = {.count = n, .kind = RB_SUM_FIXED, .dtype = RB_F32};
  RB_TRY(rb_average_create(s->c->variant, &d, &s->average));
  RB_TRY(rb_array_create(s->backend, RB_F32, s->cohort.count * n, &s->in));
  RB_TRY(rb_array_create(s->backend, RB_F32, n, &s->out));
  for (int k = 0; k < s->cohort.count; k++)
    RB_TRY(rb_array_upload(rb_array_part(s->in, k * n, n), s->cohort.image[k]));
done:
  return st;
}

static rb_status setup_kind(const rb_case *c, const rb_backend *b, int atlases, void **out) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(c->grid);
  numbers k;
  state *s = calloc(1, sizeof *s);
  RB_CHECK(s, RB_ENOMEM, "host memory");
  s->c = c, s->backend = b, s->atlases = atlases;
  RB_TRY(numbers_of(c, &k));
  s->images = k.images;
  RB_TRY(rb_cohort_known(rb_case_axis(c, "data", "phantom"), k.cohort, RB_ANTIALIAS, c->grid, &s->cohort));
  rb_cohort_scale(&s->cohort);
  s->subset = calloc((size_t)k.subsets, sizeof *s->subset);
  RB_CHECK(s->subset, RB_ENOMEM, "host memory");
  draw_subsets(s, k.cohort, k.subsets);
  s->mean = malloc((size_t)(s->subsets * n) * sizeof *s->mean);
  s->ratio = calloc((size_t)s->subsets, sizeof *s->ratio), s->off = calloc((size_t)s->subsets, sizeof *s->off);
  RB_CHECK(s->mean && s->ratio && s->off, RB_ENOMEM, "host memory");
  RB_TRY(atlases ? options_of(c, &s->options) : setup_means(s));
  *out = s;
  s = NULL;
done:
  teardown(s);
  return st;
}
static rb_status setup_arithmetic(const rb_case *c, const rb_backend *b, int rotations, void **out) {
  return (void)rotations, setup_kind(c, b, 0, out);
}
static rb_status setup_atlases(const rb_case *c, const rb_backend *b, int rotations, void **out) {
  return (void)rotations, setup_kind(c, b, 1, out);
}

/* ---- runs ------------------------------------------------------------------------------------------------- */

/* Greatest difference of a mean to the float64 sum of what it is the mean of. */
static double distance_to_sum(int64_t n, const float *mean, int count, const float *const *images) {
  double most = 0;
#pragma omp parallel for schedule(static) reduction(max : most)
  for (int64_t i = 0; i < n; i++) {
    double sum = 0;
    for (int k = 0; k < count; k++) sum += (double)images[k][i];
    const double d = fabs((double)mean[i] - sum / count);
    if (!(d <= most)) most = isnan(d) ? INFINITY : d;
  }
  return most;
}

static rb_status arithmetic_mean(state *s, int subset) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(s->c->grid);
  RB_TRY(rb_average_clear(s->average));
  for (int k = 0; k < s->cohort.count; k++)
    if (s->subset[subset] >> k & 1) RB_TRY(rb_average_add(s->average, 1, rb_array_part(s->in, k * n, n)));
  RB_TRY(rb_average_finish(s->average, s->images, s->out));
  RB_TRY(rb_array_download(s->out, s->mean + subset * n));
done:
  return st;
}

static rb_status make_atlas(state *s, int subset) {
  rb_status st = RB_OK;
  const float *images[COHORT_MOST];
  rb_atlas *a = NULL;
  rb_atlas_result r;
  members(s, subset, images);
  RB_TRY(rb_atlas_create(s->c->variant, &s->options, s->c->grid, s->images, images, NULL, rb_team_self(), &a));
  RB_TRY(rb_atlas_solve(a, NULL, NULL, &r));
  RB_TRY(rb_solve_check_uninterrupted(r.end));
  RB_TRY(rb_atlas_mean(a, s->mean + subset * rb_grid_points(s->c->grid)));
  s->ratio[subset] = r.variance_after / r.variance_before, s->seconds += r.seconds;
done:
  rb_atlas_destroy(a);
  return st;
}

static rb_status run(void *p, int turn) {
  rb_status st = RB_OK;
  state *s = p;
  (void)turn;
  s->seconds = 0;
  for (int k = 0; k < s->subsets; k++) RB_TRY(s->atlases ? make_atlas(s, k) : arithmetic_mean(s, k));
done:
  return st;
}
static rb_status poison(void *p, int turn) {
  state *s = p;
  (void)turn;
  memset(s->mean, 0xFF, (size_t)(s->subsets * rb_grid_points(s->c->grid)) * sizeof *s->mean);
  return RB_OK;
}

/* ---- what is verified and told ---------------------------------------------------------------------------- */

/* The first subset's atlas once more: its mean from its warped images, and a short solve beside its twin's. */
static rb_status verify_atlas(state *s, rb_outcome *o) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(s->c->grid);
  const float *images[COHORT_MOST], *moved[COHORT_MOST];
  float *warped = malloc((size_t)(s->images * n) * sizeof *warped);
  double rise = 0;
  rb_atlas *a = NULL;
  rb_atlas_result r;
  RB_CHECK(warped, RB_ENOMEM, "host memory");
  members(s, 0, images);
  RB_TRY(rb_atlas_create(s->c->variant, &s->options, s->c->grid, s->images, images, NULL, rb_team_self(), &a));
  RB_TRY(rb_atlas_solve(a, NULL, NULL, &r));
  RB_TRY(rb_solve_check_uninterrupted(r.end));
  for (int k = 0; k < s->images; k++) {
    RB_TRY(rb_atlas_warped(a, k, warped + k * n));
    moved[k] = warped + k * n;
  }
  rb_outcome_verify(o, "difference of the mean to that of the warped images",
                    distance_to_sum(n, s->mean, s->images, moved), 2 / RB_AVERAGE_UNIT, "float64 sums");
  RB_TRY(rb_atlas_short_solve(a, &s->options, &s->own));
  RB_TRY(rb_atlas_twin_variances(s->c->variant, &s->options, s->c->grid, s->images, images, NULL, &s->twin));
  rb_outcome_verify(o, "relative error of a short solve's variances", rb_atlas_variance_difference(&s->own, &s->twin),
                    RB_VARIANCE_LIMIT, "cpu float64, three iterations a level");
  for (int k = 0; k < s->subsets; k++)
    if (!(s->ratio[k] - 1 <= rise)) rise = s->ratio[k] - 1;
  rb_outcome_verify(o, "greatest rise of a subset's variance", rise, 0, "descent");
done:
  rb_atlas_destroy(a);
  free(warped);
  return st;
}

static void verify_means(state *s, rb_outcome *o) {
  const int64_t n = rb_grid_points(s->c->grid);
  const float *images[COHORT_MOST];
  double most = 0;
  for (int k = 0; k < s->subsets; k++) {
    members(s, k, images);
    most = fmax(most, distance_to_sum(n, s->mean + k * n, s->images, images));
  }
  rb_outcome_verify(o, "greatest difference of a mean", most, 2 / RB_AVERAGE_UNIT, "float64 sums");
}

/* Mean and standard deviation (of a sample) of `count` values. */
static void add_spread(rb_outcome *o, const double *value, int count, const char *mean_name, const char *spread_name,
                       const char *unit, const char *formula) { /* a name that is NULL: not told */
  double sum = 0, squares = 0;
  for (int k = 0; k < count; k++) sum += value[k];
  for (int k = 0; k < count; k++) squares += pow(value[k] - sum / count, 2);
  if (mean_name) rb_outcome_metric(o, mean_name, sum / count, unit, formula);
  if (spread_name && count > 1)
    rb_outcome_metric(o, spread_name, sqrt(squares / (count - 1)), unit, "standard deviation over the subsets");
}

static rb_status add_pictures(state *s, const float *arithmetic, rb_outcome *o) {
  rb_status st = RB_OK;
  char title[64];
  rb_pictures_free(&s->panels);
  snprintf(title, sizeof title, "arithmetic mean of %d", s->images);
  RB_TRY(rb_panels_slice(title, RB_AXIAL, 0.5, s->c->grid, arithmetic, &s->panels));
  snprintf(title, sizeof title, "atlas of %d", s->images);
  RB_TRY(rb_panels_slice(title, RB_AXIAL, 0.5, s->c->grid, s->mean, &s->panels));
  rb_outcome_pictures(o, "slices", &s->panels);
done:
  return st;
}

static rb_status add_statistics(state *s, rb_outcome *o) {
  const double level = 0.02;
  rb_status st = RB_OK;
  const rb_grid g = s->c->grid;
  const int64_t n = rb_grid_points(g);
  const int count = s->subsets, cohort = s->cohort.count;
  double *whole = malloc(3 * (size_t)count * sizeof *whole), *masked = whole + count, *slope = masked + count;
  float *arithmetic = malloc((size_t)n * sizeof *arithmetic);
  RB_CHECK(whole && arithmetic, RB_ENOMEM, "host memory");
  for (int k = 0; k < count; k++) {
    const float *images[COHORT_MOST], *mean = s->mean + k * n;
    members(s, k, images);
    for (int64_t i = 0; i < n; i++) {
      double sum = 0;
      for (int m = 0; m < s->images; m++) sum += (double)images[m][i];
      arithmetic[i] = (float)(sum / s->images);
    }
    whole[k] = rb_image_entropy(n, mean, NULL, 0), masked[k] = rb_image_entropy(n, mean, arithmetic, level);
    slope[k] = rb_image_rms_gradient(g, mean);
  }
  if (s->atlases && count == 1) RB_TRY(add_pictures(s, arithmetic, o));
  add_spread(o, whole, count, "entropy", "entropy_spread", "bit",
             "-sum p log2 p over 256 bins of [0, 1], all voxels");
  add_spread(o, masked, count, "entropy_masked", "entropy_masked_spread", "bit",
             "the same where the arithmetic mean exceeds 0.02");
  add_spread(o, slope, count, "rms_gradient", NULL, "1/voxel", "sqrt of the mean of |grad mean|^2");
  if (cohort > s->images) { /* subsets that overlap spread less, whatever is made of them */
    const double overlap = sqrt((double)(cohort - s->images) / (cohort - 1));
    rb_outcome_metric(o, "overlap", overlap, "1",
                      "sqrt((M - l) / (M - 1)): by how much the spread shrinks because subsets of M overlap");
    for (int k = 0; k < count; k++) whole[k] /= overlap;
    add_spread(o, whole, count, NULL, "entropy_spread_apart", "bit", "");
  }
done:
  free(arithmetic), free(whole);
  return st;
}

static rb_status verify(void *p, int turn, rb_outcome *o) {
  rb_status st = RB_OK;
  state *s = p;
  (void)turn;
  rb_outcome_data(o, s->cohort.name[0], s->cohort.sha256[0]);
  if (s->atlases)
    RB_TRY(verify_atlas(s, o));
  else
    verify_means(s, o);
  RB_TRY(add_statistics(s, o));
  rb_outcome_metric(o, "inputs", s->images, "1", "images a mean");
  rb_outcome_metric(o, "subsets", s->subsets, "1", "different ones");
  if (!s->atlases) goto done;
  add_spread(o, s->ratio, s->subsets, "variance_ratio", NULL, "1", "variance after over before, mean of the subsets");
  rb_outcome_metric(o, "time_atlas", s->seconds / s->subsets, "s", "iterations of one atlas");
done:
  return st;
}

#define COMMON_AXES                                                                                                 \
  {"size", RB_VALUES_SIZE}, {"images", RB_VALUES_COUNT}, {"cohort", RB_VALUES_COUNT}, {"subsets", RB_VALUES_COUNT}, \
  {                                                                                                                 \
    "data", "phantom nirep"                                                                                         \
  }
#define ATLAS_AXES                                                                            \
  {"step", RB_VALUES_NUMBER}, {"levels", RB_VALUES_COUNT}, {"iterations", RB_VALUES_COUNT}, { \
    "coarse_iterations", RB_VALUES_COUNT                                                      \
  }
static const rb_workload_axis mean_axes[] = {COMMON_AXES, {NULL, NULL}};
static const rb_workload_axis atlas_axes[] = {COMMON_AXES, ATLAS_AXES, {NULL, NULL}};
const rb_workload rb_workload_subset_means = {
    "subset-means", &rb_average_family, predict_means, footprint, setup_arithmetic, run, poison,
    verify,         teardown,           mean_axes,     NULL};
const rb_workload rb_workload_subset_atlases = {
    "subset-atlases", &rb_atlas_family, predict_atlases, footprint,  setup_atlases, run,
    poison,           verify,           teardown,        atlas_axes, NULL};
