/* SPDX-License-Identifier: BSD-3-Clause */
/* Iterations of an atlas that wait for nothing. What an iteration issues is recorded and replayed as one launch;
 * steps and differences stay on the backend, where a step is halved when its image's difference rises. The host looks
 * after a burst of iterations. Results have the bits of iterations that are issued one by one.
 *
 * Images of small grids leave part of a GPU idle, so some are moved concurrently: image k in stream k modulo their
 * number. An iteration makes an image's new displacement in its stream's `next` and swaps the two, so with m moving
 * images in a stream the same addresses come back after m + 1 iterations, and in all streams after the least common
 * multiple of these: as many recordings are made, one a phase. */
#include "kernels/base/clock.h"
#include "solvers/atlas/atlas_impl.h"
#include "solvers/common/advance.h"
#include "solvers/common/streams.h"

#include <math.h>
#include <stdlib.h>

/* ROWS: iterations of a burst, at most. MOST_PHASES: with more, recordings would come back too late to pay; their
 * iterations are issued, without waiting likewise. BUSY_POINTS: beyond them a thread a point of one image fills an
 * H100 by itself, and more images' arrays only leave less of them in its cache. BURST: seconds that the host does not
 * look, about. */
enum { ROWS = 64, FIRST = 8, MOST_PHASES = 17, BUSY_POINTS = 64 * 64 * 64 };
static const double BURST = 0.25;

struct rb_atlas_replays {
  rb_steps_plan *steps;
  rb_array now;    /* float64 [own]: differences */
  double *rows;    /* [ROWS][2][own] */
  double *initial; /* [2][own]: steps, differences */
  void *recording[MOST_PHASES];
  int phases, phase, issued; /* issued: once, so that libraries have set up what they need */
  double seconds;            /* of an iteration; 0: not known */
};

int rb_atlas_replays(const rb_atlas *a) {
  return a->config->steps && a->backend->record_begin && a->team->size == 1 && !a->profile && !a->options.stream;
}

/* As many as there may be, so that all have the same number of images or one less. */
int rb_atlas_concurrent(const rb_atlas_config *c, const rb_atlas_options *o, rb_grid grid, int own) {
  const int most = o->concurrent ? o->concurrent : rb_grid_points(grid) <= BUSY_POINTS ? RB_STREAMS : 1;
  if (!c->steps || own < 1) return 1;
  const int images = (own + most - 1) / most; /* of a stream */
  return (own + images - 1) / images;
}
static rb_atlas_workspace *workspace_of(rb_atlas *a, int k) { return &a->work[k % a->concurrent]; }

static int greatest_divisor(int x, int y) { return y ? greatest_divisor(y, x % y) : x; }

/* Iterations until all arrays are in the same places again; beyond MOST_PHASES, some number above it. */
static int period(const rb_atlas *a) {
  int all = 1;
  for (int stream = 0; stream < a->concurrent && all <= MOST_PHASES; stream++) {
    int own = 1;
    for (int k = stream; k < a->own; k += a->concurrent) own += a->member[k].step > 0;
    all *= own / greatest_divisor(all, own);
  }
  return all;
}

void rb_atlas_replay_end(rb_atlas *a) {
  struct rb_atlas_replays *r = a->replays;
  if (!r) return;
  for (int p = 0; p < MOST_PHASES && a->backend->drop; p++) a->backend->drop(r->recording[p]);
  rb_steps_destroy(r->steps);
  rb_array_destroy(&r->now);
  free(r->initial), free(r->rows), free(r);
  a->replays = NULL;
}

/* Once a level: which images move is known, as their steps are chosen. */
static rb_status begin(rb_atlas *a) {
  rb_status st = RB_OK;
  const rb_steps_desc d = {a->own, ROWS, a->options.halve, a->config->dtype};
  const rb_variant *v;
  struct rb_atlas_replays *r = a->replays = calloc(1, sizeof *r); /* rb_atlas_level_end gives it back */
  RB_CHECK(r, RB_ENOMEM, "host memory");
  r->rows = malloc(2 * ROWS * (size_t)a->own * sizeof *r->rows);
  r->initial = malloc(2 * (size_t)a->own * sizeof *r->initial);
  RB_CHECK(r->rows && r->initial, RB_ENOMEM, "host memory");
  RB_TRY(rb_variant_find(&rb_steps_family, a->config->steps, &v));
  RB_TRY(rb_steps_create(v, &d, &r->steps));
  RB_TRY(rb_array_create(a->backend, RB_F64, a->own, &r->now));
  r->phases = period(a);
done:
  return st;
}

