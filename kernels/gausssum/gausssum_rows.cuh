/* `rows` of cuda/tiled: sums over some thousand points, and whole flows of them in one launch.
 *
 * A warp holds ROWS points in registers and its lanes walk over the others; a block's 12 warps split the points among them, so that some
 * thousand points fill the GPU. Sums of a lane, then of a warp by halving (each exchange moves half of what is left), then of the warps
 * in their order.
 *
 * A flow is one cooperative launch. Its blocks meet at no barrier: what a step makes of a point travels as 16 bytes that hold three numbers
 * and the step that they are of, and whoever needs them looks until that step is there. One way through the L2 cache is then all that
 * lies between two steps; a launch a step costs 3.7 us on an H200, flags in memory to meet at 5 us (what was written must have arrived
 * before a flag rises, and be fetched again after it). */
#ifndef RB_GAUSSSUM_ROWS_CUH
#define RB_GAUSSSUM_ROWS_CUH

#include "kernels/cuda/together.cuh"
#include "kernels/gausssum/gausssum_pairs.cuh"

enum { WARP = 32, ROWS = 7, ROWS_THREADS = 384, ROWS_WARPS = ROWS_THREADS / WARP };
enum { LOOKS = 1 << 27 }; /* a minute of looking and more */

/* Sums over the warp of COUNT values a lane. Every exchange keeps the half of the values that the lane's next bit names; what is
 * odd is summed whole. Value v ends in lanes whose bits say so. */
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
/* Sum o of the block's row r, the warps' parts added in their order. */
template <class OP>
static __device__ __forceinline__ float total_of(const float (*part)[row_sums<OP>::ROOM], int groups, int r, int o) {
  float total = 0;
  for (int s = 0; s < ROWS_WARPS / groups; s++) total += part[s * groups + r / ROWS][r % ROWS * OP::OUT + o];
  return total;
}

/* Rows blockIdx.x * groups * ROWS ..; warp w: rows of group w % groups, columns of split w / groups. The next column is on its way
 * while one is worked on, where registers suffice for it. */
template <int D, class OP>
static __global__ void __launch_bounds__(ROWS_THREADS) rows(kernel_width k, int groups, int rows_n, point_arrays row_points, int n, point_arrays points,
                                                           row_end end) {
  enum { AHEAD = OP::IN <= 6 };
  __shared__ float part[ROWS_WARPS][row_sums<OP>::ROOM];
  const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, group = warp % groups, split = warp / groups, splits = ROWS_WARPS / groups;
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
  for (int v = threadIdx.x; v < groups * row_sums<OP>::VALUES; v += ROWS_THREADS) {
    const int r = v / OP::OUT, row = blockIdx.x * groups * ROWS + r;
    const float total = total_of<OP>(part, groups, r, v % OP::OUT);
    if (row < rows_n) finish_row<D>(end, rows_n, row, v % OP::OUT, total);
  }
}

/* Groups a block: what a multiprocessor's share takes, a block's start and end counting as some 40 thousand pairs. */
static int groups_for(int rows_n, int64_t n, int processors) {
  static const int choice[] = {1, 2, 3, 4, 6, 12};
  int best = 1;
  int64_t least = INT64_MAX;
  for (size_t i = 0; i < sizeof choice / sizeof *choice; i++) {
    const int64_t blocks = rb_blocks(rows_n, ROWS * choice[i]), share = (blocks + processors - 1) / processors * (choice[i] * ROWS * n + 40000);
    if (share < least) least = share, best = choice[i];
  }
  return best;
}

template <int D, class OP>
static rb_status launch_rows(int processors, kernel_width k, int rows_n, point_arrays row_points, int n, point_arrays points, row_end end) {
  rb_status st = RB_OK;
  const int groups = groups_for(rows_n, n, processors);
  RB_LAUNCH((rows<D, OP>), rb_blocks(rows_n, ROWS * groups), ROWS_THREADS, 0, k, groups, rows_n, row_points, n, points, end);
done:
  return st;
}

/* ---- whole flows ------------------------------------------------------------------------------------------ */

/* Up to three numbers of a point and the step that they are for. */
struct __align__(16) parcel {
  float value[3];
  unsigned step;
};
/* One aligned access of 16 bytes each way (PTX ISA 8.3, with CUDA 12.3), relaxed and past the L1 cache. That all of it becomes visible together is what
 * GPUs do (libraries between GPUs rest on it, too); PTX's text promises it up to 8 bytes. `check` compares whole flows with single steps bit for bit.
 * No fence is needed: what a block sends depends on what it has read, and a slot is sent to again only after that. */
