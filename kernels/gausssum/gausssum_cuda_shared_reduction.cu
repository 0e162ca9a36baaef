/* SPDX-License-Identifier: BSD-3-Clause */
/* cuda/shared-reduction of gausssum: the paper's design (shooting2018 section 2.5). A block a point; its threads add
 * their share of the pairs in registers, then pair up in shared memory, the upper half onto the lower, until a warp
 * is left, which finishes by shuffles. */
#include "kernels/gausssum/gausssum_pairs.cuh"

#include <stdlib.h>

enum { THREADS = 256 };

static rb_status supports(const rb_gausssum_desc *d) {
  return d->dtype == RB_F32 ? RB_OK : RB_FAIL(RB_EUNSUPPORTED, "the CUDA variants are float32 only");
}
/* Nothing is kept besides the head. */
static rb_status plan(const rb_backend *b, const rb_gausssum_desc *d, rb_gausssum_plan **out) {
  (void)b, (void)d;
  *out = (rb_gausssum_plan *)calloc(1, sizeof **out);
  return *out ? RB_OK : RB_FAIL(RB_ENOMEM, "host memory");
}
static void destroy(rb_gausssum_plan *p) { free(p); }

/* Rows and columns may be different sets: rows_n targets, n sources. */
template <int D, class OP>
static __global__ void __launch_bounds__(THREADS)
    reduce_row(kernel_width k, int rows_n, point_arrays row_points, int n, point_arrays points, row_end end) {
  /* s[o][t]: sum o of thread t; threads of a warp lie in different banks. */
  __shared__ float s[OP::OUT][THREADS];
  const int row = blockIdx.x, t = threadIdx.x;
  float a[OP::IN], sum[OP::OUT] = {};
  /* The row's point is the same for all threads; columns go round, THREADS apart. */
  load_point<D>(row_points, rows_n, row, a);
  for (int j = t; j < n; j += THREADS) {
    float b[OP::IN];
    /* Neighbouring threads load neighbouring points. */
    load_point<D>(points, n, j, b);
    OP::one(k, a, b, sum);
  }
#pragma unroll
  for (int o = 0; o < OP::OUT; o++) s[o][t] = sum[o];
  /* All threads' sums are there. */
  __syncthreads();
#pragma unroll
  for (int half = THREADS / 2; half >= 64; half /= 2) {
    /* The upper half is added onto the lower; the barrier then waits for these before the next halving reads them. */
    if (t < half)
#pragma unroll
      for (int o = 0; o < OP::OUT; o++) s[o][t] += s[o][t + half];
    __syncthreads();
  }
  /* 64 values are left: the first warp adds two a lane, then by shuffles. The order is fixed. */
  if (t < 32)
#pragma unroll
    for (int o = 0; o < OP::OUT; o++) {
      float v = s[o][t] + s[o][t + 32];
#pragma unroll
      for (int half = 16; half > 0; half /= 2) v += __shfl_down_sync(~0u, v, half);
      if (t == 0) finish_row<D>(end, rows_n, row, o, v);
    }
}

/* No memory besides the arguments; one launch. */
template <int D, class OP>
static rb_status launch(double sigma, int64_t rows_n, point_arrays row_points, int64_t n, point_arrays points,
                        row_end end) {
  rb_status st = RB_OK;
  /* A block a row. */
  RB_LAUNCH((reduce_row<D, OP>), (unsigned)rows_n, THREADS, 0, width_of(sigma), (int)rows_n, row_points, (int)n,
            points, end);
done:
  return st;
}
#define BY_DIMENSION(p, op, ...) \
  ((p)->desc.dim == 2 ? launch<2, op<2> >(__VA_ARGS__) : launch<3, op<3> >(__VA_ARGS__))

/* Without Hq the op with half as many sums serves. */
static rb_status flow(rb_gausssum_plan *p, double sigma, const void *q, const void *m, void *hq, void *hp) {
  const point_arrays in = point_arrays_of(q, m, NULL, NULL);
  if (!hq) return BY_DIMENSION(p, vector_sum, sigma, p->desc.n, in, p->desc.n, in, end_sum(hp));
  return BY_DIMENSION(p, hamiltonian_flow, sigma, p->desc.n, in, p->desc.n, in, end_flow(sigma, hq, hp));
}
static rb_status backward(rb_gausssum_plan *p, double sigma, const void *q, const void *m, const void *alpha,
                          const void *beta, void *fq, void *fp) {
  const point_arrays in = point_arrays_of(q, m, alpha, beta);
  return BY_DIMENSION(p, backward_products, sigma, p->desc.n, in, p->desc.n, in, end_backward(sigma, fq, fp));
}
/* The points x stand for q; their second vector is not used by this op. */
static rb_status sum(rb_gausssum_plan *p, double sigma, int64_t nx, const void *x, const void *q, const void *m,
                     void *out) {
  return BY_DIMENSION(p, vector_sum, sigma, nx, point_arrays_of(x, x, NULL, NULL), p->desc.n,
                      point_arrays_of(q, m, NULL, NULL), end_sum(out));
}

extern "C" const rb_gausssum_ops rb_gausssum_shared_reduction = {supports, plan, flow,    backward, sum,
                                                                 NULL,     NULL, destroy, NULL,     0};
