/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the spectral family, and of the probes. */
#include "experiments/runner/check/check.h"
#include "experiments/runner/inputs/host_apply.h"
#include "kernels/probe/probe.h"

#include <math.h>
#include <stdlib.h>

static const struct {
  const char *name;
  rb_spectral_op op;
} cases[] = {
    {"laplacian", {.kind = RB_OP_HELMHOLTZ, .scale = 0.5, .alpha = 1, .power = 1}},
    {"bilaplacian", {.kind = RB_OP_HELMHOLTZ, .scale = 1, .alpha = 1, .power = 2}},
    {"inverse-laplacian", {.kind = RB_OP_HELMHOLTZ, .scale = 2, .alpha = 1, .power = -1, .null = 2}},
    {"helmholtz", {.kind = RB_OP_HELMHOLTZ, .scale = 1, .alpha = 0.1, .gamma = 1, .power = 1}},
    {"inverse-helmholtz", {.kind = RB_OP_HELMHOLTZ, .scale = 1, .alpha = 0.1, .gamma = 1, .power = -2}},
    {"gaussian", {.kind = RB_OP_GAUSSIAN, .scale = 1, .sigma = {1, 1.5, 0.5}}},
    {"leray", {.kind = RB_OP_LERAY, .scale = 1, .beta_v = 0, .beta_w = 1}},
    {"leray-penalty", {.kind = RB_OP_LERAY, .scale = 1, .beta_v = 5e-4, .beta_w = 1e-4}},
    {"h1-div", {.kind = RB_OP_H1DIV, .scale = 0.5, .beta_v = 5e-4, .beta_w = 1e-4}},
};
enum { CASES = sizeof cases / sizeof *cases };

static int vector_only(int which) {
  return cases[which].op.kind == RB_OP_LERAY || cases[which].op.kind == RB_OP_H1DIV;
}

static int supported(const rb_variant *v, const rb_spectral_desc *d) {
  int ok = ((const rb_spectral_ops *)v->ops)->supports(d) == RB_OK;
  rb_clear();
  return ok;
}

static void against_oracle(rb_checker *c, const rb_spectral_desc *d, int which) {
  const rb_variant *oracle = &rb_spectral_family.variants[0];
  const rb_spectral_op *op = &cases[which].op;
  int64_t n = rb_grid_points(d->grid) * d->components;
  size_t bytes = (size_t)n * rb_dtype_size(d->dtype);
  void *in = malloc(bytes), *got = malloc(bytes), *want = malloc(bytes);
  rb_check_random(d->dtype, in, n, 17);
  if (rb_check_status(c, rb_host_spectral(c->variant, d, op, in, got), "%s", cases[which].name) &&
      rb_check_status(c, rb_host_spectral(oracle, d, op, in, want), "oracle"))
    rb_check_value(c, rb_check_distance(d->dtype, got, want, n),
                   rb_spectral_tolerance(d, 1, rb_spectral_symbol_max(op, d->grid)), "%s %lldx%lldx%lld %d comp %s",
                   cases[which].name, (long long)d->grid.n[0], (long long)d->grid.n[1], (long long)d->grid.n[2],
                   d->components, rb_dtype_name(d->dtype));
  free(want), free(got), free(in);
}

/* <S a, b> = <a, S b>: every operator here is real and self-adjoint. */
static void self_adjoint(rb_checker *c, const rb_spectral_desc *d, int which) {
  const rb_spectral_op *op = &cases[which].op;
  int64_t n = rb_grid_points(d->grid) * d->components;
  size_t bytes = (size_t)n * rb_dtype_size(d->dtype);
  void *a = malloc(bytes), *b = malloc(bytes), *sa = malloc(bytes), *sb = malloc(bytes);
  rb_check_random(d->dtype, a, n, 51);
  rb_check_random(d->dtype, b, n, 52);
  if (rb_check_status(c, rb_host_spectral(c->variant, d, op, a, sa), "adjoint") &&
      rb_check_status(c, rb_host_spectral(c->variant, d, op, b, sb), "adjoint"))
    rb_check_value(c, fabs(rb_check_dot(d->dtype, sa, b, n) - rb_check_dot(d->dtype, a, sb, n)) / (double)n,
                   rb_spectral_tolerance(d, 1, rb_spectral_symbol_max(op, d->grid)), "self-adjoint %s %s",
                   cases[which].name, rb_dtype_name(d->dtype));
  free(sb), free(sa), free(b), free(a);
}

