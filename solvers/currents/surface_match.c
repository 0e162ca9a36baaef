/* SPDX-License-Identifier: BSD-3-Clause */
#include "solvers/currents/surface_match.h"

#include "kernels/elements/elements.h"
#include "kernels/field/field.h"
#include "kernels/registry/registry.h"
#include "solvers/common/field_variant.h"

#include <math.h>
#include <stdlib.h>

/* Exact sums hold two sets of sources, so that what is constant is summed once:
 *   E = <S,S> - 2<S,T> + <T,T> = 2 m.(u_S - u_T) - m.u_S + <T,T>.
 * A particle mesh holds the signed union, whose energy comes from one spectrum; -T stands still in it and is splat
 * once where the variant can keep it and that pays, else with every load. */
struct rb_surface_match {
  const rb_backend *backend;
  rb_currents_desc d;                   /* method, sigma, type; the fitted grid */
  double low[3], high[3];               /* both surfaces' box at the start */
  int64_t faces, fixed_faces, vertices; /* of S; of T; of S */
  rb_elements_plan *elements;           /* of S: vertices to faces and back */
  rb_field_plan *field;
  rb_currents_plan *moving, *fixed; /* exact: S, and -T; a mesh: the union in `moving` */
  rb_array c, m, u, z;              /* [3][faces]: centres, moments, field, derivative */
  rb_array u_fixed, z_fixed;        /* [3][faces]; exact sums alone */
  rb_array fixed_c, fixed_m;        /* [3][fixed_faces], moments negated */
  rb_array both_c, both_m;          /* [3][faces + fixed_faces]; a mesh that keeps no sources alone */
  int keeps;                        /* the mesh keeps -T */
  rb_array kept;                    /* float64 [RB_SURFACE_MATCH_KEPT] of evaluations that wait */
  double fixed_energy;              /* <T, T> */
};

/* One variant of centres and moments a backend. */
static const rb_variant *elements_variant(rb_backend_kind kind) {
  const rb_variant *v = NULL;
  rb_variant_find(&rb_elements_family, kind == RB_CUDA ? "cuda/grid" : "cpu/omp", &v);
  return v;
}

/* A surface is its triangles (dimension 2): the centre of each, and its moment, half the cross product of two edges,
 * which is the area's normal. The plan copies the indices. */
static rb_status open_elements(const rb_surface_match *q, const rb_surface *s, rb_elements_plan **out) {
  const rb_elements_desc e = {
      .dimension = 2, .vertices = s->vertices, .elements = s->faces, .index = s->face, .dtype = q->d.dtype};
  return rb_elements_create(elements_variant(q->backend->kind), &e, out);
}

/* Centres and negated moments of the fixed surface. Once, as T stands still. Negated, so that fields of S and of -T
 * simply add. */
static rb_status measure_fixed(rb_surface_match *q, const rb_surface *fixed) {
  rb_status st = RB_OK;
  rb_elements_plan *e = NULL;
  rb_array x = rb_array_none();
  RB_TRY(open_elements(q, fixed, &e));
  RB_TRY(rb_array_create(q->backend, q->d.dtype, 3 * fixed->vertices, &x));
  RB_TRY(rb_array_put_doubles(x, fixed->x));
  RB_TRY(rb_array_create(q->backend, q->d.dtype, 3 * fixed->faces, &q->fixed_c));
  RB_TRY(rb_array_create(q->backend, q->d.dtype, 3 * fixed->faces, &q->fixed_m));
  RB_TRY(rb_elements_measure(e, x, q->fixed_c, q->fixed_m));
  RB_TRY(rb_field_combine(q->field, 3 * fixed->faces, 0, rb_array_none(), 0, rb_array_none(), -1, q->fixed_m));
done:
  rb_elements_destroy(e);
  rb_array_destroy(&x);
  return st;
}

