/* SPDX-License-Identifier: BSD-3-Clause */
/* interp (load + eval), interp-eval (eval of a loaded field), prefilter (load alone).
 *
 * Verified against the oracle on a sample of the points, and for the analytic field against the exact values at
 * all points: the error that brunn2020's Table 4 prints. */
#include "experiments/runner/inputs/deformation.h"
#include "experiments/runner/inputs/host_apply.h"
#include "experiments/runner/inputs/inputs.h"
#include "datasets/phantom.h"
#include "experiments/runner/workloads/workload.h"
#include "kernels/base/rng.h"
#include "kernels/interp/interp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLE = 4096, MOST_ROTATIONS = 64 };

typedef struct {
  const rb_case *c;
  const rb_backend *backend;
  rb_interp_desc desc;
  rb_interp_plan *plan;
  int64_t n;
  int rotations, load, eval; /* which phases one run holds */
  rb_array field[MOST_ROTATIONS], points[MOST_ROTATIONS], values[MOST_ROTATIONS];
  float *host_field, *host_points;
  rb_data_source input;
} state;

static size_t bytes_of(const rb_case *c) { return (size_t)rb_grid_points(c->grid) * sizeof(float); }

static void predict(const rb_case *c, int rotations, size_t *backend, size_t *host) {
  size_t field = bytes_of(c);
  /* plans hold at most a prefiltered copy, a scratch field and a texture array */
  *backend = (size_t)rotations * 5 * field + 3 * field;
  *host = 7 * field;
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
  s->c = c, s->backend = b, s->n = rb_grid_points(c->grid), s->load = load, s->eval = eval;
  s->rotations = rotations < MOST_ROTATIONS ? rotations : MOST_ROTATIONS;
  s->desc = (rb_interp_desc){.grid = c->grid, .boundary = RB_PERIODIC, .dtype = RB_F32, .components = 1};
  s->desc.localized = rb_input_points_localized(points);
  RB_CHECK(c->method->basis, RB_EINVAL, "method '%s' needs a basis", c->method->label);
  RB_TRY(rb_interp_basis_parse(c->method->basis, &s->desc.basis, &s->desc.prefilter));
  RB_TRY(rb_interp_create(c->variant, &s->desc, &s->plan));
  s->host_field = malloc(bytes_of(c));
  s->host_points = malloc(3 * bytes_of(c));
  RB_CHECK(s->host_field && s->host_points, RB_ENOMEM, "host memory: %zu bytes for %s", 4 * bytes_of(c), c->id);
  RB_TRY(rb_input_field(rb_case_axis(c, "data", "analytic"), c->grid, s->host_field, &s->input));
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

/* Reference values at `SAMPLE` points: the oracle up to 128^3, beyond it cpu/omp in float64, which `check`
 * holds to the oracle at 1e-14. Kept between cases that differ only in the variant. */
static rb_status reference(const state *s, const float *x, const double **out, const char **who) {
  static double values[SAMPLE];
  static char key[RB_CASE_KEY];
  rb_status st = RB_OK;
  double *f = NULL, *x64 = NULL;
  char mine[RB_CASE_KEY];
  int small = s->n <= (int64_t)128 * 128 * 128;
  const rb_variant *v;
  rb_interp_desc d = s->desc;
  *who = small ? "cpu/ref" : "cpu/omp float64";
  *out = values;
  rb_case_key(s->c, mine, "%s %s", s->c->method->basis, s->eval ? "points" : "nodes");
  if (strcmp(key, mine) == 0) return RB_OK;
  key[0] = '\0';
  d.dtype = RB_F64;
  RB_TRY(rb_variant_find(&rb_interp_family, small ? "cpu/ref" : "cpu/omp", &v));
  f = malloc((size_t)s->n * sizeof *f);
  x64 = malloc(3 * SAMPLE * sizeof *x64);
  RB_CHECK(f && x64, RB_ENOMEM, "host memory: %zu bytes for the reference", (size_t)s->n * sizeof *f);
  for (int64_t i = 0; i < s->n; i++) f[i] = (double)s->host_field[i];
  for (int i = 0; i < 3 * SAMPLE; i++) x64[i] = (double)x[i];
  RB_TRY(rb_host_interp(v, &d, f, SAMPLE, x64, values));
  snprintf(key, sizeof key, "%s", mine);
done:
  free(x64), free(f);
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
    exact = rb_phantom_waves(x);
    error += ((double)got[p] - exact) * ((double)got[p] - exact);
    norm += exact * exact;
  }
  rb_outcome_metric(o, "error_rms", sqrt(error / (double)s->n), "1", "sqrt(mean (value - exact)^2)");
  rb_outcome_metric(o, "error_relative", sqrt(error / norm), "1", "sqrt(sum (value - exact)^2 / sum exact^2)");
}

