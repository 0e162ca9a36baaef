/* Ours: all three axes in one kernel. A block owns a tile of (x3, x2) and marches along x1: the nine values
 * of the x1 stencil stay in registers, the current plane with its halo lies in shared memory, every value
 * comes from device memory about once. V values of x3 a thread (4: 16-byte accesses, when n3 divides by 4). */
#include "kernels/derivative/derivative_fd.cuh"

enum { LANES = 16, ROWS = 16, THREADS = LANES * ROWS, MARCH = 32, RING = 2 * HALO + 1 };

template <int V>
struct __align__(sizeof(float) * V) pack {
  float v[V];
};

template <int V>
static __device__ __forceinline__ pack<V> load(const float *__restrict__ f, int64_t at) {
  return *reinterpret_cast<const pack<V> *>(f + at);
}
template <int V>
static __device__ __forceinline__ void store(float *f, int64_t at, pack<V> p) {
  *reinterpret_cast<pack<V> *>(f + at) = p;
}

/* Shared plane: rows of LANES*V values with HALO either side (rounded to whole packs). */
template <int V>
struct plane_shape {
  enum { SIDE = HALO, WIDTH = LANES * V + 2 * SIDE, HEIGHT = ROWS + 2 * HALO };
};

/* Where a thread works; columns are wrapped so that every cell of the tile holds a valid value. */
struct place {
  int x, y, lane, row; /* own first x3 index and x2 index; position in the tile */
};

/* Put the interior, and the halo rows and columns of plane i1, into shared memory. */
template <int V, int HALO_ROWS, int HALO_COLUMNS>
static __device__ __forceinline__ void stage(float *s, const float *__restrict__ f, pack<V> centre, int i1, int n2, int n3, place at) {
  const int WIDTH = plane_shape<V>::WIDTH;
  const int64_t base = (int64_t)i1 * n2 * n3;
  float *own = s + (at.row + HALO) * WIDTH + HALO + at.lane * V;
#pragma unroll
  for (int v = 0; v < V; v++) own[v] = centre.v[v];
  if (HALO_ROWS && at.row < 2 * HALO) {
    int row = at.row < HALO ? at.row : ROWS + at.row; /* tile row in [0, HEIGHT) */
    int y = rb_wrap_near(at.y - at.row + row - HALO, n2);
    pack<V> p = load<V>(f, base + (int64_t)y * n3 + rb_wrap_near(at.x, n3));
#pragma unroll
    for (int v = 0; v < V; v++) s[row * WIDTH + HALO + at.lane * V + v] = p.v[v];
  }
  if (HALO_COLUMNS) {
    /* 2*HALO columns of ROWS rows: packs of V, left then right */
    const int PACKS = 2 * HALO / V;
    int task = at.row * LANES + at.lane;
    if (task < ROWS * PACKS) {
      int row = task / PACKS, side = task % PACKS;
      int column = side < PACKS / 2 ? side * V - HALO : LANES * V + (side - PACKS / 2) * V;
      int y = rb_wrap_near(at.y - at.row + row, n2), x = rb_wrap_near(at.x - at.lane * V + column, n3);
      pack<V> p = load<V>(f, base + (int64_t)y * n3 + x);
#pragma unroll
      for (int v = 0; v < V; v++) s[(row + HALO) * WIDTH + HALO + column + v] = p.v[v];
    }
  }
}

template <int V>
static __device__ __forceinline__ pack<V> across_rows(const float *s, place at, const float c[HALO]) {
  const int WIDTH = plane_shape<V>::WIDTH;
  const float *own = s + (at.row + HALO) * WIDTH + HALO + at.lane * V;
  pack<V> d = {};
#pragma unroll
  for (int l = 1; l <= HALO; l++) {
    pack<V> up = *reinterpret_cast<const pack<V> *>(own + l * WIDTH), down = *reinterpret_cast<const pack<V> *>(own - l * WIDTH);
#pragma unroll
    for (int v = 0; v < V; v++) d.v[v] += c[l - 1] * (up.v[v] - down.v[v]);
  }
  return d;
}

