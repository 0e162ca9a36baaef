/* SPDX-License-Identifier: BSD-3-Clause */
/* Oracle of spectral: explicit DFT sums along one axis after the other, in double, over the full complex
 * grid. O(N (n1+n2+n3)). Shares no code with the fast variants. */
#include "kernels/spectral/spectral.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>

/* Full complex spectra of all components, one explicit DFT an axis: F_k = sum_x f(x) exp(-2 pi i k x / n) axis by
 * axis, the symbol at every wave vector, the inverse sums and 1/N. Half spectra exist only as the coefficients c of
 * the contract, which pack and unpack translate. */
typedef struct {
  rb_spectral_plan head;
  /* field: full complex grids [n1][n2][n3] of the components. line: room for n1 + n2 + n3 values, of which one
   * axis's are used at a time. */
  double complex *field[3], *line;
} ref_plan;

static rb_status supports(const rb_spectral_desc *desc) {
  (void)desc;
  return RB_OK;
}

static void destroy(rb_spectral_plan *head) {
  ref_plan *p = (ref_plan *)head;
  for (int c = 0; c < 3; c++) rb_release(head->backend, p->field[c]);
  rb_release(head->backend, p->line);
  free(p);
}

static rb_status plan(const rb_backend *backend, const rb_spectral_desc *desc, rb_spectral_plan **out) {
  rb_status st = RB_OK;
  /* an upper bound of the longest axis */
  int64_t longest = desc->grid.n[0] + desc->grid.n[1] + desc->grid.n[2];
  ref_plan *p = calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  p->head.backend = backend;
  for (int c = 0; c < desc->components; c++)
    RB_TRY(rb_alloc(backend, (size_t)rb_grid_points(desc->grid) * sizeof *p->line, (void **)&p->field[c]));
  RB_TRY(rb_alloc(backend, (size_t)longest * sizeof *p->line, (void **)&p->line));
  *out = &p->head;
  return RB_OK;
done:
  if (p) destroy(&p->head);
  return st;
}

/* u_k <- sum_j u_j exp(sign 2 pi i j k / n) along one axis. */
static void dft_axis(double complex *u, rb_grid g, int axis, int sign, double complex *line) {
  /* In place by way of `line`. j k mod n keeps the angle within one turn, where its rounding is small. Unscaled. */
  int64_t n = g.n[axis], stride = axis == 2 ? 1 : axis == 1 ? g.n[2] : g.n[1] * g.n[2];
  for (int64_t start = 0; start < rb_grid_points(g); start++) {
    /* only values at coordinate 0 of the axis begin a line */
    if (start / stride % n != 0) continue;
    for (int64_t k = 0; k < n; k++) {
      line[k] = 0;
      for (int64_t j = 0; j < n; j++)
        line[k] += u[start + j * stride] * cexp(sign * I * RB_TWO_PI * (double)(j * k % n) / (double)n);
    }
    for (int64_t k = 0; k < n; k++) u[start + k * stride] = line[k];
  }
}

/* (S u) at one wave vector, in place. */
static void times_symbol(const rb_spectral_op *op, rb_grid g, const double k[3], int components,
                         double complex u[3]) {
  /* LERAY:  S b = scale (b - theta k (k.b) / |k|^2),  theta = 1 / (1 + beta_v / (beta_w (|k|^2 + 1)));  k = 0 passes
   * H1DIV:  S b = scale (beta_v |k|^2 b + beta_w (|k|^2 + 1) k (k.b))
   * HELMHOLTZ:  scale (alpha |k|^2 + gamma)^power, `null` without the scale where the base is 0
   * GAUSSIAN:   scale exp(-1/2 sum_a (sigma_a h_a k_a)^2) */
  double k2 = k[0] * k[0] + k[1] * k[1] + k[2] * k[2], exponent = 0, factor = op->scale;
  if (op->kind == RB_OP_LERAY || op->kind == RB_OP_H1DIV) {
    /* k.b of the three components, before any of them is overwritten; along = k_c (k.b) */
    double complex dot = k[0] * u[0] + k[1] * u[1] + k[2] * u[2];
    for (int c = 0; c < 3; c++) {
      double complex along = k[c] * dot;
      if (op->kind == RB_OP_H1DIV)
        u[c] = op->scale * (op->beta_v * k2 * u[c] + op->beta_w * (k2 + 1) * along);
      else
        u[c] = op->scale * (u[c] - (k2 == 0 ? 0 : along / k2 / (1 + op->beta_v / (op->beta_w * (k2 + 1)))));
    }
    return;
  }
  if (op->kind == RB_OP_HELMHOLTZ) {
    /* power may be negative: 1 / base^|power|. A base of 0 is the null space. */
    double base = op->alpha * k2 + op->gamma;
    factor = base == 0 ? op->null : op->scale * pow(base, op->power);
  } else {
    /* sigma_a is in grid cells and h_a k_a in radians a cell: the product has no unit */
    for (int a = 0; a < 3; a++) exponent += pow(op->sigma[a] * rb_grid_spacing(g, a) * k[a], 2);
    factor *= exp(-exponent / 2);
  }
  for (int c = 0; c < components; c++) u[c] *= factor;
}

