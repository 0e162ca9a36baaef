/* SPDX-License-Identifier: BSD-3-Clause */
/* Ours: sums of currents without the pairs that hardly count. Points are sorted along a Morton curve of cells of
 * sigma/4, and lie in tiles of 64 neighbours with their box; a tile of targets meets the tiles of sources whose box
 * is within 6 sigma of its own. What is left out is below exp(-18) = 1.6e-8 of a moment each. */
#include "kernels/currents/currents_exact.cuh"

extern "C" {
#include "kernels/cuda/sort.h"
}

#define REACH 6.0
/* POINTS of a tile; a block has HALVES threads for each of them. A point's cell is CELL_BITS bits an axis, so that
 * the three interleaved fill 30 bits of a key. */
enum { POINTS = 64, HALVES = 2, THREADS = POINTS * HALVES, CELL_BITS = 10, CELLS = 1 << CELL_BITS };

typedef struct {
  float3 low, high;
} box;

/* A set of points in its order along the curve. `most` points at most; a smaller set uses the front of every
 * array. */
typedef struct {
  int64_t most;
  unsigned *key, *key_sorted; /* [most] */
  float *number, *from;       /* [most]: a point's number as bits, unsorted and sorted */
  float4 *place, *with;       /* [tiles 64]: sorted, the last tile filled up with zero moments */
  box *boxes;                 /* [tiles] */
} sorted_points;

/* Both sets in sorted order. CUB's room serves both, as they are sorted one after the other. */
typedef struct {
  exact_plan shared;
  sorted_points sources, targets;
  void *room; /* of sorting */
  size_t room_bytes;
} culled_plan;

static int64_t tiles_of(int64_t n) { return (n + POINTS - 1) / POINTS; }

static void close_points(const rb_backend *b, sorted_points *s) {
  rb_release(b, s->key), rb_release(b, s->key_sorted), rb_release(b, s->number), rb_release(b, s->from);
  rb_release(b, s->place), rb_release(b, s->with), rb_release(b, s->boxes);
}
static rb_status open_points(const rb_backend *b, int64_t n, sorted_points *s) {
  /* Room for n points. Arrays of float4 end on a whole tile: the last one is filled up. */
  rb_status st = RB_OK;
  const size_t filled = (size_t)(tiles_of(n) * POINTS) * sizeof(float4);
  s->most = n;
  RB_TRY(rb_alloc(b, (size_t)n * sizeof(unsigned), (void **)&s->key));
  RB_TRY(rb_alloc(b, (size_t)n * sizeof(unsigned), (void **)&s->key_sorted));
  RB_TRY(rb_alloc(b, (size_t)n * sizeof(float), (void **)&s->number));
  RB_TRY(rb_alloc(b, (size_t)n * sizeof(float), (void **)&s->from));
  RB_TRY(rb_alloc(b, filled, (void **)&s->place));
  RB_TRY(rb_alloc(b, filled, (void **)&s->with));
  RB_TRY(rb_alloc(b, (size_t)tiles_of(n) * sizeof(box), (void **)&s->boxes));
done:
  return st;
}

/* Takes a plan that is made in part. */
static void destroy(rb_currents_plan *head) {
  culled_plan *p = (culled_plan *)head;
  close_points(head->backend, &p->sources), close_points(head->backend, &p->targets);
  rb_release(head->backend, p->room);
  exact_close(&p->shared);
  free(p);
}
/* Allocates both sets for their greatest sizes, and the room for sorting the larger. */
static rb_status plan(const rb_backend *backend, const rb_currents_desc *d, rb_currents_plan **out) {
  rb_status st = RB_OK;
  const int64_t most = d->sources > d->targets ? d->sources : d->targets;
  culled_plan *p = (culled_plan *)calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  RB_TRY(exact_open(&p->shared, backend, d));
  RB_TRY(open_points(backend, d->sources, &p->sources));
  RB_TRY(open_points(backend, most, &p->targets)); /* the energy's targets are the sources */
  RB_TRY(rb_sort_room(most, &p->room_bytes));
  RB_TRY(rb_alloc(backend, p->room_bytes, &p->room));
  *out = &p->shared.head;
  p = NULL;
done:
  if (p) destroy(&p->shared.head);
  return st;
}

/* ---- sorting ---- */

/* Every third bit of the result holds one of v's. Doublings of the distance between bits: after four of them bit b of
 * v is bit 3 b of the result (10 bits in, 30 out). */
static __device__ __forceinline__ unsigned spread_bits(unsigned v) {
  v = (v | v << 16) & 0x030000FFu;
  v = (v | v << 8) & 0x0300F00Fu;
  v = (v | v << 4) & 0x030C30C3u;
  return (v | v << 2) & 0x09249249u;
}
/* Cell of a coordinate in units of sigma/4, counted from the middle of the 1024 there are; points farther out share
 * the outermost cells, which costs order, not correctness: boxes decide what is near. */
static __device__ __forceinline__ unsigned cell_of(float x, float per_cell) {
  const float c = floorf(x * per_cell) + (float)(CELLS / 2);
  return (unsigned)fminf(fmaxf(c, 0.0f), (float)(CELLS - 1));
}
/* One thread a point. A point's key along the curve: x1 in the highest of three bits. Its number goes along as the
 * value that is sorted; a number's bits are kept, whatever float they spell. */
