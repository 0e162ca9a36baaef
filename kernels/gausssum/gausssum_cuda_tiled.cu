/* cuda/tiled of gausssum (ours). Two kernels:
 *
 * rows   A warp holds ROWS points in registers and its lanes walk over the others, which pass through shared memory; a block's 8
 *        warps split the points among them, so that some thousand points fill the GPU. Sums of a lane, then of a warp by halving
 *        (each exchange moves half of what is left), then of the warps in their order; the Euler step in the end. A whole flow is
 *        one cooperative launch: blocks meet after every step at flags in memory, which costs less than another launch.
 * tiles  For many points every pair is evaluated once: a block takes two tiles of points, its threads hold some points
 *        of the one in registers while those of the other wander through the warp lane by lane, collecting their own sums. Partial
 *        sums by tile go to memory and are added there in float64.
 *
 * Both add in a fixed order: results repeat bit by bit. */
#include "kernels/gausssum/gausssum_pairs.cuh"

#include <cuda_pipeline.h>
#include <stdlib.h>

enum { WARP = 32, ROWS_THREADS = 256, ROWS_WARPS = ROWS_THREADS / WARP, SPLIT_COLUMNS = 6000, END_THREADS = 256, STATIC_SHARED = 4096 };

typedef struct {
  rb_gausssum_plan head;
  int processors, shared; /* of the GPU; bytes a block may have */
  int tile;        /* points of a tile: 256, 512, 1024; 0: `rows` */
  int tiles;
  float *partial;  /* [tiles][2 dim][n] */
  float *spare;    /* [2][dim][n]: alpha and beta on their way back */
  unsigned *flags; /* [2][processors]: steps that a block has made, forward and back */
} tiled_plan;

/* Points that a thread of `tiles` holds: what its registers allow. */
template <class OP>
struct held {
  enum { POINTS = 4 };
};
template <int D>
struct held<vector_sum<D> > {
  enum { POINTS = 8 };
};

static rb_status supports(const rb_gausssum_desc *d) {
  return d->dtype == RB_F32 ? RB_OK : RB_FAIL(RB_EUNSUPPORTED, "the CUDA variants are float32 only");
}
static void destroy(rb_gausssum_plan *head) {
  tiled_plan *p = (tiled_plan *)head;
  void *arrays[] = {p->partial, p->spare, p->flags};
  for (int i = 0; i < 3; i++) rb_release(head->backend, arrays[i]);
  free(p);
}
/* Many tiles, so that the last ones to end leave little of the GPU idle; memory grows with n^2 / tile. 0: none, `rows`. */
static int tile_for(int64_t n) { return n < SPLIT_COLUMNS ? 0 : n < 65536 ? 256 : n < 150000 ? 512 : 1024; }
static size_t points_bytes(const rb_gausssum_desc *d) { return 2 * (size_t)d->dim * (size_t)d->n * sizeof(float); }
static size_t partial_bytes(const rb_gausssum_desc *d) {
  const int tile = tile_for(d->n);
  return tile ? (size_t)rb_blocks(d->n, tile) * points_bytes(d) : 0;
}
static size_t workspace(const rb_gausssum_desc *d) { return partial_bytes(d) + points_bytes(d); }
static rb_status plan(const rb_backend *backend, const rb_gausssum_desc *d, rb_gausssum_plan **out) {
  rb_status st = RB_OK;
  int device = 0;
  tiled_plan *p = (tiled_plan *)calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  p->head.backend = backend;
  RB_CUDA_TRY(cudaGetDevice(&device));
  RB_CUDA_TRY(cudaDeviceGetAttribute(&p->processors, cudaDevAttrMultiProcessorCount, device));
  RB_CUDA_TRY(cudaDeviceGetAttribute(&p->shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  RB_TRY(rb_alloc(backend, points_bytes(d), (void **)&p->spare));
  RB_TRY(rb_alloc(backend, 2 * (size_t)p->processors * sizeof *p->flags, (void **)&p->flags));
  RB_TRY(backend->fill(p->flags, 0, 2 * (size_t)p->processors * sizeof *p->flags));
  p->tile = tile_for(d->n);
  if (p->tile) {
    p->tiles = (int)rb_blocks(d->n, p->tile);
    RB_TRY(rb_alloc(backend, partial_bytes(d), (void **)&p->partial));
  }
  *out = &p->head;
  return RB_OK;
done:
  if (p) destroy(&p->head);
  return st;
}

/* ---- rows ------------------------------------------------------------------------------------------------ */

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

/* One evaluation of an op's sums, or the time steps of a whole flow: what the first step reads and what becomes of its sums;
 * at_step tells the same of a later one. */
struct march {
  int steps;
  int64_t stride;            /* floats from one step's q and p to the next's */
  point_arrays rows, points; /* points: what is summed over */
  row_end end;
  float *other_first, *other_second; /* backward: alpha and beta go to and fro between end.to_* and these */
};
template <class OP>
static __host__ __device__ __forceinline__ march at_step(march m, int step) {
  const int64_t move = step * m.stride;
  for (int a = 0; a < 2; a++) m.rows.array[a] += move, m.points.array[a] += move;
  if (OP::BACKWARD) {
    float *const first = m.end.to_first, *const second = m.end.to_second;
    const bool odd = step & 1;
    if (step > 0) {
      m.rows.array[2] = m.points.array[2] = m.end.from_first = odd ? first : m.other_first;
      m.rows.array[3] = m.points.array[3] = m.end.from_second = odd ? second : m.other_second;
    }
    if (odd) m.end.to_first = m.other_first, m.end.to_second = m.other_second;
  } else if (step > 0) {
    m.end.second = NULL;
    m.end.from_first += move, m.end.from_second += move, m.end.to_first += move, m.end.to_second += move;
  }
  return m;
}

/* All blocks of a cooperative launch meet: each raises its own flag and waits for the others'. What was written before is seen
 * after. */
static __device__ __forceinline__ void meet(unsigned *flags, unsigned goal) {
  __syncthreads();
  if (threadIdx.x == 0) asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(flags + blockIdx.x), "r"(goal) : "memory");
  for (unsigned b = threadIdx.x; b < gridDim.x; b += ROWS_THREADS) {
    unsigned seen;
    do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flags + b) : "memory");
    while ((int)(seen - goal) < 0);
  }
  __syncthreads();
}

