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
  rb_array x = {0}, c = {0}, m = {0};
  RB_TRY(rb_elements_create(v, d, &plan));
  RB_TRY(rb_backend_get(v->backend, &b));
  RB_TRY(rb_to_backend(b, vertices, d->dtype, 3 * d->vertices, &x));
  RB_TRY(rb_poisoned(b, d->dtype, 3 * d->elements, &c));
  RB_TRY(rb_poisoned(b, d->dtype, 3 * d->elements, &m));
  RB_TRY(rb_elements_measure(plan, x, c, m));
  RB_TRY(rb_array_download(c, centres));
  RB_TRY(rb_array_download(m, moments));
done:
  rb_elements_destroy(plan);
  rb_array_destroy(&m), rb_array_destroy(&c), rb_array_destroy(&x);
  return st;
}

rb_status rb_host_gradient(const rb_variant *v, const rb_elements_desc *d, const void *vertices, const void *w,
                           const void *z, void *gradient) {
  rb_status st = RB_OK;
  const rb_backend *b = NULL;
  rb_elements_plan *plan = NULL;
  rb_array x = {0}, first = {0}, second = {0}, g = {0};
  RB_TRY(rb_elements_create(v, d, &plan));
  RB_TRY(rb_backend_get(v->backend, &b));
  RB_TRY(rb_to_backend(b, vertices, d->dtype, 3 * d->vertices, &x));
  RB_TRY(rb_to_backend(b, w, d->dtype, 3 * d->elements, &first));
  RB_TRY(rb_to_backend(b, z, d->dtype, 3 * d->elements, &second));
  RB_TRY(rb_poisoned(b, d->dtype, 3 * d->vertices, &g));
  RB_TRY(rb_elements_gradient(plan, x, first, second, g));
  RB_TRY(rb_array_download(g, gradient));
done:
  rb_elements_destroy(plan);
  rb_array_destroy(&g), rb_array_destroy(&second), rb_array_destroy(&first), rb_array_destroy(&x);
  return st;
}

rb_status rb_host_currents(const rb_variant *v, const rb_currents_desc *d, const void *y, const void *m, int64_t n,
                           const void *x, const void *pair, void *u, void *z, double *energy) {
  rb_status st = RB_OK;
  const rb_backend *b = NULL;
  rb_currents_plan *plan = NULL;
  rb_array sources = {0}, moments = {0}, targets = {0}, with = {0}, field = {0}, turn = {0};
  RB_TRY(rb_currents_create(v, d, &plan));
  RB_TRY(rb_backend_get(v->backend, &b));
  RB_TRY(rb_to_backend(b, y, d->dtype, 3 * d->sources, &sources));
  RB_TRY(rb_to_backend(b, m, d->dtype, 3 * d->sources, &moments));
  RB_TRY(rb_currents_load(plan, sources, moments));
  if (energy) RB_TRY(rb_currents_energy(plan, energy));
  if (!u) goto done;
  RB_TRY(rb_to_backend(b, x, d->dtype, 3 * n, &targets));
  RB_TRY(rb_poisoned(b, d->dtype, 3 * n, &field));
  if (z) {
    RB_TRY(rb_to_backend(b, pair, d->dtype, 3 * n, &with));
    RB_TRY(rb_poisoned(b, d->dtype, 3 * n, &turn));
  }
  RB_TRY(rb_currents_eval(plan, n, targets, with, field, turn));
  RB_TRY(rb_array_download(field, u));
  if (z) RB_TRY(rb_array_download(turn, z));
done:
  rb_currents_destroy(plan);
  rb_array_destroy(&turn), rb_array_destroy(&field), rb_array_destroy(&with);
  rb_array_destroy(&targets), rb_array_destroy(&moments), rb_array_destroy(&sources);
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
