/* SPDX-License-Identifier: BSD-3-Clause */
/* cuda/cublas of gausssum: the paper's first design (shooting2018 section 2.4). One kernel writes every pair's terms
 * as N x N matrices, cuBLAS multiplies them with a vector of ones. It needs 4 N^2 bytes a component, twice as many
 * components as dimensions. libcublas is opened when it is asked for: a host without it lacks this variant and
 * nothing else. */
#include "kernels/gausssum/gausssum_pairs.cuh"

#include <cublas_v2.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* TX x TY: pairs (j, i) of a block of write_terms. WORKSPACE: bytes of the work area that cuBLAS is given.
 * END_THREADS: a block of the pointwise kernels. */
enum { TX = 32, TY = 8, WORKSPACE = 32 << 20, END_THREADS = 256 };

/* What is used of the library, looked up by name. */
typedef struct {
  decltype(&cublasCreate_v2) create;
  decltype(&cublasDestroy_v2) destroy;
  decltype(&cublasSetStream_v2) set_stream;
  decltype(&cublasSetWorkspace_v2) set_workspace;
  decltype(&cublasSgemv_v2) gemv;
} blas_library;

/* terms: a row a target point, a column a source; OUT of these matrices one after the other. sums: what cuBLAS
 * leaves. */
typedef struct {
  rb_gausssum_plan head;
  cublasHandle_t handle;
  float *terms; /* [2 dim][n][n] */
  float *ones;  /* [n] */
  float *sums;  /* [2 dim][n] */
  void *workspace;
} cublas_plan;

/* Opened once in a process; `create` is NULL until all functions were found. */
static blas_library blas;

/* By the major version that the headers came with, so that the interfaces agree. */
static rb_status open_library(void) {
  if (blas.create) return RB_OK;
  char name[32];
  snprintf(name, sizeof name, "libcublas.so.%d", CUBLAS_VER_MAJOR);
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return RB_FAIL(RB_EUNSUPPORTED, "%s cannot be opened (%s); install the CUDA toolkit's cuBLAS", name, dlerror());
  /* `create` is looked up last: its presence stands for all. */
  blas.destroy = (decltype(blas.destroy))dlsym(library, "cublasDestroy_v2");
  blas.set_stream = (decltype(blas.set_stream))dlsym(library, "cublasSetStream_v2");
  blas.set_workspace = (decltype(blas.set_workspace))dlsym(library, "cublasSetWorkspace_v2");
  blas.gemv = (decltype(blas.gemv))dlsym(library, "cublasSgemv_v2");
  blas.create = (decltype(blas.create))dlsym(library, "cublasCreate_v2");
  if (blas.create && blas.destroy && blas.set_stream && blas.set_workspace && blas.gemv) return RB_OK;
  blas.create = NULL;
  return RB_FAIL(RB_EUNSUPPORTED, "%s lacks functions of version %d", name, CUBLAS_VER_MAJOR);
}

#define BLAS_TRY(call)                                                                                          \
  do {                                                                                                          \
    cublasStatus_t code_ = (call);                                                                              \
    if (code_ != CUBLAS_STATUS_SUCCESS) {                                                                       \
      st = RB_FAIL(code_ == CUBLAS_STATUS_ALLOC_FAILED ? RB_ENOMEM : RB_EDEVICE, "%s: cuBLAS status %d", #call, \
                   (int)code_);                                                                                 \
      goto done;                                                                                                \
    }                                                                                                           \
  } while (0)

/* Float32 only; sizes end where the matrices' memory does. */
static rb_status supports(const rb_gausssum_desc *d) {
  return d->dtype == RB_F32 ? RB_OK : RB_FAIL(RB_EUNSUPPORTED, "the CUDA variants are float32 only");
}
static void destroy(rb_gausssum_plan *head) {
  cublas_plan *p = (cublas_plan *)head;
  /* The handle goes before the memory that it was given. */
  if (p->handle) blas.destroy(p->handle);
  void *arrays[] = {p->terms, p->ones, p->sums, p->workspace};
  for (int i = 0; i < 4; i++) rb_release(head->backend, arrays[i]);
  free(p);
}

/* The vector that cuBLAS multiplies with, written once. */
static __global__ void fill_ones(int n, float *x) {
  const int i = blockIdx.x * END_THREADS + threadIdx.x;
  if (i < n) x[i] = 1;
}

/* The matrices, the vector of ones, the row sums, and cuBLAS's work area. */
static size_t workspace(const rb_gausssum_desc *d) {
  const size_t n = (size_t)d->n, components = 2 * (size_t)d->dim;
  return (components * n * n + n + components * n) * sizeof(float) + WORKSPACE;
}
/* Opens the library first: without it nothing is allocated. Everything lives as long as the plan. */
static rb_status plan(const rb_backend *backend, const rb_gausssum_desc *d, rb_gausssum_plan **out) {
  rb_status st = RB_OK;
  const size_t n = (size_t)d->n, components = 2 * (size_t)d->dim;
  cublas_plan *p = (cublas_plan *)calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  p->head.backend = backend;
  RB_TRY(open_library());
  RB_TRY(rb_alloc(backend, components * n * n * sizeof(float), (void **)&p->terms));
  RB_TRY(rb_alloc(backend, n * sizeof(float), (void **)&p->ones));
  RB_TRY(rb_alloc(backend, components * n * sizeof(float), (void **)&p->sums));
  RB_TRY(rb_alloc(backend, WORKSPACE, &p->workspace));
  RB_LAUNCH(fill_ones, rb_blocks(d->n, END_THREADS), END_THREADS, 0, (int)d->n, p->ones);
  BLAS_TRY(blas.create(&p->handle));
  /* cuBLAS works on the project's stream and in memory that the plan's workspace counts. */
  BLAS_TRY(blas.set_stream(p->handle, rb_cuda_stream()));
  BLAS_TRY(blas.set_workspace(p->handle, p->workspace, WORKSPACE));
  *out = &p->head;
  return RB_OK;
done:
  if (p) destroy(&p->head);
  return st;
}

