/* SPDX-License-Identifier: BSD-3-Clause */
/* `rows` of cuda/tiled: sums over some thousand points.
 *
 * The sums form a matrix: a row is a point whose sums are wanted, a column a point that adds to them. A block takes
 * groups x ROWS rows; its warp w takes the ROWS rows of group w % groups and the columns of split w / groups:
 *
 *                columns (points j)
 *                split 0     split 1          split 2
 *      group 0   warp 0      warp groups      ...
 *      group 1   warp 1      warp groups + 1  ...
 *      ...
 *
 * A warp holds its ROWS rows in the registers of every lane; lane l takes the columns l, l + 32 splits, ... of its
 * warp's split, one after the other.
 *
 * Each lane adds its columns' terms to ROWS x OUT sums in registers. warp_sums then adds them over the lanes, the
 * block's shared array `part` takes a line a warp, one barrier makes these lines visible to all, and total_of adds
 * the splits of a row in their order. The order of all sums is fixed: results repeat bit by bit. */
#ifndef RB_GAUSSSUM_ROWS_CUH
#define RB_GAUSSSUM_ROWS_CUH

#include "kernels/gausssum/gausssum_pairs.cuh"

enum { WARP = 32, ROWS = 7 };
/* The size of a block: at most two or three warps for each of a multiprocessor's four parts, whose registers must
 * hold the ROWS rows of each. */
template <class OP>
struct block_of {
  enum { WARPS = OP::OUT > 4 ? 8 : 12, THREADS = WARPS * WARP };
};
/* Sums over the warp's lanes of COUNT values that each lane holds, by recursive halving: of two lanes that differ in
 * the bit OFFSET, one gives the lower half of its values away and keeps the sums of the upper half, the other the
 * reverse; then the next bit halves what is left. An odd number of values is summed whole. Value first + i ends in
 * out[first + i], written by a lane that holds it. */
template <int COUNT, int OFFSET>
struct warp_sums {
  static __device__ __forceinline__ void run(float *v, int lane, int first, float *out) {
    if (COUNT % 2 == 0 && OFFSET > 0) {
      const bool upper = lane & OFFSET;
#pragma unroll
      for (int i = 0; i < COUNT / 2; i++) {
        const float keep = upper ? v[i + COUNT / 2] : v[i], give = upper ? v[i] : v[i + COUNT / 2];
        v[i] = keep + __shfl_xor_sync(~0u, give, OFFSET);
      }
      warp_sums<COUNT % 2 == 0 ? COUNT / 2 : COUNT, OFFSET / 2>::run(v, lane, first + (upper ? COUNT / 2 : 0), out);
    } else {
#pragma unroll
      for (int i = 0; i < COUNT; i++) {
#pragma unroll
        for (int o = OFFSET; o > 0; o >>= 1) v[i] += __shfl_xor_sync(~0u, v[i], o);
      }
      if ((lane & (2 * OFFSET - 1)) == 0 || OFFSET == 0)
#pragma unroll
        for (int i = 0; i < COUNT; i++) out[first + i] = v[i];
    }
  }
};
template <int COUNT>
struct warp_sums<COUNT, 0> {
  static __device__ __forceinline__ void run(float *v, int, int first, float *out) {
#pragma unroll
    for (int i = 0; i < COUNT; i++) out[first + i] = v[i];
  }
};
/* COUNT values padded with zeros to ROOM, so that warp_sums can halve them most of the time. */
template <int COUNT>
struct padded {
  enum { ROOM = COUNT > 24 ? (COUNT + 15) / 16 * 16 : (COUNT + 7) / 8 * 8 };
};

/* A lane's sums: OP::OUT for each of ROWS rows, and the zeros that pad them. */
template <class OP>
struct row_sums {
  enum { VALUES = ROWS * OP::OUT, ROOM = padded<VALUES>::ROOM };
  float of_row[(ROOM + OP::OUT - 1) / OP::OUT][OP::OUT]; /* the values, then zeros */
};
/* The pairs of one column with the warp's rows in two halves: `begin` computes distances and issues the exponentials,
 * `finish` adds what follows from them. A warp begins the next column before it finishes this one, so that it does
 * not wait for an exponential. */
