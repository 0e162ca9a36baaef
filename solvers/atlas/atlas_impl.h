/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of solvers/atlas share. */
#ifndef RB_ATLAS_IMPL_H
#define RB_ATLAS_IMPL_H

#include "kernels/base/device_team.h"
#include "kernels/compose/compose.h"
#include "kernels/field/field.h"
#include "kernels/l2force/l2force.h"
#include "kernels/steps/steps.h"
#include "solvers/atlas/atlas.h"
#include "solvers/common/parts.h"

/* An image of this member's share. Arrays on the backend, of the level under way. */
typedef struct {
  int index;              /* among all images */
  const float *source;    /* [full n], the caller's or cut */
  float *cut;             /* owned, or NULL */
  char sha256[65];        /* of source, with checkpoints */
  double low, scale;      /* (value - low) scale lies in [0, 1] */
  rb_array image, warped; /* [n] */
  rb_array u, v;          /* [3][n]; v: where sweeps begin, no array for direct solves */
  rb_array at_host;       /* with options.stream: image, u and v are parts of this, on the host */
  int pinned;             /* it is */
  float *kept;            /* u of the level before, on the host, or NULL */
  double step;            /* e_i */
  double longest;         /* e_i max |v_i| when the level began, voxels */
  double difference;      /* |mean - D_i|^2 of the iteration before */
} rb_atlas_member;

/* What an image needs while it is moved. Images that are moved concurrently, in streams of the backend, have one
 * each. */
typedef struct {
  rb_l2force_plan *force;
  rb_helmholtz_plan *helmholtz;
  rb_compose_plan *compose;
  rb_field_plan *field; /* scales velocities to voxels; NULL where these are cubes */
  rb_array f, v, next;  /* [3][n]: force, then displacement of the step; velocity; u to come */
} rb_atlas_workspace;

/* Parts of the mean, planes of axis 1, which devices add one behind the other. SLAB_BYTES: of the sums of one, at the
 * least; a smaller one's sum and launches take longer than the warp that it hides. */
enum { RB_ATLAS_SLABS = 4, RB_ATLAS_SLAB_BYTES = 16 << 20 };

/* For images that stay on the host: one is uploaded, one is worked on, one is downloaded. */
enum { RB_BUFFERS = 3 };

struct rb_atlas {
  const rb_variant *variant;
  const rb_atlas_config *config;
  rb_atlas_options options;
  const rb_backend *backend;
  const rb_team *team;
  rb_grid whole;      /* of the caller's images */
  int64_t first[3];   /* the box that is worked on: its first voxel in them */
  rb_grid full, grid; /* of the box; of the level under way */
  double spacing[3];  /* of voxels, over a cube's of that volume; 1 where they are taken for cubes */
  int cubes;          /* they are 1 */
  int count, own;     /* images of the team, and of this member */
  rb_atlas_member *member;
  const float *reference;
  float *reference_cut; /* owned, or NULL */
  double reference_low, reference_scale;

  /* of the level under way */
  rb_atlas_workspace work[RB_STREAMS]; /* the first also for what is not concurrent */
  int concurrent;
  rb_average_plan *average[RB_ATLAS_SLABS]; /* of a slab each */
  int slabs;
  rb_field_plan *field;
  rb_array mean; /* [n] */
  double omega;
  struct rb_atlas_replays *replays; /* iterations without the host, or NULL */
  rb_atlas_member
      buffers[RB_BUFFERS]; /* with options.stream: arrays of an image on the backend; warped in the first */
  float *room;             /* [3][full n] on the host */
  int32_t *sums;           /* [full n] on the host where a team adds the mean there, else NULL */
  rb_device_team *devices; /* where it adds the mean on its devices, else NULL */
  double *gathered;        /* [2 members] */
  double *differences;     /* [count] */
  rb_parts parts;          /* with a profile */
  int profile;
  int halvings; /* of this member's images, so far */
  rb_atlas_result *result;

  /* with checkpoints, else 0 and NULL */
  char key[65];       /* of the problem: sha256 */
  rb_atlas_row *rows; /* [row_room]: of the solve so far */
  int row_room, row_count;
  char *packed;   /* [6][full n] values on the host */
  int generation; /* the one that is whole: 0 or 1; -1: none */
  double saved;   /* when, on rb_now's clock */
  double saving;  /* seconds spent on it on this level */
  double started; /* when this level's iterations began */
};

/* A checkpoint's state: at the beginning of that iteration, its differences measured. */
typedef struct {
  char key[65];
  int32_t generation, level, iteration, iterations, halvings, moved, rows;
  double variance_before, seconds, setup_seconds;
} rb_atlas_saved;

/* Folders and checksums, once the images are known. Nothing without checkpoints. */
rb_status rb_atlas_checkpoint_open(rb_atlas *a);
void rb_atlas_keep_row(rb_atlas *a, const rb_atlas_row *row);
/* Whether this member's clock asks for a checkpoint. */
int rb_atlas_checkpoint_due(const rb_atlas *a);
/* All members together. After a failure the checkpoint before stands. */
rb_status rb_atlas_save(rb_atlas *a, rb_atlas_saved *s);
/* generation -1: there is none to resume from. RB_EINVAL: of another problem; RB_EFORMAT: damaged. */
rb_status rb_atlas_find_saved(rb_atlas *a, rb_atlas_saved *s);
/* Displacements, velocities and steps of the own images, on the level that has begun. */
rb_status rb_atlas_load_images(rb_atlas *a, const rb_atlas_saved *s);

