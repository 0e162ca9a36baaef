/* SPDX-License-Identifier: BSD-3-Clause */
/* gradient, divergence (brunn2020 Table 5) and partial-x3 (Figure 2: a wave of frequency omega).
 *
 * All three run a whole gradient or divergence; fields are analytic, so every value is judged by the exact
 * derivative and by the oracle: finite differences everywhere, spectral ones, of O(n) a value, everywhere on grids of
 * up to 64^3 nodes. On larger ones at the places of places.h, and everywhere by cpu/fftw in float64. */
#include "experiments/runner/inputs/host_apply.h"
#include "datasets/phantom.h"
#include "experiments/runner/workloads/places.h"
#include "kernels/base/rng.h"
#include "kernels/derivative/derivative.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROTATIONS = 64 };
typedef enum { GRADIENT, DIVERGENCE, PARTIAL } what;

typedef struct {
  const rb_case *c;
  const rb_backend *backend;
  rb_derivative_desc desc;
  rb_derivative_plan *plan;
  int64_t n;
  int rotations;
  what what;
  double omega;
  double factor; /* of the input, since the reference was made */
  rb_array in[MOST_ROTATIONS], out[MOST_ROTATIONS];
  float *host_in;
} state;

static size_t bytes_of(const rb_case *c) { return (size_t)rb_grid_points(c->grid) * sizeof(float); }
static void predict(const rb_case *c, int rotations, size_t *backend, size_t *host) {
  *backend = (size_t)rotations * 4 * bytes_of(c) + 9 * bytes_of(c); /* spectra and FFT work areas */
  *host = 7 * bytes_of(c);
}
static size_t footprint(const rb_case *c) { return 4 * bytes_of(c); }

static void teardown(void *p) {
  state *s = p;
  if (!s) return;
  rb_derivative_destroy(s->plan);
  for (int r = 0; r < s->rotations; r++) rb_array_destroy(&s->in[r]), rb_array_destroy(&s->out[r]);
  free(s->host_in), free(s);
}

static void coordinates(rb_grid g, int64_t p, double x[3]) {
  x[0] = (double)(p / g.n[2] / g.n[1]) * rb_grid_spacing(g, 0);
  x[1] = (double)(p / g.n[2] % g.n[1]) * rb_grid_spacing(g, 1);
  x[2] = (double)(p % g.n[2]) * rb_grid_spacing(g, 2);
}

static void fill_input(state *s) {
  int fields = s->what == DIVERGENCE ? 3 : 1;
#pragma omp parallel for schedule(static)
  for (int64_t p = 0; p < s->n; p++) {
    double x[3];
    coordinates(s->c->grid, p, x);
    for (int f = 0; f < fields; f++)
      s->host_in[f * s->n + p] = (float)(s->what == DIVERGENCE ? rb_phantom_vector(x, f)
                                         : s->what == GRADIENT ? rb_phantom_product(x)
                                                               : sin(s->omega * x[2]) + cos(s->omega * x[2]));
  }
}

static rb_status setup_what(const rb_case *c, const rb_backend *b, int rotations, what w, void **out) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(c->grid), in_count = w == DIVERGENCE ? 3 * n : n,
                out_count = w == DIVERGENCE ? n : 3 * n;
  const size_t in_bytes = (size_t)in_count * sizeof(float);
  state *s = calloc(1, sizeof *s);
  RB_CHECK(s, RB_ENOMEM, "host memory");
  s->c = c, s->backend = b, s->n = n, s->what = w, s->factor = 1;
  s->rotations = rotations < MOST_ROTATIONS ? rotations : MOST_ROTATIONS;
  s->omega = strtod(rb_case_axis(c, "omega", "1"), NULL);
  s->desc = (rb_derivative_desc){.grid = c->grid, .dtype = RB_F32};
  RB_CHECK(c->method->scheme, RB_EINVAL, "method '%s' needs a scheme", c->method->label);
  RB_TRY(rb_scheme_parse(c->method->scheme, &s->desc.scheme));
  RB_CHECK(w != PARTIAL || s->omega <= (double)c->grid.n[2] / 2, RB_EUNSUPPORTED,
           "omega %g is beyond the Nyquist frequency of %lld points", s->omega, (long long)c->grid.n[2]);
  RB_TRY(rb_derivative_create(c->variant, &s->desc, &s->plan));
  s->host_in = malloc(in_bytes);
  RB_CHECK(s->host_in, RB_ENOMEM, "host memory: %zu bytes for %s", in_bytes, c->id);
  fill_input(s);
  for (int r = 0; r < s->rotations; r++) {
    RB_TRY(rb_to_backend(b, s->host_in, RB_F32, in_count, &s->in[r]));
    RB_TRY(rb_poisoned(b, RB_F32, out_count, &s->out[r]));
  }
  *out = s;
  s = NULL;
