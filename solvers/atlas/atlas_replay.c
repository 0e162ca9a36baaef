/* SPDX-License-Identifier: BSD-3-Clause */
/* Iterations of an atlas that wait for nothing. What an iteration issues is recorded and replayed as one launch;
 * steps and differences stay on the backend, where a step is halved when its image's difference rises. The host looks
 * after a burst of iterations. Results have the bits of iterations that are issued one by one.
 *
 * Images of small grids leave part of a GPU idle, so some are moved concurrently: image k in stream k modulo their
 * number. An iteration makes an image's new displacement in its stream's `next` and swaps the two, so with m moving
 * images in a stream the same addresses come back after m + 1 iterations, and in all streams after the least common
 * multiple of these: as many recordings are made, one a phase.
 *
 * In a team a recording holds the sum over its devices, which ends when all members have entered it. So what can
 * fail, recording, comes before, and is agreed on. NCCL wants all members to record together and to replay what they
 * recorded together: they have the same number of phases, the least common multiple of what each needs. */
#include "kernels/base/clock.h"
#include "solvers/atlas/atlas_impl.h"
#include "solvers/common/advance.h"
#include "solvers/common/streams.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
  double *all;     /* [ROWS][count + 1]: differences of all images, halvings of this row */
  double *initial; /* [2][own]: steps, differences */
  void *recording[MOST_PHASES];
  int phases, phase, issued; /* issued: once, so that libraries have set up what they need */
  double seconds;            /* of an iteration; 0: not known */
};

int rb_atlas_replays(const rb_atlas *a) {
  return a->config->steps && a->backend->record_begin && (a->team->size == 1 || a->devices) && !a->profile &&
         !a->options.stream;
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
  free(r->initial), free(r->all), free(r->rows), free(r);
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
  r->all = malloc(ROWS * ((size_t)a->count + 1) * sizeof *r->all);
  r->initial = malloc(2 * (size_t)a->own * sizeof *r->initial);
  RB_CHECK(r->rows && r->all && r->initial, RB_ENOMEM, "host memory");
  RB_TRY(rb_variant_find(&rb_steps_family, a->config->steps, &v));
  RB_TRY(rb_steps_create(v, &d, &r->steps));
  RB_TRY(rb_array_create(a->backend, RB_F64, a->own, &r->now));
done:
  return st;
}

/* All members together. */
static rb_status agree_on_phases(rb_atlas *a) {
  rb_status st = RB_OK;
  const double own = period(a);
  int all = 1;
  RB_TRY(rb_team_gather(a->team, &own, sizeof own, a->gathered));
  for (int k = 0; k < a->team->size && a->team->rank == 0 && all <= MOST_PHASES; k++) {
    const int one = (int)a->gathered[k];
    all *= one / greatest_divisor(all, one);
  }
  RB_TRY(rb_team_broadcast(a->team, &all, sizeof all, 0));
  a->replays->phases = all;
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
  RB_TRY(rb_atlas_issue_mean(a, rb_in_streams(a->backend, a->concurrent, a->own, move, a)));
  RB_TRY(rb_in_streams(a->backend, a->concurrent, a->own, measure, a));
  RB_TRY(rb_steps_judge(a->replays->steps, a->replays->now));
done:
  return st;
}

/* Records the next `most` iterations as far as no recording of their phases is there; each leaves the displacements
 * where the next expects them. Phases are met in a row, so those that are missing come first. *made: how many. */
static rb_status record(rb_atlas *a, int most, int *made) {
  rb_status st = RB_OK;
  struct rb_atlas_replays *r = a->replays;
  for (*made = 0; *made < most && *made < r->phases; (*made)++) {
    void **to = &r->recording[(r->phase + *made) % r->phases];
    if (*to) break;
    RB_TRY(a->backend->record_begin());
    const rb_status issued = issue(a);
    st = a->backend->record_end(to);
    if (issued != RB_OK) st = issued;
    RB_TRY(st);
  }
done:
  return st;
}

/* Without recordings. All `count` are issued even after a failure: others wait in the devices' sums. */
static rb_status issue_all(rb_atlas *a, int count) {
  rb_status st = RB_OK;
  struct rb_atlas_replays *r = a->replays;
  for (int i = 0; i < count; i++) {
    const rb_status issued = issue(a);
    if (st == RB_OK) st = issued;
    r->phase = (r->phase + 1) % r->phases;
  }
  return rb_team_agree(a->team, st);
}

