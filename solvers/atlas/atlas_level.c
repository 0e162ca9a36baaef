/* SPDX-License-Identifier: BSD-3-Clause */
/* A level of an atlas: plans, arrays, and the mean over the team. */
#include "solvers/atlas/atlas_impl.h"
#include "solvers/common/field_variant.h"
#include "solvers/common/streams.h"

#include <stdlib.h>

size_t rb_atlas_value_size(const rb_atlas *a) { return rb_dtype_size(a->config->dtype); }

/* ---- plans and arrays ------------------------------------------------------------------------------------- */

/* Kernels and arrays of the level's grid. Lengths are voxels of the level, so the operator L = -alpha Laplacian -
 * beta grad div + gamma means another thing in mm on every level. omega of over-relaxation depends on the grid, too.
 */
static rb_status make_workspace(void *context, int k) {
  rb_status st = RB_OK;
  rb_atlas *a = context;
  rb_atlas_workspace *w = &a->work[k];
  const rb_atlas_config *c = a->config;
  const rb_atlas_options *o = &a->options;
  const int64_t n = rb_grid_points(a->grid);
  const double *s = a->spacing;
  const rb_l2force_desc force = {.grid = a->grid, .spacing = {s[0], s[1], s[2]}, .dtype = c->dtype};
  const rb_helmholtz_desc helmholtz = {.grid = a->grid,
                                       .spacing = {s[0], s[1], s[2]},
                                       .alpha = o->alpha,
                                       .beta = o->beta,
                                       .gamma = o->gamma,
                                       .border = 1,
                                       .dtype = c->dtype};
  const rb_compose_desc compose = {.grid = a->grid, .dtype = c->dtype};
  const rb_variant *v;
  RB_TRY(rb_variant_find(&rb_l2force_family, c->l2force, &v));
  RB_TRY(rb_l2force_create(v, &force, &w->force));
  RB_TRY(rb_variant_find(&rb_helmholtz_family, c->helmholtz, &v));
  RB_TRY(rb_helmholtz_create(v, &helmholtz, &w->helmholtz));
  a->omega = rb_helmholtz_omega(&helmholtz, o->omega);
  RB_TRY(rb_variant_find(&rb_compose_family, c->compose, &v));
  RB_TRY(rb_compose_create(v, &compose, &w->compose));
  if (!a->cubes)
    RB_TRY(rb_field_create(rb_field_variant(a->backend->kind), &(rb_field_desc){.count = n, .dtype = c->dtype},
                           &w->field));
  RB_TRY(rb_array_create(a->backend, c->dtype, 3 * n, &w->f));
  RB_TRY(rb_array_create(a->backend, c->dtype, 3 * n, &w->v));
  RB_TRY(rb_array_create(a->backend, c->dtype, 3 * n, &w->next));
done:
  return st;
}
static void drop_workspace(rb_atlas_workspace *w) {
  rb_array_destroy(&w->next), rb_array_destroy(&w->v), rb_array_destroy(&w->f);
  rb_field_destroy(w->field), rb_compose_destroy(w->compose), rb_helmholtz_destroy(w->helmholtz),
      rb_l2force_destroy(w->force);
  *w = (rb_atlas_workspace){0};
}

/* A plan belongs to the stream that it is made in. */
static rb_status make_workspaces(rb_atlas *a) {
  a->concurrent = rb_atlas_replays(a) ? rb_atlas_concurrent(a->config, &a->options, a->grid, a->own) : 1;
  return rb_in_streams(a->backend, a->concurrent, a->concurrent, make_workspace, a);
}

/* Of the grid at hand: the first value of a slab; behind the last one, of nothing more. */
static int64_t plane_of(const rb_atlas *a, int slab) { return a->grid.n[0] * slab / a->slabs; }
static int64_t first_of(const rb_atlas *a, int slab) { return plane_of(a, slab) * a->grid.n[1] * a->grid.n[2]; }
static rb_array slab_of(const rb_atlas *a, rb_array image, int slab) {
  return rb_array_part(image, first_of(a, slab), first_of(a, slab + 1) - first_of(a, slab));
}

/* Several slabs where devices add them and the last image can be warped by planes: recordings warp in the pass that
 * composes. All members agree: they have the same options, variant and grid. */
