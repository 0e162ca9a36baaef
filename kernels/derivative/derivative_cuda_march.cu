/* SPDX-License-Identifier: BSD-3-Clause */
/* Ours: all three axes in one kernel. A block owns a tile of (x3, x2) and marches along x1: the nine values
 * of the x1 stencil stay in registers, the current plane with its halo lies in shared memory, every value
 * comes from device memory about once. V values of x3 a thread (4: 16-byte accesses, when n3 divides by 4). */
#include "kernels/derivative/derivative_fd.cuh"

/* A block of THREADS threads in one dimension, LANES along x3 and ROWS along x2. RING: values of the x1 stencil, HALO
 * either side. */
enum { LANES = 16, ROWS = 16, THREADS = LANES * ROWS, RING = 2 * HALO + 1 };

template <int V>
struct __align__(sizeof(float) * V) pack {
  float v[V];
};

/* V values by one access; `at` is a multiple of V and the array aligned for it. */
template <int V>
static __device__ __forceinline__ pack<V> load(const float *__restrict__ f, int64_t at) {
  return *reinterpret_cast<const pack<V> *>(f + at);
}
template <int V>
static __device__ __forceinline__ void store(float *f, int64_t at, pack<V> p) {
  *reinterpret_cast<pack<V> *>(f + at) = p;
}

/* Results are not read again here: leave the cache to the halos. */
static __device__ __forceinline__ void store_out(float *f, int64_t at, pack<4> p) {
  __stcs(reinterpret_cast<float4 *>(f + at), make_float4(p.v[0], p.v[1], p.v[2], p.v[3]));
}
static __device__ __forceinline__ void store_out(float *f, int64_t at, pack<1> p) { __stcs(f + at, p.v[0]); }

/* Shared plane: rows of LANES*V values with HALO either side (rounded to whole packs). */
template <int V>
struct plane_shape {
  /* HEIGHT: the block's rows with HALO above and below. */
  enum { SIDE = HALO, WIDTH = LANES * V + 2 * SIDE, HEIGHT = ROWS + 2 * HALO };
};

/* Where a thread works, worked out once. Offsets count within a plane and are wrapped, so that every cell of the tile
 * holds a valid value; *_to are places in the tile. Halo shares: HALO rows above and below by the first 2*HALO thread
 * rows, HALO columns left and right in packs of V by the first threads; -1 for no share. own: offset of the thread's
 * values in a plane; row_from, column_from: of its share of the halo. valid: whether it has values to put out. */
struct place {
  int own, row_from, column_from;
  int own_to, row_to, column_to;
  int valid;
};

template <int V>
static __device__ __forceinline__ place locate(int n2, int n3) {
  /* PACKS: halo packs of one row of the tile, half of them left, half right. */
  const int WIDTH = plane_shape<V>::WIDTH, PACKS = 2 * HALO / V;
  const int lane = threadIdx.x % LANES, row = threadIdx.x / LANES, x0 = blockIdx.x * LANES * V,
            y0 = blockIdx.y * ROWS;
  /* First value of the thread along x3, and its row. */
  const int x = x0 + lane * V, y = y0 + row;
  place at;
  /* Threads beyond the grid take part in loading and in all barriers. */
  at.valid = x < n3 && y < n2;
  /* Wrapped, too, for threads beyond the grid: they load valid values and store nothing. */
  at.own = rb_wrap_near(y, n2) * n3 + rb_wrap_near(x, n3);
  at.own_to = (row + HALO) * WIDTH + HALO + lane * V;
  at.row_from = at.column_from = -1;
  at.row_to = at.column_to = 0;
  if (row < 2 * HALO) {
    /* Rows 0 .. HALO-1 of the tile lie above the block's own, rows ROWS+HALO .. below. */
    int tile_row = row < HALO ? row : ROWS + row;
    at.row_from = rb_wrap_near(y0 + tile_row - HALO, n2) * n3 + rb_wrap_near(x, n3);
    at.row_to = tile_row * WIDTH + HALO + lane * V;
  }
  /* A thread a pack of the side halo: row r of the tile's own rows, `side` counts from the left. */
  if (threadIdx.x < ROWS * PACKS) {
    int r = threadIdx.x / PACKS, side = threadIdx.x % PACKS;
    /* Columns count from the block's first value: -HALO .. -1 lie left, LANES V .. LANES V + HALO - 1 right. */
    int column = side < PACKS / 2 ? side * V - HALO : LANES * V + (side - PACKS / 2) * V;
    at.column_from = rb_wrap_near(y0 + r, n2) * n3 + rb_wrap_near(x0 + column, n3);
    at.column_to = (r + HALO) * WIDTH + HALO + column;
  }
  return at;
}

