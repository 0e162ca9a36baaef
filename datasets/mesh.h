/* SPDX-License-Identifier: BSD-3-Clause */
/* Triangle meshes: what they are made of, whether they are sound, and a sphere. Files: mesh_file.h. */
#ifndef RB_MESH_H
#define RB_MESH_H

#include "kernels/base/status.h"

#include <stdint.h>

typedef struct {
  int64_t vertices, faces;
  double *x;     /* [3][vertices], mm in the world: x to the right, y to the front, z up (NIfTI's) */
  int32_t *face; /* [faces][3]; the normal is that of (b - a) x (c - a), outward on closed surfaces */
} rb_mesh;

typedef struct {
  double low[3], high[3]; /* box of the vertices */
  double area, volume;    /* volume: by the divergence theorem; of closed surfaces */
  int64_t degenerate;     /* faces without area: they contribute nothing to a current */
  int64_t border;         /* edges of one face: an open surface */
  int64_t crowded;        /* edges of three faces or more */
  int64_t turned;         /* edges that their two faces run through the same way: orientations differ */
} rb_mesh_report;

/* RB_EFORMAT for no faces, coordinates that are no finite numbers, and indices outside the vertices: `name` and which
 * one. */
rb_status rb_mesh_check(const rb_mesh *mesh, const char *name);
/* Of a mesh that rb_mesh_check accepts. RB_ENOMEM. */
rb_status rb_mesh_measure(const rb_mesh *mesh, rb_mesh_report *out);
/* Turns faces so that neighbours agree and closed pieces face outward. RB_EFORMAT where a piece cannot be oriented
 * (a Moebius strip, crowded edges). *turned: how many. */
rb_status rb_mesh_orient(rb_mesh *mesh, const char *name, int64_t *turned);

/* At the plane x = 0, with faces turned so that outward stays outward. */
void rb_mesh_mirror(rb_mesh *mesh);

/* An icosahedron whose faces are divided in four `divisions` times, on the sphere: 20 4^divisions faces, outward. */
rb_status rb_mesh_sphere(int divisions, double radius, const double centre[3], rb_mesh *out);
/* Room for that many; contents undefined. */
rb_status rb_mesh_reserve(int64_t vertices, int64_t faces, rb_mesh *out);
void rb_mesh_free(rb_mesh *mesh);
#endif
