/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the compose family. */
#include "experiments/runner/check/check.h"
#include "experiments/runner/inputs/host_apply.h"
#include "kernels/compose/compose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum { COMPOSE, SCALED, BRACKET, WARP, DETERMINANT, KINDS, PLANES = KINDS, STEP, STEP_WARP } kind;
static const double factor = 0.37; /* of SCALED and STEP */
static const char *const kind_names[] = {"compose", "compose 0.37 of both", "bracket", "warp", "determinant"};
static int vector(kind w) { return w >= STEP || w <= BRACKET; }

/* compose and bracket: f and s three components; warp: f one; determinant: f unused. */
static rb_status by(const rb_variant *v, const rb_compose_desc *d, kind w, const void *f, const void *s, void *out) {
  rb_status st = RB_OK;
  const rb_backend *b;
  rb_compose_plan *p = NULL;
  const int64_t n = rb_grid_points(d->grid);
  rb_array df = {0}, ds = {0}, to = {0}, e = {0}, moved = {0};
  RB_TRY(rb_backend_get(v->backend, &b));
  RB_TRY(rb_compose_create(v, d, &p));
  RB_TRY(rb_to_backend(b, f, d->dtype, vector(w) ? 3 * n : n, &df));
  RB_TRY(rb_to_backend(b, s, d->dtype, 3 * n, &ds));
  RB_TRY(rb_poisoned(b, d->dtype, vector(w) ? 3 * n : n, &to));
  switch (w) {
    case COMPOSE:
      RB_TRY(rb_compose(p, 1, df, ds, to));
      break;
    case SCALED:
      RB_TRY(rb_compose(p, factor, df, ds, to));
      break;
    case PLANES:
      for (int64_t begin = 0, size = 1, end = d->grid.n[0]; begin < end; begin += size, size = 3 * size + 1)
        RB_TRY(rb_compose_warp_planes(p, df, ds, begin, begin + size < end ? begin + size : end, to));
      break;
    case STEP:
      RB_TRY(rb_array_create(b, RB_F64, 1, &e));
      RB_TRY(rb_array_put_doubles(e, &factor));
      RB_TRY(rb_compose_step(p, e, df, ds, to, rb_array_none(), rb_array_none()));
      break;
    case STEP_WARP: /* of the field's first component, which goes to the first of `to` */
      RB_TRY(rb_array_create(b, RB_F64, 1, &e));
      RB_TRY(rb_array_put_doubles(e, &factor));
      RB_TRY(rb_array_create(b, d->dtype, 3 * n, &moved));
      RB_TRY(rb_compose_step(p, e, df, ds, moved, rb_array_part(df, 0, n), rb_array_part(to, 0, n)));
      break;
    case BRACKET:
      RB_TRY(rb_compose_bracket(p, df, ds, to));
      break;
    case WARP:
      RB_TRY(rb_compose_warp(p, df, ds, to));
      break;
    default:
      RB_TRY(rb_compose_determinant(p, ds, to));
  }
  RB_TRY(rb_array_download(to, out));
done:
  rb_compose_destroy(p);
  rb_array_destroy(&to), rb_array_destroy(&ds), rb_array_destroy(&df), rb_array_destroy(&e), rb_array_destroy(&moved);
  return st;
}

static int supported(const rb_variant *v, const rb_compose_desc *d) {
  int ok = ((const rb_compose_ops *)v->ops)->supports(d) == RB_OK;
  rb_clear();
  return ok;
}

typedef struct {
  int64_t n;
  void *f, *s, *got, *want; /* three components each */
} arrays;
static arrays room(const rb_compose_desc *d) {
  arrays a = {.n = rb_grid_points(d->grid)};
  const size_t bytes = 3 * (size_t)a.n * rb_dtype_size(d->dtype);
  a.f = malloc(bytes), a.s = malloc(bytes), a.got = malloc(bytes), a.want = malloc(bytes);
  return a;
}
static void drop(arrays a) { free(a.f), free(a.s), free(a.got), free(a.want); }
static double reach(const rb_compose_desc *d, double displacement) {
  return (double)(d->grid.n[0] + d->grid.n[1] + d->grid.n[2]) + displacement;
}

