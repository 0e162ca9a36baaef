/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/elements/elements.h"

#include <float.h>
#include <stdlib.h>

static const rb_elements_ops *ops_of(const rb_elements_plan *p) { return p->variant->ops; }

static rb_status check(const rb_elements_desc *d) {
  const int corners = d->dimension + 1;
  rb_status st = RB_OK;
  RB_CHECK(d->dimension >= 0 && d->dimension <= 2, RB_EINVAL, "elements: dimension %d; 0, 1 and 2 work",
           d->dimension);
  RB_CHECK(d->vertices >= 1 && d->vertices <= (int64_t)1 << 30, RB_EINVAL, "elements: %lld vertices; 1 to 2^30 work",
           (long long)d->vertices);
  /* (dimension + 1) elements fit an int32, in which uses and their offsets are counted */
  RB_CHECK(d->elements >= 1 && d->elements <= (int64_t)1 << 28, RB_EINVAL, "elements: %lld elements; 1 to 2^28 work",
           (long long)d->elements);
  /* index: [elements][corners], element by element */
  for (int64_t i = 0; i < d->elements * corners; i++)
    RB_CHECK(d->index[i] >= 0 && d->index[i] < d->vertices, RB_EINVAL, "elements: element %lld has vertex %d of %lld",
             (long long)(i / corners), (int)d->index[i], (long long)d->vertices);
done:
  return st;
}

/* The uses of each vertex, and the indices corner by corner. */
static rb_status upload_tables(rb_elements_plan *p, const rb_elements_desc *d) {
  rb_status st = RB_OK;
  const int corners = d->dimension + 1;
  /* a use: one corner of one element, corner * elements + element, below 3 * 2^28 */
  const int64_t uses = d->elements * corners;
  const size_t index_bytes = (size_t)uses * sizeof(int32_t),
               first_bytes = (size_t)(d->vertices + 1) * sizeof(int32_t);
  /* planar [corners][elements]: neighbouring elements' corners lie side by side
   * first  [vertices + 1], and one more while it is filled
   * use    [uses]: corner * elements + element, by vertex, within a vertex in the elements' order */
  int32_t *planar = malloc(index_bytes), *first = calloc(1, first_bytes + sizeof(int32_t)),
          *use = malloc(index_bytes);
  RB_CHECK(planar && first && use, RB_ENOMEM, "host memory");
  /* first[v + 2] counts; summed, first[v + 1] is where v begins, and moves to where v + 1 does */
  for (int64_t e = 0; e < d->elements; e++)
    for (int c = 0; c < corners; c++) {
      const int32_t v = d->index[e * corners + c];
      planar[c * d->elements + e] = v;
      if (v + 2 <= d->vertices) first[v + 2]++;
    }
  for (int64_t v = 2; v <= d->vertices; v++) first[v] += first[v - 1];
  /* afterwards first[v] .. first[v + 1] are the uses of vertex v, and first[vertices] is their number */
  for (int64_t e = 0; e < d->elements; e++)
    for (int c = 0; c < corners; c++) use[first[d->index[e * corners + c] + 1]++] = (int32_t)(c * d->elements + e);
  /* tables on the backend; a failure leaves what is there to rb_elements_destroy */
  RB_TRY(rb_alloc(p->backend, index_bytes, (void **)&p->index));
  RB_TRY(rb_alloc(p->backend, first_bytes, (void **)&p->first));
  RB_TRY(rb_alloc(p->backend, index_bytes, (void **)&p->use));
  RB_TRY(p->backend->upload(p->index, planar, index_bytes));
  RB_TRY(p->backend->upload(p->first, first, first_bytes));
  RB_TRY(p->backend->upload(p->use, use, index_bytes));
done:
  free(use), free(first), free(planar);
  return st;
}

/* Indices are checked one by one before anything is allocated: kernels read vertices without a bound check. */
rb_status rb_elements_create(const rb_variant *variant, const rb_elements_desc *desc, rb_elements_plan **out) {
  rb_status st = RB_OK;
  rb_elements_plan *p = NULL;
  *out = NULL;
  RB_TRY(check(desc));
  p = calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  RB_TRY(rb_variant_backend(variant, &p->backend));
  /* the caller's index is not kept: it may go after this call */
  p->variant = variant, p->desc = *desc, p->desc.index = NULL;
  RB_TRY(ops_of(p)->supports(desc));
  RB_TRY(upload_tables(p, desc));
  *out = p;
  p = NULL;
done:
  rb_elements_destroy(p);
  return st;
}
/* centres and moments: [3][elements], in the vertices' unit of length (of triangles: moments in its square) */
rb_status rb_elements_measure(const rb_elements_plan *p, rb_array vertices, rb_array centres, rb_array moments) {
  rb_status st = RB_OK;
  RB_NEED(p, "elements", vertices, 3 * p->desc.vertices);
  RB_NEED(p, "elements", centres, 3 * p->desc.elements);
  RB_NEED(p, "elements", moments, 3 * p->desc.elements);
  RB_TRY(ops_of(p)->measure(p, vertices.data, centres.data, moments.data));
done:
  return st;
}
/* w = dE/dmoment, z = dE/dcentre, [3][elements];  gradient [3][vertices] is written, not added to */
rb_status rb_elements_gradient(const rb_elements_plan *p, rb_array vertices, rb_array w, rb_array z,
                               rb_array gradient) {
  rb_status st = RB_OK;
  RB_NEED(p, "elements", vertices, 3 * p->desc.vertices);
  RB_NEED(p, "elements", w, 3 * p->desc.elements);
  RB_NEED(p, "elements", z, 3 * p->desc.elements);
  RB_NEED(p, "elements", gradient, 3 * p->desc.vertices);
  RB_TRY(ops_of(p)->gradient(p, vertices.data, w.data, z.data, gradient.data));
done:
  return st;
}
void rb_elements_destroy(rb_elements_plan *p) {
  if (!p) return;
  /* NULL where no backend was found */
  if (p->backend) rb_release(p->backend, p->use), rb_release(p->backend, p->first), rb_release(p->backend, p->index);
  free(p);
}

/* 3 coordinates a vertex; 3 of centre and 3 of moment an element; dimension + 1 indices of four bytes an element */
double rb_elements_bytes(const rb_elements_desc *d) {
  return (double)rb_dtype_size(d->dtype) * (3.0 * (double)d->vertices + 6.0 * (double)d->elements) +
         (double)sizeof(int32_t) * (d->dimension + 1) * (double)d->elements;
}
/* A term has some ten roundings of differences, products and the division.
 * of a sum of `terms` terms of at most `size`: a vertex has as many as it has elements */
double rb_elements_tolerance(const rb_elements_desc *d, int terms, double size) {
  enum { ROUNDINGS = 10 };
  return ROUNDINGS * terms * rb_epsilon(d->dtype) * size;
}
