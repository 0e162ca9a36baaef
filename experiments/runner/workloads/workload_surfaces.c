/* SPDX-License-Identifier: BSD-3-Clause */
/* surface-distance: squared distance of two surfaces as currents and its gradient by the first one's vertices, as one
 * iteration of ha2012's registration needs them (section 5.2). A method's `sums` are the way of summing: exact,
 * plain, corrected, cubic; axis `size` is a particle mesh's whole grid, laid over both surfaces with room for 5
 * sigma, or axis `ratio` its spacing over sigma.
 *
 * Verified by sums in float64 on the CPU that do the same: the exact sums (cpu/ref at faces drawn from all) or
 * the particle mesh on the same grid (cpu/mesh in float64). Told besides, whatever the method: how far distance and
 * gradient are from the exact ones. */
#include "experiments/runner/inputs/host_apply.h"
#include "experiments/runner/inputs/host_currents.h"
#include "experiments/runner/inputs/surface_products.h"
#include "experiments/runner/inputs/surfaces.h"
#include "experiments/runner/workloads/workload.h"
#include "kernels/base/rng.h"
#include "solvers/currents/surface_match.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DRAWN = 512 }; /* faces at which exact sums are worked out */
/* Limits: seven to twenty-five times the worst of the recorded runs: exact sums in float32 7e-8 of the energy, 1.5e-6
 * of a derivative; on a particle mesh 2.8e-7 and 3e-4. */
static const double ENERGY_LIMIT = 1e-6, DERIVATIVE_LIMIT = 2e-5, MESH_ENERGY_LIMIT = 2e-6,
                    MESH_GRADIENT_LIMIT = 2e-3;
/* For the memory that a case is predicted to take, whose surfaces are not read yet: faces of the larger pair at hand,
 * and per face three vertices, moment, centre, both sums and both derivatives with their copies. */
enum { MOST_FACES = 600000, VALUES_A_FACE = 40, GRIDS_BACKEND = 12, GRIDS_HOST = 24 };

typedef struct {
  const rb_case *c;
  const rb_backend *backend;
  rb_surface_match_desc desc;
  rb_surface_match *match;
  rb_mesh pair[2];
  rb_data_source source;
  rb_array vertices, gradient;
  double energy;
} state;

static rb_surface surface_of(const rb_mesh *m) {
  const rb_surface s = {m->vertices, m->faces, m->x, m->face};
  return s;
}

static void predict(const rb_case *c, int rotations, size_t *backend, size_t *host) {
  const size_t faces = MOST_FACES, grid = (size_t)rb_grid_points(c->grid) * sizeof(float);
  (void)rotations;
  *backend = faces * VALUES_A_FACE * sizeof(float) + GRIDS_BACKEND * grid;
  *host = faces * VALUES_A_FACE * sizeof(double) + GRIDS_HOST * grid;
}
static size_t footprint(const rb_case *c) {
  (void)c;
  return (size_t)300000 * 24 * sizeof(float);
}

static void teardown(void *p) {
  state *s = p;
  if (!s) return;
  rb_surface_match_destroy(s->match);
  rb_array_destroy(&s->vertices), rb_array_destroy(&s->gradient);
  rb_mesh_free(&s->pair[0]), rb_mesh_free(&s->pair[1]);
  free(s);
}

/* The particle mesh's grid: by ratio as fitted; by size the case's whole grid, as wide as the longest axis needs. */
static rb_status lay_grid(state *s) {
  rb_status st = RB_OK;
  rb_currents_desc *d = &s->desc.currents;
  double ratio, low[3], high[3];
  RB_TRY(rb_case_number(s->c, "ratio", 0, &ratio));
  d->spacing = ratio * d->sigma;
  if (ratio > 0 || d->method == RB_CURRENTS_EXACT) return RB_OK;
  for (int a = 0; a < 3; a++) {
    low[a] = INFINITY, high[a] = -INFINITY;
    for (int k = 0; k < 2; k++)
      for (int64_t v = 0; v < s->pair[k].vertices; v++) {
        const double x = s->pair[k].x[a * s->pair[k].vertices + v];
        low[a] = fmin(low[a], x), high[a] = fmax(high[a], x);
      }
  }
  d->grid = s->c->grid;
  for (int a = 0; a < 3; a++)
    d->spacing = fmax(d->spacing, (high[a] - low[a] + 5 * d->sigma) / (double)(d->grid.n[a] - 2));
  for (int a = 0; a < 3; a++) d->origin[a] = (low[a] + high[a]) / 2 - (double)(d->grid.n[a] - 1) * d->spacing / 2;
done:
  return st;
}

