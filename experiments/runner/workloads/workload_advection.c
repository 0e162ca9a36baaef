/* SPDX-License-Identifier: BSD-3-Clause */
/* advection: an image carried forward by a velocity, and back by its negative (brunn2020, Table 3): 14
 * interpolations.
 *
 * The velocity registers the pair of the case (worked out once a size and pair, by the fastest solver that this
 * machine runs). Verified: the image carried forward against the float64 transport of the same basis, on the CPU. */
#include "experiments/runner/inputs/host_apply.h"
#include "kernels/field/field.h"
#include "experiments/runner/workloads/registration.h"
#include "experiments/runner/workloads/workload.h"
#include "solvers/common/field_variant.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const rb_case *c;
  const rb_backend *backend;
  rb_transport_desc desc;
  rb_transport_plan *transport;
  rb_field_plan *field;
  rb_pair pair;
  int64_t n;
  rb_array image, forward, back, v, minus_v;
  float *host_v;
} state;

/* The pair of a case, kept for those that follow: a phantom at 256^3 takes 20 s to make. The caller owns its copies
 * of the images. */
static rb_status pair_of(const rb_case *c, rb_pair *out) {
  static char key[RB_CASE_KEY];
  static rb_pair kept;
  rb_status st = RB_OK;
  char mine[RB_CASE_KEY];
  const size_t bytes = (size_t)rb_grid_points(c->grid) * sizeof(float);
  rb_resampling how;
  rb_case_key(c, mine, "%s", "");
  if (strcmp(mine, key) != 0) {
    key[0] = '\0';
    rb_pair_free(&kept);
    RB_TRY(rb_resampling_parse(rb_case_axis(c, "resample", "antialias"), &how));
    RB_TRY(rb_pair_load(rb_case_axis(c, "data", "phantom"), how, c->grid, &kept));
    memcpy(key, mine, sizeof key);
  }
  *out = kept;
  memset(&out->like, 0, sizeof out->like);
  for (int k = 0; k < 2; k++) out->image[k] = NULL, out->labels[k] = NULL;
  for (int k = 0; k < 2; k++) {
    out->image[k] = malloc(bytes);
    RB_CHECK(out->image[k], RB_ENOMEM, "host memory");
    memcpy(out->image[k], kept.image[k], bytes);
  }
done:
  return st;
}

/* The velocity of a pair at a size, kept for the cases that follow. */
static rb_status velocity_of(const rb_case *c, const rb_pair *pair, float *out) {
  static char key[RB_CASE_KEY];
  static float *kept;
  rb_claire_result *result = NULL;
  rb_status st = RB_OK;
  char mine[RB_CASE_KEY];
  int64_t n = rb_grid_points(c->grid);
  const rb_variant *v;
  rb_claire *solver = NULL;
  rb_claire_options o = rb_claire_defaults();
  rb_case_key(c, mine, "%s", "");
  if (strcmp(mine, key) != 0) {
    key[0] = '\0';
    free(kept);
    kept = malloc(3 * (size_t)n * sizeof *kept);
    RB_CHECK(kept, RB_ENOMEM, "host memory: %zu bytes for a velocity", 3 * (size_t)n * sizeof *kept);
    RB_TRY(rb_variant_find(&rb_claire_family, "fused-fd8-linear", &v));
    if (rb_variant_timed(v) != RB_OK) {
      rb_clear();
      RB_TRY(rb_variant_find(&rb_claire_family, "cpu-fd8-linear", &v));
    }
    RB_TRY(rb_claire_create(v, &o, c->grid, pair->image[0], pair->image[1], &solver));
    result = calloc(1, sizeof *result);
    RB_CHECK(result, RB_ENOMEM, "host memory");
    RB_TRY(rb_claire_solve(solver, NULL, NULL, result));
    RB_TRY(rb_claire_velocity(solver, kept));
    memcpy(key, mine, sizeof key);
  }
  memcpy(out, kept, 3 * (size_t)n * sizeof *kept);
done:
  free(result);
  rb_claire_destroy(solver);
  return st;
}

static size_t bytes_of(const rb_case *c) { return (size_t)rb_grid_points(c->grid) * sizeof(float); }
static void predict(const rb_case *c, int rotations, size_t *backend, size_t *host) {
  (void)rotations;
  *backend = (5 + 14 + 4 + 9) * bytes_of(c);
  *host = 90 * bytes_of(c); /* the pair, the velocity, and the float64 reference or a registration on the CPU */
}
static size_t footprint(const rb_case *c) { return 5 * bytes_of(c); }