#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1203
enum { PARCELS_WORK = 1 };
static __device__ __forceinline__ void send(parcel *to, parcel p) {
  asm volatile("{ .reg .b64 low, high; .reg .b128 all; mov.b64 low, {%1, %2}; mov.b64 high, {%3, %4}; mov.b128 all, {low, high};"
               " st.relaxed.gpu.global.b128 [%0], all; }" ::"l"(to), "f"(p.value[0]), "f"(p.value[1]), "f"(p.value[2]), "r"(p.step) : "memory");
}
static __device__ __forceinline__ parcel look(const parcel *at) {
  parcel p;
  asm volatile("{ .reg .b64 low, high; .reg .b128 all; ld.relaxed.gpu.global.b128 all, [%4]; mov.b128 {low, high}, all;"
               " mov.b64 {%0, %1}, low; mov.b64 {%2, %3}, high; }" : "=f"(p.value[0]), "=f"(p.value[1]), "=f"(p.value[2]), "=r"(p.step) : "l"(at) : "memory");
  return p;
}
#else
enum { PARCELS_WORK = 0 };
static __device__ __forceinline__ void send(parcel *, parcel) {}
static __device__ __forceinline__ parcel look(const parcel *) { return parcel(); }
#endif

/* A flow: `steps` Euler steps of two vectors a point, q and p, or on the way back alpha and beta along q and p that stand already. */
struct journey {
  int steps;
  point_arrays start;  /* q and p at the first step; back: also alpha, beta */
  int stride;          /* floats from one step's q and p to the next's; all of them are fewer than 2^31 */
  float *to_first, *to_second; /* q and p of all steps after the first; back: alpha, beta after the last */
  float *first_second; /* forward: the second sums, Hp, of the first step; may be NULL */
  float scale, dt_first, dt_second; /* as in row_end */
  parcel *parcels;     /* [2][2][n]: by parity of the step, by vector */
  unsigned *made;      /* steps that earlier launches made: parcels of theirs are told from this one's */
};
static size_t parcels_bytes(int64_t n) { return 4 * (size_t)n * sizeof(parcel) + sizeof(unsigned); }

/* Vector m of column c, as it stands when looked at; at the first step from the arrays that the flow begins with. */
template <int D, int STANDING>
static __device__ __forceinline__ parcel look_at(const journey &j, int n, int step, unsigned made, int m, int c) {
  parcel p = {{0, 0, 0}, made};
  if (step > 0) return look(j.parcels + (step % 2 * 2 + m) * n + c);
#pragma unroll
  for (int v = 0; v < D; v++) p.value[v] = (m == 0 ? j.start.array[STANDING / D] : j.start.array[STANDING / D + 1])[v * n + c];
  return p;
}
/* Looks until it is there. What never comes, because something has written over it, ends the kernel with an error instead of hanging it. */
static __device__ __forceinline__ parcel receive(const journey &j, int n, int step, unsigned made, int m, int c, parcel p) {
  for (unsigned looks = 0; p.step != made + step; looks++) {
    if (looks >= LOOKS) __trap();
    p = look(j.parcels + (step % 2 * 2 + m) * n + c);
  }
  return p;
}
/* The warps of a team, `threads` threads, meet. */
static __device__ __forceinline__ void team_meets(int team, int threads) {
  __syncwarp();
  if (threads > WARP) asm volatile("barrier.sync %0, %1;" ::"r"(team + 1), "r"(threads) : "memory");
}

/* The same rows, columns and order of sums as `rows`, step after step. A block's own points stay in shared memory. The warps of one split are a
 * team: each fetches one vector of the columns for all of them (a warp alone both), the next while they work on the one before.
 * Parcels are used again every second step: a block sends those of step s + 2 when it has all of step s + 1, which others send after
 * their last look at step s. */