static void against_oracle(rb_checker *c, const rb_compose_desc *d, double displacement) {
  arrays a = room(d);
  rb_check_random(d->dtype, a.f, 3 * a.n, 71);
  rb_check_random(d->dtype, a.s, 3 * a.n, 72);
  for (int64_t i = 0; i < 3 * a.n; i++) rb_check_set(d->dtype, a.s, i, displacement * rb_check_at(d->dtype, a.s, i));
  for (int w = COMPOSE; w < KINDS; w++) {
    const int64_t m = vector((kind)w) ? 3 * a.n : a.n;
    const double limit = w == DETERMINANT ? rb_compose_tolerance(NULL, d, pow(1 + displacement, 3), 0)
                         : w == BRACKET
                             ? rb_compose_tolerance(NULL, d, 2 * displacement, 0)
                             : rb_compose_tolerance(c->variant, d, 1 + displacement, reach(d, displacement));
    if (rb_check_status(c, by(c->variant, d, (kind)w, a.f, a.s, a.got), "%s", kind_names[w]) &&
        rb_check_status(c, by(&rb_compose_family.variants[0], d, (kind)w, a.f, a.s, a.want), "oracle"))
      rb_check_value(c, rb_check_distance(d->dtype, a.got, a.want, m), limit, "%s by %g voxels %lldx%lldx%lld %s",
                     kind_names[w], displacement, (long long)d->grid.n[0], (long long)d->grid.n[1],
                     (long long)d->grid.n[2], rb_dtype_name(d->dtype));
  }
  drop(a);
}

static void at_node(rb_grid g, int64_t i, double x[3]) {
  x[0] = (double)(i / g.n[2] / g.n[1]), x[1] = (double)(i / g.n[2] % g.n[1]), x[2] = (double)(i % g.n[2]);
}

/* Whole shifts move values as they are, and bring in zeros. */
static void shifts(rb_checker *c, const rb_compose_desc *d) {
  const int shift[3] = {1, -2, 3};
  const rb_grid g = d->grid;
  arrays a = room(d);
  rb_check_random(d->dtype, a.f, a.n, 73);
  for (int k = 0; k < 3; k++)
    for (int64_t i = 0; i < a.n; i++) rb_check_set(d->dtype, a.s, k * a.n + i, shift[k]);
  for (int64_t i = 0; i < a.n; i++) {
    double x[3];
    int inside = 1;
    at_node(g, i, x);
    for (int k = 0; k < 3; k++) x[k] += shift[k], inside = inside && x[k] >= 0 && x[k] < (double)g.n[k];
    rb_check_set(
        d->dtype, a.want, i,
        inside ? rb_check_at(d->dtype, a.f, (int64_t)((x[0] * (double)g.n[1] + x[1]) * (double)g.n[2] + x[2])) : 0);
  }
  if (rb_check_status(c, by(c->variant, d, WARP, a.f, a.s, a.got), "shift"))
    rb_check_value(c, rb_check_distance(d->dtype, a.got, a.want, a.n),
                   rb_compose_tolerance(c->variant, d, 1, reach(d, 3)), "whole shifts, %s", rb_dtype_name(d->dtype));
  for (int64_t i = 0; i < 3 * a.n; i++) rb_check_set(d->dtype, a.s, i, 1e9);
  memset(a.want, 0, (size_t)a.n * rb_dtype_size(d->dtype));
  if (rb_check_status(c, by(c->variant, d, WARP, a.f, a.s, a.got), "far"))
    rb_check_value(c, rb_check_distance(d->dtype, a.got, a.want, a.n), 0, "far away is zero, %s",
                   rb_dtype_name(d->dtype));
  drop(a);
}