static int slabs_of(const rb_atlas *a) {
  const int64_t bytes = rb_grid_points(a->grid) * (int64_t)sizeof(int32_t), fit = bytes / RB_ATLAS_SLAB_BYTES;
  if (!a->devices || a->options.stream || rb_atlas_replays(a) || a->grid.n[0] < RB_ATLAS_SLABS ||
      !rb_compose_warps_planes(a->work->compose->variant))
    return 1;
  if (a->options.slabs) return a->options.slabs;
  return fit < 1 ? 1 : fit < RB_ATLAS_SLABS ? (int)fit : RB_ATLAS_SLABS;
}
static rb_status make_averages(rb_atlas *a) {
  rb_status st = RB_OK;
  const rb_variant *v;
  a->slabs = slabs_of(a);
  RB_TRY(rb_variant_find(&rb_average_family, a->config->average, &v));
  for (int k = 0; k < a->slabs; k++) {
    const rb_average_desc d = {
        .count = first_of(a, k + 1) - first_of(a, k), .kind = a->options.sum, .dtype = a->config->dtype};
    RB_TRY(rb_average_create(v, &d, &a->average[k]));
  }
done:
  return st;
}

/* Of the whole level. */
static rb_status make_plans(rb_atlas *a) {
  rb_status st = RB_OK;
  const rb_field_desc field = {.count = 3 * rb_grid_points(a->grid), .dtype = a->config->dtype};
  RB_TRY(make_workspaces(a));
  RB_TRY(make_averages(a));
  RB_TRY(rb_field_create(rb_field_variant(a->backend->kind), &field, &a->field));
done:
  return st;
}

/* Shared by all images: the mean. An image has its own copy, its warped copy and u; with sweeps also the velocity
 * that the next iteration's sweeps improve, 0 at the level's start. */
static rb_status make_arrays(rb_atlas *a) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(a->grid);
  const rb_dtype type = a->config->dtype;
  const int direct = rb_helmholtz_is_direct(a->work->helmholtz->variant); /* transforms: no start needed */
  RB_TRY(rb_array_create(a->backend, type, n, &a->mean));
  if (a->options.stream) RB_TRY(rb_atlas_stream_begin(a, !direct));
  for (int k = 0; k < a->own; k++) {
    rb_atlas_member *m = &a->member[k];
    if (a->options.stream) {
      RB_TRY(rb_atlas_stream_member(a, m, !direct));
      continue;
    }
    RB_TRY(rb_array_create(a->backend, type, n, &m->image));
    RB_TRY(rb_array_create(a->backend, type, n, &m->warped));
    RB_TRY(rb_array_create(a->backend, type, 3 * n, &m->u));
    if (!direct) {
      RB_TRY(rb_array_create(a->backend, type, 3 * n, &m->v));
      RB_TRY(rb_array_fill(m->v, 0));
    }
  }
done:
  return st;
}

/* In [0, 1], on the level's grid, to the backend. The range is the whole image's, taken before anything is blurred,
 * so it is the same on all levels. */
static rb_status put_image(rb_atlas *a, const float *source, double low, double scale, rb_array to) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(a->full), m = rb_grid_points(a->grid);
  float *scaled = a->room; /* [m] */
  if (m < n) {
    RB_TRY(rb_atlas_restrict(a->full, source, low, scale, a->grid, scaled));
  } else {
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++) scaled[i] = (float)(((double)source[i] - low) * scale);
  }
  RB_TRY(rb_array_put_floats(to, scaled));
done:
  return st;
}

/* u of the level before is carried on, its lengths in the new voxels, and the image warped by it; on the first level
 * u = 0 and the warped image is the image itself, without interpolation. `before` is the grid that m->kept is on. */
static rb_status put_member(rb_atlas *a, rb_atlas_member *m, rb_grid before) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(a->grid);
  RB_TRY(put_image(a, m->source, m->low, m->scale, m->image));
  if (m->kept) {
    RB_TRY(rb_atlas_prolong(before, m->kept, a->grid, a->room));
    RB_TRY(rb_array_put_floats(m->u, a->room));
    if (m->warped.data) RB_TRY(rb_compose_warp(a->work->compose, m->image, m->u, m->warped)); /* D = I o (id + u) */
  } else {
    RB_TRY(rb_array_fill(m->u, 0));
    if (m->warped.data) RB_TRY(rb_field_combine(a->field, n, 1, m->image, 0, rb_array_none(), 0, m->warped));
  }
  free(m->kept);
  m->kept = NULL;
