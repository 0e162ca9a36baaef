/* SPDX-License-Identifier: BSD-3-Clause */
/* cuda/tiled of gausssum (ours). Two ways:
 *
 * rows   For up to some thousand points, and for sums between two sets: gausssum_rows.cuh; a whole flow in one
 * launch: gausssum_flow.cuh. tiles  For many points every pair is evaluated once: a block takes two tiles of points,
 * its threads hold some points of the one in registers while those of the other pass from lane to lane of the warp,
 * with their own sums. Partial sums by tile go to memory and are added there in float64.
 *
 * Both add in a fixed order: results repeat bit by bit. */
#include "kernels/gausssum/gausssum_flow.cuh"

#include <stdlib.h>

/* ROWS_END: from so many points on `tiles` is used instead of `rows`. END_THREADS: a block of add_tiles, a point a
 * thread. */
enum { ROWS_END = 3000, END_THREADS = 256 };

typedef struct {
  rb_gausssum_plan head;
  int processors;
  int at_once; /* a flow of this many points is one launch, else a launch a step */
  int tile;    /* points of a tile: 128 to 1024; 0: `rows` */
  int tiles;
  float *partial; /* [tiles][2 dim][n] */
  float *spare;   /* [2][dim][n]: alpha and beta backward; or a flow's messages and the number of its steps */
} tiled_plan;

/* Points that a thread of `tiles` holds: what its registers allow, and what leaves a warp. */
template <class OP, int TILE>
struct held {
  enum { POINTS = 4 };
};
template <int D, int TILE>
struct held<vector_sum<D>, TILE> {
  enum { POINTS = TILE < 256 ? 4 : 8 };
};

/* Float32 only. */
static rb_status supports(const rb_gausssum_desc *d) {
  return d->dtype == RB_F32 ? RB_OK : RB_FAIL(RB_EUNSUPPORTED, "the CUDA variants are float32 only");
}
static void destroy(rb_gausssum_plan *head) {
  tiled_plan *p = (tiled_plan *)head;
  rb_release(head->backend, p->partial);
  rb_release(head->backend, p->spare);
  free(p);
}
/* Many tiles, so that the last ones to end leave little of the GPU idle; memory grows with n^2 / tile. 0: none,
 * `rows`. */
