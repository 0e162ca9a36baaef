/* SPDX-License-Identifier: BSD-3-Clause */
/* splat: masses spread over a grid (ha2012, Table 2): one a node of a deformed grid, or with points: surface one a
 * face of the first surface of axis `data` (inputs/surfaces.h), at its centre, the surface as large as the grid
 * holds. Masses are uniform in [0, 1); of the singular deformation 1024/n times that, so that the one cell's sums
 * stay below what the paper's fixed point holds, or with masses: full as they are, which it does not hold.
 *
 * Verified at every node by the oracle, with the range of the masses and the greatest sum of weights. With duality 1
 * also whether interpolation undoes the splatting, as the paper has it, and whether it is its transpose. */
#include "experiments/runner/inputs/deformation.h"
#include "experiments/runner/inputs/host_apply.h"
#include "experiments/runner/inputs/host_splat.h"
#include "experiments/runner/inputs/surfaces.h"
#include "experiments/runner/workloads/workload.h"
#include "kernels/base/rng.h"
#include "kernels/interp/interp.h"
#include "kernels/splat/splat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MASS_STREAM = 7, FIELD_STREAM = 8 };
#define SINGULAR_MASS 1024.0 /* half of what 2^20 a unit holds in 32 bits */

typedef struct {
  const rb_case *c;
  const rb_backend *backend;
  rb_splat_desc desc;
  rb_splat_plan *plan;
  double scale;
  double factor; /* of the masses, since the oracle's sums were made */
  float *x, *m;  /* host: [3][np], [np] */
  rb_data_source source;
  rb_array points, masses, nodes;
} state;

static int of_surface(const rb_case *c) { return strcmp(rb_case_axis(c, "points", ""), "surface") == 0; }
static size_t field(const rb_case *c) { return (size_t)rb_grid_points(c->grid) * sizeof(float); }
static void predict(const rb_case *c, int rotations, size_t *backend, size_t *host) {
  (void)rotations;
  const rb_splat_desc d = {
      .grid = c->grid, .np = rb_grid_points(c->grid), .boundary = RB_CLAMP, .dtype = RB_F32, .components = 1};
  *backend = 5 * field(c) + rb_splat_workspace(c->variant, &d);
  *host = (strcmp(rb_case_axis(c, "duality", "0"), "1") == 0 ? 13 : 10) * field(c);
}
static size_t footprint(const rb_case *c) { return 5 * field(c); }

static void teardown(void *p) {
  state *s = p;
  if (!s) return;
  rb_splat_destroy(s->plan);
  rb_array_destroy(&s->points), rb_array_destroy(&s->masses), rb_array_destroy(&s->nodes);
  free(s->x), free(s->m);
  free(s);
}

/* The centres of a surface's faces in grid units, the surface in the middle of the grid and a node away from the ends
 * of the axis that holds it tightest. *np: how many; *x [3][np] is the caller's. */
static rb_status surface_points(const rb_case *c, rb_data_source *source, int64_t *np, float **x) {
  rb_status st = RB_OK;
  rb_mesh pair[2] = {{0}};
  rb_mesh_report box;
  double step = 0;
  for (int a = 0; a < 3; a++)
    RB_CHECK(c->grid.n[a] >= 4, RB_EINVAL, "axis %d has %lld nodes; a surface needs 4", a + 1,
             (long long)c->grid.n[a]);
  RB_TRY(rb_surface_pair(rb_case_axis(c, "data", "spheres"), pair, source));
  const rb_mesh *s = &pair[0];
  *np = s->faces;
  *x = malloc(3 * (size_t)s->faces * sizeof **x);
  RB_CHECK(*x, RB_ENOMEM, "host memory");
  RB_TRY(rb_mesh_measure(s, &box));
  for (int a = 0; a < 3; a++) step = fmax(step, (box.high[a] - box.low[a]) / (double)(c->grid.n[a] - 3));
  for (int a = 0; a < 3; a++)
    for (int64_t f = 0; f < s->faces; f++) {
      double centre = 0;
      for (int k = 0; k < 3; k++) centre += s->x[a * s->vertices + s->face[3 * f + k]] / 3;
      (*x)[a * s->faces + f] =
          (float)((centre - (box.low[a] + box.high[a]) / 2) / step + (double)(c->grid.n[a] - 1) / 2);
    }
done:
  rb_mesh_free(&pair[0]), rb_mesh_free(&pair[1]);
  return st;
}

