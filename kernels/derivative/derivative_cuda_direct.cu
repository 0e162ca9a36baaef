/* SPDX-License-Identifier: BSD-3-Clause */
/* Ours: all three axes in one kernel, without shared memory. A thread takes V neighbouring values of x3 through
 * PLANES planes; the values of the x1 stencil stay in registers, one plane ahead of their use; neighbours along x2
 * and x3 come from the L1 cache, where the threads beside it have just put them. Short columns keep those neighbours
 * close in time; they read 2 HALO planes twice, from the L2 cache. The divergence of a large field goes another way:
 * derivative_staged.cuh. */
#include "kernels/derivative/derivative_staged.cuh"

/* Planes a thread takes; its loop is unrolled, so that all stencil values have names. */
enum { PLANES = 8 };

/* Where a thread works: offsets count within a plane. x, y: first value along x3, and row; own = y n3 + x; plane = n2
 * n3, points of a plane. */
struct place {
  /* In values; own and plane are 32-bit offsets within a plane, which `supports` bounds. */
  int x, y, own, n1, n2, n3, plane;
};

/* Offset of the row `l` rows further; SMALL: any l and n2, else |l| <= n2. l is at most HALO either way. */
template <int SMALL>
static __device__ __forceinline__ int row_at(place at, int l) {
  if (SMALL) return rb_wrap_near(at.y + l, at.n2) * at.n3 + at.x;
  /* At most one wrap, by n2 rows: no division. */
  return at.own + l * at.n3 + (at.y + l >= at.n2 ? -at.plane : at.y + l < 0 ? at.plane : 0);
}
/* Up and down are two loads of V values each; neighbouring thread rows read them, too. */
template <int V, int SMALL>
static __device__ __forceinline__ pack<V> across_rows(const float *__restrict__ f, place at, const float c[HALO]) {
  pack<V> d = {};
#pragma unroll
  for (int l = 1; l <= HALO; l++)
    add<V>(&d, c[l - 1], load<V>(f, row_at<SMALL>(at, l)), load<V>(f, row_at<SMALL>(at, -l)));
  return d;
}
/* `middle`: the thread's own values. */
template <int SMALL>
static __device__ __forceinline__ pack<4> along_row(const float *__restrict__ f, place at, pack<4> middle,
                                                    const float c[HALO]) {
  /* The packs to the left and right; at a row's ends those of its other end (n3 is a multiple of 4, so is x). */
  const pack<4> left = load<4>(f, at.own + (at.x >= 4 ? -4 : at.n3 - 4)),
                right = load<4>(f, at.own + (at.x + 4 < at.n3 ? 4 : 4 - at.n3));
  return along_window(left, middle, right, c);
}
template <int SMALL>
static __device__ __forceinline__ pack<1> along_row(const float *__restrict__ f, place at, pack<1>,
                                                    const float c[HALO]) {
  pack<1> d = {};
  /* Single values: each neighbour wraps by itself, however short the row. */
  const int row = at.own - at.x;
#pragma unroll
  for (int l = 1; l <= HALO; l++)
    add<1>(&d, c[l - 1], load<1>(f, row + rb_wrap_near(at.x + l, at.n3)),
           load<1>(f, row + rb_wrap_near(at.x - l, at.n3)));
  return d;
}

/* The thread's values in planes first - HALO .. first + PLANES - 1 + HALO; known[q] is plane first - HALO + q. */
template <int V>
struct column {
  pack<V> known[PLANES + 2 * HALO];
};
/* Plane first - HALO + q, wrapped; 64-bit offset, as the field may exceed 2^31 values. */
template <int V>
static __device__ __forceinline__ pack<V> plane_of(const float *__restrict__ f, place at, int first, int q) {
  return load<V>(f, rb_wrap_near(first - HALO + q, at.n1) * (int64_t)at.plane + at.own);
}
/* What the first plane's stencil needs; `ahead` fetches what the next plane's needs besides. */
template <int V>
static __device__ __forceinline__ void begin(const float *__restrict__ f, place at, int first, column<V> *own) {
  /* The 2 HALO + 1 planes around the first; all indices of `known` are constants once unrolled: registers. */
#pragma unroll
  for (int q = 0; q < 2 * HALO + 1; q++) own->known[q] = plane_of<V>(f, at, first, q);
}
template <int V>
static __device__ __forceinline__ void ahead(const float *__restrict__ f, place at, int first, int q,
                                             column<V> *own) {
  /* Nothing is fetched for a plane that the column does not have. */
  if (q + 1 < PLANES) own->known[q + 2 * HALO + 1] = plane_of<V>(f, at, first, q + 2 * HALO + 1);
}
/* Plane first + q is in the middle: known[q + HALO]. */
template <int V>
static __device__ __forceinline__ pack<V> along_column(const column<V> &c, int q, const float k[HALO]) {
  pack<V> d = {};
#pragma unroll
  for (int l = 1; l <= HALO; l++) add<V>(&d, k[l - 1], c.known[q + HALO + l], c.known[q + HALO - l]);
  return d;
}

/* Threads of a warp run along x3. False: outside the plane, nothing to do; there is no barrier to miss. */
template <int V>
static __device__ __forceinline__ bool locate(int n1, int n2, int n3, place *at) {
  at->x = (blockIdx.x * LANES + threadIdx.x % LANES) * V, at->y = blockIdx.y * ROWS + threadIdx.x / LANES;
  at->n1 = n1, at->n2 = n2, at->n3 = n3, at->plane = n2 * n3, at->own = at->y * n3 + at->x;
  return at->x < n3 && at->y < n2;
}

/* Each thread works by itself: no barrier, no shared memory. f one field, g [3][n1][n2][n3]; k: coefficients over the
 * spacing, by axis. */
