/* SPDX-License-Identifier: BSD-3-Clause */
/* The emulator's own tests: what kernels may do works, what they may not is found. Each misuse runs in a process of
 * its own, whose words are looked at. usage: test_emulator [NAME]: all tests, or one misuse for the test that started
 * it. */
#include "../cuda_launch.h"
#include "expect.h"

#include <cufft.h>

#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

/* ---- what works
 * ---------------------------------------------------------------------------------------------------- */

static __global__ void reverse_blocks(const int *in, int *out) {
  __shared__ int s[96];
  const int t = threadIdx.x, i = blockIdx.x * 96 + t;
  s[t] = in[i];
  __syncthreads();
  out[i] = s[95 - t];
}
static void barriers(void) {
  std::vector<int> in(96 * 7);
  for (size_t i = 0; i < in.size(); i++) in[i] = (int)(i * i % 1009);
  int *a = device<int>(in.size(), in.data()), *b = device<int>(in.size());
  OK(CUDA_LAUNCH(reverse_blocks, 7, 96, 0, nullptr, a, b));
  const std::vector<int> out = host(b, in.size());
  for (size_t i = 0; i < in.size(); i++) EXPECT(out[i] == in[i / 96 * 96 + 95 - i % 96]);
  OK(cudaFree(a)), OK(cudaFree(b));
}

/* Threads that have ended do not hold up those that wait. */
static __global__ void early_exit(int *out) {
  if (threadIdx.x >= 40) return;
  const int n = __syncthreads_count(threadIdx.x % 2);
  if (threadIdx.x == 0) *out = n;
}
static __global__ void joins(int *out) {
  const int any = __syncthreads_or(threadIdx.x == 77), all = __syncthreads_and(threadIdx.x < 77);
  if (threadIdx.x == 0) out[0] = any, out[1] = all;
}
static void barriers_that_count(void) {
  int *a = device<int>(2);
  OK(CUDA_LAUNCH(early_exit, 1, 64, 0, nullptr, a));
  EXPECT(host(a, 1)[0] == 20);
  OK(CUDA_LAUNCH(joins, 1, 128, 0, nullptr, a));
  EXPECT(host(a, 2)[0] == 1 && host(a, 2)[1] == 0);
  OK(cudaFree(a));
}

/* A lane that has ended, or that the mask leaves out, gives all ones. */
static __global__ void shuffles(float *out) {
  const int lane = threadIdx.x;
  if (lane == 31) return;
  const unsigned alive = 0x7fffffffu;
  const float up = __shfl_up_sync(alive, (float)lane, 1), down = __shfl_down_sync(alive, (float)lane, 1),
              across = __shfl_xor_sync(alive, (float)lane, 2, 4);
  const float from = __shfl_sync(alive, (float)lane, 5), ended = __shfl_sync(alive, (float)lane, 31);
  out[lane * 5] = up, out[lane * 5 + 1] = down, out[lane * 5 + 2] = across, out[lane * 5 + 3] = from,
             out[lane * 5 + 4] = ended;
}
static __global__ void votes(unsigned *out) {
  const unsigned lane = threadIdx.x;
  const unsigned even = __ballot_sync(~0u, lane % 2 == 0);
  const int any = __any_sync(~0u, lane == 9), all = __all_sync(~0u, lane < 31),
            least = __reduce_min_sync(~0u, (int)lane - 7), most = __reduce_max_sync(~0u, (int)lane - 40);
  if (lane == 0)
    out[0] = even, out[1] = (unsigned)any, out[2] = (unsigned)all, out[3] = (unsigned)least, out[4] = (unsigned)most;
}
static void warp_functions(void) {
  float *a = device<float>(32 * 5);
  OK(CUDA_LAUNCH(shuffles, 1, 32, 0, nullptr, a));
  const std::vector<float> v = host(a, 31 * 5);
  for (int l = 0; l < 31; l++) {
    EXPECT(v[(size_t)l * 5] == (float)(l ? l - 1 : 0) && v[(size_t)l * 5 + 3] == 5 &&
           std::isnan(v[(size_t)l * 5 + 4]));
    EXPECT(l == 30 ? std::isnan(v[(size_t)l * 5 + 1]) : v[(size_t)l * 5 + 1] == (float)(l + 1));
    EXPECT((l ^ 2) == 31 || v[(size_t)l * 5 + 2] == (float)(l ^ 2));
  }
  unsigned *b = device<unsigned>(5);
  OK(CUDA_LAUNCH(votes, 1, 32, 0, nullptr, b));
  const std::vector<unsigned> w = host(b, 5);
  EXPECT(w[0] == 0x55555555u && w[1] == 1 && w[2] == 0 && (int)w[3] == -7 && (int)w[4] == -9);
  OK(cudaFree(a)), OK(cudaFree(b));
}

