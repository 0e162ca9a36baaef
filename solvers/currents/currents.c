/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans and arrays of ha2012's registration, its levels, and its results. */
#include "solvers/currents/currents.h"

#include "kernels/base/clock.h"
#include "solvers/common/field_variant.h"
#include "solvers/common/streams.h"
#include "solvers/currents/currents_impl.h"

#include <math.h>
#include <stdlib.h>

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
  /* one field plan for images and vertices alike */
  const rb_field_desc field = {.count = 3 * (s->vertices > s->n ? s->vertices : s->n), .dtype = c->dtype};
  const rb_steps_desc steps = {2 + RB_SURFACE_MATCH_KEPT * s->surfaces, RB_CURRENTS_ROWS, 0, c->dtype};
  RB_TRY(rb_variant_find(&rb_interp_family, c->interp, &v));
  interp.components = s->channels;
  if (s->channels) RB_TRY(rb_interp_create(v, &interp, &s->posteriors));
  interp.components = 3;
  RB_TRY(rb_interp_create(v, &interp, &s->velocity));
  RB_TRY(rb_variant_find(&rb_l2force_family, c->l2force, &v));
  RB_TRY(rb_l2force_create(v, &force, &s->force));
  if (s->channels) { /* a sum of squares does not ask which axis is which */
    rb_l2force_desc all = force;
    all.grid.n[0] *= s->channels;
    RB_TRY(rb_l2force_create(v, &all, &s->mismatch));
  }
  RB_TRY(rb_variant_find(&rb_helmholtz_family, c->helmholtz, &v));
  RB_TRY(rb_helmholtz_create(v, &helmholtz, &s->helmholtz));
  RB_TRY(rb_variant_find(&rb_compose_family, c->compose, &v));
  RB_TRY(rb_compose_create(v, &compose, &s->compose));
  RB_TRY(rb_variant_find(&rb_steps_family, c->steps, &v));
  RB_TRY(rb_steps_create(v, &steps, &s->steps));
  RB_TRY(rb_field_create(rb_field_variant(c->backend), &field, &s->field));
done:
  return st;
}

static rb_status make_arrays(rb_currents *s, const rb_problem *problem) {
  rb_status st = RB_OK;
  const rb_dtype type = s->config->dtype;
  const int values = s->steps->desc.count;
  rb_array *const vectors[] = {&s->u, &s->v, &s->b, &s->part}, *const images[] = {&s->p, &s->q, &s->j};
  for (int k = 0; k < 4; k++) RB_TRY(rb_array_create(s->backend, type, 3 * s->n, vectors[k]));
  RB_TRY(rb_array_create(s->backend, RB_F64, values, &s->now));
  RB_TRY(rb_array_fill(s->now, 0)); /* what is left out stays 0 */
  s->rows = malloc(2 * RB_CURRENTS_ROWS * (size_t)values * sizeof *s->rows);
  RB_CHECK(s->rows, RB_ENOMEM, "host memory");
  if (!s->channels) return RB_OK;
  for (int k = 0; k < 3; k++) RB_TRY(rb_array_create(s->backend, type, s->channels * s->n, images[k]));
  RB_TRY(rb_array_put_floats(s->p, problem->templates[0].image));
  RB_TRY(rb_array_put_floats(s->q, problem->reference->image));
  RB_TRY(rb_interp_load(s->posteriors, s->p)); /* once: P stays in the plan */
done:
  return st;
}

