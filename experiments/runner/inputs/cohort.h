/* SPDX-License-Identifier: BSD-3-Clause */
/* N images on one lattice, each read by the member of a team that works on it. */
#ifndef RB_COHORT_H
#define RB_COHORT_H

#include "datasets/resample.h"
#include "datasets/volume.h"
#include "kernels/base/team.h"

typedef struct {
  rb_grid grid;
  int count;
  char (*name)[128];  /* of each image, without folder and endings */
  char (*sha256)[65]; /* known for the own share, and all on rank 0 */
  float **image;      /* [count], [grid points]; NULL beyond the own share */
  rb_volume like;     /* geometry of the lattice, at its file's resolution */
} rb_cohort;

typedef struct {
  const char *const *files;
  int count;
  rb_resampling how;
  rb_grid grid;          /* {0}: the images' own, which must then be as large and have the same voxel axes */
  int ignore_geometry;   /* what stands at one index lies at one place */
  const rb_volume *like; /* the lattice; NULL: the first image's */
  const char *like_name; /* its file's, for messages */
} rb_cohort_request;

/* Files named in a list: one a line in its first column, columns being apart by commas; its label map in the second
 * where a first line says "image,labels", on all lines or on none. Other columns, empty lines and those that begin
 * with # are not read. Relative to the list's folder. *files, *labels and what
 * they point to: to be freed by rb_cohort_list_free. RB_ENOTFOUND; RB_EFORMAT: no file in it, or labels on some
 * lines. */
rb_status rb_cohort_list(const char *path, char ***files, int *count, char ***labels, int *label_count);
void rb_cohort_list_free(char **files, int count);

/* Images come onto the lattice through their affines, where both declare one, and must hold a tenth of it.
 *
 * Looks at every file of the own share: it is there, whole, finite, not constant, and can be brought to the lattice.
 * bad[count]: 1 where it does not serve, over all members. complaints: a line each, on rank 0 (to be freed); the
 * other ranks get NULL. The status is about the looking, not about the files. */
rb_status rb_cohort_validate(const rb_cohort_request *r, const rb_team *team, int *bad, char **complaints);
/* Reads the own share. RB_EINVAL and what rb_volume_read says, heard by all. */
rb_status rb_cohort_read(const rb_cohort_request *r, const rb_team *team, rb_cohort *out);
/* By name: "phantom", heads under deformations of their own; "nirep", the first brains that are here. All images.
 * RB_ENOTFOUND: fewer are here. */
rb_status rb_cohort_known(const char *name, int images, rb_resampling how, rb_grid grid, rb_cohort *out);
/* All values to [0, 1] by the least and greatest of all images. Every image is here. */
void rb_cohort_scale(rb_cohort *c);
void rb_cohort_free(rb_cohort *c);
#endif
