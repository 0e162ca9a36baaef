/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/currents/currents_mesh.h"

#include <math.h>
#include <stdlib.h>

/* The grid's size and spacing have been checked by the front door. */
rb_status rb_currents_mesh_supports(const rb_currents_desc *d) {
  if (d->method == RB_CURRENTS_EXACT) return RB_FAIL(RB_EUNSUPPORTED, "a particle mesh has no exact sums");
  return d->splat ? RB_OK : RB_FAIL(RB_EINVAL, "currents: a particle mesh needs a variant of splat");
}

/* out[k] = sum_i exp(-r_i^2 / (2 sigma_c^2)) cos(2 pi k i / n),  r_i = min(i, n - i) h, for k < count: real, as the
 * samples are even. sample and wave hold n values each. */
static void transform_axis(const rb_currents_desc *d, int64_t n, int64_t count, double *sample, double *wave,
                           double *out) {
  for (int64_t i = 0; i < n; i++) {
    const double r = (double)(i < n - i ? i : n - i) * d->spacing;
    sample[i] = exp(-r * r / (2 * rb_currents_variance(d)));
    wave[i] = cos(RB_TWO_PI * (double)i / (double)n);
  }
  for (int64_t k = 0; k < count; k++) {
    out[k] = 0;
    for (int64_t i = 0; i < n; i++) out[k] += sample[i] * wave[k * i % n];
  }
}
/* The transform of the sampled kernel along each axis, in double, whatever the plan's type. The product of three such
 * numbers is the transform of the kernel on the grid. Along x3 the half spectrum. */
static rb_status make_kernel(rb_currents_mesh *p) {
  rb_status st = RB_OK;
  const rb_currents_desc *d = &p->made_for;
  const int64_t *n = d->grid.n, count[3] = {n[0], n[1], n[2] / 2 + 1};
  const size_t values = (size_t)(count[0] + count[1] + count[2]), size = rb_dtype_size(d->dtype),
               samples = (size_t)(n[0] + n[1] + n[2]);
  double *wide = malloc((values + 2 * samples) * sizeof *wide);
  /* both precisions are made, one of them is uploaded */
  float *narrow = malloc(values * sizeof *narrow);
  RB_CHECK(wide && narrow, RB_ENOMEM, "host memory");
  double *sample = wide + values, *wave = sample + samples, *axis = wide;
  for (int a = 0; a < 3; a++) {
    transform_axis(d, n[a], count[a], sample, wave, axis);
    axis += count[a];
  }
  for (int64_t k = 0; k < count[0]; k++) wide[k] *= rb_currents_amplitude(d); /* with one of the three factors */
  for (size_t k = 0; k < values; k++) narrow[k] = (float)wide[k];
  RB_TRY(rb_alloc(p->head.backend, values * size, &p->kernel));
  /* one array [n1 + n2 + n3/2 + 1], axis after axis, rounded once to the plan's type */
  RB_TRY(p->head.backend->upload(p->kernel, d->dtype == RB_F64 ? (void *)wide : (void *)narrow, values * size));
done:
  free(narrow), free(wide);
  return st;
}

static rb_splat_desc splat_of(const rb_currents_desc *d, int64_t np) {
  return (rb_splat_desc){.grid = d->grid,
                         .np = np,
                         .basis = d->method == RB_CURRENTS_CUBIC ? RB_SPLAT_CUBIC : RB_SPLAT_LINEAR,
                         .boundary = RB_PERIODIC,
                         .dtype = d->dtype,
                         .components = 3};
}

rb_status rb_currents_mesh_plan(const rb_backend *backend, const rb_currents_desc *d,
                                const rb_currents_mesh_parts *parts, rb_currents_plan **out) {
  rb_status st = RB_OK;
  const size_t size = rb_dtype_size(d->dtype), field = (size_t)rb_grid_points(d->grid) * size;
  const rb_splat_desc splat = splat_of(d, d->sources);
  /* energy[0] is the whole; behind it a place for each partial sum: a plane of x1, or a block */
  const int64_t partials = d->grid.n[0] > RB_CURRENTS_PARTIALS ? d->grid.n[0] : RB_CURRENTS_PARTIALS;
  rb_currents_mesh *p = calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  /* head.desc is filled in by the front door after this function has returned */
  p->head.backend = backend, p->parts = parts, p->made_for = *d;
  RB_TRY(rb_splat_create(d->splat, &splat, &p->splat));
  /* three fields at once */
  RB_TRY(rb_fft_create(parts->fft, backend, d->grid, d->dtype, 3, &p->fft));
  /* points [3][sources]; grid [3][N]; spectrum: three half spectra */
  RB_TRY(rb_alloc(backend, 3 * (size_t)d->sources * size, &p->points));
  RB_TRY(rb_alloc(backend, 3 * field, &p->grid));
  RB_TRY(rb_alloc(backend, 3 * rb_fft_bytes(d->grid, d->dtype), &p->spectrum));
  RB_TRY(rb_alloc(backend, (size_t)(1 + partials) * sizeof(double), (void **)&p->energy));
  RB_TRY(make_kernel(p));
  *out = &p->head;
  p = NULL;
done:
  if (p) rb_currents_mesh_destroy(&p->head);
  return st;
}