static rb_status setup(const rb_case *c, const rb_backend *b, int rotations, void **out) {
  rb_status st = RB_OK;
  const char *deformation = rb_case_axis(c, "points", "diffeomorphic");
  const int64_t n = rb_grid_points(c->grid);
  state *s = calloc(1, sizeof *s);
  (void)rotations;
  RB_CHECK(s, RB_ENOMEM, "host memory");
  s->c = c, s->backend = b, s->factor = 1;
  s->desc = (rb_splat_desc){.grid = c->grid, .np = n, .boundary = RB_CLAMP, .dtype = RB_F32, .components = 1};
  if (of_surface(c)) {
    RB_TRY(surface_points(c, &s->source, &s->desc.np, &s->x));
  } else {
    s->x = malloc(3 * field(c));
    RB_CHECK(s->x, RB_ENOMEM, "host memory: %zu bytes", 3 * field(c));
    RB_TRY(rb_deformation(deformation, c->grid, s->x));
  }
  RB_TRY(rb_splat_create(c->variant, &s->desc, &s->plan));
  s->m = malloc((size_t)s->desc.np * sizeof *s->m);
  RB_CHECK(s->m, RB_ENOMEM, "host memory");
  s->scale = strcmp(deformation, "singular") == 0 && strcmp(rb_case_axis(c, "masses", "held"), "held") == 0
                 ? fmin(1, SINGULAR_MASS / (double)n)
                 : 1;
  for (int64_t i = 0; i < s->desc.np; i++) s->m[i] = (float)(s->scale * rb_rng_uniform(MASS_STREAM, (uint64_t)i));
  RB_TRY(rb_to_backend(b, s->x, RB_F32, 3 * s->desc.np, &s->points));
  RB_TRY(rb_to_backend(b, s->m, RB_F32, s->desc.np, &s->masses));
  RB_TRY(rb_poisoned(b, RB_F32, rb_grid_points(s->desc.grid), &s->nodes));
  *out = s;
  s = NULL;
done:
  teardown(s);
  return st;
}
static rb_status run(void *p, int turn) {
  state *s = p;
  (void)turn;
  return rb_splat_run(s->plan, s->points, s->masses, s->nodes);
}
static rb_status poison(void *p, int turn) {
  state *s = p;
  (void)turn;
  return rb_array_fill(s->nodes, 0xFF);
}

static rb_status rescale(void *p, int turn, double by) {
  state *s = p;
  (void)turn;
  s->factor *= by;
  return rb_scale_input(s->m, s->desc.np, by, &s->masses);
}

/* The oracle's sums, kept between cases that differ only in the variant. */
static rb_status reference(const state *s, const float **out) {
  static float *kept;
  static char key[RB_CASE_KEY];
  rb_status st = RB_OK;
  char mine[RB_CASE_KEY];
  rb_case_key(s->c, mine, "splat");
  if (strcmp(key, mine) != 0) {
    free(kept);
    key[0] = '\0';
    kept = malloc(field(s->c));
    RB_CHECK(kept, RB_ENOMEM, "host memory: %zu bytes", field(s->c));
    RB_TRY(rb_host_splat(&rb_splat_family.variants[0], &s->desc, s->x, s->m, kept, NULL));
    memcpy(key, mine, sizeof key);
  }
  *out = kept;
done:
  return st;
}

/* With S the splat that was verified and I the oracle's trilinear interpolation at the same points, in float64:
 * |I S m - m| / |m|, 0 if I S = 1 as the paper has it, and |<S m, w> - <m, I w>| / sum |m I w| for a random field w.
 */
