/* SPDX-License-Identifier: BSD-3-Clause */
/* Baseline of splat on the CPU: all cores, no atomics. Planes of x1 lie in slabs; a point is listed, in its order,
 * with every slab that its nodes touch; a thread takes a slab and adds its points' contributions to its planes alone.
 * The order of a node's sum is that of the points, whatever the number of threads. */
#include "cpu_ref/splat/splat_cpu.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum {
  PLANES = 4,
  TOUCHED = 4,
  PARTS = 64
}; /* planes of a slab; slabs that a point may touch; pieces of the points */

typedef struct {
  rb_splat_plan head;
  int64_t slabs, lost;
  int64_t *first; /* [PARTS][slabs + 1]: where a piece's points of a slab begin in `list` */
  /* offsets are 64 bits, points 32: np is at most 2^30, the list may hold four entries a point */
  int64_t *begin; /* [slabs + 1] */
  int32_t *list;  /* points by slab */
} omp_plan;

static rb_status supports(const rb_splat_desc *d) {
  (void)d;
  return RB_OK;
}
/* Two slabs a point at most where its nodes lie in a row of up to four planes; up to four where they are clamped. */
static int64_t listed_most(const rb_splat_desc *d) {
  /* an upper bound of the list, known before the points are */
  const int64_t slabs = (d->grid.n[0] + PLANES - 1) / PLANES;
  return d->np * (slabs < TOUCHED ? slabs : TOUCHED);
}
static size_t workspace(const rb_splat_desc *d) { return (size_t)listed_most(d) * sizeof(int32_t); }
/* Also of plans that were made in part. */
static void destroy(rb_splat_plan *head) {
  omp_plan *p = (omp_plan *)head;
  rb_release(head->backend, p->list);
  free(p->first), free(p->begin);
  free(p);
}
static rb_status plan(const rb_backend *backend, const rb_splat_desc *d, rb_splat_plan **out) {
  rb_status st = RB_OK;
  omp_plan *p = calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  p->head.backend = backend;
  /* slab s: planes s PLANES .. of x1; the last may be thinner */
  p->slabs = (d->grid.n[0] + PLANES - 1) / PLANES;
  p->first = malloc((size_t)(PARTS * (p->slabs + 1)) * sizeof *p->first);
  p->begin = malloc((size_t)(p->slabs + 1) * sizeof *p->begin);
  RB_CHECK(p->first && p->begin, RB_ENOMEM, "host memory");
  RB_TRY(rb_alloc(backend, workspace(d), (void **)&p->list));
  *out = &p->head;
  p = NULL;
done:
  if (p) destroy(&p->head);
  return st;
}

/* The slabs that point q touches; -1: it is no finite number. */
static int slabs_of(const omp_plan *p, const rb_splat_desc *d, const void *x, const void *m, int64_t q,
                    int64_t slab[TOUCHED]) {
  int64_t base[3];
  int count = 0;
  float w32[3][4];
  double w64[3][4];
  /* The same test and the same nodes as when the point is added: both passes and the sum agree on a point's slabs.
   */
  const int there = d->dtype == RB_F64 ? place_f64(d, x, m, q, base, w64) : place_f32(d, x, m, q, base, w32);
  (void)p;
  if (!there) return -1;
  /* dropped nodes (-1) touch no slab; each slab is listed once, however many of the nodes lie in it */
  for (int i = 0; i < (d->basis == RB_SPLAT_LINEAR ? 2 : 4); i++) {
    const int64_t plane = splat_node(base[0] + i, d->grid.n[0], d->boundary);
    int known = plane < 0;
    for (int k = 0; k < count && !known; k++) known = slab[k] == plane / PLANES;
    if (!known) slab[count++] = plane / PLANES;
  }
  return count;
}