/* Surface k's vertices at the start, in their place among all. */
static rb_status make_surface(rb_currents *s, rb_currents_surface *c) {
  rb_status st = RB_OK;
  const int64_t n = c->moving.vertices;
  RB_TRY(rb_array_create(s->backend, s->config->dtype, 3 * n, &c->x));
  RB_TRY(rb_array_create(s->backend, s->config->dtype, 3 * n, &c->force));
  RB_TRY(rb_array_put_doubles(c->x, c->moving.x));
  RB_TRY(rb_planar_copy(s->field, n, 1, (rb_planar){c->x, 0, n}, (rb_planar){s->start, c->first, s->vertices}));
done:
  return st;
}
static rb_status make_surfaces(rb_currents *s) {
  rb_status st = RB_OK;
  const rb_variant *v;
  const rb_splat_desc d = {.grid = s->grid,
                           .np = s->vertices,
                           .basis = RB_SPLAT_LINEAR,
                           .boundary = RB_CLAMP,
                           .dtype = s->config->dtype,
                           .components = 3};
  rb_array *const all[] = {&s->x, &s->start, &s->moved, &s->pull};
  if (!s->surfaces) return RB_OK;
  for (int k = 0; k < 4; k++) RB_TRY(rb_array_create(s->backend, d.dtype, 3 * s->vertices, all[k]));
  RB_TRY(rb_variant_find(&rb_splat_family, s->config->splat, &v));
  RB_TRY(rb_splat_create(v, &d, &s->splat));
  for (int k = 0; k < s->surfaces; k++) RB_TRY(make_surface(s, &s->surface[k]));
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
  for (int k = 0; k < s->surfaces; k++) {
    rb_currents_surface *c = &s->surface[k];
    c->moving = problem->templates[0].surfaces[k], c->fixed = problem->reference->surfaces[k];
    c->first = s->vertices;
    s->vertices += c->moving.vertices;
  }
  RB_TRY(make_plans(s));
  RB_TRY(make_arrays(s, problem));
  RB_TRY(make_surfaces(s));
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
  if (s->backend) rb_currents_forget(s);
  rb_interp_destroy(s->posteriors), rb_interp_destroy(s->velocity);
  rb_l2force_destroy(s->force), rb_l2force_destroy(s->mismatch);
  rb_helmholtz_destroy(s->helmholtz);
  rb_compose_destroy(s->compose);
  rb_field_destroy(s->field);
  rb_splat_destroy(s->splat);
  rb_steps_destroy(s->steps);
  for (int k = 0; k < s->surfaces; k++) {
    rb_surface_match_destroy(s->surface[k].match);
    rb_array_destroy(&s->surface[k].x), rb_array_destroy(&s->surface[k].force);
  }
  rb_array *const own[] = {&s->p,    &s->q, &s->j,     &s->u,     &s->v,    &s->b,
                           &s->part, &s->x, &s->start, &s->moved, &s->pull, &s->now};
  for (size_t k = 0; k < sizeof own / sizeof *own; k++) rb_array_destroy(own[k]);
  free(s->rows);
  free(s);
}

/* ---- levels ---- */

/* Plans belong to the stream in which they are made, and to which a surface's work will go: the same on all levels.
 */
typedef struct {
  rb_currents *solver;
  rb_surface_match_desc match;
} surfaces_to_begin;
static rb_status begin_surface(void *context, int k) {
  rb_status st = RB_OK;
  const surfaces_to_begin *b = context;
  rb_currents *s = b->solver;
  rb_currents_surface *c = &s->surface[k];
  RB_TRY(c->match ? rb_surface_match_set_kernel(c->match, &b->match)
                  : rb_surface_match_create(&b->match, &c->moving, &c->fixed, &c->match));
  c->weight = s->options.surface_weight / rb_surface_match_fixed(c->match); /* over <N_j, N_j> */
done:
  return st;
}
/* No sums of surfaces where their weight is 0. Waits for everything that has been begun. */
static rb_status begin_level(rb_currents *s, const rb_currents_level *level) {
  rb_status st = RB_OK;
  const rb_currents_method method = (rb_currents_method)((s->options.method + 1) % 4);
  surfaces_to_begin all = {s, {.currents = {.method = method, .sigma = level->sigma, .dtype = s->config->dtype}}};
  rb_surface_match_desc *d = &all.match;
  const int exact = method == RB_CURRENTS_EXACT;
  RB_TRY(rb_variant_find(&rb_currents_family, exact ? s->config->exact : s->config->currents, &d->variant));
  if (!exact) {
    RB_TRY(rb_variant_find(&rb_splat_family, s->config->splat, &d->currents.splat));
    d->currents.spacing = s->options.mesh > 0 ? s->options.mesh * level->sigma : 1; /* voxels */
  }
  rb_currents_forget(s);
  if (!s->surfaces || !(s->options.surface_weight > 0)) return RB_OK;
  RB_TRY(rb_in_streams(s->backend, rb_currents_streams(s), s->surfaces, begin_surface, &all));
  RB_TRY(s->backend->sync());
done:
  return st;
}

void rb_currents_set_profile(rb_currents *s, int on) { s->profile = on; }

static int stopped(const rb_currents *s) { return s->interrupted && *s->interrupted; }

/* mean |h(x_v) - x_v(0)| over all surfaces' vertices: images and surfaces would lie together at 0. */
static rb_status drift(rb_currents *s, double *out) {
  rb_status st = RB_OK;
  const int64_t n = s->vertices;
  double sum = 0, *x = NULL;
  *out = 0;
  if (!s->surfaces) return RB_OK;
  x = malloc(9 * (size_t)n * sizeof *x);
  RB_CHECK(x, RB_ENOMEM, "host memory");
  double *const u = x + 3 * n, *const start = u + 3 * n;
  RB_TRY(rb_interp_load(s->velocity, s->u)); /* the plan of three components reads u here */
  RB_TRY(rb_interp_eval(s->velocity, n, s->x, s->moved));
  RB_TRY(rb_array_get_doubles(s->x, x));
  RB_TRY(rb_array_get_doubles(s->moved, u));
  RB_TRY(rb_array_get_doubles(s->start, start));
  for (int64_t v = 0; v < n; v++) {
    double d2 = 0;
    for (int64_t i = v; i < 3 * n; i += n) d2 += pow(x[i] + u[i] - start[i], 2);
    sum += sqrt(d2);
  }
  *out = sum / (double)n;
done:
  free(x);
  return st;
}

