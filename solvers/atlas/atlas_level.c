/* SPDX-License-Identifier: BSD-3-Clause */
/* A level of an atlas: plans, arrays, and the mean over the team. */
#include "solvers/atlas/atlas_impl.h"
#include "solvers/common/field_variant.h"

#include <stdlib.h>

size_t rb_atlas_value_size(const rb_atlas *a) { return rb_dtype_size(a->config->dtype); }

rb_status rb_atlas_upload(const rb_atlas *a, const float *host, int64_t count, void *to) {
  rb_status st = RB_OK;
  double *wide = NULL;
  if (a->config->dtype == RB_F64) {
    wide = malloc((size_t)count * sizeof *wide);
    RB_CHECK(wide, RB_ENOMEM, "host memory");
    for (int64_t i = 0; i < count; i++) wide[i] = (double)host[i];
  }
  RB_TRY(a->backend->upload(to, wide ? (const void *)wide : host, (size_t)count * rb_atlas_value_size(a)));
done:
  free(wide);
  return st;
}

rb_status rb_atlas_download(const rb_atlas *a, const void *from, int64_t count, float *host) {
  rb_status st = RB_OK;
  double *wide = NULL;
  if (a->config->dtype == RB_F64) {
    wide = malloc((size_t)count * sizeof *wide);
    RB_CHECK(wide, RB_ENOMEM, "host memory");
  }
  RB_TRY(a->backend->download(wide ? (void *)wide : host, from, (size_t)count * rb_atlas_value_size(a)));
  for (int64_t i = 0; i < count && wide; i++) host[i] = (float)wide[i];
done:
  free(wide);
  return st;
}

/* ---- plans and arrays ------------------------------------------------------------------------------------- */

static rb_status make_plans(rb_atlas *a) {
  rb_status st = RB_OK;
  const rb_atlas_config *c = a->config;
  const rb_atlas_options *o = &a->options;
  const rb_l2force_desc force = {.grid = a->grid, .spacing = {1, 1, 1}, .dtype = c->dtype};
  const rb_helmholtz_desc helmholtz = {.grid = a->grid,
                                       .spacing = {1, 1, 1},
                                       .alpha = o->alpha,
                                       .beta = o->beta,
                                       .gamma = o->gamma,
                                       .border = 1,
                                       .dtype = c->dtype};
  const rb_compose_desc compose = {.grid = a->grid, .dtype = c->dtype};
  const rb_average_desc average = {.count = rb_grid_points(a->grid), .kind = o->sum, .dtype = c->dtype};
  const rb_field_desc field = {.count = 3 * rb_grid_points(a->grid), .dtype = c->dtype};
  const rb_variant *v;
  RB_TRY(rb_variant_find(&rb_l2force_family, c->l2force, &v));
  RB_TRY(rb_l2force_create(v, &force, &a->force));
  RB_TRY(rb_variant_find(&rb_helmholtz_family, c->helmholtz, &v));
  RB_TRY(rb_helmholtz_create(v, &helmholtz, &a->helmholtz));
  a->omega = rb_helmholtz_omega(&helmholtz, o->omega);
  RB_TRY(rb_variant_find(&rb_compose_family, c->compose, &v));
  RB_TRY(rb_compose_create(v, &compose, &a->compose));
  RB_TRY(rb_variant_find(&rb_average_family, c->average, &v));
  RB_TRY(rb_average_create(v, &average, &a->average));
  RB_TRY(rb_field_create(rb_field_variant(a->backend->kind), &field, &a->field));
done:
  return st;
}

static rb_status make_arrays(rb_atlas *a) {
  rb_status st = RB_OK;
  const size_t one = (size_t)rb_grid_points(a->grid) * rb_atlas_value_size(a);
  const int direct = rb_helmholtz_is_direct(a->helmholtz->variant);
  RB_TRY(rb_alloc(a->backend, one, &a->mean));
  RB_TRY(rb_alloc(a->backend, 3 * one, &a->f));
  RB_TRY(rb_alloc(a->backend, 3 * one, &a->v));
  RB_TRY(rb_alloc(a->backend, 3 * one, &a->next));
  for (int k = 0; k < a->own; k++) {
    rb_atlas_member *m = &a->member[k];
    RB_TRY(rb_alloc(a->backend, one, &m->image));
    RB_TRY(rb_alloc(a->backend, one, &m->warped));
    RB_TRY(rb_alloc(a->backend, 3 * one, &m->u));
    if (!direct) {
      RB_TRY(rb_alloc(a->backend, 3 * one, &m->v));
      RB_TRY(a->backend->fill(m->v, 0, 3 * one));
    }
  }
done:
  return st;
}