static rb_status setup(const rb_case *c, const rb_backend *b, int rotations, void **out) {
  rb_status st = RB_OK;
  state *s = calloc(1, sizeof *s);
  (void)rotations;
  RB_CHECK(s, RB_ENOMEM, "host memory");
  s->c = c, s->backend = b;
  s->desc.variant = c->variant;
  s->desc.currents.dtype = RB_F32;
  RB_CHECK(c->method->sums, RB_EINVAL, "method '%s' needs sums: exact, plain, corrected or cubic", c->method->label);
  RB_TRY(rb_currents_method_parse(c->method->sums, &s->desc.currents.method));
  RB_TRY(rb_case_number(c, "sigma", 5, &s->desc.currents.sigma));
  RB_TRY(rb_surface_pair(rb_case_axis(c, "data", "spheres"), s->pair, &s->source));
  RB_TRY(lay_grid(s));
  RB_CHECK(s->desc.currents.method == RB_CURRENTS_EXACT || rb_currents_variance(&s->desc.currents) > 0,
           RB_EUNSUPPORTED, "sigma %g is too narrow for a corrected kernel on a grid of spacing %g",
           s->desc.currents.sigma, s->desc.currents.spacing);
  RB_TRY(rb_variant_find(&rb_splat_family, b->kind == RB_CUDA ? "cuda/float-atomic" : "cpu/omp",
                         &s->desc.currents.splat));
  const rb_surface moving = surface_of(&s->pair[0]), fixed = surface_of(&s->pair[1]);
  RB_TRY(rb_surface_match_create(&s->desc, &moving, &fixed, &s->match));
  RB_TRY(rb_array_create(b, RB_F32, 3 * moving.vertices, &s->vertices));
  RB_TRY(rb_array_put_doubles(s->vertices, moving.x));
  RB_TRY(rb_poisoned(b, RB_F32, 3 * moving.vertices, &s->gradient));
  *out = s;
  s = NULL;
done:
  teardown(s);
  return st;
}
static rb_status run(void *p, int turn) {
  state *s = p;
  (void)turn;
  return rb_surface_match_eval(s->match, s->vertices, &s->energy, s->gradient);
}
static rb_status poison(void *p, int turn) {
  state *s = p;
  (void)turn;
  s->energy = NAN;
  return rb_array_fill(s->gradient, 0xFF);
}

/* ---- float64 on the CPU ---- */

typedef struct {
  rb_surface_products products;
  int64_t face[DRAWN];
  double u[3 * DRAWN], z[3 * DRAWN]; /* of S - T at those faces of S, exact */
} exact_values;

/* u and z of S - T at the drawn faces, by cpu/ref over all faces. */
static rb_status draw_exact(const state *s, double sigma, exact_values *e) {
  rb_status st = RB_OK;
  double *y = NULL, *m = NULL, *y2 = NULL, *m2 = NULL, x[3 * DRAWN], q[3 * DRAWN], u[3 * DRAWN], z[3 * DRAWN];
  rb_currents_desc d = {.method = RB_CURRENTS_EXACT, .sigma = sigma, .targets = DRAWN, .dtype = RB_F64};
  const int64_t n[2] = {s->pair[0].faces, s->pair[1].faces};
  RB_TRY(rb_mesh_moments(&s->pair[0], &y, &m));
  RB_TRY(rb_mesh_moments(&s->pair[1], &y2, &m2));
  for (int i = 0; i < DRAWN; i++) {
    e->face[i] = (int64_t)(rb_rng_bits(71, (uint64_t)i) % (uint64_t)n[0]);
    for (int a = 0; a < 3; a++)
      x[a * DRAWN + i] = y[a * n[0] + e->face[i]], q[a * DRAWN + i] = m[a * n[0] + e->face[i]];
  }
  for (int k = 0; k < 2; k++) {
    d.sources = n[k];
    RB_TRY(rb_host_currents(&rb_currents_family.variants[0], &d, k ? y2 : y, k ? m2 : m, DRAWN, x, q, u, z, NULL));
    for (int i = 0; i < 3 * DRAWN; i++)
      e->u[i] = (k ? e->u[i] : 0) + (k ? -1 : 1) * u[i], e->z[i] = (k ? e->z[i] : 0) + (k ? -1 : 1) * z[i];
  }
done:
  free(m2), free(y2), free(m), free(y);
  return st;
}

