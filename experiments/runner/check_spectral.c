/* Checks of the spectral family, and of the probes. */
#include "experiments/runner/check.h"
#include "experiments/runner/host_apply.h"
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
    {"gaussian", {.kind = RB_OP_GAUSSIAN, .sigma = {1, 1.5, 0.5}}},
    {"leray", {.kind = RB_OP_LERAY, .beta_v = 0, .beta_w = 1}},
    {"leray-penalty", {.kind = RB_OP_LERAY, .beta_v = 5e-4, .beta_w = 1e-4}},
};
enum { CASES = sizeof cases / sizeof *cases };

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
    rb_check_value(c, rb_check_distance(d->dtype, got, want, n), rb_spectral_tolerance(d, 1, rb_spectral_symbol_max(op, d->grid)),
                   "%s %lldx%lldx%lld %d comp %s", cases[which].name, (long long)d->grid.n[0], (long long)d->grid.n[1],
                   (long long)d->grid.n[2], d->components, rb_dtype_name(d->dtype));
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
                   rb_spectral_tolerance(d, 1, rb_spectral_symbol_max(op, d->grid)), "self-adjoint %s %s", cases[which].name, rb_dtype_name(d->dtype));
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
    rb_check_value(c, rb_check_distance(d->dtype, in, out, n), rb_spectral_tolerance(d, 1, rb_spectral_symbol_max(&forward, d->grid)),
                   "inverse of helmholtz %s", rb_dtype_name(d->dtype));
  if (d->components == 3 && rb_check_status(c, rb_host_spectral(c->variant, d, &cases[6].op, in, mid), "projection") &&
      rb_check_status(c, rb_host_spectral(c->variant, d, &cases[6].op, mid, out), "projection"))
    rb_check_value(c, rb_check_distance(d->dtype, mid, out, n), rb_spectral_tolerance(d, 1, 1), "projection twice is once %s", rb_dtype_name(d->dtype));
  free(out), free(mid), free(in);
}

void rb_check_spectral(rb_checker *c) {
  for (int t = RB_F32; t <= RB_F64; t++) {
    rb_spectral_desc d = {.dtype = (rb_dtype)t, .components = 3, .grid = rb_grid_make(12, 10, 9)};
    if (!supported(c->variant, &d)) continue;
    inverse_and_projection(c, &d);
    for (int w = 0; w < CASES; w++) {
      self_adjoint(c, &d, w);
      for (int i = 0; i < rb_check_grid_count - 2; i++) { /* the oracle's sums get long on the largest */
        rb_spectral_desc e = {.dtype = (rb_dtype)t, .grid = rb_check_grids[i], .components = cases[w].op.kind == RB_OP_LERAY || i % 2 ? 3 : 1};
        against_oracle(c, &e, w);
      }
    }
  }
}

void rb_check_spectral_golden(rb_checker *c) {
  enum { N = 3 * 6 * 5 * 7 };
  const rb_variant *v = c->record ? c->variant : &rb_spectral_family.variants[0];
  rb_spectral_desc d = {.dtype = RB_F32, .components = 3, .grid = rb_grid_make(6, 5, 7)};
  float in[N], out[N];
  rb_check_random(RB_F32, in, N, 71);
  for (int w = 0; w < CASES; w++)
    if (rb_check_status(c, rb_host_spectral(v, &d, &cases[w].op, in, out), "golden"))
      rb_check_golden(c, cases[w].name, out, N, rb_spectral_tolerance(&d, 1, rb_spectral_symbol_max(&cases[w].op, d.grid)));
}

/* A probe verifies its own result; here a short pass must succeed with a positive rate. */
void rb_check_probe(rb_checker *c) {
  double rate = 0;
  if (rb_check_status(c, rb_probe_measure(c->variant, (size_t)4 << 20, 3, &rate), "measure"))
    rb_check_value(c, rate > 0 && rate < 1e18 ? 0 : 1, 0, "rate is positive and finite");
}
