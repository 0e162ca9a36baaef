/* SPDX-License-Identifier: BSD-3-Clause */
/* The iteration of an atlas. */
#include "kernels/base/clock.h"
#include "solvers/atlas/atlas_impl.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- an iteration ----------------------------------------------------------------------------------------- */

/* Below this, max |v| is nothing but rounding: the mean of equal images in [0, 1] is off by half its resolution, a
 * central difference of them is 1/2 at most, and L^-1 no larger than 1 / gamma. */
static double noise_floor(const rb_atlas *a) {
  if (a->reference) return 0; /* no mean is made; the force of equal images is exactly 0 */
  const double epsilon = rb_epsilon(a->config->dtype),
               resolution = a->options.sum == RB_SUM_FIXED ? 1 / RB_AVERAGE_UNIT + epsilon : (a->count + 2) * epsilon;
  /* differences are divided by the spacing, and so is the velocity, which is in voxels */
  const double least = fmin(a->spacing[0], fmin(a->spacing[1], a->spacing[2]));
  return 0.5 * resolution / a->options.gamma / (least * least);
}

void rb_atlas_set_profile(rb_atlas *a, int on) { a->profile = on; }
void rb_atlas_set_iterations(rb_atlas *a, int coarse, int finest) {
  a->options.coarse_iterations = coarse, a->options.iterations = finest;
}

rb_status rb_atlas_solve_velocity(rb_atlas *a, rb_atlas_workspace *w, rb_atlas_member *m, int first, rb_array *out) {
  *out = m->v.data ? m->v : w->v;
  if (!m->v.data) return rb_helmholtz_solve(w->helmholtz, w->f, w->v);
  return rb_helmholtz_sweep(w->helmholtz, first ? a->options.first_sweeps : a->options.sweeps, a->omega, w->f, m->v);
}

rb_status rb_atlas_velocity(rb_atlas *a, rb_atlas_workspace *w, rb_atlas_member *m, int first, rb_array *out) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(a->grid);
  rb_array v;
  RB_TRY(rb_atlas_solve_velocity(a, w, m, first, &v));
  *out = a->cubes ? v : w->v; /* where sweeps begin next time is left as it is */
  for (int c = 0; c < 3 && !a->cubes; c++)
    RB_TRY(rb_field_combine(w->field, n, 1 / a->spacing[c], rb_array_part(v, c * n, n), 0, rb_array_none(), 0,
                            rb_array_part(w->v, c * n, n)));
done:
  return st;
}

/* e_i of a level, from its first velocity. */
static rb_status choose_step(rb_atlas *a, rb_atlas_member *m, rb_array v) {
  rb_status st = RB_OK;
  double longest;
  RB_TRY(rb_compose_longest(a->work->compose, v, &longest));
  RB_CHECK(isfinite(longest), RB_EINVALID, "image %d: the velocity is not finite", m->index + 1);
  m->step = longest > noise_floor(a) ? a->options.step / longest : 0; /* 0: stays */
  m->longest = m->step * longest;                                     /* voxels */
done:
  return st;
}

rb_status rb_atlas_displace_image(rb_atlas *a, rb_atlas_member *m, int first) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(a->grid);
  rb_array v;
  rb_parts_end_of(&a->parts, RB_PART_NONE);
  RB_TRY(rb_l2force(a->work->force, a->mean, m->warped, a->work->f)); /* (mean - D) grad D */
  rb_parts_end_of(&a->parts, RB_ATLAS_FORCE);
  RB_TRY(rb_atlas_velocity(a, a->work, m, first, &v)); /* L^-1 f */
  rb_parts_end_of(&a->parts, RB_ATLAS_SOLVE);
  if (first) RB_TRY(choose_step(a, m, v)); /* from then on it is only halved */
  if (m->step == 0) goto done;
  /* u <- e v + u o (id + e v), compose with s1 = u, s2 = e v in its f; then D = I o (id + u) */
  RB_TRY(rb_field_combine(a->field, 3 * n, m->step, v, 0, rb_array_none(), 0, a->work->f)); /* the force is used up */
  RB_TRY(rb_compose(a->work->compose, 1, m->u, a->work->f, a->work->next));
  rb_array_swap(&m->u, &a->work->next);
