/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the demons solver's exponential, scaling and squaring of a velocity field, on every variant's own
 * kernels. */
#include "experiments/runner/check/check.h"
#include "solvers/demons/demons.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A swirl that ends at the border, in voxels of a grid with `scale` times as many points an axis: at most some 2
 * scale voxels long. */
static const rb_grid coarse = {{22, 20, 24}};
static void velocity_at(double scale, const double x[3], double v[3]) {
  double window = 1, off[3];
  for (int a = 0; a < 3; a++) {
    const double last = scale * (double)(coarse.n[a] - 1);
    window *= x[a] <= 0 || x[a] >= last ? 0 : pow(sin(3.14159265358979323846 * x[a] / last), 2);
    off[a] = x[a] - 0.4 * last;
  }
  v[0] = window * (0.5 * off[1] - 0.1 * off[2]), v[1] = window * (-0.4 * off[0] + 0.1 * off[1]),
  v[2] = window * (0.3 * off[0] + 0.2 * off[2]);
}

/* Oracle: where the point x is after following v for one unit of time; Runge-Kutta of fourth order on the function
 * itself. */
static void follow(double scale, const double start[3], double sign, double displacement[3]) {
  enum { STEPS = 32 };
  double x[3], k[4][3];
  memcpy(x, start, sizeof x);
  for (int s = 0; s < STEPS; s++) {
    for (int stage = 0; stage < 4; stage++) {
      const double share = sign * (stage == 0 ? 0 : stage == 3 ? 1.0 : 0.5) / STEPS;
      double at[3];
      for (int a = 0; a < 3; a++) at[a] = x[a] + (stage ? share * k[stage - 1][a] : 0);
      velocity_at(scale, at, k[stage]);
    }
    for (int a = 0; a < 3; a++) x[a] += sign / STEPS * (k[0][a] + 2 * k[1][a] + 2 * k[2][a] + k[3][a]) / 6;
  }
  for (int a = 0; a < 3; a++) displacement[a] = x[a] - start[a];
}

/* exp(sign v), or exp(v) after exp(-v), by a variant: [3][n]. */
static rb_status exponential(const rb_variant *v, rb_grid g, const float *velocity, double sign, int after_inverse,
                             float *out) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(g);
  rb_demons_options o = rb_demons_defaults();
  rb_demons *s = NULL;
  float *image = malloc((size_t)n * sizeof *image);
  RB_CHECK(image, RB_ENOMEM, "host memory");
  for (int64_t i = 0; i < n; i++) image[i] = (float)(i % 7);
  o.padding = 1;
  RB_TRY(rb_demons_create(v, &o, g, image, image, &s));
  RB_TRY(rb_demons_start(s, velocity));
  RB_TRY(rb_demons_exponential(s, sign, after_inverse, out));
done:
  rb_demons_destroy(s);
  free(image);
  return st;
}

typedef struct {
  double flow[2], inverse; /* exp(v), exp(-v) against the oracle; exp(v) after exp(-v) against nothing: greatest
                              distances in voxels */
  double slope;            /* greatest sum of derivatives of one component of v: |grad v| */
} errors;
static rb_status measure(const rb_variant *v, double scale, errors *e) {
  rb_status st = RB_OK;
  const rb_grid g = {{(int64_t)(scale * (double)(coarse.n[0] - 1)) + 1,
                      (int64_t)(scale * (double)(coarse.n[1] - 1)) + 1,
                      (int64_t)(scale * (double)(coarse.n[2] - 1)) + 1}};
  const int64_t n = rb_grid_points(g);
  float *velocity = malloc(3 * (size_t)n * sizeof *velocity), *out = malloc(3 * (size_t)n * sizeof *out);
  memset(e, 0, sizeof *e);
  RB_CHECK(velocity && out, RB_ENOMEM, "host memory");
  for (int64_t i = 0; i < n; i++) {
    const double x[3] = {(double)(i / g.n[2] / g.n[1]), (double)(i / g.n[2] % g.n[1]), (double)(i % g.n[2])};
    double at[3];
    velocity_at(scale, x, at);
    for (int a = 0; a < 3; a++) velocity[a * n + i] = (float)at[a];
    double slope[3] = {0, 0, 0};
    for (int b = 0; b < 3; b++) {
      double ahead[3] = {x[0], x[1], x[2]}, there[3];
      ahead[b] += 1e-4;
      velocity_at(scale, ahead, there);
      for (int a = 0; a < 3; a++) slope[a] += fabs(there[a] - at[a]) / 1e-4;
    }
    for (int a = 0; a < 3; a++) e->slope = fmax(e->slope, slope[a]);
  }
  for (int k = 0; k < 3; k++) {
    double *worst = k < 2 ? &e->flow[k] : &e->inverse;
    RB_TRY(exponential(v, g, velocity, k == 1 ? -1 : 1, k == 2, out));
    for (int64_t i = 0; i < n; i++) {
      const double x[3] = {(double)(i / g.n[2] / g.n[1]), (double)(i / g.n[2] % g.n[1]), (double)(i % g.n[2])};
      double want[3] = {0, 0, 0};
      if (k < 2) follow(scale, x, k ? -1 : 1, want);
      for (int a = 0; a < 3; a++) {
        const double off = fabs((double)out[a * n + i] - want[a]);
        if (*worst == *worst && !(off <= *worst)) *worst = off; /* a NaN stays */
      }
    }
  }
done:
  free(out), free(velocity);
  return st;
}

/* Squaring begins with an Euler step of at most half a voxel, off by a quarter of |grad v| over the whole time (half
 * of it there and back); trilinear values add less. In units of length both fall with the voxel: halved at least, but
 * for a tenth. */
void rb_check_demons(rb_checker *c) {
  const double weights = rb_demons_weight_bits(c->variant)
                             ? 0.05
                             : 1e-4; /* voxels: the texture unit's 8 bits in every squaring, float32 */
  const rb_variant *exact;
  errors mine[2], want[2];
  if (!rb_check_status(c, rb_variant_find(&rb_demons_family, "cpu-f64", &exact), "cpu-f64")) return;
  for (int k = 0; k < 2; k++)
    if (!rb_check_status(c, measure(c->variant, 1 + k, &mine[k]), "exponential") ||
        !rb_check_status(c, measure(exact, 1 + k, &want[k]), "exponential in float64"))
      return;
  for (int k = 0; k < 2; k++) {
    rb_check_value(c, mine[k].flow[0], 0.25 * mine[k].slope, "exp(v) against the flow of v, voxels of 1/%d", 1 + k);
    rb_check_value(c, mine[k].flow[1], 0.25 * mine[k].slope, "exp(-v) against the flow of -v, voxels of 1/%d", 1 + k);
    rb_check_value(c, mine[k].inverse, 0.5 * mine[k].slope, "exp(v) after exp(-v) is nothing, voxels of 1/%d", 1 + k);
    rb_check_value(c, fabs(mine[k].flow[0] - want[k].flow[0]), weights,
                   "exp(v) as far off as float64's, voxels of 1/%d", 1 + k);
    rb_check_value(c, fabs(mine[k].inverse - want[k].inverse), weights,
                   "exp(v) after exp(-v) as far off as float64's, voxels of 1/%d", 1 + k);
  }
  rb_check_value(c, mine[1].flow[0] / 2 / mine[0].flow[0], 0.55, "the error in units of length falls with the voxel");
  rb_check_value(c, mine[1].inverse / 2 / mine[0].inverse, 0.55, "the inverse's, too");
}
