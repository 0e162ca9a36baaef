/* SPDX-License-Identifier: BSD-3-Clause */
/* The iteration of ha2012: force of images and surfaces, velocity, movement; levels around it. */
#include "solvers/currents/currents.h"

#include "kernels/base/clock.h"
#include "kernels/compose/compose.h"
#include "kernels/field/field.h"
#include "kernels/helmholtz/helmholtz.h"
#include "kernels/interp/interp.h"
#include "kernels/l2force/l2force.h"
#include "kernels/splat/splat.h"
#include "solvers/common/field_variant.h"
#include "solvers/currents/surface_match.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A surface that is carried along. */
typedef struct {
  rb_surface moving, fixed; /* borrowed; voxels */
  rb_surface_match *match;  /* of the level */
  rb_splat_plan *splat;     /* a force at its vertices onto the grid */
  rb_array x, start;        /* [3][vertices]: now; at the start */
  rb_array force, moved;    /* [3][vertices] */
  double weight;            /* b_j of the level */
} carried;

struct rb_currents {
  const rb_currents_config *config; /* the variant's ops */
  const rb_backend *backend;
  rb_currents_options options;
  const volatile int *interrupted; /* ends a solve early; may be NULL */
  rb_grid grid;
  int64_t n;                  /* grid points */
  int channels, surfaces;     /* either may be 0 */
  rb_interp_plan *posteriors; /* holds P */
  rb_interp_plan *velocity;   /* reads v at vertices */
  rb_l2force_plan *force;
  rb_helmholtz_plan *helmholtz;
  rb_compose_plan *compose;
  rb_field_plan *field;
  rb_array p, q, j;       /* [channels][n]: template, reference, the template pulled back */
  rb_array u, v, b, part; /* [3][n]: h = id + u; velocity; force; scratch, and the next u */
  carried surface[RB_CURRENTS_SURFACES];
  double image_weight, setup_seconds; /* a_k, one for all k; until all was on the backend */
};

static rb_array channel(const rb_currents *s, rb_array a, int k) { return rb_array_part(a, k * s->n, s->n); }

/* ---- plans and arrays ---- */

static rb_status make_plans(rb_currents *s) {
  rb_status st = RB_OK;
  const rb_currents_config *c = s->config;
  const rb_currents_options *o = &s->options;
  const rb_variant *v;
  rb_interp_desc interp = {.grid = s->grid, .basis = RB_LINEAR, .boundary = RB_CLAMP, .dtype = c->dtype};
  const rb_l2force_desc force = {.grid = s->grid, .spacing = {1, 1, 1}, .dtype = c->dtype};
  const rb_helmholtz_desc helmholtz = {.grid = s->grid,
                                       .spacing = {1, 1, 1},
                                       .alpha = o->alpha,
                                       .beta = o->beta,
                                       .gamma = o->gamma,
                                       .border = 1,
                                       .dtype = c->dtype};
  const rb_compose_desc compose = {.grid = s->grid, .dtype = c->dtype};
  int64_t most = 3 * s->n; /* one field plan for images and vertices alike */
  for (int k = 0; k < s->surfaces; k++)
    most = 3 * s->surface[k].moving.vertices > most ? 3 * s->surface[k].moving.vertices : most;
  const rb_field_desc field = {.count = most, .dtype = c->dtype};
  RB_TRY(rb_variant_find(&rb_interp_family, c->interp, &v));
  interp.components = s->channels;
  if (s->channels) RB_TRY(rb_interp_create(v, &interp, &s->posteriors));
  interp.components = 3;
  RB_TRY(rb_interp_create(v, &interp, &s->velocity));
  RB_TRY(rb_variant_find(&rb_l2force_family, c->l2force, &v));
  RB_TRY(rb_l2force_create(v, &force, &s->force));
  RB_TRY(rb_variant_find(&rb_helmholtz_family, c->helmholtz, &v));
  RB_TRY(rb_helmholtz_create(v, &helmholtz, &s->helmholtz));
  RB_TRY(rb_variant_find(&rb_compose_family, c->compose, &v));
  RB_TRY(rb_compose_create(v, &compose, &s->compose));
  RB_TRY(rb_field_create(rb_field_variant(c->backend), &field, &s->field));
done:
  return st;
}

