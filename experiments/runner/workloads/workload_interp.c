/* SPDX-License-Identifier: BSD-3-Clause */
/* interp (load + eval), interp-eval (eval of a loaded field), prefilter (load alone).
 *
 * Verified by the oracle, everywhere on grids of up to 64^3 nodes, on larger ones at the places of places.h, and
 * there everywhere by cpu/omp in float64. For the analytic field the error against the exact values at all points is
 * the one that brunn2020's Table 4 prints. */
#include "experiments/runner/inputs/deformation.h"
#include "experiments/runner/inputs/host_apply.h"
#include "experiments/runner/inputs/inputs.h"
#include "datasets/phantom.h"
#include "experiments/runner/workloads/places.h"
#include "kernels/base/rng.h"
#include "kernels/interp/interp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROTATIONS = 64 };

typedef struct {
  const rb_case *c;
  const rb_backend *backend;
  rb_interp_desc desc;
  rb_interp_plan *plan;
  int64_t n;
  int rotations, load, eval; /* which phases one run holds */
  rb_array field[MOST_ROTATIONS], points[MOST_ROTATIONS], values[MOST_ROTATIONS];
  float *host_field, *host_points;
  double factor; /* of the field, since the references were made */
  rb_data_source input;
} state;

static size_t bytes_of(const rb_case *c) { return (size_t)rb_grid_points(c->grid) * sizeof(float); }

static void predict(const rb_case *c, int rotations, size_t *backend, size_t *host) {
  size_t field = bytes_of(c);
  /* plans hold at most a prefiltered copy, a scratch field and a texture array */
  *backend = (size_t)rotations * 5 * field + 3 * field;
  *host = 13 * field; /* field, points, values; a reference's field, coefficients and values in float64 */
}
static size_t footprint(const rb_case *c) { return 5 * bytes_of(c); }

static void teardown(void *p) {
  state *s = p;
  if (!s) return;
  rb_interp_destroy(s->plan);
  for (int r = 0; s->backend && r < s->rotations; r++) {
    rb_array_destroy(&s->field[r]);
    rb_array_destroy(&s->points[r]);
    rb_array_destroy(&s->values[r]);
  }
  free(s->host_field), free(s->host_points), free(s);
}

static rb_status setup_phases(const rb_case *c, const rb_backend *b, int rotations, int load, int eval, void **out) {
  rb_status st = RB_OK;
  const char *points = rb_case_axis(c, "points", "perturbed");
  state *s = calloc(1, sizeof *s);
  RB_CHECK(s, RB_ENOMEM, "host memory");
  s->c = c, s->backend = b, s->n = rb_grid_points(c->grid), s->load = load, s->eval = eval, s->factor = 1;
  s->rotations = rotations < MOST_ROTATIONS ? rotations : MOST_ROTATIONS;
  s->desc = (rb_interp_desc){.grid = c->grid, .boundary = RB_PERIODIC, .dtype = RB_F32, .components = 1};
  s->desc.localized = rb_input_points_localized(points);
  RB_CHECK(c->method->basis, RB_EINVAL, "method '%s' needs a basis", c->method->label);
  RB_TRY(rb_interp_basis_parse(c->method->basis, &s->desc.basis, &s->desc.prefilter));
  RB_TRY(rb_interp_create(c->variant, &s->desc, &s->plan));
  s->host_field = malloc(bytes_of(c));
  s->host_points = malloc(3 * bytes_of(c));
  RB_CHECK(s->host_field && s->host_points, RB_ENOMEM, "host memory: %zu bytes for %s", 4 * bytes_of(c), c->id);
  const char *data = rb_case_axis(c, "data", "analytic");
  if (!eval && strcmp(data, "analytic") == 0) /* rough, see verify_prefilter */
    for (int64_t i = 0; i < s->n; i++) s->host_field[i] = (float)rb_rng_symmetric(717, (uint64_t)i);
  else
    RB_TRY(rb_input_field(data, c->grid, s->host_field, &s->input));
  if (rb_deformation_known(points))
    RB_TRY(rb_deformation(points, c->grid, s->host_points));
  else
    RB_TRY(rb_input_points(points, c->grid, s->host_points));
  for (int r = 0; r < s->rotations; r++) {
    RB_TRY(rb_to_backend(b, s->host_field, RB_F32, s->n, &s->field[r]));
    if (eval) RB_TRY(rb_to_backend(b, s->host_points, RB_F32, 3 * s->n, &s->points[r]));
    if (eval) RB_TRY(rb_poisoned(b, RB_F32, s->n, &s->values[r]));
  }
  if (!load) RB_TRY(rb_interp_load(s->plan, s->field[0]));
  *out = s;
  s = NULL;
done:
  teardown(s);
  return st;
}
static rb_status setup(const rb_case *c, const rb_backend *b, int r, void **out) {
  return setup_phases(c, b, r, 1, 1, out);
}
static rb_status setup_eval(const rb_case *c, const rb_backend *b, int r, void **out) {
  return setup_phases(c, b, r, 0, 1, out);
}
static rb_status setup_load(const rb_case *c, const rb_backend *b, int r, void **out) {
  return setup_phases(c, b, r, 1, 0, out);
}

