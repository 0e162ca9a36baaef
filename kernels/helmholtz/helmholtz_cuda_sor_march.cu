/* SPDX-License-Identifier: BSD-3-Clause */
/* cuda/sor-march of helmholtz, ours: K = 2 sweeps in one pass over memory (cuda/sor-march-one: 1,
 * cuda/sor-march-four: 4, both to show what K does). A block owns a tile of columns and marches along axis 1;
 * half-sweep h of 2 K updates plane t - 2 - 2 h of step t, so that all half-sweeps of a step are independent of each
 * other and one barrier a step suffices:
 *
 *   plane   t asked for | t-1 arrived | t-2 half-sweep 0 | t-3 | t-4 half-sweep 1 | ... | t-4K the last, then out
 *
 * Half-sweep h needs of its plane and the two beside it what half-sweep h - 1 left, which was at the later one a step
 * ago; half-sweep h + 1 comes to the earlier one a step later.
 *
 * A thread owns two neighbours along axis 3, one of each colour, on R rows beside each other along axis 2, on the
 * planes t to t - 4 K - 1, in registers. Of an update's six neighbours these hold three, the other colour's values of
 * its own pair on the planes q - 1, q, q + 1, and between its own rows also those along axis 2. A warp owns whole
 * rows, so the second neighbour along axis 3 comes from the lane beside it by a shuffle. Those along axis 2 that
 * other warps own half-sweep h reads from hand[h][plane modulo 3], where half-sweep h - 1, or whoever loaded them,
 * has left them.
 *
 * Halo: a tile's outermost nodes lack neighbours, so each half-sweep leaves one more layer of them wrong; the 2 K
 * outermost layers are loaded and computed, but not stored. What is in a halo is computed by several blocks; v is
 * read from one array and written to another, as blocks run in any order. */
#include "kernels/base/device_info.h"
#include "kernels/cuda/cuda.cuh"
#include "kernels/helmholtz/helmholtz_sor.h"

#include <stdlib.h>

enum { PAIRS = 32, ROWS = 32 }; /* a tile, with its halo */
enum { AHEAD = 3 };             /* planes that are on their way into the L2 cache before they are asked for */

/* Rows a thread. Two take fewer reads of shared memory and hide more latency; the 18 planes of four sweeps, of v and
 * of f, leave registers for one. */
template <int K>
struct rows_of {
  static constexpr int value = K == 4 ? 1 : 2;
};

typedef struct {
  rb_helmholtz_plan head;
  int together; /* components a launch: all of a small grid, else one, whose v and f may stay in the L2 cache */
  int processors;
  float *other; /* [together][n]: where every second pass writes */
} march_plan;

static rb_status supports(const rb_helmholtz_desc *d) {
  if (d->dtype != RB_F32) return RB_FAIL(RB_EUNSUPPORTED, "the CUDA variants are float32 only");
  if (rb_grid_points(d->grid) >= (int64_t)1 << 31 || d->grid.n[1] > RB_MOST_BLOCKS_YZ)
    return RB_FAIL(RB_EUNSUPPORTED, "marching sweeps end at 2^31 voxels, 65535 rows");
  return RB_OK;
}
static void destroy(rb_helmholtz_plan *head) {
  rb_release(head->backend, ((march_plan *)head)->other);
  free(head);
}
static rb_status plan(const rb_backend *backend, const rb_helmholtz_desc *d, rb_helmholtz_plan **out) {
  const int64_t small = 1 << 20; /* voxels: v and f of three components fill half of an H200's L2 cache */
  rb_status st = RB_OK;
  rb_device_info info;
  const size_t n = (size_t)rb_grid_points(d->grid);
  march_plan *p = (march_plan *)calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  p->head.backend = backend;
  p->together = (int64_t)n <= small ? 3 : 1;
  p->processors = rb_device_info_read(&info) ? info.multiprocessors : 1;
  RB_TRY(rb_alloc(backend, (size_t)p->together * n * sizeof(float), (void **)&p->other));
  *out = &p->head;
  return RB_OK;
done:
  if (p) destroy(&p->head);
  return st;
}

typedef struct {
  int n1, n2, n3, border;
  int planes, segments; /* planes that a block puts out, and how often that goes into n1 */
} extent;