/* A thread's share of the halo of one plane, fetched one step before it is needed. HALO_ROWS, HALO_COLUMNS: 0 for a
 * direction along which this field is not differentiated. */
template <int V>
struct halo_share {
  pack<V> row, column;
};
template <int V, int HALO_ROWS, int HALO_COLUMNS>
static __device__ __forceinline__ halo_share<V> fetch_halo(const float *__restrict__ plane, place at) {
  halo_share<V> h = {};
  if (HALO_ROWS && at.row_from >= 0) h.row = load<V>(plane, at.row_from);
  if (HALO_COLUMNS && at.column_from >= 0) h.column = load<V>(plane, at.column_from);
  return h;
}
/* Put the interior and the fetched halo of a plane into shared memory. A tile is filled by three stores a thread at
 * most. */
template <int V, int HALO_ROWS, int HALO_COLUMNS>
static __device__ __forceinline__ void stage(float *s, pack<V> centre, halo_share<V> h, place at) {
  store<V>(s, at.own_to, centre);
  if (HALO_ROWS && at.row_from >= 0) store<V>(s, at.row_to, h.row);
  if (HALO_COLUMNS && at.column_from >= 0) store<V>(s, at.column_to, h.column);
}

/* Along x2: rows l above and below in the same column of the tile. */
template <int V>
static __device__ __forceinline__ pack<V> across_rows(const float *s, place at, const float c[HALO]) {
  const int WIDTH = plane_shape<V>::WIDTH;
  const float *own = s + at.own_to;
  pack<V> d = {};
#pragma unroll
  for (int l = 1; l <= HALO; l++) {
    /* Pairs are subtracted first; each l adds one rounded difference times its coefficient. */
    pack<V> up = *reinterpret_cast<const pack<V> *>(own + l * WIDTH),
            down = *reinterpret_cast<const pack<V> *>(own - l * WIDTH);
#pragma unroll
    for (int v = 0; v < V; v++) d.v[v] += c[l - 1] * (up.v[v] - down.v[v]);
  }
  return d;
}

/* Along x3: the pack with HALO values either side comes into registers in whole packs (HALO is a multiple of V). */
template <int V>
static __device__ __forceinline__ pack<V> along_row(const float *s, place at, const float c[HALO]) {
  const float *own = s + at.own_to;
  float window[V + 2 * HALO];
#pragma unroll
  for (int q = 0; q < V + 2 * HALO; q += V) {
    pack<V> p = *reinterpret_cast<const pack<V> *>(own - HALO + q);
#pragma unroll
    for (int v = 0; v < V; v++) window[q + v] = p.v[v];
  }
  pack<V> d = {};
#pragma unroll
  for (int v = 0; v < V; v++)
#pragma unroll
    for (int l = 1; l <= HALO; l++) d.v[v] += c[l - 1] * (window[v + HALO + l] - window[v + HALO - l]);
  return d;
}

/* Along x1: `centre` and l are constants once the loops are unrolled, so that the ring stays in registers. */
template <int V>
static __device__ __forceinline__ pack<V> along_ring(const pack<V> ring[RING], int centre, const float c[HALO]) {
  pack<V> d = {};
#pragma unroll
  for (int l = 1; l <= HALO; l++)
#pragma unroll
    for (int v = 0; v < V; v++)
      d.v[v] += c[l - 1] * (ring[(centre + l) % RING].v[v] - ring[(centre - l + RING) % RING].v[v]);
  return d;
}

/* f one field [n1][n2][n3], g [3][n1][n2][n3]; march: planes of a block; k: coefficients over the spacing, by
 * axis. */