template <int D, class OP>
static __global__ void __launch_bounds__(ROWS_THREADS) whole_flow(kernel_width k, int groups, int n, journey j) {
  enum { STANDING = OP::IN - 2 * D, BACK = STANDING > 0 };
  __shared__ float part[ROWS_WARPS][row_sums<OP>::ROOM], own[ROWS_WARPS * ROWS][2][D];
  __shared__ parcel stage[ROWS_WARPS][2][2][WARP]; /* by split, turn, vector */
  const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, group = warp % groups, split = warp / groups, stride = ROWS_WARPS / groups * WARP;
  const int first = blockIdx.x * groups * ROWS;
  const unsigned made = *j.made;
  for (int r = threadIdx.x; r < groups * ROWS; r += ROWS_THREADS)
#pragma unroll
    for (int v = STANDING; v < OP::IN; v++)
      own[r][(v - STANDING) / D][(v - STANDING) % D] = first + r < n ? j.start.array[v / D][v % D * n + first + r] : 0;
  for (int step = 0; step < j.steps; step++) {
    int c = split * WARP + lane, turn = 0;
    float a[ROWS][OP::IN];
    row_sums<OP> sum = {};
    parcel ahead[2];
#pragma unroll
    for (int h = 0; h < 2; h++)
      if (group + h * groups < 2) ahead[h] = look_at<D, STANDING>(j, n, step, made, group + h * groups, min(c, n - 1));
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
      for (int v = 0; v < STANDING; v++) {
        const int row = first + group * ROWS + r;
        a[r][v] = row < n ? j.start.array[v / D][step * j.stride + v % D * n + row] : 0;
      }
    __syncthreads(); /* the block's own points stand */
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
      for (int v = STANDING; v < OP::IN; v++) a[r][v] = own[group * ROWS + r][(v - STANDING) / D][(v - STANDING) % D];
#pragma unroll 1
    while (c - lane < n) {
      float b[OP::IN];
#pragma unroll
      for (int v = 0; v < STANDING; v++) b[v] = c < n ? j.start.array[v / D][step * j.stride + v % D * n + c] : 0;
#pragma unroll
      for (int h = 0; h < 2; h++)
        if (group + h * groups < 2) {
          stage[split][turn][group + h * groups][lane] = receive(j, n, step, made, group + h * groups, min(c, n - 1), ahead[h]);
        }
      team_meets(split, groups * WARP);
#pragma unroll
      for (int m = 0; m < 2; m++) {
        const parcel p = stage[split][turn][m][lane];
#pragma unroll
        for (int v = 0; v < D; v++) b[STANDING + m * D + v] = c < n ? p.value[v] : 0;
      }
      c += stride, turn ^= 1;
#pragma unroll
      for (int h = 0; h < 2; h++)
        if (c - lane < n && group + h * groups < 2) ahead[h] = look_at<D, STANDING>(j, n, step, made, group + h * groups, min(c, n - 1));
#pragma unroll
      for (int r = 0; r < ROWS; r++) OP::one(k, a[r], b, sum.of_row[r]);
    }
    halving<row_sums<OP>::ROOM, WARP / 2>::run(&sum.of_row[0][0], lane, 0, part[warp]);
    __syncthreads();
    for (int v = threadIdx.x; v < groups * ROWS * 2; v += ROWS_THREADS) {
      const int r = v / 2, m = v % 2, row = first + r;
      const bool of_first = BACK ? m == 0 : m == 1; /* alpha and p change by the first sums, beta and q by the second */
      parcel p = {{0, 0, 0}, made + step + 1};
#pragma unroll
      for (int d = 0; d < D; d++) {
        const float total = total_of<OP>(part, groups, r, of_first ? d : D + d), rate = of_first ? j.scale * total : total;
        if (!of_first && step == 0 && j.first_second && row < n) j.first_second[d * n + row] = rate;
        p.value[d] = own[r][m][d] = fmaf(of_first ? j.dt_first : j.dt_second, rate, own[r][m][d]);
      }
      if (row >= n) continue;
      if (step + 1 < j.steps) send(j.parcels + ((step + 1) % 2 * 2 + m) * n + row, p);
      if (!BACK || step + 1 == j.steps)
#pragma unroll
        for (int d = 0; d < D; d++) (m == 0 ? j.to_first : j.to_second)[(BACK ? 0 : step * j.stride) + d * n + row] = p.value[d];
    }
  }
  /* All blocks have read it: the last step needed something of each, and without a second step it means nothing. */
  if (blockIdx.x == 0 && threadIdx.x == 0) *j.made = made + j.steps;
}

/* Whether all blocks of a flow of n points run at the same time. */
template <int D>
static rb_status flow_fits(int n, int processors, int *out) {
  rb_status st = RB_OK;
  int device = 0, cooperates = 0, there = 0, back = 0;
  *out = 0;
  if (!PARCELS_WORK) return st;
  RB_CUDA_TRY(cudaGetDevice(&device));
  RB_CUDA_TRY(cudaDeviceGetAttribute(&cooperates, cudaDevAttrCooperativeLaunch, device));
  RB_CUDA_TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&there, whole_flow<D, hamiltonian_flow<D> >, ROWS_THREADS, 0));
  RB_CUDA_TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&back, whole_flow<D, backward_products<D> >, ROWS_THREADS, 0));
  *out = cooperates && there > 0 && back > 0 && rb_blocks(n, ROWS * groups_for(n, n, processors)) <= (unsigned)processors;
done:
  return st;
}

template <int D, class OP>
static rb_status launch_flow(int processors, kernel_width k, int n, journey j) {
  rb_status st = RB_OK;
  const int groups = groups_for(n, n, processors);
  RB_LAUNCH_TOGETHER((whole_flow<D, OP>), rb_blocks(n, ROWS * groups), ROWS_THREADS, k, groups, n, j);
done:
  return st;
}

#endif
