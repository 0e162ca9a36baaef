/* SPDX-License-Identifier: BSD-3-Clause */
/* Oracle of the particle mesh of currents: double; the grid is filled point by point and convolved along one axis
 * after the other by the sum over its nodes. */
#include "cpu_ref/currents/currents_ref.h"

#include <math.h>

/* The B-spline of degree 1 or 3 at distance t, and its derivative.
 * degree 1:  1 - d                 for d = |t| < 1
 * degree 3:  2/3 - d^2 + d^3/2     for d < 1,   (2 - d)^3/6   for 1 <= d < 2 */
static double spline(int cubic, double t) {
  const double d = fabs(t);
  if (!cubic) return d < 1 ? 1 - d : 0;
  return d < 1 ? 2.0 / 3 - d * d + d * d * d / 2 : d < 2 ? pow(2 - d, 3) / 6 : 0;
}
/* The branch of degree 1 at t = 0 takes the slope of the right side: a point on a node has no derivative there. */
static double spline_derivative(int cubic, double t) {
  const double d = fabs(t), sign = t < 0 ? -1 : 1;
  if (!cubic) return d < 1 ? -sign : 0;
  return sign * (d < 1 ? -2 * d + 1.5 * d * d : d < 2 ? -pow(2 - d, 2) / 2 : 0);
}

/* A node's index, and the offset along each axis of the point from it, in grid units. */
typedef struct {
  int64_t at;
  double t[3];
} near_node;
/* The nodes floor(s) - before .. floor(s) - before + taps - 1 along each axis, s = (x - origin)/spacing in grid
 * units: 2^3 for linear weights, 4^3 for cubic ones. t = s - node lies in (-2, 2). Indices wrap: the grid is
 * periodic. */
static int nodes_of(const rb_currents_desc *d, const double x[3], near_node near[64]) {
  const int cubic = d->method == RB_CURRENTS_CUBIC, taps = cubic ? 4 : 2, before = cubic ? 1 : 0;
  int count = 0;
  for (int q = 0; q < taps * taps * taps; q++) {
    const int off[3] = {q / taps / taps, q / taps % taps, q % taps};
    near_node *n = &near[count++];
    n->at = 0;
    for (int a = 0; a < 3; a++) {
      /* at: the place in grid units */
      const double at = (x[a] - d->origin[a]) / d->spacing, node = floor(at) - before + off[a];
      n->t[a] = (at - floor(at)) + before - off[a];
      /* after three turns (i1 n2 + i2) n3 + i3 */
      n->at = n->at * d->grid.n[a] + rb_wrap((int64_t)node, d->grid.n[a]);
    }
  }
  return count;
}

/* F_c[k] = sum_j w(y_j - k) m_cj, one source after the other. PLAIN and CORRECTED have the same weights. */
static void splat_moments(rb_currents_ref_plan *p) {
  const rb_currents_desc *d = &p->head.desc;
  const int64_t n = rb_grid_points(d->grid);
  for (int64_t i = 0; i < 3 * n; i++) p->u[i] = 0;
  for (int64_t j = 0; j < d->sources; j++) {
    near_node near[64];
    double y[3], m[3];
    rb_vector_get(&p->head, p->y, d->sources, j, y), rb_vector_get(&p->head, p->m, d->sources, j, m);
    const int count = nodes_of(d, y, near), cubic = d->method == RB_CURRENTS_CUBIC;
    for (int k = 0; k < count; k++) {
      const double w = spline(cubic, near[k].t[0]) * spline(cubic, near[k].t[1]) * spline(cubic, near[k].t[2]);
      for (int c = 0; c < 3; c++) p->u[c * n + near[k].at] += w * m[c];
    }
  }
}

