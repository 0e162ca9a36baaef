/* SPDX-License-Identifier: BSD-3-Clause */
/* An atlas whose images do not fit on the backend: they stay on the host, in pinned memory where that can be had, and
 * pass through three buffers on the backend. On its one visit an iteration an image is measured against the mean,
 * moved, and added to the next mean; meanwhile the next one is uploaded to another buffer and the one before
 * downloaded from the third. Results have the bits of an atlas whose images stay on the backend. */
#include "kernels/base/clock.h"
#include "kernels/registry/registry.h"
#include "solvers/atlas/atlas_impl.h"

/* ---- where images lie ------------------------------------------------------------------------------------- */

/* An image on the host; `warped` is made anew on every visit. Memory that cannot be pinned is copied more slowly. */
rb_status rb_atlas_stream_member(rb_atlas *a, rb_atlas_member *m, int sweeps) {
  rb_status st = RB_OK;
  const rb_backend *host;
  const int64_t n = rb_grid_points(a->grid);
  RB_TRY(rb_backend_get(RB_CPU, &host));
  RB_TRY(rb_array_create(host, a->config->dtype, (sweeps ? 7 : 4) * n, &m->at_host));
  m->image = rb_array_part(m->at_host, 0, n), m->u = rb_array_part(m->at_host, n, 3 * n);
  if (sweeps) {
    m->v = rb_array_part(m->at_host, 4 * n, 3 * n);
    RB_TRY(rb_array_fill(m->v, 0));
  }
  if (!a->backend->pin) return RB_OK;
  m->pinned = a->backend->pin(m->at_host.data, rb_array_bytes(m->at_host)) == RB_OK;
  if (!m->pinned) rb_clear();
done:
  return st;
}
void rb_atlas_stream_drop(rb_atlas *a, rb_atlas_member *m) {
  if (m->pinned) a->backend->unpin(m->at_host.data);
  m->pinned = 0, m->image = m->u = m->v = rb_array_none();
  rb_array_destroy(&m->at_host);
}

rb_status rb_atlas_stream_begin(rb_atlas *a, int sweeps) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(a->grid);
  RB_TRY(rb_array_create(a->backend, a->config->dtype, n, &a->buffers[0].warped));
  for (int k = 0; k < RB_BUFFERS; k++) {
    RB_TRY(rb_array_create(a->backend, a->config->dtype, n, &a->buffers[k].image));
    RB_TRY(rb_array_create(a->backend, a->config->dtype, 3 * n, &a->buffers[k].u));
    if (sweeps) RB_TRY(rb_array_create(a->backend, a->config->dtype, 3 * n, &a->buffers[k].v));
  }
done:
  return st;
}
void rb_atlas_stream_end(rb_atlas *a) {
  rb_array_destroy(&a->buffers[0].warped);
  for (int k = 0; k < RB_BUFFERS; k++)
    rb_array_destroy(&a->buffers[k].image), rb_array_destroy(&a->buffers[k].u), rb_array_destroy(&a->buffers[k].v);
}

/* ---- a visit ---------------------------------------------------------------------------------------------- */

static rb_status upload(const rb_backend *b, rb_array to, rb_array from) {
  return (b->upload_later ? b->upload_later : b->upload)(to.data, from.data, rb_array_bytes(from));
}
static rb_status download(const rb_backend *b, rb_array from, rb_array to) {
  return (b->download_later ? b->download_later : b->download)(to.data, from.data, rb_array_bytes(to));
}