/* A pair of neighbours along axis 3, of which one or both may lie beyond the grid: 0 there. BOTH: neither or both are
 * there, on 8 bytes. */
template <bool BOTH>
static __device__ __forceinline__ float2 load_pair(const float *at, bool first, bool second) {
  if (BOTH) return first ? __ldg(reinterpret_cast<const float2 *>(at)) : make_float2(0.0f, 0.0f);
  return make_float2(first ? __ldg(at) : 0.0f, second ? __ldg(at + 1) : 0.0f);
}
template <bool BOTH>
static __device__ __forceinline__ void store_pair(float *at, float2 v, bool first, bool second) {
  if (BOTH) {
    if (first) *reinterpret_cast<float2 *>(at) = v;
  } else {
    if (first) at[0] = v.x;
    if (second) at[1] = v.y;
  }
}

/* Whether row r of the thread's begins with a black node on the planes of the block's first parity. A tile's first
 * plane and row are even, so that it is known when compiling if a thread owns an even number of rows. */
template <int R>
static __device__ __forceinline__ bool begins_black(int r) {
  return ((R % 2 == 0 ? r : (int)threadIdx.y + r) & 1) != 0;
}

/* Colours: red nodes have an even i1 + i2 + i3. On planes of one parity the pair's first node is red, on the others
 * its second. Arrays are rings over L planes whose indices are known when compiling: L is a multiple of 2 (parity)
 * and of 3 (hand). */
