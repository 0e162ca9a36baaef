/* SPDX-License-Identifier: BSD-3-Clause */
/* Ours: as cuda/global, one point at a time with the next one's coordinates in flight, for linear.
 *
 * A point needs 8 loads that hit L1 and 3 that come from device memory. Fetching the 3 of the next point before the 8
 * of this one hides their latency at 32 registers, with which a multiprocessor holds all the threads it can; fetching
 * four points at once, as cuda/global does, hides it as well but takes registers, and with them half of the threads.
 */
#include "kernels/interp/interp_brick.cuh"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 750
enum { RESIDENT = 4 }; /* blocks of 256 threads: 1024, 2048 and 1536 threads a multiprocessor */
#elif !defined(__CUDA_ARCH__) || __CUDA_ARCH__ == 700 || __CUDA_ARCH__ == 800 || \
    (__CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200)
enum { RESIDENT = 8 };
#else
enum { RESIDENT = 6 };
#endif

/* Offsets count from `base`, which is the same for a block: 64 bits cost no thread a register. */
template <int BOUNDARY, int IS_GRID>
static __global__ void __launch_bounds__(THREADS, RESIDENT)
    kernel(field_view v, int64_t np, const float *__restrict__ x, float *__restrict__ out, int bricks2, int bricks3) {
  const brick_walk w = brick_points(IS_GRID, np, v, bricks2, bricks3);
  if (w.count == 0) return;
  /* Without a grid the block's first point, so that what remains is below BRICK; with one 2^31 suffices for all
   * offsets. */
  const int64_t base = IS_GRID ? 0 : (int64_t)blockIdx.x * BRICK;
  const int step = IS_GRID ? v.n2 * v.n3 : THREADS, first = (int)(w.first - base),
            last = first + (w.count - 1) * step;
  x += base, out += base;
  float next1 = __ldcs(x + first), next2 = __ldcs(x + np + first), next3 = __ldcs(x + 2 * np + first); /* read once */
#pragma unroll 1
  for (int at = first;; at += step) {
    const float x1 = next1, x2 = next2, x3 = next3;
    /* The next coordinates are asked for here; this point's eight loads follow before they are needed. */
    if (at != last)
      next1 = __ldcs(x + at + step), next2 = __ldcs(x + np + at + step), next3 = __ldcs(x + 2 * np + at + step);
    /* Results are not read again here: they leave the cache to the field. */
    __stcs(out + at, gather_global<RB_LINEAR, BOUNDARY>(v, x1, x2, x3));
    if (at == last) break;
  }
}

/* All components at x + u(x): u is read once, and the weights are found once. Its loop is the kernel's above, through
 * the planes of a brick; half as many blocks, for the registers that eight more loads in flight take. */
template <int BOUNDARY>
static __global__ void __launch_bounds__(THREADS, RESIDENT / 2)
    displaced_kernel(field_view v, int components, const float *__restrict__ u, float *__restrict__ out, int bricks2,
                     int bricks3) {
  const int64_t n = (int64_t)v.n1 * v.n2 * v.n3;
  const brick_walk w = brick_points(1, n, v, bricks2, bricks3);
  if (w.count == 0) return;
  const int plane = v.n2 * v.n3, first = (int)w.first, last = first + (w.count - 1) * plane;
  int i1 = first / plane;
  const int i2 = first % plane / v.n3, i3 = first % v.n3;
  float next1 = __ldcs(u + first), next2 = __ldcs(u + n + first), next3 = __ldcs(u + 2 * n + first);
#pragma unroll 1
  for (int at = first;; at += plane, i1++) {
    const float x1 = (float)i1 + next1, x2 = (float)i2 + next2, x3 = (float)i3 + next3;
    if (at != last)
      next1 = __ldcs(u + at + plane), next2 = __ldcs(u + n + at + plane), next3 = __ldcs(u + 2 * n + at + plane);
    field_view one = v;
    for (int c = 0; c < components; c++, one.f += n)
      __stcs(out + c * n + at, gather_global<RB_LINEAR, BOUNDARY>(one, x1, x2, x3));
    if (at == last) break;
  }
}

static rb_status supports(const rb_interp_desc *d) {
  if (d->basis != RB_LINEAR)
    return RB_FAIL(RB_EUNSUPPORTED, "cuda/march is linear only; cuda/tiled has the cubic bases");
  return brick_supports(d);
}

static rb_status eval(rb_interp_plan *head, int64_t np, const void *x, void *out) {
  rb_status st = RB_OK;
  const rb_interp_desc *d = &head->desc;
  const int64_t n = rb_grid_points(d->grid);
  const int is_grid = np == n, bricks2 = (int)rb_blocks(d->grid.n[1], BRICK2),
            bricks3 = (int)rb_blocks(d->grid.n[2], BRICK3);
  const unsigned blocks =
      is_grid ? rb_blocks(d->grid.n[0], BRICK1) * (unsigned)(bricks2 * bricks3) : rb_blocks(np, BRICK);
  for (int c = 0; c < d->components; c++) {
    field_view v = {((brick_plan *)head)->field + c * n, (int)d->grid.n[0], (int)d->grid.n[1], (int)d->grid.n[2]};
#define LAUNCH(BOUNDARY, IS_GRID)                                                                            \
  RB_LAUNCH((kernel<BOUNDARY, IS_GRID>), blocks, THREADS, 0, v, np, (const float *)x, (float *)out + c * np, \
            bricks2, bricks3)
    if (d->boundary == RB_PERIODIC && is_grid)
      LAUNCH(RB_PERIODIC, 1);
    else if (d->boundary == RB_PERIODIC)
      LAUNCH(RB_PERIODIC, 0);
    else if (d->boundary == RB_CLAMP && is_grid)
      LAUNCH(RB_CLAMP, 1);
    else if (d->boundary == RB_CLAMP)
      LAUNCH(RB_CLAMP, 0);
    else if (is_grid)
      LAUNCH(RB_ZERO, 1);
    else
      LAUNCH(RB_ZERO, 0);
#undef LAUNCH
  }
done:
  return st;
}

static rb_status displaced(rb_interp_plan *head, const void *u, void *out) {
  rb_status st = RB_OK;
  const rb_interp_desc *d = &head->desc;
  const int bricks2 = (int)rb_blocks(d->grid.n[1], BRICK2), bricks3 = (int)rb_blocks(d->grid.n[2], BRICK3);
  const unsigned blocks = rb_blocks(d->grid.n[0], BRICK1) * (unsigned)(bricks2 * bricks3);
  const field_view v = {((brick_plan *)head)->field, (int)d->grid.n[0], (int)d->grid.n[1], (int)d->grid.n[2]};
#define LAUNCH(BOUNDARY)                                                                                      \
  RB_LAUNCH(displaced_kernel<BOUNDARY>, blocks, THREADS, 0, v, d->components, (const float *)u, (float *)out, \
            bricks2, bricks3)
  if (d->boundary == RB_PERIODIC)
    LAUNCH(RB_PERIODIC);
  else if (d->boundary == RB_CLAMP)
    LAUNCH(RB_CLAMP);
  else
    LAUNCH(RB_ZERO);
#undef LAUNCH
done:
  return st;
}

extern "C" const rb_interp_ops rb_interp_march = {supports, brick_plan_create, brick_load, eval, brick_destroy, 0,
                                                  0,        displaced};