static __global__ void count(unsigned *n, float *sum) {
  atomicAdd(n, 1u);
  atomicAdd(sum, 0.5f);
  atomicMax(n + 1, threadIdx.x + blockIdx.x * blockDim.x);
}
static void atomics(void) {
  const unsigned zero[2] = {0, 0};
  const float none = 0;
  unsigned *n = device<unsigned>(2, zero);
  float *s = device<float>(1, &none);
  OK(CUDA_LAUNCH(count, 5, 33, 0, nullptr, n, s));
  EXPECT(host(n, 2)[0] == 165 && host(n, 2)[1] == 164 && host(s, 1)[0] == 82.5f);
  OK(cudaFree(n)), OK(cudaFree(s));
}

/* Blocks that hand a number round: none can end before all have begun. */
static __global__ void ring(unsigned *slot, unsigned *out) {
#ifdef EMULATED_ARCH
  __shared__ unsigned mine; /* each block has its own */
  if (threadIdx.x == 0) {
    unsigned seen = 0;
    do emulated::load_relaxed(&seen, slot, 4);
    while (seen != blockIdx.x);
    mine = blockIdx.x * 10;
    seen++;
    emulated::store_relaxed(slot, &seen, 4);
  }
  __syncthreads();
  if (threadIdx.x == 1) out[blockIdx.x] = mine;
#endif
}
#ifdef EMULATED_ARCH
static void cooperation(void) {
  const unsigned zero = 0;
  unsigned *s = device<unsigned>(1, &zero), *out = device<unsigned>(9);
  OK(CUDA_LAUNCH_COOPERATIVE(ring, 9, 64, 0, nullptr, s, out));
  const std::vector<unsigned> v = host(out, 9);
  for (unsigned b = 0; b < 9; b++) EXPECT(v[b] == 10 * b);
  int per = 0;
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per, ring, 64, 0));
  EXPECT(CUDA_LAUNCH_COOPERATIVE(ring, (unsigned)per * 132 + 1, 64, 0, nullptr, s, out) ==
         cudaErrorCooperativeLaunchTooLarge);
  (void)cudaGetLastError();
  OK(cudaFree(s)), OK(cudaFree(out));
}
#endif

static __global__ void room(float *out) {
  CUDA_DYNAMIC_SHARED(float, s);
  s[threadIdx.x] = 1;
  if (threadIdx.x == 0) *out = s[0];
}
static void limits(void) {
  float *x = device<float>(1);
  void *p;
  EXPECT(CUDA_LAUNCH(room, 1, 1025, 8000, nullptr, x) == cudaErrorInvalidConfiguration);
  EXPECT(CUDA_LAUNCH(room, 0, 32, 256, nullptr, x) == cudaErrorInvalidConfiguration);
  EXPECT(CUDA_LAUNCH(room, dim3(1, 70000), 32, 256, nullptr, x) == cudaErrorInvalidConfiguration);
  EXPECT(CUDA_LAUNCH(room, 1, 32, 60 << 10, nullptr, x) == cudaErrorInvalidValue); /* not asked for */
  OK(cudaFuncSetAttribute(room, cudaFuncAttributeMaxDynamicSharedMemorySize, 60 << 10));
  OK(CUDA_LAUNCH(room, 1, 32, 60 << 10, nullptr, x));
  EXPECT(cudaFuncSetAttribute(room, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20) == cudaErrorInvalidValue);
  EXPECT(cudaMalloc(&p, (size_t)1 << 50) == cudaErrorMemoryAllocation);
  (void)cudaGetLastError();
  EXPECT(host(x, 1)[0] == 1);
  EXPECT(cudaMemcpy(x, x, 8, cudaMemcpyDeviceToDevice) == cudaErrorInvalidValue); /* beyond the array */
  (void)cudaGetLastError();
  OK(cudaFree(x));
}