done:
  return st;
}
rb_status rb_atlas_move_image(rb_atlas *a, rb_atlas_member *m, int first) {
  rb_status st = RB_OK;
  RB_TRY(rb_atlas_displace_image(a, m, first));
  if (m->step == 0) return RB_OK;
  RB_TRY(rb_compose_warp(a->work->compose, m->image, m->u, m->warped));
  rb_parts_end_of(&a->parts, RB_ATLAS_UPDATE);
done:
  return st;
}

rb_status rb_atlas_measure_image(rb_atlas *a, rb_atlas_member *m, int first) {
  rb_status st = RB_OK;
  double e;
  RB_TRY(rb_l2force_energy(a->work->force, a->mean, m->warped, &e));
  RB_CHECK(isfinite(e), RB_EINVALID, "image %d: the difference to the mean is not finite", m->index + 1);
  if (!first && a->options.halve && e > m->difference && m->step > 0) {
    m->step /= 2; /* until the next level */
    a->halvings++;
  }
  m->difference = a->differences[m->index] = e;
done:
  return st;
}

/* 0 in the places of others' images: a sum over the team fills them. */
static void forget_differences(rb_atlas *a) { memset(a->differences, 0, (size_t)a->count * sizeof *a->differences); }

/* Of every image. */
static rb_status measure(rb_atlas *a, int first) {
  rb_status st = RB_OK;
  forget_differences(a);
  for (int k = 0; k < a->own; k++) RB_TRY(rb_atlas_measure_image(a, &a->member[k], first));
done:
  return st;
}

/* What the team agrees on in an iteration. */
typedef struct {
  int halvings, interrupted, save; /* of all images so far; two flags */
  double step;                     /* the least */
} agreed;

/* Over the team: differences, halvings, the least step, whether somebody was interrupted, whether rank 0's clock asks
 * for a checkpoint. Each image has one owner: a sum with zeros changes no bit. */
static rb_status sum_over_members(rb_atlas *a, agreed *out) {
  rb_status st = RB_OK;
  double numbers[4] = {a->halvings, a->options.interrupted && *a->options.interrupted ? 1 : 0, 0,
                       a->team->rank == 0 && rb_atlas_checkpoint_due(a) ? 1 : 0};
  double least = INFINITY, *all = a->gathered;
  for (int k = 0; k < a->own; k++) {
    least = fmin(least, a->member[k].longest);
    numbers[2] += a->member[k].longest > 0;
  }
  RB_TRY(rb_team_sum(a->team, a->differences, a->count));
  RB_TRY(rb_team_sum(a->team, numbers, 4));
  RB_TRY(rb_team_gather(a->team, &least, sizeof least, all)); /* rank 0 alone has all: its rows are shown */
  for (int k = 0; k < a->team->size && a->team->rank == 0; k++) least = fmin(least, all[k]);
  *out = (agreed){(int)numbers[0], numbers[1] > 0, a->rows && (numbers[3] > 0 || numbers[1] > 0), least};
  if (numbers[2] > 0) a->result->moved = 1; /* some image had a step */
done:
  return st;
}

static double variance_of(const rb_atlas *a) {
  double sum = 0;
  for (int i = 0; i < a->count; i++) sum += a->differences[i];
  return sum / ((double)a->count * (double)rb_grid_points(a->grid)); /* in the order of images on all members */
}

/* The variance of the images as they are, on the grid of this level; displacements stay. */
static rb_status unmoved_variance(rb_atlas *a, double *out) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(a->grid);
  agreed all;
  if (a->options.stream) {
    RB_TRY(rb_atlas_reduce_mean(a, rb_atlas_stream_pass(a, RB_VISIT_UNMOVED_ADD, 1)));
    forget_differences(a);
    RB_TRY(rb_team_agree(a->team, rb_atlas_stream_pass(a, RB_VISIT_UNMOVED_MEASURE, 1)));
    RB_TRY(sum_over_members(a, &all));
    *out = variance_of(a);
    return RB_OK;
  }
  for (int k = 0; k < a->own && st == RB_OK; k++)
    st = rb_field_combine(a->field, n, 1, a->member[k].image, 0, rb_array_none(), 0, a->member[k].warped);
  RB_TRY(rb_team_agree(a->team, st));
  RB_TRY(rb_atlas_update_mean(a));
  RB_TRY(rb_team_agree(a->team, measure(a, 1)));
  RB_TRY(sum_over_members(a, &all));
  *out = variance_of(a);
  for (int k = 0; k < a->own && st == RB_OK; k++)
    st = rb_compose_warp(a->work->compose, a->member[k].image, a->member[k].u, a->member[k].warped);
  RB_TRY(rb_team_agree(a->team, st));