/* All wave vectors of the full grid, also those that a real field's half spectrum leaves out. The Nyquist mode of
 * an even axis has wave number 0. */
static void multiply(ref_plan *p, const rb_spectral_op *op) {
  rb_grid g = p->head.desc.grid;
  int64_t at = 0;
  for (int64_t i = 0; i < g.n[0]; i++)
    for (int64_t j = 0; j < g.n[1]; j++)
      for (int64_t l = 0; l < g.n[2]; l++, at++) {
        /* signed whole numbers, also along x3: the full spectrum has negative ones there */
        double k[3] = {(double)rb_wavenumber(i, g.n[0]), (double)rb_wavenumber(j, g.n[1]),
                       (double)rb_wavenumber(l, g.n[2])};
        double complex u[3];
        for (int c = 0; c < p->head.desc.components; c++) u[c] = p->field[c][at];
        times_symbol(op, g, k, p->head.desc.components, u);
        for (int c = 0; c < p->head.desc.components; c++) p->field[c][at] = u[c];
      }
}

static double get(rb_dtype t, const void *x, int64_t i) {
  return t == RB_F64 ? ((const double *)x)[i] : (double)((const float *)x)[i];
}
static void put(rb_dtype t, void *x, int64_t i, double v) {
  if (t == RB_F64)
    ((double *)x)[i] = v;
  else
    ((float *)x)[i] = (float)v;
}

/* (F f)_k = sum_x f(x) exp(-i k x), axis after axis, in all components; field[c] holds the full spectrum. */
static void forward(ref_plan *p, const void *f) {
  const rb_spectral_desc *d = &p->head.desc;
  int64_t n = rb_grid_points(d->grid);
  for (int c = 0; c < d->components; c++) {
    for (int64_t i = 0; i < n; i++) p->field[c][i] = get(d->dtype, f, c * n + i);
    for (int a = 0; a < 3; a++) dft_axis(p->field[c], d->grid, a, -1, p->line);
  }
}
/* The forward sums are unscaled, 1/N is here. The imaginary part is what rounding left of zero. */
static void inverse(ref_plan *p, void *f) {
  const rb_spectral_desc *d = &p->head.desc;
  int64_t n = rb_grid_points(d->grid);
  for (int c = 0; c < d->components; c++) {
    for (int a = 0; a < 3; a++) dft_axis(p->field[c], d->grid, a, +1, p->line);
    for (int64_t i = 0; i < n; i++) put(d->dtype, f, c * n + i, creal(p->field[c][i]) / (double)n);
  }
}

/* Coefficient (i, j, l), l <= n3/2, of component c: where its pair starts, and c_k / (F f)_k. */
static int64_t pair_at(rb_grid g, int c, int64_t i, int64_t j, int64_t l) {
  /* an offset in reals: [components][n1][n2][n3/2 + 1] pairs (re, im) */
  return c * rb_spectral_coefficients(g) + 2 * ((i * g.n[1] + j) * (g.n[2] / 2 + 1) + l);
}
/* w_k / sqrt(N): sqrt(2) where the coefficient at l stands for its mirror image at n3 - l, too. Planes l = 0 and,
 * of an even axis, l = n3/2 hold their own mirror images. */
