/* SPDX-License-Identifier: BSD-3-Clause */
/* Stands in for the CUDA toolkit's header of this name: single-precision transforms, computed by FFTW. */
#pragma once
#include "emulated/runtime.h"
typedef int cufftHandle;
typedef float cufftReal;
typedef float2 cufftComplex;
typedef enum {
  CUFFT_SUCCESS,
  CUFFT_INVALID_PLAN,
  CUFFT_ALLOC_FAILED,
  CUFFT_INVALID_TYPE,
  CUFFT_INVALID_VALUE,
  CUFFT_INTERNAL_ERROR,
  CUFFT_EXEC_FAILED
} cufftResult;
typedef enum { CUFFT_R2C = 0x2a, CUFFT_C2R = 0x2c, CUFFT_C2C = 0x29 } cufftType;
enum { CUFFT_FORWARD = -1, CUFFT_INVERSE = 1 };
extern "C" {
cufftResult cufftCreate(cufftHandle *out);
cufftResult cufftDestroy(cufftHandle plan);
cufftResult cufftSetAutoAllocation(cufftHandle plan, int yes);
cufftResult cufftSetWorkArea(cufftHandle plan, void *work);
cufftResult cufftSetStream(cufftHandle plan, cudaStream_t stream);
/* Contiguous batches: inembed and onembed NULL. */
cufftResult cufftMakePlanMany(cufftHandle plan, int rank, int *n, int *inembed, int istride, int idist, int *onembed,
                              int ostride, int odist, cufftType type, int batch, size_t *work);
cufftResult cufftExecR2C(cufftHandle plan, cufftReal *in, cufftComplex *out);
cufftResult cufftExecC2R(cufftHandle plan, cufftComplex *in, cufftReal *out);
cufftResult cufftExecC2C(cufftHandle plan, cufftComplex *in, cufftComplex *out, int direction);
}