static rb_status make_arrays(rb_currents *s, const rb_problem *problem) {
  rb_status st = RB_OK;
  const rb_dtype type = s->config->dtype;
  rb_array *const vectors[] = {&s->u, &s->v, &s->b, &s->part}, *const images[] = {&s->p, &s->q, &s->j};
  for (int k = 0; k < 4; k++) RB_TRY(rb_array_create(s->backend, type, 3 * s->n, vectors[k]));
  if (!s->channels) return RB_OK;
  for (int k = 0; k < 3; k++) RB_TRY(rb_array_create(s->backend, type, s->channels * s->n, images[k]));
  RB_TRY(rb_array_put_floats(s->p, problem->templates[0].image));
  RB_TRY(rb_array_put_floats(s->q, problem->reference->image));
  RB_TRY(rb_interp_load(s->posteriors, s->p)); /* once: P stays in the plan */
done:
  return st;
}

static rb_status make_surface(rb_currents *s, carried *c) {
  rb_status st = RB_OK;
  const rb_variant *v;
  const rb_splat_desc d = {.grid = s->grid,
                           .np = c->moving.vertices,
                           .basis = RB_SPLAT_LINEAR,
                           .boundary = RB_CLAMP,
                           .dtype = s->config->dtype,
                           .components = 3};
  rb_array *const own[] = {&c->x, &c->start, &c->force, &c->moved};
  for (int k = 0; k < 4; k++) RB_TRY(rb_array_create(s->backend, d.dtype, 3 * c->moving.vertices, own[k]));
  RB_TRY(rb_array_put_doubles(c->start, c->moving.x)); /* every solve begins from it */
  RB_TRY(rb_variant_find(&rb_splat_family, s->config->splat, &v));
  RB_TRY(rb_splat_create(v, &d, &c->splat));
done:
  return st;
}

/* Waits for everything that has been begun, so that a set-up's time holds it. */
rb_status rb_currents_solver_create(const rb_variant *v, const rb_currents_options *o, const rb_problem *problem,
                                    const volatile int *interrupted, rb_currents **out) {
  rb_status st = RB_OK;
  const double started = rb_now();
  const rb_problem_shape *shape = &problem->shape;
  rb_currents_level level[RB_CURRENTS_LEVELS];
  int levels;
  rb_currents *s = calloc(1, sizeof *s);
  RB_CHECK(s, RB_ENOMEM, "host memory");
  RB_TRY(rb_currents_levels(o, level, &levels));
  RB_CHECK(shape->channels <= RB_CURRENTS_CHANNELS && shape->surfaces <= RB_CURRENTS_SURFACES, RB_EINVAL,
           "%d posteriors and %d surfaces; up to %d and %d work", shape->channels, shape->surfaces,
           RB_CURRENTS_CHANNELS, RB_CURRENTS_SURFACES);
  s->config = v->ops, s->options = *o, s->interrupted = interrupted;
  s->grid = shape->grid, s->n = rb_grid_points(shape->grid);
  s->channels = problem->reference->image ? shape->channels : 0, s->surfaces = shape->surfaces;
  RB_TRY(rb_variant_backend(v, &s->backend));
  for (int k = 0; k < s->surfaces; k++)
    s->surface[k].moving = problem->templates[0].surfaces[k], s->surface[k].fixed = problem->reference->surfaces[k];
  RB_TRY(make_plans(s));
  RB_TRY(make_arrays(s, problem));
  for (int k = 0; k < s->surfaces; k++) RB_TRY(make_surface(s, &s->surface[k]));
  RB_TRY(s->backend->sync());
  s->setup_seconds = rb_now() - started;
  *out = s;
  s = NULL;
done:
  rb_currents_solver_destroy(s);
  return st;
}