/* (alpha |k|^2 + gamma) and its inverse cancel; a projection applied twice is itself. */
static void inverse_and_projection(rb_checker *c, const rb_spectral_desc *d) {
  int64_t n = rb_grid_points(d->grid) * d->components;
  size_t bytes = (size_t)n * rb_dtype_size(d->dtype);
  void *in = malloc(bytes), *mid = malloc(bytes), *out = malloc(bytes);
  rb_spectral_op forward = cases[3].op, inverse = cases[3].op;
  inverse.power = -1;
  rb_check_random(d->dtype, in, n, 61);
  if (rb_check_status(c, rb_host_spectral(c->variant, d, &forward, in, mid), "inverse") &&
      rb_check_status(c, rb_host_spectral(c->variant, d, &inverse, mid, out), "inverse"))
    rb_check_value(c, rb_check_distance(d->dtype, in, out, n),
                   rb_spectral_tolerance(d, 1, rb_spectral_symbol_max(&forward, d->grid)), "inverse of helmholtz %s",
                   rb_dtype_name(d->dtype));
  if (d->components == 3 &&
      rb_check_status(c, rb_host_spectral(c->variant, d, &cases[6].op, in, mid), "projection") &&
      rb_check_status(c, rb_host_spectral(c->variant, d, &cases[6].op, mid, out), "projection"))
    rb_check_value(c, rb_check_distance(d->dtype, mid, out, n), rb_spectral_tolerance(d, 1, 1),
                   "projection twice is once %s", rb_dtype_name(d->dtype));
  free(out), free(mid), free(in);
}

/* S(x + 2 y) = S x + 2 S y, and S commutes with a shift of the grid. */
static void linear_and_shift(rb_checker *c, const rb_spectral_desc *d, int which) {
  static const int shift[3] = {3, 1, 4};
  const rb_spectral_op *op = &cases[which].op;
  int64_t points = rb_grid_points(d->grid), n = points * d->components;
  size_t bytes = (size_t)n * rb_dtype_size(d->dtype), component = (size_t)points * rb_dtype_size(d->dtype);
  char *x = malloc(bytes), *y = malloc(bytes), *sx = malloc(bytes), *sy = malloc(bytes), *want = malloc(bytes);
  double limit = 4 * rb_spectral_tolerance(d, 1, rb_spectral_symbol_max(op, d->grid));
  rb_check_random(d->dtype, x, n, 81);
  rb_check_random(d->dtype, y, n, 82);
  if (rb_check_status(c, rb_host_spectral(c->variant, d, op, x, sx), "linear") &&
      rb_check_status(c, rb_host_spectral(c->variant, d, op, y, sy), "linear")) {
    for (int64_t i = 0; i < n; i++) {
      rb_check_set(d->dtype, want, i, rb_check_at(d->dtype, sx, i) + 2 * rb_check_at(d->dtype, sy, i));
      rb_check_set(d->dtype, y, i, rb_check_at(d->dtype, x, i) + 2 * rb_check_at(d->dtype, y, i));
    }
    if (rb_check_status(c, rb_host_spectral(c->variant, d, op, y, sy), "linear"))
      rb_check_value(c, rb_check_distance(d->dtype, sy, want, n), limit, "linear %s %s", cases[which].name,
                     rb_dtype_name(d->dtype));
    for (int m = 0; m < d->components; m++) {
      rb_check_roll(d->dtype, d->grid, x + (size_t)m * component, shift, y + (size_t)m * component);
      rb_check_roll(d->dtype, d->grid, sx + (size_t)m * component, shift, want + (size_t)m * component);
    }
    if (rb_check_status(c, rb_host_spectral(c->variant, d, op, y, sy), "shift"))
      rb_check_value(c, rb_check_distance(d->dtype, sy, want, n), limit, "shift %s %s", cases[which].name,
                     rb_dtype_name(d->dtype));
  }
  free(want), free(sy), free(sx), free(y), free(x);
}

/* Coefficients of a field and the field again, by `v`: c = U f, g = U^-1 (S c), e = S U f + S c. */
typedef struct {
  void *c, *g, *e;
} coefficient_results;

static rb_status coefficients_by(const rb_variant *v, const rb_spectral_desc *d, const rb_spectral_op *op,
                                 const void *f, coefficient_results out) {
  rb_status st = RB_OK;
  const rb_backend *b;
  rb_spectral_plan *plan = NULL;
  const rb_spectral_op one = rb_spectral_times(1);
  const int64_t values = rb_grid_points(d->grid) * d->components,
                coefficients = rb_spectral_coefficients(d->grid) * d->components;
  rb_array df = {0}, dc = {0}, dg = {0};
  RB_TRY(rb_backend_get(v->backend, &b));
  RB_TRY(rb_to_backend(b, f, d->dtype, values, &df));
  RB_TRY(rb_poisoned(b, d->dtype, coefficients, &dc));
  RB_TRY(rb_poisoned(b, d->dtype, values, &dg));
  RB_TRY(rb_spectral_create(v, d, &plan));
  RB_TRY(rb_spectral_analyse(plan, &one, df, NULL, rb_array_none(), dc));
  RB_TRY(rb_array_download(dc, out.c));
  RB_TRY(rb_spectral_scale(plan, op, dc, dc));
  RB_TRY(rb_spectral_synthesise(plan, dc, dg));
  RB_TRY(rb_array_download(dg, out.g));
  RB_TRY(rb_array_upload(dc, out.c));
  RB_TRY(rb_spectral_analyse(plan, op, df, op, dc, dc));
  RB_TRY(rb_array_download(dc, out.e));
done:
  rb_spectral_destroy(plan);
  rb_array_destroy(&dg);
  rb_array_destroy(&dc);
  rb_array_destroy(&df);
  return st;
}