done:
  return st;
}

/* A failure leaves what was made; the next rb_atlas_level_end or rb_atlas_destroy gives it back. With a reference the
 * mean is the reference, once. */
rb_status rb_atlas_level_begin(rb_atlas *a, int factor) {
  rb_status st = RB_OK;
  const rb_grid before = a->grid; /* the coarser level's, where there was one */
  a->grid = rb_atlas_coarse_grid(a->full, factor);
  RB_TRY(make_plans(a));
  RB_TRY(make_arrays(a));
  for (int k = 0; k < a->own; k++) RB_TRY(put_member(a, &a->member[k], before));
  if (a->reference) RB_TRY(put_image(a, a->reference, a->reference_low, a->reference_scale, a->mean));
done:
  return st;
}

/* Takes a level that was never begun, or not to its end. Everything is given back even where u of an image cannot be
 * kept: the first failure is returned. */
rb_status rb_atlas_level_end(rb_atlas *a, int keep) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(a->grid);
  rb_atlas_replay_end(a);
  if (a->options.stream) (void)a->backend->sync(); /* a pass that failed may have left copies under way */
  for (int k = 0; k < a->own; k++) {
    rb_atlas_member *m = &a->member[k];
    free(m->kept);
    m->kept = NULL, m->longest = 0; /* no step is chosen on the next level yet */
    if (keep && st == RB_OK) {
      m->kept = malloc(3 * (size_t)n * sizeof *m->kept);
      st = m->kept ? rb_array_get_floats(m->u, m->kept) : RB_FAIL(RB_ENOMEM, "host memory");
    }
    if (a->options.stream) rb_atlas_stream_drop(a, m);
    rb_array_destroy(&m->image), rb_array_destroy(&m->warped), rb_array_destroy(&m->u), rb_array_destroy(&m->v);
  }
  rb_atlas_stream_end(a);
  rb_array_destroy(&a->mean);
  rb_field_destroy(a->field);
  a->field = NULL;
  for (int k = 0; k < RB_ATLAS_SLABS; k++) {
    rb_average_destroy(a->average[k]);
    a->average[k] = NULL;
  }
  for (int k = 0; k < RB_STREAMS; k++) drop_workspace(&a->work[k]);
  return st;
}

/* ---- the mean --------------------------------------------------------------------------------------------- */

/* Where the team adds the mean: `sums` on the host, or `devices`. All members together. */
rb_status rb_atlas_choose_reduction(rb_atlas *a) {
  rb_status st = RB_OK;
  const rb_atlas_reduce asked = a->options.reduce;
  const int shared = a->team->size > 1 && !a->reference, devices = a->backend->team != NULL;
  RB_CHECK(devices || asked != RB_REDUCE_DEVICES, RB_EUNSUPPORTED, "%s has no devices that could add the mean",
           a->variant->name);
  if (!shared) return RB_OK;
  if (devices && asked != RB_REDUCE_HOSTS) {
    st = a->backend->team->open(a->team, &a->devices);
    if (st == RB_OK || asked == RB_REDUCE_DEVICES || st != RB_EUNSUPPORTED) return st;
    rb_clear(); /* no NCCL, or a device for two: the hosts do it */
    st = RB_OK;
  }
  a->sums = malloc((size_t)rb_grid_points(a->full) * sizeof *a->sums);
  RB_TRY(rb_team_agree(a->team, a->sums ? RB_OK : RB_FAIL(RB_ENOMEM, "host memory")));
done:
  return st;
}