/* Planar arrays: a copy per coordinate. */
rb_status rb_planar_copy(rb_field_plan *field, int64_t n, double scale, rb_planar from, rb_planar to) {
  rb_status st = RB_OK;
  for (int a = 0; a < 3; a++)
    RB_TRY(rb_field_combine(field, n, scale, rb_array_part(from.a, a * from.all + from.at, n), 0, rb_array_none(), 0,
                            rb_array_part(to.a, a * to.all + to.at, n)));
done:
  return st;
}
/* n faces' values [3][n] into the union: S takes places 0 .. faces - 1, -T those behind it. */
static rb_status put(const rb_surface_match *q, rb_array from, int64_t n, int64_t at, rb_array to) {
  return rb_planar_copy(q->field, n, 1, (rb_planar){from, 0, n}, (rb_planar){to, at, q->faces + q->fixed_faces});
}

/* The box of both surfaces, axis by axis. */
static void find_box(rb_surface_match *q, const rb_surface *moving, const rb_surface *fixed) {
  for (int a = 0; a < 3; a++) {
    q->low[a] = INFINITY, q->high[a] = -INFINITY;
    for (int64_t v = 0; v < moving->vertices; v++)
      q->low[a] = fmin(q->low[a], moving->x[a * moving->vertices + v]),
      q->high[a] = fmax(q->high[a], moving->x[a * moving->vertices + v]);
    for (int64_t v = 0; v < fixed->vertices; v++)
      q->low[a] = fmin(q->low[a], fixed->x[a * fixed->vertices + v]),
      q->high[a] = fmax(q->high[a], fixed->x[a * fixed->vertices + v]);
  }
}

/* Two plans: S with its own places as targets, loaded anew at every evaluation, and -T, loaded once, evaluated at the
 * places of S. <T, T> is summed here, once: the sign of the moments does not matter to it. */
static rb_status open_exact(rb_surface_match *q, const rb_variant *v) {
  rb_status st = RB_OK;
  rb_currents_desc d = q->d;
  d.sources = q->faces, d.targets = q->faces;
  RB_TRY(rb_currents_create(v, &d, &q->moving));
  d.sources = q->fixed_faces, d.targets = q->faces > q->fixed_faces ? q->faces : q->fixed_faces;
  RB_TRY(rb_currents_create(v, &d, &q->fixed));
  RB_TRY(rb_currents_load(q->fixed, q->fixed_c, q->fixed_m));
  RB_TRY(rb_currents_energy(q->fixed, &q->fixed_energy));
  if (!q->u_fixed.data) RB_TRY(rb_array_create(q->backend, q->d.dtype, 3 * q->faces, &q->u_fixed));
  if (!q->z_fixed.data) RB_TRY(rb_array_create(q->backend, q->d.dtype, 3 * q->faces, &q->z_fixed));
done:
  return st;
}
/* What is kept is read with every load, 3 values a node; splat anew, a face adds 24. On fine grids the latter is
 * less.
 */
static int keeping_pays(const rb_surface_match *q) { return 16 * q->fixed_faces >= rb_grid_points(q->d.grid); }
/* <T, T> comes from the mesh before S has moments: the same discretisation error as in the union's energy. */
static rb_status open_keeping_mesh(rb_surface_match *q, const rb_variant *v) {
  rb_status st = RB_OK;
  rb_currents_desc d = q->d;
  d.sources = d.targets = q->faces;
  RB_TRY(rb_currents_create(v, &d, &q->moving));
  RB_TRY(rb_currents_set_fixed(q->moving, q->fixed_faces, q->fixed_c, q->fixed_m));
  RB_TRY(rb_array_fill(q->c, 0));
  RB_TRY(rb_array_fill(q->m, 0));
  RB_TRY(rb_currents_load(q->moving, q->c, q->m));
  RB_TRY(rb_currents_energy(q->moving, &q->fixed_energy));
done:
  return st;
}
/* One plan of the union, -T at its end for good; evaluations write the other part only. */
static rb_status open_mesh(rb_surface_match *q, const rb_variant *v) {
  rb_status st = RB_OK;
  rb_currents_desc d = q->d;
  d.sources = q->faces + q->fixed_faces, d.targets = q->faces; /* read at S only */
  RB_TRY(rb_currents_create(v, &d, &q->moving));
  if (!q->both_c.data) RB_TRY(rb_array_create(q->backend, q->d.dtype, 3 * d.sources, &q->both_c));
  if (!q->both_m.data) RB_TRY(rb_array_create(q->backend, q->d.dtype, 3 * d.sources, &q->both_m));
  RB_TRY(rb_array_fill(q->both_c, 0));
  RB_TRY(rb_array_fill(q->both_m, 0));
  RB_TRY(put(q, q->fixed_c, q->fixed_faces, q->faces, q->both_c));
  RB_TRY(put(q, q->fixed_m, q->fixed_faces, q->faces, q->both_m));
  RB_TRY(rb_currents_load(q->moving, q->both_c, q->both_m));
  RB_TRY(rb_currents_energy(q->moving, &q->fixed_energy));
done:
  return st;
}