template <int D>
struct pairs_of_column {
  float d[ROWS][D], g[ROWS];
  template <int IN>
  __device__ __forceinline__ void begin(kernel_width k, const float (&a)[ROWS][IN], const float (&b)[IN]) {
#pragma unroll
    for (int r = 0; r < ROWS; r++) g[r] = gauss<D>(k, a[r], b, d[r]);
  }
  template <class OP>
  __device__ __forceinline__ void finish(kernel_width k, const float (&a)[ROWS][OP::IN], const float (&b)[OP::IN],
                                         row_sums<OP> &sum) const {
#pragma unroll
    for (int r = 0; r < ROWS; r++) OP::one_from(k, a[r], b, d[r], g[r], sum.of_row[r]);
  }
};

/* Sum o of the block's row r, the warps' parts added in their order. */
template <class OP>
static __device__ __forceinline__ float total_of(const float (*part)[row_sums<OP>::ROOM], int groups, int splits,
                                                 int r, int o) {
  const int value = r % ROWS * OP::OUT + o;
  float of[block_of<OP>::WARPS], total = 0; /* all are loaded before the first is added */
#pragma unroll
  for (int s = 0; s < block_of<OP>::WARPS; s++) of[s] = part[min(s, splits - 1) * groups + r / ROWS][value];
#pragma unroll
  for (int s = 0; s < block_of<OP>::WARPS; s++) total += s < splits ? of[s] : 0;
  return total;
}

/* All sums of the rows blockIdx.x * groups * ROWS onwards; the layout is drawn at the head of this file. The next
 * column is loaded while one is worked on, where registers suffice for it. */
template <int D, class OP>
static __global__ void __launch_bounds__(block_of<OP>::THREADS)
    rows(kernel_width k, int groups, int splits, int rows_n, point_arrays row_points, int n, point_arrays points,
         row_end end) {
  enum { AHEAD = OP::IN <= 6 };
  __shared__ float part[block_of<OP>::WARPS][row_sums<OP>::ROOM];
  const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, group = warp % groups, split = warp / groups;
  const int first = (blockIdx.x * groups + group) * ROWS;
  int c = split * WARP + lane;
  float a[ROWS][OP::IN], b[OP::IN], ahead[OP::IN];
  row_sums<OP> sum = {};
  if (AHEAD) load_point<D>(points, n, c, ahead);
#pragma unroll
  for (int r = 0; r < ROWS; r++) load_point<D>(row_points, rows_n, first + r, a[r]);
#pragma unroll 1
  while (c - lane < n) {
    if (AHEAD) {
#pragma unroll
      for (int v = 0; v < OP::IN; v++) b[v] = ahead[v];
      load_point<D>(points, n, c + splits * WARP, ahead);
    } else
      load_point<D>(points, n, c, b);
    c += splits * WARP;
#pragma unroll
    for (int r = 0; r < ROWS; r++) OP::one(k, a[r], b, sum.of_row[r]);
  }
  warp_sums<row_sums<OP>::ROOM, WARP / 2>::run(&sum.of_row[0][0], lane, 0, part[warp]);
  __syncthreads();
  for (int v = threadIdx.x; v < groups * row_sums<OP>::VALUES; v += blockDim.x) {
    const int r = v / OP::OUT, row = blockIdx.x * groups * ROWS + r;
    const float total = total_of<OP>(part, groups, splits, r, v % OP::OUT);
    if (row < rows_n) finish_row<D>(end, rows_n, row, v % OP::OUT, total);
  }
}

/* Pairs whose time a block's start and end take, measured on an H200: some 40 thousand. */
enum { PAIRS_A_BLOCK = 40000 };
/* Groups a block: those with which the multiprocessor that has most to do has least, of those that leave at least
 * eight warps with work. */
template <class OP>
static int groups_for(int rows_n, int64_t n, int processors) {
  enum { WARPS = block_of<OP>::WARPS };
  int best = 1;
  int64_t least = INT64_MAX;
  for (int groups = 1; groups <= WARPS; groups++) {
    const int64_t blocks = rb_blocks(rows_n, ROWS * groups),
                  share = (blocks + processors - 1) / processors * (groups * ROWS * n + PAIRS_A_BLOCK);
    if (WARPS / groups * groups >= 8 && share < least) least = share, best = groups;
  }
  return best;
}

template <int D, class OP>
static rb_status launch_rows(int processors, kernel_width k, int rows_n, point_arrays row_points, int n,
                             point_arrays points, row_end end) {
  rb_status st = RB_OK;
  const int groups = groups_for<OP>(rows_n, n, processors), splits = block_of<OP>::WARPS / groups;
  RB_LAUNCH((rows<D, OP>), rb_blocks(rows_n, ROWS * groups), groups * splits * WARP, 0, k, groups, splits, rows_n,
            row_points, n, points, end);
done:
  return st;
}

#endif
