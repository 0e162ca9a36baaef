/* SPDX-License-Identifier: BSD-3-Clause */
/* gauss-sum, gauss-flow, gauss-backward: the sums of the family gausssum over N points (shooting2018 sections 2.2
 * to 2.5).
 *
 * Points fill a cube of side 4 sigma, so that every term counts; momenta lie in [0, 1], so that sums grow with N:
 * what a way of adding loses shows. Verified by the oracle's formula in float64 on all rows of up to 10000 points; of
 * more on the first and the last ones and on drawn ones, as many as cost as much. */
#include "experiments/runner/inputs/host_apply.h"
#include "experiments/runner/workloads/places.h"
#include "kernels/base/rng.h"
#include "kernels/gausssum/gausssum.h"

#include <math.h>
#include <stdlib.h>

enum { DIM = 3, END_ROWS = 16, LEAST_ROWS = 96 };
static const double MOST_PAIRS = 1e8; /* of points that the oracle evaluates a case: some seconds */
typedef enum { SUM, FLOW, BACKWARD } what;
static const double SIGMA = 1.5;

typedef struct {
  const rb_case *c;
  const rb_backend *backend;
  what what;
  rb_gausssum_desc desc;
  rb_gausssum_plan *plan;
  float *in[4]; /* host: q, p, alpha, beta */
  rb_array device[4], out[2];
  int rows;
  double factor[2];        /* of the outputs, since `exact` was made */
  int64_t *row;            /* [rows] */
  double (*exact)[2][DIM]; /* [rows] */
} state;

static int64_t points_of(const rb_case *c) { return atoll(rb_case_axis(c, "points", "1000")); }
static size_t bytes_of(const rb_case *c) { return (size_t)points_of(c) * DIM * sizeof(float); }

static void predict(const rb_case *c, int rotations, size_t *backend, size_t *host) {
  const rb_gausssum_desc d = {.n = points_of(c), .dim = DIM, .dtype = RB_F32};
  (void)rotations;
  *backend = 6 * bytes_of(c) + rb_gausssum_workspace(c->variant, &d);
  *host = 6 * bytes_of(c);
}
static size_t footprint(const rb_case *c) { return 6 * bytes_of(c); }

static void teardown(void *p) {
  state *s = p;
  if (!s) return;
  rb_gausssum_destroy(s->plan);
  for (int k = 0; k < 4; k++) free(s->in[k]), rb_array_destroy(&s->device[k]);
  for (int k = 0; k < 2; k++) rb_array_destroy(&s->out[k]);
  free(s->exact), free(s->row), free(s);
}

/* Which rows are looked at, and their exact sums. */
static rb_status work_out_rows(state *s) {
  rb_status st = RB_OK;
  const int64_t n = s->desc.n, affordable = (int64_t)(MOST_PAIRS / (double)n);
  const int64_t rows = affordable >= n ? n : affordable > LEAST_ROWS ? affordable : LEAST_ROWS < n ? LEAST_ROWS : n;
  s->row = malloc((size_t)rows * sizeof *s->row), s->exact = calloc((size_t)rows, sizeof *s->exact);
  RB_CHECK(s->row && s->exact, RB_ENOMEM, "host memory");
  s->rows = (int)rows;
  for (int64_t r = 0; r < rows; r++)
    s->row[r] = rows == n          ? r
                : r < END_ROWS     ? r
                : r < 2 * END_ROWS ? n - 1 - (r - END_ROWS)
                                   : (int64_t)(rb_rng_bits(rb_places_seed(), (uint64_t)r) % (uint64_t)n);
#pragma omp parallel for schedule(dynamic)
  for (int r = 0; r < s->rows; r++) {
    rb_gausssum_oracle_row(&s->desc, SIGMA, s->in[0], s->in[1], s->what == BACKWARD ? s->in[2] : NULL, s->in[3],
                           s->row[r], s->exact[r][0], s->exact[r][1]);
  }
done:
  return st;
}

static rb_status setup_kind(const rb_case *c, const rb_backend *b, what w, void **out) {
  rb_status st = RB_OK;
  state *s = calloc(1, sizeof *s);
  RB_CHECK(s, RB_ENOMEM, "host memory");
  s->c = c, s->backend = b, s->what = w, s->factor[0] = s->factor[1] = 1;
  s->desc = (rb_gausssum_desc){.n = points_of(c), .dim = DIM, .dtype = RB_F32};
  RB_TRY(rb_gausssum_create(c->variant, &s->desc, &s->plan));
  for (int k = 0; k < 4; k++) {
    s->in[k] = malloc(bytes_of(c));
    RB_CHECK(s->in[k], RB_ENOMEM, "host memory: %zu bytes", bytes_of(c));
    for (int64_t i = 0; i < DIM * s->desc.n; i++) {
      double u = rb_rng_symmetric(51 + (uint64_t)k, (uint64_t)i);
      s->in[k][i] = (float)(k == 0 ? 2 * SIGMA * u : 0.5 + 0.5 * u);
    }
    RB_TRY(rb_to_backend(b, s->in[k], RB_F32, s->desc.dim * s->desc.n, &s->device[k]));
  }
  for (int k = 0; k < 2; k++) RB_TRY(rb_poisoned(b, RB_F32, s->desc.dim * s->desc.n, &s->out[k]));
  RB_TRY(work_out_rows(s));
  *out = s;
  s = NULL;
done:
  teardown(s);
  return st;
}
static rb_status setup_sum(const rb_case *c, const rb_backend *b, int r, void **out) {
  return (void)r, setup_kind(c, b, SUM, out);
}
static rb_status setup_flow(const rb_case *c, const rb_backend *b, int r, void **out) {
  return (void)r, setup_kind(c, b, FLOW, out);
}
static rb_status setup_backward(const rb_case *c, const rb_backend *b, int r, void **out) {
  return (void)r, setup_kind(c, b, BACKWARD, out);
}