static double basis_weight(rb_grid g, int64_t l) {
  return (l == 0 || 2 * l == g.n[2] ? 1 : sqrt(2)) / sqrt((double)rb_grid_points(g));
}

/* Full spectra from half ones: the other half is the conjugate at -k.
 * (F f)_k = c_k / (w_k / sqrt(N)) for l <= n3/2 */
static void unpack(ref_plan *p, const void *c) {
  const rb_spectral_desc *d = &p->head.desc;
  rb_grid g = d->grid;
  for (int m = 0; m < d->components; m++)
    for (int64_t i = 0; i < g.n[0]; i++)
      for (int64_t j = 0; j < g.n[1]; j++)
        for (int64_t l = 0; l < g.n[2]; l++) {
          /* F(-k) = conj F(k) for a real field: coefficients beyond n3/2 come from (-i, -j, n3 - l), whose l is
           * stored */
          int mirrored = l > g.n[2] / 2;
          int64_t a = mirrored ? rb_wrap(-i, g.n[0]) : i, b = mirrored ? rb_wrap(-j, g.n[1]) : j,
                  e = mirrored ? g.n[2] - l : l;
          int64_t at = pair_at(g, m, a, b, e);
          double complex v = (get(d->dtype, c, at) + I * get(d->dtype, c, at + 1)) / basis_weight(g, e);
          p->field[m][(i * g.n[1] + j) * g.n[2] + l] = mirrored ? conj(v) : v;
        }
}
/* The half l <= n3/2 of the full spectrum, weighted; what is left out follows from it. */
static void pack(const ref_plan *p, void *c, int add) {
  const rb_spectral_desc *d = &p->head.desc;
  rb_grid g = d->grid;
  for (int m = 0; m < d->components; m++)
    for (int64_t i = 0; i < g.n[0]; i++)
      for (int64_t j = 0; j < g.n[1]; j++)
        for (int64_t l = 0; l <= g.n[2] / 2; l++) {
          int64_t at = pair_at(g, m, i, j, l);
          /* c_k = w_k (F f)_k / sqrt(N).  add: the coefficients that are there already stay, which analyse uses for
           * S_c c
           */
          double complex v = p->field[m][(i * g.n[1] + j) * g.n[2] + l] * basis_weight(g, l);
          put(d->dtype, c, at, creal(v) + (add ? get(d->dtype, c, at) : 0));
          put(d->dtype, c, at + 1, cimag(v) + (add ? get(d->dtype, c, at + 1) : 0));
        }
}

/* in == out is allowed: `in` has been copied into the full grids before `out` is written. */
static rb_status apply(rb_spectral_plan *head, const rb_spectral_op *op, const void *in, void *out) {
  ref_plan *p = (ref_plan *)head;
  forward(p, in);
  multiply(p, op);
  inverse(p, out);
  return RB_OK;
}
/* S on the full spectrum that c stands for, and back to coefficients; no transform. */
static rb_status scale(rb_spectral_plan *head, const rb_spectral_op *op, const void *c, void *out) {
  ref_plan *p = (ref_plan *)head;
  unpack(p, c);
  multiply(p, op);
  pack(p, out, 0);
  return RB_OK;
}
static rb_status analyse(rb_spectral_plan *head, const rb_spectral_op *of, const void *f, const rb_spectral_op *oc,
                         const void *c, void *out) {
  ref_plan *p = (ref_plan *)head;
  /* out = S_c c first, then S_f U f is added to it: out may be c, as scale reads all of c before it writes */
  if (c) scale(head, oc, c, out);
  forward(p, f);
  multiply(p, of);
  pack(p, out, c != NULL);
  return RB_OK;
}
/* f = U^-1 c: the weights undone, then the inverse transform with its 1/N. */
static rb_status synthesise(rb_spectral_plan *head, const void *c, void *f) {
  ref_plan *p = (ref_plan *)head;
  unpack(p, c);
  inverse(p, f);
  return RB_OK;
}

const rb_spectral_ops rb_spectral_ref = {supports, plan, apply, analyse, synthesise, scale, destroy};