static rb_status add_duality(const state *s, const float *nodes, rb_outcome *o) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(s->c->grid);
  const rb_interp_desc back = {
      .grid = s->c->grid, .basis = RB_LINEAR, .boundary = RB_CLAMP, .dtype = RB_F64, .components = 1};
  const rb_variant *oracle = &rb_interp_family.variants[0];
  double apart = 0, size = 0, left = 0, right = 0, scale = 0;
  float *w = malloc(field(s->c));
  double *at = malloc((size_t)s->desc.np * sizeof *at);
  RB_CHECK(w && at, RB_ENOMEM, "host memory: %zu bytes", 3 * field(s->c));
  RB_TRY(rb_host_interp_floats(oracle, &back, nodes, s->desc.np, s->x, at));
  for (int64_t i = 0; i < s->desc.np; i++) {
    const double m = (double)s->m[i];
    apart += (at[i] - m) * (at[i] - m), size += m * m;
  }
  for (int64_t i = 0; i < n; i++) w[i] = (float)(2 * rb_rng_uniform(FIELD_STREAM, (uint64_t)i) - 1);
  RB_TRY(rb_host_interp_floats(oracle, &back, w, s->desc.np, s->x, at));
  for (int64_t i = 0; i < s->desc.np; i++) right += (double)s->m[i] * at[i], scale += fabs((double)s->m[i] * at[i]);
  for (int64_t i = 0; i < n; i++) left += (double)nodes[i] * (double)w[i];
  rb_outcome_metric(o, "duality_printed", sqrt(apart / size), "1", "|I S m - m| / |m|");
  rb_outcome_metric(o, "duality_adjoint", fabs(left - right) / scale, "1", "|<S m, w> - <m, I w>| / sum |m I w|");
done:
  free(w), free(at);
  return st;
}

static rb_status verify(void *p, int turn, rb_outcome *o) {
  rb_status st = RB_OK;
  state *s = p;
  const int64_t n = rb_grid_points(s->c->grid);
  const float *want;
  double apart = 0, most = 0, mass = 0, sum = 0;
  float *got = malloc(field(s->c));
  (void)turn;
  RB_CHECK(got, RB_ENOMEM, "host memory");
  RB_TRY(reference(s, &want));
  if (rb_splat_outcome(s->plan, NULL) != RB_OK) { /* the sums wrapped: what is written is worthless */
    rb_clear();
    rb_outcome_verify(o, "sums that exceed their fixed-point number (1: some)", 1, 0, "weighted sum modulo 2^64");
  }
  RB_TRY(rb_array_download(s->nodes, got));
  for (int64_t i = 0; i < n; i++) {
    const double d = fabs((double)got[i] - s->factor * (double)want[i]);
    if (!(d <= apart)) apart = d; /* a NaN stays */
    most = fmax(most, (double)want[i]), sum += (double)got[i];
  }
  for (int64_t i = 0; i < s->desc.np; i++) mass += (double)s->m[i];
  /* masses are scale/2 in the mean, so that a node's weights add up to some 2/scale of its sum */
  rb_outcome_verify(o, "max |sum - oracle|", apart,
                    rb_splat_tolerance(s->c->variant, &s->desc, 2 * most / s->scale + 8, s->scale), "cpu/ref");
  rb_outcome_metric(o, "error", apart / most, "1", "max |sum - oracle| over the greatest sum");
  rb_outcome_metric(o, "mass_error", fabs(sum / mass - 1), "1", "|sum of nodes / sum of masses - 1|");
  if (strcmp(rb_case_axis(s->c, "duality", "0"), "1") == 0) RB_TRY(add_duality(s, got, o));
  rb_outcome_metric(o, "voxels", 1e-6 * (double)n, "M", "nodes");
  rb_outcome_metric(o, "points", 1e-6 * (double)s->desc.np, "M", "masses");
  if (of_surface(s->c)) rb_outcome_data(o, s->source.file, s->source.sha256);
  o->bytes = rb_splat_bytes(&s->desc);
done:
  free(got);
  return st;
}

static const rb_workload_axis axes[] = {{"size", RB_VALUES_SIZE},
                                        {"points", "random diffeomorphic step singular surface"},
                                        {"data", "spheres icosahedra hemispheres paper"},
                                        {"masses", "held full"},
                                        {"duality", "0 1"},
                                        {NULL, NULL}};
const rb_workload rb_workload_splat = {"splat", &rb_splat_family, predict,  footprint, setup,  run,
                                       poison,  verify,           teardown, axes,      rescale};
