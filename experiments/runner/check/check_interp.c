/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the interp family. */
#include "experiments/runner/check/check.h"
#include "experiments/runner/inputs/host_apply.h"
#include "kernels/base/rng.h"

#include <math.h>
#include <stdlib.h>

static const char *const bases[] = {"linear", "lagrange", "bspline", "bspline15"};

static rb_interp_desc describe(rb_grid g, int basis, rb_boundary boundary, rb_dtype t, int components) {
  rb_interp_desc d = {.grid = g, .boundary = boundary, .dtype = t, .components = components};
  rb_interp_basis_parse(bases[basis], &d.basis, &d.prefilter);
  return d;
}

/* Half of the points near their node, as a registration's; half anywhere within five periods. */
static void scatter(const rb_interp_desc *d, int64_t np, void *x, int localized) {
  rb_grid g = d->grid;
  for (int64_t p = 0; p < np; p++) {
    int64_t node[3] = {p / g.n[2] / g.n[1] % g.n[0], p / g.n[2] % g.n[1], p % g.n[2]};
    for (int a = 0; a < 3; a++) {
      double r = rb_rng_symmetric(11 + (uint64_t)a, (uint64_t)p);
      double near = (double)node[a] + r, far = 2.5 * (double)g.n[a] * r;
      double v = localized ? 0.25 * (double)g.n[a] + 0.5 + 0.49 * r : p % 2 ? far : near;
      if (localized) v = floor(0.25 * (double)g.n[a]) + 0.5 + 0.49 * r;
      rb_check_set(d->dtype, x, a * np + p, v);
    }
  }
}

/* The variant against the oracle for one description; np points. */
static void against_oracle(rb_checker *c, const rb_interp_desc *d, int64_t np) {
  size_t size = rb_dtype_size(d->dtype);
  int64_t n = rb_grid_points(d->grid) * d->components, values = np * d->components;
  const rb_variant *oracle = &rb_interp_family.variants[0];
  void *f = malloc((size_t)n * size), *x = malloc((size_t)(3 * np) * size);
  void *got = malloc((size_t)values * size), *want = malloc((size_t)values * size);
  const int64_t *g = d->grid.n;
  rb_check_random(d->dtype, f, n, 5);
  scatter(d, np, x, d->localized);
  rb_status st = rb_host_interp(c->variant, d, f, np, x, got);
  const char *what = rb_interp_basis_name(d->basis);
  if (rb_check_status(c, st, "%s %lldx%lldx%lld", what, (long long)g[0], (long long)g[1], (long long)g[2]) &&
      rb_check_status(c, rb_host_interp(oracle, d, f, np, x, want), "oracle"))
    rb_check_value(c, rb_check_distance(d->dtype, got, want, values), rb_interp_tolerance(c->variant, d, 1),
                   "%s%s %s %lldx%lldx%lld %d comp %s np=%lld", what, d->prefilter == RB_PREFILTER_15TAP ? "15" : "",
                   d->boundary == RB_PERIODIC ? "periodic"
                   : d->boundary == RB_CLAMP  ? "clamp"
                                              : "zero",
                   (long long)g[0], (long long)g[1], (long long)g[2], d->components, rb_dtype_name(d->dtype),
                   (long long)np);
  free(want), free(got), free(x), free(f);
}

/* At displaced nodes, some far outside: the bits of points that were written down before. */
static rb_status at_displaced(const rb_variant *v, const rb_interp_desc *d, const void *f, const void *u, void *out) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(d->grid);
  const rb_backend *b;
  rb_interp_plan *p = NULL;
  rb_array df = {0}, du = {0}, to = {0};
  RB_TRY(rb_backend_get(v->backend, &b));
  RB_TRY(rb_interp_create(v, d, &p));
  RB_TRY(rb_to_backend(b, f, d->dtype, n * d->components, &df));
  RB_TRY(rb_to_backend(b, u, d->dtype, 3 * n, &du));
  RB_TRY(rb_poisoned(b, d->dtype, n * d->components, &to));
  RB_TRY(rb_interp_load(p, df));
  RB_TRY(rb_interp_displaced(p, du, to));
  RB_TRY(rb_array_download(to, out));
