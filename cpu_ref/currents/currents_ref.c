/* SPDX-License-Identifier: BSD-3-Clause */
/* Oracle of currents: double, the exact sums as they stand; the particle mesh is in currents_ref_mesh.c. */
#include "cpu_ref/currents/currents_ref.h"

#include <math.h>
#include <stdlib.h>

/* Every method, either precision: arrays are read as double, sums are double, results are rounded once when stored.
 */
static rb_status supports(const rb_currents_desc *d) {
  (void)d;
  return RB_OK;
}
static void destroy(rb_currents_plan *head) {
  rb_currents_ref_plan *p = (rb_currents_ref_plan *)head;
  free(p->u), free(p->line);
  free(p);
}
static rb_status plan(const rb_backend *backend, const rb_currents_desc *d, rb_currents_plan **out) {
  rb_status st = RB_OK;
  int64_t longest = 0;
  rb_currents_ref_plan *p = calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  p->head.backend = backend;
  /* u: three components of the grid. line: an axis's kernel, then a copy of the line that is being convolved.
   * The exact sums need neither. */
  if (d->method != RB_CURRENTS_EXACT) {
    for (int a = 0; a < 3; a++) longest = d->grid.n[a] > longest ? d->grid.n[a] : longest;
    p->u = malloc(3 * (size_t)rb_grid_points(d->grid) * sizeof *p->u);
    p->line = malloc(2 * (size_t)longest * sizeof *p->line);
    RB_CHECK(p->u && p->line, RB_ENOMEM, "host memory");
  }
  *out = &p->head;
  p = NULL;
done:
  if (p) destroy(&p->head);
  return st;
}

static double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/* u = sum_j K(|x - y_j|) m_j
 * z = -1/sigma^2 sum_j (pair . m_j) K(|x - y_j|) (x - y_j)
 * in the order of the sources. z is what the sums say for any pair; without one the caller passes zeros. */
static void exact(const rb_currents_ref_plan *p, const double x[3], const double pair[3], double u[3], double z[3]) {
  const int64_t n = p->head.desc.sources;
  const double s2 = p->head.desc.sigma * p->head.desc.sigma;
  for (int c = 0; c < 3; c++) u[c] = z[c] = 0;
  for (int64_t j = 0; j < n; j++) {
    double y[3], m[3], d[3];
    rb_vector_get(&p->head, p->y, n, j, y), rb_vector_get(&p->head, p->m, n, j, m);
    for (int c = 0; c < 3; c++) d[c] = x[c] - y[c];
    const double k = exp(-dot(d, d) / (2 * s2));
    for (int c = 0; c < 3; c++) u[c] += k * m[c], z[c] -= dot(pair, m) * k * d[c] / s2;
  }
}

/* y and m are borrowed until the last eval or energy. A particle mesh is filled here: p->u holds the splat moments,
 * then the convolved field. */
static rb_status load(rb_currents_plan *head, const void *y, const void *m) {
  rb_currents_ref_plan *p = (rb_currents_ref_plan *)head;
  p->y = y, p->m = m;
  if (head->desc.method == RB_CURRENTS_EXACT) return RB_OK;
  rb_currents_ref_fill(p);
  return RB_OK;
}
/* u and z at one place by the description's method. */
static void at_place(const rb_currents_ref_plan *p, const double x[3], const double pair[3], double u[3],
                     double z[3]) {
  if (p->head.desc.method == RB_CURRENTS_EXACT)
    exact(p, x, pair, u, z);
  else
    rb_currents_ref_read(p, x, pair, u, z);
}
static rb_status eval(rb_currents_plan *head, int64_t n, const void *x, const void *pair, void *u, void *z) {
  for (int64_t i = 0; i < n; i++) {
    double at[3], with[3] = {0, 0, 0}, first[3], second[3];
    rb_vector_get(head, x, n, i, at);
    /* pairing number i belongs to target i; without z it is not read */
    if (z) rb_vector_get(head, pair, n, i, with);
    at_place((rb_currents_ref_plan *)head, at, with, first, second);
    for (int c = 0; c < 3; c++) {
      rb_value_put(head->desc.dtype, u, c * n + i, first[c]);
      if (z) rb_value_put(head->desc.dtype, z, c * n + i, second[c]);
    }
  }
  return RB_OK;
}
/* E = sum_i m_i . u(y_i), with u read off as eval does: also for a particle mesh, where the variants may use the
 * spectrum instead. z is worked out, too, and not used. */
static rb_status energy(rb_currents_plan *head, double *out) {
  const rb_currents_ref_plan *p = (const rb_currents_ref_plan *)head;
  const int64_t n = head->desc.sources;
  *out = 0;
  for (int64_t i = 0; i < n; i++) {
    double y[3], m[3], u[3], z[3];
    rb_vector_get(head, p->y, n, i, y), rb_vector_get(head, p->m, n, i, m);
    at_place(p, y, m, u, z);
    *out += dot(m, u);
  }
  return RB_OK;
}

const rb_currents_ops rb_currents_ref = {supports, plan, load, eval, energy, NULL, destroy, 0, RB_WEIGHTS_FULL, NULL};
