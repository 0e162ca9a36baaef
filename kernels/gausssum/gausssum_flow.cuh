/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole flows of some thousand points in one launch: the steps of `rows`, without leaving the kernel.
 *
 * It is a cooperative launch, but its blocks meet at no barrier of the grid: what a step makes of a point travels as
 * a message of 16 bytes that holds three numbers and the number of the step, and whoever needs it reads until that
 * step is there. One way through the L2 cache is then all that lies between two steps. Measured on an H200: a launch
 * a step costs 3.7 us, a barrier of the grid by flags in memory 5 us (what was written must have arrived before a
 * flag rises, and be fetched again after it). */
#ifndef RB_GAUSSSUM_FLOW_CUH
#define RB_GAUSSSUM_FLOW_CUH

#include "kernels/cuda/cooperative.cuh"
#include "kernels/gausssum/gausssum_rows.cuh"

#include <cuda_pipeline_primitives.h>

enum { MOST_POLLS = 1 << 27 }; /* more than a minute of polling */

/* Up to three numbers of a point and, in `head`, the step that they are for. A message is 16 bytes, written and read
 * by one instruction: that all of it becomes visible together is what GPUs do (libraries between GPUs rest on it,
 * too); PTX's text promises it up to 8 bytes. `check` compares whole flows with single steps bit for bit. No fence is
 * needed: what a block sends depends on what it has read, and a place is written again only after that. */
typedef rb_words message;

/* A flow: `steps` Euler steps of two vectors a point: q and p forward; backward alpha and beta, along q and p of
 * every step, which are stored already. */
struct flow_io {
  int steps;
  point_arrays start;          /* q and p at the first step; backward: also alpha, beta */
  int stride;                  /* floats from one step's q and p to the next's; all of them are fewer than 2^31 */
  float *to_first, *to_second; /* q and p of all steps after the first; backward: alpha, beta after the last */
  float *first_sums;           /* forward: the second sums, Hp, of the first step; may be NULL */
  float scale, dt_first, dt_second; /* as in row_end */
  message *messages;                /* [2][2][n]: by parity of the step, by vector */
  unsigned *steps_before; /* steps of earlier launches: steps are numbered on, so that no old message is mistaken */
};
static size_t messages_bytes(int64_t n) { return 4 * (size_t)n * sizeof(message) + sizeof(unsigned); }

/* A block's dynamic shared memory, in this order (room: n rounded up to whole warps, zeros beyond n):
 *   part     [warps][sums]          written by each warp, read by all after a barrier
 *   own      [rows][2][4]           the block's own two vectors, kept from step to step
 *   updated  [2][room] messages     both vectors of all points at this step, from all blocks
 *   stored   [2][2][D][room]        backward only: q and p of this step and, being fetched, of the next */
template <int D, class OP>
struct __align__(16) flow_memory {
  enum { OWN = 4 };
  float part[block_of<OP>::WARPS][row_sums<OP>::ROOM], own[block_of<OP>::WARPS * ROWS][2][OWN];
};
static __host__ __device__ __forceinline__ int columns_room(int n) {
  return (n + WARP - 1) / WARP * WARP;
} /* points in whole warps */
template <int D, class OP>
static size_t flow_bytes(int n) {
  return sizeof(flow_memory<D, OP>) + 2 * (size_t)columns_room(n) * sizeof(message) +
         (OP::IN > 2 * D ? 4 * D * (size_t)columns_room(n) * sizeof(float) : 0);
}
template <int D, class OP>
static __device__ __forceinline__ flow_memory<D, OP> &memory() {
  RB_DYNAMIC_SHARED(unsigned char, rb_flow_memory, 16);
  return *reinterpret_cast<flow_memory<D, OP> *>(rb_flow_memory);
}
template <int D, class OP>
static __device__ __forceinline__ message *updated_columns() {
  return reinterpret_cast<message *>(&memory<D, OP>() + 1);
}
template <int D, class OP>
static __device__ __forceinline__ float *stored_columns(int room, int buffer) {
  return reinterpret_cast<float *>(updated_columns<D, OP>() + 2 * room) + 2 * D * buffer * room;
}