static rb_status run(void *p, int turn) {
  state *s = p;
  (void)turn;
  if (s->what == BACKWARD)
    return rb_gausssum_backward(s->plan, SIGMA, s->device[0], s->device[1], s->device[2], s->device[3], s->out[0],
                                s->out[1]);
  return rb_gausssum_flow(s->plan, SIGMA, s->device[0], s->device[1], s->what == FLOW ? s->out[0] : rb_array_none(),
                          s->out[1]);
}
static rb_status poison(void *p, int turn) {
  rb_status st = RB_OK;
  state *s = p;
  (void)turn;
  for (int k = 0; k < 2; k++) RB_TRY(rb_array_fill(s->out[k], 0xFF));
done:
  return st;
}

/* A flow's second output is linear in the momenta, the first one quadratic; backward is linear in alpha and beta. */
static rb_status rescale(void *p, int turn, double by) {
  rb_status st = RB_OK;
  state *s = p;
  const int64_t count = s->desc.dim * s->desc.n;
  (void)turn;
  s->factor[0] *= s->what == BACKWARD ? by : by * by, s->factor[1] *= by;
  if (s->what != BACKWARD) return rb_scale_input(s->in[1], count, by, &s->device[1]);
  for (int k = 2; k < 4; k++) RB_TRY(rb_scale_input(s->in[k], count, by, &s->device[k]));
done:
  return st;
}

static rb_status verify(void *p, int turn, rb_outcome *o) {
  rb_status st = RB_OK;
  state *s = p;
  const int64_t n = s->desc.n;
  double off = 0, norm = 0, worst[2] = {0, 0}, largest[2] = {0, 0};
  float *got = malloc(bytes_of(s->c));
  (void)turn;
  RB_CHECK(got, RB_ENOMEM, "host memory");
  for (int k = s->what == SUM ? 1 : 0; k < 2; k++) {
    RB_TRY(rb_array_download(s->out[k], got));
    for (int r = 0; r < s->rows; r++)
      for (int c = 0; c < DIM; c++) {
        const double d = fabs((double)got[c * n + s->row[r]] - s->factor[k] * s->exact[r][k][c]),
                     e = fabs(s->exact[r][k][c]);
        off += d * d, norm += e * e;
        if (worst[k] == worst[k] && !(d <= worst[k])) worst[k] = d; /* a NaN stays */
        largest[k] = fmax(largest[k], e);
      }
    /* the momenta are positive, and a point on the cube's face has all others on one side: sums grow to the greatest
     * of them */
    rb_outcome_verify(o,
                      k ? "greatest error of the rows looked at" : "greatest error of the rows looked at, first sums",
                      worst[k], rb_gausssum_tolerance(s->c->variant, &s->desc, largest[k]), "oracle, float64");
  }
  rb_outcome_metric(o, "error_relative", sqrt(off / norm), "1", "||out - exact|| / ||exact|| on the rows looked at");
  rb_outcome_metric(o, "error_max", fmax(worst[0] / fmax(largest[0], 1e-30), worst[1] / largest[1]), "1",
                    "greatest |out - exact| / greatest |exact|");
  if (s->rows < n) rb_outcome_metric(o, "oracle_seed", (double)rb_places_seed(), "1", "of the rows that were drawn");
  o->pairs = (double)n * (double)n;
  o->flops = rb_gausssum_flops(&s->desc, s->what == SUM ? 's' : s->what == FLOW ? 'f' : 'b');
done:
  free(got);
  return st;
}

static const rb_workload_axis axes[] = {{"points", RB_VALUES_COUNT}, {NULL, NULL}};
const rb_workload rb_workload_gauss_sum = {
    "gauss-sum", &rb_gausssum_family, predict, footprint, setup_sum, run, poison, verify, teardown, axes, rescale};
const rb_workload rb_workload_gauss_flow = {
    "gauss-flow", &rb_gausssum_family, predict, footprint, setup_flow, run, poison, verify, teardown, axes, rescale};
const rb_workload rb_workload_gauss_backward = {
    "gauss-backward", &rb_gausssum_family, predict, footprint, setup_backward, run, poison, verify, teardown, axes,
    rescale};
