/* SPDX-License-Identifier: BSD-3-Clause */
/* cuda/sor-block of helmholtz (ha2009 section 4.3): red and black in one kernel. A block holds its tile of v and a
 * halo in shared memory; half-sweep h of 2 K updates what lies within 2 K - 1 - h nodes of the tile, so that the last
 * one updates the tile itself. What is in the halo is computed by several blocks, to the same bits. v is read from
 * one array and written to another, as blocks run in any order.
 *
 *   h = 0 (K = 1)                    h = 1
 *   . o . o . o .   halo 2           . . . . . . .     o  updated
 *   o[. o . o .]o                    .[. o . o .].     .  as it was (before), [ ] the tile's row
 *   . o . o . o .   within 1         . . . . . . .                                                      */
#include "kernels/cuda/cuda.cuh"
#include "kernels/helmholtz/helmholtz_sor.h"

#include <stdlib.h>

enum { TILE1 = 8, TILE2 = 8, TILE3 = 32, THREADS = 256 };

typedef struct {
  rb_helmholtz_plan head;
  float *other; /* [n]: where every second pass writes */
} block_plan;

static rb_status supports(const rb_helmholtz_desc *d) {
  if (d->dtype != RB_F32) return RB_FAIL(RB_EUNSUPPORTED, "the CUDA variants are float32 only");
  if (rb_grid_points(d->grid) >= (int64_t)1 << 31 || d->grid.n[0] > RB_MOST_BLOCKS_YZ * TILE1 ||
      d->grid.n[1] > RB_MOST_BLOCKS_YZ * TILE2)
    return RB_FAIL(RB_EUNSUPPORTED, "cuda/sor-block ends at 2^31 voxels");
  return RB_OK;
}
static void destroy(rb_helmholtz_plan *head) {
  rb_release(head->backend, ((block_plan *)head)->other);
  free(head);
}
static rb_status plan(const rb_backend *backend, const rb_helmholtz_desc *d, rb_helmholtz_plan **out) {
  rb_status st = RB_OK;
  block_plan *p = (block_plan *)calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  p->head.backend = backend;
  RB_TRY(rb_alloc(backend, (size_t)rb_grid_points(d->grid) * sizeof(float), (void **)&p->other));
  *out = &p->head;
  return RB_OK;
done:
  if (p) destroy(&p->head);
  return st;
}

/* Nodes along the axes, and layers at the border that stay 0. */
typedef struct {
  int n1, n2, n3, border;
} extent;

static __device__ __forceinline__ bool is_inside(const extent &e, int i1, int i2, int i3) {
  return i1 >= e.border && i1 < e.n1 - e.border && i2 >= e.border && i2 < e.n2 - e.border && i3 >= e.border &&
         i3 < e.n3 - e.border;
}

