/* SPDX-License-Identifier: BSD-3-Clause */
/* The iteration of ha2012: force of images and surfaces, velocity, movement; all that it needs to know stays on the
 * backend, where what it issues is recorded and replayed as one launch. The host looks after a burst of them. */
#include "kernels/base/clock.h"
#include "solvers/common/advance.h"
#include "solvers/common/streams.h"
#include "solvers/currents/currents_impl.h"

#include <math.h>

static const double BURST = 0.25; /* seconds that the host does not look, about */

/* Places of `now`. */
enum { IMAGES = 0 };
static int of_surface(int k) { return 1 + RB_SURFACE_MATCH_KEPT * k; }
static int of_longest(const rb_currents *s) { return of_surface(s->surfaces); }

static void ended(rb_currents *s, int part) { rb_parts_end_of(&s->parts, part); }

/* ---- force ---- */

rb_status rb_currents_pull_back(rb_currents *s) {
  rb_status st = RB_OK;
  static const double one[3] = {1, 1, 1};
  if (!s->channels) return RB_OK;
  if (rb_interp_has_displaced(s->posteriors->variant)) return rb_interp_displaced(s->posteriors, s->u, s->j);
  RB_TRY(rb_field_displace(s->field, s->grid, one, s->u, NULL, rb_array_none(), s->part)); /* x + u(x) */
  RB_TRY(rb_interp_eval(s->posteriors, s->n, s->part, s->j));                              /* P there, all channels */
done:
  return st;
}

/* b = a sum_k (Q_k - J_k) grad J_k, and the difference without its weight. */
static rb_status image_force(rb_currents *s) {
  rb_status st = RB_OK;
  if (s->channels && s->image_weight > 0) {
    RB_TRY(
        rb_l2force_sum(s->force, s->channels, s->image_weight, s->q, s->j, s->b, rb_array_part(s->now, IMAGES, 1)));
  } else {
    RB_TRY(rb_field_fill(s->field, 3 * s->n, 0, s->b));
  }
done:
  return st;
}

static rb_planar all_vertices(const rb_currents *s, rb_array a, int k) {
  const rb_planar p = {a, s->surface[k].first, s->vertices};
  return p;
}
static rb_planar of_one(const rb_currents_surface *c, rb_array a) {
  const rb_planar p = {a, 0, c->moving.vertices};
  return p;
}
/* dE_k/dx_v, weighted, into the surface's part of `pull`. */
static rb_status one_surface(void *context, int k) {
  rb_status st = RB_OK;
  rb_currents *s = context;
  rb_currents_surface *c = &s->surface[k];
  const int64_t n = c->moving.vertices;
  const rb_array kept = rb_array_part(s->now, of_surface(k), RB_SURFACE_MATCH_KEPT);
  RB_TRY(rb_planar_copy(s->field, n, 1, all_vertices(s, s->x, k), of_one(c, c->x)));
  RB_TRY(rb_surface_match_issue(c->match, c->x, kept, c->force));
  RB_TRY(rb_planar_copy(s->field, n, c->weight, of_one(c, c->force), all_vertices(s, s->pull, k)));
done:
  return st;
}
static int pulled(const rb_currents *s) { return s->surfaces && s->options.surface_weight > 0; }
/* Into b. Nobody asks for posteriors without weight before the end. */
static rb_status images(void *context) {
  rb_status st = RB_OK;
  rb_currents *s = context;
  if (s->image_weight > 0) RB_TRY(rb_currents_pull_back(s));
  ended(s, RB_CURRENTS_PULL_BACK);
  RB_TRY(image_force(s));
  ended(s, RB_CURRENTS_FORCE);
done:
  return st;
}
/* Surfaces do not meet before the splat: each in its stream. Nor do posteriors, whose few passes over the grid run
 * beside the many short ones of surfaces; one after the other where their times are told apart. */
static rb_status images_and_surfaces(rb_currents *s) {
  rb_status st = RB_OK;
  const int streams = rb_currents_streams(s), count = pulled(s) ? s->surfaces : 0;
  if (!s->profile && count > 0) return rb_in_streams_beside(s->backend, streams, count, one_surface, images, s);
  RB_TRY(images(s));
  if (count > 0) RB_TRY(rb_in_streams(s->backend, streams, count, one_surface, s));
  ended(s, RB_CURRENTS_SUMS);
done:
  return st;
}
/* b <- b + splat(sum_j b_j dE_j/dx_v). */
static rb_status surface_force(rb_currents *s) {
  rb_status st = RB_OK;
  if (!pulled(s)) return RB_OK;
  if (rb_splat_has_onto(s->splat->variant))
    return rb_splat_onto(s->splat, s->x, s->pull, 1, s->b, s->b); /* transpose of reading v at x_v */
  RB_TRY(rb_splat_run(s->splat, s->x, s->pull, s->part));
  RB_TRY(rb_field_combine(s->field, 3 * s->n, 1, s->part, 0, rb_array_none(), 1, s->b));
done:
  return st;
}

/* ---- movement ---- */

/* x_v <- x_v + dt v(x_v). s->v holds -v. */
static rb_status move_vertices(void *context, int one) {
  rb_status st = RB_OK;
  rb_currents *s = context;
  (void)one;
  RB_TRY(rb_interp_load(s->velocity, s->v));
  RB_TRY(rb_interp_eval(s->velocity, s->vertices, s->x, s->moved));
  RB_TRY(rb_steps_scale(s->steps, 0, 3 * s->vertices, s->moved, s->moved));
  RB_TRY(rb_field_combine(s->field, 3 * s->vertices, -1, s->moved, 0, rb_array_none(), 1, s->x));
done:
  return st;
}
/* h <- h o (id - dt v): with w = -dt v, u' = w + u o (id + w), into `part`. The force is not asked for any more. */
static rb_status move_images(void *context) {
  rb_currents *s = context;
  return rb_advance(s->steps, 0, s->compose, s->u, s->v, s->b, s->part, rb_array_none(), rb_array_none());
}
static rb_status move(rb_currents *s) {
  rb_status st = RB_OK;
  RB_TRY(s->surfaces ? rb_in_streams_beside(s->backend, 1, 1, move_vertices, move_images, s) : move_images(s));
  rb_array_swap(&s->u, &s->part);
done:
  return st;
}

