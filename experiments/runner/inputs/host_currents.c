/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/inputs/host_currents.h"

#include "experiments/runner/inputs/host_apply.h"
#include "kernels/registry/registry.h"

#include <stdlib.h>

rb_status rb_host_measure(const rb_variant *v, const rb_elements_desc *d, const void *vertices, void *centres,
                          void *moments) {
  rb_status st = RB_OK;
  const rb_backend *b = NULL;
  rb_elements_plan *plan = NULL;
  void *x = NULL, *c = NULL, *m = NULL;
  const size_t size = rb_dtype_size(d->dtype), bytes = 3 * (size_t)d->elements * size;
  RB_TRY(rb_elements_create(v, d, &plan));
  RB_TRY(rb_backend_get(v->backend, &b));
  RB_TRY(rb_to_backend(b, vertices, 3 * (size_t)d->vertices * size, &x));
  RB_TRY(rb_poisoned(b, bytes, &c));
  RB_TRY(rb_poisoned(b, bytes, &m));
  RB_TRY(rb_elements_measure(plan, x, c, m));
  RB_TRY(b->download(centres, c, bytes));
  RB_TRY(b->download(moments, m, bytes));
done:
  rb_elements_destroy(plan);
  if (b) rb_release(b, m), rb_release(b, c), rb_release(b, x);
  return st;
}

rb_status rb_host_gradient(const rb_variant *v, const rb_elements_desc *d, const void *vertices, const void *w,
                           const void *z, void *gradient) {
  rb_status st = RB_OK;
  const rb_backend *b = NULL;
  rb_elements_plan *plan = NULL;
  void *x = NULL, *first = NULL, *second = NULL, *g = NULL;
  const size_t size = rb_dtype_size(d->dtype), bytes = 3 * (size_t)d->elements * size,
               vertex_bytes = 3 * (size_t)d->vertices * size;
  RB_TRY(rb_elements_create(v, d, &plan));
  RB_TRY(rb_backend_get(v->backend, &b));
  RB_TRY(rb_to_backend(b, vertices, vertex_bytes, &x));
  RB_TRY(rb_to_backend(b, w, bytes, &first));
  RB_TRY(rb_to_backend(b, z, bytes, &second));
  RB_TRY(rb_poisoned(b, vertex_bytes, &g));
  RB_TRY(rb_elements_gradient(plan, x, first, second, g));
  RB_TRY(b->download(gradient, g, vertex_bytes));
done:
  rb_elements_destroy(plan);
  if (b) rb_release(b, g), rb_release(b, second), rb_release(b, first), rb_release(b, x);
  return st;
}

rb_status rb_host_currents(const rb_variant *v, const rb_currents_desc *d, const void *y, const void *m, int64_t n,
                           const void *x, const void *pair, void *u, void *z, double *energy) {
  rb_status st = RB_OK;
  const rb_backend *b = NULL;
  rb_currents_plan *plan = NULL;
  void *sources = NULL, *moments = NULL, *targets = NULL, *with = NULL, *field = NULL, *turn = NULL;
  const size_t size = rb_dtype_size(d->dtype), bytes = 3 * (size_t)d->sources * size, out = 3 * (size_t)n * size;
  RB_TRY(rb_currents_create(v, d, &plan));
  RB_TRY(rb_backend_get(v->backend, &b));
  RB_TRY(rb_to_backend(b, y, bytes, &sources));
  RB_TRY(rb_to_backend(b, m, bytes, &moments));
  RB_TRY(rb_currents_load(plan, sources, moments));
  if (energy) RB_TRY(rb_currents_energy(plan, energy));
  if (!u) goto done;
  RB_TRY(rb_to_backend(b, x, out, &targets));
  RB_TRY(rb_poisoned(b, out, &field));
  if (z) {
    RB_TRY(rb_to_backend(b, pair, out, &with));
    RB_TRY(rb_poisoned(b, out, &turn));
  }
  RB_TRY(rb_currents_eval(plan, n, targets, with, field, turn));
  RB_TRY(b->download(u, field, out));
  if (z) RB_TRY(b->download(z, turn, out));
done:
  rb_currents_destroy(plan);
  if (b) {
    rb_release(b, turn), rb_release(b, field), rb_release(b, with);
    rb_release(b, targets), rb_release(b, moments), rb_release(b, sources);
  }
  return st;
}

rb_status rb_mesh_moments(const rb_mesh *mesh, double **centres, double **moments) {
  rb_status st = RB_OK;
  const rb_elements_desc d = {
      .dimension = 2, .vertices = mesh->vertices, .elements = mesh->faces, .index = mesh->face, .dtype = RB_F64};
  const size_t bytes = 3 * (size_t)mesh->faces * sizeof(double);
  *centres = malloc(bytes), *moments = malloc(bytes);
  RB_CHECK(*centres && *moments, RB_ENOMEM, "host memory: moments of %lld faces", (long long)mesh->faces);
  RB_TRY(rb_host_measure(&rb_elements_family.variants[0], &d, mesh->x, *centres, *moments));
done:
  if (st != RB_OK) free(*centres), free(*moments), *centres = *moments = NULL;
  return st;
}
