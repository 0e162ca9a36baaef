/* SPDX-License-Identifier: BSD-3-Clause */
/* smooth, smooth-x1 to -x3, compose, compose-loaded: the kernels of demons2020 on a velocity field that registers a
 * pair.
 *
 * compose-loaded leaves out the copy of the field into textures, where a variant makes one. Verified at the places
 * of places.h by the oracle's formula in float64, and at every node by the baseline on the CPU. */
#include "experiments/runner/workloads/demons_images.h"
#include "experiments/runner/inputs/host_apply.h"
#include "experiments/runner/workloads/places.h"
#include "experiments/runner/workloads/workload.h"
#include "kernels/compose/compose.h"
#include "kernels/smooth/smooth.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_PLACES = 240 };
enum { FILES = 320 << 20 };              /* a pair of brains at full size while it is brought to a grid */
static const double MOST_PRODUCTS = 2e9; /* of the oracle, a case */
typedef enum { SMOOTH, PASS, COMPOSE, LOADED } what;

typedef struct {
  const rb_case *c;
  const rb_backend *backend;
  what what;
  int axis;
  double sigma;
  int64_t n;
  rb_smooth_plan *smooth;
  rb_compose_plan *compose;
  float *in;          /* host [3][n] */
  float *baseline;    /* host [3][n]: what cpu/omp makes of it */
  double factor;      /* of the field, since the baseline was made */
  double steepest;    /* greatest difference of neighbouring values */
  rb_array a, b, out; /* [3][n]: the field, its copy, the result */
} state;

static int texture_floats(const rb_case *c) {
  for (int i = 0; i < rb_compose_family.count; i++)
    if (c->variant == &rb_compose_family.variants[i]) return rb_compose_texture_floats(c->variant);
  return 0;
}
static size_t bytes_of(const rb_case *c) { return 3 * (size_t)rb_grid_points(c->grid) * sizeof(float); }
/* The field, its copy or the plan's scratch, the result, and the baseline's scratch. The field itself comes of a
 * registration on the CPU, beside the plan. */
static void predict(const rb_case *c, int rotations, size_t *backend, size_t *host) {
  const size_t kernels = 4 * bytes_of(c) + bytes_of(c) / 3 * (size_t)texture_floats(c);
  const size_t registration = rb_demons_velocity_bytes(rb_case_axis(c, "data", "phantom"));
  const int on_host = c->variant->backend == RB_CPU;
  (void)rotations;
  *backend = on_host && registration + bytes_of(c) > kernels ? registration + bytes_of(c) : kernels;
  *host = 4 * bytes_of(c) + FILES + (on_host ? 0 : registration);
}
static size_t footprint(const rb_case *c) { return 3 * bytes_of(c); }

static void teardown(void *p) {
  state *s = p;
  if (!s) return;
  rb_smooth_destroy(s->smooth);
  rb_compose_destroy(s->compose);
  rb_array_destroy(&s->a), rb_array_destroy(&s->b), rb_array_destroy(&s->out);
  free(s->baseline);
  free(s->in);
  free(s);
}

static double steepest_of(rb_grid g, const float *f) {
  const int64_t n = rb_grid_points(g), stride[3] = {g.n[1] * g.n[2], g.n[2], 1};
  double most = 0;
#pragma omp parallel for reduction(max : most)
  for (int64_t i = 0; i < n; i++)
    for (int a = 0; a < 3; a++)
      if (i / stride[a] % g.n[a] + 1 < g.n[a])
        for (int c = 0; c < 3; c++) most = fmax(most, fabs((double)(f[c * n + i + stride[a]] - f[c * n + i])));
  return most;
}

