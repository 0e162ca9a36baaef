/* SPDX-License-Identifier: BSD-3-Clause */
/* Pairs of images to register: template, reference, and labels of both where there are any. */
#ifndef RB_PAIRS_H
#define RB_PAIRS_H

#include "datasets/resample.h"
#include "datasets/volume.h"
#include "datasets/world.h"

typedef struct {
  rb_grid grid;
  float *image[2], *labels[2]; /* [0] template, [1] reference; labels NULL when absent */
  rb_volume like;              /* the reference's geometry, where it came from a file */
  char file[2][128], sha256[2][65];
  rb_affine to_template;       /* takes points of the reference's world to the template's, before any displacement */
  int in_world;                /* the template was placed by its affine; else it lies where the reference lies */
  float least[2];              /* below 0: what the image was raised by */
  rb_volume files[2], maps[2]; /* with `keep`: images and label maps as the files have them */
} rb_pair;

enum { RB_TEMPLATE, RB_REFERENCE };

/* `name`: a pair of a data set's manifest (na02: to na01 of nirep); a data set: its image and itself under a known
 * flow; phantom: a head and itself under that flow. RB_ENOTFOUND: the data set is absent. */
rb_status rb_pair_load(const char *name, rb_resampling how, rb_grid grid, rb_pair *out);
/* RB_IN_WORLD: the template and its labels come onto the reference's lattice through both files' affines first, where
 * both declare one; RB_EINVAL when they hold less than a tenth of it. RB_AS_THEY_LIE: what stands at one index lies
 * at one place. */
typedef enum { RB_AS_THEY_LIE, RB_IN_WORLD } rb_placing;
typedef struct {
  const char *images[2], *labels[2]; /* labels: each may be NULL */
  rb_placing placing;
  rb_resampling how;
  rb_grid grid;            /* {0}: the reference's, which as they lie must be the template's, too */
  double voxel[3];         /* without a grid: mm along the reference's x, y, z axes, about; 0: as the grid says */
  const rb_affine *affine; /* takes points of the reference to the template; NULL: none */
  int centre;              /* so does the shift between both images' centres of mass, after the affine */
  int raise;               /* an image with values below 0 is raised by its least one */
  int keep;                /* files and maps of the pair are filled */
} rb_pair_request;
rb_status rb_pair_read(const rb_pair_request *r, rb_pair *out);
void rb_pair_free(rb_pair *p);

/* The flow behind the synthetic pairs: v_a = 0.15 sin x_a cos x_b + 0.1 cos(x_c + a), [3][N], radians a unit time. */
void rb_pair_flow(rb_grid grid, float *v);
rb_status rb_resampling_parse(const char *name, rb_resampling *out);
#endif