done:
  rb_interp_destroy(p);
  rb_array_destroy(&to), rb_array_destroy(&du), rb_array_destroy(&df);
  return st;
}
static void displaced_nodes(rb_checker *c, const rb_interp_desc *d) {
  if (!rb_interp_has_displaced(c->variant)) return;
  const rb_grid g = d->grid;
  const int64_t n = rb_grid_points(g), values = n * d->components;
  const size_t size = rb_dtype_size(d->dtype);
  void *f = malloc((size_t)values * size), *x = malloc((size_t)(3 * n) * size), *u = malloc((size_t)(3 * n) * size),
       *got = malloc((size_t)values * size), *want = malloc((size_t)values * size);
  rb_check_random(d->dtype, f, values, 6);
  for (int64_t p = 0; p < n; p++) {
    const int64_t node[3] = {p / g.n[2] / g.n[1], p / g.n[2] % g.n[1], p % g.n[2]};
    for (int a = 0; a < 3; a++) {
      rb_check_set(d->dtype, u, a * n + p,
                   (p % 7 ? 2 : 2.5 * (double)g.n[a]) * rb_rng_symmetric(14 + (uint64_t)a, (uint64_t)p));
      const double at = rb_check_at(d->dtype, u, a * n + p);
      rb_check_set(d->dtype, x, a * n + p,
                   d->dtype == RB_F32 ? (double)((float)node[a] + (float)at) : (double)node[a] + at);
    }
  }
  if (rb_check_status(c, rb_host_interp(c->variant, d, f, n, x, want), "points") &&
      rb_check_status(c, at_displaced(c->variant, d, f, u, got), "displaced nodes"))
    rb_check_value(c, rb_check_distance(d->dtype, got, want, values), 0, "displaced nodes, to the bit, %d comp",
                   d->components);
  free(want), free(got), free(u), free(x), free(f);
}

/* I(f o shift) at shifted points is I(f): integer shifts of a periodic field change nothing. */
static void shift_and_linearity(rb_checker *c, const rb_interp_desc *d) {
  rb_grid g = d->grid;
  int64_t n = rb_grid_points(g);
  const int shift[3] = {3, -2, 5};
  size_t size = rb_dtype_size(d->dtype), bytes = (size_t)n * size;
  void *f = malloc(bytes), *rolled = malloc(bytes), *x = malloc(3 * bytes), *a = malloc(bytes), *b = malloc(bytes),
       *s = malloc(bytes);
  double tolerance = 2 * rb_interp_tolerance(c->variant, d, 1);
  rb_check_random(d->dtype, f, n, 21);
  rb_check_roll(d->dtype, g, f, shift, rolled);
  scatter(d, n, x, 0);
  /* far points lose fraction bits when moved: keep to near ones */
  for (int64_t i = 0; i < 3 * n; i++) {
    double v = rb_check_at(d->dtype, x, i), limit = (double)g.n[i / n];
    rb_check_set(d->dtype, x, i, round(fmod(v, limit) * 1024) / 1024);
  }
  if (rb_check_status(c, rb_host_interp(c->variant, d, f, n, x, a), "shift")) {
    for (int64_t i = 0; i < 3 * n; i++) rb_check_set(d->dtype, x, i, rb_check_at(d->dtype, x, i) + shift[i / n]);
    if (rb_check_status(c, rb_host_interp(c->variant, d, rolled, n, x, b), "shift"))
      rb_check_value(c, rb_check_distance(d->dtype, a, b, n), tolerance, "shift %s", rb_interp_basis_name(d->basis));
    /* linearity: I(rolled/2 - f/4) = I(rolled)/2 - I(f)/4 at the same points */
    for (int64_t i = 0; i < n; i++)
      rb_check_set(d->dtype, s, i, 0.5 * rb_check_at(d->dtype, rolled, i) - 0.25 * rb_check_at(d->dtype, f, i));
    if (rb_check_status(c, rb_host_interp(c->variant, d, f, n, x, a), "linearity") &&
        rb_check_status(c, rb_host_interp(c->variant, d, s, n, x, rolled), "linearity")) {
      for (int64_t i = 0; i < n; i++)
        rb_check_set(d->dtype, a, i, 0.5 * rb_check_at(d->dtype, b, i) - 0.25 * rb_check_at(d->dtype, a, i));
      rb_check_value(c, rb_check_distance(d->dtype, a, rolled, n), tolerance, "linearity %s",
                     rb_interp_basis_name(d->basis));
    }
  }
  free(s), free(b), free(a), free(x), free(rolled), free(f);
}