template <int V>
static __global__ void __launch_bounds__(THREADS, 2)
    gradient_kernel(const float *__restrict__ f, float *__restrict__ g, int n1, int n2, int n3, int march,
                    fd8_coefficients k) {
  /* Two planes used in turn. */
  __shared__ __align__(16) float s[2][plane_shape<V>::WIDTH * plane_shape<V>::HEIGHT];
  const place at = locate<V>(n2, n3);
  const int64_t plane = (int64_t)n2 * n3, n = plane * n1;
  const int64_t own = at.own;
  /* The block's planes: start .. end - 1. */
  const int start = blockIdx.z * march, end = min(start + march, n1);
  pack<V> ring[RING];
  /* ring[q] holds plane start - HALO + q; the last one is in `newest`. The block reads 2 HALO planes more than it
   * owns. */
#pragma unroll
  for (int q = 0; q < RING - 1; q++) ring[q] = load<V>(f, rb_wrap_near(start + q - HALO, n1) * plane + own);
  pack<V> newest = load<V>(f, rb_wrap_near(start + HALO, n1) * plane + own);
  halo_share<V> halo = fetch_halo<V, 1, 1>(f + start * plane, at);
  /* A turn of the ring is unrolled: at step q plane i1 is at (q + HALO) % RING, and the newest replaces the
   * oldest. */
  for (int i0 = start; i0 < end; i0 += RING) {
#pragma unroll
    for (int q = 0; q < RING; q++) {
      int i1 = i0 + q;
      if (i1 >= end) break;              /* uniform over the block */
      float *tile = s[(i1 - start) & 1]; /* the other buffer may still be read: one barrier a plane */
      ring[(q + RING - 1) % RING] = newest;
      stage<V, 1, 1>(tile, ring[(q + HALO) % RING], halo, at);
      /* The next plane's values are asked for before the barrier and used behind the next one. */
      if (i1 + 1 < end) {
        newest = load<V>(f, rb_wrap_near(i1 + 1 + HALO, n1) * plane + own);
        halo = fetch_halo<V, 1, 1>(f + (i1 + 1) * plane, at);
      }
      /* The tile is whole. The other buffer is written before the next barrier, this one only behind it: by then all
       * have read it. */
      __syncthreads();
      if (at.valid) {
        int64_t to = i1 * plane + own;
        /* Streaming stores, one for each axis: g [3][n1][n2][n3]. */
        store_out(g, 2 * n + to, along_row<V>(tile, at, k.c[2]));
        store_out(g, n + to, across_rows<V>(tile, at, k.c[1]));
        store_out(g, to, along_ring<V>(ring, (q + HALO) % RING, k.c[0]));
      }
    }
  }
}

/* f [3][n1][n2][n3], d one field. Each component is differentiated along its own axis alone. */
template <int V>
static __global__ void __launch_bounds__(THREADS, 2)
    divergence_kernel(const float *__restrict__ f, float *__restrict__ d, int n1, int n2, int n3, int march,
                      fd8_coefficients k) {
  /* Of each of two planes used in turn: v2 with its halo rows, v3 with its halo columns. v1 needs the ring alone. */
  __shared__ __align__(16) float s[2][2][plane_shape<V>::WIDTH * plane_shape<V>::HEIGHT];
  /* Only v1's neighbours come from other planes; v2 and v3 are loaded for the next plane alone. */
  const place at = locate<V>(n2, n3);
  const int64_t plane = (int64_t)n2 * n3, n = plane * n1;
  const int64_t own = at.own;
  const float *f2 = f + n, *f3 = f + 2 * n;
  const int start = blockIdx.z * march, end = min(start + march, n1);
  pack<V> ring[RING];
#pragma unroll
  for (int q = 0; q < RING - 1; q++) ring[q] = load<V>(f, rb_wrap_near(start + q - HALO, n1) * plane + own);
  pack<V> newest = load<V>(f, rb_wrap_near(start + HALO, n1) * plane + own);
  pack<V> centre2 = load<V>(f2, start * plane + own), centre3 = load<V>(f3, start * plane + own);
  halo_share<V> halo2 = fetch_halo<V, 1, 0>(f2 + start * plane, at),
                halo3 = fetch_halo<V, 0, 1>(f3 + start * plane, at);
  for (int i0 = start; i0 < end; i0 += RING) {
#pragma unroll
    for (int q = 0; q < RING; q++) {
      int i1 = i0 + q;
      if (i1 >= end) break;
      float *tile2 = s[(i1 - start) & 1][0], *tile3 = s[(i1 - start) & 1][1];
      ring[(q + RING - 1) % RING] = newest;
      stage<V, 1, 0>(tile2, centre2, halo2, at);
      stage<V, 0, 1>(tile3, centre3, halo3, at);
      if (i1 + 1 < end) {
        newest = load<V>(f, rb_wrap_near(i1 + 1 + HALO, n1) * plane + own);
        centre2 = load<V>(f2, (i1 + 1) * plane + own), centre3 = load<V>(f3, (i1 + 1) * plane + own);
        halo2 = fetch_halo<V, 1, 0>(f2 + (i1 + 1) * plane, at),
        halo3 = fetch_halo<V, 0, 1>(f3 + (i1 + 1) * plane, at);
      }
      /* Both tiles are whole; the buffers change as in gradient_kernel. */
      __syncthreads();
      if (at.valid) {
        pack<V> a = along_ring<V>(ring, (q + HALO) % RING, k.c[0]), b = across_rows<V>(tile2, at, k.c[1]);
        pack<V> c = along_row<V>(tile3, at, k.c[2]);
        /* d v1/d x1 + (d v2/d x2 + d v3/d x3). */
#pragma unroll
        for (int v = 0; v < V; v++) a.v[v] += b.v[v] + c.v[v];
        store_out(d, i1 * plane + own, a);
      }
    }
  }
}