/* The same by cpu/omp, which check holds to the oracle. */
static rb_status work_out_baseline(state *s) {
  rb_status st = RB_OK;
  const rb_smooth_desc smooth = {.grid = s->c->grid, .components = 3, .dtype = RB_F32};
  const rb_compose_desc compose = {.grid = s->c->grid, .dtype = RB_F32};
  const rb_variant *v;
  rb_smooth_plan *sp = NULL;
  rb_compose_plan *cp = NULL;
  s->baseline = malloc(bytes_of(s->c));
  RB_CHECK(s->baseline, RB_ENOMEM, "host memory: %zu bytes", bytes_of(s->c));
  const rb_array in = rb_array_host(RB_F32, 3 * s->n, s->in), baseline = rb_array_host(RB_F32, 3 * s->n, s->baseline);
  if (s->what == SMOOTH || s->what == PASS) {
    RB_TRY(rb_variant_find(&rb_smooth_family, "cpu/omp", &v));
    RB_TRY(rb_smooth_create(v, &smooth, &sp));
    RB_TRY(s->what == SMOOTH ? rb_smooth(sp, s->sigma, in, baseline)
                             : rb_smooth_pass(sp, s->sigma, s->axis, in, baseline));
  } else {
    RB_TRY(rb_variant_find(&rb_compose_family, "cpu/omp", &v));
    RB_TRY(rb_compose_create(v, &compose, &cp));
    RB_TRY(rb_compose(cp, 1, in, in, baseline));
  }
done:
  rb_smooth_destroy(sp);
  rb_compose_destroy(cp);
  return st;
}

static rb_status setup_kind(const rb_case *c, const rb_backend *b, what w, int axis, void **out) {
  rb_status st = RB_OK;
  state *s = calloc(1, sizeof *s);
  RB_CHECK(s, RB_ENOMEM, "host memory");
  s->c = c, s->backend = b, s->what = w, s->axis = axis, s->n = rb_grid_points(c->grid), s->factor = 1;
  double variance;
  RB_TRY(rb_case_number(c, "variance", 3, &variance));
  s->sigma = sqrt(variance);
  const rb_smooth_desc smooth = {.grid = c->grid, .components = 3, .dtype = RB_F32, .sigma = s->sigma};
  const rb_compose_desc compose = {.grid = c->grid, .dtype = RB_F32};
  if (w == SMOOTH || w == PASS)
    RB_TRY(rb_smooth_create(c->variant, &smooth, &s->smooth));
  else
    RB_TRY(rb_compose_create(c->variant, &compose, &s->compose));
  s->in = malloc(bytes_of(c));
  RB_CHECK(s->in, RB_ENOMEM, "host memory: %zu bytes", bytes_of(c));
  RB_TRY(rb_demons_velocity_field(rb_case_axis(c, "data", "phantom"), c->grid, s->in));
  RB_TRY(rb_to_backend(b, s->in, RB_F32, 3 * s->n, &s->a));
  if (w == COMPOSE || w == LOADED) RB_TRY(rb_to_backend(b, s->in, RB_F32, 3 * s->n, &s->b));
  RB_TRY(rb_poisoned(b, RB_F32, 3 * s->n, &s->out));
  if (w == LOADED) RB_TRY(rb_compose_load(s->compose, 1, s->a));
  s->steepest = steepest_of(c->grid, s->in);
  RB_TRY(work_out_baseline(s));
  *out = s;
  s = NULL;
done:
  teardown(s);
  return st;
}
static rb_status setup_smooth(const rb_case *c, const rb_backend *b, int r, void **out) {
  return (void)r, setup_kind(c, b, SMOOTH, -1, out);
}
static rb_status setup_x1(const rb_case *c, const rb_backend *b, int r, void **out) {
  return (void)r, setup_kind(c, b, PASS, 0, out);
}
static rb_status setup_x2(const rb_case *c, const rb_backend *b, int r, void **out) {
  return (void)r, setup_kind(c, b, PASS, 1, out);
}
static rb_status setup_x3(const rb_case *c, const rb_backend *b, int r, void **out) {
  return (void)r, setup_kind(c, b, PASS, 2, out);
}
static rb_status setup_compose(const rb_case *c, const rb_backend *b, int r, void **out) {
  return (void)r, setup_kind(c, b, COMPOSE, -1, out);
}
static rb_status setup_loaded(const rb_case *c, const rb_backend *b, int r, void **out) {
  return (void)r, setup_kind(c, b, LOADED, -1, out);
}

