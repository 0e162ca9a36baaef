/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the transport family: every equation against the oracle, over the kernels that solvers combine. */
#include "experiments/runner/check/check.h"
#include "experiments/runner/inputs/host_apply.h"
#include "kernels/transport/transport.h"
#include "solvers/common/field_variant.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Kernels a backend's transport is checked with; those that a variant does not support are skipped. */
static const struct {
  rb_backend_kind backend;
  const char *interp, *basis, *derivative;
  rb_scheme scheme;
} kernels[] = {
    {RB_CPU, "cpu/omp", "linear", "cpu/omp", RB_FD8},
    {RB_CPU, "cpu/omp", "lagrange", "cpu/fftw", RB_SPECTRAL},
    {RB_CPU, "cpu/omp", "bspline", "cpu/omp", RB_FD8},
    {RB_CUDA, "cuda/texture-linear", "linear", "cuda/tile", RB_FD8},
    {RB_CUDA, "cuda/texture-bspline", "bspline15", "cuda/cufft", RB_SPECTRAL},
    {RB_CUDA, "cuda/global", "linear", "cuda/march", RB_FD8},
    {RB_CUDA, "cuda/tiled", "lagrange", "cuda/cufft", RB_SPECTRAL},
    {RB_CUDA, "cuda/tiled", "bspline", "cuda/march", RB_FD8},
};
enum { KERNELS = sizeof kernels / sizeof *kernels };

typedef enum { STATE, FORCE, INCREMENTAL, ADVECT, JACOBIAN, MAP, EQUATIONS } equation;
static const char *const equation_names[] = {"state", "adjoint", "incremental", "advect", "jacobian", "map"};
static const int components[] = {1, 3, 1, 1, 1, 3};

/* Everything a plan answers, on the host in its own type. */
typedef struct {
  void *of[EQUATIONS];
} answers;

typedef struct {
  void *m0, *l1, *v, *vt;
} inputs;

/* Low waves, so that values vary by less than their range over a cell; v moves points by up to about two cells a
 * step. */
static double wave(int which, const double x[3]) {
  return 0.5 * sin(x[0] + which) * cos(x[1] - which) + 0.3 * cos(x[2] + 2 * which) +
         0.2 * sin(2 * x[(unsigned)which % 3]);
}

static void fill(rb_dtype t, rb_grid g, int which, double scale, int64_t offset, void *to) {
  for (int64_t i = 0; i < rb_grid_points(g); i++) {
    double x[3] = {(double)(i / g.n[2] / g.n[1]) * rb_grid_spacing(g, 0),
                   (double)(i / g.n[2] % g.n[1]) * rb_grid_spacing(g, 1),
                   (double)(i % g.n[2]) * rb_grid_spacing(g, 2)};
    rb_check_set(t, to, offset + i, scale * wave(which, x));
  }
}

static rb_status answer(const rb_variant *variant, const rb_transport_desc *d, const inputs *in, int zero,
                        answers *out) {
  rb_status st = RB_OK;
  const rb_backend *b;
  rb_transport_plan *p = NULL;
  const int64_t n = rb_grid_points(d->grid);
  rb_array m0 = {0}, l1 = {0}, v = {0}, vt = {0}, one = {0}, three = {0};
  RB_TRY(rb_backend_get(variant->backend, &b));
  RB_TRY(rb_transport_create(variant, d, &p));
  RB_TRY(rb_to_backend(b, in->m0, d->dtype, n, &m0));
  RB_TRY(rb_to_backend(b, in->l1, d->dtype, n, &l1));
  RB_TRY(rb_to_backend(b, in->v, d->dtype, 3 * n, &v));
  RB_TRY(rb_to_backend(b, in->vt, d->dtype, 3 * n, &vt));
  RB_TRY(rb_poisoned(b, d->dtype, n, &one));
  RB_TRY(rb_poisoned(b, d->dtype, 3 * n, &three));
  RB_TRY(rb_transport_velocity(p, zero ? rb_array_none() : v));
  RB_TRY(rb_transport_state(p, m0));
  const rb_array final = rb_transport_history(p, d->steps);
  if (final.dtype != d->dtype) /* the oracle's, on the host */
    for (int64_t i = 0; i < n; i++)
      rb_check_set(d->dtype, out->of[STATE], i, rb_check_at(final.dtype, final.data, i));
  else
    RB_TRY(rb_array_download(final, out->of[STATE]));
  RB_TRY(rb_transport_adjoint(p, l1, three));
  RB_TRY(rb_array_download(three, out->of[FORCE]));
  RB_TRY(rb_transport_incremental(p, vt, one));
  RB_TRY(rb_array_download(one, out->of[INCREMENTAL]));
  RB_TRY(rb_array_upload(one, in->l1));
  RB_TRY(rb_transport_advect(p, one));
  RB_TRY(rb_array_download(one, out->of[ADVECT]));
  RB_TRY(rb_transport_jacobian(p, m0, one)); /* any field serves as the divergence */
  RB_TRY(rb_array_download(one, out->of[JACOBIAN]));
  RB_TRY(rb_transport_map(p, three));
  RB_TRY(rb_array_download(three, out->of[MAP]));
done:
  rb_transport_destroy(p);
  rb_array_destroy(&three), rb_array_destroy(&one), rb_array_destroy(&vt), rb_array_destroy(&v),
      rb_array_destroy(&l1), rb_array_destroy(&m0);
  return st;
}

