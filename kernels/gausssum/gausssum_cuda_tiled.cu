/* cuda/tiled of gausssum (ours). Two kernels:
 *
 * rows   A warp holds ROWS points in registers and its lanes walk over the others; a block of 16 warps splits the points among
 *        its warps, so that some thousand points fill the GPU; these pass through shared
 *        memory, copied ahead asynchronously. Sums of a lane, then of a warp by halving (each exchange moves half of what is left),
 *        then of the warps in their order. One launch, the Euler step in its end; launches overlap their ends and starts where
 *        the GPU can (compute capability 9.0).
 * tiles  For many points every pair is evaluated once: a block takes two tiles of points, its threads hold some points
 *        of the one in registers while those of the other wander through the warp lane by lane, collecting their own sums. Partial
 *        sums by tile go to memory and are added there in float64.
 *
 * Both add in a fixed order: results repeat bit by bit. */
#include "kernels/gausssum/gausssum_pairs.cuh"

#include <cuda_pipeline.h>
#include <stdlib.h>

enum { ROWS = 4, WARP = 32, ROWS_THREADS = 512, ROWS_WARPS = ROWS_THREADS / WARP, CHUNK = 512, SPLIT_COLUMNS = 6000, END_THREADS = 256 };

typedef struct {
  rb_gausssum_plan head;
  int processors, overtakes; /* overtakes: the GPU starts a launch while the one before it ends */
  int tile;       /* points of a tile: 256, 512, 1024; 0: `rows` */
  int tiles;
  float *partial; /* [tiles][2 dim][n] */
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
  rb_release(head->backend, p->partial);
  free(p);
}
/* Tiles as large as leave a few blocks a multiprocessor; memory grows with n^2 / tile. 0: none, `rows`. */
static int tile_for(int64_t n) { return n < SPLIT_COLUMNS ? 0 : n < 16384 ? 256 : n < 100000 ? 512 : 1024; }
static size_t workspace(const rb_gausssum_desc *d) {
  const int tile = tile_for(d->n);
  return tile ? (size_t)rb_blocks(d->n, tile) * 2 * (size_t)d->dim * (size_t)d->n * sizeof(float) : 0;
}
static rb_status plan(const rb_backend *backend, const rb_gausssum_desc *d, rb_gausssum_plan **out) {
  rb_status st = RB_OK;
  int device = 0, major = 0;
  tiled_plan *p = (tiled_plan *)calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  p->head.backend = backend;
  RB_CUDA_TRY(cudaGetDevice(&device));
  RB_CUDA_TRY(cudaDeviceGetAttribute(&p->processors, cudaDevAttrMultiProcessorCount, device));
  RB_CUDA_TRY(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  p->overtakes = major >= 9;
  p->tile = tile_for(d->n);
  if (p->tile) {
    p->tiles = (int)rb_blocks(d->n, p->tile);
    RB_TRY(rb_alloc(backend, workspace(d), (void **)&p->partial));
  }
  *out = &p->head;
  return RB_OK;
done:
  if (p) destroy(&p->head);
  return st;
}

/* ---- rows ------------------------------------------------------------------------------------------------ */

/* Sums over the warp of COUNT values a lane. Every exchange keeps the half of the values that the lane's next bit names; what is
 * odd is summed whole. Value v ends in lanes whose bits say so: place[] tells a lane which values it holds. */
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

/* Buffers of CHUNK columns in shared memory: the next ones are on their way while one is worked on. 48 KiB for any op in 3D. */
template <class OP>
struct buffers {
  enum { COUNT = OP::IN > 6 ? 2 : 4, BYTES = COUNT * OP::IN * CHUNK * (int)sizeof(float) };
};
/* Columns start .. start + CHUNK - 1 into buffer[IN][CHUNK], zeros beyond the last; asynchronously, one batch. */
template <int D, int IN>
static __device__ __forceinline__ void fetch_columns(float *buffer, const point_arrays &points, int n, int start) {
  for (int c = threadIdx.x; c < CHUNK && start < n; c += ROWS_THREADS) {
    const int i = start + c, beyond = i < n ? 0 : (int)sizeof(float);
#pragma unroll
    for (int v = 0; v < IN; v++)
      __pipeline_memcpy_async(buffer + v * CHUNK + c, points.array[v / D] + (size_t)(v % D) * n + (beyond ? 0 : i), sizeof(float), beyond);
  }
  __pipeline_commit();
}

/* A launch may overtake the end of the one before it: nothing is read before that has ended. */
static __device__ __forceinline__ void wait_for_previous_launch() {
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

/* Rows blockIdx.x * groups * ROWS ..; warp w: rows of group w % groups, columns of split w / groups. */
template <int D, class OP>
static __global__ void __launch_bounds__(ROWS_THREADS) rows(kernel_width k, int groups, int rows_n, point_arrays row_points, int n, point_arrays points,
                                                           row_end end) {
  enum { BUFFERS = buffers<OP>::COUNT };
  extern __shared__ float columns[]; /* [BUFFERS][IN][CHUNK] */
  __shared__ float part[ROWS_WARPS][ROWS * OP::OUT];
  const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, group = warp % groups, split = warp / groups, splits = ROWS_WARPS / groups;
  const int first = (blockIdx.x * groups + group) * ROWS, chunks = (n + CHUNK - 1) / CHUNK;
  wait_for_previous_launch();
#pragma unroll
  for (int s = 0; s < BUFFERS - 1; s++) fetch_columns<D, OP::IN>(columns + s * OP::IN * CHUNK, points, n, s * CHUNK);
  float a[ROWS][OP::IN], sum[ROWS][OP::OUT] = {};
#pragma unroll
  for (int r = 0; r < ROWS; r++) load_point<D>(row_points, rows_n, first + r, a[r]);
  for (int chunk = 0; chunk < chunks; chunk++) {
    __pipeline_wait_prior(BUFFERS - 2);
    __syncthreads(); /* this chunk is there for all, and all have done with the one that makes room */
    const int next = chunk + BUFFERS - 1;
    fetch_columns<D, OP::IN>(columns + next % BUFFERS * OP::IN * CHUNK, points, n, next * CHUNK);
    const float *buffer = columns + chunk % BUFFERS * OP::IN * CHUNK;
    const int left = n - chunk * CHUNK, count = left < CHUNK ? (left + WARP - 1) / WARP * WARP : CHUNK;
#pragma unroll 2
    for (int c = split * WARP + lane; c < count; c += splits * WARP) {
      float b[OP::IN];
#pragma unroll
      for (int v = 0; v < OP::IN; v++) b[v] = buffer[v * CHUNK + c];
#pragma unroll
      for (int r = 0; r < ROWS; r++) OP::one(k, a[r], b, sum[r]);
    }
  }
  __pipeline_wait_prior(0);
  halving<ROWS * OP::OUT, WARP / 2>::run(&sum[0][0], lane, 0, part[warp]);
  __syncthreads();
  for (int v = threadIdx.x; v < groups * ROWS * OP::OUT; v += ROWS_THREADS) {
    const int g = v / (ROWS * OP::OUT), in_group = v % (ROWS * OP::OUT);
    const int row = (blockIdx.x * groups + g) * ROWS + in_group / OP::OUT;
    float total = 0;
    for (int s = 0; s < splits; s++) total += part[s * groups + g][in_group];
    if (row < rows_n) finish_row<D>(end, rows_n, row, in_group % OP::OUT, total);
  }
}

/* Groups a block: what a multiprocessor's share takes, a block's start and end counting as some 40 thousand pairs. */
static int groups_for(int rows_n, int64_t n, int processors) {
  int best = 1;
  int64_t least = INT64_MAX;
  for (int groups = 1; groups <= ROWS_WARPS; groups *= 2) {
    const int64_t blocks = rb_blocks(rows_n, ROWS * groups), share = (blocks + processors - 1) / processors * (groups * ROWS * n + 40000);
    if (share < least) least = share, best = groups;
  }
  return best;
}

template <int D, class OP>
static rb_status launch_rows(const tiled_plan *p, kernel_width k, int rows_n, point_arrays row_points, point_arrays points, row_end end) {
  rb_status st = RB_OK;
  const int n = (int)p->head.desc.n, groups = groups_for(rows_n, n, p->processors);
  const int shared = buffers<OP>::BYTES;
  cudaFuncAttributes code = {};
  cudaLaunchAttribute overtake = {};
  cudaLaunchConfig_t how = {};
  RB_CUDA_TRY(cudaFuncSetAttribute(rows<D, OP>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
  overtake.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overtake.val.programmaticStreamSerializationAllowed = 1;
  how.gridDim = rb_blocks(rows_n, ROWS * groups), how.blockDim = ROWS_THREADS, how.dynamicSmemBytes = (size_t)shared, how.stream = rb_cuda_stream();
  /* code for a GPU before 9.0 does not wait for the launch before it, so none may overtake */
  RB_CUDA_TRY(cudaFuncGetAttributes(&code, rows<D, OP>));
  how.attrs = &overtake, how.numAttrs = p->overtakes && code.ptxVersion >= 90 ? 1 : 0;
  RB_CUDA_TRY(cudaLaunchKernelEx(&how, rows<D, OP>, k, groups, rows_n, row_points, n, points, end));
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

template <int D, class OP>
static rb_status launch(const tiled_plan *p, double sigma, point_arrays points, row_end end) {
  const kernel_width k = width_of(sigma);
  switch (p->tile) {
    case 0: return launch_rows<D, OP>(p, k, (int)p->head.desc.n, points, points, end);
    case 256: return launch_tiles<D, OP, 256>(p, k, points, end);
    case 512: return launch_tiles<D, OP, 512>(p, k, points, end);
    default: return launch_tiles<D, OP, 1024>(p, k, points, end);
  }
}

/* ---- ops ------------------------------------------------------------------------------------------------- */

#define BY_DIMENSION(p, op, ...) ((p)->head.desc.dim == 2 ? launch<2, op<2> >(p, __VA_ARGS__) : launch<3, op<3> >(p, __VA_ARGS__))

static rb_status flow(rb_gausssum_plan *head, double sigma, const void *q, const void *m, void *hq, void *hp) {
  const tiled_plan *p = (const tiled_plan *)head;
  const point_arrays in = point_arrays_of(q, m, NULL, NULL);
  if (!hq) return BY_DIMENSION(p, vector_sum, sigma, in, end_sum(hp));
  return BY_DIMENSION(p, hamiltonian_flow, sigma, in, end_flow(sigma, hq, hp));
}
static rb_status backward(rb_gausssum_plan *head, double sigma, const void *q, const void *m, const void *alpha, const void *beta, void *fq, void *fp) {
  const tiled_plan *p = (const tiled_plan *)head;
  return BY_DIMENSION(p, backward_products, sigma, point_arrays_of(q, m, alpha, beta), end_backward(sigma, fq, fp));
}
static rb_status step(rb_gausssum_plan *head, double sigma, double dt, const void *q, const void *m, void *hp, void *q_next, void *m_next) {
  const tiled_plan *p = (const tiled_plan *)head;
  return BY_DIMENSION(p, hamiltonian_flow, sigma, point_arrays_of(q, m, NULL, NULL), end_step(sigma, dt, q, m, hp, q_next, m_next));
}
static rb_status step_back(rb_gausssum_plan *head, double sigma, double dt, const void *q, const void *m, const void *alpha, const void *beta,
                           void *alpha_before, void *beta_before) {
  const tiled_plan *p = (const tiled_plan *)head;
  return BY_DIMENSION(p, backward_products, sigma, point_arrays_of(q, m, alpha, beta), end_step_back(sigma, dt, alpha, beta, alpha_before, beta_before));
}
/* The points x stand where the op reads q; it reads nothing else of a row. */
static rb_status sum(rb_gausssum_plan *head, double sigma, int64_t nx, const void *x, const void *q, const void *m, void *out) {
  const tiled_plan *p = (const tiled_plan *)head;
  const point_arrays to = point_arrays_of(x, x, NULL, NULL), from = point_arrays_of(q, m, NULL, NULL);
  const kernel_width k = width_of(sigma);
  return head->desc.dim == 2 ? launch_rows<2, vector_sum<2> >(p, k, (int)nx, to, from, end_sum(out))
                             : launch_rows<3, vector_sum<3> >(p, k, (int)nx, to, from, end_sum(out));
}

extern "C" const rb_gausssum_ops rb_gausssum_tiled = {supports, plan, flow, backward, sum, step, step_back, destroy, workspace};