/* A mesh's grid is fitted to the box at the start and stays until the next kernel, so that energies of one kernel are
 * comparable. What moves beyond its margin wraps around. Exact sums have no mesh, and a grid that was given stays. */
rb_status rb_surface_match_set_kernel(rb_surface_match *q, const rb_surface_match_desc *desc) {
  rb_status st = RB_OK;
  RB_CHECK(desc->currents.dtype == q->d.dtype, RB_EINVAL, "a surface match keeps its type");
  rb_currents_destroy(q->moving), rb_currents_destroy(q->fixed);
  q->moving = q->fixed = NULL;
  q->d = desc->currents;
  const int exact = q->d.method == RB_CURRENTS_EXACT;
  if (!exact && q->d.grid.n[0] == 0) rb_currents_fit_grid(q->low, q->high, &q->d);
  q->keeps = !exact && rb_currents_takes_fixed(desc->variant) && keeping_pays(q);
  RB_TRY(exact      ? open_exact(q, desc->variant)
         : q->keeps ? open_keeping_mesh(q, desc->variant)
                    : open_mesh(q, desc->variant));
done:
  return st;
}

/* The field plan is as long as the longest array it works on. The fixed surface is measured before a kernel's plans
 * load it. */
rb_status rb_surface_match_create(const rb_surface_match_desc *desc, const rb_surface *moving,
                                  const rb_surface *fixed, rb_surface_match **out) {
  rb_status st = RB_OK;
  const int64_t most = moving->faces > fixed->faces ? moving->faces : fixed->faces;
  const rb_field_desc field = {3 * (most > moving->vertices ? most : moving->vertices), desc->currents.dtype};
  rb_surface_match *q = calloc(1, sizeof *q);
  *out = NULL;
  RB_CHECK(q, RB_ENOMEM, "host memory");
  q->d = desc->currents, q->faces = moving->faces, q->fixed_faces = fixed->faces, q->vertices = moving->vertices;
  RB_TRY(rb_variant_backend(desc->variant, &q->backend));
  find_box(q, moving, fixed);
  RB_TRY(rb_field_create(rb_field_variant(q->backend->kind), &field, &q->field));
  RB_TRY(open_elements(q, moving, &q->elements));
  rb_array *const own[4] = {&q->c, &q->m, &q->u, &q->z};
  for (int k = 0; k < 4; k++) RB_TRY(rb_array_create(q->backend, q->d.dtype, 3 * q->faces, own[k]));
  RB_TRY(rb_array_create(q->backend, RB_F64, RB_SURFACE_MATCH_KEPT, &q->kept));
  RB_TRY(measure_fixed(q, fixed));
  RB_TRY(rb_surface_match_set_kernel(q, desc));
  *out = q;
  q = NULL;
done:
  rb_surface_match_destroy(q);
  return st;
}

/* u of S at its own places, then u of -T there. Kept are own = m.u_S and all = m.(u_S - u_T). u and z end as the sums
 * of both, which is what the gradient is made of. */
