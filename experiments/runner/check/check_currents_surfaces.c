/* SPDX-License-Identifier: BSD-3-Clause */
/* currents: what norms and inner products of surfaces promise, whoever adds them up. S and T are spheres of 320 faces
 * that overlap; <S, T> = (|S + T|^2 - |S|^2 - |T|^2) / 2. */
#include "experiments/runner/check/check.h"
#include "experiments/runner/inputs/host_currents.h"
#include "kernels/splat/splat.h"

#include <math.h>
#include <stdlib.h>

enum { FACES = 320, MOST = 2 * FACES + FACES };
typedef struct {
  double y[3 * MOST], m[3 * MOST]; /* [n][3] */
  int n;
} set;
typedef struct {
  rb_checker *c;
  rb_currents_desc d;
  double small; /* relative error of a norm by rounding */
  const char *name;
  set s, t;
  double ss, tt; /* their squared norms */
} surfaces;

/* b's faces behind a's, their moments times `sign`. */
static void add(set *a, const set *b, int from, int to, double sign) {
  for (int i = from; i < to; i++, a->n++)
    for (int k = 0; k < 3; k++) a->y[3 * a->n + k] = b->y[3 * i + k], a->m[3 * a->n + k] = sign * b->m[3 * i + k];
}

static int make_sphere(rb_checker *c, double x, double radius, set *out) {
  const double centre[3] = {x, 0, 0};
  rb_mesh mesh = {0};
  double *centres = NULL, *moments = NULL;
  const int ok = rb_check_status(c, rb_mesh_sphere(2, radius, centre, &mesh), "a sphere") &&
                 rb_check_status(c, rb_mesh_moments(&mesh, &centres, &moments), "its moments");
  out->n = ok ? (int)mesh.faces : 0;
  for (int i = 0; i < out->n; i++)
    for (int k = 0; k < 3; k++)
      out->y[3 * i + k] = centres[k * out->n + i], out->m[3 * i + k] = moments[k * out->n + i];
  free(moments), free(centres);
  rb_mesh_free(&mesh);
  return ok;
}

/* The squared norm, and where `total` is given the sum of its derivatives by all places, over the sum of their sizes.
 */
static int norm_of(const surfaces *q, const set *a, double *out, double *total) {
  static float y4[3 * MOST], m4[3 * MOST], u4[3 * MOST], z4[3 * MOST];
  static double y8[3 * MOST], m8[3 * MOST], u8[3 * MOST], z8[3 * MOST];
  const int f64 = q->d.dtype == RB_F64, n = a->n;
  rb_currents_desc d = q->d;
  d.sources = d.targets = n;
  for (int i = 0; i < n; i++)
    for (int k = 0; k < 3; k++) {
      y8[k * n + i] = a->y[3 * i + k], m8[k * n + i] = a->m[3 * i + k];
      y4[k * n + i] = (float)a->y[3 * i + k], m4[k * n + i] = (float)a->m[3 * i + k];
    }
  const void *y = f64 ? (void *)y8 : (void *)y4, *m = f64 ? (void *)m8 : (void *)m4;
  void *u = f64 ? (void *)u8 : (void *)u4, *z = f64 ? (void *)z8 : (void *)z4;
  const rb_status st = total ? rb_host_currents(q->c->variant, &d, y, m, n, y, m, u, z, out)
                             : rb_host_currents(q->c->variant, &d, y, m, 0, NULL, NULL, NULL, NULL, out);
  double sum[3] = {0}, size = 0;
  for (int i = 0; i < 3 * n && total; i++) {
    const double v = f64 ? z8[i] : (double)z4[i];
    sum[i / n] += v, size += fabs(v);
  }
  if (total) *total = sqrt(sum[0] * sum[0] + sum[1] * sum[1] + sum[2] * sum[2]) / size;
  return rb_check_status(q->c, st, "currents %s of a surface", q->name);
}

static int product(const surfaces *q, const set *a, double aa, const set *b, int from, int to, double *out) {
  set all = *a, part = {.n = 0};
  double both, bb;
  add(&all, b, from, to, 1), add(&part, b, from, to, 1);
  if (!norm_of(q, &all, &both, NULL) || !norm_of(q, &part, &bb, NULL)) return 0;
  *out = (both - aa - bb) / 2;
  return 1;
}

static void order_of_faces(const surfaces *q) {
  set back = {.n = 0}, difference = q->s;
  double norm;
  for (int i = q->s.n - 1; i >= 0; i--) add(&back, &q->s, i, i + 1, 1);
  if (norm_of(q, &back, &norm, NULL))
    rb_check_value(q->c, fabs(norm / q->ss - 1), q->small, "norm of the faces in reverse order, %s", q->name);
  add(&difference, &back, 0, back.n, -1);
  if (norm_of(q, &difference, &norm, NULL))
    rb_check_value(q->c, fabs(norm) / q->ss, q->small, "norm of a surface without itself in reverse order, %s",
                   q->name);
}

