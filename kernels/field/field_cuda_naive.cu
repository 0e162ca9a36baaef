/* SPDX-License-Identifier: BSD-3-Clause */
/* cuda/naive of field, the plain GPU code of ha2009's Table 1: a thread a value, 4-byte accesses, and a reduction
 * that halves the values within a block by a tree with interleaved addresses, launched again over what the blocks
 * left until one value remains. */
#include "kernels/cuda/cuda.cuh"
#include "kernels/field/field.h"

#include <math.h>
#include <stdlib.h>

enum { THREADS = 256, SUMS = 3 }; /* SUMS: kinds, in the order sum, least, greatest */

typedef struct {
  rb_field_plan head;
  int64_t most;       /* blocks of the first round over desc.count values */
  double *partial[2]; /* [SUMS][most]: what a round reads, and what it leaves */
  double *host;       /* pinned, SUMS */
} naive_plan;

static rb_status supports(const rb_field_desc *d) {
  return d->dtype == RB_F32 ? RB_OK : RB_FAIL(RB_EUNSUPPORTED, "the CUDA variants are float32 only");
}
static void destroy(rb_field_plan *head) {
  naive_plan *p = (naive_plan *)head;
  for (int k = 0; k < 2; k++) rb_release(head->backend, p->partial[k]);
  if (p->host) cudaFreeHost(p->host);
  free(p);
}
static rb_status plan(const rb_backend *backend, const rb_field_desc *d, rb_field_plan **out) {
  rb_status st = RB_OK;
  naive_plan *p = (naive_plan *)calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  p->head.backend = backend;
  p->most = d->count > THREADS ? rb_blocks(d->count, THREADS) : 1;
  for (int k = 0; k < 2; k++)
    RB_TRY(rb_alloc(backend, (size_t)(SUMS * p->most) * sizeof(double), (void **)&p->partial[k]));
  RB_CUDA_TRY(cudaMallocHost((void **)&p->host, SUMS * sizeof(double)));
  *out = &p->head;
  return RB_OK;
done:
  if (p) destroy(&p->head);
  return st;
}

/* ---- pointwise: thread i owns value i ------------------------------------------------------------------------ */

static __global__ void __launch_bounds__(THREADS) fill_kernel(int64_t n, float a, float *z) {
  const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (i < n) z[i] = a;
}
/* z = a x + b y + c z; a factor of 0 keeps its operand out. */
static __global__ void __launch_bounds__(THREADS)
    combine_kernel(int64_t n, float a, const float *x, float b, const float *y, float c, float *z) {
  const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (i >= n) return;
  float r = a != 0.0f ? a * x[i] : 0.0f;
  if (b != 0.0f) r += b * y[i];
  if (c != 0.0f) r += c * z[i];
  z[i] = r;
}
static __global__ void __launch_bounds__(THREADS)
    multiply_kernel(int64_t n, float a, const float *x, const float *y, float c, float *z) {
  const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (i >= n) return;
  float r = a * x[i] * y[i];
  if (c != 0.0f) r += c * z[i];
  z[i] = r;
}
static __global__ void __launch_bounds__(THREADS)
    divide_kernel(int64_t n, float a, const float *x, const float *y, float *z) {
  const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (i < n) z[i] = a * x[i] / y[i];
}
/* Thread i owns node i, all three components. */
static __global__ void __launch_bounds__(THREADS)
    displace_kernel(int64_t n, int n2, int n3, float3 a, const float *v, float3 b, const float *w, float *x) {
  const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (i >= n) return;
  const int64_t node[3] = {i / n3 / n2, i / n3 % n2, i % n3};
  const float s[3] = {a.x, a.y, a.z}, t[3] = {b.x, b.y, b.z};
  for (int c = 0; c < 3; c++) {
    float moved = v ? s[c] * v[c * n + i] : 0.0f;
    if (w) moved += t[c] * w[c * n + i];
    x[c * n + i] = (float)node[c] + moved;
  }
}

static rb_status fill(rb_field_plan *, int64_t n, double a, void *z) {
  rb_status st = RB_OK;
  if (n > 0) RB_LAUNCH(fill_kernel, rb_blocks(n, THREADS), THREADS, 0, n, (float)a, (float *)z);
done:
  return st;
}
static rb_status combine(rb_field_plan *, int64_t n, double a, const void *x, double b, const void *y, double c,
                         void *z) {
  rb_status st = RB_OK;
  if (n > 0)
    RB_LAUNCH(combine_kernel, rb_blocks(n, THREADS), THREADS, 0, n, (float)a, (const float *)x, (float)b,
              (const float *)y, (float)c, (float *)z);
done:
  return st;
}
static rb_status multiply(rb_field_plan *, int64_t n, double a, const void *x, const void *y, double c, void *z) {
  rb_status st = RB_OK;
  if (n > 0)
    RB_LAUNCH(multiply_kernel, rb_blocks(n, THREADS), THREADS, 0, n, (float)a, (const float *)x, (const float *)y,
              (float)c, (float *)z);
done:
  return st;
}
static rb_status divide(rb_field_plan *, int64_t n, double a, const void *x, const void *y, void *z) {
  rb_status st = RB_OK;
  if (n > 0)
    RB_LAUNCH(divide_kernel, rb_blocks(n, THREADS), THREADS, 0, n, (float)a, (const float *)x, (const float *)y,
              (float *)z);
done:
  return st;
}
static rb_status displace(rb_field_plan *, rb_grid g, const double a[3], const void *v, const double b[3],
                          const void *w, void *x) {
  rb_status st = RB_OK;
  const float3 s = v ? make_float3((float)a[0], (float)a[1], (float)a[2]) : make_float3(0, 0, 0);
  const float3 t = w ? make_float3((float)b[0], (float)b[1], (float)b[2]) : make_float3(0, 0, 0);
  const int64_t n = rb_grid_points(g);
  RB_LAUNCH(displace_kernel, rb_blocks(n, THREADS), THREADS, 0, n, (int)g.n[1], (int)g.n[2], s, (const float *)v, t,
            (const float *)w, (float *)x);
done:
  return st;
}

