/* SPDX-License-Identifier: BSD-3-Clause */
/* cuBLAS's matrix-vector product, each sum in double. */
#include "cublas_v2.h"
#include "internal.h"
#undef dlopen
#undef dlsym

struct emulated_blas {
  cudaStream_t stream;
};

using namespace emulated;

extern "C" {
cublasStatus_t cublasCreate_v2(cublasHandle_t *out) {
  return *out = new emulated_blas{nullptr}, CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy_v2(cublasHandle_t h) { return run_everything(), delete h, CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasSetStream_v2(cublasHandle_t h, cudaStream_t s) { return h->stream = s, CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t, void *, size_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasSgemv_v2(cublasHandle_t h, cublasOperation_t op, int m, int n, const float *alpha,
                              const float *a, int lda, const float *x, int incx, const float *beta, float *y,
                              int incy) {
  if (m < 0 || n < 0 || lda < m || incx == 0 || incy == 0) return CUBLAS_STATUS_INVALID_VALUE;
  const float one = *alpha, other = *beta;
  const cudaError_t e = enqueue(h->stream, [=]() {
    watch_read(a, ((size_t)(n - 1) * (size_t)lda + (size_t)m) * sizeof *a, "cuBLAS");
    const int rows = op == CUBLAS_OP_N ? m : n, columns = op == CUBLAS_OP_N ? n : m;
    for (int r = 0; r < rows; r++) {
      double sum = 0;
      for (int c = 0; c < columns; c++)
        sum +=
            (double)a[op == CUBLAS_OP_N ? (size_t)c * (size_t)lda + (size_t)r : (size_t)r * (size_t)lda + (size_t)c] *
            (double)x[(size_t)c * (size_t)incx];
      float &to = y[(size_t)r * (size_t)incy];
      to = (float)((double)one * sum + (other == 0 ? 0 : (double)other * (double)to));
      watch_written(&to, sizeof to);
    }
  });
  return e == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

static char library; /* its address stands for the opened library */
void *emulated_dlopen(const char *name, int flags) {
  return name && std::strncmp(name, "libcublas.so", 12) == 0 ? &library : dlopen(name, flags);
}
void *emulated_dlsym(void *handle, const char *name) {
  static const struct {
    const char *name;
    void *function;
  } known[] = {{"cublasCreate_v2", reinterpret_cast<void *>(cublasCreate_v2)},
               {"cublasDestroy_v2", reinterpret_cast<void *>(cublasDestroy_v2)},
               {"cublasSetStream_v2", reinterpret_cast<void *>(cublasSetStream_v2)},
               {"cublasSetWorkspace_v2", reinterpret_cast<void *>(cublasSetWorkspace_v2)},
               {"cublasSgemv_v2", reinterpret_cast<void *>(cublasSgemv_v2)}};
  if (handle != &library) return dlsym(handle, name);
  for (const auto &k : known)
    if (std::strcmp(k.name, name) == 0) return k.function;
  return nullptr;
}
}