done:
  return st;
}

static rb_status save(rb_atlas *a, int level, int iteration, const agreed *all) {
  const rb_atlas_result *r = a->result;
  rb_atlas_saved s = {.level = level,
                      .iteration = iteration,
                      .iterations = r->iterations,
                      .halvings = all->halvings,
                      .moved = r->moved,
                      .variance_before = r->variance_before,
                      .seconds = r->seconds + rb_now() - a->started - a->saving, /* without earlier checkpoints */
                      .setup_seconds = r->setup_seconds};
  return rb_atlas_save(a, &s);
}

/* What is known at the beginning of an iteration, to whoever watches. */
static void tell(rb_atlas *a, int level, int iteration, const agreed *all, rb_atlas_hook hook, void *context) {
  /* in the first the step is chosen now */
  const rb_atlas_row row = {level, iteration, variance_of(a), iteration == 0 ? NAN : all->step, all->halvings};
  a->result->variance_after = row.variance;
  rb_atlas_keep_row(a, &row);
  if (hook) hook(context, &row);
}

/* Iterations `from` to the one before `*to` as a burst: only its end is seen by checkpoints and interruptions. At
 * *to the differences are measured. */
static rb_status burst(rb_atlas *a, int level, int from, int last, const agreed *all, rb_atlas_hook hook,
                       void *context, int *to) {
  rb_status st = RB_OK;
  int made;
  agreed now = *all;
  RB_TRY(rb_atlas_replay(a, last - from, &made));
  for (int j = 1; j <= made; j++) {
    RB_TRY(rb_atlas_replay_row(a, j - 1, &now.halvings));
    if (j < made) tell(a, level, from + j, &now, hook, context);
  }
  forget_differences(a); /* the others' come with the next sum */
  for (int k = 0; k < a->own; k++) a->differences[a->member[k].index] = a->member[k].difference;
  a->result->iterations += made;
  *to = from + made;
done:
  return st;
}

/* The same for images that stay on the host: the differences of an iteration are known when its images have moved. So
 * what a checkpoint holds is the next iteration's beginning, with the differences before it, and an interruption
 * comes an iteration later. */
static rb_status iterate_streamed(rb_atlas *a, int level, int from, int iterations, rb_atlas_hook hook,
                                  void *context) {
  rb_status st = RB_OK;
  agreed all = {0};
  RB_TRY(rb_atlas_reduce_mean(a, rb_atlas_stream_pass(a, RB_VISIT_ADD, 1)));
  for (int it = from;; it++) {
    const int last = it >= iterations;
    forget_differences(a);
    const rb_status own = rb_atlas_stream_pass(a, last ? RB_VISIT_MEASURE : RB_VISIT_MOVE, it == 0);
    RB_TRY(rb_team_agree(a->team, own));
    RB_TRY(sum_over_members(a, &all));
    tell(a, level, it, &all, hook, context);
    a->result->halvings = all.halvings;
    if (last) break;
    RB_TRY(rb_atlas_reduce_mean(a, own));
    a->result->iterations++;
    if (all.save) RB_TRY(save(a, level, it + 1, &all));
    if (all.interrupted) {
      a->result->end = RB_END_INTERRUPTED;
      break;
    }
  }
  RB_TRY(rb_team_agree(a->team, rb_parts_add(&a->parts)));
done:
  return st;
}

/* One level from iteration `from` on. Every member leaves it at the same iteration: failures and interruptions are
 * agreed on. */
