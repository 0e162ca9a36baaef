/* SPDX-License-Identifier: BSD-3-Clause */
/* Stands in for the CUDA toolkit's header of this name: the few calls that a matrix-vector product takes. Programs
 * that open libcublas.so at run time find these, too. */
#pragma once
#include <dlfcn.h>
#include "emulated/runtime.h"
#define CUBLAS_VER_MAJOR 0
typedef enum {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_NOT_INITIALIZED = 1,
  CUBLAS_STATUS_ALLOC_FAILED = 3,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_EXECUTION_FAILED = 13
} cublasStatus_t;
typedef enum { CUBLAS_OP_N, CUBLAS_OP_T } cublasOperation_t;
typedef struct emulated_blas *cublasHandle_t;
extern "C" {
cublasStatus_t cublasCreate_v2(cublasHandle_t *out);
cublasStatus_t cublasDestroy_v2(cublasHandle_t h);
cublasStatus_t cublasSetStream_v2(cublasHandle_t h, cudaStream_t s);
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t h, void *work, size_t bytes);
/* y = alpha op(A) x + beta y; A [n][lda], column by column. */
cublasStatus_t cublasSgemv_v2(cublasHandle_t h, cublasOperation_t op, int m, int n, const float *alpha,
                              const float *a, int lda, const float *x, int incx, const float *beta, float *y,
                              int incy);
void *emulated_dlopen(const char *name, int flags);
void *emulated_dlsym(void *library, const char *name);
}
#define dlopen emulated_dlopen
#define dlsym emulated_dlsym