/* terms[o][i - first][j]. A thread a pair: i of the piece's rows along y, j along x, so that a warp stores along a
 * row. Offsets exceed 32 bits. */
template <int D, class OP>
static __global__ void __launch_bounds__(TX *TY)
    write_terms(kernel_width k, int first, int rows_n, int rows_total, point_arrays row_points, int n,
                point_arrays points, float *__restrict__ terms) {
  const int j = blockIdx.x * TX + threadIdx.x, i = blockIdx.y * TY + threadIdx.y;
  if (j >= n || i >= rows_n) return;
  /* v: the terms of this one pair, from zero. */
  float a[OP::IN], b[OP::IN], v[OP::OUT] = {};
  load_point<D>(row_points, rows_total, first + i, a);
  load_point<D>(points, n, j, b);
  OP::one(k, a, b, v);
#pragma unroll
  for (int o = 0; o < OP::OUT; o++) terms[((size_t)o * rows_n + i) * n + j] = v[o];
}
/* A thread a row, blockIdx.y a sum; the row's number in the whole set is first + i. Scales the sums and stores them
 * in the caller's arrays. */
template <int D, class OP>
static __global__ void __launch_bounds__(END_THREADS)
    finish(int first, int rows_n, int rows_total, const float *__restrict__ sums, row_end end) {
  const int i = blockIdx.x * END_THREADS + threadIdx.x, o = blockIdx.y;
  if (i < rows_n) finish_row<D>(end, rows_total, first + i, o, sums[(size_t)o * rows_n + i]);
}

/* Rows of a set larger than the points' come in pieces that fit the matrices. rows_total rows of row_points against n
 * points; per piece two launches and one product. */
template <int D, class OP>
static rb_status launch(cublas_plan *p, double sigma, int64_t rows_total, point_arrays row_points,
                        point_arrays points, row_end end) {
  rb_status st = RB_OK;
  /* y = 1 A^T x + 0 y */
  const float one = 1, zero = 0;
  const int n = (int)p->head.desc.n;
  /* At most n rows at a time, as many as the matrices hold. */
  for (int64_t first = 0; first < rows_total; first += n) {
    const int rows_n = (int)(rows_total - first < n ? rows_total - first : n);
    RB_CHECK(rb_blocks(rows_n, TY) < 65536, RB_EUNSUPPORTED, "%d points: the kernel of cuda/cublas ends at %d", n,
             RB_MOST_BLOCKS_YZ * TY);
    RB_LAUNCH((write_terms<D, OP>), dim3(rb_blocks(n, TX), rb_blocks(rows_n, TY)), dim3(TX, TY), 0, width_of(sigma),
              (int)first, rows_n, (int)rows_total, row_points, n, points, p->terms);
    /* Row-major [OUT rows][n] is cuBLAS's column-major n x (OUT rows): transposed and times ones, it gives the sum of
     * each row over j. */
    BLAS_TRY(
        blas.gemv(p->handle, CUBLAS_OP_T, n, OP::OUT * rows_n, &one, p->terms, n, p->ones, 1, &zero, p->sums, 1));
    RB_LAUNCH((finish<D, OP>), dim3(rb_blocks(rows_n, END_THREADS), OP::OUT), END_THREADS, 0, (int)first, rows_n,
              (int)rows_total, p->sums, end);
  }
done:
  return st;
}
#define BY_DIMENSION(p, op, ...) \
  ((p)->head.desc.dim == 2 ? launch<2, op<2> >(p, __VA_ARGS__) : launch<3, op<3> >(p, __VA_ARGS__))

static rb_status flow(rb_gausssum_plan *head, double sigma, const void *q, const void *m, void *hq, void *hp) {
  cublas_plan *p = (cublas_plan *)head;
  const point_arrays in = point_arrays_of(q, m, NULL, NULL);
  /* Without Hq the op with half as many components serves. */
  if (!hq) return BY_DIMENSION(p, vector_sum, sigma, head->desc.n, in, in, end_sum(hp));
  return BY_DIMENSION(p, hamiltonian_flow, sigma, head->desc.n, in, in, end_flow(sigma, hq, hp));
}
static rb_status backward(rb_gausssum_plan *head, double sigma, const void *q, const void *m, const void *alpha,
                          const void *beta, void *fq, void *fp) {
  cublas_plan *p = (cublas_plan *)head;
  const point_arrays in = point_arrays_of(q, m, alpha, beta);
  return BY_DIMENSION(p, backward_products, sigma, head->desc.n, in, in, end_backward(sigma, fq, fp));
}
/* The points x stand for q; their second vector is not used by this op. */
static rb_status sum(rb_gausssum_plan *head, double sigma, int64_t nx, const void *x, const void *q, const void *m,
                     void *out) {
  cublas_plan *p = (cublas_plan *)head;
  return BY_DIMENSION(p, vector_sum, sigma, nx, point_arrays_of(x, x, NULL, NULL), point_arrays_of(q, m, NULL, NULL),
                      end_sum(out));
}

extern "C" const rb_gausssum_ops rb_gausssum_cublas = {supports, plan, flow,    backward,  sum,
                                                       NULL,     NULL, destroy, workspace, 0};