/* 16-byte accesses need n3 divisible by 4 and 16-byte aligned arrays. */
static int packs_of_four(rb_grid g, const void *a, const void *b) {
  return g.n[2] % 4 == 0 && (uintptr_t)a % 16 == 0 && (uintptr_t)b % 16 == 0;
}

/* Planes a block marches over: as many blocks as fit on the GPU at once, so that there is one wave and the run-up of
 * 2*HALO planes is paid as seldom as possible; at least 8 planes a block. Rounded up, so that the pieces cover n1.
 * Occupancy is asked of the runtime for the kernel in hand. */
static rb_status choose_march(const void *kernel, unsigned columns, int n1, int *march) {
  rb_status st = RB_OK;
  int device = 0, sms = 0, resident = 0;
  RB_CUDA_TRY(cudaGetDevice(&device));
  RB_CUDA_TRY(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device));
  RB_CUDA_TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, THREADS, 0));
  {
    /* Pieces of x1 that run at once, for each of the `columns` blocks of a plane. */
    int pieces = (int)((unsigned)(sms * resident) / columns);
    if (pieces < 1) pieces = 1;
    *march = (n1 + pieces - 1) / pieces;
    if (*march < 8) *march = 8;
  }
done:
  return st;
}

typedef void (*march_kernel)(const float *, float *, int, int, int, int, fd8_coefficients);

/* vector and scalar: the kernel for V = 4 and for V = 1. One launch: blocks.x and .y over the plane, blocks.z over
 * pieces of x1. Nothing is allocated. */
static rb_status run(rb_derivative_plan *p, const void *in, void *out, march_kernel vector, march_kernel scalar) {
  rb_status st = RB_OK;
  rb_grid g = p->desc.grid;
  int v = packs_of_four(g, in, out) ? 4 : 1, march = 0;
  march_kernel kernel = v == 4 ? vector : scalar;
  /* blocks.x and .y tile the plane; blocks.z counts pieces of x1. */
  dim3 blocks(rb_blocks(g.n[2], LANES * v), rb_blocks(g.n[1], ROWS), 1);
  RB_TRY(choose_march((const void *)kernel, blocks.x * blocks.y, (int)g.n[0], &march));
  blocks.z = rb_blocks(g.n[0], march);
  RB_LAUNCH(kernel, blocks, THREADS, 0, (const float *)in, (float *)out, (int)g.n[0], (int)g.n[1], (int)g.n[2], march,
            fd8_make(g));
done:
  return st;
}
static rb_status gradient(rb_derivative_plan *p, const void *f, void *g) {
  return run(p, f, g, gradient_kernel<4>, gradient_kernel<1>);
}
static rb_status divergence(rb_derivative_plan *p, const void *v, void *d) {
  return run(p, v, d, divergence_kernel<4>, divergence_kernel<1>);
}

/* blocks.y ends at 65535, offsets within a plane are ints */
static rb_status supports(const rb_derivative_desc *d) {
  if (d->grid.n[1] > RB_MOST_BLOCKS_YZ * ROWS || d->grid.n[1] * d->grid.n[2] >= (int64_t)1 << 31)
    return RB_FAIL(RB_EUNSUPPORTED, "cuda/march ends at 2^31 points a plane and %d rows", RB_MOST_BLOCKS_YZ * ROWS);
  return fd8_supports(d);
}

extern "C" const rb_derivative_ops rb_derivative_march = {supports, fd8_plan, gradient, divergence, fd8_destroy};