/* Kept for the next cases of the same surfaces and width. */
static rb_status exact_of(const state *s, const exact_values **out) {
  static exact_values kept;
  static char key[64];
  rb_status st = RB_OK;
  const double sigma = s->desc.currents.sigma;
  char mine[64];
  snprintf(mine, sizeof mine, "%.31s %.17g", rb_case_axis(s->c, "data", "spheres"), sigma);
  if (strcmp(key, mine) != 0) {
    key[0] = '\0';
    RB_TRY(rb_surface_products_of(&s->pair[0], &s->pair[1], RB_CURRENTS_EXACT, sigma, 0, NULL, NULL, &kept.products));
    RB_TRY(draw_exact(s, sigma, &kept));
    memcpy(key, mine, sizeof key);
  }
  *out = &kept;
done:
  return st;
}

static double root_of_squares(const double *a, const double *b, int n) {
  double sum = 0;
  for (int i = 0; i < n; i++) sum += pow(a[i] - (b ? b[i] : 0), 2);
  return sqrt(sum);
}

/* This case's u and z at the drawn faces. */
static rb_status drawn_values(const state *s, const exact_values *e, double *u, double *z) {
  rb_status st = RB_OK;
  rb_array parts[4];
  const int64_t n = s->pair[0].faces;
  float *got = malloc(3 * (size_t)n * sizeof *got);
  RB_CHECK(got, RB_ENOMEM, "host memory");
  rb_surface_match_parts(s->match, &parts[0], &parts[1], &parts[2], &parts[3]);
  for (int k = 2; k < 4; k++) {
    RB_TRY(rb_array_download(parts[k], got));
    for (int i = 0; i < 3 * DRAWN; i++) (k == 2 ? u : z)[i] = (double)got[i / DRAWN * n + e->face[i % DRAWN]];
  }
done:
  free(got);
  return st;
}

/* The same method in float64, with its whole gradient. */
static rb_status twin_of(const state *s, double *energy, double *gradient) {
  rb_status st = RB_OK;
  rb_surface_match *m = NULL;
  rb_surface_match_desc d = {.currents = *rb_surface_match_currents(s->match)};
  const rb_surface moving = surface_of(&s->pair[0]), fixed = surface_of(&s->pair[1]);
  d.currents.dtype = RB_F64;
  RB_TRY(rb_variant_find(&rb_currents_family, "cpu/mesh", &d.variant));
  RB_TRY(rb_variant_find(&rb_splat_family, "cpu/omp", &d.currents.splat));
  RB_TRY(rb_surface_match_create(&d, &moving, &fixed, &m));
  RB_TRY(rb_surface_match_eval(m, rb_array_host(RB_F64, 3 * moving.vertices, moving.x), energy,
                               rb_array_host(RB_F64, 3 * moving.vertices, gradient)));
done:
  rb_surface_match_destroy(m);
  return st;
}

/* Float32 against float64 of the same method. What rounding leaves of a difference is measured by what it is a
 * difference of: <S,S> + <T,T>, and the gradient's own length. */
