/* SPDX-License-Identifier: BSD-3-Clause */
/* Checkpoints of an atlas: the iteration under way of the level under way, so that another team, of any size, ends
 * with the same bits.
 *
 * FOLDER/0 and FOLDER/1 are two generations, FOLDER/current names the one that is whole. A generation holds `state`
 * (by rank 0) and a file an image (by its owner): its displacement, the velocity that sweeps begin from, its step.
 * What follows from these (warped images, the mean) is computed again. Every file has a checksum and is renamed into
 * place; only when all members have written theirs does `current` change. */
#include "datasets/sealed_file.h"
#include "kernels/base/clock.h"
#include "solvers/atlas/atlas_impl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Head of an image's file. It repeats which checkpoint it belongs to, so that a file of another generation beside it
 * is found out. */
typedef struct {
  char key[65], image[65];          /* sha256 of the problem, and of the image as it was given */
  int32_t index, level, iteration;  /* of the image among all; of the checkpoint */
  double step, longest, difference; /* as in rb_atlas_member */
} image_head;

/* What a checkpoint is of: whatever changes a bit of the result, but not who computes it. Numbers as hexadecimal
 * floating point (%a): exact. Images are not in it, as each has its own checksum; the size of the team and where
 * checkpoints lie are not either. The leading 1 is the format's number. */
static void make_key(rb_atlas *a) {
  const rb_atlas_options *o = &a->options;
  const rb_grid g = a->full;
  char text[768], voxels[96] = "", reference[65] = "none";
  if (!a->cubes) snprintf(voxels, sizeof voxels, " spacing %a %a %a", a->spacing[0], a->spacing[1], a->spacing[2]);
  if (a->reference) rb_sha256_data(a->reference, (size_t)rb_grid_points(g) * sizeof *a->reference, reference);
  snprintf(text, sizeof text,
           "atlas 1 %s %lldx%lldx%lld count %d alpha %a beta %a gamma %a step %a its %d %d levels %d sweeps %d %d "
           "omega %d halve %d sum %d scale %d reference %s%s",
           a->variant->name, (long long)g.n[0], (long long)g.n[1], (long long)g.n[2], a->count, o->alpha, o->beta,
           o->gamma, o->step, o->iterations, o->coarse_iterations, o->levels, o->first_sweeps, o->sweeps, o->omega,
           o->halve, o->sum, o->scale, reference, voxels);
  rb_sha256_data(text, strlen(text), a->key);
}

/* A folder that is there is fine: every member makes them. */
static rb_status make_folder(const char *path) {
  return mkdir(path, 0777) == 0 || errno == EEXIST
             ? RB_OK
             : RB_FAIL(RB_EIO, "cannot make the folder %s for checkpoints: %s", path, strerror(errno));
}

/* index: of an image, from 0 on, numbered from 1 in the file's name; below 0 the file is the generation's own. */
static void path_of(const rb_atlas *a, int generation, const char *what, int index, char out[4200]) {
  if (index < 0)
    snprintf(out, 4200, "%s/%d/%s", a->options.checkpoint, generation, what);
  else
    snprintf(out, 4200, "%s/%d/%s_%05d", a->options.checkpoint, generation, what, index + 1);
}

/* The number of the whole generation. RB_ENOTFOUND where nothing was ever saved. */
static rb_status read_current(const rb_atlas *a, int32_t *generation) {
  char path[4200];
  const rb_part part = {generation, sizeof *generation};
  snprintf(path, sizeof path, "%s/current", a->options.checkpoint);
  return rb_sealed_read(path, &part, 1);
}

/* Room for all rows that a solve can have, and for u and v of one image. A folder that holds a checkpoint is refused
 * without --resume, so that none is overwritten by mistake. Checksums of the own images are taken once. */