static void teardown(void *p) {
  state *s = p;
  if (!s) return;
  rb_transport_destroy(s->transport);
  rb_field_destroy(s->field);
  rb_array *arrays[] = {&s->image, &s->forward, &s->back, &s->v, &s->minus_v};
  for (int i = 0; i < 5; i++) rb_array_destroy(arrays[i]);
  rb_pair_free(&s->pair);
  free(s->host_v);
  free(s);
}

static rb_status describe(const rb_case *c, rb_transport_desc *d) {
  rb_status st = RB_OK;
  *d = (rb_transport_desc){.grid = c->grid, .dtype = RB_F32, .steps = 4, .scheme = RB_FD8, .interp = c->variant};
  RB_CHECK(c->method->basis, RB_EINVAL, "method '%s' needs a basis", c->method->label);
  RB_TRY(rb_interp_basis_parse(c->method->basis, &d->basis, &d->prefilter));
  RB_TRY(rb_variant_find(&rb_derivative_family, c->variant->backend == RB_CUDA ? "cuda/tile" : "cpu/omp",
                         &d->derivative));
  d->field = rb_field_variant(c->variant->backend);
done:
  return st;
}

static rb_status setup(const rb_case *c, const rb_backend *b, int rotations, void **out) {
  rb_status st = RB_OK;
  const rb_variant *composed;
  state *s = calloc(1, sizeof *s);
  (void)rotations;
  RB_CHECK(s, RB_ENOMEM, "host memory");
  s->c = c, s->backend = b, s->n = rb_grid_points(c->grid);
  rb_field_desc f = {.count = 3 * s->n, .dtype = RB_F32};
  RB_TRY(describe(c, &s->desc));
  RB_TRY(pair_of(c, &s->pair));
  s->host_v = malloc(3 * bytes_of(c));
  RB_CHECK(s->host_v, RB_ENOMEM, "host memory");
  RB_TRY(velocity_of(c, &s->pair, s->host_v));
  float most = 0;
  for (int64_t i = 0; i < s->n; i++) most = fmaxf(most, s->pair.image[0][i]);
  for (int64_t i = 0; i < s->n; i++) s->pair.image[0][i] /= most;
  RB_TRY(rb_to_backend(b, s->pair.image[0], RB_F32, s->n, &s->image));
  RB_TRY(rb_to_backend(b, s->host_v, RB_F32, 3 * s->n, &s->v));
  for (int64_t i = 0; i < 3 * s->n; i++) s->host_v[i] = -s->host_v[i];
  RB_TRY(rb_to_backend(b, s->host_v, RB_F32, 3 * s->n, &s->minus_v));
  for (int64_t i = 0; i < 3 * s->n; i++) s->host_v[i] = -s->host_v[i];
  RB_TRY(rb_poisoned(b, RB_F32, s->n, &s->forward));
  RB_TRY(rb_poisoned(b, RB_F32, s->n, &s->back));
  RB_TRY(rb_field_create(rb_field_variant(b->kind), &f, &s->field));
  RB_TRY(rb_variant_find(&rb_transport_family, b->kind == RB_CUDA ? "cuda/composed" : "cpu/composed", &composed));
  RB_TRY(rb_transport_create(composed, &s->desc, &s->transport));
  *out = s;
  s = NULL;
done:
  teardown(s);
  return st;
}

static rb_status run(void *p, int turn) {
  rb_status st = RB_OK;
  state *s = p;
  (void)turn;
  RB_TRY(rb_field_combine(s->field, s->n, 1, s->image, 0, rb_array_none(), 0, s->forward));
  RB_TRY(rb_transport_velocity(s->transport, s->v));
  RB_TRY(rb_transport_advect(s->transport, s->forward));
  RB_TRY(rb_field_combine(s->field, s->n, 1, s->forward, 0, rb_array_none(), 0, s->back));
  RB_TRY(rb_transport_velocity(s->transport, s->minus_v));
  RB_TRY(rb_transport_advect(s->transport, s->back));
done:
  return st;
}