/* The template as it is, and a weight that makes its mismatch `image_weight`. */
static rb_status begin(rb_currents *s) {
  rb_status st = RB_OK;
  double difference = 0;
  RB_TRY(rb_field_fill(s->field, 3 * s->n, 0, s->u));
  if (s->surfaces) RB_TRY(rb_field_combine(s->field, 3 * s->vertices, 1, s->start, 0, rb_array_none(), 0, s->x));
  RB_TRY(rb_currents_pull_back(s));
  if (s->channels) RB_TRY(rb_l2force_energy(s->mismatch, s->q, s->j, &difference));
  s->image_weight = difference > 0 ? s->options.image_weight / (difference / 2) : 0;
done:
  return st;
}

/* One level that has begun; *moved: whether anything ever did. A level without force ends at once. */
static rb_status solve_level(rb_currents *s, const rb_currents_level *level, rb_currents_watch *watch, void *context,
                             int *moved, rb_currents_result *r, int number) {
  rb_status st = RB_OK;
  rb_currents_row rows[RB_CURRENTS_ROWS];
  int made = 0;
  for (int done = 0; done < level->iterations && !stopped(s); done += made) {
    RB_TRY(rb_currents_iterations(s, level, level->iterations - done, r->iterations, rows, &made));
    for (int i = 0; i < made; i++) {
      rb_currents_row *row = &rows[i];
      row->level = number, row->iteration = ++r->iterations;
      if (r->iterations == 1) r->image_before = row->image;
      if (done + i == 0) r->surface_before = row->surface; /* of the width that the end has */
      r->image_after = row->image, r->surface_after = row->surface;
      if (watch) watch(context, row);
      if (row->dt > 0) {
        r->end = RB_END_ITERATIONS, *moved = 1;
        continue;
      }
      r->end = *moved ? RB_END_CONVERGED : RB_END_NO_FORCE;
      return RB_OK; /* what was issued behind it moved nothing */
    }
  }
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
  rb_parts_begin(&s->parts, s->profile, s->backend, r->parts);
  RB_TRY(rb_currents_levels(&s->options, level, &r->levels));
  RB_TRY(begin(s));
  for (int l = 0; l < r->levels && !stopped(s); l++) {
    const double begun = rb_now();
    RB_TRY(begin_level(s, &level[l]));
    if (s->surfaces && (s->options.method + 1) % 4 != RB_CURRENTS_EXACT)
      r->coarsest = fmax(r->coarsest, s->options.mesh > 0 ? s->options.mesh : 1 / level[l].sigma);
    r->level_seconds += rb_now() - begun;
    RB_TRY(solve_level(s, &level[l], watch, context, &moved, r, l + 1));
  }
  if (stopped(s)) r->end = RB_END_INTERRUPTED;
  RB_TRY(s->backend->sync());
  RB_TRY(rb_parts_add(&s->parts));
  r->seconds = rb_now() - started - r->level_seconds, r->setup_seconds += r->level_seconds;
  RB_TRY(drift(s, &r->drift)); /* outside the time */
done:
  return st;
}

/* ---- results ---- */

rb_grid rb_currents_grid(const rb_currents *s) { return s->grid; }

rb_status rb_currents_warped(rb_currents *s, float *out) {
  rb_status st = RB_OK;
  RB_TRY(rb_currents_pull_back(s));
  RB_TRY(rb_array_get_floats(s->j, out));
done:
  return st;
}
rb_status rb_currents_displacement(rb_currents *s, float *out) { return rb_array_get_floats(s->u, out); }
rb_status rb_currents_determinant(rb_currents *s, float *out) {
  rb_status st = RB_OK;
  RB_TRY(rb_compose_determinant(s->compose, s->u, s->part));
  RB_TRY(rb_array_get_floats(rb_array_part(s->part, 0, s->n), out));
done:
  return st;
}
/* Surfaces one after the other: x of all, then y, then z. */
rb_status rb_currents_vertices(rb_currents *s, double *out) {
  return s->surfaces ? rb_array_get_doubles(s->x, out) : RB_OK;
}