/* Against the oracle, against apply, and as an orthonormal basis. */
static void coefficients(rb_checker *c, const rb_spectral_desc *d, int which) {
  const rb_spectral_op *op = &cases[which].op;
  int64_t n = rb_grid_points(d->grid) * d->components, m = rb_spectral_coefficients(d->grid) * d->components;
  size_t size = rb_dtype_size(d->dtype);
  double most = rb_spectral_symbol_max(op, d->grid), limit = rb_spectral_tolerance(d, 1, most);
  void *f = malloc((size_t)n * size), *applied = malloc((size_t)n * size);
  coefficient_results mine = {malloc((size_t)m * size), malloc((size_t)n * size), malloc((size_t)m * size)};
  coefficient_results oracle = {malloc((size_t)m * size), malloc((size_t)n * size), malloc((size_t)m * size)};
  rb_check_random(d->dtype, f, n, 91);
  if (rb_check_status(c, coefficients_by(c->variant, d, op, f, mine), "coefficients") &&
      rb_check_status(c, coefficients_by(&rb_spectral_family.variants[0], d, op, f, oracle), "oracle") &&
      rb_check_status(c, rb_host_spectral(c->variant, d, op, f, applied), "apply")) {
    /* one coefficient may hold the energy of all points: a constant field's mean */
    double range = sqrt((double)rb_grid_points(d->grid));
    rb_check_value(c, rb_check_distance(d->dtype, mine.c, oracle.c, m), rb_spectral_tolerance(d, range, 1),
                   "coefficients %s", rb_dtype_name(d->dtype));
    rb_check_value(c, rb_check_distance(d->dtype, mine.e, oracle.e, m), 2 * rb_spectral_tolerance(d, range, most),
                   "S U f + S c %s %s", cases[which].name, rb_dtype_name(d->dtype));
    rb_check_value(c, rb_check_distance(d->dtype, mine.g, applied, n), 2 * limit,
                   "scale between transforms is apply, %s %s", cases[which].name, rb_dtype_name(d->dtype));
    rb_check_value(c, fabs(rb_check_dot(d->dtype, mine.c, mine.c, m) - rb_check_dot(d->dtype, f, f, n)) / (double)n,
                   rb_spectral_tolerance(d, 1, 1), "sum of squares of coefficients %s", rb_dtype_name(d->dtype));
  }
  free(oracle.e), free(oracle.g), free(oracle.c), free(mine.e), free(mine.g), free(mine.c), free(applied), free(f);
}

void rb_check_spectral(rb_checker *c) {
  for (int t = RB_F32; t <= RB_F64; t++) {
    rb_spectral_desc d = {.dtype = (rb_dtype)t, .components = 3, .grid = rb_grid_make(12, 10, 9)};
    if (!supported(c->variant, &d)) continue;
    inverse_and_projection(c, &d);
    for (int w = 0; w < CASES; w++) {
      rb_spectral_desc even = {
          .dtype = (rb_dtype)t, .components = vector_only(w) ? 3 : 1, .grid = rb_grid_make(6, 7, 8)};
      self_adjoint(c, &d, w);
      linear_and_shift(c, &d, w);
      coefficients(c, &d, w);
      coefficients(c, &even, w);
      for (int i = 0; i < rb_check_grid_count - 2; i++) { /* the oracle's sums get long on the largest */
        rb_spectral_desc e = {
            .dtype = (rb_dtype)t, .grid = rb_check_grids[i], .components = vector_only(w) || i % 2 ? 3 : 1};
        against_oracle(c, &e, w);
      }
    }
  }
}

void rb_check_spectral_golden(rb_checker *c) {
  enum { N = 3 * 6 * 5 * 7 };
  const rb_variant *v = c->of_variant ? c->variant : &rb_spectral_family.variants[0];
  rb_spectral_desc d = {.dtype = RB_F32, .components = 3, .grid = rb_grid_make(6, 5, 7)};
  float in[N], out[N];
  rb_check_random(RB_F32, in, N, 71);
  for (int w = 0; w < CASES; w++)
    if (rb_check_status(c, rb_host_spectral(v, &d, &cases[w].op, in, out), "golden"))
      rb_check_golden(c, cases[w].name, out, N,
                      rb_spectral_tolerance(&d, 1, rb_spectral_symbol_max(&cases[w].op, d.grid)));
}

/* A probe verifies its own result; here a short pass must succeed with a positive rate. */
void rb_check_probe(rb_checker *c) {
  double rate = 0;
  if (rb_check_status(c, rb_probe_measure(c->variant, (size_t)4 << 20, 3, &rate), "measure"))
    rb_check_value(c, rate > 0 && rate < 1e18 ? 0 : 1, 0, "rate is positive and finite");
}
