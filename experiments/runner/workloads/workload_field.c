/* SPDX-License-Identifier: BSD-3-Clause */
/* combine, reduction: the basic operations of ha2009's Table 1 on noise in [0, 1).
 *
 * combine is z = 0.75 x - 0.5 y; reduction the sum of x y in float64, on the host when the time ends. Verified by the
 * oracle: every value, and the sum. */
#include "experiments/runner/inputs/host_apply.h"
#include "experiments/runner/workloads/workload.h"
#include "kernels/base/rng.h"
#include "kernels/field/field.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_ROTATIONS = 64, REDUCED = 2, COMBINED = 3 }; /* arrays: x, y; x, y, z */
static const double A = 0.75, B = -0.5;

typedef struct {
  int reduction;
  rb_field_desc desc;
  rb_field_plan *plan;
  int rotations;
  float *host[2]; /* x, y */
  rb_array in[MOST_ROTATIONS][2], out[MOST_ROTATIONS];
  double sum;
} state;

static size_t volume(const rb_case *c) { return (size_t)rb_grid_points(c->grid) * sizeof(float); }
static void predict(const rb_case *c, int rotations, size_t *backend, size_t *host) {
  /* a reduction by trees keeps three float64 values a block of 256, twice */
  *backend = (size_t)rotations * COMBINED * volume(c) + volume(c) / 4;
  *host = (COMBINED + 2) * volume(c);
}
static size_t footprint_combine(const rb_case *c) { return COMBINED * volume(c); }
static size_t footprint_reduction(const rb_case *c) { return REDUCED * volume(c); }

static void teardown(void *p) {
  state *s = p;
  if (!s) return;
  rb_field_destroy(s->plan);
  for (int r = 0; r < s->rotations; r++) {
    for (int k = 0; k < 2; k++) rb_array_destroy(&s->in[r][k]);
    rb_array_destroy(&s->out[r]);
  }
  free(s->host[0]), free(s->host[1]), free(s);
}

static rb_status setup_kind(const rb_case *c, const rb_backend *b, int rotations, int reduction, void **out) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(c->grid);
  state *s = calloc(1, sizeof *s);
  RB_CHECK(s, RB_ENOMEM, "host memory");
  s->reduction = reduction;
  s->rotations = rotations < MOST_ROTATIONS ? rotations : MOST_ROTATIONS;
  s->desc = (rb_field_desc){.count = n, .dtype = RB_F32};
  RB_TRY(rb_field_create(c->variant, &s->desc, &s->plan));
  for (int k = 0; k < 2; k++) {
    s->host[k] = malloc(volume(c));
    RB_CHECK(s->host[k], RB_ENOMEM, "host memory: %zu bytes", volume(c));
    for (int64_t i = 0; i < n; i++)
      s->host[k][i] = (float)(0.5 + 0.5 * rb_rng_symmetric(105, 2 * (uint64_t)i + (uint64_t)k));
    for (int r = 0; r < s->rotations; r++) RB_TRY(rb_to_backend(b, s->host[k], RB_F32, n, &s->in[r][k]));
  }
  for (int r = 0; r < s->rotations && !reduction; r++) RB_TRY(rb_poisoned(b, RB_F32, n, &s->out[r]));
  *out = s;
  s = NULL;
done:
  teardown(s);
  return st;
}
static rb_status setup_combine(const rb_case *c, const rb_backend *b, int rotations, void **out) {
  return setup_kind(c, b, rotations, 0, out);
}
static rb_status setup_reduction(const rb_case *c, const rb_backend *b, int rotations, void **out) {
  return setup_kind(c, b, rotations, 1, out);
}

static rb_status run(void *p, int turn) {
  state *s = p;
  const int r = turn % s->rotations;
  return s->reduction ? rb_field_dot(s->plan, s->desc.count, s->in[r][0], s->in[r][1], &s->sum)
                      : rb_field_combine(s->plan, s->desc.count, A, s->in[r][0], B, s->in[r][1], 0, s->out[r]);
}
static rb_status poison(void *p, int turn) {
  state *s = p;
  s->sum = NAN;
  return s->reduction ? RB_OK : rb_array_fill(s->out[turn % s->rotations], 0xFF);
}

/* A sum is linear in x, z in both. */
static rb_status rescale(void *p, int turn, double by) {
  rb_status st = RB_OK;
  state *s = p;
  for (int k = 0; k < (s->reduction ? 1 : 2); k++)
    RB_TRY(rb_scale_input(s->host[k], s->desc.count, by, &s->in[turn % s->rotations][k]));
done:
  return st;
}

/* The oracle's z, or sum, and how far this variant's is from it. */
static rb_status verify(void *p, int turn, rb_outcome *o) {
  rb_status st = RB_OK;
  state *s = p;
  const int64_t n = s->desc.count;
  rb_field_plan *oracle = NULL;
  float *got = malloc((size_t)n * sizeof *got), *want = malloc((size_t)n * sizeof *want);
  RB_CHECK(got && want, RB_ENOMEM, "host memory");
  RB_TRY(rb_field_create(&rb_field_family.variants[0], &s->desc, &oracle));
  const rb_array x = rb_array_host(RB_F32, n, s->host[0]), y = rb_array_host(RB_F32, n, s->host[1]);
  if (s->reduction) {
    double sum;
    RB_TRY(rb_field_dot(oracle, n, x, y, &sum));
    rb_outcome_verify(o, "|sum - oracle| / sum", fabs(s->sum - sum) / fabs(sum),
                      rb_field_sum_tolerance(n, 1) / fabs(sum), "cpu/ref");
    o->bytes = REDUCED * (double)n * sizeof(float), o->flops = 2.0 * (double)n;
  } else {
    double worst = 0;
    RB_TRY(rb_array_download(s->out[turn % s->rotations], got));
    RB_TRY(rb_field_combine(oracle, n, A, x, B, y, 0, rb_array_host(RB_F32, n, want)));
    for (int64_t i = 0; i < n; i++) {
      const double d = fabs((double)(got[i] - want[i]));
      if (!(d <= worst)) worst = d; /* a NaN stays */
    }
    rb_outcome_verify(o, "greatest difference", worst, rb_field_tolerance(RB_F32, 1), "cpu/ref, every value");
    o->bytes = COMBINED * (double)n * sizeof(float), o->flops = 3.0 * (double)n;
  }
  rb_outcome_metric(o, "voxels", 1e-6 * (double)n, "M", "values of an array");
done:
  rb_field_destroy(oracle);
  free(want), free(got);
  return st;
}

static const rb_workload_axis axes[] = {{"size", RB_VALUES_SIZE}, {NULL, NULL}};
const rb_workload rb_workload_combine = {"combine", &rb_field_family, predict, footprint_combine, setup_combine,
                                         run,       poison,           verify,  teardown,          axes,
                                         rescale};
const rb_workload rb_workload_reduction = {
    "reduction", &rb_field_family, predict, footprint_reduction, setup_reduction, run, poison, verify, teardown,
    axes,        rescale};
