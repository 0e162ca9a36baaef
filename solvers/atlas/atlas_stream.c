/* SPDX-License-Identifier: BSD-3-Clause */
/* An atlas whose images do not fit on the backend: they stay on the host and pass through room for one. On its one
 * visit an iteration an image is measured against the mean, moved, and added to the next mean. Results have the bits
 * of an atlas whose images stay on the backend. */
#include "kernels/base/clock.h"
#include "kernels/registry/registry.h"
#include "solvers/atlas/atlas_impl.h"

/* Arrays of an image on the host; `warped` is made anew on every visit. */
rb_status rb_atlas_stream_member(rb_atlas *a, rb_atlas_member *m, int sweeps) {
  rb_status st = RB_OK;
  const rb_backend *host;
  const int64_t n = rb_grid_points(a->grid);
  RB_TRY(rb_backend_get(RB_CPU, &host));
  RB_TRY(rb_array_create(host, a->config->dtype, n, &m->image));
  RB_TRY(rb_array_create(host, a->config->dtype, 3 * n, &m->u));
  if (!sweeps) return RB_OK;
  RB_TRY(rb_array_create(host, a->config->dtype, 3 * n, &m->v));
  RB_TRY(rb_array_fill(m->v, 0));
done:
  return st;
}

/* Room for one image on the backend. */
rb_status rb_atlas_stream_begin(rb_atlas *a, int sweeps) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(a->grid);
  RB_TRY(rb_array_create(a->backend, a->config->dtype, n, &a->room_for.image));
  RB_TRY(rb_array_create(a->backend, a->config->dtype, n, &a->room_for.warped));
  RB_TRY(rb_array_create(a->backend, a->config->dtype, 3 * n, &a->room_for.u));
  if (sweeps) RB_TRY(rb_array_create(a->backend, a->config->dtype, 3 * n, &a->room_for.v));
done:
  return st;
}
void rb_atlas_stream_end(rb_atlas *a) {
  rb_array_destroy(&a->room_for.image), rb_array_destroy(&a->room_for.warped);
  rb_array_destroy(&a->room_for.u), rb_array_destroy(&a->room_for.v);
}

rb_status rb_atlas_stream_load(rb_atlas *a, const rb_atlas_member *m, rb_atlas_member *here) {
  rb_status st = RB_OK;
  *here = *m;
  here->image = a->room_for.image, here->warped = a->room_for.warped, here->u = a->room_for.u,
  here->v = a->room_for.v;
  RB_TRY(rb_array_upload(here->image, m->image.data));
  RB_TRY(rb_array_upload(here->u, m->u.data));
  if (m->v.data) RB_TRY(rb_array_upload(here->v, m->v.data));
  RB_TRY(rb_compose_warp(a->lane->compose, here->image, here->u, here->warped)); /* D = I o (id + u) */
done:
  return st;
}

/* What a visit changes. A move leaves u in another array (it takes turns with a->lane->next). */
static rb_status store(rb_atlas *a, const rb_atlas_member *here, rb_atlas_member *m) {
  rb_status st = RB_OK;
  a->room_for.u = here->u;
  m->step = here->step, m->longest = here->longest, m->difference = here->difference;
  RB_TRY(rb_array_download(here->u, m->u.data));
  if (m->v.data) RB_TRY(rb_array_download(here->v, m->v.data));
done:
  return st;
}

static rb_status add(rb_atlas *a, rb_array image) {
  return a->reference ? RB_OK : rb_average_add(a->average, 1, image);
}

rb_status rb_atlas_stream_pass(rb_atlas *a, rb_atlas_visit what, int first) {
  rb_status st = RB_OK;
  rb_atlas_member here;
  if (!a->reference)
    RB_TRY(rb_average_clear(a->average)); /* the sums of the next mean: the mean itself stands still */
  for (int k = 0; k < a->own; k++) {
    rb_atlas_member *m = &a->member[k];
    RB_TRY(rb_atlas_stream_load(a, m, &here));
    const rb_array as_it_is =
        what == RB_VISIT_UNMOVED_ADD || what == RB_VISIT_UNMOVED_MEASURE ? here.image : here.warped;
    here.warped = as_it_is;
    if (what != RB_VISIT_ADD && what != RB_VISIT_UNMOVED_ADD) RB_TRY(rb_atlas_measure_image(a, &here, first));
    if (what == RB_VISIT_MOVE) RB_TRY(rb_atlas_move_image(a, &here, first));
    RB_TRY(add(a, here.warped));
    if (what == RB_VISIT_MOVE) RB_TRY(store(a, &here, m));
    m->difference = here.difference, m->step = here.step;
  }
  RB_TRY(a->backend->sync());
done:
  return st;
}