static __global__ void __launch_bounds__(THREADS) make_keys(float per_cell, int64_t n, const float *__restrict__ x,
                                                            unsigned *__restrict__ key, float *__restrict__ number) {
  /* A point's number, and its key from its cell. */
  const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (i >= n) return;
  key[i] = spread_bits(cell_of(x[i], per_cell)) << 2 | spread_bits(cell_of(x[n + i], per_cell)) << 1 |
           spread_bits(cell_of(x[2 * n + i], per_cell));
  number[i] = __uint_as_float((unsigned)i);
}
/* A block a tile, a thread a point. The barrier: all points are there for the box, which thread 0 finds. */
static __global__ void __launch_bounds__(POINTS)
    fill_tiles(int64_t n, const float *__restrict__ from, const float *__restrict__ x, const float *__restrict__ with,
               float4 *__restrict__ place, float4 *__restrict__ moment, box *__restrict__ boxes) {
  __shared__ float4 mine[POINTS];
  /* Threads beyond the last point repeat it with no moment: the box stays as it is, and they add nothing. */
  const int64_t at = (int64_t)blockIdx.x * POINTS + threadIdx.x;
  const int64_t i = __float_as_uint(from[at < n ? at : n - 1]);
  const float4 p = make_float4(x[i], x[n + i], x[2 * n + i], 0.0f);
  place[at] = p;
  moment[at] =
      at < n && with ? make_float4(with[i], with[n + i], with[2 * n + i], 0.0f) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  mine[threadIdx.x] = p;
  __syncthreads();
  if (threadIdx.x > 0) return;
  /* 63 comparisons of shared values by one thread, once a tile. */
  box b = {make_float3(p.x, p.y, p.z), make_float3(p.x, p.y, p.z)};
  for (int k = 1; k < POINTS; k++) {
    const float4 v = mine[k];
    b.low.x = fminf(b.low.x, v.x), b.low.y = fminf(b.low.y, v.y), b.low.z = fminf(b.low.z, v.z);
    b.high.x = fmaxf(b.high.x, v.x), b.high.y = fmaxf(b.high.y, v.y), b.high.z = fmaxf(b.high.z, v.z);
  }
  boxes[blockIdx.x] = b;
}

/* Keys, sort by 30 bits, tiles: three steps on the stream. What comes of it lies in s. */
static rb_status sort_points(culled_plan *p, double sigma, sorted_points *s, int64_t n, const float *x,
                             const float *with) {
  rb_status st = RB_OK;
  /* 4 / sigma: cells a unit of length. */
  RB_LAUNCH(make_keys, rb_blocks(n, THREADS), THREADS, 0, (float)(4 / sigma), n, x, s->key, s->number);
  RB_TRY(rb_sort_pairs(p->room, p->room_bytes, n, 3 * CELL_BITS, s->key, s->key_sorted, s->number, s->from));
  RB_LAUNCH(fill_tiles, (unsigned)tiles_of(n), POINTS, 0, n, s->from, x, with, s->place, s->with, s->boxes);
done:
  return st;
}

/* ---- sums ---- */

/* Distance between two intervals; 0 where they overlap. The three axes' gaps are the distance between two boxes. */
static __device__ __forceinline__ float gap(float low_a, float high_a, float low_b, float high_b) {
  return fmaxf(0.0f, fmaxf(low_a - high_b, low_b - high_a));
}

/* A block a tile of targets: thread t has target t % 64. In rounds each thread tests one tile of sources; those
 * within reach go into a list in their order, each of the two halves of the block takes every second of it, and the
 * halves' sums meet at the end. Barriers: the counts of the warps; the list; each pair of tiles read, and done with;
 * the other half's sums. */
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
  const int half = threadIdx.x / POINTS, t = threadIdx.x % POINTS, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int64_t mine = (int64_t)blockIdx.x * POINTS + t;
  /* The same for all threads: one box against the round's tiles. */
  const box b = target_boxes[blockIdx.x];
  const float4 p = target[mine], w = with[mine];
  const float x[3] = {p.x, p.y, p.z}, q[3] = {w.x, w.y, w.z};
  pair_sums sum = {};
  for (int first = 0; first < tiles; first += THREADS) {
    /* A round looks at THREADS tiles, a thread at one. */
    const int tile = first + (int)threadIdx.x;
    bool near = false;
    if (tile < tiles) {
      const box o = boxes[tile];
      const float g0 = gap(b.low.x, b.high.x, o.low.x, o.high.x), g1 = gap(b.low.y, b.high.y, o.low.y, o.high.y),
                  g2 = gap(b.low.z, b.high.z, o.low.z, o.high.z);
      near = g0 * g0 + g1 * g1 + g2 * g2 <= reach2;
    }
    /* Place in the list: near tiles of lower lanes of this warp, then those of the warps before. The list keeps the
     * tiles' order, and so do the sums. */
    const unsigned votes = __ballot_sync(~0u, near);
    if (lane == 0) found[warp] = __popc(votes);
    /* All warps' counts are in `found`. */
    __syncthreads();
    int before = __popc(votes & ((1u << lane) - 1)), count = 0;
    for (int k = 0; k < THREADS / 32; k++) {
      if (k < warp) before += found[k];
      count += found[k];
    }
    if (near) list[before] = tile;
    /* The list is whole; `found` may be written again. */
    __syncthreads();
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
  culled_plan *p = (culled_plan *)head;
  p->shared.y = (const float *)y, p->shared.m = (const float *)m;
  return sort_points(p, head->desc.sigma, &p->sources, head->desc.sources, p->shared.y, p->shared.m);
}
static rb_status eval(rb_currents_plan *head, int64_t n, const void *x, const void *pair, void *u, void *z) {
  rb_status st = RB_OK;
  culled_plan *p = (culled_plan *)head;
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

extern "C" const rb_currents_ops rb_currents_culled = {exact_supports, plan, load, eval, energy, destroy, REACH};