/* In [0, 1], on the level's grid, to the backend. */
static rb_status put_image(rb_atlas *a, const float *source, double low, double scale, void *to) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(a->full), m = rb_grid_points(a->grid);
  float *whole = a->room, *coarse = a->room + n;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++) whole[i] = (float)(((double)source[i] - low) * scale);
  if (m < n) RB_TRY(rb_atlas_restrict(a->full, whole, a->grid, coarse));
  RB_TRY(rb_atlas_upload(a, m < n ? coarse : whole, m, to));
done:
  return st;
}

static rb_status put_member(rb_atlas *a, rb_atlas_member *m, rb_grid before) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(a->grid);
  RB_TRY(put_image(a, m->source, m->low, m->scale, m->image));
  if (m->kept) {
    RB_TRY(rb_atlas_prolong(before, m->kept, a->grid, a->room));
    RB_TRY(rb_atlas_upload(a, a->room, 3 * n, m->u));
    RB_TRY(rb_compose_warp(a->compose, m->image, m->u, m->warped));
  } else {
    RB_TRY(a->backend->fill(m->u, 0, 3 * (size_t)n * rb_atlas_value_size(a)));
    RB_TRY(rb_field_combine(a->field, n, 1, m->image, 0, NULL, 0, m->warped));
  }
  free(m->kept);
  m->kept = NULL;
done:
  return st;
}

rb_status rb_atlas_level_begin(rb_atlas *a, int factor) {
  rb_status st = RB_OK;
  const rb_grid before = a->grid;
  a->grid = rb_atlas_coarse_grid(a->full, factor);
  RB_TRY(make_plans(a));
  RB_TRY(make_arrays(a));
  for (int k = 0; k < a->own; k++) RB_TRY(put_member(a, &a->member[k], before));
  if (a->reference) RB_TRY(put_image(a, a->reference, a->reference_low, a->reference_scale, a->mean));
done:
  return st;
}

rb_status rb_atlas_level_end(rb_atlas *a, int keep) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(a->grid);
  for (int k = 0; k < a->own; k++) {
    rb_atlas_member *m = &a->member[k];
    free(m->kept);
    m->kept = NULL, m->longest = 0;
    if (keep && st == RB_OK) {
      m->kept = malloc(3 * (size_t)n * sizeof *m->kept);
      st = m->kept ? rb_atlas_download(a, m->u, 3 * n, m->kept) : RB_FAIL(RB_ENOMEM, "host memory");
    }
    rb_release(a->backend, m->image), rb_release(a->backend, m->warped);
    rb_release(a->backend, m->u), rb_release(a->backend, m->v);
    m->image = m->warped = m->u = m->v = NULL;
  }
  rb_release(a->backend, a->next), rb_release(a->backend, a->v), rb_release(a->backend, a->f);
  rb_release(a->backend, a->mean);
  a->mean = a->f = a->v = a->next = NULL;
  rb_field_destroy(a->field), rb_average_destroy(a->average), rb_compose_destroy(a->compose);
  rb_helmholtz_destroy(a->helmholtz), rb_l2force_destroy(a->force);
  a->field = NULL, a->average = NULL, a->compose = NULL, a->helmholtz = NULL, a->force = NULL;
  return st;
}

/* ---- the mean --------------------------------------------------------------------------------------------- */

/* Of this member's images; on the host where a team adds them. */
static rb_status own_sums(rb_atlas *a) {
  rb_status st = RB_OK;
  RB_TRY(rb_average_clear(a->average));
  for (int k = 0; k < a->own; k++) RB_TRY(rb_average_add(a->average, 1, a->member[k].warped));
  if (a->sums)
    RB_TRY(a->backend->download(a->sums, rb_average_sums(a->average), rb_average_sum_bytes(&a->average->desc)));
done:
  return st;
}
static rb_status mean_of_sums(rb_atlas *a) {
  rb_status st = RB_OK;
  if (a->sums)
    RB_TRY(a->backend->upload(rb_average_sums(a->average), a->sums, rb_average_sum_bytes(&a->average->desc)));
  RB_TRY(rb_average_finish(a->average, a->count, a->mean));
done:
  return st;
}

rb_status rb_atlas_update_mean(rb_atlas *a) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(a->grid);
  if (a->reference) return RB_OK;
  RB_TRY(rb_team_agree(a->team, own_sums(a))); /* nobody waits in the sum for one that has failed */
  if (a->sums) RB_TRY(rb_team_sum_whole(a->team, a->sums, n));
  RB_TRY(rb_team_agree(a->team, mean_of_sums(a)));
done:
  return st;
}
