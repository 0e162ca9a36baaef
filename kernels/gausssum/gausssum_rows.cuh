/* SPDX-License-Identifier: BSD-3-Clause */
/* `rows` of cuda/tiled: sums over some thousand points, and whole flows of them in one launch.
 *
 * A warp holds ROWS points in registers and its lanes walk over the others; a block's 8 to 12 warps split the points
 * among them, so that some thousand points fill the GPU. Sums of a lane, then of a warp by halving (each exchange
 * moves half of what is left), then of the warps in their order.
 *
 * A flow is one cooperative launch. Its blocks meet at no barrier: what a step makes of a point travels as 16 bytes
 * that hold three numbers and the step that they are of, and whoever needs them looks until that step is there. One
 * way through the L2 cache is then all that lies between two steps; a launch a step costs 3.7 us on an H200, flags in
 * memory to meet at 5 us (what was written must have arrived before a flag rises, and be fetched again after it). */
#ifndef RB_GAUSSSUM_ROWS_CUH
#define RB_GAUSSSUM_ROWS_CUH

#include "kernels/cuda/together.cuh"
#include "kernels/gausssum/gausssum_pairs.cuh"

#include <cuda_pipeline_primitives.h>

enum { WARP = 32, ROWS = 7 };
/* Warps that a block has at most: two or three for each of a multiprocessor's four parts, whose registers must hold
 * ROWS rows of each. */
template <class OP>
struct crew {
  enum { WARPS = OP::OUT > 4 ? 8 : 12, THREADS = WARPS * WARP };
};
enum { LOOKS = 1 << 27 }; /* a minute of looking and more */

/* Sums over the warp of COUNT values a lane. Every exchange keeps the half of the values that the lane's next bit
 * names; what is odd is summed whole. Value v ends in lanes whose bits say so. */
