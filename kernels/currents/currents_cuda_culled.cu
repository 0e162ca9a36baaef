/* SPDX-License-Identifier: BSD-3-Clause */
/* Ours: sums of currents without the pairs that hardly count. Points lie in tiles of 64 neighbours with their box; a
 * tile of targets meets the tiles of sources whose box is within 6 sigma of its own. What is left out is below
 * exp(-18) = 1.6e-8 of a moment each. */
#include "kernels/currents/currents_sorted.cuh"

static void destroy(rb_currents_plan *head) {
  sorted_close((sorted_plan *)head);
  free(head);
}
static rb_status plan(const rb_backend *backend, const rb_currents_desc *d, rb_currents_plan **out) {
  rb_status st = RB_OK;
  sorted_plan *p = (sorted_plan *)calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  p->shared.head.backend = backend;
  RB_TRY(sorted_open(p, backend, d));
  *out = &p->shared.head;
  p = NULL;
done:
  if (p) destroy(&p->shared.head);
  return st;
}

/* A block a tile of targets: thread t has target t % 64. In rounds each thread tests one tile of sources; those
 * within reach go into a list in their order, each of the two halves of the block takes every second of it, and the
 * halves' sums meet at the end. Barriers: those of list_near; each pair of tiles read, and done with; the other
 * half's sums. */
template <bool WITH_Z>
static __global__ void __launch_bounds__(THREADS)
    sum_near(float f, float factor, float reach2, int tiles, const box *__restrict__ boxes,
             const float4 *__restrict__ place, const float4 *__restrict__ moment, int64_t n,
             const box *__restrict__ target_boxes, const float *__restrict__ from, const float4 *__restrict__ target,
             const float4 *__restrict__ with, float *__restrict__ u, float *__restrict__ z) {
  /* y, m: a tile of sources for each half of the block. list: tiles of this round that are near, found: how many each
   * warp found. other: sums of the second half, for the first to add. */
  __shared__ float4 y[HALVES][POINTS], m[HALVES][POINTS];
  __shared__ int list[THREADS], found[THREADS / 32];
  __shared__ pair_sums other[POINTS];
  const int half = threadIdx.x / POINTS, t = threadIdx.x % POINTS;
  const int64_t mine = (int64_t)blockIdx.x * POINTS + t;
  /* The same for all threads: one box against the round's tiles. */
  const box b = target_boxes[blockIdx.x];
  const float4 p = target[mine], w = with[mine];
  const float x[3] = {p.x, p.y, p.z}, q[3] = {w.x, w.y, w.z};
  pair_sums sum = {};
  for (int first = 0; first < tiles; first += THREADS) {
    /* A round looks at THREADS tiles, a thread at one. */
    const int count = list_near(b, boxes, tiles, first, reach2, list, found);
    for (int k = 0; k < count; k += HALVES) {
      /* An odd count leaves the second half without a tile in the last turn; it meets the barriers nevertheless. */
      const bool there = k + half < count;
      if (there) {
        const int64_t at = (int64_t)list[k + half] * POINTS + t;
        y[half][t] = place[at], m[half][t] = moment[at];
      }
      /* Both halves' tiles are in shared memory. */
      __syncthreads();
      if (there) {
        /* A tile's own sums: fewer roundings pile up. */
        pair_sums part = {};
#pragma unroll 4
        for (int j = 0; j < POINTS; j++) add_pair<WITH_Z>(f, x, q, y[half][j], m[half][j], &part);
#pragma unroll
        for (int a = 0; a < 3; a++) sum.u[a] += part.u[a], sum.z[a] += part.z[a];
      }
      /* Both tiles are done with, and at the round's end so is the list. */
      __syncthreads();
    }
  }
  if (half == 1) other[t] = sum;
  /* The second half's sums are there; one thread a target adds and stores them at the point's own number. */
  __syncthreads();
  if (half == 1 || mine >= n) return;
  const int64_t i = __float_as_uint(from[mine]);
#pragma unroll
  for (int a = 0; a < 3; a++) {
    u[a * n + i] = sum.u[a] + other[t].u[a];
    if (WITH_Z) z[a * n + i] = factor * (sum.z[a] + other[t].z[a]);
  }
}

/* y and m are looked at once: what eval reads is the sorted copy. */
static rb_status load(rb_currents_plan *head, const void *y, const void *m) {
  sorted_plan *p = (sorted_plan *)head;
  p->shared.y = (const float *)y, p->shared.m = (const float *)m;
  return sort_points(p, head->desc.sigma, &p->sources, head->desc.sources, p->shared.y, p->shared.m);
}
static rb_status eval(rb_currents_plan *head, int64_t n, const void *x, const void *pair, void *u, void *z) {
  rb_status st = RB_OK;
  sorted_plan *p = (sorted_plan *)head;
  const double sigma = head->desc.sigma, reach = REACH * sigma;
  const float f = exponent_factor(sigma), factor = (float)(-1 / (sigma * sigma)), reach2 = (float)(reach * reach);
  const int tiles = (int)tiles_of(head->desc.sources);
  const sorted_points *s = &p->sources, *t = &p->targets;
  /* Targets are sorted anew for each eval. */
  RB_TRY(sort_points(p, sigma, &p->targets, n, (const float *)x, (const float *)pair));
  if (z)
    RB_LAUNCH(sum_near<true>, (unsigned)tiles_of(n), THREADS, 0, f, factor, reach2, tiles, s->boxes, s->place,
              s->with, n, t->boxes, t->from, t->place, t->with, (float *)u, (float *)z);
  else
    RB_LAUNCH(sum_near<false>, (unsigned)tiles_of(n), THREADS, 0, f, factor, reach2, tiles, s->boxes, s->place,
              s->with, n, t->boxes, t->from, t->place, t->with, (float *)u, (float *)NULL);
done:
  return st;
}
static rb_status energy(rb_currents_plan *head, double *out) { return exact_energy(head, out, eval); }

extern "C" const rb_currents_ops rb_currents_culled = {
    exact_supports, plan, load, eval, energy, NULL, destroy, REACH, RB_WEIGHTS_FULL, NULL};