/* A polynomial of the basis's degree is reproduced between nodes far enough from the border. */
static void polynomial(rb_checker *c, rb_interp_desc d) {
  int degree = d.basis == RB_LINEAR ? 1 : 3, margin = d.basis == RB_LINEAR ? 0 : 1;
  if (d.basis == RB_BSPLINE) return; /* its prefilter is periodic: no polynomial survives the ends */
  d.boundary = RB_CLAMP;
  int64_t n = rb_grid_points(d.grid), np = 500;
  size_t size = rb_dtype_size(d.dtype);
  void *f = malloc((size_t)n * size), *x = malloc((size_t)(3 * np) * size), *got = malloc((size_t)np * size),
       *want = malloc((size_t)np * size);
  for (int64_t i = 0; i < n; i++) {
    const int64_t *m = d.grid.n;
    double u[3] = {(double)(i / m[2] / m[1]) / (double)m[0], (double)(i / m[2] % m[1]) / (double)m[1],
                   (double)(i % m[2]) / (double)m[2]};
    rb_check_set(d.dtype, f, i, pow(u[0], degree) - pow(u[1], degree) * u[2] + u[2]);
  }
  for (int64_t p = 0; p < np; p++) {
    double u[3];
    for (int a = 0; a < 3; a++) {
      double span = (double)d.grid.n[a] - 1.001 - 2 * margin;
      rb_check_set(d.dtype, x, a * np + p, margin + span * rb_rng_uniform(31 + (uint64_t)a, (uint64_t)p));
      u[a] = rb_check_at(d.dtype, x, a * np + p) / (double)d.grid.n[a];
    }
    rb_check_set(d.dtype, want, p, pow(u[0], degree) - pow(u[1], degree) * u[2] + u[2]);
  }
  if (rb_check_status(c, rb_host_interp(c->variant, &d, f, np, x, got), "polynomial"))
    rb_check_value(c, rb_check_distance(d.dtype, got, want, np), rb_interp_tolerance(c->variant, &d, 2),
                   "polynomial exactness %s", rb_interp_basis_name(d.basis));
  free(want), free(got), free(x), free(f);
}

/* A constant stays one: weights sum to 1, and so do a prefilter's taps. A stencil that drops its outer four changes
 * it by 3e-3 in three dimensions, which 8-bit fractions, whose weights sum to 1 as well, do not hide (Table 4's
 * B-spline is within 5e-5 of a field of range 1). */
static void constant(rb_checker *c, const rb_interp_desc *d) {
  enum { N = 16 * 12 * 20 };
  const rb_interp_ops *ops = c->variant->ops;
  static double one[N], x[3 * N], got[N]; /* of either precision */
  const double rounding = rb_interp_tolerance(&rb_interp_family.variants[0], d, 2);
  for (int64_t i = 0; i < N; i++) rb_check_set(d->dtype, one, i, 1);
  scatter(d, N, x, 0);
  if (rb_check_status(c, rb_host_interp(c->variant, d, one, N, x, got), "constant"))
    rb_check_value(c, rb_check_distance(d->dtype, got, one, N), ops->weight_bits ? 1e-3 : rounding, "constant %s",
                   rb_interp_basis_name(d->basis));
}

/* Root mean square error on a smooth periodic function at points three eighths of a cell from a node: no scheme is
 * exact there, nor at its best by symmetry. */
static rb_status smooth_error(const rb_variant *v, rb_interp_desc d, int64_t n, double *error) {
  static const double OFFSET = 0.375;
  rb_status st = RB_OK;
  d.grid = rb_grid_make(n, n, n);
  int64_t count = n * n * n;
  size_t size = rb_dtype_size(d.dtype);
  void *f = malloc((size_t)count * size), *x = malloc((size_t)(3 * count) * size),
       *got = malloc((size_t)count * size);
  double h = RB_TWO_PI / (double)n, sum = 0;
  for (int64_t i = 0; i < count; i++) {
    int64_t node[3] = {i / n / n, i / n % n, i % n};
    rb_check_set(d.dtype, f, i, sin(h * (double)node[0]) * cos(h * (double)node[1]) + sin(h * (double)node[2] + 1));
    for (int a = 0; a < 3; a++) rb_check_set(d.dtype, x, a * count + i, (double)node[a] + OFFSET);
  }
  RB_TRY(rb_host_interp(v, &d, f, count, x, got));
  for (int64_t i = 0; i < count; i++) {
    double u[3] = {h * ((double)(i / n / n) + OFFSET), h * ((double)(i / n % n) + OFFSET),
                   h * ((double)(i % n) + OFFSET)};
    sum += pow(rb_check_at(d.dtype, got, i) - (sin(u[0]) * cos(u[1]) + sin(u[2] + 1)), 2);
  }
  *error = sqrt(sum / (double)count);
done:
  free(got), free(x), free(f);
  return st;
}