/* K sweeps. Shared s: [TILE1 + 4K][TILE2 + 4K][TILE3 + 4K], its first node 2K before the tile's along every axis. */
template <int K>
static __global__ void __launch_bounds__(THREADS)
    block_kernel(extent e, rb_sor_weights_f32 w, const float *__restrict__ f, const float *__restrict__ v,
                 float *out) {
  constexpr int H = 2 * K, W1 = TILE1 + 2 * H, W2 = TILE2 + 2 * H, W3 = TILE3 + 2 * H;
  __shared__ float s[W1 * W2 * W3];
  /* First node of the shared box, 2 K before the tile; may lie off the grid, where values count as 0. */
  const int at1 = (int)blockIdx.z * TILE1 - H, at2 = (int)blockIdx.y * TILE2 - H, at3 = (int)blockIdx.x * TILE3 - H;
  for (int t = threadIdx.x; t < W1 * W2 * W3; t += THREADS) {
    const int i1 = at1 + t / (W2 * W3), i2 = at2 + t / W3 % W2, i3 = at3 + t % W3;
    const bool there = i1 >= 0 && i1 < e.n1 && i2 >= 0 && i2 < e.n2 && i3 >= 0 && i3 < e.n3;
    s[t] = there ? v[((int64_t)i1 * e.n2 + i2) * e.n3 + i3] : 0.0f;
  }
#pragma unroll
  for (int half = 0; half < H; half++) {
    __syncthreads();                                                    /* the other colour, or the tile, is whole */
    const int r = H - 1 - half, l2 = TILE2 + 2 * r, l3 = TILE3 / 2 + r; /* nodes of a colour in a row */
    for (int t = threadIdx.x; t < (TILE1 + 2 * r) * l2 * l3; t += THREADS) {
      /* A thread takes every THREADS-th node of this half-sweep's colour within r of the tile: `first` along x3, or
       * the next, so that i1 + i2 + i3 + half is even. */
      const int y1 = H - r + t / (l2 * l3), y2 = H - r + t / l3 % l2, first = H - r,
                y3 = first + 2 * (t % l3) + ((at1 + y1 + at2 + y2 + at3 + first + half) & 1);
      const int i1 = at1 + y1, i2 = at2 + y2, i3 = at3 + y3, y = (y1 * W2 + y2) * W3 + y3;
      /* Border layers and what lies beyond the grid stay as they are. */
      if (!is_inside(e, i1, i2, i3)) continue;
      s[y] = rb_sor_update_f32(w, f[((int64_t)i1 * e.n2 + i2) * e.n3 + i3], s[y], s[y - W2 * W3], s[y + W2 * W3],
                               s[y - W3], s[y + W3], s[y - 1], s[y + 1]);
    }
  }
  /* The last half-sweep is complete. */
  __syncthreads();
  /* Only the tile is put out; neighbours along x3 by neighbouring threads. */
  for (int t = threadIdx.x; t < TILE1 * TILE2 * TILE3; t += THREADS) {
    const int y1 = t / (TILE2 * TILE3), y2 = t / TILE3 % TILE2, y3 = t % TILE3;
    const int i1 = at1 + H + y1, i2 = at2 + H + y2, i3 = at3 + H + y3;
    if (i1 < e.n1 && i2 < e.n2 && i3 < e.n3)
      out[((int64_t)i1 * e.n2 + i2) * e.n3 + i3] = s[((y1 + H) * W2 + y2 + H) * W3 + y3 + H];
  }
}

static rb_status sweep(rb_helmholtz_plan *head, int sweeps, double omega, const void *f, void *v) {
  rb_status st = RB_OK;
  block_plan *p = (block_plan *)head;
  const rb_helmholtz_desc *d = &head->desc;
  const int64_t n = rb_grid_points(d->grid);
  const extent e = {(int)d->grid.n[0], (int)d->grid.n[1], (int)d->grid.n[2], d->border};
  const dim3 blocks(rb_blocks(e.n3, TILE3), rb_blocks(e.n2, TILE2), rb_blocks(e.n1, TILE1));
  /* Components one after the other: the second array is as large as one. */
  for (int c = 0; c < 3; c++) {
    float *from = (float *)v + c * n, *to = p->other;
    for (int k = 0; k < sweeps; k++) {
      RB_LAUNCH(block_kernel<1>, blocks, THREADS, 0, e, rb_sor_weights_of_f32(d, omega), (const float *)f + c * n,
                from, to);
      float *const swap = from;
      from = to, to = swap;
    }
    /* After an odd number of sweeps the result lies in the plan's own array. */
    if (from == p->other)
      RB_CUDA_TRY(cudaMemcpyAsync((float *)v + c * n, from, (size_t)n * sizeof(float), cudaMemcpyDeviceToDevice,
                                  rb_cuda_stream()));
  }
done:
  return st;
}

extern "C" const rb_helmholtz_ops rb_helmholtz_sor_block = {supports,          plan, NULL, sweep, destroy,
                                                            RB_HELMHOLTZ_ZERO, 1};
