/* SPDX-License-Identifier: BSD-3-Clause */
/* An atlas of the box alone that holds what any image has above its least value (ha2009, section 5: clipping to
 * bounding boxes). Beyond it all images are background: displacements are 0 there. */
#include "solvers/atlas/atlas_impl.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  double least[3], greatest[3]; /* voxels, inclusive; numbers that a team can compare */
} box;

static void widen(box *b, rb_grid g, const float *image) {
  const int64_t n = rb_grid_points(g);
  float least = image[0];
  for (int64_t i = 0; i < n; i++) least = image[i] < least ? image[i] : least;
  for (int64_t i = 0; i < n; i++) {
    const int64_t at[3] = {i / g.n[2] / g.n[1], i / g.n[2] % g.n[1], i % g.n[2]};
    if (!(image[i] > least)) continue;
    for (int a = 0; a < 3; a++) {
      if ((double)at[a] < b->least[a]) b->least[a] = (double)at[a];
      if ((double)at[a] > b->greatest[a]) b->greatest[a] = (double)at[a];
    }
  }
}

/* Of all members. */
static rb_status agree(const rb_team *team, box *b) {
  rb_status st = RB_OK;
  box *all = NULL;
  if (team->rank == 0) all = malloc((size_t)team->size * sizeof *all);
  RB_TRY(rb_team_agree(team, all || team->rank ? RB_OK : RB_FAIL(RB_ENOMEM, "host memory")));
  RB_TRY(rb_team_gather(team, b, sizeof *b, all));
  for (int k = 0; k < team->size && team->rank == 0; k++)
    for (int a = 0; a < 3; a++) {
      if (all[k].least[a] < b->least[a]) b->least[a] = all[k].least[a];
      if (all[k].greatest[a] > b->greatest[a]) b->greatest[a] = all[k].greatest[a];
    }
  RB_TRY(rb_team_broadcast(team, b, sizeof *b, 0));
done:
  free(all);
  return st;
}

/* The least number from m on whose factors are 2, 3, 5, 7: transforms of other lengths are slow. */
static int64_t smooth_length(int64_t m) {
  static const int64_t factors[4] = {2, 3, 5, 7};
  for (;; m++) {
    int64_t rest = m;
    for (int f = 0; f < 4; f++)
      while (rest % factors[f] == 0) rest /= factors[f];
    if (rest == 1) return m;
  }
}

/* `around` voxels more at each end, as many as the coarsest level needs, and as transforms like; within the grid. */
static void extent(const rb_atlas *a, int axis, const box *b, int64_t *first, int64_t *length) {
  const int64_t n = a->full.n[axis], least = n < 4 ? n : (int64_t)4 << (a->options.levels - 1);
  int64_t from = (int64_t)b->least[axis] - a->options.clip, to = (int64_t)b->greatest[axis] + a->options.clip;
  from = from < 0 ? 0 : from, to = to > n - 1 ? n - 1 : to;
  int64_t m = smooth_length(to - from + 1 < least ? least : to - from + 1);
  m = m > n ? n : m;
  from -= (m - (to - from + 1)) / 2; /* in the middle, where there is room */
  from = from < 0 ? 0 : from + m > n ? n - m : from;
  *first = from, *length = m;
}

static rb_status cut(const rb_atlas *a, rb_grid whole, const float **image, float **owned) {
  rb_status st = RB_OK;
  const rb_grid g = a->full;
  float *part = malloc((size_t)rb_grid_points(g) * sizeof *part);
  RB_CHECK(part, RB_ENOMEM, "host memory");
  for (int64_t i = 0; i < g.n[0]; i++)
    for (int64_t j = 0; j < g.n[1]; j++)
      memcpy(part + (i * g.n[1] + j) * g.n[2],
             *image + ((i + a->first[0]) * whole.n[1] + j + a->first[1]) * whole.n[2] + a->first[2],
             (size_t)g.n[2] * sizeof *part);
  free(*owned);
  *image = *owned = part;
done:
  return st;
}

rb_status rb_atlas_clip(rb_atlas *a) {
  rb_status st = RB_OK;
  const rb_grid whole = a->full;
  box b = {{(double)whole.n[0], (double)whole.n[1], (double)whole.n[2]}, {-1, -1, -1}};
  if (a->options.clip < 0) return RB_OK;
  for (int k = 0; k < a->own; k++) widen(&b, whole, a->member[k].source);
  if (a->reference) widen(&b, whole, a->reference);
  RB_TRY(agree(a->team, &b));
  for (int axis = 0; axis < 3; axis++) extent(a, axis, &b, &a->first[axis], &a->full.n[axis]);
  a->grid = a->full;
  if (rb_grid_points(a->full) == rb_grid_points(whole)) return RB_OK;
  for (int k = 0; k < a->own && st == RB_OK; k++) st = cut(a, whole, &a->member[k].source, &a->member[k].cut);
  if (st == RB_OK && a->reference) st = cut(a, whole, &a->reference, &a->reference_cut);
  RB_TRY(rb_team_agree(a->team, st));
done:
  return st;
}

void rb_atlas_unclip(const rb_atlas *a, float beyond, const float *part, float *out) {
  const rb_grid g = a->full, whole = a->whole;
  const int64_t n = rb_grid_points(whole);
  if (rb_grid_points(g) == n) {
    if (part != out) memcpy(out, part, (size_t)n * sizeof *out);
    return;
  }
  for (int64_t i = 0; i < n; i++) out[i] = beyond;
  for (int64_t i = 0; i < g.n[0]; i++)
    for (int64_t j = 0; j < g.n[1]; j++)
      memcpy(out + ((i + a->first[0]) * whole.n[1] + j + a->first[1]) * whole.n[2] + a->first[2],
             part + (i * g.n[1] + j) * g.n[2], (size_t)g.n[2] * sizeof *out);
}