static void order(rb_checker *c, const rb_interp_desc *d) {
  const rb_interp_ops *ops = c->variant->ops;
  if (ops->weight_bits || d->prefilter == RB_PREFILTER_15TAP) return; /* their error has a floor */
  double coarse = 0, fine = 0, expected = d->basis == RB_LINEAR ? 2 : 4;
  if (!rb_check_status(c, smooth_error(c->variant, *d, 8, &coarse), "order") ||
      !rb_check_status(c, smooth_error(c->variant, *d, 16, &fine), "order"))
    return;
  rb_check_value(c, fabs(log2(coarse / fine) - expected), 0.35, "order of convergence %s %s",
                 rb_interp_basis_name(d->basis), rb_dtype_name(d->dtype));
}

/* Points that are NaN or far away must not disturb the others, nor read outside the field (memcheck watches). */
static void wild_points(rb_checker *c, const rb_interp_desc *d) {
  enum { N = 16 * 12 * 20 };
  static float f[N], x[3 * N], calm[N], wild[N];
  const float odd[4] = {NAN, 1e12f, -1e12f, INFINITY};
  double worst = 0;
  rb_check_random(RB_F32, f, N, 91);
  scatter(d, N, x, 0);
  if (!rb_check_status(c, rb_host_interp(c->variant, d, f, N, x, calm), "wild points")) return;
  for (int i = 0; i < 40; i++) x[(i * 289) % (3 * N)] = odd[i % 4];
  if (!rb_check_status(c, rb_host_interp(c->variant, d, f, N, x, wild), "wild points")) return;
  for (int p = 0; p < N; p++) {
    int finite = 1;
    for (int a = 0; a < 3; a++) finite = finite && isfinite(x[a * N + p]) && fabsf(x[a * N + p]) < 1e11f;
    double e = finite ? fabs((double)wild[p] - (double)calm[p]) : 0;
    if (worst == worst && !(e <= worst)) worst = e;
  }
  rb_check_value(c, worst, rb_interp_tolerance(c->variant, d, 1), "NaN and far points beside others %s",
                 rb_interp_basis_name(d->basis));
}

static int supported(const rb_variant *v, const rb_interp_desc *d) {
  const rb_interp_ops *ops = v->ops;
  int ok = (d->basis != RB_BSPLINE || d->boundary == RB_PERIODIC) && ops->supports(d) == RB_OK;
  rb_clear();
  return ok;
}

void rb_check_interp(rb_checker *c) {
  for (int basis = 0; basis < 4; basis++)
    for (int t = RB_F32; t <= RB_F64; t++) {
      for (int boundary = RB_PERIODIC; boundary <= RB_ZERO; boundary++)
        for (int i = 0; i < rb_check_grid_count; i++) {
          rb_interp_desc d =
              describe(rb_check_grids[i], basis, (rb_boundary)boundary, (rb_dtype)t, (const int[3]){1, 3, 4}[i % 3]);
          for (d.localized = 0; d.localized < 2; d.localized++)
            if (supported(c->variant, &d)) {
              against_oracle(c, &d, rb_grid_points(d.grid));
              if (i % 4 == 0) against_oracle(c, &d, 777);
              if (!d.localized) displaced_nodes(c, &d);
            }
        }
      rb_interp_desc d = describe(rb_grid_make(16, 12, 20), basis, RB_PERIODIC, (rb_dtype)t, 1);
      if (!supported(c->variant, &d)) continue;
      shift_and_linearity(c, &d);
      polynomial(c, d);
      constant(c, &d);
      order(c, &d);
      if (c->variant->backend == RB_CUDA) wild_points(c, &d);
    }
}

void rb_check_interp_golden(rb_checker *c) {
  const rb_grid g = {{6, 5, 8}};
  enum { N = 6 * 5 * 8 };
  /* Recording runs the variant; comparing puts the oracle in its place, within the variant's tolerance. */
  const rb_variant *v = c->of_variant ? c->variant : &rb_interp_family.variants[0];
  float f[N], x[3 * N], out[N];
  char name[64];
  rb_check_random(RB_F32, f, N, 77);
  for (int basis = 0; basis < 4; basis++)
    for (int localized = 0; localized < 2; localized++) {
      rb_interp_desc d = describe(g, basis, RB_PERIODIC, RB_F32, 1);
      d.localized = localized;
      if (c->of_variant && !supported(c->variant, &d)) continue;
      snprintf(name, sizeof name, "%s%s", bases[basis], localized ? "-localized" : "");
      scatter(&d, N, x, localized);
      if (rb_check_status(c, rb_host_interp(v, &d, f, N, x, out), "golden"))
        rb_check_golden(c, name, out, N, c->of_variant ? rb_interp_tolerance(c->variant, &d, 1) : 0);
    }
}