done:
  teardown(s);
  return st;
}
static rb_status setup_gradient(const rb_case *c, const rb_backend *b, int r, void **out) {
  return setup_what(c, b, r, GRADIENT, out);
}
static rb_status setup_divergence(const rb_case *c, const rb_backend *b, int r, void **out) {
  return setup_what(c, b, r, DIVERGENCE, out);
}
static rb_status setup_partial(const rb_case *c, const rb_backend *b, int r, void **out) {
  return setup_what(c, b, r, PARTIAL, out);
}

static rb_status run(void *p, int turn) {
  state *s = p;
  int r = turn % s->rotations;
  return s->what == DIVERGENCE ? rb_divergence(s->plan, s->in[r], s->out[r])
                               : rb_gradient(s->plan, s->in[r], s->out[r]);
}
static rb_status poison(void *p, int turn) {
  state *s = p;
  return rb_array_fill(s->out[turn % s->rotations], 0xFF);
}

static rb_status rescale(void *p, int turn, double by) {
  state *s = p;
  s->factor *= by;
  return rb_scale_input(s->host_in, s->what == DIVERGENCE ? 3 * s->n : s->n, by, &s->in[turn % s->rotations]);
}

/* Exact value of output `component` at x; for Figure 2 only component 2 differs from zero. */
static double exact(const state *s, const double x[3], int component) {
  if (s->what == DIVERGENCE) return rb_phantom_vector_divergence(x);
  if (s->what == GRADIENT) return rb_phantom_product_partial(x, component);
  return component == 2 ? s->omega * (cos(s->omega * x[2]) - sin(s->omega * x[2])) : 0;
}

static void exact_error(const state *s, const float *got, rb_outcome *o) {
  double error = 0, norm = 0;
  int first = s->what == PARTIAL ? 2 : 0, last = s->what == DIVERGENCE ? 1 : 3;
#pragma omp parallel for reduction(+ : error, norm) schedule(static)
  for (int64_t p = 0; p < s->n; p++) {
    double x[3];
    coordinates(s->c->grid, p, x);
    for (int a = first; a < last; a++) {
      double want = s->factor * exact(s, x, a), e = (double)got[a * s->n + p] - want;
      error += e * e;
      norm += want * want;
    }
  }
  rb_outcome_metric(o, "error_relative", sqrt(error / norm), "1", "sqrt(sum (value - exact)^2 / sum exact^2)");
  rb_outcome_metric(o, "error_rms", sqrt(error / ((double)s->n * (last - first))), "1",
                    "sqrt(mean (value - exact)^2)");
}

static int oracle_everywhere(const state *s) { return s->desc.scheme != RB_SPECTRAL || s->n <= RB_PLACES_ALL; }

/* The oracle's values of this input, or those of cpu/fftw in float64. Kept between cases that differ only in the
 * variant. */
static rb_status reference(const state *s, const double **out, double *range) {
  static struct {
    double *want, most;
    char key[RB_CASE_KEY];
  } kept[RB_SPECTRAL + 1]; /* a slot a scheme */
  rb_status st = RB_OK;
  char mine[RB_CASE_KEY];
  int64_t in_count = s->what == DIVERGENCE ? 3 * s->n : s->n, out_count = s->what == DIVERGENCE ? s->n : 3 * s->n;
  const char *who = oracle_everywhere(s) ? "cpu/ref" : "cpu/fftw";
  const rb_variant *v;
  rb_derivative_desc d = s->desc;
  double *in = NULL;
  rb_case_key(s->c, mine, "%d %d", (int)s->what, (int)d.scheme);
  double *want = kept[d.scheme].want, most = kept[d.scheme].most;
  if (want && strcmp(kept[d.scheme].key, mine) == 0) goto done;
  kept[d.scheme].key[0] = '\0';
  kept[d.scheme].want = NULL;
  free(want);
  most = 0;
  in = malloc((size_t)in_count * sizeof *in);
  want = malloc((size_t)out_count * sizeof *want);
  RB_CHECK(in && want, RB_ENOMEM, "host memory: %zu bytes for the oracle",
           (size_t)(in_count + out_count) * sizeof *in);
  d.dtype = RB_F64;
  for (int64_t i = 0; i < in_count; i++) {
    in[i] = (double)s->host_in[i];
    most = fmax(most, fabs(in[i]));
  }
  RB_TRY(rb_variant_find(&rb_derivative_family, who, &v));
  RB_TRY(rb_host_derivative(v, &d, s->what == DIVERGENCE, in, want));
  snprintf(kept[d.scheme].key, sizeof kept[d.scheme].key, "%s", mine);
  kept[d.scheme].want = want, kept[d.scheme].most = most;
  want = NULL;
done:
  if (st != RB_OK) free(want);
  want = kept[d.scheme].want;
  free(in);
  *out = want;
  *range = most;
  return st;
}

