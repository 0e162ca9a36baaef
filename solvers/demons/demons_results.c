/* SPDX-License-Identifier: BSD-3-Clause */
/* Images in, fields out: between the host's arrays on the images' own grid and the padded ones of the backend. */
#include "solvers/demons/demons_impl.h"

#include "solvers/common/by_displacement.h"

#include <math.h>
#include <stdlib.h>

/* On the padded grid: component c along axis c + 1. */
rb_array rb_demons_component(const rb_demons *s, rb_array field, int c) {
  return rb_array_part(field, c * s->n, s->n);
}

/* ---- between the images' own grid and the padded one ---------------------------------------------------- */

rb_status rb_demons_upload(rb_demons *s, const float *image, rb_array to) {
  rb_status st = RB_OK;
  const rb_array own = rb_array_part(s->spare, 0, s->points);
  RB_TRY(rb_array_put_floats(own, image));
  RB_TRY(rb_compose_pad(s->compose, s->own, own, to));
done:
  return st;
}
/* `update` is overwritten. Component after component, as one field of the images' own grid is the room. */
static rb_status download(rb_demons *s, rb_array from, int components, float *out) {
  rb_status st = RB_OK;
  const rb_array own = rb_array_part(s->update, 0, s->points);
  for (int c = 0; c < components; c++) {
    RB_TRY(rb_compose_crop(s->compose, s->own, rb_demons_component(s, from, c), own));
    RB_TRY(rb_array_get_floats(own, out + c * s->points));
  }
done:
  return st;
}

/* ---- results --------------------------------------------------------------------------------------------- */

/* Both on the images' own grid, in voxels: the padding is cut off. */
rb_status rb_demons_displacement(rb_demons *s, float *out) { return download(s, s->displacement, 3, out); }
rb_status rb_demons_velocity(rb_demons *s, float *out) { return download(s, s->velocity, 3, out); }

/* Any image by the present displacement, in the variant's precision; update and spare are used as room, as between
 * solves nothing lies in them. */
rb_status rb_demons_warp(rb_demons *s, const float *image, float *out) {
  rb_status st = RB_OK;
  RB_TRY(rb_demons_upload(s, image, s->update));
  RB_TRY(rb_compose_warp(s->compose, s->update, s->displacement, s->spare));
  RB_TRY(download(s, s->spare, 1, out));
done:
  return st;
}
/* On the host by the nearest voxel, from the displacement on the images' own grid: labels are not interpolated. */
rb_status rb_demons_labels(rb_demons *s, const float *labels, float *out) {
  rb_status st = RB_OK;
  float *u = malloc(3 * (size_t)s->points * sizeof *u);
  RB_CHECK(u, RB_ENOMEM, "host memory: %zu bytes for a displacement", 3 * (size_t)s->points * sizeof *u);
  RB_TRY(rb_demons_displacement(s, u));
  rb_displaced_labels(s->own, u, labels, out);
done:
  free(u);
  return st;
}
/* Of the displacement on the padded grid, then cut out, so that differences at the images' border are central
 * ones. */
rb_status rb_demons_determinant(rb_demons *s, float *out) {
  rb_status st = RB_OK;
  RB_TRY(rb_compose_determinant(s->compose, s->displacement, s->spare));
  RB_TRY(download(s, s->spare, 1, out));
done:
  return st;
}
/* exp(a v), or how far exp(a v) o exp(-a v) is from the identity. The displacement is used for it and made again at
 * the end. */
rb_status rb_demons_exponential(rb_demons *s, double a, int after_inverse, float *out) {
  rb_status st = RB_OK;
  if (after_inverse) {
    RB_TRY(rb_demons_exponentiate(s, a));
    RB_TRY(rb_demons_combine(s, 1, s->displacement, 0, rb_array_none(), 0, s->update));
    RB_TRY(rb_demons_exponentiate(s, -a));
    RB_TRY(rb_compose(s->compose, 1, s->update, s->displacement, s->spare));
    RB_TRY(download(s, s->spare, 3, out));
  } else {
    RB_TRY(rb_demons_exponentiate(s, a));
    RB_TRY(download(s, s->displacement, 3, out));
  }
  RB_TRY(rb_demons_exponentiate(s, 1)); /* as it was */
done:
  return st;
}
