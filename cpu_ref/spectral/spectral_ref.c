/* SPDX-License-Identifier: BSD-3-Clause */
/* Oracle of spectral: explicit DFT sums along one axis after the other, in double, over the full complex
 * grid. O(N (n1+n2+n3)). Shares no code with the fast variants. */
#include "cpu_ref/base/values.h"
#include "cpu_ref/spectral/spectral_ref.h"

#include <math.h>
#include <stdlib.h>

/* Full complex spectra of all components, one explicit DFT an axis: F_k = sum_x f(x) exp(-2 pi i k x / n) axis by
 * axis, the symbol at every wave vector, the inverse sums and 1/N. Half spectra exist only as the coefficients c of
 * the contract, which pack and unpack translate. */
static rb_status supports(const rb_spectral_desc *desc) {
  (void)desc;
  return RB_OK;
}

static void destroy(rb_spectral_plan *head) {
  rb_spectral_ref_plan *p = (rb_spectral_ref_plan *)head;
  for (int c = 0; c < 3; c++) rb_release(head->backend, p->field[c]);
  rb_release(head->backend, p->line);
  free(p);
}

static rb_status plan(const rb_backend *backend, const rb_spectral_desc *desc, rb_spectral_plan **out) {
  rb_status st = RB_OK;
  /* an upper bound of the longest axis */
  int64_t longest = desc->grid.n[0] + desc->grid.n[1] + desc->grid.n[2];
  rb_spectral_ref_plan *p = calloc(1, sizeof *p);
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

/* (F f)_k = sum_x f(x) exp(-i k x), axis after axis, in all components; field[c] holds the full spectrum. */
static void forward(rb_spectral_ref_plan *p, const void *f) {
  const rb_spectral_desc *d = &p->head.desc;
  int64_t n = rb_grid_points(d->grid);
  for (int c = 0; c < d->components; c++) {
    for (int64_t i = 0; i < n; i++) p->field[c][i] = rb_value_get(d->dtype, f, c * n + i);
    for (int a = 0; a < 3; a++) rb_spectral_ref_dft(p->field[c], d->grid, a, -1, p->line);
  }
}
/* The forward sums are unscaled, 1/N is here. The imaginary part is what rounding left of zero. */
static void inverse(rb_spectral_ref_plan *p, void *f) {
  const rb_spectral_desc *d = &p->head.desc;
  int64_t n = rb_grid_points(d->grid);
  for (int c = 0; c < d->components; c++) {
    for (int a = 0; a < 3; a++) rb_spectral_ref_dft(p->field[c], d->grid, a, +1, p->line);
    for (int64_t i = 0; i < n; i++) rb_value_put(d->dtype, f, c * n + i, creal(p->field[c][i]) / (double)n);
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
static void unpack(rb_spectral_ref_plan *p, const void *c) {
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
          double complex v =
              (rb_value_get(d->dtype, c, at) + I * rb_value_get(d->dtype, c, at + 1)) / basis_weight(g, e);
          p->field[m][(i * g.n[1] + j) * g.n[2] + l] = mirrored ? conj(v) : v;
        }
}
/* The half l <= n3/2 of the full spectrum, weighted; what is left out follows from it. */
static void pack(const rb_spectral_ref_plan *p, void *c, int add) {
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
          rb_value_put(d->dtype, c, at, creal(v) + (add ? rb_value_get(d->dtype, c, at) : 0));
          rb_value_put(d->dtype, c, at + 1, cimag(v) + (add ? rb_value_get(d->dtype, c, at + 1) : 0));
        }
}

/* in == out is allowed: `in` has been copied into the full grids before `out` is written. */
static rb_status apply(rb_spectral_plan *head, const rb_spectral_op *op, const void *in, void *out) {
  rb_spectral_ref_plan *p = (rb_spectral_ref_plan *)head;
  forward(p, in);
  rb_spectral_ref_multiply(p, op);
  inverse(p, out);
  return RB_OK;
}
/* S on the full spectrum that c stands for, and back to coefficients; no transform. */
static rb_status scale(rb_spectral_plan *head, const rb_spectral_op *op, const void *c, void *out) {
  rb_spectral_ref_plan *p = (rb_spectral_ref_plan *)head;
  unpack(p, c);
  rb_spectral_ref_multiply(p, op);
  pack(p, out, 0);
  return RB_OK;
}
static rb_status analyse(rb_spectral_plan *head, const rb_spectral_op *of, const void *f, const rb_spectral_op *oc,
                         const void *c, void *out) {
  rb_spectral_ref_plan *p = (rb_spectral_ref_plan *)head;
  /* out = S_c c first, then S_f U f is added to it: out may be c, as scale reads all of c before it writes */
  if (c) scale(head, oc, c, out);
  forward(p, f);
  rb_spectral_ref_multiply(p, of);
  pack(p, out, c != NULL);
  return RB_OK;
}
/* f = U^-1 c: the weights undone, then the inverse transform with its 1/N. */
static rb_status synthesise(rb_spectral_plan *head, const void *c, void *f) {
  rb_spectral_ref_plan *p = (rb_spectral_ref_plan *)head;
  unpack(p, c);
  inverse(p, f);
  return RB_OK;
}

const rb_spectral_ops rb_spectral_ref = {supports, plan, apply, analyse, synthesise, scale, destroy};