/* 0 is neutral on both sides. */
static void neutral(rb_checker *c, const rb_compose_desc *d) {
  arrays a = room(d);
  rb_check_random(d->dtype, a.s, 3 * a.n, 74);
  memset(a.f, 0, 3 * (size_t)a.n * rb_dtype_size(d->dtype));
  if (rb_check_status(c, by(c->variant, d, COMPOSE, a.f, a.s, a.got), "0 o s"))
    rb_check_value(c, rb_check_distance(d->dtype, a.got, a.s, 3 * a.n), 0, "0 o s = s, %s", rb_dtype_name(d->dtype));
  if (rb_check_status(c, by(c->variant, d, COMPOSE, a.s, a.f, a.got), "s o 0"))
    rb_check_value(c, rb_check_distance(d->dtype, a.got, a.s, 3 * a.n), rb_compose_tolerance(c->variant, d, 1, 0),
                   "s o 0 = s, %s", rb_dtype_name(d->dtype));
  drop(a);
}

/* Planes by parts, some of one plane, some of many: the bits of the whole. */
static void planes(rb_checker *c, const rb_compose_desc *d) {
  arrays a = room(d);
  if (!rb_compose_warps_planes(c->variant)) goto done;
  rb_check_random(d->dtype, a.f, 3 * a.n, 75);
  rb_check_random(d->dtype, a.s, 3 * a.n, 76);
  if (rb_check_status(c, by(c->variant, d, WARP, a.f, a.s, a.want), "warp") &&
      rb_check_status(c, by(c->variant, d, PLANES, a.f, a.s, a.got), "warp by planes"))
    rb_check_value(c, rb_check_distance(d->dtype, a.got, a.want, a.n), 0, "warp by planes, to the bit, %lld planes",
                   (long long)d->grid.n[0]);
done:
  drop(a);
}

/* A factor that the backend holds: the bits of the field times the factor, rounded, and then composed. */
static void step_on_the_backend(rb_checker *c, const rb_compose_desc *d) {
  arrays a = room(d);
  if (!rb_compose_has_step(c->variant)) goto done;
  rb_check_random(d->dtype, a.f, 3 * a.n, 77);
  rb_check_random(d->dtype, a.s, 3 * a.n, 78);
  if (!rb_check_status(c, by(c->variant, d, STEP, a.f, a.s, a.got), "step")) goto done;
  for (int64_t i = 0; i < 3 * a.n; i++) /* in float32 as the kernel does: no double product */
    rb_check_set(d->dtype, a.s, i,
                 d->dtype == RB_F32 ? (double)((float)factor * (float)rb_check_at(d->dtype, a.s, i))
                                    : factor * rb_check_at(d->dtype, a.s, i));
  if (rb_check_status(c, by(c->variant, d, COMPOSE, a.f, a.s, a.want), "compose"))
    rb_check_value(c, rb_check_distance(d->dtype, a.got, a.want, 3 * a.n), 0, "a step on the backend, to the bit");
  /* and the warp by it of the field's first component */
  memcpy(a.s, a.want, 3 * (size_t)a.n * rb_dtype_size(d->dtype));
  rb_check_random(d->dtype, a.got, 3 * a.n, 78);
  if (rb_check_status(c, by(c->variant, d, WARP, a.f, a.s, a.want), "warp") &&
      rb_check_status(c, by(c->variant, d, STEP_WARP, a.f, a.got, a.got), "step and warp"))
    rb_check_value(c, rb_check_distance(d->dtype, a.got, a.want, a.n), 0, "warp by a step, to the bit");
done:
  drop(a);
}

