/* SPDX-License-Identifier: BSD-3-Clause */
/* What an atlas leaves: the mean, and of each image its deformation. */
#include "solvers/atlas/atlas_impl.h"
#include "solvers/common/by_displacement.h"

#include <stdlib.h>

/* A share follows from rank, size and count alone: any member can tell whose an image is. */
int rb_atlas_holds(const rb_atlas *a, int image) {
  int64_t first, end;
  rb_team_share(a->team, a->count, &first, &end);
  return image >= first && image < end;
}

/* Shares are whole and in order, so an image's place follows from the first one's number. Results are those of the
 * level that was worked on last; before a solve there is no mean. */
rb_status rb_atlas_member_of(rb_atlas *a, int image, rb_atlas_member **out) {
  if (!a->mean.data) return RB_FAIL(RB_EINVAL, "an atlas has results after a solve");
  if (!rb_atlas_holds(a, image)) return RB_FAIL(RB_EINVAL, "image %d belongs to another process", image + 1);
  *out = &a->member[image - a->member[0].index];
  return RB_OK;
}

/* components of [full n] to the caller's whole grid, by way of a->room. */
static rb_status get(rb_atlas *a, rb_array from, int components, float beyond, float *out) {
  rb_status st = RB_OK;
  RB_TRY(rb_array_get_floats(rb_array_part(from, 0, components * rb_grid_points(a->full)), a->room));
  for (int c = 0; c < components; c++)
    rb_atlas_unclip(a, beyond, a->room + c * rb_grid_points(a->full), out + c * rb_grid_points(a->whole));
done:
  return st;
}

rb_status rb_atlas_mean(rb_atlas *a, float *out) {
  if (!a->mean.data) return RB_FAIL(RB_EINVAL, "an atlas has results after a solve");
  return get(a, a->mean, 1, 0, out); /* 0: every image's least value */
}

/* In the scaled intensities that the atlas works with. */
rb_status rb_atlas_warped(rb_atlas *a, int image, float *out) {
  rb_status st = RB_OK;
  rb_atlas_member *m = NULL, here;
  RB_TRY(rb_atlas_member_of(a, image, &m));
  if (a->options.stream) RB_TRY(rb_atlas_stream_load(a, m, &here));
  RB_TRY(get(a, a->options.stream ? here.warped : m->warped, 1, 0, out));
done:
  return st;
}

rb_status rb_atlas_displacement(rb_atlas *a, int image, float *out) {
  rb_status st = RB_OK;
  rb_atlas_member *m = NULL;
  RB_TRY(rb_atlas_member_of(a, image, &m));
  RB_TRY(get(a, m->u, 3, 0, out));
done:
  return st;
}

/* The force's array is free between iterations; its first component takes the determinant. */
rb_status rb_atlas_determinant(rb_atlas *a, int image, float *out) {
  rb_status st = RB_OK;
  rb_atlas_member *m = NULL, here;
  RB_TRY(rb_atlas_member_of(a, image, &m));
  if (a->options.stream) RB_TRY(rb_atlas_stream_load(a, m, &here));
  RB_TRY(rb_compose_determinant(a->work->compose, a->options.stream ? here.u : m->u, a->work->f));
  RB_TRY(get(a, a->work->f, 1, 1, out));
done:
  return st;
}

/* On the host, by Newton's method at every voxel. */
rb_status rb_atlas_inverse(rb_atlas *a, int image, float *out) {
  rb_status st = RB_OK;
  const size_t bytes = 3 * (size_t)rb_grid_points(a->whole) * sizeof(float);
  float *u = malloc(bytes);
  RB_CHECK(u, RB_ENOMEM, "host memory: %zu bytes for an inverse", bytes);
  RB_TRY(rb_atlas_displacement(a, image, u));
  rb_displacement_inverse(a->whole, u, out);
done:
  free(u);
  return st;
}

rb_status rb_atlas_next_velocity(rb_atlas *a, int image, const rb_helmholtz_plan **plan, rb_array *f, rb_array *v) {
  rb_status st = RB_OK;
  rb_atlas_member *m = NULL;
  rb_atlas_workspace *w = a->work;
  RB_CHECK(!a->options.stream, RB_EUNSUPPORTED, "images that stay on the host leave no velocity behind");
  RB_TRY(rb_atlas_member_of(a, image, &m));
  RB_TRY(rb_l2force(w->force, a->mean, m->warped, w->f));
  RB_TRY(rb_atlas_solve_velocity(a, w, m, 0, v));
  *plan = w->helmholtz, *f = w->f;
done:
  return st;
}
