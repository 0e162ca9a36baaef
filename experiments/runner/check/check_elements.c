/* SPDX-License-Identifier: BSD-3-Clause */
/* elements: against the oracle on a sphere and on random points, segments and triangles; closed surfaces; areas; the
 * gradient against differences. */
#include "experiments/runner/check/check.h"
#include "experiments/runner/inputs/host_currents.h"
#include "kernels/base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  rb_elements_desc d;
  int32_t *index;
  void *x, *w, *z;        /* [3][vertices], [3][elements] twice */
  void *got[3], *want[3]; /* centres, moments, gradient */
  int most_uses;          /* elements of a vertex */
} example;

static void release(example *e) {
  free(e->index), free(e->x), free(e->w), free(e->z);
  for (int k = 0; k < 3; k++) free(e->got[k]), free(e->want[k]);
}
/* Room for an example, places and derivatives at random. */
static int reserve(rb_checker *c, int dimension, int64_t vertices, int64_t elements, rb_dtype t, example *e) {
  const size_t size = rb_dtype_size(t), v = 3 * (size_t)vertices * size, f = 3 * (size_t)elements * size;
  *e = (example){.index = malloc((size_t)(elements * (dimension + 1)) * sizeof(int32_t)),
                 .x = malloc(v),
                 .w = malloc(f),
                 .z = malloc(f)};
  int ok = e->index && e->x && e->w && e->z;
  for (int k = 0; k < 3; k++) {
    e->got[k] = malloc(k < 2 ? f : v), e->want[k] = malloc(k < 2 ? f : v);
    ok = ok && e->got[k] && e->want[k];
  }
  e->d = (rb_elements_desc){dimension, vertices, elements, e->index, t};
  if (!ok) return rb_check_status(c, RB_FAIL(RB_ENOMEM, "host memory"), "elements");
  rb_check_random(t, e->x, 3 * vertices, 51), rb_check_random(t, e->w, 3 * elements, 52),
      rb_check_random(t, e->z, 3 * elements, 53);
  return 1;
}
static int make_random(rb_checker *c, int dimension, int64_t vertices, int64_t elements, rb_dtype t, example *e) {
  if (!reserve(c, dimension, vertices, elements, t, e)) return 0;
  for (int64_t i = 0; i < elements * (dimension + 1); i++)
    e->index[i] = (int32_t)(rb_rng_bits(54, (uint64_t)i) % (uint64_t)vertices);
  return 1;
}
static int make_sphere(rb_checker *c, int divisions, rb_dtype t, example *e) {
  const double centre[3] = {0.3, -0.2, 0.1};
  rb_mesh m;
  if (!rb_check_status(c, rb_mesh_sphere(divisions, 2, centre, &m), "a sphere")) return 0;
  const int ok = reserve(c, 2, m.vertices, m.faces, t, e);
  if (ok) {
    memcpy(e->index, m.face, 3 * (size_t)m.faces * sizeof *m.face);
    for (int64_t i = 0; i < 3 * m.vertices; i++) rb_check_set(t, e->x, i, m.x[i]);
  }
  rb_mesh_free(&m);
  return ok;
}

static rb_status both(const rb_variant *v, const example *e, void *const out[3]) {
  rb_status st = RB_OK;
  RB_TRY(rb_host_measure(v, &e->d, e->x, out[0], out[1]));
  RB_TRY(rb_host_gradient(v, &e->d, e->x, e->w, e->z, out[2]));
done:
  return st;
}

static void against_oracle(rb_checker *c, example *e, const char *name) {
  static const char *const what[3] = {"centres", "moments", "gradient"};
  const int64_t count[3] = {3 * e->d.elements, 3 * e->d.elements, 3 * e->d.vertices};
  int32_t *uses = calloc((size_t)e->d.vertices, sizeof *uses);
  for (int64_t i = 0; i < e->d.elements * (e->d.dimension + 1) && uses; i++)
    if (++uses[e->index[i]] > e->most_uses) e->most_uses = uses[e->index[i]];
  if (uses && rb_check_status(c, both(c->variant, e, e->got), "%s", name) &&
      rb_check_status(c, both(&rb_elements_family.variants[0], e, e->want), "oracle"))
    for (int k = 0; k < 3; k++)
      rb_check_value(c, rb_check_distance(e->d.dtype, e->got[k], e->want[k], count[k]),
                     rb_elements_tolerance(&e->d, k < 2 ? 1 : 1 + e->most_uses, 6), "%s of %s %s", what[k], name,
                     rb_dtype_name(e->d.dtype));
  free(uses);
}