/* Starts the copy of column c of q (m = 0) or p (1), from an array [D][n], to a buffer of `stored`. */
template <int D, class OP>
static __device__ __forceinline__ void fetch_stored(const float *array, int n, int room, int buffer, int m, int c) {
  if (c < n)
#pragma unroll
    for (int v = 0; v < D; v++)
      __pipeline_memcpy_async(stored_columns<D, OP>(room, buffer) + (m * D + v) * room + c, array + v * n + c,
                              sizeof(float));
}

/* Reads a message until it is the one of `step`. One that never comes, because something has written over it, ends
 * the kernel with an error instead of hanging it. */
static __device__ __forceinline__ message poll(const message *at, unsigned step) {
  message p = rb_load_relaxed(at);
  for (unsigned polls = 0; p.head != step; polls++) {
    if (polls >= MOST_POLLS) __trap();
    p = rb_load_relaxed(at);
  }
  return p;
}
/* The messages of all points for a step, into `updated`. Each warp first waits for one message of its own, which
 * costs the L2 cache little; then each thread reads its share, BATCH messages at a time, and reads again, all at
 * once, those that have not come. A function of its own, as sum_columns is, so that neither takes registers from the
 * other. */
template <int D, class OP>
static __device__ __noinline__ void gather(int room, int n, const message *from, unsigned step) {
  enum { BATCH = 16 };
  const int total = 2 * n,
            own_place = (int)(threadIdx.x / WARP * (unsigned)total / (blockDim.x / WARP)) + threadIdx.x % WARP;
  message *columns = updated_columns<D, OP>();
  poll(from + own_place % total, step);
  for (int first = threadIdx.x; first < total; first += BATCH * blockDim.x) {
    message p[BATCH];
    bool missing = true;
#pragma unroll
    for (int b = 0; b < BATCH; b++) p[b].head = ~step;
    for (unsigned polls = 0; missing; polls++) {
      if (polls >= MOST_POLLS) __trap();
#pragma unroll
      for (int b = 0; b < BATCH; b++)
        if (p[b].head != step && first + b * blockDim.x < total)
          p[b] = rb_load_relaxed(from + first + b * blockDim.x);
      missing = false;
#pragma unroll
      for (int b = 0; b < BATCH; b++) missing |= p[b].head != step && first + b * blockDim.x < total;
    }
#pragma unroll
    for (int b = 0; b < BATCH; b++) {
      const int at = first + b * blockDim.x;
      if (at < total) columns[at < n ? at : at - n + room] = p[b];
    }
  }
}

/* Column c in the op's order: stored values first (backward: q, p), then the updated ones. */
template <int D, class OP>
static __device__ __forceinline__ void load_column(int room, int buffer, int c, float (&value)[OP::IN]) {
  enum { STORED = OP::IN - 2 * D };
#pragma unroll
  for (int v = 0; v < STORED; v++) value[v] = stored_columns<D, OP>(room, buffer)[v * room + c];
#pragma unroll
  for (int m = 0; m < 2; m++) {
    const message p = updated_columns<D, OP>()[m * room + c];
#pragma unroll
    for (int v = 0; v < D; v++) value[STORED + m * D + v] = p.value[v];
  }
}
/* The same value in every lane, and in a register that the compiler may choose freely: a value of a vector load must
 * lie beside its neighbours, and a multiprocessor reads two registers a clock, one of each parity. Where registers
 * are short the shuffle costs less than it saves. */
static __device__ __forceinline__ float from_lane_0(float x) { return __shfl_sync(~0u, x, 0); }

/* A warp's sums over its columns, to its line of `part`. Meanwhile q and p of the next step, arrays [D][n] or NULL,
 * are fetched into the other buffer of `stored`: by the warps of group 0 and 1, each the columns that it sums over.
 */