static rb_status sample_against_reference(state *s, const float *got, int nodes, rb_outcome *o) {
  rb_status st = RB_OK;
  const double *want;
  const char *who;
  double worst = 0, range = 0;
  float x[3 * SAMPLE];
  int64_t at[SAMPLE];
  for (int i = 0; i < SAMPLE; i++) {
    at[i] = (int64_t)(rb_rng_bits(909, (uint64_t)i) % (uint64_t)s->n);
    int64_t p = at[i], node[3] = {p / s->c->grid.n[2] / s->c->grid.n[1], p / s->c->grid.n[2] % s->c->grid.n[1],
                                  p % s->c->grid.n[2]};
    for (int a = 0; a < 3; a++) x[a * SAMPLE + i] = nodes ? (float)node[a] : s->host_points[a * s->n + p];
  }
  RB_TRY(reference(s, x, &want, &who));
  for (int64_t i = 0; i < s->n; i++) range = fmax(range, fabs((double)s->host_field[i]));
  for (int i = 0; i < SAMPLE; i++) {
    double e = fabs((double)got[nodes ? i : at[i]] - want[i]);
    if (!(e <= worst)) worst = e;
    if (e != e) break;
  }
  rb_outcome_verify(o, "max |value - oracle| on 4096 points", worst,
                    rb_interp_tolerance(s->c->variant, &s->desc, range), who);
done:
  return st;
}

/* A prefilter shows its result only through evaluation: at nodes a B-spline returns the field. */
static rb_status verify_prefilter(state *s, rb_outcome *o) {
  rb_status st = RB_OK;
  rb_array points = {0}, values = {0};
  float x[3 * SAMPLE], got[SAMPLE];
  for (int i = 0; i < SAMPLE; i++) {
    int64_t p = (int64_t)(rb_rng_bits(909, (uint64_t)i) % (uint64_t)s->n);
    x[i] = (float)(p / s->c->grid.n[2] / s->c->grid.n[1]);
    x[SAMPLE + i] = (float)(p / s->c->grid.n[2] % s->c->grid.n[1]);
    x[2 * SAMPLE + i] = (float)(p % s->c->grid.n[2]);
  }
  RB_TRY(rb_to_backend(s->backend, x, RB_F32, 3 * SAMPLE, &points));
  RB_TRY(rb_poisoned(s->backend, RB_F32, SAMPLE, &values));
  RB_TRY(rb_interp_eval(s->plan, SAMPLE, points, values));
  RB_TRY(rb_array_download(values, got));
  RB_TRY(sample_against_reference(s, got, 1, o));
done:
  rb_array_destroy(&values);
  rb_array_destroy(&points);
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
  o->paper_flops = rb_interp_paper_flops(tag) * n, o->paper_bytes = o->paper_flops > 0 ? 20 * n : 0;
  got = malloc(bytes_of(s->c));
  RB_CHECK(got, RB_ENOMEM, "host memory");
  RB_TRY(rb_array_download(s->values[turn % s->rotations], got));
  RB_TRY(sample_against_reference(s, got, 0, o));
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
                                        verify,   teardown,          axes};
const rb_workload rb_workload_interp_eval = {
    "interp-eval", &rb_interp_family, predict, footprint, setup_eval, run, poison, verify, teardown, axes};
const rb_workload rb_workload_prefilter = {
    "prefilter", &rb_interp_family, predict, footprint, setup_load, run, poison, verify, teardown, axes};
