/* SPDX-License-Identifier: BSD-3-Clause */
/* average: the mean of `images` volumes of size^3 noise in [0, 1), in fixed point. Verified at every voxel, to the
 * bit, by the oracle. */
#include "experiments/runner/inputs/host_apply.h"
#include "experiments/runner/workloads/workload.h"
#include "kernels/average/average.h"
#include "kernels/base/rng.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_ROTATIONS = 64 };

typedef struct {
  rb_average_desc desc;
  rb_average_plan *plan;
  int images, rotations;
  float *host;                                      /* [images][n] */
  rb_array in[MOST_ROTATIONS], out[MOST_ROTATIONS]; /* [images][n], [n] */
} state;

static rb_status images_of(const rb_case *c, int *out) {
  double images;
  rb_status st = rb_case_number(c, "images", 2, &images);
  *out = (int)images;
  return st;
}

static size_t volume(const rb_case *c) { return (size_t)rb_grid_points(c->grid) * sizeof(float); }
static void predict(const rb_case *c, int rotations, size_t *backend, size_t *host) {
  int images = 2;
  if (images_of(c, &images) != RB_OK) rb_clear();
  *backend = ((size_t)rotations * ((size_t)images + 1) + 1) * volume(c);
  *host = ((size_t)images + 6) * volume(c); /* the oracle's sums are float64 and whole numbers */
}
static size_t footprint(const rb_case *c) {
  int images = 2;
  if (images_of(c, &images) != RB_OK) rb_clear();
  return ((size_t)images + 1) * volume(c);
}

static void teardown(void *p) {
  state *s = p;
  if (!s) return;
  rb_average_destroy(s->plan);
  for (int r = 0; r < s->rotations; r++) rb_array_destroy(&s->in[r]), rb_array_destroy(&s->out[r]);
  free(s->host);
  free(s);
}

static rb_status setup(const rb_case *c, const rb_backend *b, int rotations, void **out) {
  rb_status st = RB_OK;
  state *s = calloc(1, sizeof *s);
  RB_CHECK(s, RB_ENOMEM, "host memory");
  s->rotations = rotations < MOST_ROTATIONS ? rotations : MOST_ROTATIONS;
  RB_TRY(images_of(c, &s->images));
  s->desc = (rb_average_desc){.count = rb_grid_points(c->grid), .kind = RB_SUM_FIXED, .dtype = RB_F32};
  RB_TRY(rb_average_create(c->variant, &s->desc, &s->plan));
  const int64_t count = s->images * s->desc.count;
  s->host = malloc((size_t)count * sizeof *s->host);
  RB_CHECK(s->host, RB_ENOMEM, "host memory: %zu bytes", (size_t)count * sizeof *s->host);
  for (int64_t i = 0; i < count; i++) s->host[i] = (float)(0.5 + 0.5 * rb_rng_symmetric(104, (uint64_t)i));
  for (int r = 0; r < s->rotations; r++) {
    RB_TRY(rb_to_backend(b, s->host, RB_F32, count, &s->in[r]));
    RB_TRY(rb_poisoned(b, RB_F32, s->desc.count, &s->out[r]));
  }
  *out = s;
  s = NULL;
done:
  teardown(s);
  return st;
}

static rb_status run(void *p, int turn) {
  rb_status st = RB_OK;
  state *s = p;
  const int r = turn % s->rotations;
  RB_TRY(rb_average_clear(s->plan));
  for (int k = 0; k < s->images; k++)
    RB_TRY(rb_average_add(s->plan, 1, rb_array_part(s->in[r], k * s->desc.count, s->desc.count)));
  RB_TRY(rb_average_finish(s->plan, s->images, s->out[r]));
done:
  return st;
}
static rb_status poison(void *p, int turn) {
  state *s = p;
  return rb_array_fill(s->out[turn % s->rotations], 0xFF);
}

static rb_status rescale(void *p, int turn, double by) {
  state *s = p;
  return rb_scale_input(s->host, s->images * s->desc.count, by, &s->in[turn % s->rotations]);
}

static rb_status verify(void *p, int turn, rb_outcome *o) {
  rb_status st = RB_OK;
  state *s = p;
  const int64_t n = s->desc.count;
  rb_average_plan *oracle = NULL;
  double apart = 0;
  float *got = malloc((size_t)n * sizeof *got), *want = malloc((size_t)n * sizeof *want);
  RB_CHECK(got && want, RB_ENOMEM, "host memory");
  RB_TRY(rb_array_download(s->out[turn % s->rotations], got));
  RB_TRY(rb_average_create(&rb_average_family.variants[0], &s->desc, &oracle));
  for (int k = 0; k < s->images; k++) RB_TRY(rb_average_add(oracle, 1, rb_array_host(RB_F32, n, s->host + k * n)));
  RB_TRY(rb_average_finish(oracle, s->images, rb_array_host(RB_F32, n, want)));
  for (int64_t i = 0; i < n; i++) {
    const double d = fabs((double)(got[i] - want[i]));
    if (!(d <= apart)) apart = d; /* a NaN stays */
  }
  rb_outcome_verify(o, "greatest difference", apart, 0, "oracle, whole numbers");
  rb_outcome_metric(o, "voxels", 1e-6 * (double)n, "M", "of a volume");
  /* sums begin at 0 and end as a mean: one volume written, and one read and one written */
  o->bytes = s->images * rb_average_bytes(&s->desc) + 3.0 * (double)n * sizeof(float);
done:
  rb_average_destroy(oracle);
  free(want), free(got);
  return st;
}

static const rb_workload_axis axes[] = {{"size", RB_VALUES_SIZE}, {"images", RB_VALUES_COUNT}, {NULL, NULL}};
const rb_workload rb_workload_average = {"average", &rb_average_family, predict, footprint, setup, run, poison,
                                         verify,    teardown,           axes,    rescale};