/* Moments of a closed surface add up to nothing; their lengths to its area: 5 sqrt(3) a^2 of the icosahedron, whose
 * edge is a = radius / sin(2 pi/5), and what is missing to the sphere's falls some four times a division. */
static void closed(rb_checker *c, const example *e, int divisions, double *missing) {
  const int64_t n = e->d.elements;
  double sum[3] = {0}, area = 0, before = *missing;
  for (int64_t i = 0; i < n; i++) {
    double length = 0;
    for (int a = 0; a < 3; a++) {
      const double v = rb_check_at(e->d.dtype, e->got[1], a * n + i);
      sum[a] += v, length += v * v;
    }
    area += sqrt(length);
  }
  const double small = rb_elements_tolerance(&e->d, 1, 6) * sqrt((double)n), edge = 2 / sin(0.4 * M_PI);
  rb_check_value(c, fmax(fabs(sum[0]), fmax(fabs(sum[1]), fabs(sum[2]))), small, "sum of a closed surface's moments");
  *missing = 16 * M_PI - area;
  if (divisions == 0)
    rb_check_value(c, fabs(area - 5 * sqrt(3) * edge * edge), 20 * small, "area of an icosahedron");
  else
    rb_check_value(c, fabs(before / *missing - 3.7), 0.5, "area missing to a sphere, before over after a division");
}

/* f(x) = sum w.moment + z.centre along a direction: its difference is the gradient's product. */
static void taylor(rb_checker *c, example *e) {
  if (e->d.dtype != RB_F64) return;
  const int64_t nv = 3 * e->d.vertices, ne = 3 * e->d.elements;
  double *x = e->x, *direction = e->want[2], value[2], slope;
  const double h = 1e-4;
  rb_check_random(RB_F64, direction, nv, 55);
  slope = rb_check_dot(RB_F64, e->got[2], direction, nv);
  for (int s = 0; s < 2; s++) {
    for (int64_t i = 0; i < nv; i++) x[i] += (s ? -2 : 1) * h * direction[i];
    if (!rb_check_status(c, rb_host_measure(c->variant, &e->d, x, e->want[0], e->want[1]), "taylor")) return;
    value[s] = rb_check_dot(RB_F64, e->w, e->want[1], ne) + rb_check_dot(RB_F64, e->z, e->want[0], ne);
  }
  rb_check_value(c, fabs((value[0] - value[1]) / (2 * h) / slope - 1), 1e-7,
                 "gradient against differences, dimension %d", e->d.dimension);
}

void rb_check_elements(rb_checker *c) {
  for (int t = RB_F32; t <= RB_F64; t++) {
    const rb_elements_desc any = {.dimension = 2, .dtype = (rb_dtype)t};
    const int ok = ((const rb_elements_ops *)c->variant->ops)->supports(&any) == RB_OK;
    rb_clear();
    if (!ok) continue;
    example e;
    double missing = 0;
    for (int divisions = 0; divisions < 4; divisions++) {
      if (make_sphere(c, divisions, (rb_dtype)t, &e)) {
        against_oracle(c, &e, "a sphere");
        closed(c, &e, divisions, &missing);
        taylor(c, &e);
      }
      release(&e);
    }
    for (int dimension = 0; dimension <= 2; dimension++) {
      if (make_random(c, dimension, 7, 1, (rb_dtype)t, &e)) against_oracle(c, &e, "one element");
      release(&e);
      if (make_random(c, dimension, 300, 1001, (rb_dtype)t, &e))
        against_oracle(c, &e, "random elements"), taylor(c, &e);
      release(&e);
    }
    const int32_t wrong[3] = {0, 1, 3};
    const rb_elements_desc outside = {2, 3, 1, wrong, (rb_dtype)t};
    rb_elements_plan *plan;
    const rb_status st = rb_elements_create(c->variant, &outside, &plan);
    rb_clear();
    rb_elements_destroy(plan);
    rb_check_value(c, st == RB_EINVAL ? 0 : 1, 0, "an index outside the vertices is refused (0: it is)");
  }
}

void rb_check_elements_golden(rb_checker *c) {
  static const char *const names[3] = {"centres", "moments", "gradient"};
  const rb_variant *v = c->of_variant ? c->variant : &rb_elements_family.variants[0];
  example e;
  if (make_random(c, 2, 30, 41, RB_F32, &e) && rb_check_status(c, both(v, &e, e.got), "golden"))
    for (int k = 0; k < 3; k++)
      rb_check_golden(c, names[k], e.got[k], k < 2 ? 3 * 41 : 3 * 30, rb_elements_tolerance(&e.d, k < 2 ? 1 : 20, 2));
  release(&e);
}