static rb_status upload_image(rb_atlas *a, const rb_atlas_member *m, const rb_atlas_member *buffer) {
  rb_status st = RB_OK;
  RB_TRY(upload(a->backend, buffer->image, m->image));
  RB_TRY(upload(a->backend, buffer->u, m->u));
  if (m->v.data) RB_TRY(upload(a->backend, buffer->v, m->v));
done:
  return st;
}
/* What a visit changes. */
static rb_status download_image(rb_atlas *a, const rb_atlas_member *buffer, const rb_atlas_member *m) {
  rb_status st = RB_OK;
  RB_TRY(download(a->backend, buffer->u, m->u));
  if (m->v.data) RB_TRY(download(a->backend, buffer->v, m->v));
done:
  return st;
}
/* The member, its arrays those of the buffer that it was uploaded to. */
static rb_status warp(rb_atlas *a, const rb_atlas_member *m, const rb_atlas_member *buffer, rb_atlas_member *here) {
  *here = *m;
  here->image = buffer->image, here->u = buffer->u, here->v = buffer->v, here->warped = a->buffers[0].warped;
  return rb_compose_warp(a->work->compose, here->image, here->u, here->warped); /* D = I o (id + u) */
}

rb_status rb_atlas_stream_load(rb_atlas *a, const rb_atlas_member *m, rb_atlas_member *here) {
  rb_status st = RB_OK;
  RB_TRY(upload_image(a, m, a->buffers));
  RB_TRY(warp(a, m, a->buffers, here));
done:
  return st;
}

static rb_status add(rb_atlas *a, rb_array image) {
  return a->reference ? RB_OK : rb_average_add(a->average[0], 1, image);
}

/* A move leaves u in another array: it takes turns with the workspace's `next`. */
static rb_status visit(rb_atlas *a, rb_atlas_visit what, int first, rb_atlas_member *m, rb_atlas_member *buffer) {
  rb_status st = RB_OK;
  const int unmoved = what == RB_VISIT_UNMOVED_ADD || what == RB_VISIT_UNMOVED_MEASURE;
  rb_atlas_member here;
  RB_TRY(warp(a, m, buffer, &here));
  if (unmoved) here.warped = here.image;
  if (what != RB_VISIT_ADD && what != RB_VISIT_UNMOVED_ADD) RB_TRY(rb_atlas_measure_image(a, &here, first));
  if (what == RB_VISIT_MOVE) RB_TRY(rb_atlas_move_image(a, &here, first));
  RB_TRY(add(a, here.warped));
  buffer->u = here.u;
  m->step = here.step, m->longest = here.longest, m->difference = here.difference;
done:
  return st;
}

/* Image k is visited in buffer k % 3 while image k + 1 is uploaded to the next one and image k - 1 downloaded from
 * the third: three streams, which wait for each other before the next image. A backend of one order does one after
 * the other. */
enum { WORK, UPLOAD, DOWNLOAD, STREAMS };
static rb_status turn(rb_atlas *a, rb_atlas_visit what, int first, int k) {
  rb_status st = RB_OK;
  RB_TRY(rb_fork(a->backend, STREAMS, 0));
  if (k + 1 < a->own) {
    rb_choose_stream(a->backend, UPLOAD);
    st = upload_image(a, &a->member[k + 1], &a->buffers[(k + 1) % RB_BUFFERS]);
  }
  if (k > 0 && what == RB_VISIT_MOVE && st == RB_OK) {
    rb_choose_stream(a->backend, DOWNLOAD);
    st = download_image(a, &a->buffers[(k - 1) % RB_BUFFERS], &a->member[k - 1]);
  }
  rb_choose_stream(a->backend, WORK);
  if (st == RB_OK) st = visit(a, what, first, &a->member[k], &a->buffers[k % RB_BUFFERS]);
  const rb_status joined = rb_join(a->backend); /* whatever happened */
  if (st == RB_OK) st = joined;
done:
  return st;
}

rb_status rb_atlas_stream_pass(rb_atlas *a, rb_atlas_visit what, int first) {
  rb_status st = RB_OK;
  const int last = a->own - 1;
  if (!a->reference)
    RB_TRY(rb_average_clear(a->average[0])); /* the sums of the next mean: the mean itself stands still */
  RB_TRY(upload_image(a, a->member, a->buffers));
  for (int k = 0; k < a->own; k++) RB_TRY(turn(a, what, first, k));
  if (what == RB_VISIT_MOVE) RB_TRY(download_image(a, &a->buffers[last % RB_BUFFERS], &a->member[last]));
  RB_TRY(a->backend->sync());
done:
  return st;
}
