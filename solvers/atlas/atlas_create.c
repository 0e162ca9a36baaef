/* SPDX-License-Identifier: BSD-3-Clause */
/* An atlas before its first iteration: what is refused, the images' ranges, what all levels share. */
#include "solvers/atlas/atlas_impl.h"

#include <math.h>
#include <stdlib.h>

/* What brings an image to [0, 1]: its least value and the inverse of its range; 0 and 1 where it must lie there. */
static rb_status range_of(const float *image, int64_t n, int scaled, const char *name, int index, double *low,
                          double *scale) {
  rb_status st = RB_OK;
  float least = image[0], greatest = image[0];
  for (int64_t i = 0; i < n; i++) {
    RB_CHECK(isfinite(image[i]), RB_EINVAL, "%s %d: voxel %lld is not finite", name, index, (long long)i);
    least = fminf(least, image[i]), greatest = fmaxf(greatest, image[i]);
  }
  RB_CHECK(least < greatest, RB_EINVAL, "%s %d is constant: there is nothing to register", name, index);
  RB_CHECK(scaled || (least >= 0 && greatest <= 1), RB_EINVAL,
           "%s %d has values from %g to %g: unscaled images lie in [0, 1]", name, index, (double)least,
           (double)greatest);
  *low = scaled ? (double)least : 0, *scale = scaled ? 1 / ((double)greatest - (double)least) : 1;
done:
  return st;
}

/* One range for all images, the reference's included, over the team. */
static rb_status reduce_ranges(rb_atlas *a) {
  rb_status st = RB_OK;
  double own[2] = {INFINITY, -INFINITY}, *all = a->gathered;
  for (int k = 0; k <= a->own; k++) {
    const int last = k == a->own;
    if (last && !a->reference) break;
    const double low = last ? a->reference_low : a->member[k].low,
                 scale = last ? a->reference_scale : a->member[k].scale;
    own[0] = fmin(own[0], low), own[1] = fmax(own[1], low + 1 / scale); /* 1 / scale: the range */
  }
  RB_TRY(rb_team_gather(a->team, own, sizeof own, all));
  for (int k = 0; k < a->team->size && a->team->rank == 0; k++)
    own[0] = fmin(own[0], all[2 * k]), own[1] = fmax(own[1], all[2 * k + 1]);
  RB_TRY(rb_team_broadcast(a->team, own, sizeof own, 0)); /* rank 0 has the team's range */
  for (int k = 0; k < a->own; k++) a->member[k].low = own[0], a->member[k].scale = 1 / (own[1] - own[0]);
  a->reference_low = own[0], a->reference_scale = 1 / (own[1] - own[0]);
done:
  return st;
}

rb_status rb_atlas_check(const rb_variant *variant, const rb_atlas_options *o, rb_grid grid, int count) {
  const rb_atlas_config *c = variant->ops;
  const rb_variant *solver;
  rb_status st = RB_OK;
  RB_CHECK(count >= 1, RB_EINVAL, "an atlas needs images");
  RB_CHECK(count < 2048 || o->sum == RB_SUM_FLOAT, RB_EINVAL, "%d images: sums in fixed point end at 2047", count);
  RB_CHECK(!o->resume || (o->checkpoint && *o->checkpoint), RB_EINVAL,
           "to resume, name the folder of the checkpoints, too (--checkpoint)");
  RB_CHECK(o->concurrent >= 0 && o->concurrent <= RB_STREAMS, RB_EINVAL,
           "%d images concurrently; 1 to %d work, 0 chooses", o->concurrent, RB_STREAMS);
  RB_CHECK(o->slabs >= 0 && o->slabs <= RB_ATLAS_SLABS, RB_EINVAL, "%d slabs of the mean; 1 to %d work, 0 chooses",
           o->slabs, RB_ATLAS_SLABS);
  RB_CHECK(o->levels >= 1 && o->levels <= 8, RB_EINVAL, "%d levels; 1 to 8 work", o->levels);
  for (int a = 0; a < 3 && o->levels > 1; a++)
    RB_CHECK(grid.n[a] >> (o->levels - 1) >= 4, RB_EINVAL, "axis %d has %lld voxels: too few for %d levels", a + 1,
             (long long)grid.n[a], o->levels);
  RB_CHECK(o->gamma > 0 && o->alpha >= 0 && o->beta >= 0, RB_EINVAL,
           "alpha %g, beta %g, gamma %g: gamma must be positive, the others not negative", o->alpha, o->beta,
           o->gamma);
  RB_TRY(rb_variant_find(&rb_helmholtz_family, c->helmholtz, &solver));
  if (((const rb_helmholtz_ops *)solver->ops)->boundary == RB_HELMHOLTZ_PERIODIC) return RB_OK;
  RB_CHECK(o->beta == 0, RB_EUNSUPPORTED, "beta is %g; %s, with a border of zeros, neglects it and takes 0 only",
           o->beta, variant->name);
  for (int a = 0; a < 3; a++)
    RB_CHECK(grid.n[a] >> (o->levels - 1) > 2, RB_EUNSUPPORTED,
             "axis %d has %lld voxels: nothing lies within the border of zeros of %s", a + 1, (long long)grid.n[a],
             variant->name);
done:
  return st;
}

