/* SPDX-License-Identifier: BSD-3-Clause */
/* Displacement files as maps of the world, and what they make of images, labels and points.
 *
 * A field moves a point p of the reference to p + u(p) of the template, mm; beyond its lattice nothing is moved. So
 * images of the template come onto the reference (read at p + u(p)), and points of the template by the inverse map.
 * Several fields: a point of the reference is moved by the first, what comes of it by the second, and so on. World:
 * mm to the right, anterior, superior (NIfTI's). */
#ifndef RB_WORLD_FIELD_H
#define RB_WORLD_FIELD_H

#include "datasets/world.h"

typedef struct {
  rb_volume lattice; /* without voxels */
  float *u;          /* [3][n] in voxels along x1, x2, x3 */
  rb_affine to_world, to_voxels;
} rb_world_field;

/* As ITK, ANTs and `register` write them. RB_ENOTFOUND, RB_EFORMAT, RB_ENOMEM. */
rb_status rb_world_field_read(const char *path, rb_world_field *out);
void rb_world_field_free(rb_world_field *f);

/* From the reference to the template. u is trilinear; outside of all voxels 0, as ITK has it. */
void rb_world_move(int count, const rb_world_field *fields, const double p[3], double q[3]);
/* From the template to the reference: the point that is moved to p. Returns how far what was found is moved from p,
 * the worst of all fields, in their voxels: above 1e-3 there is no such point, or more than one. */
double rb_world_find(int count, const rb_world_field *fields, const double p[3], double q[3]);

/* RB_CARRY_LABELS: of the eight voxels around, the value that has most of the linear weights. Cubic: Lagrange. */
typedef enum { RB_CARRY_LINEAR, RB_CARRY_CUBIC, RB_CARRY_NEAREST, RB_CARRY_LABELS } rb_carry;
rb_status rb_carry_parse(const char *name, rb_carry *out);

typedef struct {
  int64_t outside; /* voxels or points that were read, or lie, beyond the image: 0 there */
  int64_t lost;    /* without inverse, by 1e-3 voxels */
  double worst;    /* voxels */
} rb_carried;

/* image on the lattice of `like`: out [n of like], read at moved voxels, or, inverse, at found ones. */
rb_status rb_carry_image(int count, const rb_world_field *fields, int inverse, const rb_volume *image,
                         const rb_volume *like, rb_carry how, float *out, rb_carried *report);
/* x [3][n], in place: points of the template onto the reference; inverse: of the reference onto the template. */
void rb_carry_points(int count, const rb_world_field *fields, int inverse, int64_t n, double *x, rb_carried *report);
#endif