static rb_status iterate(rb_atlas *a, int level, int from, int iterations, rb_atlas_hook hook, void *context) {
  rb_status st = RB_OK;
  agreed all = {0};
  int measured = 0; /* the differences at `it` came with a burst */
  RB_TRY(rb_atlas_update_mean(a));
  for (int it = from;; it++) {
    rb_parts_end_of(&a->parts, RB_PART_NONE);
    if (!measured) RB_TRY(rb_team_agree(a->team, measure(a, it == 0)));
    rb_parts_end_of(&a->parts, RB_ATLAS_ENERGY);
    RB_TRY(sum_over_members(a, &all));
    if (all.save && a->result->end != RB_END_INTERRUPTED)
      RB_TRY(save(a, level, it, &all)); /* not once more on the finer levels */
    tell(a, level, it, &all, hook, context);
    if (all.interrupted) {
      a->result->end = RB_END_INTERRUPTED;
      break;
    }
    if (it >= iterations) break;              /* the last turn measures only */
    measured = it > 0 && rb_atlas_replays(a); /* in the first the steps are chosen */
    if (measured) {
      RB_TRY(burst(a, level, it, iterations, &all, hook, context, &it));
      it--;
      continue;
    }
    const int behind = a->slabs > 1; /* the last image's warp is then part of the mean's time */
    for (int k = 0; k < a->own && st == RB_OK; k++)
      st = (behind && k == a->own - 1 ? rb_atlas_displace_image : rb_atlas_move_image)(a, &a->member[k], it == 0);
    if (behind) rb_parts_end_of(&a->parts, RB_ATLAS_UPDATE);
    RB_TRY(rb_team_agree(a->team, st));
    rb_parts_end_of(&a->parts, RB_PART_NONE); /* the others' time */
    RB_TRY((behind ? rb_atlas_update_mean_behind : rb_atlas_update_mean)(a));
    rb_parts_end_of(&a->parts, RB_ATLAS_AVERAGE);
    a->result->iterations++;
  }
  a->result->halvings = all.halvings;
  RB_TRY(rb_team_agree(a->team, rb_parts_add(&a->parts)));
done:
  return st;
}

/* The result as it was at the checkpoint, and its rows once more. */
static void resume_from(rb_atlas *a, const rb_atlas_saved *s, rb_atlas_hook hook, void *context) {
  rb_atlas_result *r = a->result;
  r->iterations = s->iterations, r->moved = s->moved, r->variance_before = s->variance_before;
  r->seconds = s->seconds, r->setup_seconds = s->setup_seconds;
  if (a->team->rank == 0) a->halvings = s->halvings; /* of all, in one member's count */
  for (int k = 0; k < a->row_count && hook; k++) hook(context, &a->rows[k]);
}

rb_status rb_atlas_solve(rb_atlas *a, rb_atlas_hook hook, void *context, rb_atlas_result *out) {
  rb_status st = RB_OK;
  const rb_atlas_options *o = &a->options;
  rb_atlas_saved saved;
  *out = (rb_atlas_result){.end = RB_END_ITERATIONS, .on_devices = a->devices ? 1 : a->sums ? 0 : -1};
  out->box = (double)rb_grid_points(a->full) / (double)rb_grid_points(a->whole);
  a->result = out, a->halvings = 0, a->row_count = 0, a->saving = 0;
  rb_parts_begin(&a->parts, a->profile, a->backend, out->parts);
  RB_TRY(rb_atlas_level_end(a, 0)); /* of a solve before */
  RB_TRY(rb_atlas_find_saved(a, &saved));
  const int resumed = saved.generation >= 0;
  if (resumed) resume_from(a, &saved, hook, context);
  for (int level = resumed ? saved.level : 1; level <= o->levels; level++) {
    const double begun = rb_now();
    const int asked = level == o->levels ? o->iterations : o->coarse_iterations,
              here = resumed && level == saved.level; /* the level that the checkpoint is of */
    RB_TRY(rb_team_agree(a->team, rb_atlas_level_begin(a, 1 << (o->levels - level))));
    if (here) RB_TRY(rb_atlas_load_images(a, &saved));                                   /* in place of u = 0 */
    if (level == o->levels && !here) RB_TRY(unmoved_variance(a, &out->variance_before)); /* else saved with it */
    RB_TRY(rb_team_agree(a->team, a->backend->sync()));
    a->started = rb_now(), a->saving = 0;
    out->setup_seconds += a->started - begun;
    RB_TRY((o->stream ? iterate_streamed : iterate)(a, level, here ? saved.iteration : 0,
                                                    out->end == RB_END_INTERRUPTED ? 0 : asked, hook, context));
    RB_TRY(rb_team_agree(a->team, a->backend->sync()));
    out->seconds += rb_now() - a->started - a->saving, out->setup_seconds += a->saving;
    /* the finest level's arrays stay: they are the results */
    if (level < o->levels) RB_TRY(rb_team_agree(a->team, rb_atlas_level_end(a, 1)));
  }
  if (out->end == RB_END_ITERATIONS && !out->moved) out->end = RB_END_NO_FORCE;
done:
  a->result = NULL;
  return st;
}
