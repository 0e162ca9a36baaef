/* SPDX-License-Identifier: BSD-3-Clause */
/* warp: an image through a displacement, out(x) = f(x + s(x)), ha2009's reverse map.
 *
 * The image is the analytic product of waves, the displacement three smooth waves of up to 3 voxels. A variant that
 * reads from a texture copies the image there within the time. Verified at every voxel by the oracle. */
#include "datasets/phantom.h"
#include "experiments/runner/inputs/host_apply.h"
#include "experiments/runner/workloads/workload.h"
#include "kernels/compose/compose.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_ROTATIONS = 64, VALUES = 5 }; /* a voxel: image, displacement, result */
static const double LONGEST = 3;          /* voxels */

typedef struct {
  const rb_case *c;
  int64_t n;
  rb_compose_desc desc;
  rb_compose_plan *plan;
  int rotations;
  float *f, *s; /* host [n], [3][n] */
  rb_array image[MOST_ROTATIONS], field[MOST_ROTATIONS], out[MOST_ROTATIONS];
} state;

static size_t volume(const rb_case *c) { return (size_t)rb_grid_points(c->grid) * sizeof(float); }
static void predict(const rb_case *c, int rotations, size_t *backend, size_t *host) {
  *backend = ((size_t)rotations * VALUES + (size_t)rb_compose_texture_floats(c->variant)) * volume(c);
  *host = (VALUES + 3) * volume(c);
}
static size_t footprint(const rb_case *c) { return VALUES * volume(c); }

static void teardown(void *p) {
  state *s = p;
  if (!s) return;
  rb_compose_destroy(s->plan);
  for (int r = 0; r < s->rotations; r++)
    rb_array_destroy(&s->image[r]), rb_array_destroy(&s->field[r]), rb_array_destroy(&s->out[r]);
  free(s->f), free(s->s), free(s);
}

static void fill(state *s) {
  const rb_grid g = s->c->grid;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < s->n; i++) {
    const double x[3] = {(double)(i / g.n[2] / g.n[1]) * rb_grid_spacing(g, 0),
                         (double)(i / g.n[2] % g.n[1]) * rb_grid_spacing(g, 1),
                         (double)(i % g.n[2]) * rb_grid_spacing(g, 2)};
    s->f[i] = (float)rb_phantom_product(x);
    for (int a = 0; a < 3; a++) s->s[a * s->n + i] = (float)(LONGEST * sin(x[a]) * cos(x[(a + 1) % 3]));
  }
}

static rb_status setup(const rb_case *c, const rb_backend *b, int rotations, void **out) {
  rb_status st = RB_OK;
  state *s = calloc(1, sizeof *s);
  RB_CHECK(s, RB_ENOMEM, "host memory");
  s->c = c, s->n = rb_grid_points(c->grid);
  s->rotations = rotations < MOST_ROTATIONS ? rotations : MOST_ROTATIONS;
  s->desc = (rb_compose_desc){.grid = c->grid, .dtype = RB_F32};
  RB_TRY(rb_compose_create(c->variant, &s->desc, &s->plan));
  s->f = malloc(volume(c)), s->s = malloc(3 * volume(c));
  RB_CHECK(s->f && s->s, RB_ENOMEM, "host memory: %zu bytes", 4 * volume(c));
  fill(s);
  for (int r = 0; r < s->rotations; r++) {
    RB_TRY(rb_to_backend(b, s->f, RB_F32, s->n, &s->image[r]));
    RB_TRY(rb_to_backend(b, s->s, RB_F32, 3 * s->n, &s->field[r]));
    RB_TRY(rb_poisoned(b, RB_F32, s->n, &s->out[r]));
  }
  *out = s;
  s = NULL;
done:
  teardown(s);
  return st;
}
static rb_status run(void *p, int turn) {
  state *s = p;
  const int r = turn % s->rotations;
  return rb_compose_warp(s->plan, s->image[r], s->field[r], s->out[r]);
}
static rb_status poison(void *p, int turn) {
  state *s = p;
  return rb_array_fill(s->out[turn % s->rotations], 0xFF);
}

static rb_status rescale(void *p, int turn, double by) {
  state *s = p;
  return rb_scale_input(s->f, s->n, by, &s->image[turn % s->rotations]);
}

static rb_status verify(void *p, int turn, rb_outcome *o) {
  rb_status st = RB_OK;
  state *s = p;
  rb_compose_plan *oracle = NULL;
  double worst = 0, range = 0, longest = 0;
  float *got = malloc(volume(s->c)), *want = malloc(volume(s->c));
  RB_CHECK(got && want, RB_ENOMEM, "host memory");
  RB_TRY(rb_array_download(s->out[turn % s->rotations], got));
  RB_TRY(rb_compose_create(&rb_compose_family.variants[0], &s->desc, &oracle));
  RB_TRY(rb_compose_warp(oracle, rb_array_host(RB_F32, s->n, s->f), rb_array_host(RB_F32, 3 * s->n, s->s),
                         rb_array_host(RB_F32, s->n, want)));
  for (int64_t i = 0; i < s->n; i++) {
    const double d = fabs((double)(got[i] - want[i]));
    range = fmax(range, fabs((double)s->f[i]));
    if (!(d <= worst)) worst = d; /* a NaN stays */
  }
  for (int a = 0; a < 3; a++) longest = fmax(longest, (double)s->c->grid.n[a]);
  rb_outcome_verify(o, "greatest error at any voxel", worst,
                    rb_compose_tolerance(s->c->variant, &s->desc, range, longest), "cpu/ref");
  rb_outcome_metric(o, "error_max", worst, "1", "greatest |out - oracle|");
  rb_outcome_metric(o, "voxels", 1e-6 * (double)s->n, "M", "voxels of the image");
  o->bytes = VALUES * (double)volume(s->c); /* image and displacement read, the result written */
done:
  rb_compose_destroy(oracle);
  free(want), free(got);
  return st;
}

static const rb_workload_axis axes[] = {{"size", RB_VALUES_SIZE}, {NULL, NULL}};
const rb_workload rb_workload_warp = {"warp", &rb_compose_family, predict, footprint, setup, run, poison,
                                      verify, teardown,           axes,    rescale};
