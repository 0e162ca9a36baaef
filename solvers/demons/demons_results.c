/* SPDX-License-Identifier: BSD-3-Clause */
/* Images in, fields out: between the host's arrays on the images' own grid and the padded ones of the backend. */
#include "solvers/demons/demons_impl.h"

#include "solvers/common/by_displacement.h"

#include <math.h>
#include <stdlib.h>

static size_t value_size(const rb_demons *s) { return rb_dtype_size(s->config->dtype); }
void *rb_demons_component(const rb_demons *s, void *field, int c) {
  return (char *)field + (size_t)c * (size_t)s->n * value_size(s);
}

/* ---- between the images' own grid and the padded one ---------------------------------------------------- */

rb_status rb_demons_upload(rb_demons *s, const float *image, void *to) {
  rb_status st = RB_OK;
  double *wide = NULL;
  if (s->config->dtype == RB_F64) {
    wide = malloc((size_t)s->points * sizeof *wide);
    RB_CHECK(wide, RB_ENOMEM, "host memory");
    for (int64_t i = 0; i < s->points; i++) wide[i] = (double)image[i];
  }
  RB_TRY(s->backend->upload(s->spare, wide ? (const void *)wide : image, (size_t)s->points * value_size(s)));
  RB_TRY(rb_compose_pad(s->compose, s->own, s->spare, to));
done:
  free(wide);
  return st;
}
/* `update` is overwritten. */
static rb_status download(rb_demons *s, void *from, int components, float *out) {
  rb_status st = RB_OK;
  double *wide = NULL;
  if (s->config->dtype == RB_F64) {
    wide = malloc((size_t)s->points * sizeof *wide);
    RB_CHECK(wide, RB_ENOMEM, "host memory");
  }
  for (int c = 0; c < components; c++) {
    RB_TRY(rb_compose_crop(s->compose, s->own, rb_demons_component(s, from, c), s->update));
    RB_TRY(s->backend->download(wide ? (void *)wide : out + c * s->points, s->update,
                                (size_t)s->points * value_size(s)));
    for (int64_t i = 0; wide && i < s->points; i++) out[c * s->points + i] = (float)wide[i];
  }
done:
  free(wide);
  return st;
}

/* ---- results --------------------------------------------------------------------------------------------- */

rb_status rb_demons_displacement(rb_demons *s, float *out) { return download(s, s->displacement, 3, out); }
rb_status rb_demons_velocity(rb_demons *s, float *out) { return download(s, s->velocity, 3, out); }

rb_status rb_demons_warp(rb_demons *s, const float *image, float *out) {
  rb_status st = RB_OK;
  RB_TRY(rb_demons_upload(s, image, s->update));
  RB_TRY(rb_compose_warp(s->compose, s->update, s->displacement, s->spare));
  RB_TRY(download(s, s->spare, 1, out));
done:
  return st;
}
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
rb_status rb_demons_determinant(rb_demons *s, float *out) {
  rb_status st = RB_OK;
  RB_TRY(rb_compose_determinant(s->compose, s->displacement, s->spare));
  RB_TRY(download(s, s->spare, 1, out));
done:
  return st;
}
rb_status rb_demons_exponential(rb_demons *s, double a, int after_inverse, float *out) {
  rb_status st = RB_OK;
  if (after_inverse) {
    RB_TRY(rb_demons_exponentiate(s, a));
    RB_TRY(rb_demons_combine(s, 1, s->displacement, 0, NULL, 0, s->update));
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