void rb_currents_solver_destroy(rb_currents *s) {
  if (!s) return;
  rb_interp_destroy(s->posteriors), rb_interp_destroy(s->velocity);
  rb_l2force_destroy(s->force);
  rb_helmholtz_destroy(s->helmholtz);
  rb_compose_destroy(s->compose);
  rb_field_destroy(s->field);
  for (int k = 0; k < s->surfaces; k++) {
    carried *c = &s->surface[k];
    rb_surface_match_destroy(c->match);
    rb_splat_destroy(c->splat);
    rb_array *const own[] = {&c->x, &c->start, &c->force, &c->moved};
    for (int i = 0; i < 4; i++) rb_array_destroy(own[i]);
  }
  rb_array *const own[] = {&s->p, &s->q, &s->j, &s->u, &s->v, &s->b, &s->part};
  for (int i = 0; i < 7; i++) rb_array_destroy(own[i]);
  free(s);
}

/* ---- energy and force ---- */

/* J = P o h. */
static rb_status pull_back(rb_currents *s) {
  rb_status st = RB_OK;
  static const double one[3] = {1, 1, 1};
  if (!s->channels) return RB_OK;
  RB_TRY(rb_field_displace(s->field, s->grid, one, s->u, NULL, rb_array_none(), s->part)); /* x + u(x) */
  RB_TRY(rb_interp_eval(s->posteriors, s->n, s->part, s->j));                              /* P there, all channels */
done:
  return st;
}

/* b = sum_k a (Q_k - J_k) grad J_k's negative, and the posteriors' energy. l2force gives (Q - J) grad J. */
static rb_status image_force(rb_currents *s, double *energy) {
  rb_status st = RB_OK;
  *energy = 0;
  RB_TRY(rb_field_fill(s->field, 3 * s->n, 0, s->b));
  for (int k = 0; k < s->channels && s->image_weight > 0; k++) {
    double sum;
    RB_TRY(rb_l2force(s->force, channel(s, s->q, k), channel(s, s->j, k), s->part)); /* (Q - J) grad J */
    RB_TRY(rb_field_combine(s->field, 3 * s->n, -s->image_weight, s->part, 0, rb_array_none(), 1, s->b));
    RB_TRY(rb_l2force_energy(s->force, channel(s, s->q, k), channel(s, s->j, k), &sum));
    *energy += s->image_weight * sum / 2; /* a_k/2 sum (P o h - Q)^2 */
  }
done:
  return st;
}

/* b -= b_j splat(dE_j/dx_v), and the surfaces' energy. */
static rb_status surface_force(rb_currents *s, double *energy) {
  rb_status st = RB_OK;
  *energy = 0;
  for (int k = 0; k < s->surfaces && s->options.surface_weight > 0; k++) {
    carried *c = &s->surface[k];
    double distance;
    int64_t lost;
    RB_TRY(rb_surface_match_eval(c->match, c->x, &distance, c->force)); /* dE/dx_v */
    RB_TRY(rb_splat_run(c->splat, c->x, c->force, s->part));            /* transpose of reading v at x_v */
    RB_TRY(rb_splat_outcome(c->splat, &lost));                          /* waits */
    RB_CHECK(lost == 0, RB_EINVALID, "surface %d has %lld vertices or forces that are no finite numbers", k + 1,
             (long long)lost);
    RB_TRY(rb_field_combine(s->field, 3 * s->n, -c->weight, s->part, 0, rb_array_none(), 1, s->b));
    *energy += c->weight * distance;
  }
done:
  return st;
}

/* h <- h o (id - dt v) and x_v <- x_v + dt v(x_v). With w = -dt v the composition is u' = w + u o (id + w). */
static rb_status move(rb_currents *s, double dt) {
  rb_status st = RB_OK;
  RB_TRY(rb_interp_load(s->velocity, s->v)); /* v, before it is overwritten by w */
  for (int k = 0; k < s->surfaces; k++) {
    carried *c = &s->surface[k];
    RB_TRY(rb_interp_eval(s->velocity, c->moving.vertices, c->x, c->moved));
    RB_TRY(rb_field_combine(s->field, 3 * c->moving.vertices, dt, c->moved, 0, rb_array_none(), 1, c->x));
  }
  RB_TRY(rb_field_combine(s->field, 3 * s->n, 0, rb_array_none(), 0, rb_array_none(), -dt, s->v));
  RB_TRY(rb_compose(s->compose, 1, s->u, s->v, s->part)); /* u o (id + w) + w */
  rb_array_swap(&s->u, &s->part);
done:
  return st;
}