/* Of this member's first `count` images, intensities in [0, 1] as whole numbers, 2^20 a unit. */
static rb_status own_sums(rb_atlas *a, int count) {
  rb_status st = RB_OK;
  for (int s = 0; s < a->slabs; s++) {
    RB_TRY(rb_average_clear(a->average[s]));
    for (int k = 0; k < count; k++) RB_TRY(rb_average_add(a->average[s], 1, slab_of(a, a->member[k].warped, s)));
  }
done:
  return st;
}
/* Every member divides the same sums by the number of all images: all end with the same bits of the mean. */
static rb_status mean_of_sums(rb_atlas *a) {
  rb_status st = RB_OK;
  if (a->sums)
    RB_TRY(a->backend->upload(rb_average_sums(a->average[0]), a->sums, rb_average_sum_bytes(&a->average[0]->desc)));
  for (int s = 0; s < a->slabs; s++) /* count: of the whole team */
    RB_TRY(rb_average_finish(a->average[s], a->count, slab_of(a, a->mean, s)));
done:
  return st;
}
static rb_status sum_slab(rb_atlas *a, int s) {
  return a->backend->team->sum_whole(a->devices, rb_average_sums(a->average[s]), a->average[s]->desc.count);
}

rb_status rb_atlas_issue_mean(rb_atlas *a, rb_status own) {
  rb_status st = own;
  if (a->reference) return st;
  if (st == RB_OK) st = own_sums(a, a->own);
  for (int s = 0; s < a->slabs && a->devices; s++) {
    const rb_status summed = sum_slab(a, s);
    if (st == RB_OK) st = summed;
  }
  return st == RB_OK ? mean_of_sums(a) : st;
}

/* Sums of whole numbers do not depend on the order of images or of members, so the mean has the same bits for any
 * number of processes. Between devices they are added where they lie, in the order of the stream; else they pass
 * through the host, one field of 32-bit numbers each way. */
rb_status rb_atlas_update_mean(rb_atlas *a) {
  return a->reference ? RB_OK : rb_atlas_reduce_mean(a, own_sums(a, a->own));
}
rb_status rb_atlas_reduce_mean(rb_atlas *a, rb_status own) {
  rb_status st = own;
  const int64_t n = rb_grid_points(a->grid);
  if (st == RB_OK && a->sums && !a->reference)
    st = a->backend->download(a->sums, rb_average_sums(a->average[0]), rb_average_sum_bytes(&a->average[0]->desc));
  RB_TRY(rb_team_agree(a->team, st)); /* nobody waits in the sum for one that has failed */
  if (a->reference) return RB_OK;
  if (a->sums) RB_TRY(rb_team_sum_whole(a->team, a->sums, n));
  for (int s = 0; s < a->slabs && a->devices && st == RB_OK; s++) st = sum_slab(a, s);
  if (st == RB_OK) st = mean_of_sums(a);
  RB_TRY(rb_team_agree(a->team, st));
done:
  return st;
}

/* A slab of the last image, warped if it moved, into the sums. */
static rb_status add_slab(rb_atlas *a, int s) {
  rb_status st = RB_OK;
  const rb_atlas_member *m = &a->member[a->own - 1];
  if (m->step > 0)
    RB_TRY(rb_compose_warp_planes(a->work->compose, m->image, m->u, plane_of(a, s), plane_of(a, s + 1), m->warped));
  RB_TRY(rb_average_add(a->average[s], 1, slab_of(a, m->warped, s)));
done:
  return st;
}
/* Two streams, which wait for each other before the next slab: one adds slab s over the team, the other prepares the
 * next. Every member enters every sum, also after a failure: none is left waiting. */
rb_status rb_atlas_update_mean_behind(rb_atlas *a) {
  rb_status st = own_sums(a, a->own - 1);
  if (st == RB_OK) st = add_slab(a, 0);
  RB_TRY(rb_team_agree(a->team, st));
  for (int s = 0; s < a->slabs; s++) {
    const rb_status forked = rb_fork(a->backend, 2, 0);
    if (forked == RB_OK) rb_choose_stream(a->backend, 1);
    const rb_status summed = sum_slab(a, s);
    if (forked == RB_OK) rb_choose_stream(a->backend, 0);
    if (st == RB_OK && s + 1 < a->slabs) st = add_slab(a, s + 1);
    const rb_status joined = forked == RB_OK ? rb_join(a->backend) : forked;
    if (st == RB_OK) st = summed != RB_OK ? summed : joined;
  }
  if (st == RB_OK) st = mean_of_sums(a);
  RB_TRY(rb_team_agree(a->team, st));
done:
  return st;
}