/* Count, then list: each of PARTS pieces of the points has its own place in a slab's list, in the pieces' order. */
static void sort_points(omp_plan *p, const void *x, const void *m) {
  const rb_splat_desc *d = &p->head.desc;
  const int64_t row = p->slabs + 1;
  int64_t lost = 0;
  /* A counting sort in three steps, stable in the points: first[part][slab] = how many of the part's points touch
   * the slab. Parts are independent: each has its own row. */
  memset(p->first, 0, (size_t)(PARTS * row) * sizeof *p->first);
#pragma omp parallel for schedule(static) reduction(+ : lost)
  for (int part = 0; part < PARTS; part++)
    for (int64_t q = d->np * part / PARTS; q < d->np * (part + 1) / PARTS; q++) {
      int64_t slab[TOUCHED];
      const int count = slabs_of(p, d, x, m, q, slab);
      lost += count < 0;
      for (int k = 0; k < count; k++) p->first[part * row + slab[k]]++;
    }
  p->lost = lost;
  /* Counts become places: slab after slab, within a slab part after part. So a slab's list is in the order of the
   * points, whatever thread fills which part, and no two parts write the same place. */
  int64_t at = 0;
  for (int64_t s = 0; s < p->slabs; s++) {
    p->begin[s] = at;
    for (int part = 0; part < PARTS; part++) {
      const int64_t count = p->first[part * row + s];
      p->first[part * row + s] = at;
      at += count;
    }
  }
  p->begin[p->slabs] = at;
#pragma omp parallel for schedule(static)
  for (int part = 0; part < PARTS; part++)
    for (int64_t q = d->np * part / PARTS; q < d->np * (part + 1) / PARTS; q++) {
      int64_t slab[TOUCHED];
      const int count = slabs_of(p, d, x, m, q, slab);
      /* first[part][slab] moves on to where the next of the part's points goes */
      for (int k = 0; k < count; k++) p->list[p->first[part * row + slab[k]]++] = (int32_t)q;
    }
}

/* out_c[k] = sum_p w(x_p - k) m_cp in the data's precision: all contributions to a node come from one thread. */
static rb_status run(rb_splat_plan *head, const void *x, const void *m, void *out) {
  omp_plan *p = (omp_plan *)head;
  const rb_splat_desc *d = &head->desc;
  const int64_t plane = d->grid.n[1] * d->grid.n[2], n = rb_grid_points(d->grid);
  const size_t size = rb_dtype_size(d->dtype);
  sort_points(p, x, m);
#pragma omp parallel for schedule(dynamic)
  for (int64_t s = 0; s < p->slabs; s++) {
    /* Slabs are planes of their own: a thread clears and fills them with no other writing there. Dynamic, as their
     * lists differ in length; the schedule does not change the order within a slab. */
    const int64_t first = s * PLANES, end = first + PLANES, last = end < d->grid.n[0] ? end : d->grid.n[0];
    for (int c = 0; c < d->components; c++)
      memset((char *)out + (size_t)(c * n + first * plane) * size, 0, (size_t)((last - first) * plane) * size);
    for (int64_t i = p->begin[s]; i < p->begin[s + 1]; i++) {
      /* weights are worked out again for each slab, not stored; contributions to other slabs' planes are skipped */
      const int64_t q = p->list[i];
      int64_t base[3];
      float w32[3][4];
      double w64[3][4];
      if (d->dtype == RB_F64) {
        if (place_f64(d, x, m, q, base, w64)) add_point_f64(d, base, w64, m, q, first, last, out);
      } else {
        if (place_f32(d, x, m, q, base, w32)) add_point_f32(d, base, w32, m, q, first, last, out);
      }
    }
  }
  return RB_OK;
}
/* Counted while sorting; sums are floating point and exceed nothing. */
static rb_status outcome(rb_splat_plan *head, int64_t *lost, int *exceeded) {
  *lost = ((omp_plan *)head)->lost, *exceeded = 0;
  return RB_OK;
}

const rb_splat_ops rb_splat_omp = {supports, plan, run, outcome, destroy, 0, 0, workspace, NULL};