static void reserve(answers *a, size_t field) {
  for (int e = 0; e < EQUATIONS; e++) a->of[e] = malloc((size_t)components[e] * field);
}
static void discard(answers *a) {
  for (int e = 0; e < EQUATIONS; e++) free(a->of[e]);
}

static int describe(const rb_variant *v, int which, rb_dtype t, rb_grid g, int steps, rb_transport_desc *d) {
  if (kernels[which].backend != v->backend) return 0;
  *d = (rb_transport_desc){.grid = g, .dtype = t, .steps = steps, .scheme = kernels[which].scheme};
  if (rb_variant_find(&rb_interp_family, kernels[which].interp, &d->interp) != RB_OK ||
      rb_variant_find(&rb_derivative_family, kernels[which].derivative, &d->derivative) != RB_OK ||
      !(d->field = rb_field_variant(v->backend)) ||
      rb_interp_basis_parse(kernels[which].basis, &d->basis, &d->prefilter) != RB_OK)
    return 0;
  rb_clear();
  return 1;
}

static void by_oracles(rb_transport_desc *d) {
  d->interp = &rb_interp_family.variants[0], d->derivative = &rb_derivative_family.variants[0],
  d->field = &rb_field_family.variants[0];
}

/* The oracle solves the same equations with the same basis and scheme; a texture's weights are the variant's own
 * error. */
static void against_oracle(rb_checker *c, const rb_transport_desc *d, const char *what, int zero) {
  rb_transport_desc exact = *d;
  int64_t n = rb_grid_points(d->grid);
  size_t field = (size_t)n * rb_dtype_size(d->dtype);
  inputs in = {malloc(field), malloc(field), malloc(3 * field), malloc(3 * field)};
  answers mine, oracle;
  reserve(&mine, field), reserve(&oracle, field);
  fill(d->dtype, d->grid, 1, 1, 0, in.m0);
  fill(d->dtype, d->grid, 2, 1, 0, in.l1);
  for (int a = 0; a < 3; a++) {
    double cells = fmin(1.5, 0.1 * (double)d->grid.n[a]);
    fill(d->dtype, d->grid, 3 + a, cells * d->steps * rb_grid_spacing(d->grid, a), a * n, in.v);
    fill(d->dtype, d->grid, 6 + a, 1, a * n, in.vt);
  }
  by_oracles(&exact);
  if (rb_check_status(c, answer(c->variant, d, &in, zero, &mine), "%s", what) &&
      rb_check_status(c, answer(&rb_transport_family.variants[0], &exact, &in, zero, &oracle), "oracle"))
    for (int e = 0; e < EQUATIONS; e++) {
      if (zero && e == JACOBIAN) continue; /* v = 0 has no divergence to hand in */
      double range = 0;
      for (int64_t i = 0; i < n * components[e]; i++)
        range = fmax(range, fabs(rb_check_at(d->dtype, oracle.of[e], i)));
      /* slopes a cell of low waves on these grids stay below the range itself */
      rb_check_value(c, rb_check_distance(d->dtype, mine.of[e], oracle.of[e], n * components[e]),
                     rb_transport_tolerance(d, range + 1, range + 1), "%s %s %s %lldx%lldx%lld steps %d%s %s",
                     equation_names[e], what, d->interp->name, (long long)d->grid.n[0], (long long)d->grid.n[1],
                     (long long)d->grid.n[2], d->steps, zero ? " v = 0" : "", rb_dtype_name(d->dtype));
    }
  discard(&oracle), discard(&mine);
  free(in.vt), free(in.v), free(in.l1), free(in.m0);
}