/* A plan of 3 x 5 x 4 values, two batches, as regbench and others make one. */
static cufftHandle transform(cufftType type) {
  int n[3] = {3, 5, 4};
  size_t work;
  cufftHandle plan;
  EXPECT(cufftCreate(&plan) == CUFFT_SUCCESS);
  EXPECT(cufftMakePlanMany(plan, 3, n, nullptr, 1, 0, nullptr, 1, 0, type, 2, &work) == CUFFT_SUCCESS);
  return plan;
}
/* Complex transforms against their definition: batches, both directions, in place; none is normalised. */
static void transforms(void) {
  const int n0 = 3, n1 = 5, n2 = 4, all = n0 * n1 * n2;
  std::vector<cufftComplex> in(2 * (size_t)all);
  for (int i = 0; i < 2 * all; i++) in[(size_t)i] = {sinf((float)i), cosf(1.7f * (float)i)};
  cufftComplex *a = device<cufftComplex>(in.size(), in.data()), *b = device<cufftComplex>(in.size());
  const cufftHandle plan = transform(CUFFT_C2C), half = transform(CUFFT_R2C);
  for (int direction : {CUFFT_FORWARD, CUFFT_INVERSE}) {
    EXPECT(cufftExecC2C(plan, a, b, direction) == CUFFT_SUCCESS);
    const std::vector<cufftComplex> out = host(b, in.size());
    double worst = 0;
    for (int batch = 0; batch < 2; batch++)
      for (int k = 0; k < all; k++) {
        std::complex<double> sum = 0;
        for (int i = 0; i < all; i++) {
          const cufftComplex v = in[(size_t)(batch * all + i)];
          const double turns = (double)(i / (n1 * n2) * (k / (n1 * n2))) / n0 +
                               (double)(i / n2 % n1 * (k / n2 % n1)) / n1 + (double)(i % n2 * (k % n2)) / n2;
          sum += std::complex<double>(v.x, v.y) * std::polar(1.0, direction * 2 * 3.14159265358979323846 * turns);
        }
        const cufftComplex got = out[(size_t)(batch * all + k)];
        worst = std::fmax(worst, std::abs(sum - std::complex<double>(got.x, got.y)));
      }
    EXPECT(worst < 2e-5);
  }
  EXPECT(cufftExecC2C(plan, a, a, CUFFT_FORWARD) == CUFFT_SUCCESS);
  EXPECT(cufftExecC2C(plan, a, a, CUFFT_INVERSE) == CUFFT_SUCCESS);
  const std::vector<cufftComplex> back = host(a, in.size());
  double worst = 0;
  for (size_t i = 0; i < in.size(); i++)
    worst = std::fmax(worst, std::hypot(back[i].x / (float)all - in[i].x, back[i].y / (float)all - in[i].y));
  EXPECT(worst < 1e-6);
#ifdef EMULATED_ARCH /* on a GPU these are errors, too, but for the second, which writes where it should not */
  EXPECT(cufftExecC2C(half, a, b, CUFFT_FORWARD) == CUFFT_INVALID_PLAN);
  EXPECT(cufftExecC2C(plan, a, b + 1, CUFFT_FORWARD) == CUFFT_EXEC_FAILED);
  (void)cudaGetLastError();
#endif
  EXPECT(cufftDestroy(plan) == CUFFT_SUCCESS && cufftDestroy(half) == CUFFT_SUCCESS);
  OK(cudaFree(a)), OK(cudaFree(b));
}

#ifdef EMULATED_ARCH
/* The device can be hidden, as from CUDA. */
static void no_device(void) {
  int count = 7;
  cudaDeviceProp p;
  setenv("CUDA_VISIBLE_DEVICES", "", 1);
  EXPECT(cudaGetDeviceCount(&count) == cudaErrorNoDevice && count == 0);
  EXPECT(cudaGetDeviceProperties(&p, 0) == cudaErrorNoDevice && cudaSetDevice(0) == cudaErrorNoDevice);
  unsetenv("CUDA_VISIBLE_DEVICES");
  (void)cudaGetLastError();
  OK(cudaGetDeviceCount(&count));
  EXPECT(count == 1);
}
#endif

/* ---- what is found
 * ------------------------------------------------------------------------------------------------- */

