/* SPDX-License-Identifier: BSD-3-Clause */
/* steps: the steps of several descents, kept and halved on the backend, so that an iteration waits for nothing.
 *
 * begin   a_k, e_k                                    from the host, k < count; the rows are begun anew
 * judge   a_k <- a_k / 2 where a_k > 0 and now_k > e_k, with `halve`; then e_k <- now_k; a row e_k, a_k is appended
 * bound   a_k <- min(first, most / L), 0 where L is 0  L = max_p |x(p)| of a vector field, which is kept
 * scale   z = a_k x                                   in the data's type, a_k rounded to it once
 * rows    of every judgement since begin              to the host: [rows][2][count], e then a
 *
 * a: step of a descent. e: what it lowers, before; now: after. Float64 all. A NaN halves nothing and stays in e.
 * A NaN in the field makes L and a_k NaN. Source: judge is the rule of ha2009's authors for a rising energy (an
 * option of their program), as solvers/atlas has it; bound is ours, for solvers/currents. */
#ifndef RB_STEPS_H
#define RB_STEPS_H

#include "kernels/base/array.h"
#include "kernels/base/variant.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  int count;      /* descents, 1 to 65536 */
  int rows;       /* judgements between two begins, at most */
  int halve;      /* whether steps are halved at all */
  rb_dtype dtype; /* of what is scaled */
} rb_steps_desc;

/* On the backend: a and e [count], rows [1 + rows 2 count], of which the first value counts those that are there. */
typedef struct rb_steps_plan {
  const rb_variant *variant;
  const rb_backend *backend;
  rb_steps_desc desc;
  double *a, *e, *rows;
  double *room; /* one, of the variant's own */
} rb_steps_plan;

typedef struct {
  rb_status (*supports)(const rb_steps_desc *desc);
  rb_status (*plan)(const rb_backend *backend, const rb_steps_desc *desc, rb_steps_plan **out);
  rb_status (*judge)(rb_steps_plan *p, const double *now);
  rb_status (*bound)(rb_steps_plan *p, int k, double first, double most, int64_t n, const void *x, double *longest);
  rb_status (*scale)(rb_steps_plan *p, int k, int64_t n, const void *x, void *z);
  void (*destroy)(rb_steps_plan *p);
} rb_steps_ops;

rb_status rb_steps_create(const rb_variant *variant, const rb_steps_desc *desc, rb_steps_plan **out);
/* a, e: host memory [count]. */
rb_status rb_steps_begin(rb_steps_plan *p, const double *a, const double *e);
/* now: float64 [count] on the backend. Does not wait. Judgements beyond `rows` leave no row. */
rb_status rb_steps_judge(rb_steps_plan *p, rb_array now);
/* x [3][n]; longest: one float64 on the backend, L. first and most positive; first may be infinite. Does not wait. */
rb_status rb_steps_bound(rb_steps_plan *p, int k, double first, double most, int64_t n, rb_array x, rb_array longest);
/* x, z [n]; they may be the same. Does not wait. RB_EINVAL: there is no descent k. */
rb_status rb_steps_scale(rb_steps_plan *p, int k, int64_t n, rb_array x, rb_array z);
/* Waits. out: host memory [desc.rows][2][count]; *count: rows that there are. */
rb_status rb_steps_rows(rb_steps_plan *p, double *out, int *count);
/* a_k itself, one float64 on the backend, for kernels that read it when they run. */
rb_array rb_steps_of(const rb_steps_plan *p, int k);
void rb_steps_destroy(rb_steps_plan *p); /* takes NULL */

/* Largest accepted |z - oracle| for |a x| of at most `range`: two roundings. Steps and rows are exact. */
double rb_steps_tolerance(const rb_steps_desc *desc, double range);

#ifdef __cplusplus
}
#endif
#endif