template <int D, class OP>
static __device__ __forceinline__ void sum_columns(kernel_width k, int groups, int splits, int n, int buffer,
                                                   const float *next_q, const float *next_p) {
  enum { STORED = OP::IN - 2 * D };
  const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, group = warp % groups, stride = splits * WARP,
            first = blockIdx.x * groups * ROWS;
  const int room = columns_room(n), none = room - WARP + lane; /* beyond the last column: read, not used */
  const bool fetches_q = STORED && next_q && group == 0, fetches_p = STORED && next_q && group == min(1, groups - 1);
  float a[ROWS][OP::IN], b[OP::IN], b_other[OP::IN];
  pairs_of_column<D> one, other;
  row_sums<OP> sum = {};
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    const int row = group * ROWS + r;
#pragma unroll
    for (int v = 0; v < OP::IN; v++) {
      const int moving = v - STORED;
      a[r][v] = moving >= 0       ? memory<D, OP>().own[row][moving / D][moving % D]
                : first + row < n ? stored_columns<D, OP>(room, buffer)[v * room + first + row]
                                  : 0;
      if (STORED) a[r][v] = from_lane_0(a[r][v]);
    }
  }
  int c = warp / groups * WARP + lane;
  const auto begin = [&](pairs_of_column<D> &l, float(&b)[OP::IN]) {
    load_column<D, OP>(room, buffer, c < room ? c : none, b);
    if (fetches_q) fetch_stored<D, OP>(next_q, n, room, 1 - buffer, 0, c);
    if (fetches_p) fetch_stored<D, OP>(next_p, n, room, 1 - buffer, 1, c);
    l.begin(k, a, b);
  };
  begin(one, b);
#pragma unroll 1
  while (c < room) {
    c += stride;
    begin(other, b_other);
    one.template finish<OP>(k, a, b, sum);
    if (c >= room) break;
    c += stride;
    begin(one, b);
    other.template finish<OP>(k, a, b_other, sum);
  }
  if (STORED) __pipeline_commit();
  warp_sums<row_sums<OP>::ROOM, WARP / 2>::run(&sum.of_row[0][0], lane, 0, memory<D, OP>().part[warp]);
}
template <int D, class OP>
static __device__ __noinline__ void sum_columns_apart(kernel_width k, int groups, int splits, int n, int buffer,
                                                      const float *next_q, const float *next_p) {
  sum_columns<D, OP>(k, groups, splits, n, buffer, next_q, next_p);
}

/* Who owns what: a block owns groups x ROWS points (`own`), their sums, and the messages that tell other blocks of
 * them; the layout of warps and the order of sums are those of `rows`. Step after step:
 *
 *   gather            all messages of this step are read into `updated`
 *   -- barrier --           `updated`, `stored` and `own` of this step are complete
 *   sum_columns             every warp writes its line of `part`
 *   -- barrier --           `part` is complete, and nobody reads `updated` any more
 *   a lane a sum            adds the splits, makes the Euler step in `own`, sends a message a point and vector
 *
 * Messages of even and of odd steps have places of their own. A block sends those of step s + 2 when it has read all
 * of step s + 1, which the others sent after they had read all of step s: no message is overwritten unread. */