static int tile_for(int64_t n) {
  return n < ROWS_END ? 0 : n < 16000 ? 128 : n < 65536 ? 256 : n < 150000 ? 512 : 1024;
}
/* Two vectors of dim floats a point. */
static size_t points_bytes(const rb_gausssum_desc *d) { return 2 * (size_t)d->dim * (size_t)d->n * sizeof(float); }
/* One such pair of vectors for every tile of points that adds to it. */
static size_t partial_bytes(const rb_gausssum_desc *d) {
  const int tile = tile_for(d->n);
  return tile ? (size_t)rb_blocks(d->n, tile) * points_bytes(d) : 0;
}
static size_t spare_bytes(const rb_gausssum_desc *d) {
  return tile_for(d->n) ? points_bytes(d) : messages_bytes(d->n);
} /* the larger of its two uses */
static size_t workspace(const rb_gausssum_desc *d) { return partial_bytes(d) + spare_bytes(d); }
/* Allocates `spare` and, for tiles, the partial sums; asks whether whole flows fit one launch. */
static rb_status plan(const rb_backend *backend, const rb_gausssum_desc *d, rb_gausssum_plan **out) {
  rb_status st = RB_OK;
  int device = 0;
  tiled_plan *p = (tiled_plan *)calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  p->head.backend = backend;
  RB_CUDA_TRY(cudaGetDevice(&device));
  RB_CUDA_TRY(cudaDeviceGetAttribute(&p->processors, cudaDevAttrMultiProcessorCount, device));
  RB_TRY(rb_alloc(backend, spare_bytes(d), (void **)&p->spare));
  /* Zeros: a flow numbers its steps on from a count that is kept here, and no message may bear a number to come. */
  RB_TRY(backend->fill(p->spare, 0, spare_bytes(d)));
  p->tile = tile_for(d->n);
  /* A flow in one launch takes the warps and sums of `rows`: it exists for the sizes of `rows` alone. */
  if (!p->tile)
    RB_TRY(d->dim == 2 ? flow_fits<2>((int)d->n, p->processors, &p->at_once)
                       : flow_fits<3>((int)d->n, p->processors, &p->at_once));
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

/* ---- tiles ----------------------------------------------------------------------------------------------- */

/* Block b -> tiles i <= j, counting j = 0: 00; j = 1: 01 11; ... */
static __device__ __forceinline__ void pair_of_tiles(int b, int *i, int *j) {
  /* j is the greatest t with t (t + 1) / 2 <= b. The square root in float32 may miss it for large b; the two loops
   * correct it in 64-bit whole numbers. */
  int t = (int)((sqrtf(8.0f * (float)b + 1.0f) - 1.0f) * 0.5f);
  while ((int64_t)(t + 1) * (t + 2) / 2 <= b) t++;
  while ((int64_t)t * (t + 1) / 2 > b) t--;
  *j = t, *i = (int)(b - (int64_t)t * (t + 1) / 2);
}

/* partial[from][o][point]: the sum o over the points of tile `from`. A block takes tile ti of held points and tile tj
 * of passing ones. Lane l of warp w holds points first + 32 r of ti, r < HELD, in a[r] with their sums. Of tj a group
 * of 32 points lies in b, one a lane; after each turn b comes from the next higher lane, so that in 32 turns every
 * lane meets every point of the group. The sums of the passing points, `other`, travel with b and are back at their
 * own lane after the 32nd turn. Every partial[from][.][point] is written by exactly one block. */
template <int D, class OP, int TILE>
static __global__ void __launch_bounds__(TILE / held<OP, TILE>::POINTS)
    tiles(kernel_width k, int n, point_arrays points, float *__restrict__ partial) {
  enum { HELD = held<OP, TILE>::POINTS, THREADS = TILE / HELD, GROUPS = TILE / WARP };
  /* Sum o of point c of tj over all points of ti: the warps add to it in phases. Lanes read consecutive floats. */
  __shared__ float column_sums[OP::OUT][TILE];
  const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
  int ti, tj;
  pair_of_tiles(blockIdx.x, &ti, &tj);
  for (int c = threadIdx.x; c < TILE; c += THREADS)
#pragma unroll
    for (int o = 0; o < OP::OUT; o++) column_sums[o][c] = 0;
  /* 4 IN + 4 OUT floats in registers, or twice as many for sums of vectors. */
  float a[HELD][OP::IN], sum[HELD][OP::OUT] = {};
  const int first = ti * TILE + warp * HELD * WARP + lane;
#pragma unroll
  for (int r = 0; r < HELD; r++) load_point<D>(points, n, first + r * WARP, a[r]);
  __syncthreads();
  for (int phase = 0; phase < GROUPS; phase++) {
    /* Warps start HELD groups apart and go round. */
    int group = phase + warp * HELD; /* no two warps add to the same columns between two barriers */
    if (group >= GROUPS) group -= GROUPS;
    float b[OP::IN], other[OP::OUT] = {};
    load_point<D>(points, n, tj * TILE + group * WARP + lane, b);
    /* On the diagonal a pair comes up in both orders, and a point with itself: each adds to the held point alone. */
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
    /* The group's columns are added: in the next phase they are another warp's. Behind the last phase: all are
     * complete. */
    __syncthreads();
  }
  /* Points of ti, summed over those of tj. */
#pragma unroll
  for (int r = 0; r < HELD; r++)
#pragma unroll
    for (int o = 0; o < OP::OUT; o++)
      if (first + r * WARP < n) partial[((size_t)tj * OP::OUT + o) * n + first + r * WARP] = sum[r][o];
  /* Points of tj, summed over those of ti; on the diagonal that is what was stored above. */
  if (ti != tj)
    for (int c = threadIdx.x; c < TILE && tj * TILE + c < n; c += THREADS)
#pragma unroll
      for (int o = 0; o < OP::OUT; o++) partial[((size_t)ti * OP::OUT + o) * n + tj * TILE + c] = column_sums[o][c];
}

/* A thread adds one sum of one point over the tiles, in their order. blockIdx.y: which sum. */
template <int D, class OP>
static __global__ void __launch_bounds__(END_THREADS)
    add_tiles(int n, int count, const float *__restrict__ partial, row_end end) {
  const int i = blockIdx.x * END_THREADS + threadIdx.x, o = blockIdx.y;
  if (i >= n) return;
  double total = 0;
#pragma unroll 8
  for (int t = 0; t < count; t++) total += (double)partial[((size_t)t * OP::OUT + o) * n + i];
  finish_row<D>(end, n, i, o, (float)total);
}

/* k and points by value. First all pairs, then the sums over tiles and what `end` does with them. */
template <int D, class OP, int TILE>
static rb_status launch_tiles(const tiled_plan *p, kernel_width k, point_arrays points, row_end end) {
  rb_status st = RB_OK;
  const int n = (int)p->head.desc.n;
  /* A block for every unordered pair of tiles, a tile with itself included. */
  RB_LAUNCH((tiles<D, OP, TILE>), (unsigned)((int64_t)p->tiles * (p->tiles + 1) / 2), (TILE / held<OP, TILE>::POINTS),
            0, k, n, points, p->partial);
  RB_LAUNCH((add_tiles<D, OP>), dim3(rb_blocks(n, END_THREADS), OP::OUT), END_THREADS, 0, n, p->tiles, p->partial,
            end);
done:
  return st;
}

/* ---- ops ------------------------------------------------------------------------------------------------- */

/* The tile was chosen for the number of points when the plan was made. */
template <int D, class OP>
static rb_status launch(const tiled_plan *p, double sigma, point_arrays points, row_end end) {
  const kernel_width k = width_of(sigma);
  switch (p->tile) {
    case 0:
      return launch_rows<D, OP>(p->processors, k, (int)p->head.desc.n, points, (int)p->head.desc.n, points, end);
    case 128:
      return launch_tiles<D, OP, 128>(p, k, points, end);
    case 256:
      return launch_tiles<D, OP, 256>(p, k, points, end);
    case 512:
      return launch_tiles<D, OP, 512>(p, k, points, end);
    default:
      return launch_tiles<D, OP, 1024>(p, k, points, end);
  }
}
#define BY_DIMENSION(p, op, ...) \
  ((p)->head.desc.dim == 2 ? launch<2, op<2> >(p, __VA_ARGS__) : launch<3, op<3> >(p, __VA_ARGS__))

static rb_status flow(rb_gausssum_plan *head, double sigma, const void *q, const void *m, void *hq, void *hp) {
  const tiled_plan *p = (const tiled_plan *)head;
  const point_arrays in = point_arrays_of(q, m, NULL, NULL);
  if (!hq) return BY_DIMENSION(p, vector_sum, sigma, in, end_sum(hp));
  return BY_DIMENSION(p, hamiltonian_flow, sigma, in, end_flow(sigma, hq, hp));
}
static rb_status backward(rb_gausssum_plan *head, double sigma, const void *q, const void *m, const void *alpha,
                          const void *beta, void *fq, void *fp) {
  const tiled_plan *p = (const tiled_plan *)head;
  return BY_DIMENSION(p, backward_products, sigma, point_arrays_of(q, m, alpha, beta), end_backward(sigma, fq, fp));
}
static flow_io flow_io_of(const tiled_plan *p, int steps, double sigma, double dt, point_arrays start) {
  /* `steps` counts time points, a flow the steps between them. Messages, then the count of steps, fill `spare`. */
  flow_io j = {};
  j.steps = steps - 1, j.start = start, j.stride = (int)(p->head.desc.dim * p->head.desc.n);
  j.scale = width_of(sigma).s, j.dt_first = j.dt_second = (float)dt;
  j.messages = (message *)p->spare, j.steps_before = (unsigned *)(j.messages + 4 * p->head.desc.n);
  return j;
}
#define FLOW_BY_DIMENSION(p, op, sigma, j)                                                                      \
  ((p)->head.desc.dim == 2 ? launch_flow<2, op<2> >((p)->processors, width_of(sigma), (int)(p)->head.desc.n, j) \
                           : launch_flow<3, op<3> >((p)->processors, width_of(sigma), (int)(p)->head.desc.n, j))
static rb_status shoot(rb_gausssum_plan *head, double sigma, double dt, int steps, void *q, void *m, void *hp0) {
  rb_status st = RB_OK;
  const tiled_plan *p = (const tiled_plan *)head;
  const int64_t one = head->desc.dim * head->desc.n;
  /* Whole flow in one launch; its offsets are 32-bit whole numbers. */
  if (p->at_once && (int64_t)steps * one < INT32_MAX) {
    flow_io j = flow_io_of(p, steps, sigma, dt, point_arrays_of(q, m, NULL, NULL));
    /* The first sums times -1/sigma^2 are Hq: m takes -dt Hq, q takes +dt Hp. */
    j.scale = -j.scale, j.dt_first = -j.dt_first;
    j.to_first = (float *)q + one, j.to_second = (float *)m + one, j.first_sums = (float *)hp0;
    return FLOW_BY_DIMENSION(p, hamiltonian_flow, sigma, j);
  }
  /* Otherwise a step after the other: each reads the arrays of one time point and writes those of the next. */
  for (int t = 0; t + 1 < steps; t++) {
    float *q_now = (float *)q + t * one, *m_now = (float *)m + t * one;
    RB_TRY(BY_DIMENSION(p, hamiltonian_flow, sigma, point_arrays_of(q_now, m_now, NULL, NULL),
                        end_step(sigma, dt, q_now, m_now, t == 0 ? hp0 : NULL, q_now + one, m_now + one)));
  }
done:
  return st;
}
static rb_status shoot_back(rb_gausssum_plan *head, double sigma, double dt, int steps, const void *q, const void *m,
                            const void *alpha, const void *beta, void *alpha0, void *beta0) {
  rb_status st = RB_OK;
  const tiled_plan *p = (const tiled_plan *)head;
  const int64_t one = head->desc.dim * head->desc.n;
  if (p->at_once && (int64_t)steps * one < INT32_MAX) {
    /* The step back from the last time point needs q and m of the one before it. */
    const int64_t last = (steps - 2) * one;
    flow_io j = flow_io_of(p, steps, sigma, dt,
                           point_arrays_of((const float *)q + last, (const float *)m + last, alpha, beta));
    /* Towards earlier time points; only the last alpha and beta are stored. */
    j.stride = -(int)one, j.to_first = (float *)alpha0, j.to_second = (float *)beta0;
    return FLOW_BY_DIMENSION(p, backward_products, sigma, j);
  }
  for (int t = steps - 2; t >= 0; t--) { /* the two pairs of arrays take turns; alpha0, beta0 get the last */
    void *alpha_before = t % 2 ? p->spare : alpha0, *beta_before = t % 2 ? p->spare + one : beta0;
    RB_TRY(BY_DIMENSION(p, backward_products, sigma,
                        point_arrays_of((const float *)q + t * one, (const float *)m + t * one, alpha, beta),
                        end_step_back(sigma, dt, alpha, beta, alpha_before, beta_before)));
    alpha = alpha_before, beta = beta_before;
  }
done:
  return st;
}
/* The points x take the place of q; it reads nothing else of a row. */
static rb_status sum(rb_gausssum_plan *head, double sigma, int64_t nx, const void *x, const void *q, const void *m,
                     void *out) {
  const tiled_plan *p = (const tiled_plan *)head;
  if (nx < 1 || nx > INT32_MAX)
    return RB_FAIL(RB_EUNSUPPORTED, "%lld points to sum at; cuda/tiled takes 1 to 2^31 - 1", (long long)nx);
  const point_arrays to = point_arrays_of(x, x, NULL, NULL), from = point_arrays_of(q, m, NULL, NULL);
  const kernel_width k = width_of(sigma);
  return head->desc.dim == 2
             ? launch_rows<2, vector_sum<2> >(p->processors, k, (int)nx, to, (int)head->desc.n, from, end_sum(out))
             : launch_rows<3, vector_sum<3> >(p->processors, k, (int)nx, to, (int)head->desc.n, from, end_sum(out));
}

extern "C" const rb_gausssum_ops rb_gausssum_tiled = {supports, plan,       flow,    backward,  sum,
                                                      shoot,    shoot_back, destroy, workspace, 0};