template <int COUNT, int OFFSET>
struct halving {
  static __device__ __forceinline__ void run(float *v, int lane, int first, float *out) {
    if (COUNT % 2 == 0 && OFFSET > 0) {
      const bool upper = lane & OFFSET;
#pragma unroll
      for (int i = 0; i < COUNT / 2; i++) {
        const float keep = upper ? v[i + COUNT / 2] : v[i], give = upper ? v[i] : v[i + COUNT / 2];
        v[i] = keep + __shfl_xor_sync(~0u, give, OFFSET);
      }
      halving<COUNT % 2 == 0 ? COUNT / 2 : COUNT, OFFSET / 2>::run(v, lane, first + (upper ? COUNT / 2 : 0), out);
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
struct halving<COUNT, 0> {
  static __device__ __forceinline__ void run(float *v, int, int first, float *out) {
#pragma unroll
    for (int i = 0; i < COUNT; i++) out[first + i] = v[i];
  }
};
/* Values that `halving` takes for `count`: zeros are added until most halvings come out even. */
template <int COUNT>
struct halved {
  enum { ROOM = COUNT > 24 ? (COUNT + 15) / 16 * 16 : (COUNT + 7) / 8 * 8 };
};

/* Sums of OP's values by row in a block: what `part` holds of them, warp by warp. */
template <class OP>
struct row_sums {
  enum { VALUES = ROWS * OP::OUT, ROOM = halved<VALUES>::ROOM };
  float of_row[(ROOM + OP::OUT - 1) / OP::OUT][OP::OUT]; /* the values, then zeros */
};
/* A column's pairs in two halves: what leads to their exponentials, and what follows from them. A warp is a column
 * ahead with the first, so that it waits for no exponential; the compiler by itself finishes pair after pair. */
template <int D>
struct leading {
  float d[ROWS][D], g[ROWS];
  template <int IN>
  __device__ __forceinline__ void lead(kernel_width k, const float (&a)[ROWS][IN], const float (&b)[IN]) {
#pragma unroll
    for (int r = 0; r < ROWS; r++) g[r] = gauss<D>(k, a[r], b, d[r]);
  }
  template <class OP>
  __device__ __forceinline__ void follow(kernel_width k, const float (&a)[ROWS][OP::IN], const float (&b)[OP::IN],
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
  float of[crew<OP>::WARPS], total = 0; /* all are on their way before the first is needed */
#pragma unroll
  for (int s = 0; s < crew<OP>::WARPS; s++) of[s] = part[min(s, splits - 1) * groups + r / ROWS][value];
#pragma unroll
  for (int s = 0; s < crew<OP>::WARPS; s++) total += s < splits ? of[s] : 0;
  return total;
}

/* Rows blockIdx.x * groups * ROWS ..; warp w of groups * splits: rows of group w % groups, columns of split w /
 * groups. The next column is on its way while one is worked on, where registers suffice for it. */
template <int D, class OP>
static __global__ void __launch_bounds__(crew<OP>::THREADS)
    rows(kernel_width k, int groups, int splits, int rows_n, point_arrays row_points, int n, point_arrays points,
         row_end end) {
  enum { AHEAD = OP::IN <= 6 };
  __shared__ float part[crew<OP>::WARPS][row_sums<OP>::ROOM];
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
  halving<row_sums<OP>::ROOM, WARP / 2>::run(&sum.of_row[0][0], lane, 0, part[warp]);
  __syncthreads();
  for (int v = threadIdx.x; v < groups * row_sums<OP>::VALUES; v += blockDim.x) {
    const int r = v / OP::OUT, row = blockIdx.x * groups * ROWS + r;
    const float total = total_of<OP>(part, groups, splits, r, v % OP::OUT);
    if (row < rows_n) finish_row<D>(end, rows_n, row, v % OP::OUT, total);
  }
}

/* Groups a block: what a multiprocessor's share takes, a block's start and end counting as some 40 thousand pairs;
 * most of its warps have work. */
template <class OP>
static int groups_for(int rows_n, int64_t n, int processors) {
  enum { WARPS = crew<OP>::WARPS };
  int best = 1;
  int64_t least = INT64_MAX;
  for (int groups = 1; groups <= WARPS; groups++) {
    const int64_t blocks = rb_blocks(rows_n, ROWS * groups),
                  share = (blocks + processors - 1) / processors * (groups * ROWS * n + 40000);
    if (WARPS / groups * groups >= 8 && share < least) least = share, best = groups;
  }
  return best;
}

template <int D, class OP>
static rb_status launch_rows(int processors, kernel_width k, int rows_n, point_arrays row_points, int n,
                             point_arrays points, row_end end) {
  rb_status st = RB_OK;
  const int groups = groups_for<OP>(rows_n, n, processors), splits = crew<OP>::WARPS / groups;
  RB_LAUNCH((rows<D, OP>), rb_blocks(rows_n, ROWS * groups), groups * splits * WARP, 0, k, groups, splits, rows_n,
            row_points, n, points, end);
done:
  return st;
}

/* ---- whole flows ------------------------------------------------------------------------------------------ */

/* Up to three numbers of a point and, in `head`, the step that they are for. That all of it becomes visible together
 * is what GPUs do (libraries between GPUs rest on it, too); PTX's text promises it up to 8 bytes. `check` compares
 * whole flows with single steps bit for bit. No fence is needed: what a block sends depends on what it has read, and
 * a slot is sent to again only after that. */
typedef rb_words parcel;

/* A flow: `steps` Euler steps of two vectors a point, q and p, or on the way back alpha and beta along q and p that
 * stand already. */
struct journey {
  int steps;
  point_arrays start;          /* q and p at the first step; back: also alpha, beta */
  int stride;                  /* floats from one step's q and p to the next's; all of them are fewer than 2^31 */
  float *to_first, *to_second; /* q and p of all steps after the first; back: alpha, beta after the last */
  float *first_second;         /* forward: the second sums, Hp, of the first step; may be NULL */
  float scale, dt_first, dt_second; /* as in row_end */
  parcel *parcels;                  /* [2][2][n]: by parity of the step, by vector */
  unsigned *made;                   /* steps that earlier launches made: parcels of theirs are told from this one's */
};
static size_t parcels_bytes(int64_t n) { return 4 * (size_t)n * sizeof(parcel) + sizeof(unsigned); }

/* A block's shared memory: sums by warp and the block's own points, then all points as columns, zeros beyond the
 * last: what moves as parcels [2][room], then two buffers of what stands on the way back, q and p as [2][D][room],
 * one for the step after. */
template <int D, class OP>
struct __align__(16) flow_memory {
  enum { OWN = 4 };
  float part[crew<OP>::WARPS][row_sums<OP>::ROOM], own[crew<OP>::WARPS * ROWS][2][OWN];
};
static __host__ __device__ __forceinline__ int columns_room(int n) {
  return (n + WARP - 1) / WARP * WARP;
} /* whole warps of points */
template <int D, class OP>
static size_t flow_bytes(int n) {
  return sizeof(flow_memory<D, OP>) + 2 * (size_t)columns_room(n) * sizeof(parcel) +
         (OP::IN > 2 * D ? 4 * D * (size_t)columns_room(n) * sizeof(float) : 0);
}
template <int D, class OP>
static __device__ __forceinline__ flow_memory<D, OP> &memory() {
  RB_DYNAMIC_SHARED(unsigned char, rb_flow_memory, 16);
  return *reinterpret_cast<flow_memory<D, OP> *>(rb_flow_memory);
}
template <int D, class OP>
static __device__ __forceinline__ parcel *moving_columns() {
  return reinterpret_cast<parcel *>(&memory<D, OP>() + 1);
}
template <int D, class OP>
static __device__ __forceinline__ float *standing_columns(int room, int buffer) {
  return reinterpret_cast<float *>(moving_columns<D, OP>() + 2 * room) + 2 * D * buffer * room;
}

/* Column c of q (m = 0) or p (1), from an array [D][n], sets out for a buffer. */
template <int D, class OP>
static __device__ __forceinline__ void stand(const float *array, int n, int room, int buffer, int m, int c) {
  if (c < n)
#pragma unroll
    for (int v = 0; v < D; v++)
      __pipeline_memcpy_async(standing_columns<D, OP>(room, buffer) + (m * D + v) * room + c, array + v * n + c,
                              sizeof(float));
}

/* One parcel, when it is there. What never comes, because something has written over it, ends the kernel with an
 * error instead of hanging it. */
static __device__ __forceinline__ parcel wait_for(const parcel *at, unsigned step) {
  parcel p = rb_load_relaxed(at);
  for (unsigned looks = 0; p.head != step; looks++) {
    if (looks >= LOOKS) __trap();
    p = rb_load_relaxed(at);
  }
  return p;
}
/* All points' parcels of a step. Each warp waits for a place of its own among them, which costs the L2 cache little,
 * and then fetches its share with BATCH looks of a thread under way at a time; what has not come yet it looks for
 * again, all at once. This and `sum_columns` are functions of their own, so that neither takes registers from the
 * other. */
template <int D, class OP>
static __device__ __noinline__ void arrive(int room, int n, const parcel *from, unsigned step) {
  enum { BATCH = 16 };
  const int total = 2 * n,
            own_place = (int)(threadIdx.x / WARP * (unsigned)total / (blockDim.x / WARP)) + threadIdx.x % WARP;
  parcel *columns = moving_columns<D, OP>();
  wait_for(from + own_place % total, step);
  for (int first = threadIdx.x; first < total; first += BATCH * blockDim.x) {
    parcel p[BATCH];
    bool missing = true;
#pragma unroll
    for (int b = 0; b < BATCH; b++) p[b].head = ~step;
    for (unsigned looks = 0; missing; looks++) {
      if (looks >= LOOKS) __trap();
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

/* Column c of those that a block has in shared memory, in the op's order: what stands, what moves. */
template <int D, class OP>
static __device__ __forceinline__ void load_column(int room, int buffer, int c, float (&value)[OP::IN]) {
  enum { STANDING = OP::IN - 2 * D };
#pragma unroll
  for (int v = 0; v < STANDING; v++) value[v] = standing_columns<D, OP>(room, buffer)[v * room + c];
#pragma unroll
  for (int m = 0; m < 2; m++) {
    const parcel p = moving_columns<D, OP>()[m * room + c];
#pragma unroll
    for (int v = 0; v < D; v++) value[STANDING + m * D + v] = p.value[v];
  }
}
/* The same value in every lane. Where registers are short it costs less to say so than not: a value that came by a
 * shuffle may lie in any register, one of a vector load only beside its neighbours, and a multiprocessor reads two
 * registers a clock, one of each parity. */
static __device__ __forceinline__ float anywhere(float x) { return __shfl_sync(~0u, x, 0); }

/* A warp's sums over its columns, to the block's `part`. What stands at the next step, q and p in arrays [D][n] or
 * NULL, sets out for the other buffer meanwhile. */
template <int D, class OP>
static __device__ __forceinline__ void sum_columns(kernel_width k, int groups, int splits, int n, int buffer,
                                                   const float *next_q, const float *next_p) {
  enum { STANDING = OP::IN - 2 * D };
  const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, group = warp % groups, stride = splits * WARP,
            first = blockIdx.x * groups * ROWS;
  const int room = columns_room(n),
            none = room - WARP + lane; /* past the end: a column that is there, and not used */
  const bool carries_q = STANDING && next_q && group == 0,
             carries_p = STANDING && next_q && group == min(1, groups - 1);
  float a[ROWS][OP::IN], b[OP::IN], b_other[OP::IN];
  leading<D> one, other;
  row_sums<OP> sum = {};
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    const int row = group * ROWS + r;
#pragma unroll
    for (int v = 0; v < OP::IN; v++) {
      const int moving = v - STANDING;
      a[r][v] = moving >= 0       ? memory<D, OP>().own[row][moving / D][moving % D]
                : first + row < n ? standing_columns<D, OP>(room, buffer)[v * room + first + row]
                                  : 0;
      if (STANDING) a[r][v] = anywhere(a[r][v]);
    }
  }
  int c = warp / groups * WARP + lane;
  const auto lead = [&](leading<D> &l, float(&b)[OP::IN]) {
    load_column<D, OP>(room, buffer, c < room ? c : none, b);
    if (carries_q) stand<D, OP>(next_q, n, room, 1 - buffer, 0, c);
    if (carries_p) stand<D, OP>(next_p, n, room, 1 - buffer, 1, c);
    l.lead(k, a, b);
  };
  lead(one, b);
#pragma unroll 1
  while (c < room) {
    c += stride;
    lead(other, b_other);
    one.template follow<OP>(k, a, b, sum);
    if (c >= room) break;
    c += stride;
    lead(one, b);
    other.template follow<OP>(k, a, b_other, sum);
  }
  if (STANDING) __pipeline_commit();
  halving<row_sums<OP>::ROOM, WARP / 2>::run(&sum.of_row[0][0], lane, 0, memory<D, OP>().part[warp]);
}
template <int D, class OP>
static __device__ __noinline__ void sum_columns_apart(kernel_width k, int groups, int splits, int n, int buffer,
                                                      const float *next_q, const float *next_p) {
  sum_columns<D, OP>(k, groups, splits, n, buffer, next_q, next_p);
}

/* The same rows, columns and order of sums as `rows`, step after step. A block's own points stay in shared memory,
 * and all points of a step are brought there before it begins: q and p that stand already during the step before,
 * parcels as they come. Parcels are used again every second step: a block sends those of step s + 2 when it has all
 * of step s + 1, which others send after their last look at step s. */
template <int D, class OP>
static __global__ void __launch_bounds__(crew<OP>::THREADS)
    whole_flow(kernel_width k, int groups, int splits, int n, journey j) {
  enum { STANDING = OP::IN - 2 * D, BACK = STANDING > 0, FINISHED = WARP / OP::OUT };
  flow_memory<D, OP> &of = memory<D, OP>();
  const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, first = blockIdx.x * groups * ROWS,
            room = columns_room(n);
  const unsigned made = *j.made;
  for (int r = threadIdx.x; r < groups * ROWS; r += blockDim.x)
#pragma unroll
    for (int v = STANDING; v < OP::IN; v++)
      of.own[r][(v - STANDING) / D][(v - STANDING) % D] =
          first + r < n ? j.start.array[v / D][v % D * n + first + r] : 0;
  for (int c = threadIdx.x; c < room; c += blockDim.x)
#pragma unroll
    for (int m = 0; m < 2; m++) {
      parcel p = {0, {0, 0, 0}};
#pragma unroll
      for (int v = 0; v < D; v++)
        if (c < n) p.value[v] = j.start.array[STANDING / D + m][v * n + c];
      moving_columns<D, OP>()[m * room + c] = p;
    }
  if (BACK) {
    for (int i = threadIdx.x; i < 4 * D * room; i += blockDim.x) standing_columns<D, OP>(room, 0)[i] = 0;
    __syncthreads();
    for (int c = threadIdx.x; c < n; c += blockDim.x)
      for (int m = 0; m < 2; m++) stand<D, OP>(j.start.array[m], n, room, 0, m, c);
    __pipeline_commit();
  }
  for (int step = 0; step < j.steps; step++) {
    if (step > 0) arrive<D, OP>(room, n, j.parcels + step % 2 * 2 * n, made + step);
    if (BACK) __pipeline_wait_prior(0);
    __syncthreads(); /* all columns and the block's own points stand */
    const int next = BACK && step + 1 < j.steps ? (step + 1) * j.stride : 0;
    if (BACK) /* a function of its own: the registers then suffice */
      sum_columns_apart<D, OP>(k, groups, splits, n, step % 2, next ? j.start.array[0] + next : NULL,
                               j.start.array[1] + next);
    else
      sum_columns<D, OP>(k, groups, splits, n, 0, NULL, NULL);
    __syncthreads();
    /* a lane a sum; the lane of a vector's first sum sends the parcel */
    for (int base = warp * FINISHED; base < groups * ROWS; base += groups * splits * FINISHED) {
      const int r = base + lane / OP::OUT, o = lane % OP::OUT, d = o % D, row = first + r;
      const bool mine = lane < FINISHED * OP::OUT && r < groups * ROWS,
                 of_first = o < D; /* alpha and p change by the first sums, beta and q by the second */
      const int m = of_first == BACK ? 0 : 1;
      const float total = mine ? total_of<OP>(of.part, groups, splits, r, o) : 0,
                  rate = of_first ? j.scale * total : total;
      const float now = fmaf(of_first ? j.dt_first : j.dt_second, rate, mine ? of.own[r][m][d] : 0);
      const parcel p = {made + step + 1,
                        {now, __shfl_down_sync(~0u, now, 1), D > 2 ? __shfl_down_sync(~0u, now, 2) : 0}};
      if (!mine) continue;
      of.own[r][m][d] = now;
      if (row >= n) continue;
      if (d == 0 && step + 1 < j.steps) rb_store_relaxed(j.parcels + ((step + 1) % 2 * 2 + m) * n + row, p);
      if (!of_first && step == 0 && j.first_second) j.first_second[d * n + row] = rate;
      if (!BACK || step + 1 == j.steps)
        (m == 0 ? j.to_first : j.to_second)[(BACK ? 0 : step * j.stride) + d * n + row] = now;
    }
  }
  /* All blocks have read it: the last step needed something of each. Without a second step no parcel was sent, and
   * nothing is counted. */
  if (blockIdx.x == 0 && threadIdx.x == 0 && j.steps > 1) *j.made = made + j.steps;
}

/* Whether a block's shared memory holds n points and all blocks run at the same time. */
template <int D, class OP>
static rb_status one_fits(int device, int n, int processors, int *out) {
  rb_status st = RB_OK;
  const int groups = groups_for<OP>(n, n, processors), threads = crew<OP>::WARPS / groups * groups * WARP;
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
static rb_status launch_flow(int processors, kernel_width k, int n, journey j) {
  rb_status st = RB_OK;
  const int groups = groups_for<OP>(n, n, processors), splits = crew<OP>::WARPS / groups;
  RB_LAUNCH_TOGETHER((whole_flow<D, OP>), rb_blocks(n, ROWS * groups), groups * splits * WARP, (flow_bytes<D, OP>(n)),
                     k, groups, splits, n, j);
done:
  return st;
}

#endif