/* A process alone records each phase when its turn comes, while the backend works on those before. */
static rb_status replay_all(rb_atlas *a, int count) {
  rb_status st = RB_OK;
  struct rb_atlas_replays *r = a->replays;
  const int alone = a->team->size == 1;
  int fresh = 0; /* recorded and not replayed yet: the displacements lie where these leave them */
  if (!alone && (st = rb_team_agree(a->team, record(a, count, &fresh))) != RB_OK) return st;
  for (int i = 0; i < count && st == RB_OK; i++) {
    if (alone) RB_TRY(record(a, 1, &fresh));
    if (fresh > 0)
      fresh--;
    else
      rotate(a);
    st = a->backend->replay(r->recording[r->phase]);
    r->phase = (r->phase + 1) % r->phases;
    /* the others wait in their sums, this one and those to come */
    for (int k = i; k < count && st != RB_OK; k++) (void)rb_atlas_issue_mean(a, st);
  }
done:
  return rb_team_agree(a->team, st);
}

static rb_status iterations(rb_atlas *a, int count) {
  rb_status st = RB_OK;
  struct rb_atlas_replays *r = a->replays;
  const int first = r->issued ? 0 : 1;
  r->issued = 1;
  RB_TRY(issue_all(a, first));
  if (r->phases > MOST_PHASES)
    RB_TRY(issue_all(a, count - first));
  else
    RB_TRY(replay_all(a, count - first));
done:
  return st;
}

/* Each image has one owner: a sum with zeros changes no bit. */
static rb_status gather_rows(rb_atlas *a, int made) {
  struct rb_atlas_replays *r = a->replays;
  const int width = a->count + 1;
  memset(r->all, 0, (size_t)(made * width) * sizeof *r->all);
  for (int row = 0; row < made; row++)
    for (int k = 0; k < a->own; k++) {
      const double *e = r->rows + 2 * row * a->own, *step = e + a->own,
                   *before = row ? step - 2 * a->own : r->initial;
      const int index = a->member[k].index;
      r->all[row * width + index] = e[k];
      r->all[row * width + a->count] += step[k] < before[k];
    }
  return rb_team_sum(a->team, r->all, (int64_t)made * width);
}

/* As many as the first member's time allows. */
static rb_status count_of(rb_atlas *a, int most, int *count) {
  const double seconds = a->replays->seconds;
  *count = seconds > 0 ? (int)fmin(fmax(1, BURST / seconds), ROWS) : FIRST;
  *count = *count > most ? most : *count;
  return rb_team_broadcast(a->team, count, sizeof *count, 0);
}

rb_status rb_atlas_replay(rb_atlas *a, int most, int *made) {
  const int begun_before = a->replays != NULL; /* alike on all members */
  rb_status st = begun_before ? RB_OK : begin(a);
  int count;
  *made = 0;
  RB_TRY(rb_team_agree(a->team, st));
  if (!begun_before) RB_TRY(agree_on_phases(a));
  struct rb_atlas_replays *r = a->replays;
  RB_TRY(count_of(a, most, &count));
  for (int k = 0; k < a->own; k++)
    r->initial[k] = a->member[k].step, r->initial[a->own + k] = a->member[k].difference;
  RB_TRY(rb_team_agree(a->team, rb_steps_begin(r->steps, r->initial, r->initial + a->own)));
  const double begun = rb_now();
  RB_TRY(iterations(a, count));
  st = rb_steps_rows(r->steps, r->rows, made); /* waits */
  r->seconds = (rb_now() - begun) / count;
  if (st == RB_OK && *made != count) st = RB_FAIL(RB_EINVALID, "%d of %d iterations left a row", *made, count);
  RB_TRY(rb_team_agree(a->team, st));
  RB_TRY(gather_rows(a, *made));
done:
  return st;
}

/* A difference that is no number is one for all members: they fail together. */
rb_status rb_atlas_replay_row(rb_atlas *a, int row, int *halvings) {
  rb_status st = RB_OK;
  const struct rb_atlas_replays *r = a->replays;
  const double *e = r->rows + 2 * row * a->own, *step = e + a->own, *all = r->all + row * (a->count + 1);
  for (int k = 0; k < a->own; k++) {
    rb_atlas_member *m = &a->member[k];
    a->halvings += step[k] < m->step;
    m->step = step[k];
    m->difference = e[k];
  }
  for (int i = 0; i < a->count; i++) {
    RB_CHECK(isfinite(all[i]), RB_EINVALID, "image %d: the difference to the mean is not finite", i + 1);
    a->differences[i] = all[i];
  }
  *halvings += (int)all[a->count];
done:
  return st;
}