/* Columns first .. first + count - 1 of the arrays' values from `begin` on, END in all, to buffer[v][capacity], zeros up to `padded`;
 * asynchronously. */
template <int D, int END>
static __device__ __forceinline__ void fetch_columns(float *buffer, int capacity, const point_arrays &points, int n, int begin, int first, int count, int padded) {
#pragma unroll
  for (int v = 0; v < END; v++)
    if (v >= begin) {
      const float *from = points.array[v / D] + (size_t)(v % D) * n + first;
#pragma unroll 1
      for (int c = threadIdx.x; c < padded; c += ROWS_THREADS)
        __pipeline_memcpy_async(buffer + v * capacity + c, from + (c < count ? c : 0), sizeof(float), c < count ? 0 : sizeof(float));
    }
}

/* A block takes groups * ROWS rows at a time and the columns in chunks of `capacity`, fetched in four parts, so that work begins with
 * the first; warp w: rows of group w % groups, columns of split w / groups. */
template <int D, class OP, int ROWS>
static __global__ void __launch_bounds__(ROWS_THREADS) rows(kernel_width k, int groups, int capacity, int rows_n, int n, march m, unsigned *flags) {
  enum { VALUES = ROWS * OP::OUT, ROOM = halved<VALUES>::ROOM, PARTS = 4 };
  extern __shared__ float columns[]; /* [IN][capacity] */
  __shared__ float part[ROWS_WARPS][ROOM];
  const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, group = warp % groups, split = warp / groups, splits = ROWS_WARPS / groups;
  unsigned goal = m.steps > 1 ? flags[blockIdx.x] : 0;
  int known = 0; /* values of the columns that are on their way already */
  for (int step = 0;; step++) {
    for (int block = blockIdx.x; block * groups * ROWS < rows_n; block += gridDim.x, known = n <= capacity ? OP::IN : 0) {
      const int first = (block * groups + group) * ROWS;
      float a[ROWS][OP::IN], sum[(ROOM + OP::OUT - 1) / OP::OUT][OP::OUT] = {}; /* the values, then zeros */
      for (int chunk = 0; chunk < n; chunk += capacity) {
        const int count = min(capacity, n - chunk), padded = (count + WARP - 1) / WARP * WARP, turn = splits * WARP;
        const int stretch = (count + PARTS * turn - 1) / (PARTS * turn) * turn; /* whole turns of the splits */
        if (chunk > 0) __syncthreads(); /* the chunk before is done with */
#pragma unroll
        for (int p = 0; p < PARTS; p++) {
          const int begin = p * stretch, left = count - begin;
          fetch_columns<D, OP::IN>(columns + begin, capacity, at_step<OP>(m, step).points, n, known, chunk + begin, min(left, stretch), min(padded - begin, stretch));
          __pipeline_commit();
        }
        if (chunk == 0)
#pragma unroll
          for (int r = 0; r < ROWS; r++) load_point<D>(at_step<OP>(m, step).rows, rows_n, first + r, a[r]);
#pragma unroll 1
        for (int p = 0; p < PARTS; p++) {
          switch (p) {
            case 0: __pipeline_wait_prior(PARTS - 1); break;
            case 1: __pipeline_wait_prior(PARTS - 2); break;
            case 2: __pipeline_wait_prior(PARTS - 3); break;
            default: __pipeline_wait_prior(0);
          }
          __syncthreads();
          const int stop = min(padded, (p + 1) * stretch);
#pragma unroll 1
          for (int c = p * stretch + split * WARP + lane; c < stop; c += turn) {
            float b[OP::IN];
#pragma unroll
            for (int v = 0; v < OP::IN; v++) b[v] = columns[v * capacity + c];
#pragma unroll
            for (int r = 0; r < ROWS; r++) OP::one(k, a[r], b, sum[r]);
          }
        }
      }
      halving<ROOM, WARP / 2>::run(&sum[0][0], lane, 0, part[warp]);
      __syncthreads();
      for (int v = threadIdx.x; v < groups * VALUES; v += ROWS_THREADS) {
        const int g = v / VALUES, in_group = v % VALUES, row = (block * groups + g) * ROWS + in_group / OP::OUT;
        float total = 0;
        for (int s = 0; s < splits; s++) total += part[s * groups + g][in_group];
        if (row < rows_n) finish_row<D>(at_step<OP>(m, step).end, rows_n, row, in_group % OP::OUT, total);
      }
    }
    if (step == m.steps - 1) break;
    known = OP::BACKWARD && n <= capacity ? 2 * D : 0;
    if (known > 0) fetch_columns<D, 2 * D>(columns, capacity, at_step<OP>(m, step + 1).points, n, 0, 0, n, (n + WARP - 1) / WARP * WARP); /* the way there stands */
    meet(flags, ++goal);
  }
}