template <int D, class OP>
static __global__ void __launch_bounds__(block_of<OP>::THREADS)
    whole_flow(kernel_width k, int groups, int splits, int n, flow_io j) {
  enum { STORED = OP::IN - 2 * D, BACK = STORED > 0, FINISHED = WARP / OP::OUT };
  flow_memory<D, OP> &of = memory<D, OP>();
  const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, first = blockIdx.x * groups * ROWS,
            room = columns_room(n);
  const unsigned steps_before = *j.steps_before;
  for (int r = threadIdx.x; r < groups * ROWS; r += blockDim.x)
#pragma unroll
    for (int v = STORED; v < OP::IN; v++)
      of.own[r][(v - STORED) / D][(v - STORED) % D] = first + r < n ? j.start.array[v / D][v % D * n + first + r] : 0;
  for (int c = threadIdx.x; c < room; c += blockDim.x)
#pragma unroll
    for (int m = 0; m < 2; m++) {
      message p = {0, {0, 0, 0}};
#pragma unroll
      for (int v = 0; v < D; v++)
        if (c < n) p.value[v] = j.start.array[STORED / D + m][v * n + c];
      updated_columns<D, OP>()[m * room + c] = p;
    }
  if (BACK) {
    for (int i = threadIdx.x; i < 4 * D * room; i += blockDim.x) stored_columns<D, OP>(room, 0)[i] = 0;
    __syncthreads();
    for (int c = threadIdx.x; c < n; c += blockDim.x)
      for (int m = 0; m < 2; m++) fetch_stored<D, OP>(j.start.array[m], n, room, 0, m, c);
    __pipeline_commit();
  }
  for (int step = 0; step < j.steps; step++) {
    if (step > 0) gather<D, OP>(room, n, j.messages + step % 2 * 2 * n, steps_before + step);
    if (BACK) __pipeline_wait_prior(0);
    __syncthreads(); /* `updated`, `stored` and `own` are complete */
    const int next = BACK && step + 1 < j.steps ? (step + 1) * j.stride : 0;
    if (BACK) /* not inlined: the registers then suffice */
      sum_columns_apart<D, OP>(k, groups, splits, n, step % 2, next ? j.start.array[0] + next : NULL,
                               j.start.array[1] + next);
    else
      sum_columns<D, OP>(k, groups, splits, n, 0, NULL, NULL);
    __syncthreads();
    /* a lane a sum; the lane of a vector's first component sends the message */
    for (int base = warp * FINISHED; base < groups * ROWS; base += groups * splits * FINISHED) {
      const int r = base + lane / OP::OUT, o = lane % OP::OUT, d = o % D, row = first + r;
      const bool mine = lane < FINISHED * OP::OUT && r < groups * ROWS,
                 of_first = o < D; /* alpha and p change by the first sums, beta and q by the second */
      const int m = of_first == BACK ? 0 : 1;
      const float total = mine ? total_of<OP>(of.part, groups, splits, r, o) : 0,
                  rate = of_first ? j.scale * total : total;
      const float now = fmaf(of_first ? j.dt_first : j.dt_second, rate, mine ? of.own[r][m][d] : 0);
      const message p = {steps_before + step + 1,
                         {now, __shfl_down_sync(~0u, now, 1), D > 2 ? __shfl_down_sync(~0u, now, 2) : 0}};
      if (!mine) continue;
      of.own[r][m][d] = now;
      if (row >= n) continue;
      if (d == 0 && step + 1 < j.steps) rb_store_relaxed(j.messages + ((step + 1) % 2 * 2 + m) * n + row, p);
      if (!of_first && step == 0 && j.first_sums) j.first_sums[d * n + row] = rate;
      if (!BACK || step + 1 == j.steps)
        (m == 0 ? j.to_first : j.to_second)[(BACK ? 0 : step * j.stride) + d * n + row] = now;
    }
  }
  /* All blocks have read *steps_before: the last step needed messages of each. Of one step alone none was sent. */
  if (blockIdx.x == 0 && threadIdx.x == 0 && j.steps > 1) *j.steps_before = steps_before + j.steps;
}

/* Whether a block's shared memory holds n points and all blocks run at the same time. */
template <int D, class OP>
static rb_status one_fits(int device, int n, int processors, int *out) {
  rb_status st = RB_OK;
  const int groups = groups_for<OP>(n, n, processors), threads = block_of<OP>::WARPS / groups * groups * WARP;
  int room = 0, blocks = 0;
  *out = 0;
  RB_CUDA_TRY(cudaDeviceGetAttribute(&room, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  if (flow_bytes<D, OP>(n) > (size_t)room || rb_blocks(n, ROWS * groups) > (unsigned)processors) return st;
  RB_CUDA_TRY(cudaFuncSetAttribute(whole_flow<D, OP>, cudaFuncAttributeMaxDynamicSharedMemorySize, room));
  RB_CUDA_TRY(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, whole_flow<D, OP>, threads, flow_bytes<D, OP>(n)));
  *out = blocks > 0;
done:
  return st;
}
template <int D>
static rb_status flow_fits(int n, int processors, int *out) {
  rb_status st = RB_OK;
  int device = 0, cooperates = 0, there = 0, back = 0;
  *out = 0;
  if (!RB_RELAXED_WORDS_WORK) return st;
  RB_CUDA_TRY(cudaGetDevice(&device));
  RB_CUDA_TRY(cudaDeviceGetAttribute(&cooperates, cudaDevAttrCooperativeLaunch, device));
  RB_TRY((one_fits<D, hamiltonian_flow<D> >(device, n, processors, &there)));
  RB_TRY((one_fits<D, backward_products<D> >(device, n, processors, &back)));
  *out = cooperates && there && back;
done:
  return st;
}

template <int D, class OP>
static rb_status launch_flow(int processors, kernel_width k, int n, flow_io j) {
  rb_status st = RB_OK;
  const int groups = groups_for<OP>(n, n, processors), splits = block_of<OP>::WARPS / groups;
  RB_LAUNCH_COOPERATIVE((whole_flow<D, OP>), rb_blocks(n, ROWS * groups), groups * splits * WARP,
                        (flow_bytes<D, OP>(n)), k, groups, splits, n, j);
done:
  return st;
}

#endif