static rb_status run(void *p, int turn) {
  state *s = p;
  (void)turn;
  switch (s->what) {
    case SMOOTH:
      return rb_smooth(s->smooth, s->sigma, s->a, s->out);
    case PASS:
      return rb_smooth_pass(s->smooth, s->sigma, s->axis, s->a, s->out);
    case COMPOSE:
      return rb_compose(s->compose, 1, s->a, s->b, s->out);
    default:
      return rb_compose_loaded(s->compose, 1, s->a, s->b, s->out);
  }
}
static rb_status poison(void *p, int turn) {
  state *s = p;
  (void)turn;
  return rb_array_fill(s->out, 0xFF);
}

/* Of smoothing; a composition is not linear. */
static rb_status rescale(void *p, int turn, double by) {
  state *s = p;
  (void)turn;
  s->factor *= by;
  return rb_scale_input(s->in, 3 * s->n, by, &s->a);
}

/* What roundings may change for values of at most `range`: of a composition, the family's bound with the field's own
 * steepest step in place of the worst one, and points that lie at most at the longest axis. */
static double limit_of(const state *s, double range) {
  const rb_grid g = s->c->grid;
  const rb_smooth_desc sd = {.grid = g, .components = 3, .dtype = RB_F32};
  if (s->what == SMOOTH || s->what == PASS) return rb_smooth_tolerance(&sd, s->sigma, range);
  const double longest = (double)(g.n[0] > g.n[1]   ? g.n[0] > g.n[2] ? g.n[0] : g.n[2]
                                    : g.n[1] > g.n[2] ? g.n[1]
                                                    : g.n[2]);
  const int bits = ((const rb_compose_ops *)s->c->variant->ops)->weight_bits;
  return 24 * FLT_EPSILON * range +
         3 * s->steepest * (2 * FLT_EPSILON * (longest + range) + (bits ? ldexp(1, -bits) : 0));
}

/* How many of the places the oracle looks at: all, or as many as cost some seconds. */
static int64_t affordable(const state *s, const rb_smooth_kernel *kernel, int64_t places) {
  const double taps = 2 * (double)kernel->radius + 1;
  const double products = s->what == SMOOTH ? 3 * taps * taps * taps : s->what == PASS ? 3 * taps : 3 * 8;
  const int64_t most = (int64_t)fmax(LEAST_PLACES, MOST_PRODUCTS / products);
  return places < most ? places : most;
}

/* The greatest error at places of places.h, spread evenly over their list where not all are affordable. */
static rb_status add_errors(const state *s, const float *got, double limit, rb_outcome *o) {
  rb_status st = RB_OK;
  const rb_grid g = s->c->grid;
  const int smoothing = s->what == SMOOTH || s->what == PASS;
  const rb_smooth_desc sd = {.grid = g, .components = 3, .dtype = RB_F32};
  const rb_compose_desc cd = {.grid = g, .dtype = RB_F32};
  rb_smooth_kernel kernel = {0};
  double worst = 0;
  rb_places p;
  int wrong = 0;
  RB_TRY(rb_smooth_kernel_make(s->sigma, RB_MOST_AXIS, &kernel));
  RB_TRY(rb_places_of(g, &p));
  const int64_t count = affordable(s, &kernel, p.count);
#pragma omp parallel for schedule(dynamic, 16) reduction(max : worst) reduction(+ : wrong)
  for (int64_t k = 0; k < 3 * count; k++) {
    const int64_t i = p.at[k / 3 * p.count / count], at[3] = {i / g.n[2] / g.n[1], i / g.n[2] % g.n[1], i % g.n[2]};
    const int c = (int)(k % 3);
    const double want = smoothing ? rb_smooth_oracle_at(&sd, &kernel, s->axis, s->in, c, at)
                                  : rb_compose_oracle_at(&cd, 1, s->in, s->in, c, i);
    const double off = fabs((double)got[c * s->n + i] - want);
    worst = fmax(worst, off), wrong += off != off;
  }
  rb_outcome_verify(o, "greatest error of the nodes looked at", wrong ? NAN : worst, limit,
                    count == p.count ? rb_places_against(&p) : "cpu/ref, on some of the borders and drawn places");
  rb_outcome_metric(o, "error_max", worst, "voxel", "greatest |out - exact| of the nodes looked at");
  rb_places_tell(&p, o);
done:
  free(kernel.k);
  return st;
}