/* Rows a warp holds and groups a block has: what a multiprocessor's share takes is least, a round's start and end counting as some
 * 40 thousand pairs. */
typedef struct {
  int rows, groups;
  unsigned blocks;
} rows_shape;
static rows_shape shape_for(int rows_n, int64_t n, int processors) {
  static const int rows[] = {4, 5, 7}, groups[] = {1, 2, 4, 8};
  rows_shape best = {};
  int64_t least = INT64_MAX;
  for (int r = 0; r < 3; r++)
    for (int g = 0; g < 4; g++) {
      const int64_t blocks = rb_blocks(rows_n, rows[r] * groups[g]);
      const int64_t share = (blocks + processors - 1) / processors * (groups[g] * rows[r] * n + 40000);
      if (share < least) least = share, best = (rows_shape){rows[r], groups[g], (unsigned)blocks};
    }
  return best;
}

/* Several steps in one cooperative launch: a block a multiprocessor, flags for them. */
template <int D, class OP>
static rb_status launch_rows(const tiled_plan *p, kernel_width k, int rows_n, march m) {
  rb_status st = RB_OK;
  const int n = (int)p->head.desc.n;
  const rows_shape shape = shape_for(rows_n, n, p->processors);
  const unsigned processors = (unsigned)p->processors;
  const int most = (p->shared - STATIC_SHARED) / (OP::IN * (int)sizeof(float)) / WARP * WARP, capacity = n < most ? (n + WARP - 1) / WARP * WARP : most;
  const int bytes = capacity * OP::IN * (int)sizeof(float);
  const auto kernel = shape.rows == 7 ? rows<D, OP, 7> : shape.rows == 5 ? rows<D, OP, 5> : rows<D, OP, 4>;
  cudaLaunchAttribute together = {};
  cudaLaunchConfig_t how = {};
  together.id = cudaLaunchAttributeCooperative;
  together.val.cooperative = 1;
  how.gridDim = m.steps > 1 && shape.blocks > processors ? processors : shape.blocks;
  how.blockDim = ROWS_THREADS, how.dynamicSmemBytes = (size_t)bytes, how.stream = rb_cuda_stream();
  how.attrs = &together, how.numAttrs = m.steps > 1;
  unsigned *flags = p->flags + (OP::BACKWARD ? processors : 0);
  RB_CUDA_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  RB_CUDA_TRY(cudaLaunchKernelEx(&how, kernel, k, shape.groups, capacity, rows_n, n, m, flags));
done:
  return st;
}