static rb_status eval_exact(rb_surface_match *q, rb_array kept, int gradient) {
  rb_status st = RB_OK;
  const int64_t values = 3 * q->faces;
  RB_TRY(rb_currents_load(q->moving, q->c, q->m));
  RB_TRY(rb_currents_eval(q->moving, q->faces, q->c, q->m, q->u, gradient ? q->z : rb_array_none()));
  RB_TRY(rb_currents_eval(q->fixed, q->faces, q->c, q->m, q->u_fixed, gradient ? q->z_fixed : rb_array_none()));
  RB_TRY(rb_field_dot_kept(q->field, values, q->m, q->u, rb_array_part(kept, 0, 1)));
  RB_TRY(rb_field_combine(q->field, values, 1, q->u_fixed, 0, rb_array_none(), 1, q->u));
  if (gradient) RB_TRY(rb_field_combine(q->field, values, 1, q->z_fixed, 0, rb_array_none(), 1, q->z));
  RB_TRY(rb_field_dot_kept(q->field, values, q->m, q->u, rb_array_part(kept, 1, 1)));
done:
  return st;
}
/* Both surfaces in one mesh: kept is the union's energy, by its spectrum, and u and z at the places of S are those of
 * S
 * - T at once. u and z are written only where a gradient is asked for. */
static rb_status eval_mesh(rb_surface_match *q, rb_array kept, int gradient) {
  rb_status st = RB_OK;
  if (!q->keeps) {
    RB_TRY(put(q, q->c, q->faces, 0, q->both_c));
    RB_TRY(put(q, q->m, q->faces, 0, q->both_m));
  }
  RB_TRY(rb_currents_load(q->moving, q->keeps ? q->c : q->both_c, q->keeps ? q->m : q->both_m));
  if (gradient) RB_TRY(rb_currents_eval(q->moving, q->faces, q->c, q->m, q->u, q->z));
  RB_TRY(rb_currents_energy_kept(q->moving, rb_array_part(kept, 0, 1)));
done:
  return st;
}

/* 2u and 2z are the derivatives of E by the moments and centres of S; elements carries them to the vertices, and the
 * factor 2 comes last. */
rb_status rb_surface_match_issue(rb_surface_match *q, rb_array vertices, rb_array kept, rb_array gradient) {
  rb_status st = RB_OK;
  RB_TRY(rb_elements_measure(q->elements, vertices, q->c, q->m)); /* as S is now */
  RB_TRY(q->d.method == RB_CURRENTS_EXACT ? eval_exact(q, kept, gradient.data != NULL)
                                          : eval_mesh(q, kept, gradient.data != NULL));
  if (gradient.data) {
    RB_TRY(rb_elements_gradient(q->elements, vertices, q->u, q->z, gradient));
    RB_TRY(rb_field_combine(q->field, 3 * q->vertices, 0, rb_array_none(), 0, rb_array_none(), 2, gradient));
  }
done:
  return st;
}

double rb_surface_match_energy(const rb_surface_match *q, const double kept[RB_SURFACE_MATCH_KEPT]) {
  return q->d.method == RB_CURRENTS_EXACT ? 2 * kept[1] - kept[0] + q->fixed_energy : kept[0];
}
rb_status rb_surface_match_outcome(rb_surface_match *q) { return rb_currents_outcome(q->moving); }
rb_status rb_surface_match_eval(rb_surface_match *q, rb_array vertices, double *energy, rb_array gradient) {
  rb_status st = RB_OK;
  double kept[RB_SURFACE_MATCH_KEPT];
  RB_TRY(rb_surface_match_issue(q, vertices, q->kept, gradient));
  RB_TRY(rb_surface_match_outcome(q));
  RB_TRY(rb_array_download(q->kept, kept));
  *energy = rb_surface_match_energy(q, kept);
done:
  return st;
}

void rb_surface_match_parts(const rb_surface_match *q, rb_array *centres, rb_array *moments, rb_array *u,
                            rb_array *z) {
  *centres = q->c, *moments = q->m, *u = q->u, *z = q->z;
}
double rb_surface_match_fixed(const rb_surface_match *q) { return q->fixed_energy; }
const rb_currents_desc *rb_surface_match_currents(const rb_surface_match *q) { return &q->d; }

void rb_surface_match_destroy(rb_surface_match *q) {
  if (!q) return;
  rb_currents_destroy(q->moving), rb_currents_destroy(q->fixed);
  rb_elements_destroy(q->elements);
  rb_field_destroy(q->field);
  rb_array *const all[] = {&q->c,       &q->m,       &q->u,      &q->z,      &q->u_fixed, &q->z_fixed,
                           &q->fixed_c, &q->fixed_m, &q->both_c, &q->both_m, &q->kept};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) rb_array_destroy(all[k]);
  free(q);
}
