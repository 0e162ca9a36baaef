/* SPDX-License-Identifier: BSD-3-Clause */
/* A level of an atlas: plans, arrays, and the mean over the team. */
#include "solvers/atlas/atlas_impl.h"
#include "solvers/common/field_variant.h"

#include <stdlib.h>

size_t rb_atlas_value_size(const rb_atlas *a) { return rb_dtype_size(a->config->dtype); }

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
  const int64_t n = rb_grid_points(a->grid);
  const rb_dtype type = a->config->dtype;
  const int direct = rb_helmholtz_is_direct(a->helmholtz->variant);
  RB_TRY(rb_array_create(a->backend, type, n, &a->mean));
  RB_TRY(rb_array_create(a->backend, type, 3 * n, &a->f));
  RB_TRY(rb_array_create(a->backend, type, 3 * n, &a->v));
  RB_TRY(rb_array_create(a->backend, type, 3 * n, &a->next));
  for (int k = 0; k < a->own; k++) {
    rb_atlas_member *m = &a->member[k];
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

/* In [0, 1], on the level's grid, to the backend. */
static rb_status put_image(rb_atlas *a, const float *source, double low, double scale, rb_array to) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(a->full), m = rb_grid_points(a->grid);
  float *whole = a->room, *coarse = a->room + n;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++) whole[i] = (float)(((double)source[i] - low) * scale);
  if (m < n) RB_TRY(rb_atlas_restrict(a->full, whole, a->grid, coarse));
  RB_TRY(rb_array_put_floats(to, m < n ? coarse : whole));
done:
  return st;
}

static rb_status put_member(rb_atlas *a, rb_atlas_member *m, rb_grid before) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(a->grid);
  RB_TRY(put_image(a, m->source, m->low, m->scale, m->image));
  if (m->kept) {
    RB_TRY(rb_atlas_prolong(before, m->kept, a->grid, a->room));
    RB_TRY(rb_array_put_floats(m->u, a->room));
    RB_TRY(rb_compose_warp(a->compose, m->image, m->u, m->warped));
  } else {
    RB_TRY(rb_array_fill(m->u, 0));
    RB_TRY(rb_field_combine(a->field, n, 1, m->image, 0, rb_array_none(), 0, m->warped));
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
      st = m->kept ? rb_array_get_floats(m->u, m->kept) : RB_FAIL(RB_ENOMEM, "host memory");
    }
    rb_array_destroy(&m->image), rb_array_destroy(&m->warped), rb_array_destroy(&m->u), rb_array_destroy(&m->v);
  }
  rb_array_destroy(&a->next), rb_array_destroy(&a->v), rb_array_destroy(&a->f), rb_array_destroy(&a->mean);
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