/* Where only some values are: by the oracle itself. */
static rb_status at_places(const state *s, const float *got, double range, rb_outcome *o) {
  rb_status st = RB_OK;
  const int parts = s->what == DIVERGENCE ? 1 : 3;
  rb_places p;
  double *want = NULL, worst = 0;
  RB_TRY(rb_places_of(s->c->grid, &p));
  want = malloc((size_t)(parts * p.count) * sizeof *want);
  RB_CHECK(want, RB_ENOMEM, "host memory");
  RB_TRY(rb_derivative_oracle_at(&s->desc, s->what == DIVERGENCE, s->host_in, p.count, p.at, want));
  for (int a = 0; a < parts; a++)
    for (int64_t k = 0; k < p.count; k++) {
      const double e = fabs((double)got[a * s->n + p.at[k]] - want[a * p.count + k]);
      if (worst == worst && !(e <= worst)) worst = e; /* a NaN stays */
    }
  rb_outcome_verify(o, "max |value - oracle| at places", worst, rb_derivative_tolerance(&s->desc, range),
                    rb_places_against(&p));
  rb_places_tell(&p, o);
done:
  free(want);
  return st;
}

static rb_status against_oracle(const state *s, const float *got, rb_outcome *o) {
  rb_status st = RB_OK;
  int64_t out_count = s->what == DIVERGENCE ? s->n : 3 * s->n;
  const double *want;
  double worst = 0, range;
  RB_TRY(reference(s, &want, &range));
  for (int64_t i = 0; i < out_count; i++) {
    double e = fabs((double)got[i] - s->factor * want[i]);
    if (!(e <= worst)) worst = e;
    if (e != e) break;
  }
  rb_outcome_verify(o, "max |value - oracle|", worst, rb_derivative_tolerance(&s->desc, range),
                    oracle_everywhere(s) ? "cpu/ref" : "cpu/fftw, float64");
  if (!oracle_everywhere(s)) RB_TRY(at_places(s, got, range, o));
done:
  return st;
}

static rb_status verify(void *p, int turn, rb_outcome *o) {
  rb_status st = RB_OK;
  state *s = p;
  size_t out_bytes = (s->what == DIVERGENCE ? 1 : 3) * bytes_of(s->c);
  float *got = malloc(out_bytes);
  o->flops = rb_derivative_flops(&s->desc), o->bytes = rb_derivative_bytes(&s->desc);
  RB_CHECK(got, RB_ENOMEM, "host memory");
  RB_TRY(rb_array_download(s->out[turn % s->rotations], got));
  RB_TRY(against_oracle(s, got, o));
  exact_error(s, got, o);
  rb_outcome_metric(o, "voxels", 1e-6 * (double)s->n, "M", "nodes of the grid");
done:
  free(got);
  return st;
}

static const rb_workload_axis axes[] = {{"size", RB_VALUES_SIZE}, {"omega", RB_VALUES_NUMBER}, {NULL, NULL}};
const rb_workload rb_workload_gradient = {
    "gradient", &rb_derivative_family, predict, footprint, setup_gradient, run, poison, verify, teardown, axes,
    rescale};
const rb_workload rb_workload_divergence = {
    "divergence", &rb_derivative_family, predict, footprint, setup_divergence, run, poison, verify, teardown, axes,
    rescale};
const rb_workload rb_workload_partial = {
    "partial-x3", &rb_derivative_family, predict, footprint, setup_partial, run, poison, verify, teardown, axes,
    rescale};