/* ---- tiles ----------------------------------------------------------------------------------------------- */

/* Block b -> tiles i <= j, counting j = 0: 00; j = 1: 01 11; ... */
static __device__ __forceinline__ void pair_of_tiles(int b, int *i, int *j) {
  int t = (int)((sqrtf(8.0f * (float)b + 1.0f) - 1.0f) * 0.5f);
  while ((int64_t)(t + 1) * (t + 2) / 2 <= b) t++;
  while ((int64_t)t * (t + 1) / 2 > b) t--;
  *j = t, *i = (int)(b - (int64_t)t * (t + 1) / 2);
}

/* partial[from][o][point]: the sum o over the points of tile `from`. */
template <int D, class OP, int TILE>
static __global__ void __launch_bounds__(TILE / held<OP>::POINTS) tiles(kernel_width k, int n, point_arrays points, float *__restrict__ partial) {
  enum { HELD = held<OP>::POINTS, THREADS = TILE / HELD, GROUPS = TILE / WARP };
  __shared__ float column_sums[OP::OUT][TILE];
  const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
  int ti, tj;
  pair_of_tiles(blockIdx.x, &ti, &tj);
  for (int c = threadIdx.x; c < TILE; c += THREADS)
#pragma unroll
    for (int o = 0; o < OP::OUT; o++) column_sums[o][c] = 0;
  float a[HELD][OP::IN], sum[HELD][OP::OUT] = {};
  const int first = ti * TILE + warp * HELD * WARP + lane;
#pragma unroll
  for (int r = 0; r < HELD; r++) load_point<D>(points, n, first + r * WARP, a[r]);
  __syncthreads();
  for (int phase = 0; phase < GROUPS; phase++) {
    int group = phase + warp * HELD; /* no two warps add to the same columns between two barriers */
    if (group >= GROUPS) group -= GROUPS;
    float b[OP::IN], other[OP::OUT] = {};
    load_point<D>(points, n, tj * TILE + group * WARP + lane, b);
    if (ti == tj) {
#pragma unroll 2
      for (int turn = 0; turn < WARP; turn++) {
#pragma unroll
        for (int r = 0; r < HELD; r++) OP::one(k, a[r], b, sum[r]);
#pragma unroll
        for (int v = 0; v < OP::IN; v++) b[v] = __shfl_sync(~0u, b[v], lane + 1);
      }
    } else {
#pragma unroll 2
      for (int turn = 0; turn < WARP; turn++) {
#pragma unroll
        for (int r = 0; r < HELD; r++) OP::both(k, a[r], b, sum[r], other);
#pragma unroll
        for (int v = 0; v < OP::IN; v++) b[v] = __shfl_sync(~0u, b[v], lane + 1);
#pragma unroll
        for (int o = 0; o < OP::OUT; o++) other[o] = __shfl_sync(~0u, other[o], lane + 1);
      }
#pragma unroll
      for (int o = 0; o < OP::OUT; o++) column_sums[o][group * WARP + lane] += other[o];
    }
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < HELD; r++)
#pragma unroll
    for (int o = 0; o < OP::OUT; o++)
      if (first + r * WARP < n) partial[((size_t)tj * OP::OUT + o) * n + first + r * WARP] = sum[r][o];
  if (ti != tj)
    for (int c = threadIdx.x; c < TILE && tj * TILE + c < n; c += THREADS)
#pragma unroll
      for (int o = 0; o < OP::OUT; o++) partial[((size_t)ti * OP::OUT + o) * n + tj * TILE + c] = column_sums[o][c];
}

template <int D, class OP>
static __global__ void __launch_bounds__(END_THREADS) add_tiles(int n, int count, const float *__restrict__ partial, row_end end) {
  const int i = blockIdx.x * END_THREADS + threadIdx.x, o = blockIdx.y;
  if (i >= n) return;
  double total = 0;
#pragma unroll 8
  for (int t = 0; t < count; t++) total += (double)partial[((size_t)t * OP::OUT + o) * n + i];
  finish_row<D>(end, n, i, o, (float)total);
}

template <int D, class OP, int TILE>
static rb_status launch_tiles(const tiled_plan *p, kernel_width k, point_arrays points, row_end end) {
  rb_status st = RB_OK;
  const int n = (int)p->head.desc.n;
  RB_LAUNCH((tiles<D, OP, TILE>), (unsigned)((int64_t)p->tiles * (p->tiles + 1) / 2), TILE / held<OP>::POINTS, 0, k, n, points, p->partial);
  RB_LAUNCH((add_tiles<D, OP>), dim3(rb_blocks(n, END_THREADS), OP::OUT), END_THREADS, 0, n, p->tiles, p->partial, end);
done:
  return st;
}