/* Warping is linear in the image. */
static void linear(rb_checker *c, const rb_compose_desc *d) {
  arrays a = room(d), b = room(d);
  rb_check_random(d->dtype, a.f, a.n, 79);
  rb_check_random(d->dtype, b.f, a.n, 80);
  rb_check_random(d->dtype, a.s, 3 * a.n, 81);
  if (rb_check_status(c, by(c->variant, d, WARP, a.f, a.s, a.got), "warp") &&
      rb_check_status(c, by(c->variant, d, WARP, b.f, a.s, b.got), "warp")) {
    for (int64_t i = 0; i < a.n; i++) {
      rb_check_set(d->dtype, a.want, i, 2 * rb_check_at(d->dtype, a.got, i) - 3 * rb_check_at(d->dtype, b.got, i));
      rb_check_set(d->dtype, b.want, i, 2 * rb_check_at(d->dtype, a.f, i) - 3 * rb_check_at(d->dtype, b.f, i));
    }
    if (rb_check_status(c, by(c->variant, d, WARP, b.want, a.s, a.got), "warp"))
      rb_check_value(c, rb_check_distance(d->dtype, a.got, a.want, a.n),
                     2 * rb_compose_tolerance(c->variant, d, 5, reach(d, 1)), "linear in the image, %s",
                     rb_dtype_name(d->dtype));
  }
  drop(b);
  drop(a);
}

/* An image of half a wave, moved by half a voxel: the error of linear interpolation falls with the square of the
 * spacing. */
static void second_order(rb_checker *c, rb_dtype t) {
  const double pi = acos(-1);
  double worst[2] = {0, 0};
  for (int k = 0; k < 2; k++) {
    const rb_compose_desc d = {.grid = k ? rb_grid_make(33, 33, 33) : rb_grid_make(17, 17, 17), .dtype = t};
    const double last = (double)(d.grid.n[0] - 1);
    arrays a = room(&d);
    for (int64_t i = 0; i < a.n; i++) {
      double x[3];
      at_node(d.grid, i, x);
      rb_check_set(t, a.f, i, sin(pi * x[0] / last) * sin(pi * x[1] / last) * sin(pi * x[2] / last));
      for (int v = 0; v < 3; v++) rb_check_set(t, a.s, v * a.n + i, 0.5);
    }
    if (!rb_check_status(c, by(c->variant, &d, WARP, a.f, a.s, a.got), "warp")) worst[k] = NAN;
    for (int64_t i = 0; i < a.n; i++) {
      double x[3], want = 1;
      at_node(d.grid, i, x);
      for (int v = 0; v < 3; v++) want *= sin(pi * (x[v] + 0.5) / last);
      if (x[0] < last && x[1] < last && x[2] < last) worst[k] = fmax(worst[k], fabs(rb_check_at(t, a.got, i) - want));
    }
    drop(a);
  }
  rb_check_value(c, fabs(log2(worst[0] / worst[1]) - 2), 0.1, "order of the interpolation, %s", rb_dtype_name(t));
}

/* (a o b) o c = a o (b o c) up to what four linear interpolations of smooth fields lose: h^2 / 8 times the second
 * derivatives of A sin(pi x1 / (n1 - 1)) sin(..) sin(..), which also keep all points inside. */
static void associative(rb_checker *c, rb_dtype t) {
  const rb_compose_desc d = {.grid = {{21, 24, 22}}, .dtype = t};
  const double amplitude = 0.8, pi = acos(-1), bound = 4 * 3.0 / 8 * amplitude * pow(pi / 20, 2);
  arrays a = room(&d), b = room(&d);
  for (int64_t i = 0; i < a.n; i++) {
    double x[3], wave = amplitude;
    at_node(d.grid, i, x);
    for (int k = 0; k < 3; k++) wave *= sin(pi * x[k] / (double)(d.grid.n[k] - 1));
    for (int k = 0; k < 3; k++) {
      rb_check_set(t, a.f, k * a.n + i, wave * (k == 0 ? 1 : -0.5));
      rb_check_set(t, a.s, k * a.n + i, wave * (k == 1 ? 0.9 : 0.3));
      rb_check_set(t, b.f, k * a.n + i, wave * (k == 2 ? -1 : 0.4));
    }
  }
  if (rb_check_status(c, by(c->variant, &d, COMPOSE, a.f, a.s, a.got), "a o b") &&
      rb_check_status(c, by(c->variant, &d, COMPOSE, a.got, b.f, a.want), "(a o b) o c") &&
      rb_check_status(c, by(c->variant, &d, COMPOSE, a.s, b.f, b.got), "b o c") &&
      rb_check_status(c, by(c->variant, &d, COMPOSE, a.f, b.got, b.want), "a o (b o c)"))
    rb_check_value(c, rb_check_distance(t, a.want, b.want, 3 * a.n),
                   bound + 4 * rb_compose_tolerance(c->variant, &d, amplitude, reach(&d, 1)),
                   "associative within interpolation error, %s", rb_dtype_name(t));
  drop(b);
  drop(a);
}

