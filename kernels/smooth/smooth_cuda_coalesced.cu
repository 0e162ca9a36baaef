/* SPDX-License-Identifier: BSD-3-Clause */
/* A3 (demons2020): along x2 and x1 a block takes 32 neighbouring lines, so that its loads coalesce, and covers them
 * piece by piece; along x3 a line a block, as A2. */
#include "kernels/smooth/smooth_cuda.cuh"

/* A block of COLUMNS x ROWS threads; PIECE outputs of each line lie in shared memory at a time. */
enum { COLUMNS = 32, ROWS = 16, PIECE = 128 };

static __global__ void __launch_bounds__(COLUMNS *ROWS)
    tile_kernel(view v, weights w, const float *__restrict__ in, float *__restrict__ out) {
  /* s[along the line][line]: room for the widest border, whatever w.radius is. Lanes lie in different banks. */
  __shared__ float s[PIECE + 2 * WEIGHTS_RADIUS][COLUMNS];
  const int64_t columns = (v.inner + COLUMNS - 1) / COLUMNS, line = (int64_t)blockIdx.x / columns;
  /* column: place within `inner` of this thread's line; first: address of the line's first value. */
  const int64_t column = (int64_t)blockIdx.x % columns * COLUMNS + threadIdx.x,
                first = line * v.length * v.inner + column;
  /* Threads beyond the last line load zeros and store nothing, but meet the barriers. */
  const int r = w.radius, inside = column < v.inner;
  for (int begin = 0; begin < v.length; begin += PIECE) {
    const int count = min(PIECE, v.length - begin);
    for (int t = threadIdx.y; t < count + 2 * r; t += ROWS) {
      const int at = begin + t - r;
      s[t][threadIdx.x] = inside && at >= 0 && at < v.length ? in[first + at * v.inner] : 0.0f;
    }
    /* The piece with its borders is whole. */
    __syncthreads();
    for (int t = threadIdx.y; t < count; t += ROWS) {
      float sum = w.k[0] * s[r + t][threadIdx.x];
      for (int d = 1; d <= r; d++) sum += w.k[d] * (s[r + t - d][threadIdx.x] + s[r + t + d][threadIdx.x]);
      if (inside) out[first + (begin + t) * v.inner] = sum;
    }
    /* All have read it: the next piece may be loaded. Its border overlaps this one and is read again. */
    __syncthreads();
  }
}

/* Blocks: groups of 32 neighbouring lines in each outer line. */
static rb_status tiles(const rb_smooth_plan *p, const rb_smooth_kernel *k, int axis, const void *in, void *out) {
  rb_status st = RB_OK;
  const view v = view_of(&p->desc, axis);
  RB_LAUNCH(tile_kernel, (unsigned)(v.lines * ((v.inner + COLUMNS - 1) / COLUMNS)), dim3(COLUMNS, ROWS), 0, v,
            weights_of(k), (const float *)in, (float *)out);
done:
  return st;
}
static rb_status pass(rb_smooth_plan *p, const rb_smooth_kernel *k, int axis, const void *in, void *out) {
  return axis == 2 ? smooth_lines(p, k, axis, in, out) : tiles(p, k, axis, in, out);
}

extern "C" const rb_smooth_ops rb_smooth_coalesced = {smooth_supports, smooth_plan, pass,          NULL,
                                                      smooth_destroy,  0,           WEIGHTS_RADIUS};