template <int V, int SMALL>
static __global__ void __launch_bounds__(THREADS, RESIDENT)
    gradient_direct(const float *__restrict__ f, float *__restrict__ g, int n1, int n2, int n3, fd8_coefficients k) {
  place at;
  if (!locate<V>(n1, n2, n3, &at)) return;
  const int first = blockIdx.z * PLANES;
  const int64_t n = (int64_t)n1 * at.plane;
  column<V> own;
  begin<V>(f, at, first, &own);
#pragma unroll
  for (int q = 0; q < PLANES; q++) {
    if (first + q >= n1) return; /* uniform over the block */
    /* Asked for one plane before it is used, so that its latency hides behind this plane's work. */
    ahead<V>(f, at, first, q, &own);
    /* Results: component a of the gradient lies n points behind component a - 1. */
    const int64_t plane = (int64_t)(first + q) * at.plane;
    put(g, plane + 2 * n + at.own, along_row<SMALL>(f + plane, at, own.known[q + HALO], k.c[2]));
    put(g, plane + n + at.own, across_rows<V, SMALL>(f + plane, at, k.c[1]));
    put(g, plane + at.own, along_column<V>(own, q, k.c[0]));
  }
}

/* f [3][n1][n2][n3], d one field; v1 along x1 from registers, v2 and v3 from the plane itself. */
template <int V, int SMALL>
static __global__ void __launch_bounds__(THREADS, RESIDENT)
    divergence_direct(const float *__restrict__ f, float *__restrict__ d, int n1, int n2, int n3,
                      fd8_coefficients k) {
  place at;
  if (!locate<V>(n1, n2, n3, &at)) return;
  const int first = blockIdx.z * PLANES;
  const int64_t n = (int64_t)n1 * at.plane;
  column<V> own;
  begin<V>(f, at, first, &own);
#pragma unroll
  for (int q = 0; q < PLANES; q++) {
    if (first + q >= n1) return;
    /* Only v1 is held along x1: v2 and v3 are read in the plane itself. */
    ahead<V>(f, at, first, q, &own);
    const int64_t plane = (int64_t)(first + q) * at.plane;
    const float *f3 = f + 2 * n + plane;
    const pack<V> b = across_rows<V, SMALL>(f + n + plane, at, k.c[1]),
                  c = along_row<SMALL>(f3, at, load<V>(f3, at.own), k.c[2]);
    pack<V> sum = along_column<V>(own, q, k.c[0]);
#pragma unroll
    for (int v = 0; v < V; v++) sum.v[v] += b.v[v] + c.v[v];
    put(d, plane + at.own, sum);
  }
}

struct direct_plan {
  rb_derivative_plan base;
  int tall; /* planes a block of the staged divergence; 0: that one does not pay */
};
/* Asks once whether tall columns pay on this grid and device. */
static rb_status plan(const rb_backend *, const rb_derivative_desc *desc, rb_derivative_plan **out) {
  rb_status st = RB_OK;
  int tall;
  direct_plan *p = NULL;
  (void)fd8_plan; /* of the variants that keep nothing more */
  RB_TRY(staged_tall(desc->grid, &tall));
  p = (direct_plan *)calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  p->tall = tall, *out = &p->base;
done:
  return st;
}

typedef void (*direct_kernel)(const float *, float *, int, int, int, fd8_coefficients);
static bool aligned(const void *in, const void *out) { return (uintptr_t)in % 16 == 0 && (uintptr_t)out % 16 == 0; }
/* The kernel by alignment and size; blocks of LANES V x ROWS x PLANES points. */
static rb_status run(rb_derivative_plan *p, const void *in, void *out, direct_kernel four, direct_kernel one,
                     direct_kernel small) {
  rb_status st = RB_OK;
  const rb_grid g = p->desc.grid;
  /* Packs of four need whole packs a row, aligned arrays, and no second wrap along x2; `small` is for n2 < HALO. */
  const int wide = g.n[2] % 4 == 0 && g.n[1] >= HALO && aligned(in, out);
  const dim3 blocks(rb_blocks(g.n[2], LANES * (wide ? 4 : 1)), rb_blocks(g.n[1], ROWS), rb_blocks(g.n[0], PLANES));
  RB_LAUNCH((wide             ? four
             : g.n[1] >= HALO ? one
                              : small),
            blocks, THREADS, 0, (const float *)in, (float *)out, (int)g.n[0], (int)g.n[1], (int)g.n[2], fd8_make(g));
done:
  return st;
}
static rb_status gradient(rb_derivative_plan *p, const void *f, void *g) {
  return run(p, f, g, gradient_direct<4, 0>, gradient_direct<1, 0>, gradient_direct<1, 1>);
}
static rb_status divergence(rb_derivative_plan *p, const void *v, void *d) {
  const int tall = ((direct_plan *)p)->tall;
  if (tall && aligned(v, d)) return run_staged(p->desc.grid, tall, (const float *)v, (float *)d);
  return run(p, v, d, divergence_direct<4, 0>, divergence_direct<1, 0>, divergence_direct<1, 1>);
}

/* blocks.y and .z end at 65535, offsets within a plane are ints */
static rb_status supports(const rb_derivative_desc *d) {
  if (d->grid.n[0] > RB_MOST_BLOCKS_YZ * PLANES || d->grid.n[1] > RB_MOST_BLOCKS_YZ * ROWS ||
      d->grid.n[1] * d->grid.n[2] >= (int64_t)1 << 31)
    return RB_FAIL(RB_EUNSUPPORTED, "cuda/direct ends at 2^31 points a plane and %d rows or planes",
                   RB_MOST_BLOCKS_YZ * ROWS);
  return fd8_supports(d);
}

extern "C" const rb_derivative_ops rb_derivative_direct = {supports, plan, gradient, divergence, fd8_destroy};