static rb_status run(void *p, int turn) {
  rb_status st = RB_OK;
  state *s = p;
  int r = turn % s->rotations;
  if (s->load) RB_TRY(rb_interp_load(s->plan, s->field[r]));
  if (s->eval) RB_TRY(rb_interp_eval(s->plan, s->n, s->points[r], s->values[r]));
done:
  return st;
}

static rb_status poison(void *p, int turn) {
  state *s = p;
  return s->eval ? rb_array_fill(s->values[turn % s->rotations], 0xFF) : RB_OK;
}

static rb_status rescale(void *p, int turn, double by) {
  rb_status st = RB_OK;
  state *s = p;
  const int r = s->load ? turn % s->rotations : 0;
  s->factor *= by;
  RB_TRY(rb_scale_input(s->host_field, s->n, by, &s->field[r]));
  if (!s->load) RB_TRY(rb_interp_load(s->plan, s->field[r]));
done:
  return st;
}

/* Values in float64 at x[3][count]. Kept between cases that differ only in the variant. */
typedef struct {
  double *values;
  char key[RB_CASE_KEY];
} kept_values;

static rb_status reference(const state *s, const char *who, int64_t count, const float *x, kept_values *kept) {
  rb_status st = RB_OK;
  char mine[RB_CASE_KEY];
  const rb_variant *v;
  rb_case_key(s->c, mine, "%s %s", s->c->method->basis, s->eval ? "points" : "nodes");
  if (kept->values && strcmp(kept->key, mine) == 0) return RB_OK;
  kept->key[0] = '\0';
  free(kept->values);
  kept->values = malloc((size_t)count * sizeof *kept->values);
  RB_CHECK(kept->values, RB_ENOMEM, "host memory: %zu bytes for a reference", (size_t)count * sizeof *kept->values);
  RB_TRY(rb_variant_find(&rb_interp_family, who, &v));
  RB_TRY(rb_host_interp_floats(v, &s->desc, s->host_field, count, x, kept->values));
  snprintf(kept->key, sizeof kept->key, "%s", mine);
done:
  return st;
}

/* Error against the exact waves at every point: absolute root mean square, and relative to the values' own. */
static void analytic_error(const state *s, const float *got, rb_outcome *o) {
  double error = 0, norm = 0;
  const double h[3] = {rb_grid_spacing(s->c->grid, 0), rb_grid_spacing(s->c->grid, 1),
                       rb_grid_spacing(s->c->grid, 2)};
#pragma omp parallel for reduction(+ : error, norm) schedule(static)
  for (int64_t p = 0; p < s->n; p++) {
    double x[3], exact;
    for (int a = 0; a < 3; a++) x[a] = h[a] * (double)s->host_points[a * s->n + p];
    exact = s->factor * rb_phantom_waves(x);
    error += ((double)got[p] - exact) * ((double)got[p] - exact);
    norm += exact * exact;
  }
  rb_outcome_metric(o, "error_rms", sqrt(error / (double)s->n), "1", "sqrt(mean (value - exact)^2)");
  rb_outcome_metric(o, "error_relative", sqrt(error / norm), "1", "sqrt(sum (value - exact)^2 / sum exact^2)");
}

/* What a field's own values bound: the greatest one, and the greatest and the root mean square difference of
 * neighbours. */
typedef struct {
  double range, step, step_rms;
} extent;

