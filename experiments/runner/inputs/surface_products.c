/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/inputs/surface_products.h"

#include "experiments/runner/inputs/host_currents.h"
#include "kernels/registry/registry.h"

#include <math.h>
#include <stdlib.h>

enum { AT_ONCE = 1024 }; /* targets between two looks at the caller */

typedef struct {
  int64_t n;
  double *y, *m; /* [3][n] */
} current;

typedef struct {
  rb_part_done *told;
  void *context;
  double all, done; /* pairs */
} part;

/* <A, B> = sum_i m_i . u_B(y_i), by chunks of A. */
static rb_status product(const rb_variant *v, rb_currents_desc d, const current *a, const current *b, part *p,
                         double *out) {
  rb_status st = RB_OK;
  rb_currents_plan *plan = NULL;
  double x[3 * AT_ONCE], u[3 * AT_ONCE];
  d.sources = b->n, d.targets = AT_ONCE;
  *out = 0;
  RB_TRY(rb_currents_create(v, &d, &plan));
  RB_TRY(rb_currents_load(plan, rb_array_host(RB_F64, 3 * b->n, b->y), rb_array_host(RB_F64, 3 * b->n, b->m)));
  for (int64_t first = 0; first < a->n; first += AT_ONCE) {
    const int64_t n = a->n - first < AT_ONCE ? a->n - first : AT_ONCE;
    for (int c = 0; c < 3; c++)
      for (int64_t i = 0; i < n; i++) x[c * n + i] = a->y[c * a->n + first + i];
    RB_TRY(rb_currents_eval(plan, n, rb_array_host(RB_F64, 3 * n, x), rb_array_none(),
                            rb_array_host(RB_F64, 3 * n, u), rb_array_none()));
    for (int c = 0; c < 3; c++)
      for (int64_t i = 0; i < n; i++) *out += a->m[c * a->n + first + i] * u[c * n + i];
    p->done += (double)n * (double)b->n;
    RB_CHECK(!p->told || p->told(p->done / p->all, p->context) == 0, RB_EINTERRUPTED, "interrupted");
  }
done:
  rb_currents_destroy(plan);
  return st;
}

rb_status rb_surface_products_of(const rb_mesh *s, const rb_mesh *t, rb_currents_method method, double sigma,
                                 double spacing, rb_part_done *part_done, void *context, rb_surface_products *out) {
  rb_status st = RB_OK;
  const rb_mesh *mesh[2] = {s, t};
  current of[2] = {{0}};
  const rb_variant *v;
  rb_currents_desc d = {.method = method, .sigma = sigma, .spacing = spacing, .dtype = RB_F64};
  double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
  for (int k = 0; k < 2; k++) {
    of[k].n = mesh[k]->faces;
    RB_TRY(rb_mesh_moments(mesh[k], &of[k].y, &of[k].m));
    for (int64_t i = 0; i < 3 * of[k].n; i++) {
      const int64_t a = i / of[k].n;
      low[a] = fmin(low[a], of[k].y[i]), high[a] = fmax(high[a], of[k].y[i]);
    }
  }
  RB_TRY(rb_variant_find(&rb_currents_family, method == RB_CURRENTS_EXACT ? "cpu/omp" : "cpu/mesh", &v));
  if (method != RB_CURRENTS_EXACT) {
    RB_TRY(rb_variant_find(&rb_splat_family, "cpu/omp", &d.splat));
    RB_CHECK(sigma > 0 && spacing > 0, RB_EINVAL, "sigma %g and spacing %g must be positive", sigma, spacing);
    rb_currents_fit_grid(low, high, &d);
  }
  const double ns = (double)of[0].n, nt = (double)of[1].n;
  part p = {part_done, context, ns * ns + ns * nt + nt * nt, 0};
  out->grid = d.grid;
  RB_TRY(product(v, d, &of[0], &of[0], &p, &out->ss));
  RB_TRY(product(v, d, &of[0], &of[1], &p, &out->st));
  RB_TRY(product(v, d, &of[1], &of[1], &p, &out->tt));
done:
  for (int k = 0; k < 2; k++) free(of[k].y), free(of[k].m);
  return st;
}