/* Every face as two halves, a tenth of sigma to either side: the same to first order. */
static void split_faces(const surfaces *q) {
  static const double APART = 0.1;
  set halves = {.n = 0};
  double norm;
  for (int side = -1; side <= 1; side += 2)
    for (int i = 0; i < q->s.n; i++) {
      add(&halves, &q->s, i, i + 1, 0.5);
      const double *m = &q->s.m[3 * i], tangent[3] = {m[1], -m[0], 0}, size = hypot(m[0], m[1]);
      for (int k = 0; k < 2 && size > 0; k++)
        halves.y[3 * (halves.n - 1) + k] += side * APART * q->d.sigma * tangent[k] / size;
    }
  add(&halves, &q->s, 0, q->s.n, -1);
  if (!norm_of(q, &halves, &norm, NULL)) return;
  rb_check_value(q->c, norm / q->ss, pow(APART, 4) + q->small, "norm of a surface without itself in halves, %s",
                 q->name);
  if (q->d.dtype == RB_F64 && rb_currents_pair_error(q->c->variant) == 0)
    rb_check_value(q->c, -norm / q->ss, -1e-9, "which is small, not 0, %s", q->name);
}

static void flipped(const surfaces *q) {
  set with = q->s, without = q->s;
  double sum, difference;
  add(&with, &q->t, 0, q->t.n, 1), add(&without, &q->t, 0, q->t.n, -1);
  if (norm_of(q, &with, &sum, NULL) && norm_of(q, &without, &difference, NULL))
    rb_check_value(q->c, fabs(sum + difference - 2 * q->ss - 2 * q->tt) / q->ss, 4 * q->small,
                   "<S, T> and <S, -T> cancel, %s", q->name);
}

static void pieces(const surfaces *q) {
  const int cut = q->t.n / 3;
  double whole, one, two;
  if (product(q, &q->s, q->ss, &q->t, 0, q->t.n, &whole) && product(q, &q->s, q->ss, &q->t, 0, cut, &one) &&
      product(q, &q->s, q->ss, &q->t, cut, q->t.n, &two))
    rb_check_value(q->c, fabs(one + two - whole) / q->ss, 4 * q->small, "<S, T> is the sum over T's pieces, %s",
                   q->name);
}

/* About the axis (1, 2, 2) / 3, by 0.7: exact sums alone know no directions. */
static void turned(const surfaces *q) {
  const double axis[3] = {1.0 / 3, 2.0 / 3, 2.0 / 3}, cosine = cos(0.7), sine = sin(0.7);
  set all = q->s, other = {.n = 0};
  double norm, before;
  add(&all, &q->t, 0, q->t.n, -1);
  add(&other, &all, 0, all.n, 1);
  double *const vectors[2] = {other.y, other.m};
  for (int what = 0; what < 2; what++)
    for (int i = 0; i < other.n; i++) {
      double *v = &vectors[what][3 * i];
      const double along = (1 - cosine) * (axis[0] * v[0] + axis[1] * v[1] + axis[2] * v[2]),
                   cross[3] = {axis[1] * v[2] - axis[2] * v[1], axis[2] * v[0] - axis[0] * v[2],
                               axis[0] * v[1] - axis[1] * v[0]};
      for (int k = 0; k < 3; k++) v[k] = cosine * v[k] + sine * cross[k] + along * axis[k];
    }
  if (norm_of(q, &all, &before, NULL) && norm_of(q, &other, &norm, NULL))
    rb_check_value(q->c, fabs(norm - before) / q->ss, 4 * q->small, "distance of both surfaces turned, %s", q->name);
}

/* Nothing changes where all is moved alike: exact sums' gradient adds up to 0 over both surfaces. */
static void gradient(const surfaces *q) {
  set all = q->s;
  double norm, total;
  add(&all, &q->t, 0, q->t.n, -1);
  if (norm_of(q, &all, &norm, &total))
    rb_check_value(q->c, total, q->small, "sum of the gradient over both surfaces, over its size, %s", q->name);
}

void rb_check_currents_surfaces(rb_checker *c, rb_dtype t, int method, const char *name) {
  static surfaces q; /* large */
  const double low[3] = {-3, -3, -3}, high[3] = {3, 3, 3};
  q = (surfaces){.c = c, .name = name};
  q.d = (rb_currents_desc){
      .method = (rb_currents_method)method, .sigma = 1, .sources = 1, .targets = 1, .dtype = t, .spacing = 0.5};
  q.small = (t == RB_F64 ? 1e-12 : 1e-5) + rb_currents_pair_error(c->variant);
  if (method != RB_CURRENTS_EXACT) {
    rb_currents_fit_grid(low, high, &q.d);
    if (rb_variant_find(&rb_splat_family, c->variant->backend == RB_CUDA ? "cuda/fixed64" : "cpu/omp", &q.d.splat) !=
        RB_OK)
      rb_clear();
  }
  const int able = ((const rb_currents_ops *)c->variant->ops)->supports(&q.d) == RB_OK;
  rb_clear();
  if (!able || !make_sphere(c, 0, 2, &q.s) || !make_sphere(c, 0.5, 1.8, &q.t)) return;
  if (!norm_of(&q, &q.s, &q.ss, NULL) || !norm_of(&q, &q.t, &q.tt, NULL)) return;
  order_of_faces(&q), split_faces(&q), flipped(&q), pieces(&q);
  if (method == RB_CURRENTS_EXACT) turned(&q), gradient(&q);
}