rb_status rb_atlas_checkpoint_open(rb_atlas *a) {
  rb_status st = RB_OK;
  const rb_atlas_options *o = &a->options;
  const int64_t n = rb_grid_points(a->full);
  int32_t there;
  a->generation = -1; /* none is whole */
  if (!o->checkpoint || !*o->checkpoint) return RB_OK;
  a->row_room = o->iterations + 1 + (o->levels - 1) * (o->coarse_iterations + 1);
  a->rows = calloc((size_t)a->row_room, sizeof *a->rows);
  a->packed = malloc(6 * (size_t)n * rb_atlas_value_size(a));
  RB_CHECK(a->rows && a->packed, RB_ENOMEM, "host memory");
  RB_TRY(make_folder(o->checkpoint));
  RB_CHECK(o->resume || read_current(a, &there) != RB_OK, RB_EINVAL,
           "%s holds a checkpoint: go on from it with --resume, or name another folder", o->checkpoint);
  rb_clear();
  for (int k = 0; k < 2; k++) {
    char path[4200];
    snprintf(path, sizeof path, "%s/%d", o->checkpoint, k);
    RB_TRY(make_folder(path));
  }
  make_key(a);
  for (int k = 0; k < a->own; k++)
    rb_sha256_data(a->member[k].source, (size_t)n * sizeof(float), a->member[k].sha256);
  a->saved = rb_now(); /* the clock begins with the set-up */
done:
  return st;
}

void rb_atlas_keep_row(rb_atlas *a, const rb_atlas_row *row) {
  if (a->row_count < a->row_room) a->rows[a->row_count++] = *row;
}

/* Asked of rank 0's clock only, and agreed on over the team: members save together. */
int rb_atlas_checkpoint_due(const rb_atlas *a) {
  return a->rows && rb_now() - a->saved >= 60 * a->options.checkpoint_minutes;
}

/* ---- write ------------------------------------------------------------------------------------------------ */

/* By the member that owns the image. u and v are stored in the variant's own type, so that they come back to the bit.
 * They are downloaded one image at a time through a->packed. */
static rb_status save_image(rb_atlas *a, rb_atlas_member *m, int generation, int level, int iteration) {
  rb_status st = RB_OK;
  char path[4200];
  const size_t bytes = 3 * (size_t)rb_grid_points(a->grid) * rb_atlas_value_size(a);
  image_head head = {.index = m->index,
                     .level = level,
                     .iteration = iteration,
                     .step = m->step,
                     .longest = m->longest,
                     .difference = m->difference};
  memcpy(head.key, a->key, sizeof head.key), memcpy(head.image, m->sha256, sizeof head.image);
  RB_TRY(rb_array_download(m->u, a->packed));
  if (m->v.data) RB_TRY(rb_array_download(m->v, a->packed + bytes));
  const rb_part parts[2] = {{&head, sizeof head}, {a->packed, m->v.data ? 2 * bytes : bytes}};
  path_of(a, generation, "image", m->index, path);
  RB_TRY(rb_sealed_write(path, parts, 2));
done:
  return st;
}

/* Rows are written with their whole room, so that the file's size is known before it is read. */
static rb_status save_state(rb_atlas *a, int generation, const rb_atlas_saved *s) {
  char path[4200];
  const rb_part parts[2] = {{(void *)s, sizeof *s}, {a->rows, (size_t)a->row_room * sizeof *a->rows}};
  path_of(a, generation, "state", -1, path);
  return rb_sealed_write(path, parts, 2);
}

static rb_status name_current(rb_atlas *a, int generation) {
  char path[4200];
  int32_t number = generation;
  const rb_part part = {&number, sizeof number};
  snprintf(path, sizeof path, "%s/current", a->options.checkpoint);
  return rb_sealed_write(path, &part, 1);
}

/* Into the generation that is not current, first the images and the state, then, once all members say that theirs are
 * whole, the name in `current`. A crash before that leaves the old generation in force; a->generation changes on all
 * members at once. The time it took is told apart from the iterations'. */
rb_status rb_atlas_save(rb_atlas *a, rb_atlas_saved *s) {
  rb_status st = RB_OK;
  const int next = a->generation == 0 ? 1 : 0; /* the one that is not current */
  const double begun = rb_now();
  memcpy(s->key, a->key, sizeof s->key);
  s->rows = a->row_count; /* of the solve so far */
  for (int k = 0; k < a->own && st == RB_OK; k++) st = save_image(a, &a->member[k], next, s->level, s->iteration);
  if (st == RB_OK && a->team->rank == 0) st = save_state(a, next, s);
  RB_TRY(rb_team_agree(a->team, st));
  RB_TRY(rb_team_agree(a->team, a->team->rank == 0 ? name_current(a, next) : RB_OK));
  a->generation = next, a->saved = rb_now(), a->saving += a->saved - begun;
done:
  return st;
}

