/* SPDX-License-Identifier: BSD-3-Clause */
/* Oracle of compose: double; the trilinear sum over eight neighbours, each looked up with its bound check. */
#include "cpu_ref/base/values.h"
#include "cpu_ref/compose/compose_ref.h"

#include <math.h>
#include <stdlib.h>

/* compose      a s2(x) + a s1(x + a s2(x))
 * warp         f(x + s(x))
 * determinant  det(I + ds/dx)
 * bracket      dv/dx w - dw/dx v
 * longest      max |s|
 * All in double from values of either type, node after node; displacements in voxels, fields 0 beyond the grid. */
static rb_status supports(const rb_compose_desc *d) {
  (void)d;
  return RB_OK;
}
/* No state but the common head: the arrays of a call are all there is. */
static rb_status plan(const rb_backend *b, const rb_compose_desc *d, rb_compose_plan **out) {
  (void)b, (void)d;
  *out = calloc(1, sizeof **out);
  return *out ? RB_OK : RB_FAIL(RB_ENOMEM, "host memory");
}
static void destroy(rb_compose_plan *p) { free(p); }

static double get(const rb_compose_plan *p, const void *f, int64_t i) { return rb_value_get(p->desc.dtype, f, i); }
static void put(const rb_compose_plan *p, void *f, int64_t i, double v) { rb_value_put(p->desc.dtype, f, i, v); }
/* Component c of a planar field begins at value c * N. */
static int64_t index_of(rb_grid g, const int64_t at[3]) { return (at[0] * g.n[1] + at[1]) * g.n[2] + at[2]; }

/* Component c of f at x, 0 beyond the grid. */
static double sample(const rb_compose_plan *p, const void *f, int c, const double x[3]) {
  const rb_grid g = p->desc.grid;
  double sum = 0;
  /* f(x) = sum over corners of  prod_a (1 - t_a or t_a)  f(floor(x) + corner);  bit a of `corner`: the upper node of
   * axis a. A corner outside counts as 0 and keeps its weight: values fade over one voxel beyond the border. */
  for (int corner = 0; corner < 8; corner++) {
    double weight = 1;
    int64_t at[3];
    int inside = 1;
    for (int a = 0; a < 3; a++) {
      /* t in [0, 1): the lower node has weight 1 - t, the upper one t */
      const double low = floor(x[a]), t = x[a] - low;
      const int up = corner >> a & 1;
      weight *= up ? t : 1 - t;
      /* compared as doubles: a point far outside does not overflow the index */
      inside = inside && low + up >= 0 && low + up <= (double)(g.n[a] - 1);
      at[a] = inside ? (int64_t)low + up : 0;
    }
    /* a NaN coordinate is inside nowhere, by its comparisons: the sum is 0 */
    if (inside) sum += weight * get(p, f, c * rb_grid_points(g) + index_of(g, at));
  }
  return sum;
}
/* Node i, moved by a s.
 * x = i + scale s(i), in voxels. */
static void moved(const rb_compose_plan *p, double scale, const void *s, int64_t i, double x[3]) {
  const rb_grid g = p->desc.grid;
  const int64_t at[3] = {i / g.n[2] / g.n[1], i / g.n[2] % g.n[1], i % g.n[2]};
  for (int a = 0; a < 3; a++) x[a] = (double)at[a] + scale * get(p, s, a * rb_grid_points(g) + i);
}

/* out = a (s2(x) + s1(x + a s2(x))): the factor a enters the place once and the sum once, s1 is not scaled before it
 * is sampled */
static rb_status compose(rb_compose_plan *p, double a, const void *s1, const void *s2, void *out) {
  const int64_t n = rb_grid_points(p->desc.grid);
  for (int64_t i = 0; i < n; i++) {
    double x[3];
    moved(p, a, s2, i, x);
    for (int c = 0; c < 3; c++) put(p, out, c * n + i, a * (get(p, s2, c * n + i) + sample(p, s1, c, x)));
  }
  return RB_OK;
}
/* out(x) = f(x + s(x)): one component of f. */
static rb_status warp(rb_compose_plan *p, const void *f, const void *s, void *out) {
  const int64_t n = rb_grid_points(p->desc.grid);
  for (int64_t i = 0; i < n; i++) {
    double x[3];
    moved(p, 1, s, i, x);
    put(p, out, i, sample(p, f, 0, x));
  }
  return RB_OK;
}

/* max over the nodes of (s_1^2 + s_2^2 + s_3^2)^(1/2), in voxels; left in p->longest at once. */
static rb_status longest(rb_compose_plan *p, const void *s) {
  const int64_t n = rb_grid_points(p->desc.grid);
  p->longest = 0;
  for (int64_t i = 0; i < n; i++) {
    const double length = sqrt(pow(get(p, s, i), 2) + pow(get(p, s, n + i), 2) + pow(get(p, s, 2 * n + i), 2));
    /* a NaN is the result, whatever follows */
    if (length > p->longest || isnan(length)) p->longest = length;
    if (isnan(length)) break;
  }
  return RB_OK;
}

/* Index in the inner grid of node i, -1 outside.
 * The inner grid begins at floor((n_a - inner_a) / 2): of an odd rest the larger half lies behind it. */
static int64_t inner_index(const rb_compose_plan *p, rb_grid inner, int64_t i) {
  const rb_grid g = p->desc.grid;
  const int64_t at[3] = {i / g.n[2] / g.n[1], i / g.n[2] % g.n[1], i % g.n[2]};
  int64_t to[3];
  for (int a = 0; a < 3; a++) {
    to[a] = at[a] - (g.n[a] - inner.n[a]) / 2;
    if (to[a] < 0 || to[a] >= inner.n[a]) return -1;
  }
  return index_of(inner, to);
}
static rb_status pad(rb_compose_plan *p, rb_grid inner, const void *f, void *out) {
  for (int64_t i = 0; i < rb_grid_points(p->desc.grid); i++) {
    const int64_t k = inner_index(p, inner, i);
    put(p, out, i, k < 0 ? 0 : get(p, f, k));
  }
  return RB_OK;
}
/* Every inner node is met exactly once by a node of the large grid. */
static rb_status crop(rb_compose_plan *p, rb_grid inner, const void *f, void *out) {
  for (int64_t i = 0; i < rb_grid_points(p->desc.grid); i++) {
    const int64_t k = inner_index(p, inner, i);
    if (k >= 0) put(p, out, k, get(p, f, i));
  }
  return RB_OK;
}

const rb_compose_ops rb_compose_ref = {
    supports, plan, NULL, compose, warp, rb_compose_ref_determinant, rb_compose_ref_bracket, longest, NULL, pad, crop,
    destroy,  0,    0,    NULL,    NULL};

/* One value of compose, for spot checks of large grids: out_c at `node`. */
double rb_compose_oracle_at(const rb_compose_desc *d, double a, const void *s1, const void *s2, int component,
                            int64_t node) {
  /* a plan of the description alone: moved and sample read nothing else of it */
  const rb_compose_plan p = {.desc = *d};
  double x[3];
  moved(&p, a, s2, node, x);
  return a * (get(&p, s2, component * rb_grid_points(d->grid) + node) + sample(&p, s1, component, x));
}