/* s(x) = A x: its determinant is det(I + A) at every node, and a linear image is sampled exactly inside. */
static void linear_maps(rb_checker *c, const rb_compose_desc *d) {
  static const double A[3][3] = {{0.02, -0.03, 0.01}, {0.04, -0.05, 0.02}, {-0.01, 0.03, 0.06}};
  static const double slope[3] = {0.3, -0.2, 0.1};
  const double det = (1 + A[0][0]) * ((1 + A[1][1]) * (1 + A[2][2]) - A[1][2] * A[2][1]) -
                     A[0][1] * (A[1][0] * (1 + A[2][2]) - A[1][2] * A[2][0]) +
                     A[0][2] * (A[1][0] * A[2][1] - (1 + A[1][1]) * A[2][0]);
  const rb_grid g = d->grid;
  arrays a = room(d);
  double worst = 0, off = 0;
  for (int64_t i = 0; i < a.n; i++) {
    double x[3];
    at_node(g, i, x);
    for (int k = 0; k < 3; k++)
      rb_check_set(d->dtype, a.s, k * a.n + i, A[k][0] * x[0] + A[k][1] * x[1] + A[k][2] * x[2]);
    rb_check_set(d->dtype, a.f, i, slope[0] * x[0] + slope[1] * x[1] + slope[2] * x[2]);
  }
  if (rb_check_status(c, by(c->variant, d, DETERMINANT, a.f, a.s, a.got), "determinant"))
    for (int64_t i = 0; i < a.n; i++) off = fmax(off, fabs(rb_check_at(d->dtype, a.got, i) - det));
  rb_check_value(c, off, rb_compose_tolerance(NULL, d, 2, reach(d, 0)), "determinant of a linear map, %s",
                 rb_dtype_name(d->dtype));
  if (rb_check_status(c, by(c->variant, d, WARP, a.f, a.s, a.got), "warp"))
    for (int64_t i = 0; i < a.n; i++) {
      double x[3], want = 0;
      int inside = 1;
      at_node(g, i, x);
      for (int k = 0; k < 3; k++) {
        x[k] += rb_check_at(d->dtype, a.s, k * a.n + i);
        want += slope[k] * x[k];
        inside = inside && x[k] >= 0 && x[k] <= (double)(g.n[k] - 1);
      }
      if (inside) worst = fmax(worst, fabs(rb_check_at(d->dtype, a.got, i) - want));
    }
  rb_check_value(c, worst, rb_compose_tolerance(c->variant, d, 10, reach(d, 3)), "a linear image, %s",
                 rb_dtype_name(d->dtype));
  drop(a);
}

