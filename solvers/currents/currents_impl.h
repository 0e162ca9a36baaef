/* SPDX-License-Identifier: BSD-3-Clause */
/* What a currents solver holds, for the files of this folder. */
#ifndef RB_CURRENTS_IMPL_H
#define RB_CURRENTS_IMPL_H

#include "kernels/compose/compose.h"
#include "kernels/field/field.h"
#include "kernels/helmholtz/helmholtz.h"
#include "kernels/interp/interp.h"
#include "kernels/l2force/l2force.h"
#include "kernels/splat/splat.h"
#include "kernels/steps/steps.h"
#include "solvers/common/parts.h"
#include "solvers/currents/currents.h"
#include "solvers/currents/surface_match.h"

/* ROWS: iterations that the host does not look at, at most. */
enum { RB_CURRENTS_ROWS = 64 };

/* A surface that is carried along: vertices [first, first + moving.vertices) of all. */
typedef struct {
  rb_surface moving, fixed; /* borrowed; voxels */
  int64_t first;
  rb_surface_match *match; /* of the level; belongs to the surface's stream */
  rb_array x, force;       /* [3][vertices]: now; dE/dx */
  double weight;           /* b_j of the level */
} rb_currents_surface;

struct rb_currents {
  const rb_currents_config *config; /* the variant's ops */
  const rb_backend *backend;
  rb_currents_options options;
  const volatile int *interrupted; /* ends a solve early; may be NULL */
  rb_grid grid;
  int64_t n, vertices;        /* grid points; of all surfaces */
  int channels, surfaces;     /* either may be 0 */
  rb_interp_plan *posteriors; /* holds P */
  rb_interp_plan *velocity;   /* reads v at vertices */
  rb_l2force_plan *force;
  rb_l2force_plan *mismatch; /* of all channels, as one grid of so many times the planes */
  rb_helmholtz_plan *helmholtz;
  rb_compose_plan *compose;
  rb_field_plan *field;
  rb_splat_plan *splat;   /* forces at all vertices onto the grid */
  rb_array p, q, j;       /* [channels][n]: template, reference, the template pulled back */
  rb_array u, v, b, part; /* [3][n]: h = id + u; minus velocity; minus force; scratch, and the next u */
  rb_array x, start;      /* [3][vertices]: now; at the start */
  rb_array moved, pull;   /* [3][vertices]: velocity there; weighted forces */
  double image_weight;    /* a_k, one for all k */
  double setup_seconds;   /* until all was on the backend */
  rb_currents_surface surface[RB_CURRENTS_SURFACES];
  /* Iterations that wait for nothing. An iteration writes the next u to `part` and swaps both, so every second one
   * has the same addresses: two recordings. */
  rb_steps_plan *steps; /* the first of its steps is dt; its rows hold `now` of each iteration */
  rb_array now;         /* float64: the images' difference, RB_SURFACE_MATCH_KEPT a surface, longest */
  double *rows;         /* host [RB_CURRENTS_ROWS][2][values of now] */
  void *recording[2];
  int phase, issued; /* issued: iterations of the level, so that libraries have set up what they need */
  double first;      /* dt by the level's first force; infinite: not known yet */
  double seconds;    /* of an iteration of the level; 0: not known */
  rb_parts parts;    /* with a profile */
  int profile;
};

/* currents_iteration.c */

/* J = P o h. */
/* A surface's plans belong to one of these, in which its work is issued. */
static inline int rb_currents_streams(const rb_currents *s) {
  return s->surfaces < RB_STREAMS ? s->surfaces : RB_STREAMS;
}
rb_status rb_currents_pull_back(rb_currents *s);
/* Before a level's first iteration, and when its plans go. */
void rb_currents_forget(rb_currents *s);
/* Up to `most` iterations of a level; rows[0 .. *made) get energies, dt and longest. Waits once, at the end. A solve
 * that diverged is RB_EINVALID; before: iterations made so far, for the message. */
rb_status rb_currents_iterations(rb_currents *s, const rb_currents_level *level, int most, int before,
                                 rb_currents_row *rows, int *made);
#endif