static rb_status poison(void *p, int turn) {
  rb_status st = RB_OK;
  state *s = p;
  (void)turn;
  RB_TRY(rb_array_fill(s->forward, 0xFF));
  RB_TRY(rb_array_fill(s->back, 0xFF));
done:
  return st;
}

/* The same transport in float64 on the CPU; kept between cases of one basis. */
static rb_status reference(const state *s, const double **out) {
  static char key[RB_CASE_KEY];
  static double *kept;
  rb_status st = RB_OK;
  char mine[RB_CASE_KEY];
  const rb_variant *composed;
  rb_transport_plan *t = NULL;
  rb_transport_desc d = s->desc;
  double *v = NULL;
  rb_case_key(s->c, mine, "%s", s->c->method->basis);
  *out = kept;
  if (strcmp(mine, key) == 0) return RB_OK;
  key[0] = '\0';
  free(kept);
  kept = malloc((size_t)s->n * sizeof *kept), v = malloc(3 * (size_t)s->n * sizeof *v);
  RB_CHECK(kept && v, RB_ENOMEM, "host memory");
  for (int64_t i = 0; i < s->n; i++) kept[i] = (double)s->pair.image[0][i];
  for (int64_t i = 0; i < 3 * s->n; i++) v[i] = (double)s->host_v[i];
  d.dtype = RB_F64;
  RB_TRY(rb_variant_find(&rb_interp_family, "cpu/omp", &d.interp));
  RB_TRY(rb_variant_find(&rb_derivative_family, "cpu/omp", &d.derivative));
  d.field = rb_field_variant(RB_CPU);
  RB_TRY(rb_variant_find(&rb_transport_family, "cpu/composed", &composed));
  RB_TRY(rb_transport_create(composed, &d, &t));
  RB_TRY(rb_transport_velocity(t, rb_array_host(RB_F64, 3 * s->n, v)));
  RB_TRY(rb_transport_advect(t, rb_array_host(RB_F64, s->n, kept)));
  *out = kept;
  snprintf(key, sizeof key, "%s", mine);
done:
  rb_transport_destroy(t);
  free(v);
  return st;
}

static rb_status verify(void *p, int turn, rb_outcome *o) {
  rb_status st = RB_OK;
  state *s = p;
  const double *want;
  float *got = malloc(bytes_of(s->c));
  double error = 0, norm = 0, lost = 0, n = (double)s->n;
  int prefilter = s->desc.basis == RB_BSPLINE;
  (void)turn;
  RB_CHECK(got, RB_ENOMEM, "host memory");
  rb_outcome_data(o, s->pair.file[0], s->pair.sha256[0]);
  RB_TRY(reference(s, &want));
  RB_TRY(rb_array_download(s->forward, got));
  for (int64_t i = 0; i < s->n; i++)
    error += ((double)got[i] - want[i]) * ((double)got[i] - want[i]), norm += want[i] * want[i];
  /* float32, or weights of 8 bits: 2^-9 of a cell moves a value by about the image's mean difference between
   * neighbours */
  rb_outcome_verify(o, "relative l2 distance of the image carried forward", sqrt(error / norm),
                    ((const rb_interp_ops *)s->c->variant->ops)->weight_bits ? 5e-3 : 2e-5,
                    "cpu float64, same basis");
  RB_TRY(rb_array_download(s->back, got));
  norm = 0;
  for (int64_t i = 0; i < s->n; i++) {
    double m = (double)s->pair.image[0][i];
    lost += ((double)got[i] - m) * ((double)got[i] - m), norm += m * m;
  }
  rb_outcome_metric(o, "error_relative", sqrt(lost / norm), "1", "|m back - m| / |m|");
  o->bytes = 14 * 20 * n, o->flops = 0;
  rb_outcome_metric(o, "interpolations", 14, "1", "two solves of 3 + 4");
  rb_outcome_metric(o, "paper_bytes_a_call", prefilter ? 44 : 20, "B",
                    "what the paper's GB/s divide: 20 B a point, 24 more for a prefilter's three passes");
done:
  free(got);
  return st;
}

static const rb_workload_axis axes[] = {
    {"size", RB_VALUES_SIZE}, {"data", RB_VALUES_PAIRS}, {"resample", "antialias point"}, {NULL, NULL}};
const rb_workload rb_workload_advection = {"advection", &rb_interp_family, predict, footprint, setup, run, poison,
                                           verify,      teardown,          axes,    NULL};