/* Whole-array results of a variant that need no comparison of arrays: greatest length, padding and back. */
static rb_status measured(const rb_variant *v, const rb_compose_desc *d, rb_grid inner, const void *s, const void *f,
                          double *longest, void *wide, void *narrow) {
  rb_status st = RB_OK;
  const rb_backend *b;
  rb_compose_plan *p = NULL;
  const int64_t n = rb_grid_points(d->grid);
  rb_array ds = {0}, df = {0}, dw = {0}, dn = {0};
  RB_TRY(rb_backend_get(v->backend, &b));
  RB_TRY(rb_compose_create(v, d, &p));
  RB_TRY(rb_to_backend(b, s, d->dtype, 3 * n, &ds));
  RB_TRY(rb_to_backend(b, f, d->dtype, rb_grid_points(inner), &df));
  RB_TRY(rb_poisoned(b, d->dtype, n, &dw));
  RB_TRY(rb_poisoned(b, d->dtype, rb_grid_points(inner), &dn));
  RB_TRY(rb_compose_longest(p, ds, longest));
  RB_TRY(rb_compose_pad(p, inner, df, dw));
  RB_TRY(rb_compose_crop(p, inner, dw, dn));
  RB_TRY(rb_array_download(dw, wide));
  RB_TRY(rb_array_download(dn, narrow));
done:
  rb_compose_destroy(p);
  rb_array_destroy(&dn), rb_array_destroy(&dw), rb_array_destroy(&df), rb_array_destroy(&ds);
  return st;
}
static void lengths_and_padding(rb_checker *c, const rb_compose_desc *d) {
  arrays a = room(d);
  rb_grid inner;
  double got, want;
  for (int k = 0; k < 3; k++) inner.n[k] = (d->grid.n[k] * 4 + 4) / 5;
  const int64_t m = rb_grid_points(inner);
  rb_check_random(d->dtype, a.s, 3 * a.n, 75);
  rb_check_random(d->dtype, a.f, m, 76);
  char *narrow = (char *)a.got + (size_t)a.n * rb_dtype_size(d->dtype);
  if (rb_check_status(c, measured(c->variant, d, inner, a.s, a.f, &got, a.got, narrow), "lengths") &&
      rb_check_status(c,
                      measured(&rb_compose_family.variants[0], d, inner, a.s, a.f, &want, a.want,
                               (char *)a.want + (size_t)a.n * rb_dtype_size(d->dtype)),
                      "oracle")) {
    rb_check_value(c, fabs(got - want), rb_compose_tolerance(NULL, d, 2, 0), "greatest length, %s",
                   rb_dtype_name(d->dtype));
    rb_check_value(c, rb_check_distance(d->dtype, a.got, a.want, a.n), 0, "padding, %s", rb_dtype_name(d->dtype));
    rb_check_value(c, rb_check_distance(d->dtype, narrow, a.f, m), 0, "padding and back, %s",
                   rb_dtype_name(d->dtype));
  }
  rb_check_set(d->dtype, a.s, 2 * a.n - 1, NAN);
  if (rb_check_status(c, measured(c->variant, d, inner, a.s, a.f, &got, a.got, narrow), "lengths"))
    rb_check_value(c, isnan(got) ? 0 : 1, 0, "a NaN shows in the greatest length, %s", rb_dtype_name(d->dtype));
  drop(a);
}

void rb_check_compose(rb_checker *c) {
  for (int t = RB_F32; t <= RB_F64; t++) {
    rb_compose_desc d = {.grid = {{9, 14, 11}}, .dtype = (rb_dtype)t};
    if (!supported(c->variant, &d)) continue;
    shifts(c, &d);
    neutral(c, &d);
    linear(c, &d);
    second_order(c, (rb_dtype)t);
    linear_maps(c, &d);
    associative(c, (rb_dtype)t);
    lengths_and_padding(c, &d);
    for (int g = 0; g < rb_check_grid_count; g++) {
      d.grid = rb_check_grids[g];
      against_oracle(c, &d, 0.7);
      against_oracle(c, &d, 4);
      planes(c, &d);
      step_on_the_backend(c, &d);
    }
  }
}

void rb_check_compose_golden(rb_checker *c) {
  const rb_variant *v = c->of_variant ? c->variant : &rb_compose_family.variants[0];
  const rb_compose_desc d = {.grid = {{4, 5, 6}}, .dtype = RB_F32};
  enum { N = 3 * 4 * 5 * 6 };
  static const char *const names[] = {"compose", "compose-scaled", "bracket", "warp", "determinant"};
  float f[N], s[N], out[N];
  rb_check_random(RB_F32, f, N, 77);
  rb_check_random(RB_F32, s, N, 78);
  for (int w = COMPOSE; w < KINDS; w++)
    if (rb_check_status(c, by(v, &d, (kind)w, f, s, out), "golden"))
      rb_check_golden(c, names[w], out, vector((kind)w) ? N : N / 3,
                      w == BRACKET || w == DETERMINANT ? rb_compose_tolerance(NULL, &d, 8, 0)
                                                       : rb_compose_tolerance(c->variant, &d, 2, 16));
}
