/* SPDX-License-Identifier: BSD-3-Clause */
/* Points sorted along a Morton curve of cells of sigma/4, in tiles of 64 neighbours with their boxes, and the tiles
 * near a tile: for the CUDA variants of the exact sums that leave out pairs that hardly count. */
#ifndef RB_CURRENTS_SORTED_CUH
#define RB_CURRENTS_SORTED_CUH

#include "kernels/currents/currents_exact.cuh"

extern "C" {
#include "kernels/cuda/sort.h"
}

/* In sigmas; what lies farther apart may be left out. */
#define REACH 6.0
/* POINTS of a tile; HALVES: threads of a block for each of them. A point's cell is CELL_BITS bits an axis, so that
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

/* Both sets in sorted order. CUB's room serves both, as they are sorted one after the other. Variants may add to its
 * end. */
typedef struct {
  exact_plan shared;
  sorted_points sources, targets;
  void *room; /* of sorting */
  size_t room_bytes;
} sorted_plan;

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

/* What a plan holds, also of one that is made in part; the plan itself is the variant's. */
static void sorted_close(sorted_plan *p) {
  const rb_backend *b = p->shared.head.backend;
  close_points(b, &p->sources), close_points(b, &p->targets);
  rb_release(b, p->room);
  exact_close(&p->shared);
}
/* Allocates both sets for their greatest sizes, and the room for sorting the larger. */
static rb_status sorted_open(sorted_plan *p, const rb_backend *backend, const rb_currents_desc *d) {
  rb_status st = RB_OK;
  const int64_t most = d->sources > d->targets ? d->sources : d->targets;
  RB_TRY(exact_open(&p->shared, backend, d));
  RB_TRY(open_points(backend, d->sources, &p->sources));
  RB_TRY(open_points(backend, most, &p->targets)); /* the energy's targets are the sources */
  RB_TRY(rb_sort_room(most, &p->room_bytes));
  RB_TRY(rb_alloc(backend, p->room_bytes, &p->room));
done:
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
static rb_status sort_points(sorted_plan *p, double sigma, sorted_points *s, int64_t n, const float *x,
                             const float *with) {
  rb_status st = RB_OK;
  /* 4 / sigma: cells a unit of length. */
  RB_LAUNCH(make_keys, rb_blocks(n, THREADS), THREADS, 0, (float)(4 / sigma), n, x, s->key, s->number);
  RB_TRY(rb_sort_pairs(p->room, p->room_bytes, n, 3 * CELL_BITS, s->key, s->key_sorted, s->number, s->from));
  RB_LAUNCH(fill_tiles, (unsigned)tiles_of(n), POINTS, 0, n, s->from, x, with, s->place, s->with, s->boxes);
done:
  return st;
}

/* ---- near tiles ---- */

/* Distance between two intervals; 0 where they overlap. The three axes' gaps are the distance between two boxes. */
static __device__ __forceinline__ float gap(float low_a, float high_a, float low_b, float high_b) {
  return fmaxf(0.0f, fmaxf(low_a - high_b, low_b - high_a));
}

/* Puts the numbers of those tiles of [first, first + THREADS) that are within reach of box b into `list`, in their
 * order, and returns how many there are. All THREADS threads of a block call; each looks at one tile. found
 * [THREADS / 32]: scratch. Barriers: the warps' counts; the list. */
static __device__ __forceinline__ int list_near(const box &b, const box *__restrict__ boxes, int tiles, int first,
                                                float reach2, int *list, int *found) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, tile = first + (int)threadIdx.x;
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
  return count;
}

#endif