static __global__ void divergent(int *x) {
  if (threadIdx.x < 16)
    __syncthreads();
  else {
    *x = 1;
    __syncthreads();
  }
}
static __global__ void waits_for_ever(int *x) {
  if (threadIdx.x == 0)
    __syncwarp(3);
  else if (threadIdx.x == 1)
    __syncthreads();
  *x = 1;
}
static __global__ void wrong_mask(int *x) { *x = __shfl_sync(1u, (int)threadIdx.x, 0); }
static __global__ void traps(int *) { __trap(); }
static __global__ void misaligned(float *x) { *x = __ldg(reinterpret_cast<const float4 *>(x + 1)).x; }
static __global__ void no_barrier(int *x) {
  __shared__ int s[64];
  s[threadIdx.x] = (int)threadIdx.x;
  x[threadIdx.x] = s[63 - threadIdx.x];
}
static __global__ void too_far(int *x) { x[threadIdx.x + 1] = 1; }
static __global__ void never_written(const int *x, int *y) { y[threadIdx.x] = x[threadIdx.x]; }
static __global__ void blocks_collide(int *x) { *x = (int)blockIdx.x; }

static int misuse(const std::string &what) {
  int *x = device<int>(64), *y = device<int>(64);
  if (what == "divergent") (void)CUDA_LAUNCH(divergent, 1, 32, 0, nullptr, x);
  if (what == "deadlock") (void)CUDA_LAUNCH(waits_for_ever, 1, 2, 0, nullptr, x);
  if (what == "mask") (void)CUDA_LAUNCH(wrong_mask, 1, 32, 0, nullptr, x);
  if (what == "trap") (void)CUDA_LAUNCH(traps, 1, 1, 0, nullptr, x);
  if (what == "misaligned") (void)CUDA_LAUNCH(misaligned, 1, 1, 0, nullptr, reinterpret_cast<float *>(x));
  if (what == "race") (void)CUDA_LAUNCH(no_barrier, 1, 64, 0, nullptr, x);
  if (what == "bounds") (void)CUDA_LAUNCH(too_far, 1, 64, 0, nullptr, x);
  if (what == "unwritten") (void)CUDA_LAUNCH(never_written, 1, 64, 0, nullptr, x, y);
  if (what == "blocks") (void)CUDA_LAUNCH(blocks_collide, 2, 1, 0, nullptr, x);
  if (what == "host") *const_cast<volatile int *>(x) = 1;
  const cudaError_t e = cudaDeviceSynchronize();
  printf("%s\n", cudaGetErrorString(e));
  return e == cudaSuccess ? 0 : 5;
}

static const char *program;
/* The misuse in a process of its own: it must fail, and say so. EMULATOR_LAUNCHER: what starts programs for another
 * processor. */
static void found(const char *what, const char *words) {
  const char *launcher = getenv("EMULATOR_LAUNCHER");
  const std::string command =
      std::string("EMULATOR_SEED=3 ") + (launcher ? launcher : "") + " " + program + " " + what + " 2>&1";
  std::string said;
  char line[1024];
  FILE *f = popen(command.c_str(), "r");
  while (f && fgets(line, sizeof line, f)) said += line;
  const int status = f ? pclose(f) : -1;
  if (status != 0 && said.find(words) != std::string::npos) return;
  printf("FAIL %s: exit %d, not told '%s': %s\n", what, WEXITSTATUS(status), words, said.c_str());
  failures++;
}

int main(int argc, char **argv) {
  program = argv[0];
  if (argc > 1) return misuse(argv[1]);
  barriers(), barriers_that_count(), warp_functions(), atomics(), limits(), transforms();
#ifdef EMULATED_ARCH
  cooperation(), no_device();
#endif
  found("divergent", "threads of a block wait at different barriers");
  found("deadlock", "deadlock in kernel waits_for_ever: 1 threads wait at __syncwarp at test_emulator.cu");
  found("mask", "whose mask 00000001 does not name it");
  found("trap", "__trap()");
  found("misaligned", "off its alignment");
#ifdef EMULATOR_WATCHES
  found("race", "race: kernel no_barrier");
  found("race", "test_emulator.cu:");
  found("bounds", "out of bounds: kernel too_far");
  found("unwritten", "nobody wrote: kernel never_written");
  found("blocks", "race: kernel blocks_collide");
  found("host", "the host touches device memory");
#endif
#ifdef __SANITIZE_ADDRESS__
  found("bounds", "heap-buffer-overflow");
#endif
  printf("%d failed\n", failures);
  return failures != 0;
}