static extent extent_of(const state *s) {
  const rb_grid g = s->c->grid;
  const int64_t stride[3] = {g.n[1] * g.n[2], g.n[2], 1};
  double range = 0, step = 0, squares = 0;
#pragma omp parallel for reduction(max : range, step) reduction(+ : squares) schedule(static)
  for (int64_t i = 0; i < s->n; i++) {
    range = fmax(range, fabs((double)s->host_field[i]));
    for (int a = 0; a < 3; a++) {
      const int64_t x = i / stride[a] % g.n[a], next = x + 1 < g.n[a] ? i + stride[a] : i - x * stride[a];
      const double d = (double)s->host_field[next] - (double)s->host_field[i];
      step = fmax(step, fabs(d)), squares += d * d;
    }
  }
  return (extent){range, step, sqrt(squares / (3 * (double)s->n))};
}

/* The family's limit for values in [-range, range], where what fractions of few bits do is bounded by the field's own
 * steps in place of those from -range to range. */
static double limit_of(const state *s, const extent *e) {
  const rb_variant *exact = &rb_interp_family.variants[0], *v = s->c->variant;
  const double by_bits =
      rb_interp_tolerance(v, &s->desc, e->step / 2) - rb_interp_tolerance(exact, &s->desc, e->step / 2);
  return rb_interp_tolerance(exact, &s->desc, e->range) + by_bits;
}

/* Of the root mean square of errors, which roundings of fractions and weights, nine of at most half their last bit
 * times a step each, add to as squares, while one wrong rule adds everywhere. GAIN: by what a prefilter or Lagrange's
 * weights steepen images. */
static double limit_of_rms(const state *s, const extent *e) {
  static const double ROUNDINGS = 9, GAIN = 2;
  const int bits = rb_interp_weight_bits(s->c->variant);
  const double exact = rb_interp_tolerance(&rb_interp_family.variants[0], &s->desc, e->range);
  return exact +
         (bits ? sqrt(ROUNDINGS) * e->step_rms * (s->desc.basis == RB_LINEAR ? 1 : GAIN) / (double)(2 << bits) : 0);
}

/* The greatest |got[at[k]] - factor want[k]|; at NULL: of the first `count`. A NaN stays. */
static double greatest_difference(const float *got, const int64_t *at, double factor, const double *want,
                                  int64_t count) {
  double worst = 0;
  for (int64_t k = 0; k < count; k++) {
    const double e = fabs((double)got[at ? at[k] : k] - factor * want[k]);
    if (worst == worst && !(e <= worst)) worst = e;
  }
  return worst;
}

/* The root mean square of the same. */
static double rms_difference(const float *got, const int64_t *at, double factor, const double *want, int64_t count) {
  double squares = 0;
  for (int64_t k = 0; k < count; k++) {
    const double e = (double)got[at ? at[k] : k] - factor * want[k];
    squares += e * e;
  }
  return sqrt(squares / (double)count);
}

/* Coordinates at the places: of the points there, or of the nodes themselves. */
static rb_status coordinates_at(const state *s, const rb_places *p, int nodes, float **out) {
  rb_status st = RB_OK;
  const rb_grid g = s->c->grid;
  float *x = malloc(3 * (size_t)p->count * sizeof *x);
  RB_CHECK(x, RB_ENOMEM, "host memory");
  for (int64_t k = 0; k < p->count; k++) {
    const int64_t i = p->at[k], node[3] = {i / g.n[2] / g.n[1], i / g.n[2] % g.n[1], i % g.n[2]};
    for (int a = 0; a < 3; a++) x[a * p->count + k] = nodes ? (float)node[a] : s->host_points[a * s->n + i];
  }
  *out = x;
done:
  return st;
}

static rb_status verify_values(const state *s, const float *got, rb_outcome *o) {
  static kept_values by_oracle, by_baseline;
  rb_status st = RB_OK;
  const extent e = extent_of(s);
  const double limit = limit_of(s, &e), limit_rms = limit_of_rms(s, &e);
  rb_places p;
  float *x = NULL;
  RB_TRY(rb_places_of(s->c->grid, &p));
  RB_TRY(coordinates_at(s, &p, 0, &x));
  RB_TRY(reference(s, "cpu/ref", p.count, x, &by_oracle));
  rb_outcome_verify(o, "max |value - oracle|", greatest_difference(got, p.at, s->factor, by_oracle.values, p.count),
                    limit, rb_places_against(&p));
  const double rms = rms_difference(got, p.at, s->factor, by_oracle.values, p.count);
  rb_outcome_metric(o, "rounding_rms", rms / fabs(s->factor), "1",
                    "sqrt(mean (value - oracle)^2) where the oracle looks");
  rb_outcome_verify(o, "rms of value - oracle", rms, limit_rms, rb_places_against(&p));
  rb_places_tell(&p, o);
  if (p.all) goto done;
  RB_TRY(reference(s, "cpu/omp", s->n, s->host_points, &by_baseline));
  rb_outcome_verify(o, "max |value - baseline|", greatest_difference(got, NULL, s->factor, by_baseline.values, s->n),
                    limit, "cpu/omp, float64");
  rb_outcome_verify(o, "rms of value - baseline", rms_difference(got, NULL, s->factor, by_baseline.values, s->n),
                    limit_rms, "cpu/omp, float64");
done:
  free(x);
  return st;
}