/* Along axis a of every component, with the kernel sampled at the distance the shorter way round. */
static void convolve(rb_currents_ref_plan *p, int a) {
  const rb_currents_desc *d = &p->head.desc;
  const int64_t *n = d->grid.n, all = rb_grid_points(d->grid), stride = a == 0 ? n[1] * n[2] : a == 1 ? n[2] : 1;
  /* The kernel is a product over the axes, exp(-r1^2/..) exp(-r2^2/..) exp(-r3^2/..): three passes of one dimension
   * give the sum over all nodes. The amplitude enters once, with axis 0. */
  double *kernel = p->line, *from = p->line + n[a];
  for (int64_t i = 0; i < n[a]; i++) {
    const double r = (double)(i < n[a] - i ? i : n[a] - i) * d->spacing;
    kernel[i] = exp(-r * r / (2 * rb_currents_variance(d))) * (a == 0 ? rb_currents_amplitude(d) : 1);
  }
  for (int64_t row = 0; row < 3 * all; row++) {
    /* of all values, those at coordinate 0 of the axis: each begins a line of n_a values, `stride` apart */
    if (row / stride % n[a] != 0) continue;
    for (int64_t i = 0; i < n[a]; i++) from[i] = p->u[row + i * stride];
    for (int64_t i = 0; i < n[a]; i++) {
      double sum = 0;
      /* kernel[i] = kernel[n - i] by its making: the index |i - j| is as good as (i - j) mod n */
      for (int64_t j = 0; j < n[a]; j++) sum += kernel[i < j ? j - i : i - j] * from[j];
      p->u[row + i * stride] = sum;
    }
  }
}

/* The three passes commute; their order is fixed. */
void rb_currents_ref_fill(rb_currents_ref_plan *p) {
  splat_moments(p);
  for (int a = 0; a < 3; a++) convolve(p, a);
}

/* pair . (the field at a node).
 * The gradient of pair . u is a sum of such scalars, so that the three components need no Jacobian matrix. */
static double paired(const rb_currents_ref_plan *p, int64_t at, const double pair[3]) {
  const int64_t n = rb_grid_points(p->head.desc.grid);
  return pair[0] * p->u[at] + pair[1] * p->u[n + at] + pair[2] * p->u[2 * n + at];
}
/* The node `step` after `at` along axis a.
 * A flat index taken apart, moved along one axis, wrapped and put together again. */
static int64_t neighbour(rb_grid g, int64_t at, int a, int step) {
  int64_t i[3] = {at / g.n[2] / g.n[1], at / g.n[2] % g.n[1], at % g.n[2]};
  i[a] = rb_wrap(i[a] + step, g.n[a]);
  return (i[0] * g.n[1] + i[1]) * g.n[2] + i[2];
}

/* u   = sum_k w(x - k) U[k]
 * PLAIN:  z_a = sum_k w(x - k) (pair . (U[k + e_a] - U[k - e_a])) / (2 h)
 * others: z_a = sum_k dw/dx_a (pair . U[k]),  dw/dx_a = w'(t_a) w(t_b) w(t_c) / h
 * h is the spacing: weights are functions of grid units, z is in the places' unit of length. */
void rb_currents_ref_read(const rb_currents_ref_plan *p, const double x[3], const double pair[3], double u[3],
                          double z[3]) {
  const rb_currents_desc *d = &p->head.desc;
  const int64_t n = rb_grid_points(d->grid);
  const int cubic = d->method == RB_CURRENTS_CUBIC;
  near_node near[64];
  const int count = nodes_of(d, x, near);
  for (int c = 0; c < 3; c++) u[c] = z[c] = 0;
  for (int k = 0; k < count; k++) {
    const double w[3] = {spline(cubic, near[k].t[0]), spline(cubic, near[k].t[1]), spline(cubic, near[k].t[2])};
    const int64_t at = near[k].at;
    for (int c = 0; c < 3; c++) u[c] += w[0] * w[1] * w[2] * p->u[c * n + at];
    for (int a = 0; a < 3; a++) {
      if (d->method == RB_CURRENTS_PLAIN) {
        const double difference =
            paired(p, neighbour(d->grid, at, a, 1), pair) - paired(p, neighbour(d->grid, at, a, -1), pair);
        z[a] += w[0] * w[1] * w[2] * difference / (2 * d->spacing);
      } else {
        /* weights of the other two axes as they are */
        const double dw = spline_derivative(cubic, near[k].t[a]) * w[(a + 1) % 3] * w[(a + 2) % 3];
        z[a] += dw * paired(p, at, pair) / d->spacing;
      }
    }
  }
}