/* ---- levels ---- */

static rb_status begin_level(rb_currents *s, const rb_currents_level *level) {
  rb_status st = RB_OK;
  const rb_currents_method method = (rb_currents_method)((s->options.method + 1) % 4);
  rb_surface_match_desc d = {.currents = {.method = method, .sigma = level->sigma, .dtype = s->config->dtype}};
  const int exact = method == RB_CURRENTS_EXACT;
  RB_TRY(rb_variant_find(&rb_currents_family, exact ? s->config->exact : s->config->currents, &d.variant));
  if (!exact) {
    RB_TRY(rb_variant_find(&rb_splat_family, s->config->splat, &d.currents.splat));
    d.currents.spacing = s->options.mesh > 0 ? s->options.mesh * level->sigma : 1; /* voxels */
  }
  for (int k = 0; k < s->surfaces; k++) {
    carried *c = &s->surface[k];
    rb_surface_match_destroy(c->match);
    c->match = NULL;
    RB_TRY(rb_surface_match_create(&d, &c->moving, &c->fixed, &c->match));
    c->weight = s->options.surface_weight / rb_surface_match_fixed(c->match); /* over <N_j, N_j> */
  }
done:
  return st;
}

static int stopped(const rb_currents *s) { return s->interrupted && *s->interrupted; }

/* One iteration; *dt < 0: the level's first, which fixes it. *longest: greatest |v|. */
static rb_status iterate(rb_currents *s, const rb_currents_level *level, double *dt, rb_currents_row *row) {
  rb_status st = RB_OK;
  double longest;
  RB_TRY(pull_back(s));
  RB_TRY(image_force(s, &row->image));
  RB_TRY(surface_force(s, &row->surface));
  row->energy = row->image + row->surface;
  RB_TRY(rb_helmholtz_solve(s->helmholtz, s->b, s->v));   /* L v = b */
  RB_TRY(rb_compose_longest(s->compose, s->v, &longest)); /* max |v|; waits */
  RB_CHECK(isfinite(row->energy) && isfinite(longest), RB_EINVALID,
           "iteration %d: energy %g, velocity %g: the solve diverged", row->iteration, row->energy, longest);
  if (*dt < 0) *dt = longest > 0 ? level->step / longest : 0;   /* the level's first force fixes it */
  row->dt = longest > 0 ? fmin(*dt, level->step / longest) : 0; /* cut where it would move too far */
  row->longest = row->dt * longest;
  RB_TRY(move(s, row->dt));
done:
  return st;
}

/* mean |h(x_v) - x_v(0)| over all surfaces' vertices: images and surfaces would lie together at 0. */
static rb_status drift(rb_currents *s, double *out) {
  rb_status st = RB_OK;
  double sum = 0, *x = NULL, *u = NULL;
  int64_t count = 0;
  RB_TRY(rb_interp_load(s->velocity, s->u)); /* the plan of three components reads u here */
  for (int k = 0; k < s->surfaces; k++) {
    carried *c = &s->surface[k];
    const int64_t values = 3 * c->moving.vertices; /* planar: x1 of all, x2, x3 */
    free(x), free(u);
    x = malloc((size_t)values * sizeof *x), u = malloc((size_t)values * sizeof *u);
    RB_CHECK(x && u, RB_ENOMEM, "host memory");
    RB_TRY(rb_interp_eval(s->velocity, c->moving.vertices, c->x, c->moved));
    RB_TRY(rb_array_get_doubles(c->x, x));
    RB_TRY(rb_array_get_doubles(c->moved, u));
    for (int64_t v = 0; v < c->moving.vertices; v++) {
      double d2 = 0;
      for (int64_t i = v; i < values; i += c->moving.vertices) d2 += pow(x[i] + u[i] - c->moving.x[i], 2);
      sum += sqrt(d2);
    }
    count += c->moving.vertices;
  }
  *out = count ? sum / (double)count : 0;
done:
  free(u), free(x);
  return st;
}