/* ---- read ------------------------------------------------------------------------------------------------- */

/* By rank 0 alone. A file of another size, as with other numbers of iterations, or a damaged one is an error, not a
 * fresh start. */
static rb_status read_state(rb_atlas *a, rb_atlas_saved *s) {
  rb_status st = RB_OK;
  char path[4200];
  int32_t current;
  *s = (rb_atlas_saved){.generation = -1};
  st = read_current(a, &current);
  if (st == RB_ENOTFOUND) { /* nothing was saved: from the beginning */
    rb_clear();
    return RB_OK;
  }
  RB_TRY(st);
  const rb_part parts[2] = {{s, sizeof *s}, {a->rows, (size_t)a->row_room * sizeof *a->rows}};
  path_of(a, current, "state", -1, path);
  st = rb_sealed_read(path, parts, 2);
  RB_CHECK(st == RB_OK || st == RB_EIO, st, "%s; it cannot be resumed with these options, or at all", rb_message());
  RB_TRY(st);
  RB_CHECK(
      strcmp(s->key, a->key) == 0, RB_EINVAL,
      "the checkpoint in %s is of other options, another variant or grid, or another number of images; resume with "
      "those, or choose another folder",
      a->options.checkpoint);
  s->generation = current;
done:
  return st;
}

/* Rank 0 reads, all others get state and rows from it, so they begin at the same iteration whatever their own view of
 * the folder's files. */
rb_status rb_atlas_find_saved(rb_atlas *a, rb_atlas_saved *s) {
  rb_status st = RB_OK;
  *s = (rb_atlas_saved){.generation = -1};
  if (!a->rows || !a->options.resume) return RB_OK;
  RB_TRY(rb_team_agree(a->team, a->team->rank == 0 ? read_state(a, s) : RB_OK));
  RB_TRY(rb_team_broadcast(a->team, s, sizeof *s, 0));
  RB_TRY(rb_team_broadcast(a->team, a->rows, (size_t)a->row_room * sizeof *a->rows, 0));
  a->generation = s->generation, a->row_count = s->generation < 0 ? 0 : s->rows;
done:
  return st;
}

/* An image goes to whoever owns it now, which may be another member than the one that wrote it. The warped image
 * follows from u by the same kernel as before, to the same bits. */
static rb_status load_image(rb_atlas *a, rb_atlas_member *m, const rb_atlas_saved *s) {
  rb_status st = RB_OK;
  char path[4200];
  image_head head;
  const size_t bytes = 3 * (size_t)rb_grid_points(a->grid) * rb_atlas_value_size(a);
  const rb_part parts[2] = {{&head, sizeof head}, {a->packed, m->v.data ? 2 * bytes : bytes}};
  path_of(a, s->generation, "image", m->index, path);
  RB_TRY(rb_sealed_read(path, parts, 2));
  RB_CHECK(strcmp(head.key, a->key) == 0 && head.index == m->index && head.level == s->level &&
               head.iteration == s->iteration,
           RB_EFORMAT, "%s does not belong to the checkpoint beside it", path);
  RB_CHECK(strcmp(head.image, m->sha256) == 0, RB_EINVAL,
           "the checkpoint in %s is of another cohort: its image %d has another content", a->options.checkpoint,
           m->index + 1);
  RB_TRY(rb_array_upload(m->u, a->packed));
  if (m->v.data) RB_TRY(rb_array_upload(m->v, a->packed + bytes));
  RB_TRY(a->backend->sync()); /* the next image takes the same room */
  m->step = head.step, m->longest = head.longest, m->difference = head.difference; /* halving goes on from these */
  if (m->warped.data) RB_TRY(rb_compose_warp(a->work->compose, m->image, m->u, m->warped));
done:
  return st;
}

/* The level has begun: its arrays are there, and are overwritten. */
rb_status rb_atlas_load_images(rb_atlas *a, const rb_atlas_saved *s) {
  rb_status st = RB_OK;
  for (int k = 0; k < a->own && st == RB_OK; k++) st = load_image(a, &a->member[k], s);
  return rb_team_agree(a->team, st);
}