static rb_status verify_mesh(const state *s, double size, rb_outcome *o) {
  rb_status st = RB_OK;
  const int n = (int)(3 * s->pair[0].vertices);
  double energy, *want = malloc((size_t)n * sizeof *want), *got = malloc((size_t)n * sizeof *got);
  RB_CHECK(want && got, RB_ENOMEM, "host memory");
  RB_TRY(twin_of(s, &energy, want));
  RB_TRY(rb_array_get_doubles(s->gradient, got));
  rb_outcome_verify(o, "|energy - float64's| / (<S,S> + <T,T>)", fabs(s->energy - energy) / size, MESH_ENERGY_LIMIT,
                    "cpu/mesh float64, same grid");
  rb_outcome_verify(o, "relative error of the gradient",
                    root_of_squares(got, want, n) / root_of_squares(want, NULL, n), MESH_GRADIENT_LIMIT,
                    "cpu/mesh float64, same grid");
done:
  free(got), free(want);
  return st;
}

static rb_status verify(void *p, int turn, rb_outcome *o) {
  rb_status st = RB_OK;
  state *s = p;
  const exact_values *e;
  const rb_currents_desc *d = rb_surface_match_currents(s->match);
  double u[3 * DRAWN], z[3 * DRAWN];
  (void)turn;
  rb_outcome_data(o, s->source.file, s->source.sha256);
  RB_TRY(exact_of(s, &e));
  RB_TRY(drawn_values(s, e, u, z));
  const double exact = e->products.ss - 2 * e->products.st + e->products.tt, size = e->products.ss + e->products.tt;
  const double off_u = root_of_squares(u, e->u, 3 * DRAWN) / root_of_squares(e->u, NULL, 3 * DRAWN),
               off_z = root_of_squares(z, e->z, 3 * DRAWN) / root_of_squares(e->z, NULL, 3 * DRAWN);
  if (d->method == RB_CURRENTS_EXACT) {
    const double low = rb_currents_pair_error(s->c->variant); /* 0 but for low precision */
    rb_outcome_verify(o, "|energy - exact| / (<S,S> + <T,T>)", fabs(s->energy - exact) / size, ENERGY_LIMIT + low,
                      "cpu/omp float64");
    rb_outcome_verify(o, "relative error of u at drawn faces", off_u, DERIVATIVE_LIMIT + low, "cpu/ref");
    rb_outcome_verify(o, "relative error of z at drawn faces", off_z, DERIVATIVE_LIMIT + low, "cpu/ref");
  } else {
    RB_TRY(verify_mesh(s, size, o));
    rb_outcome_metric(o, "spacing", d->spacing, "mm", "of the grid");
    rb_outcome_metric(o, "nodes", 1e-6 * (double)rb_grid_points(d->grid), "M", "of the grid");
    rb_outcome_metric(o, "ratio", d->spacing / d->sigma, "1", "spacing / sigma");
  }
  rb_outcome_metric(o, "distance_squared", s->energy, "mm^4", "|S - T|^2");
  rb_outcome_metric(o, "energy_exact", exact, "mm^4", "the same by all pairs in float64");
  rb_outcome_metric(o, "error_energy", fabs(s->energy / exact - 1), "1", "|energy / exact - 1|");
  rb_outcome_metric(o, "error_u", off_u, "1", "of the derivative by moments, root of squares over 512 faces");
  rb_outcome_metric(o, "error_z", off_z, "1", "of the derivative by centres, likewise");
  rb_outcome_metric(o, "faces_moving", (double)s->pair[0].faces, "1", "of S");
  rb_outcome_metric(o, "faces_fixed", (double)s->pair[1].faces, "1", "of T");
  o->pairs =
      d->method == RB_CURRENTS_EXACT ? (double)s->pair[0].faces * (double)(s->pair[0].faces + s->pair[1].faces) : 0;
done:
  return st;
}

static const rb_workload_axis axes[] = {{"data", "spheres icosahedra hemispheres paper"},
                                        {"size", RB_VALUES_SIZE},
                                        {"sigma", RB_VALUES_NUMBER},
                                        {"ratio", RB_VALUES_NUMBER},
                                        {NULL, NULL}};
const rb_workload rb_workload_surface_distance = {
    "surface-distance", &rb_currents_family, predict, footprint, setup, run, poison, verify, teardown, axes, NULL};
