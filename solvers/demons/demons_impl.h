/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the solver share. */
#ifndef RB_DEMONS_IMPL_H
#define RB_DEMONS_IMPL_H

#include "kernels/compose/compose.h"
#include "kernels/field/field.h"
#include "kernels/force/force.h"
#include "kernels/smooth/smooth.h"
#include "solvers/demons/demons.h"

struct rb_demons {
  const rb_backend *backend;
  const rb_demons_config *config;
  rb_demons_options options;
  rb_grid own, grid; /* the images', and padded */
  int64_t n, points; /* of grid, of own */
  rb_smooth_plan *smooth;
  rb_compose_plan *compose;
  rb_force_plan *force;
  rb_field_plan *field;                           /* NULL: not needed yet */
  void *memory;                                   /* of all that follows on the backend */
  rb_array velocity, update, displacement, spare; /* [3][n] */
  rb_array fixed, moving, warped;                 /* [n] */
  int squarings;                                  /* of the last exponential; -1: none yet */
  int profile, started;                           /* started: velocity holds where the next solve begins */
  rb_array energies;                              /* [1 + iterations], float64 */
  double *room;                                   /* the same on the host */
  double setup_seconds;
};

/* Component c of a vector field. */
rb_array rb_demons_component(const rb_demons *s, rb_array field, int c);
/* A host image of the images' own grid into the padded one; `spare` is overwritten. */
rb_status rb_demons_upload(rb_demons *s, const float *image, rb_array to);
/* z = a x + b y + c z, vector fields; where a factor is 0, its field is not read. */
rb_status rb_demons_combine(rb_demons *s, double a, rb_array x, double b, rb_array y, double c, rb_array z);
/* displacement = exp(a velocity), in as many steps as exp(velocity) needs, more where |a| > 1; `spare` is
 * overwritten. */
rb_status rb_demons_exponentiate(rb_demons *s, double a);

#endif