template <int K, int R, bool BOTH>
static __global__ void __launch_bounds__(PAIRS *ROWS / R, 1)
    march_kernel(extent e, rb_sor_weights_f32 w, const float *__restrict__ f, const float *__restrict__ v,
                 float *out) {
  constexpr int HALVES = 2 * K, H = 2 * K, L = (4 * K + 2 + 5) / 6 * 6;
  RB_DYNAMIC_SHARED(float, shared, 16);
  float(*const hand)[3][ROWS][PAIRS] = reinterpret_cast<float(*)[3][ROWS][PAIRS]>(shared); /* [HALVES] */
  const int j = threadIdx.x, y = (int)threadIdx.y * R;                                     /* the first of its rows */
  const int i2 = (int)blockIdx.y * (ROWS - 2 * H) + y - H, i3 = (int)blockIdx.x * 2 * (PAIRS - H) + 2 * j - H;
  const int segment = (int)blockIdx.z % e.segments, component = (int)blockIdx.z / e.segments;
  const int begin = segment * e.planes, end = min(begin + e.planes, e.n1); /* put out */
  const int low = begin - H, high = min(end + H, e.n1);                    /* loaded, those on the grid */
  const int plane = e.n2 * e.n3;
  const int64_t first_node = ((int64_t)component * e.n1 + low) * plane + (int64_t)i2 * e.n3 + i3;
  const float *v_at = v + first_node, *f_at = f + first_node; /* of the plane asked for */
  float *out_at = out + first_node - (int64_t)4 * K * plane;  /* of the plane put out */
  const bool first_there = i3 >= 0 && i3 < e.n3, second_there = i3 + 1 >= 0 && i3 + 1 < e.n3;
  const bool first_free = i3 >= e.border && i3 < e.n3 - e.border,
             second_free = i3 + 1 >= e.border && i3 + 1 < e.n3 - e.border;
  /* [r][0]: whether the red node of planes where (plane - low) is even may move, and black ones of the others;
   * [r][1]: the other two */
  bool row_there[R], may_move[R][2];
#pragma unroll
  for (int r = 0; r < R; r++) {
    const bool free_row = i2 + r >= e.border && i2 + r < e.n2 - e.border;
    row_there[r] = i2 + r >= 0 && i2 + r < e.n2;
    may_move[r][0] = free_row && (begins_black<R>(r) ? second_free : first_free);
    may_move[r][1] = free_row && (begins_black<R>(r) ? first_free : second_free);
  }
  const int left = max(j - 1, 0), right = min(j + 1, PAIRS - 1);
  const int up = max(y - 1, 0), down = min(y + R, ROWS - 1);

  float red[R][L], black[R][L], of_red[R][L], of_black[R][L]; /* v and f of its pairs */
#pragma unroll
  for (int k = 0; k < R * L; k++)
    red[k / L][k % L] = black[k / L][k % L] = of_red[k / L][k % L] = of_black[k / L][k % L] = 0.0f;

  for (int k = (int)threadIdx.y * PAIRS + j; k < HALVES * 3 * ROWS * PAIRS; k += PAIRS * ROWS / R)
    shared[k] = 0.0f; /* read before the first planes get there */
  __syncthreads();
  const int steps = end - low + 4 * K, inside = max(e.n1 - 2 * e.border, 0);
  for (int base = 0; base < steps; base += L) {
#pragma unroll
    for (int u = 0; u < L; u++) {
      const int t = base + u;
      if (t >= steps) break;
      const int p = low + t; /* is asked for; it is used from the next step on */
      const bool here = p >= 0 && p < high, later = p + AHEAD >= 0 && p + AHEAD < high && first_there && j % 16 == K;
#pragma unroll
      for (int r = 0; r < R; r++) {
        const float *const v_row = v_at + r * e.n3, *const f_row = f_at + r * e.n3;
        const bool row = here && row_there[r];
        const float2 value = load_pair<BOTH>(v_row, row && first_there, row && second_there),
                     force = load_pair<BOTH>(f_row, row && first_there, row && second_there);
        if (later && row_there[r]) /* one thread for 128 bytes */
          rb_prefetch(v_row + (int64_t)AHEAD * plane), rb_prefetch(f_row + (int64_t)AHEAD * plane);
        const bool second = begins_black<R>(r) != (u % 2 == 1); /* whether the red node is the second */
        red[r][u] = second ? value.y : value.x, black[r][u] = second ? value.x : value.y;
        of_red[r][u] = second ? force.y : force.x, of_black[r][u] = second ? force.x : force.y;
        /* the plane that came a step ago, for half-sweep 0 */
        hand[0][(u + 2) % 3][y + r][j] = black[r][(u + L - 1) % L];
      }
      v_at += plane, f_at += plane;
#pragma unroll
      for (int h = 0; h < HALVES; h++) {
        const int behind = 2 + 2 * h; /* planes behind the one asked for */
        const int q = low + t - behind, at = (u + 2 * L - behind) % L, slot = at % 3;
        const int before = (at + L - 1) % L, after = (at + 1) % L;
        const bool is_red = h % 2 == 0;
        const int side = at % 2 == (is_red ? 0 : 1) ? 0 : 1;
#pragma unroll
        for (int r = 0; r < R; r++) {
          float *const own = is_red ? red[r] : black[r], *const other = is_red ? black[r] : red[r];
          const float force = is_red ? of_red[r][at] : of_black[r][at];
          /* of the first node of a pair the other neighbour along axis 3 is to the left, of the second to the right
           */
          const float beside = __shfl_sync(0xffffffffu, other[at], begins_black<R>(r) != (side == 1) ? right : left);
          const float above = r == 0   ? hand[h][slot][up][j]
                              : is_red ? black[max(r - 1, 0)][at]
                                       : red[max(r - 1, 0)][at];
          const float below = r == R - 1 ? hand[h][slot][down][j]
                              : is_red   ? black[min(r + 1, R - 1)][at]
                                         : red[min(r + 1, R - 1)][at];
          /* sums of opposite neighbours: their order within a pair does not matter */
          const float moved =
              rb_sor_update_f32(w, force, own[at], other[before], other[after], above, below, other[at], beside);
          if (may_move[r][side] && (unsigned)(q - e.border) < (unsigned)inside) own[at] = moved;
          if (h + 1 < HALVES) hand[h + 1][slot][y + r][j] = own[at];
        }
      }
      const int q = low + t - 4 * K, at = (u + 2 * L - 4 * K) % L;
      if (q >= begin && q < end && j >= K && j < PAIRS - K)
#pragma unroll
        for (int r = 0; r < R; r++) {
          const bool second = begins_black<R>(r) != (at % 2 == 1);
          if (row_there[r] && y + r >= H && y + r < ROWS - H)
            store_pair<BOTH>(out_at + r * e.n3,
                             second ? make_float2(black[r][at], red[r][at]) : make_float2(red[r][at], black[r][at]),
                             first_there, second_there);
        }
      out_at += plane;
      __syncthreads(); /* what was handed over is read from the next step on */
    }
  }
}