/* ---- ops ------------------------------------------------------------------------------------------------- */

template <int D, class OP>
static rb_status launch(const tiled_plan *p, double sigma, march m) {
  rb_status st = RB_OK;
  const kernel_width k = width_of(sigma);
  if (!p->tile) return launch_rows<D, OP>(p, k, (int)p->head.desc.n, m);
  for (int step = 0; step < m.steps; step++) {
    const march now = at_step<OP>(m, step);
    switch (p->tile) {
      case 256: RB_TRY((launch_tiles<D, OP, 256>(p, k, now.points, now.end))); break;
      case 512: RB_TRY((launch_tiles<D, OP, 512>(p, k, now.points, now.end))); break;
      default: RB_TRY((launch_tiles<D, OP, 1024>(p, k, now.points, now.end)));
    }
  }
done:
  return st;
}
#define BY_DIMENSION(p, op, ...) ((p)->head.desc.dim == 2 ? launch<2, op<2> >(p, __VA_ARGS__) : launch<3, op<3> >(p, __VA_ARGS__))

static march march_of(int steps, int64_t stride, point_arrays points, row_end end) {
  march m = {steps, stride, points, points, end, NULL, NULL};
  return m;
}
static rb_status flow(rb_gausssum_plan *head, double sigma, const void *q, const void *m, void *hq, void *hp) {
  const tiled_plan *p = (const tiled_plan *)head;
  const point_arrays in = point_arrays_of(q, m, NULL, NULL);
  if (!hq) return BY_DIMENSION(p, vector_sum, sigma, march_of(1, 0, in, end_sum(hp)));
  return BY_DIMENSION(p, hamiltonian_flow, sigma, march_of(1, 0, in, end_flow(sigma, hq, hp)));
}
static rb_status backward(rb_gausssum_plan *head, double sigma, const void *q, const void *m, const void *alpha, const void *beta, void *fq, void *fp) {
  const tiled_plan *p = (const tiled_plan *)head;
  return BY_DIMENSION(p, backward_products, sigma, march_of(1, 0, point_arrays_of(q, m, alpha, beta), end_backward(sigma, fq, fp)));
}
static rb_status shoot(rb_gausssum_plan *head, double sigma, double dt, int steps, void *q, void *m, void *hp0) {
  const tiled_plan *p = (const tiled_plan *)head;
  const int64_t one = head->desc.dim * head->desc.n;
  const row_end end = end_step(sigma, dt, q, m, hp0, (float *)q + one, (float *)m + one);
  return BY_DIMENSION(p, hamiltonian_flow, sigma, march_of(steps - 1, one, point_arrays_of(q, m, NULL, NULL), end));
}
static rb_status shoot_back(rb_gausssum_plan *head, double sigma, double dt, int steps, const void *q, const void *m, const void *alpha, const void *beta,
                            void *alpha0, void *beta0) {
  const tiled_plan *p = (const tiled_plan *)head;
  const int64_t one = head->desc.dim * head->desc.n, from = (steps - 2) * one;
  const point_arrays in = point_arrays_of((const float *)q + from, (const float *)m + from, alpha, beta);
  float *to[2][2] = {{(float *)alpha0, (float *)beta0}, {p->spare, p->spare + one}};
  const int first = steps % 2; /* the last of steps - 1 goes to alpha0 and beta0 */
  march back = march_of(steps - 1, -one, in, end_step_back(sigma, dt, alpha, beta, to[first][0], to[first][1]));
  back.other_first = to[!first][0], back.other_second = to[!first][1];
  return BY_DIMENSION(p, backward_products, sigma, back);
}
/* The points x stand where the op reads q; it reads nothing else of a row. */
static rb_status sum(rb_gausssum_plan *head, double sigma, int64_t nx, const void *x, const void *q, const void *m, void *out) {
  const tiled_plan *p = (const tiled_plan *)head;
  march once = march_of(1, 0, point_arrays_of(q, m, NULL, NULL), end_sum(out));
  once.rows = point_arrays_of(x, x, NULL, NULL);
  return head->desc.dim == 2 ? launch_rows<2, vector_sum<2> >(p, width_of(sigma), (int)nx, once) : launch_rows<3, vector_sum<3> >(p, width_of(sigma), (int)nx, once);
}

extern "C" const rb_gausssum_ops rb_gausssum_tiled = {supports, plan, flow, backward, sum, shoot, shoot_back, destroy, workspace};