/* Where the displacements lie after an iteration. */
static void rotate(rb_atlas *a) {
  for (int k = 0; k < a->own; k++)
    if (a->member[k].step > 0) rb_array_swap(&a->member[k].u, &workspace_of(a, k)->next);
}

/* As move_image of atlas.c, but the step is read on the backend. */
static rb_status move(void *context, int k) {
  rb_status st = RB_OK;
  rb_atlas *a = context;
  rb_atlas_member *m = &a->member[k];
  rb_atlas_workspace *w = workspace_of(a, k);
  rb_array v;
  if (m->step == 0) return RB_OK;
  RB_TRY(rb_l2force(w->force, a->mean, m->warped, w->f));
  RB_TRY(rb_atlas_velocity(a, w, m, 0, &v));
  /* u o (id + e v) + e v, and the image by it */
  RB_TRY(rb_advance(a->replays->steps, k, w->compose, m->u, v, w->f, w->next, m->image, m->warped));
  rb_array_swap(&m->u, &w->next);
done:
  return st;
}
static rb_status measure(void *context, int k) {
  rb_atlas *a = context;
  return rb_l2force_energy_kept(workspace_of(a, k)->force, a->mean, a->member[k].warped,
                                rb_array_part(a->replays->now, k, 1));
}

/* All images against one mean; then the mean, and what is left to it. */
static rb_status issue(rb_atlas *a) {
  rb_status st = RB_OK;
  RB_TRY(rb_in_streams(a->backend, a->concurrent, a->own, move, a));
  RB_TRY(rb_atlas_update_mean(a));
  RB_TRY(rb_in_streams(a->backend, a->concurrent, a->own, measure, a));
  RB_TRY(rb_steps_judge(a->replays->steps, a->replays->now));
done:
  return st;
}

static rb_status iteration(rb_atlas *a) {
  rb_status st = RB_OK;
  struct rb_atlas_replays *r = a->replays;
  const int phase = r->phase;
  r->phase = (phase + 1) % r->phases;
  if (!r->issued || r->phases > MOST_PHASES) {
    r->issued = 1;
    return issue(a);
  }
  if (r->recording[phase]) {
    rotate(a);
  } else {
    RB_TRY(a->backend->record_begin());
    const rb_status issued = issue(a);
    st = a->backend->record_end(&r->recording[phase]);
    if (issued != RB_OK) st = issued;
    RB_TRY(st);
  }
  RB_TRY(a->backend->replay(r->recording[phase]));
done:
  return st;
}

rb_status rb_atlas_replay(rb_atlas *a, int most, int *made) {
  rb_status st = RB_OK;
  int count = FIRST;
  *made = 0;
  if (!a->replays) RB_TRY(begin(a));
  struct rb_atlas_replays *r = a->replays;
  if (r->seconds > 0) count = (int)fmin(fmax(1, BURST / r->seconds), ROWS);
  if (count > most) count = most;
  for (int k = 0; k < a->own; k++)
    r->initial[k] = a->member[k].step, r->initial[a->own + k] = a->member[k].difference;
  RB_TRY(rb_steps_begin(r->steps, r->initial, r->initial + a->own));
  const double begun = rb_now();
  for (int i = 0; i < count; i++) RB_TRY(iteration(a));
  RB_TRY(rb_steps_rows(r->steps, r->rows, made)); /* waits */
  r->seconds = (rb_now() - begun) / count;
  RB_CHECK(*made == count, RB_EINVALID, "%d of %d iterations left a row", *made, count);
done:
  return st;
}

rb_status rb_atlas_replay_row(rb_atlas *a, int row) {
  rb_status st = RB_OK;
  const double *e = a->replays->rows + 2 * (size_t)row * (size_t)a->own, *step = e + a->own;
  for (int k = 0; k < a->own; k++) {
    rb_atlas_member *m = &a->member[k];
    RB_CHECK(isfinite(e[k]), RB_EINVALID, "image %d: the difference to the mean is not finite", m->index + 1);
    a->halvings += step[k] < m->step;
    m->step = step[k];
    m->difference = a->differences[m->index] = e[k];
  }
done:
  return st;
}
