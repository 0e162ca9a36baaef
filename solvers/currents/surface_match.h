/* SPDX-License-Identifier: BSD-3-Clause */
/* The squared distance of a moving surface to a fixed one as currents, and its gradient by the moving vertices, on a
 * backend's memory (ha2012 sections 3.2 and 4.1). */
#ifndef RB_SURFACE_MATCH_H
#define RB_SURFACE_MATCH_H

#include "kernels/currents/currents.h"
#include "kernels/field/field.h"
#include "solvers/solver.h"

/* Places [at, at + n) of an array [3][all]. */
typedef struct {
  rb_array a;
  int64_t at, all;
} rb_planar;
/* to = scale from, n places of each. */
rb_status rb_planar_copy(rb_field_plan *field, int64_t n, double scale, rb_planar from, rb_planar to);

typedef struct {
  const rb_variant *variant; /* of currents */
  /* method, sigma, type; of a particle mesh also grid, origin and spacing; a grid without points is fitted to both
   * surfaces as they are at first, with the variant's own margin */
  rb_currents_desc currents;
} rb_surface_match_desc;

typedef struct rb_surface_match rb_surface_match;

/* Both surfaces are read by create alone. RB_EINVAL with the cause. */
rb_status rb_surface_match_create(const rb_surface_match_desc *desc, const rb_surface *moving,
                                  const rb_surface *fixed, rb_surface_match **out);
/* Another kernel, or grid, for the same surfaces: what does not depend on it is kept. The description's type is the
 * same, its variant of the same backend. */
rb_status rb_surface_match_set_kernel(rb_surface_match *m, const rb_surface_match_desc *desc);
/* vertices [3][vertices], gradient the same or NULL, backend memory in the plan's type. *energy = |S - T|^2. Waits.
 */
rb_status rb_surface_match_eval(rb_surface_match *m, rb_array vertices, double *energy, rb_array gradient);
/* The same in two halves, for who may not wait. issue leaves in `kept`, float64 [RB_SURFACE_MATCH_KEPT] on the
 * backend, what energy takes from the host; outcome waits, and refuses places that are no finite numbers of the last
 * issue. */
enum { RB_SURFACE_MATCH_KEPT = 2 };
rb_status rb_surface_match_issue(rb_surface_match *m, rb_array vertices, rb_array kept, rb_array gradient);
double rb_surface_match_energy(const rb_surface_match *m, const double kept[RB_SURFACE_MATCH_KEPT]);
rb_status rb_surface_match_outcome(rb_surface_match *m);
/* Of the last eval: centres, moments, and half the energy's derivatives by them, [3][faces], backend memory that
 * stays the match's. */
void rb_surface_match_parts(const rb_surface_match *m, rb_array *centres, rb_array *moments, rb_array *u,
                            rb_array *z);
/* <T, T> of the fixed surface, by the same method. */
double rb_surface_match_fixed(const rb_surface_match *m);
/* The currents' description with the grid that was fitted. */
const rb_currents_desc *rb_surface_match_currents(const rb_surface_match *m);
void rb_surface_match_destroy(rb_surface_match *m); /* takes NULL */
#endif