static rb_status verify(void *p, int turn, rb_outcome *o) {
  rb_status st = RB_OK;
  state *s = p;
  const rb_grid g = s->c->grid;
  const int smoothing = s->what == SMOOTH || s->what == PASS;
  const rb_smooth_desc sd = {.grid = g, .components = 3, .dtype = RB_F32};
  const rb_compose_desc cd = {.grid = g, .dtype = RB_F32};
  double range = 0, apart = 0, missing = 0;
  float *got = malloc(bytes_of(s->c));
  (void)turn;
  RB_CHECK(got, RB_ENOMEM, "host memory");
  RB_TRY(rb_array_download(s->out, got));
#pragma omp parallel for reduction(max : range, apart) reduction(+ : missing)
  for (int64_t i = 0; i < 3 * s->n; i++) {
    range = fmax(range, fabs((double)s->in[i]));
    apart = fmax(apart, fabs((double)got[i] - s->factor * (double)s->baseline[i]));
    missing += isfinite(got[i]) ? 0 : 1;
  }
  const double limit = limit_of(s, range);
  rb_outcome_verify(o, "values that are not finite", missing, 0, "every node");
  RB_TRY(add_errors(s, got, limit, o));
  rb_outcome_verify(o, "greatest difference at any node", apart, 2 * limit, "cpu/omp, which rounds too");
  rb_outcome_metric(o, "voxels", 1e-6 * (double)s->n, "M", "nodes of the grid");
  if (smoothing) rb_outcome_metric(o, "sigma", s->sigma, "voxel", "root of the axis variance");
  rb_outcome_metric(o, "longest", range, "voxel", "greatest component of the field");
  o->bytes = s->what == PASS ? rb_smooth_bytes(&sd, 1) : smoothing ? rb_smooth_bytes(&sd, 3) : rb_compose_bytes(&cd);
  o->flops = smoothing ? rb_smooth_flops(&sd, s->sigma) / (s->what == PASS ? 3 : 1) : 0;
done:
  free(got);
  return st;
}

static const rb_workload_axis axes[] = {
    {"size", RB_VALUES_SIZE}, {"data", RB_VALUES_PAIRS}, {"variance", RB_VALUES_NUMBER}, {NULL, NULL}};
#define WORKLOAD(symbol, kind, family, setup, rescale) \
  const rb_workload symbol = {kind, &family, predict, footprint, setup, run, poison, verify, teardown, axes, rescale}
WORKLOAD(rb_workload_smooth, "smooth", rb_smooth_family, setup_smooth, rescale);
WORKLOAD(rb_workload_smooth_x1, "smooth-x1", rb_smooth_family, setup_x1, rescale);
WORKLOAD(rb_workload_smooth_x2, "smooth-x2", rb_smooth_family, setup_x2, rescale);
WORKLOAD(rb_workload_smooth_x3, "smooth-x3", rb_smooth_family, setup_x3, rescale);
WORKLOAD(rb_workload_compose, "compose", rb_compose_family, setup_compose, NULL);
WORKLOAD(rb_workload_compose_loaded, "compose-loaded", rb_compose_family, setup_loaded, NULL);
