/* SPDX-License-Identifier: BSD-3-Clause */
/* A stranger's kernel, as an example: counts of values in bins, per block in shared memory, then added up. Compiles
 * with nvcc, too. cmake -S tests/emulator -B build-emulator && cmake --build build-emulator &&
 * build-emulator/histogram */
#include "../cuda_launch.h"

#include <cstdio>
#include <vector>

enum { BINS = 64, THREADS = 128 };

static __global__ void histogram(const unsigned char *values, int n, unsigned *bins) {
  __shared__ unsigned mine[BINS];
  for (int b = threadIdx.x; b < BINS; b += blockDim.x) mine[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&mine[values[i] % BINS], 1u);
  __syncthreads();
  for (int b = threadIdx.x; b < BINS; b += blockDim.x) atomicAdd(&bins[b], mine[b]);
}

int main(void) {
  const int n = 10000;
  std::vector<unsigned char> values(n);
  std::vector<unsigned> expected(BINS, 0), got(BINS);
  for (int i = 0; i < n; i++)
    values[(size_t)i] = (unsigned char)(i * 7919 >> 3), expected[values[(size_t)i] % BINS]++;
  unsigned char *v;
  unsigned *bins;
  if (cudaMalloc(&v, n) != cudaSuccess || cudaMalloc(&bins, BINS * sizeof(unsigned)) != cudaSuccess) return 1;
  cudaMemcpy(v, values.data(), n, cudaMemcpyHostToDevice);
  cudaMemset(bins, 0, BINS * sizeof(unsigned));
  if (CUDA_LAUNCH(histogram, 8, THREADS, 0, nullptr, v, n, bins) != cudaSuccess) return 1;
  if (cudaMemcpy(got.data(), bins, BINS * sizeof(unsigned), cudaMemcpyDeviceToHost) != cudaSuccess) return 1;
  const bool right = got == expected;
  printf("histogram of %d values: %s\n", n, right ? "as counted on the host" : "WRONG");
  cudaFree(v), cudaFree(bins);
  return !right;
}