/* A velocity of whole cells a step moves the image by exactly that: m(1)(x) = m0(x - v), to the interpolation's
 * rounding. */
static void whole_cells(rb_checker *c, const rb_transport_desc *d, const char *what) {
  int64_t n = rb_grid_points(d->grid);
  size_t field = (size_t)n * rb_dtype_size(d->dtype);
  const int shift[3] = {d->steps, -2 * d->steps, d->steps};
  inputs in = {malloc(field), malloc(field), malloc(3 * field), malloc(3 * field)};
  answers mine;
  void *want = malloc(field);
  reserve(&mine, field);
  fill(d->dtype, d->grid, 1, 1, 0, in.m0);
  fill(d->dtype, d->grid, 2, 1, 0, in.l1);
  for (int a = 0; a < 3; a++) {
    for (int64_t i = 0; i < n; i++) rb_check_set(d->dtype, in.v, a * n + i, shift[a] * rb_grid_spacing(d->grid, a));
    fill(d->dtype, d->grid, 6 + a, 1, a * n, in.vt);
  }
  rb_check_roll(d->dtype, d->grid, in.m0, shift, want);
  if (rb_check_status(c, answer(c->variant, d, &in, 0, &mine), "%s", what))
    rb_check_value(c, rb_check_distance(d->dtype, mine.of[STATE], want, n), rb_transport_tolerance(d, 2, 2),
                   "whole cells shift the image, %s %s", what, rb_dtype_name(d->dtype));
  discard(&mine);
  free(want), free(in.vt), free(in.v), free(in.l1), free(in.m0);
}

void rb_check_transport(rb_checker *c) {
  static const rb_grid grids[] = {{{16, 16, 16}}, {{12, 10, 14}}, {{11, 13, 17}}, {{11, 13, 18}}, {{40, 9, 36}}};
  rb_transport_desc d;
  for (int t = RB_F32; t <= RB_F64; t++)
    for (int k = 0; k < KERNELS; k++) {
      if (t == RB_F64 && c->variant->backend == RB_CUDA) continue;
      for (size_t g = 0; g < sizeof grids / sizeof *grids; g++) {
        if (!describe(c->variant, k, (rb_dtype)t, grids[g], g == 0 ? 4 : (int)g % 4 + (g == 4), &d)) continue;
        against_oracle(c, &d, kernels[k].basis, 0);
        if (g == 1) against_oracle(c, &d, kernels[k].basis, 1);
        if (g == 2) whole_cells(c, &d, kernels[k].basis);
      }
    }
}

void rb_check_transport_golden(rb_checker *c) {
  rb_transport_desc d;
  rb_grid g = rb_grid_make(8, 7, 6);
  enum { N = 8 * 7 * 6 };
  float m0[N], l1[N], v[3 * N], vt[3 * N], out[EQUATIONS][3 * N];
  inputs in = {m0, l1, v, vt};
  answers a = {{out[0], out[1], out[2], out[3], out[4], out[5]}};
  fill(RB_F32, g, 1, 1, 0, m0);
  fill(RB_F32, g, 2, 1, 0, l1);
  for (int e = 0; e < 3; e++) {
    fill(RB_F32, g, 3 + e, 3 * rb_grid_spacing(g, e), e * N, v);
    fill(RB_F32, g, 6 + e, 1, e * N, vt);
  }
  for (int k = 0; k < KERNELS; k++) {
    char name[64];
    if (!describe(c->variant, k, RB_F32, g, 3, &d)) continue;
    rb_transport_desc made = d;
    if (!c->of_variant) by_oracles(&made);
    if (!rb_check_status(c, answer(c->of_variant ? c->variant : &rb_transport_family.variants[0], &made, &in, 0, &a),
                         "golden"))
      continue;
    for (int e = 0; e < EQUATIONS; e++) {
      snprintf(name, sizeof name, "%s-%s-%s", equation_names[e], kernels[k].basis, rb_dtype_name(RB_F32));
      for (char *s = name; *s; s++)
        if (*s == '/') *s = '-';
      if (kernels[k].scheme == RB_SPECTRAL) strncat(name, "-spectral", sizeof name - strlen(name) - 1);
      strncat(name, strrchr(d.interp->name, '/') + 1, sizeof name - strlen(name) - 1);
      rb_check_golden(c, name, a.of[e], (int64_t)components[e] * N,
                      c->of_variant ? rb_transport_tolerance(&d, 2, 2) : 0); /* recordings hold theirs */
    }
  }
}
