/* Oracle of spectral: explicit DFT sums along one axis after the other, in double, over the full complex
 * grid. O(N (n1+n2+n3)). Shares no code with the fast variants. */
#include "kernels/spectral/spectral.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>

typedef struct {
  rb_spectral_plan head;
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
  int64_t n = g.n[axis], stride = axis == 2 ? 1 : axis == 1 ? g.n[2] : g.n[1] * g.n[2];
  for (int64_t start = 0; start < rb_grid_points(g); start++) {
    if (start / stride % n != 0) continue;
    for (int64_t k = 0; k < n; k++) {
      line[k] = 0;
      for (int64_t j = 0; j < n; j++)
        line[k] += u[start + j * stride] * cexp(sign * I * RB_TWO_PI * (double)(j * k % n) / (double)n);
    }
    for (int64_t k = 0; k < n; k++) u[start + k * stride] = line[k];
  }
}

static double symbol(const rb_spectral_op *op, rb_grid g, const double k[3]) {
  double k2 = k[0] * k[0] + k[1] * k[1] + k[2] * k[2], exponent = 0;
  switch (op->kind) {
    case RB_OP_HELMHOLTZ: {
      double base = op->alpha * k2 + op->gamma;
      return base == 0 ? op->null : op->scale * pow(base, op->power);
    }
    case RB_OP_GAUSSIAN:
      for (int a = 0; a < 3; a++) exponent += pow(op->sigma[a] * rb_grid_spacing(g, a) * k[a], 2);
      return exp(-exponent / 2);
    default: return k2 == 0 ? 0 : 1 / (1 + op->beta_v / (op->beta_w * (k2 + 1)));
  }
}

static void multiply(ref_plan *p, const rb_spectral_op *op) {
  rb_grid g = p->head.desc.grid;
  int64_t at = 0;
  for (int64_t i = 0; i < g.n[0]; i++)
    for (int64_t j = 0; j < g.n[1]; j++)
      for (int64_t l = 0; l < g.n[2]; l++, at++) {
        double k[3] = {(double)rb_wavenumber(i, g.n[0]), (double)rb_wavenumber(j, g.n[1]), (double)rb_wavenumber(l, g.n[2])};
        double s = symbol(op, g, k), k2 = k[0] * k[0] + k[1] * k[1] + k[2] * k[2];
        double complex dot = 0;
        if (op->kind == RB_OP_LERAY)
          for (int c = 0; c < 3; c++) dot += k[c] * p->field[c][at];
        for (int c = 0; c < p->head.desc.components; c++) {
          if (op->kind == RB_OP_LERAY)
            p->field[c][at] -= k2 == 0 ? 0 : s * k[c] * dot / k2;
          else
            p->field[c][at] *= s;
        }
      }
}

static rb_status apply(rb_spectral_plan *head, const rb_spectral_op *op, const void *in, void *out) {
  ref_plan *p = (ref_plan *)head;
  const rb_spectral_desc *d = &head->desc;
  int64_t n = rb_grid_points(d->grid);
  for (int c = 0; c < d->components; c++) {
    for (int64_t i = 0; i < n; i++)
      p->field[c][i] = d->dtype == RB_F64 ? ((const double *)in)[c * n + i] : (double)((const float *)in)[c * n + i];
    for (int a = 0; a < 3; a++) dft_axis(p->field[c], d->grid, a, -1, p->line);
  }
  multiply(p, op);
  for (int c = 0; c < d->components; c++) {
    for (int a = 0; a < 3; a++) dft_axis(p->field[c], d->grid, a, +1, p->line);
    for (int64_t i = 0; i < n; i++) {
      double v = creal(p->field[c][i]) / (double)n;
      if (d->dtype == RB_F64)
        ((double *)out)[c * n + i] = v;
      else
        ((float *)out)[c * n + i] = (float)v;
    }
  }
  return RB_OK;
}

const rb_spectral_ops rb_spectral_ref = {supports, plan, apply, destroy};
