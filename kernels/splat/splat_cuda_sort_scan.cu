/* SPDX-License-Identifier: BSD-3-Clause */
/* ha2012 section 4.2.2, "collision-free": eight contributions a point, sorted by their node, added by segments.
 * Sorting and segmented sums are CUB's, as the paper's were CUDPP's. */
#include "kernels/splat/splat_cuda.cuh"

extern "C" {
#include "kernels/cuda/sort.h"
}

enum { CORNERS = 8 };

/* pairs: contributions, CORNERS a point. values [pairs]: contributions to the nodes in `keys`. [0] as they come and
 * for the sums, [1] sorted. count: distinct keys, on the device. sorting: CUB's room. bits: of a key that count. */
typedef struct {
  splat_plan shared;
  int64_t pairs;
  unsigned *keys[2]; /* [pairs]: nodes; the grid's number of nodes for what is dropped */
  float *values[2];
  int *count;
  void *sorting;
  size_t sorting_bytes;
  int bits;
} sort_plan;

/* Keys and counts of CUB are 32-bit: eight pairs a point must stay below 2^31. */
static rb_status supports(const rb_splat_desc *d) {
  rb_status st = splat_supports_linear(d, "cuda/sort-scan");
  if (st == RB_OK && d->np >= (int64_t)1 << 28)
    st = RB_FAIL(RB_EUNSUPPORTED, "cuda/sort-scan takes fewer than 2^28 points: it sorts eight pairs a point");
  return st;
}
/* Takes a plan that is made in part; the report is the shared plan's to release. */
static void destroy(rb_splat_plan *head) {
  sort_plan *p = (sort_plan *)head;
  for (int i = 0; i < 2; i++) rb_release(head->backend, p->keys[i]), rb_release(head->backend, p->values[i]);
  rb_release(head->backend, p->count);
  rb_release(head->backend, p->sorting);
  splat_destroy(head);
}
/* The pairs twice; CUB's room is small beside them. */
static size_t workspace(const rb_splat_desc *d) {
  return 2 * (size_t)(CORNERS * d->np) * (sizeof(unsigned) + sizeof(float));
}
static rb_status plan(const rb_backend *backend, const rb_splat_desc *d, rb_splat_plan **out) {
  rb_status st = RB_OK;
  /* The report, four arrays of pairs, a count, and CUB's room. */
  sort_plan *p = (sort_plan *)calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  p->shared.head.backend = backend;
  p->pairs = CORNERS * d->np;
  /* As many bits as the greatest key needs, the number of nodes. */
  while (((int64_t)1 << p->bits) <= rb_grid_points(d->grid)) p->bits++;
  RB_TRY(rb_alloc(backend, sizeof(splat_report), (void **)&p->shared.report));
  for (int i = 0; i < 2; i++) {
    RB_TRY(rb_alloc(backend, (size_t)p->pairs * sizeof(unsigned), (void **)&p->keys[i]));
    RB_TRY(rb_alloc(backend, (size_t)p->pairs * sizeof(float), (void **)&p->values[i]));
  }
  RB_TRY(rb_alloc(backend, sizeof(int), (void **)&p->count));
  RB_TRY(rb_sort_room(p->pairs, &p->sorting_bytes));
  RB_TRY(rb_alloc(backend, p->sorting_bytes, &p->sorting));
  *out = &p->shared.head;
  p = NULL;
done:
  if (p) destroy(&p->shared.head);
  return st;
}

/* One thread a point: its contributions to one component, [corner][np]. keys and values [CORNERS][np]: neighbouring
 * threads write neighbouring pairs. */
static __global__ void __launch_bounds__(THREADS)
    contribute(splat_layout l, int boundary, int components, int component, const float *__restrict__ x,
               const float *__restrict__ m, unsigned *keys, float *values, splat_report *report) {
  const int64_t p = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (p >= l.np) return;
  const bool finite = splat_finite(l, components, x, m, p);
  /* Once a point, not once a component. */
  if (!finite && component == 0) atomicAdd(&report->lost, 1ull);
  /* Contributions that stay on the grid take the first places; what is left is filled up with the key of nothing. */
  int corner = 0;
  if (finite)
    splat_visit<RB_SPLAT_LINEAR>(l, boundary, x[p], x[l.np + p], x[2 * l.np + p], [&](int64_t node, float w) {
      keys[corner * l.np + p] = (unsigned)node;
      values[corner++ * l.np + p] = w * m[component * l.np + p];
    });
  for (; corner < CORNERS; corner++) keys[corner * l.np + p] = (unsigned)l.nodes, values[corner * l.np + p] = 0;
}
/* One thread a node that got something; *count of them. Nodes without a contribution keep the 0 that they were
 * cleared to. */
static __global__ void __launch_bounds__(THREADS)
    put(int64_t nodes, const int *__restrict__ count, const unsigned *__restrict__ node,
        const float *__restrict__ sums, float *__restrict__ out) {
  const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (i < *count && node[i] < nodes) out[node[i]] = sums[i];
}

/* For each component: contributions, sort, sums by node, stores. The nodes are sorted anew, as the pairs are. */
static rb_status run(rb_splat_plan *head, const void *x, const void *m, void *out) {
  rb_status st = RB_OK;
  sort_plan *p = (sort_plan *)head;
  const rb_splat_desc *d = &head->desc;
  const splat_layout l = splat_layout_of(d);
  /* The most distinct keys there can be; how many there are is known on the device alone. */
  const int64_t most = p->pairs < l.nodes + 1 ? p->pairs : l.nodes + 1;
  RB_TRY(splat_begin(head, out, (size_t)(l.nodes * d->components) * sizeof(float)));
  for (int c = 0; c < d->components; c++) {
    RB_LAUNCH(contribute, rb_blocks(l.np, THREADS), THREADS, 0, l, (int)d->boundary, d->components, c,
              (const float *)x, (const float *)m, p->keys[0], p->values[0], p->shared.report);
    /* Sorted into [1], then added by runs back into [0], whose contents are no longer needed. The sort is stable:
     * contributions to a node keep the order in which they were written. */
    RB_TRY(rb_sort_pairs(p->sorting, p->sorting_bytes, p->pairs, p->bits, p->keys[0], p->keys[1], p->values[0],
                         p->values[1]));
    RB_TRY(rb_add_by_key(p->sorting, p->sorting_bytes, p->pairs, p->keys[1], p->values[1], p->keys[0], p->values[0],
                         p->count));
    RB_LAUNCH(put, rb_blocks(most, THREADS), THREADS, 0, l.nodes, p->count, p->keys[0], p->values[0],
              (float *)out + c * l.nodes);
  }
done:
  return st;
}

extern "C" const rb_splat_ops rb_splat_sort_scan = {supports, plan, run,       splat_outcome, destroy,
                                                    0,        0,    workspace, NULL};