/* Planes a block puts out, an even number: least steps of the busiest processor, which has one block at a time. */
static int best_planes(int n1, int halo, int tiles, int processors) {
  int best = n1;
  int64_t least = INT64_MAX;
  for (int planes = n1 + n1 % 2; planes >= 2; planes -= 2) {
    const int64_t blocks = (int64_t)tiles * ((n1 + planes - 1) / planes),
                  rounds = (blocks + processors - 1) / processors;
    const int64_t steps = rounds * (planes + halo);
    if (steps < least) least = steps, best = planes;
  }
  return best;
}

template <int K, bool BOTH>
static rb_status launch(const march_plan *p, extent e, dim3 blocks, double omega, const float *f, const float *from,
                        float *to) {
  rb_status st = RB_OK;
  constexpr int R = rows_of<K>::value, shared = 2 * K * 3 * ROWS * PAIRS * (int)sizeof(float);
  const cudaError_t asked =
      cudaFuncSetAttribute(march_kernel<K, R, BOTH>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
  if (asked == cudaErrorInvalidValue) {
    cudaGetLastError();
    return RB_FAIL(RB_EUNSUPPORTED, "%d sweeps a pass need %d KB of shared memory, more than a block has here", K,
                   shared / 1024);
  }
  RB_CUDA_TRY(asked);
  RB_LAUNCH((march_kernel<K, R, BOTH>), blocks, dim3(PAIRS, ROWS / R), shared, e,
            rb_sor_weights_of_f32(&p->head.desc, omega), f, from, to);
done:
  return st;
}
template <int K>
static rb_status pass(const march_plan *p, double omega, const float *f, const float *from, float *to) {
  constexpr int H = 2 * K;
  const rb_helmholtz_desc *d = &p->head.desc;
  const unsigned across = rb_blocks(d->grid.n[2], 2 * (PAIRS - H)), down = rb_blocks(d->grid.n[1], ROWS - 2 * H);
  extent e = {(int)d->grid.n[0], (int)d->grid.n[1], (int)d->grid.n[2], d->border, 0, 0};
  e.planes = best_planes(e.n1, H + 4 * K, (int)(across * down) * p->together, p->processors);
  e.segments = (e.n1 + e.planes - 1) / e.planes;
  const dim3 blocks(across, down, (unsigned)(e.segments * p->together));
  const bool both = e.n3 % 2 == 0 && ((uintptr_t)f | (uintptr_t)from | (uintptr_t)to) % 8 == 0;
  return both ? launch<K, true>(p, e, blocks, omega, f, from, to)
              : launch<K, false>(p, e, blocks, omega, f, from, to);
}

/* As many sweeps a pass as the variant makes while so many are left, then fewer. */
static rb_status sweep(rb_helmholtz_plan *head, int sweeps, double omega, const void *f, void *v) {
  rb_status st = RB_OK;
  march_plan *p = (march_plan *)head;
  const int most = ((const rb_helmholtz_ops *)head->variant->ops)->sweeps_a_pass;
  const int64_t n = rb_grid_points(head->desc.grid), count = p->together * n;
  for (int c = 0; c < 3; c += p->together) {
    const float *const force = (const float *)f + c * n;
    float *from = (float *)v + c * n, *to = p->other;
    for (int left = sweeps, now; left > 0; left -= now) {
      now = most >= 4 && left >= 4 ? 4 : most >= 2 && left >= 2 ? 2 : 1;
      RB_TRY(now == 4   ? pass<4>(p, omega, force, from, to)
             : now == 2 ? pass<2>(p, omega, force, from, to)
                        : pass<1>(p, omega, force, from, to));
      float *const swap = from;
      from = to, to = swap;
    }
    if (from == p->other)
      RB_CUDA_TRY(cudaMemcpyAsync((float *)v + c * n, from, (size_t)count * sizeof(float), cudaMemcpyDeviceToDevice,
                                  rb_cuda_stream()));
  }
done:
  return st;
}

extern "C" const rb_helmholtz_ops rb_helmholtz_sor_march_one = {supports,          plan, NULL, sweep, destroy,
                                                                RB_HELMHOLTZ_ZERO, 1},
                                  rb_helmholtz_sor_march = {supports,          plan, NULL, sweep, destroy,
                                                            RB_HELMHOLTZ_ZERO, 2},
                                  rb_helmholtz_sor_march_four = {supports,          plan, NULL, sweep, destroy,
                                                                 RB_HELMHOLTZ_ZERO, 4};