/* A splat of its own, whose sums are kept. */
rb_status rb_currents_mesh_set_fixed(rb_currents_plan *head, int64_t n, const void *y, const void *m) {
  rb_status st = RB_OK;
  rb_currents_mesh *p = (rb_currents_mesh *)head;
  const rb_currents_desc *d = &p->made_for;
  const rb_splat_desc splat = splat_of(d, n);
  const int64_t values = 3 * rb_grid_points(d->grid);
  const size_t size = rb_dtype_size(d->dtype);
  rb_splat_plan *once = NULL;
  void *points = NULL, *fixed = NULL;
  int64_t lost = 0;
  RB_CHECK(!p->fixed, RB_EINVAL, "currents: fixed sources are given once");
  RB_TRY(rb_splat_create(d->splat, &splat, &once));
  RB_TRY(rb_alloc(head->backend, 3 * (size_t)n * size, &points));
  RB_TRY(rb_alloc(head->backend, (size_t)values * size, &fixed));
  RB_TRY(p->parts->to_grid(p, n, y, points));
  RB_TRY(rb_splat_run(once, rb_array_view(head->backend, d->dtype, 3 * n, points),
                      rb_array_view(head->backend, d->dtype, 3 * n, m),
                      rb_array_view(head->backend, d->dtype, values, fixed)));
  RB_TRY(rb_splat_outcome(once, &lost)); /* waits */
  RB_CHECK(lost == 0, RB_EINVAL, "currents: %lld of %lld places or moments are no finite numbers", (long long)lost,
           (long long)n);
  p->fixed = fixed, fixed = NULL;
done:
  rb_splat_destroy(once);
  rb_release(head->backend, points), rb_release(head->backend, fixed);
  return st;
}

/* The loaded sources' moments on the grid, and the fixed ones. */
static rb_status splat_all(rb_currents_mesh *p, const void *m) {
  rb_status st = RB_OK;
  const rb_currents_desc *d = &p->made_for;
  const rb_backend *b = p->head.backend;
  const int64_t values = 3 * rb_grid_points(d->grid);
  const rb_array x = rb_array_view(b, d->dtype, 3 * d->sources, p->points),
                 masses = rb_array_view(b, d->dtype, 3 * d->sources, m),
                 grid = rb_array_view(b, d->dtype, values, p->grid);
  if (p->fixed && rb_splat_has_onto(d->splat))
    return rb_splat_onto(p->splat, x, masses, 1, rb_array_view(b, d->dtype, values, p->fixed), grid);
  RB_TRY(rb_splat_run(p->splat, x, masses, grid));
  if (p->fixed) RB_TRY(p->parts->add_fixed(p));
done:
  return st;
}

/* y -> grid units -> splat moments F -> F^ -> energy 1/N sum_k w_k K^ |F^|^2 and F^ <- K^ F^ / N
 * m is borrowed for the splat only; the last eval does not read it. */
rb_status rb_currents_mesh_load(rb_currents_plan *head, const void *y, const void *m) {
  rb_status st = RB_OK;
  rb_currents_mesh *p = (rb_currents_mesh *)head;
  const rb_currents_desc *d = &p->made_for;
  /* places to grid units; moments splat on the grid; F = transform; energy summed and F^ *= K^/N. The energy is then
   * known, the field is not: `grid` still holds the moments. */
  p->inverted = 0;
  RB_TRY(p->parts->to_grid(p, d->sources, y, p->points));
  RB_TRY(splat_all(p, m));
  RB_TRY(rb_fft_forward(p->fft, 3, p->grid, p->spectrum));
  RB_TRY(p->parts->filter(p));
done:
  return st;
}

/* The inverse transforms wait for the first who asks for the field. */
rb_status rb_currents_mesh_eval(rb_currents_plan *head, int64_t n, const void *x, const void *pair, void *u,
                                void *z) {
  rb_status st = RB_OK;
  rb_currents_mesh *p = (rb_currents_mesh *)head;
  /* destroys the spectrum, which nothing needs after this; 1/N was in the filter */
  if (!p->inverted) RB_TRY(rb_fft_inverse(p->fft, 3, p->spectrum, p->grid));
  p->inverted = 1;
  RB_TRY(p->parts->gather(p, n, x, pair, u, z));
done:
  return st;
}

rb_status rb_currents_mesh_energy(rb_currents_plan *head, double *kept) {
  rb_currents_mesh *p = (rb_currents_mesh *)head;
  return p->parts->keep(p, kept);
}
/* Waits for the splat's outcome: a sum that exceeded its type, or points that are not finite, are errors. */
rb_status rb_currents_mesh_outcome(rb_currents_plan *head) {
  rb_status st = RB_OK;
  rb_currents_mesh *p = (rb_currents_mesh *)head;
  int64_t lost = 0;
  RB_TRY(rb_splat_outcome(p->splat, &lost));
  RB_CHECK(lost == 0, RB_EINVAL, "currents: %lld of %lld places or moments are no finite numbers", (long long)lost,
           (long long)p->made_for.sources);
done:
  return st;
}

/* Also of a plan that was made in part: what was not made is NULL. */
void rb_currents_mesh_destroy(rb_currents_plan *head) {
  rb_currents_mesh *p = (rb_currents_mesh *)head;
  rb_splat_destroy(p->splat);
  rb_fft_destroy(p->fft);
  rb_release(head->backend, p->points), rb_release(head->backend, p->grid), rb_release(head->backend, p->fixed);
  rb_release(head->backend, p->spectrum), rb_release(head->backend, p->kernel);
  rb_release(head->backend, p->energy);
  free(p);
}
