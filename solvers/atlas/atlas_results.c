/* SPDX-License-Identifier: BSD-3-Clause */
/* What an atlas leaves: the mean, and of each image its deformation. */
#include "solvers/atlas/atlas_impl.h"

int rb_atlas_holds(const rb_atlas *a, int image) {
  int64_t first, end;
  rb_team_share(a->team, a->count, &first, &end);
  return image >= first && image < end;
}

rb_status rb_atlas_member_of(rb_atlas *a, int image, rb_atlas_member **out) {
  if (!a->mean) return RB_FAIL(RB_EINVAL, "an atlas has results after a solve");
  if (!rb_atlas_holds(a, image)) return RB_FAIL(RB_EINVAL, "image %d belongs to another process", image + 1);
  *out = &a->member[image - a->member[0].index];
  return RB_OK;
}

rb_status rb_atlas_mean(rb_atlas *a, float *out) {
  if (!a->mean) return RB_FAIL(RB_EINVAL, "an atlas has results after a solve");
  return rb_atlas_download(a, a->mean, rb_grid_points(a->grid), out);
}

rb_status rb_atlas_warped(rb_atlas *a, int image, float *out) {
  rb_status st = RB_OK;
  rb_atlas_member *m = NULL;
  RB_TRY(rb_atlas_member_of(a, image, &m));
  RB_TRY(rb_atlas_download(a, m->warped, rb_grid_points(a->grid), out));
done:
  return st;
}

rb_status rb_atlas_displacement(rb_atlas *a, int image, float *out) {
  rb_status st = RB_OK;
  rb_atlas_member *m = NULL;
  RB_TRY(rb_atlas_member_of(a, image, &m));
  RB_TRY(rb_atlas_download(a, m->u, 3 * rb_grid_points(a->grid), out));
done:
  return st;
}

rb_status rb_atlas_determinant(rb_atlas *a, int image, float *out) {
  rb_status st = RB_OK;
  rb_atlas_member *m = NULL;
  RB_TRY(rb_atlas_member_of(a, image, &m));
  RB_TRY(rb_compose_determinant(a->compose, m->u, a->f));
  RB_TRY(rb_atlas_download(a, a->f, rb_grid_points(a->grid), out));
done:
  return st;
}

/* w <- -u(x + w) from w = 0; contracts where u stretches by less than 1. compose gives w + u(x + w). */
rb_status rb_atlas_inverse(rb_atlas *a, int image, float *out) {
  enum { STEPS = 30 };
  rb_status st = RB_OK;
  const int64_t n = 3 * rb_grid_points(a->grid);
  rb_atlas_member *m = NULL;
  RB_TRY(rb_atlas_member_of(a, image, &m));
  RB_TRY(a->backend->fill(a->v, 0, (size_t)n * rb_atlas_value_size(a)));
  for (int k = 0; k < STEPS; k++) {
    RB_TRY(rb_compose(a->compose, 1, m->u, a->v, a->f));
    RB_TRY(rb_field_combine(a->field, n, 1, a->v, -1, a->f, 0, a->v));
  }
  RB_TRY(rb_atlas_download(a, a->v, n, out));
done:
  return st;
}