template <int V>
static __device__ __forceinline__ pack<V> along_row(const float *s, place at, const float c[HALO]) {
  const float *own = s + (at.row + HALO) * plane_shape<V>::WIDTH + HALO + at.lane * V;
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

template <int V>
static __device__ __forceinline__ pack<V> along_ring(const pack<V> ring[RING], int centre, const float c[HALO]) {
  pack<V> d = {};
#pragma unroll
  for (int l = 1; l <= HALO; l++)
#pragma unroll
    for (int v = 0; v < V; v++) d.v[v] += c[l - 1] * (ring[(centre + l) % RING].v[v] - ring[(centre - l + RING) % RING].v[v]);
  return d;
}

template <int V>
static __device__ __forceinline__ place locate(int n2, int n3) {
  place at;
  at.lane = threadIdx.x % LANES, at.row = threadIdx.x / LANES;
  at.x = blockIdx.x * LANES * V + at.lane * V, at.y = blockIdx.y * ROWS + at.row;
  return at;
}

template <int V>
static __global__ void __launch_bounds__(THREADS) gradient_kernel(const float *__restrict__ f, float *__restrict__ g, int n1, int n2, int n3,
                                                                 fd8_coefficients k) {
  __shared__ __align__(16) float s[2][plane_shape<V>::WIDTH * plane_shape<V>::HEIGHT];
  const place at = locate<V>(n2, n3);
  const int64_t plane = (int64_t)n2 * n3, n = plane * n1;
  const int64_t own = (int64_t)rb_wrap_near(at.y, n2) * n3 + rb_wrap_near(at.x, n3);
  const int start = blockIdx.z * MARCH, valid = at.x < n3 && at.y < n2;
  pack<V> ring[RING];
#pragma unroll
  for (int q = 0; q < RING - 1; q++) ring[q] = load<V>(f, rb_wrap_near(start + q - HALO, n1) * plane + own);
  for (int k0 = 0; k0 < MARCH; k0 += RING) {
#pragma unroll
    for (int q = 0; q < RING; q++) {
      int i1 = start + k0 + q;
      if (k0 + q >= MARCH || i1 >= n1) break; /* uniform over the block */
      float *tile = s[(k0 + q) & 1]; /* the other buffer may still be read: one barrier a plane */
      ring[(q + RING - 1) % RING] = load<V>(f, rb_wrap_near(i1 + HALO, n1) * plane + own);
      stage<V, 1, 1>(tile, f, ring[(q + HALO) % RING], i1, n2, n3, at);
      __syncthreads();
      if (valid) {
        int64_t to = i1 * plane + own;
        store<V>(g, 2 * n + to, along_row<V>(tile, at, k.c[2]));
        store<V>(g, n + to, across_rows<V>(tile, at, k.c[1]));
        store<V>(g, to, along_ring<V>(ring, (q + HALO) % RING, k.c[0]));
      }
    }
  }
}

template <int V>
static __global__ void __launch_bounds__(THREADS) divergence_kernel(const float *__restrict__ f, float *__restrict__ d, int n1, int n2,
                                                                   int n3, fd8_coefficients k) {
  __shared__ __align__(16) float s[2][2][plane_shape<V>::WIDTH * plane_shape<V>::HEIGHT];
  const place at = locate<V>(n2, n3);
  const int64_t plane = (int64_t)n2 * n3, n = plane * n1;
  const int64_t own = (int64_t)rb_wrap_near(at.y, n2) * n3 + rb_wrap_near(at.x, n3);
  const int start = blockIdx.z * MARCH, valid = at.x < n3 && at.y < n2;
  pack<V> ring[RING];
#pragma unroll
  for (int q = 0; q < RING - 1; q++) ring[q] = load<V>(f, rb_wrap_near(start + q - HALO, n1) * plane + own);
  for (int k0 = 0; k0 < MARCH; k0 += RING) {
#pragma unroll
    for (int q = 0; q < RING; q++) {
      int i1 = start + k0 + q;
      if (k0 + q >= MARCH || i1 >= n1) break;
      float *tile2 = s[(k0 + q) & 1][0], *tile3 = s[(k0 + q) & 1][1];
      ring[(q + RING - 1) % RING] = load<V>(f, rb_wrap_near(i1 + HALO, n1) * plane + own);
      stage<V, 1, 0>(tile2, f + n, load<V>(f + n, i1 * plane + own), i1, n2, n3, at);
      stage<V, 0, 1>(tile3, f + 2 * n, load<V>(f + 2 * n, i1 * plane + own), i1, n2, n3, at);
      __syncthreads();
      if (valid) {
        pack<V> a = along_ring<V>(ring, (q + HALO) % RING, k.c[0]), b = across_rows<V>(tile2, at, k.c[1]);
        pack<V> c = along_row<V>(tile3, at, k.c[2]);
#pragma unroll
        for (int v = 0; v < V; v++) a.v[v] += b.v[v] + c.v[v];
        store<V>(d, i1 * plane + own, a);
      }
    }
  }
}

/* 16-byte accesses need n3 divisible by 4 and 16-byte aligned arrays. */
static int packs_of_four(rb_grid g, const void *a, const void *b) {
  return g.n[2] % 4 == 0 && (uintptr_t)a % 16 == 0 && (uintptr_t)b % 16 == 0;
}
static dim3 blocks_for(rb_grid g, int v) {
  return dim3(rb_blocks(g.n[2], LANES * v), rb_blocks(g.n[1], ROWS), rb_blocks(g.n[0], MARCH));
}

static rb_status gradient(rb_derivative_plan *p, const void *f, void *out) {
  rb_status st = RB_OK;
  rb_grid g = p->desc.grid;
  if (packs_of_four(g, f, out))
    RB_LAUNCH(gradient_kernel<4>, blocks_for(g, 4), THREADS, 0, (const float *)f, (float *)out, (int)g.n[0], (int)g.n[1], (int)g.n[2], fd8_make(g));
  else
    RB_LAUNCH(gradient_kernel<1>, blocks_for(g, 1), THREADS, 0, (const float *)f, (float *)out, (int)g.n[0], (int)g.n[1], (int)g.n[2], fd8_make(g));
done:
  return st;
}
static rb_status divergence(rb_derivative_plan *p, const void *v, void *out) {
  rb_status st = RB_OK;
  rb_grid g = p->desc.grid;
  if (packs_of_four(g, v, out))
    RB_LAUNCH(divergence_kernel<4>, blocks_for(g, 4), THREADS, 0, (const float *)v, (float *)out, (int)g.n[0], (int)g.n[1], (int)g.n[2], fd8_make(g));
  else
    RB_LAUNCH(divergence_kernel<1>, blocks_for(g, 1), THREADS, 0, (const float *)v, (float *)out, (int)g.n[0], (int)g.n[1], (int)g.n[2], fd8_make(g));
done:
  return st;
}

extern "C" const rb_derivative_ops rb_derivative_march = {fd8_supports, fd8_plan, gradient, divergence, fd8_destroy};
