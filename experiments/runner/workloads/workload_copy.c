/* SPDX-License-Identifier: BSD-3-Clause */
/* copy and copy-halo: the memory roofs of brunn2020 section 3.2, on a grid of the case's size. */
#include "experiments/runner/inputs/host_apply.h"
#include "experiments/runner/workloads/workload.h"
#include "kernels/base/rng.h"
#include "kernels/probe/probe.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_ROTATIONS = 64 };

typedef struct {
  const rb_case *c;
  const rb_backend *backend;
  const rb_probe_ops *ops;
  int rotations, halo;
  rb_array in[MOST_ROTATIONS], out[MOST_ROTATIONS];
  float *host;
} state;

static size_t bytes_of(const rb_case *c) { return (size_t)rb_grid_points(c->grid) * sizeof(float); }
static void predict(const rb_case *c, int rotations, size_t *backend, size_t *host) {
  *backend = (size_t)rotations * 2 * bytes_of(c);
  *host = 2 * bytes_of(c);
}
static size_t footprint(const rb_case *c) { return 2 * bytes_of(c); }

static void teardown(void *p) {
  state *s = p;
  if (!s) return;
  for (int r = 0; r < s->rotations; r++) rb_array_destroy(&s->in[r]), rb_array_destroy(&s->out[r]);
  free(s->host), free(s);
}

static rb_status setup_kind(const rb_case *c, const rb_backend *b, int rotations, int halo, void **out) {
  rb_status st = RB_OK;
  state *s = calloc(1, sizeof *s);
  RB_CHECK(s, RB_ENOMEM, "host memory");
  s->c = c, s->backend = b, s->halo = halo;
  s->rotations = rotations < MOST_ROTATIONS ? rotations : MOST_ROTATIONS;
  RB_TRY(rb_variant_timed(c->variant));
  s->ops = c->variant->ops;
  RB_CHECK(s->ops->copy && s->ops->halo == halo, RB_EUNSUPPORTED, "%s is no copy%s", c->variant->name,
           halo ? " with halo" : "");
  s->host = malloc(bytes_of(c));
  RB_CHECK(s->host, RB_ENOMEM, "host memory: %zu bytes", bytes_of(c));
  for (int64_t i = 0; i < rb_grid_points(c->grid); i++) s->host[i] = (float)rb_rng_symmetric(7, (uint64_t)i);
  for (int r = 0; r < s->rotations; r++) {
    RB_TRY(rb_to_backend(b, s->host, RB_F32, rb_grid_points(c->grid), &s->in[r]));
    RB_TRY(rb_poisoned(b, RB_F32, rb_grid_points(c->grid), &s->out[r]));
  }
  *out = s;
  s = NULL;
done:
  teardown(s);
  return st;
}
static rb_status setup(const rb_case *c, const rb_backend *b, int r, void **out) {
  return setup_kind(c, b, r, 0, out);
}
static rb_status setup_halo(const rb_case *c, const rb_backend *b, int r, void **out) {
  return setup_kind(c, b, r, 1, out);
}

static rb_status run(void *p, int turn) {
  state *s = p;
  int r = turn % s->rotations;
  return s->ops->copy(s->in[r].data, s->out[r].data, s->c->grid);
}
static rb_status poison(void *p, int turn) {
  state *s = p;
  return rb_array_fill(s->out[turn % s->rotations], 0xFF);
}

static rb_status rescale(void *p, int turn, double by) {
  state *s = p;
  return rb_scale_input(s->host, rb_grid_points(s->c->grid), by, &s->in[turn % s->rotations]);
}

static rb_status verify(void *p, int turn, rb_outcome *o) {
  rb_status st = RB_OK;
  state *s = p;
  int64_t different = 0;
  float *got = malloc(bytes_of(s->c));
  RB_CHECK(got, RB_ENOMEM, "host memory");
  RB_TRY(rb_array_download(s->out[turn % s->rotations], got));
  for (int64_t i = 0; i < rb_grid_points(s->c->grid); i++) different += !(got[i] == s->host[i]);
  rb_outcome_verify(o, "values that differ from the input", (double)different, 0, "input");
  o->bytes = s->halo ? rb_copy_halo_bytes(s->c->grid) : 2.0 * (double)bytes_of(s->c);
  o->paper_bytes = o->bytes;
done:
  free(got);
  return st;
}

static const rb_workload_axis axes[] = {{"size", RB_VALUES_SIZE}, {NULL, NULL}};
const rb_workload rb_workload_copy = {"copy", &rb_probe_family, predict,  footprint, setup,  run,
                                      poison, verify,           teardown, axes,      rescale};
const rb_workload rb_workload_copy_halo = {"copy-halo", &rb_probe_family, predict,  footprint, setup_halo, run,
                                           poison,      verify,           teardown, axes,      rescale};