/* A prefilter shows its result only through evaluation: at nodes a B-spline returns the field. The field is rough, or
 * a filter that does nothing would hardly show (kind prefilter's setup). */
static rb_status verify_prefilter(state *s, rb_outcome *o) {
  static kept_values by_oracle;
  rb_status st = RB_OK;
  rb_array points = {0}, values = {0};
  rb_places p;
  float *x = NULL, *got = NULL;
  RB_TRY(rb_places_of(s->c->grid, &p));
  RB_TRY(coordinates_at(s, &p, 1, &x));
  got = malloc((size_t)p.count * sizeof *got);
  RB_CHECK(got, RB_ENOMEM, "host memory");
  RB_TRY(rb_to_backend(s->backend, x, RB_F32, 3 * p.count, &points));
  RB_TRY(rb_poisoned(s->backend, RB_F32, p.count, &values));
  RB_TRY(rb_interp_eval(s->plan, p.count, points, values));
  RB_TRY(rb_array_download(values, got));
  RB_TRY(reference(s, "cpu/ref", p.count, x, &by_oracle));
  const extent e = extent_of(s);
  rb_outcome_verify(o, "max |value - oracle| at nodes",
                    greatest_difference(got, NULL, s->factor, by_oracle.values, p.count), limit_of(s, &e),
                    rb_places_against(&p));
  rb_places_tell(&p, o);
done:
  rb_array_destroy(&values);
  rb_array_destroy(&points);
  free(got), free(x);
  return st;
}

static rb_status verify(void *p, int turn, rb_outcome *o) {
  rb_status st = RB_OK;
  state *s = p;
  const char *tag = s->c->variant->tag;
  float *got = NULL;
  double n = (double)s->n;
  rb_outcome_data(o, s->input.file, s->input.sha256);
  if (!s->eval) { /* prefilter: 8 B a point; two multiply-adds and a scaling an axis */
    o->bytes = 8 * n, o->flops = 15 * n;
    o->paper_flops = rb_interp_paper_flops("PRE-FILTER") * n, o->paper_bytes = 8 * n;
    return verify_prefilter(s, o);
  }
  o->flops = rb_interp_flops(&s->desc, s->n), o->bytes = rb_interp_bytes(&s->desc, s->n);
  o->fetches = rb_interp_fetches(s->c->variant, &s->desc, s->n);
  o->paper_flops = rb_interp_paper_flops(tag) * n, o->paper_bytes = o->paper_flops > 0 ? 20 * n : 0;
  got = malloc(bytes_of(s->c));
  RB_CHECK(got, RB_ENOMEM, "host memory");
  RB_TRY(rb_array_download(s->values[turn % s->rotations], got));
  RB_TRY(verify_values(s, got, o));
  int64_t unwritten = 0;
  for (int64_t i = 0; i < s->n; i++) unwritten += got[i] != got[i];
  rb_outcome_verify(o, "values left unwritten (NaN)", (double)unwritten, 0, "poison");
  if (strcmp(rb_case_axis(s->c, "data", "analytic"), "analytic") == 0) analytic_error(s, got, o);
done:
  free(got);
  return st;
}

static const rb_workload_axis axes[] = {
    {"size", RB_VALUES_SIZE},
    {"data", "analytic phantom SET"},
    {"points", "perturbed perturbed-half smooth localized random diffeomorphic step singular"},
    {NULL, NULL}};
const rb_workload rb_workload_interp = {"interp", &rb_interp_family, predict, footprint, setup, run, poison,
                                        verify,   teardown,          axes,    rescale};
const rb_workload rb_workload_interp_eval = {
    "interp-eval", &rb_interp_family, predict, footprint, setup_eval, run, poison, verify, teardown, axes, rescale};
const rb_workload rb_workload_prefilter = {
    "prefilter", &rb_interp_family, predict, footprint, setup_load, run, poison, verify, teardown, axes, rescale};