static rb_status check_team(const rb_atlas_options *o, int count, const float *reference, const rb_team *team) {
  rb_status st = RB_OK;
  RB_CHECK(count >= team->size, RB_EINVAL, "%d processes for %d images: a process needs one at least", team->size,
           count);
  RB_CHECK(team->size == 1 || reference || o->sum == RB_SUM_FIXED, RB_EINVAL,
           "several processes add the mean in fixed point only");
done:
  return st;
}

/* Relative to a cube of the voxel's volume. Voxels that are cubes are that whatever their size. */
static rb_status take_spacing(rb_atlas *a) {
  rb_status st = RB_OK;
  const double *s = a->options.spacing, edge = cbrt(s[0] * s[1] * s[2]);
  a->cubes = a->options.voxels == RB_VOXELS_CUBES;
  for (int k = 0; k < 3 && !a->cubes; k++)
    RB_CHECK(s[k] > 0 && isfinite(s[k]), RB_EINVAL, "the spacing of voxels along axis %d is %g; it must be positive",
             k + 1, s[k]);
  a->cubes |= s[0] == s[1] && s[1] == s[2];
  for (int k = 0; k < 3; k++) a->spacing[k] = a->cubes ? 1 : s[k] / edge;
done:
  return st;
}

static rb_status take_images(rb_atlas *a, const float *const *images) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(a->full);
  const int scaled = a->options.scale != RB_SCALE_NONE;
  int64_t first, end;
  rb_team_share(a->team, a->count, &first, &end); /* by rank alone */
  a->member = calloc((size_t)(end - first), sizeof *a->member);
  RB_CHECK(a->member, RB_ENOMEM, "host memory");
  a->own = (int)(end - first);
  for (int k = 0; k < a->own; k++) {
    rb_atlas_member *m = &a->member[k];
    m->index = (int)first + k, m->source = images[m->index];
    RB_CHECK(m->source, RB_EINVAL, "image %d was not read", m->index + 1);
    RB_TRY(range_of(m->source, n, scaled, "image", m->index + 1, &m->low, &m->scale));
  }
  if (a->reference) RB_TRY(range_of(a->reference, n, scaled, "reference", 1, &a->reference_low, &a->reference_scale));
done:
  return st;
}

rb_status rb_atlas_create(const rb_variant *variant, const rb_atlas_options *options, rb_grid grid, int count,
                          const float *const *images, const float *reference, const rb_team *team, rb_atlas **out) {
  rb_status st = RB_OK;
  const size_t n = (size_t)rb_grid_points(grid);
  rb_atlas *a = NULL;
  *out = NULL;
  RB_TRY(rb_variant_available(variant));
  RB_TRY(rb_atlas_check(variant, options, grid, count));
  RB_TRY(check_team(options, count, reference, team));
  a = calloc(1, sizeof *a);
  RB_CHECK(a, RB_ENOMEM, "host memory");
  a->variant = variant, a->config = variant->ops, a->options = *options;
  a->team = team, a->whole = a->full = a->grid = grid, a->count = count, a->reference = reference;
  RB_TRY(rb_variant_backend(variant, &a->backend));
  RB_TRY(take_spacing(a));
  /* From here on members may fail apart: they collect a status and agree on it, and no one waits for another in
   * vain. */
  RB_TRY(rb_team_agree(team, take_images(a, images)));
  RB_TRY(rb_atlas_clip(a));
  if (st == RB_OK) {
    a->room = malloc(3 * n * sizeof *a->room);
    a->differences = calloc((size_t)count, sizeof *a->differences);
    a->gathered = calloc(2 * (size_t)team->size, sizeof *a->gathered);
    if (!a->room || !a->differences || !a->gathered) st = RB_FAIL(RB_ENOMEM, "host memory");
  }
  if (st == RB_OK) st = rb_atlas_checkpoint_open(a);
  RB_TRY(rb_team_agree(team, st));
  RB_TRY(rb_atlas_choose_reduction(a)); /* of the box */
  if (options->scale == RB_SCALE_COHORT) RB_TRY(reduce_ranges(a));
  *out = a;
  a = NULL;
done:
  rb_atlas_destroy(a);
  return st;
}

void rb_atlas_destroy(rb_atlas *a) {
  if (!a) return;
  rb_atlas_level_end(a, 0);
  if (a->devices) a->backend->team->close(a->devices);
  for (int k = 0; k < a->own; k++) free(a->member[k].kept), free(a->member[k].cut);
  free(a->reference_cut);
  free(a->rows), free(a->packed), free(a->gathered), free(a->differences), free(a->sums), free(a->room),
      free(a->member);
  free(a);
}