/* The template as it is, and a weight that makes its mismatch `image_weight`. */
static rb_status begin(rb_currents *s) {
  rb_status st = RB_OK;
  double mismatch;
  RB_TRY(rb_field_fill(s->field, 3 * s->n, 0, s->u));
  for (int k = 0; k < s->surfaces; k++)
    RB_TRY(rb_field_combine(s->field, 3 * s->surface[k].moving.vertices, 1, s->surface[k].start, 0, rb_array_none(),
                            0, s->surface[k].x));
  s->image_weight = 1; /* for the mismatch alone */
  RB_TRY(pull_back(s));
  RB_TRY(image_force(s, &mismatch));
  s->image_weight = mismatch > 0 ? s->options.image_weight / mismatch : 0;
done:
  return st;
}

/* Energies of a row are those before its movement. An interruption is seen between iterations; what was reached is
 * kept. */
rb_status rb_currents_solve(rb_currents *s, rb_currents_watch *watch, void *context, rb_currents_result *r) {
  rb_status st = RB_OK;
  rb_currents_level level[RB_CURRENTS_LEVELS];
  const double started = rb_now();
  int moved = 0; /* on any level */
  *r = (rb_currents_result){.end = RB_END_ITERATIONS, .setup_seconds = s->setup_seconds};
  RB_TRY(rb_currents_levels(&s->options, level, &r->levels));
  RB_TRY(begin(s));
  for (int l = 0; l < r->levels && !stopped(s); l++) {
    double dt = -1; /* not fixed yet */
    RB_TRY(begin_level(s, &level[l]));
    for (int i = 0; i < level[l].iterations && !stopped(s); i++) {
      rb_currents_row row = {.level = l + 1, .iteration = ++r->iterations};
      RB_TRY(iterate(s, &level[l], &dt, &row));
      if (r->iterations == 1) r->image_before = row.image;
      if (i == 0) r->surface_before = row.surface; /* of the width that the end has */
      r->image_after = row.image, r->surface_after = row.surface;
      if (watch) watch(context, &row);
      if (row.dt > 0) {
        r->end = RB_END_ITERATIONS, moved = 1;
        continue;
      }
      r->end = moved ? RB_END_CONVERGED : RB_END_NO_FORCE;
      break;
    }
  }
  if (stopped(s)) r->end = RB_END_INTERRUPTED;
  RB_TRY(s->backend->sync());
  r->seconds = rb_now() - started;
  RB_TRY(drift(s, &r->drift)); /* outside the time */
done:
  return st;
}

/* ---- results ---- */

rb_grid rb_currents_grid(const rb_currents *s) { return s->grid; }

rb_status rb_currents_warped(rb_currents *s, float *out) {
  rb_status st = RB_OK;
  RB_TRY(pull_back(s));
  RB_TRY(rb_array_get_floats(s->j, out));
done:
  return st;
}
rb_status rb_currents_displacement(rb_currents *s, float *out) { return rb_array_get_floats(s->u, out); }
rb_status rb_currents_determinant(rb_currents *s, float *out) {
  rb_status st = RB_OK;
  RB_TRY(rb_compose_determinant(s->compose, s->u, s->part));
  RB_TRY(rb_array_get_floats(channel(s, s->part, 0), out));
done:
  return st;
}
/* Surfaces one after the other: x of all, then y, then z. */
rb_status rb_currents_vertices(rb_currents *s, double *out) {
  rb_status st = RB_OK;
  int64_t all = 0, at = 0;
  double *x = NULL;
  for (int k = 0; k < s->surfaces; k++) all += s->surface[k].moving.vertices;
  for (int k = 0; k < s->surfaces; k++) {
    const int64_t n = s->surface[k].moving.vertices;
    free(x);
    x = malloc(3 * (size_t)n * sizeof *x);
    RB_CHECK(x, RB_ENOMEM, "host memory");
    RB_TRY(rb_array_get_doubles(s->surface[k].x, x));
    for (int a = 0; a < 3; a++) memcpy(out + a * all + at, x + a * n, (size_t)n * sizeof *x);
    at += n;
  }
done:
  free(x);
  return st;
}