/* dt: the longest movement would be `step` with the level's first force; later steps are as long, or cut where they
 * would move too far. */
static rb_status issue(rb_currents *s, double step) {
  rb_status st = RB_OK;
  ended(s, RB_PART_NONE);
  RB_TRY(images_and_surfaces(s));
  RB_TRY(surface_force(s));
  ended(s, RB_CURRENTS_SPLAT);
  RB_TRY(rb_helmholtz_solve(s->helmholtz, s->b, s->v)); /* L v = b */
  ended(s, RB_CURRENTS_VELOCITY);
  RB_TRY(rb_steps_bound(s->steps, 0, s->first, step, s->n, s->v, rb_array_part(s->now, of_longest(s), 1)));
  RB_TRY(rb_steps_judge(s->steps, s->now)); /* leaves a row */
  ended(s, RB_CURRENTS_STEP);
  RB_TRY(move(s));
  ended(s, RB_CURRENTS_MOVE);
done:
  return st;
}

/* ---- recordings ---- */

void rb_currents_forget(rb_currents *s) {
  for (int p = 0; p < 2 && s->backend->drop; p++) {
    s->backend->drop(s->recording[p]);
    s->recording[p] = NULL;
  }
  s->issued = s->phase = 0;
  s->seconds = 0, s->first = INFINITY;
}

/* The first of a level fixes dt, which recordings hold. */
static rb_status iteration(rb_currents *s, double step) {
  rb_status st = RB_OK;
  const int phase = s->phase;
  s->phase = !phase;
  if (!s->issued++ || !s->backend->record_begin || s->profile) return issue(s, step);
  if (s->recording[phase]) {
    rb_array_swap(&s->u, &s->part); /* as issue leaves them */
  } else {
    RB_TRY(s->backend->record_begin());
    const rb_status issued = issue(s, step);
    st = s->backend->record_end(&s->recording[phase]);
    if (issued != RB_OK) st = issued;
    RB_TRY(st);
  }
  RB_TRY(s->backend->replay(s->recording[phase]));
done:
  return st;
}

/* One where the host must look at once: the first of a level; and where nothing is recorded, for who watches. */
static int burst(const rb_currents *s, int most) {
  int count = s->seconds > 0 ? (int)fmin(fmax(1, BURST / s->seconds), RB_CURRENTS_ROWS) : 2;
  if (isinf(s->first) || !s->backend->record_begin) count = 1;
  return count < most ? count : most;
}

static rb_status row_of(const rb_currents *s, const double *values, int iteration, rb_currents_row *row) {
  rb_status st = RB_OK;
  const double dt = values[of_longest(s) + 1], longest = values[of_longest(s)];
  row->image = s->image_weight > 0 ? s->image_weight * values[IMAGES] / 2 : 0; /* a_k/2 sum (P o h - Q)^2 */
  row->surface = 0;
  for (int k = 0; k < s->surfaces && s->options.surface_weight > 0; k++)
    row->surface += s->surface[k].weight * rb_surface_match_energy(s->surface[k].match, values + of_surface(k));
  row->energy = row->image + row->surface;
  row->dt = dt, row->longest = dt * longest;
  RB_CHECK(isfinite(row->energy) && isfinite(longest), RB_EINVALID,
           "iteration %d: energy %g, velocity %g: the solve diverged", iteration, row->energy, longest);
done:
  return st;
}
/* Vertices that are no finite numbers stay so: the last splats tell. */
static rb_status outcome(rb_currents *s) {
  rb_status st = RB_OK;
  int64_t lost = 0;
  if (!s->surfaces || !(s->options.surface_weight > 0)) return RB_OK;
  for (int k = 0; k < s->surfaces; k++) RB_TRY(rb_surface_match_outcome(s->surface[k].match));
  RB_TRY(rb_splat_outcome(s->splat, &lost));
  RB_CHECK(lost == 0, RB_EINVALID, "%lld vertices or forces are no finite numbers", (long long)lost);
done:
  return st;
}

rb_status rb_currents_iterations(rb_currents *s, const rb_currents_level *level, int most, int before,
                                 rb_currents_row *rows, int *made) {
  rb_status st = RB_OK;
  const double begun = rb_now();
  const int count = burst(s, most), values = of_longest(s) + 1, recorded = s->recording[0] && s->recording[1];
  double none[1 + RB_SURFACE_MATCH_KEPT * RB_CURRENTS_SURFACES + 1] = {0};
  *made = 0;
  RB_TRY(rb_steps_begin(s->steps, none, none));
  for (int i = 0; i < count; i++) RB_TRY(iteration(s, level->step));
  RB_TRY(rb_steps_rows(s->steps, s->rows, made)); /* waits */
  RB_CHECK(*made == count, RB_EINVALID, "%d of %d iterations left a row", *made, count);
  for (int i = 0; i < count; i++) RB_TRY(row_of(s, s->rows + 2 * (int64_t)i * values, before + i + 1, &rows[i]));
  RB_TRY(outcome(s));
  if (isinf(s->first) && rows[0].dt > 0) s->first = rows[0].dt;
  if (recorded) s->seconds = (rb_now() - begun) / count; /* recording itself is no measure */
done:
  return st;
}
