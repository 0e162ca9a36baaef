/* SPDX-License-Identifier: BSD-3-Clause */
/* helmholtz: the velocity of a force, v = L^-1 f.
 *
 *   L v = -alpha Laplacian v - beta grad div v + gamma v            alpha, beta >= 0, gamma > 0
 *
 * discrete, with spacing s: the Laplacian by second differences, (v(x+s) - 2 v(x) + v(x-s)) / s^2 along each axis;
 * grad div with the same second differences on its diagonal and products of central differences beside it. L is
 * symmetric and positive. Fields [3][n1][n2][n3].
 *
 * Two kinds of variants. Direct ones solve: "periodic" by transforms and a 3 x 3 matrix a frequency,
 *   c_a = (2 cos(2 pi k_a / n_a) - 2) / s_a^2,  S_a = sin(2 pi k_a / n_a) / s_a,  lambda = -alpha sum c_a + gamma,
 *   M_aa = lambda - beta c_a,  M_ab = beta S_a S_b,
 * "zero" (v = 0 on the grid's outermost layer) by sine transforms. Iterative ones improve v by sweeps of red-black
 * successive over-relaxation with v = 0 on the outermost `border` layers:
 *   v <- v + omega ((alpha sum_a (v(x-s_a) + v(x+s_a)) / s_a^2 + f) / (2 alpha sum_a 1/s_a^2 + gamma) - v),
 * nodes of even i1 + i2 + i3 first, then the others. Sine transforms and SOR need beta = 0, as ha2009 has it.
 *
 * Source: ha2009 sections 2.2 and 4.3, whose gamma has the sign that does not descend (and makes L indefinite from
 * n = 40 on): gamma <= 0 is refused by iterative variants. */
#ifndef RB_HELMHOLTZ_H
#define RB_HELMHOLTZ_H

#include "kernels/base/array.h"
#include "kernels/base/variant.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  rb_grid grid;
  double spacing[3];
  double alpha, beta, gamma;
  int border; /* layers of zeros of iterative variants: 1, or 2 as a later program of the authors has them */
  rb_dtype dtype;
} rb_helmholtz_desc;

typedef struct rb_helmholtz_plan {
  const rb_variant *variant;
  const rb_backend *backend;
  rb_helmholtz_desc desc;
} rb_helmholtz_plan;

typedef enum { RB_HELMHOLTZ_PERIODIC, RB_HELMHOLTZ_ZERO } rb_helmholtz_boundary;

typedef struct {
  rb_status (*supports)(const rb_helmholtz_desc *desc);
  rb_status (*plan)(const rb_backend *backend, const rb_helmholtz_desc *desc, rb_helmholtz_plan **out);
  rb_status (*solve)(rb_helmholtz_plan *p, const void *f, void *v); /* direct, else NULL */
  rb_status (*sweep)(rb_helmholtz_plan *p, int sweeps, double omega, const void *f,
                     void *v); /* iterative, else NULL */
  void (*destroy)(rb_helmholtz_plan *p);
  rb_helmholtz_boundary boundary;
  int sweeps_a_pass; /* of an iterative variant: how many a pass over memory makes; 0 with colours apart */
} rb_helmholtz_ops;

/* RB_EINVAL: parameters out of range. RB_EUNSUPPORTED: beta with a variant that neglects it, gamma <= 0 with an
 * iterative one. */
rb_status rb_helmholtz_create(const rb_variant *variant, const rb_helmholtz_desc *desc, rb_helmholtz_plan **out);
/* v = L^-1 f by a direct variant; f and v may not overlap. RB_EINVAL for an iterative one. */
rb_status rb_helmholtz_solve(rb_helmholtz_plan *p, rb_array f, rb_array v);
/* `sweeps` more of an iterative variant from the present v, whose border layers must be 0. omega in (0, 2). */
rb_status rb_helmholtz_sweep(rb_helmholtz_plan *p, int sweeps, double omega, rb_array f, rb_array v);
void rb_helmholtz_destroy(rb_helmholtz_plan *p); /* takes NULL */
/* Whether the variant solves; else it sweeps. */
int rb_helmholtz_is_direct(const rb_variant *variant);

/* The relaxation that is best for sweeps of this operator, 2 / (1 + sqrt(1 - rho^2)):
 * rho = sum_a cos(pi / (m_a + 1)) / s_a^2 / sum_a 1 / s_a^2 for the Laplacian alone, m_a nodes inside the border,
 * which the paper prints for unit spacing (its radicand is negative, and its n is n - 1's); with the shift, rho times
 * 2 alpha sum 1/s^2 / (2 alpha sum 1/s^2 + gamma). */
typedef enum { RB_OMEGA_LAPLACE, RB_OMEGA_SHIFTED } rb_omega;
double rb_helmholtz_omega(const rb_helmholtz_desc *desc, rb_omega kind);

/* Least traffic of one application: three components read and written (direct); with f, of `sweeps` sweeps that a
 * variant of k sweeps a pass makes: 36 B a voxel and pass in float32, twice that with colours apart. */
double rb_helmholtz_bytes(const rb_variant *variant, const rb_helmholtz_desc *desc, int sweeps);
/* Largest accepted |v - oracle| of a direct variant for |f| <= range: v is range / gamma at most, and a transform of
 * N values rounds some log2 N times. */
double rb_helmholtz_tolerance(const rb_helmholtz_desc *desc, double range);

#ifdef __cplusplus
}
#endif
#endif