/* ---- reductions ---------------------------------------------------------------------------------------------- */

/* Thread 0 ends with the block's three values. In the round of `stride` the threads whose number 2 stride divides
 * take in the value `stride` further: half of the lanes of every warp idle from the first round on. Each barrier
 * waits for the round before. */
static __device__ void tree(double sum, double least, double greatest, int64_t blocks, double *out) {
  __shared__ double s[SUMS][THREADS];
  const int t = threadIdx.x;
  s[0][t] = sum, s[1][t] = least, s[2][t] = greatest;
  for (int stride = 1; stride < THREADS; stride *= 2) {
    __syncthreads();
    if (t % (2 * stride) == 0) {
      s[0][t] += s[0][t + stride];
      s[1][t] = fmin(s[1][t], s[1][t + stride]);
      s[2][t] = fmax(s[2][t], s[2][t + stride]);
    }
  }
  if (t == 0)
    for (int k = 0; k < SUMS; k++) out[k * blocks + blockIdx.x] = s[k][0];
}
/* The first round: products of float32 in float64. Without y: the values themselves. */
static __global__ void __launch_bounds__(THREADS)
    first_round(int64_t n, const float *x, const float *y, double *out) {
  const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  const double v = i < n ? (y ? (double)x[i] * (double)y[i] : (double)x[i]) : 0.0;
  tree(v, i < n ? v : INFINITY, i < n ? v : -INFINITY, gridDim.x, out);
}
/* Any later one: in [SUMS][n] of the round before. */
static __global__ void __launch_bounds__(THREADS) next_round(int64_t n, const double *in, double *out) {
  const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  tree(i < n ? in[i] : 0.0, i < n ? in[n + i] : INFINITY, i < n ? in[2 * n + i] : -INFINITY, gridDim.x, out);
}

/* Rounds until one block is left; *out: where its three values are. */
static rb_status reduce(naive_plan *p, int64_t n, const void *x, const void *y, double **out) {
  rb_status st = RB_OK;
  int64_t left = n > THREADS ? rb_blocks(n, THREADS) : 1;
  int now = 0;
  RB_LAUNCH(first_round, (unsigned)left, THREADS, 0, n, (const float *)x, (const float *)y, p->partial[0]);
  for (; left > 1; now = !now) {
    const int64_t blocks = left > THREADS ? rb_blocks(left, THREADS) : 1;
    RB_LAUNCH(next_round, (unsigned)blocks, THREADS, 0, left, p->partial[now], p->partial[!now]);
    left = blocks;
  }
  *out = p->partial[now];
done:
  return st;
}
static rb_status to_host(naive_plan *p, const double *values) {
  rb_status st = RB_OK;
  RB_CUDA_TRY(cudaMemcpyAsync(p->host, values, SUMS * sizeof(double), cudaMemcpyDeviceToHost, rb_cuda_stream()));
  RB_CUDA_TRY(cudaStreamSynchronize(rb_cuda_stream()));
done:
  return st;
}
static rb_status dot(rb_field_plan *head, int64_t n, const void *x, const void *y, double *out) {
  rb_status st = RB_OK;
  naive_plan *p = (naive_plan *)head;
  double *values;
  RB_TRY(reduce(p, n, x, y, &values));
  RB_TRY(to_host(p, values));
  *out = p->host[0];
done:
  return st;
}
static rb_status dot_kept(rb_field_plan *head, int64_t n, const void *x, const void *y, double *kept) {
  rb_status st = RB_OK;
  double *values;
  RB_TRY(reduce((naive_plan *)head, n, x, y, &values));
  RB_CUDA_TRY(cudaMemcpyAsync(kept, values, sizeof *kept, cudaMemcpyDeviceToDevice, rb_cuda_stream()));
done:
  return st;
}
static rb_status extremes(rb_field_plan *head, int64_t n, const void *x, rb_extremes *out) {
  rb_status st = RB_OK;
  naive_plan *p = (naive_plan *)head;
  double *values;
  RB_TRY(reduce(p, n, x, NULL, &values));
  RB_TRY(to_host(p, values));
  out->sum = p->host[0], out->least = p->host[1], out->greatest = p->host[2];
  if (out->sum != out->sum) out->least = out->greatest = out->sum; /* fmin and fmax pass over a NaN */
done:
  return st;
}

extern "C" const rb_field_ops rb_field_naive_cuda = {supports, plan, fill,     combine,  multiply, divide,
                                                     displace, dot,  dot_kept, extremes, destroy};