/* What is wrong with options and grid, whatever the images and the team. */
rb_status rb_atlas_check(const rb_variant *variant, const rb_atlas_options *o, rb_grid grid, int count);
size_t rb_atlas_value_size(const rb_atlas *a);

/* Images that stay on the host (atlas_stream.c). rb_atlas_stream_load: `here` is the member with its arrays on the
 * backend and the warped image made; valid until the next load. */
rb_status rb_atlas_stream_member(rb_atlas *a, rb_atlas_member *m, int sweeps);
void rb_atlas_stream_drop(rb_atlas *a, rb_atlas_member *m);
rb_status rb_atlas_stream_begin(rb_atlas *a, int sweeps);
void rb_atlas_stream_end(rb_atlas *a);
rb_status rb_atlas_stream_load(rb_atlas *a, const rb_atlas_member *m, rb_atlas_member *here);
/* Visits all own images, adding each to the sums of the next mean, as it is warped then: ADD alone; MEASURE: against
 * the mean first; MOVE: then moved. UNMOVED: with u = 0 in place of their displacements, which stay. */
typedef enum {
  RB_VISIT_ADD,
  RB_VISIT_MEASURE,
  RB_VISIT_MOVE,
  RB_VISIT_UNMOVED_ADD,
  RB_VISIT_UNMOVED_MEASURE
} rb_atlas_visit;
rb_status rb_atlas_stream_pass(rb_atlas *a, rb_atlas_visit what, int first);
/* |mean - D|^2 of an image, to a->differences; its step is halved where that rose. first: of its level. */
rb_status rb_atlas_measure_image(rb_atlas *a, rb_atlas_member *m, int first);
/* An iteration of one image, the mean standing still; displace: without the warp at its end. */
rb_status rb_atlas_move_image(rb_atlas *a, rb_atlas_member *m, int first);
rb_status rb_atlas_displace_image(rb_atlas *a, rb_atlas_member *m, int first);

/* Plans and arrays of the grid at `factor`, images and displacements on it, the mean. */
rb_status rb_atlas_level_begin(rb_atlas *a, int factor);
/* Gives them back; `keep`: the displacements go to the host for the next level. */
rb_status rb_atlas_level_end(rb_atlas *a, int keep);
/* Where the team adds the mean: `sums` on the host, or `devices`. All members together. */
rb_status rb_atlas_choose_reduction(rb_atlas *a);
/* The mean of all warped images, over the team, whose members end with the same status; nothing where there is a
 * reference. */
rb_status rb_atlas_update_mean(rb_atlas *a);
/* The same, slab by slab behind the last image's warp, whose displacement is there: while the team's devices add a
 * slab the next one is warped. With a->slabs > 1. */
rb_status rb_atlas_update_mean_behind(rb_atlas *a);
/* The same from the own sums, which are there. `own`: how making them went, on this member. */
rb_status rb_atlas_reduce_mean(rb_atlas *a, rb_status own);
/* What update_mean issues, without a word to the others: for recordings. Every member enters every sum of the
 * devices, whatever its own status so far, which is returned where it is a failure. */
rb_status rb_atlas_issue_mean(rb_atlas *a, rb_status own);
/* With options.clip: the images' box in place of the whole grid, agreed on by the team. */
rb_status rb_atlas_clip(rb_atlas *a);
/* part [full n] to out [whole n], `beyond` around it. The same place: only where nothing is cut off. */
void rb_atlas_unclip(const rb_atlas *a, float beyond, const float *part, float *out);
/* The velocity of the force in w->f as L has it: w->v, or the image's own, which sweeps improve. first: of its
 * level. */
rb_status rb_atlas_solve_velocity(rb_atlas *a, rb_atlas_workspace *w, rb_atlas_member *m, int first, rb_array *out);
/* The same in voxels. */
rb_status rb_atlas_velocity(rb_atlas *a, rb_atlas_workspace *w, rb_atlas_member *m, int first, rb_array *out);
/* Whether iterations behind a level's first are issued as recordings, their steps halved on the backend: where the
 * variant says so, without a profile; in a team where devices add the mean. */
int rb_atlas_replays(const rb_atlas *a);
/* How many of `own` images are moved concurrently: 1 where iterations are not recorded. */
int rb_atlas_concurrent(const rb_atlas_config *c, const rb_atlas_options *o, rb_grid grid, int own);
/* Some iterations, `most` at the most, from measured differences and chosen steps; waits for them. *made: how many,
 * the same for all members. Then rb_atlas_replay_row(0 .. made - 1), in this order, takes what came of each: all
 * images' differences, the own ones' steps, and *halvings grows by the team's. RB_EINVALID, on all members: a
 * difference is no finite number. */
rb_status rb_atlas_replay(rb_atlas *a, int most, int *made);
rb_status rb_atlas_replay_row(rb_atlas *a, int row, int *halvings);
/* Of a level that ends. */
void rb_atlas_replay_end(rb_atlas *a);
/* The member that holds an image, or RB_EINVAL. */
rb_status rb_atlas_member_of(rb_atlas *a, int image, rb_atlas_member **out);

#endif
