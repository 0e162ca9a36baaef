/* SPDX-License-Identifier: BSD-3-Clause */
/* Arithmetic, texture and launch roofs of the GPU. */
#include "kernels/base/statistics.h"
#include "kernels/cuda/cuda.cuh"
#include "kernels/probe/probe.h"

#include <math.h>
#include <stdlib.h>

/* ROUNDS, FETCHES: work of a thread in one pass. FMA .. LATENCY: what is measured, numbered on from there. LAUNCHES:
 * empty kernels of a pass. TEXELS: the texture's side. */
enum { THREADS = 256, ROUNDS = 4096, FETCHES = 1024, FMA, EXP2, TEXTURE, LATENCY, LAUNCHES = 1000, TEXELS = 32 };

/* These probes work on no array. */
static size_t none(const rb_backend *b) {
  (void)b;
  return 1;
}

/* Eight independent chains a thread hide the latency of the multiply-add. */
static __global__ void __launch_bounds__(THREADS) fma_kernel(float *out, float a, float b) {
  /* Start values differ by thread and chain. */
  float v[8];
#pragma unroll
  for (int q = 0; q < 8; q++) v[q] = (float)(threadIdx.x + q);
  /* The loop over rounds is left to the compiler; the chains within a round are unrolled. */
  for (int r = 0; r < ROUNDS; r++)
#pragma unroll
    for (int q = 0; q < 8; q++) v[q] = fmaf(v[q], a, b);
  /* The sum is stored, so that no chain can be dropped. */
  float s = 0;
#pragma unroll
  for (int q = 0; q < 8; q++) s += v[q];
  out[blockIdx.x * THREADS + threadIdx.x] = s;
}

/* x -> 2^(-x) converges to its fixed point 0.6412 from anywhere in [0, 1]: the result can be checked. */
static __global__ void __launch_bounds__(THREADS) exp2_kernel(float *out) {
  /* Start values differ by thread and chain, all in [0, 1). */
  float v[8];
#pragma unroll
  for (int q = 0; q < 8; q++) v[q] = (float)(threadIdx.x + q) / (THREADS + 8);
  for (int r = 0; r < ROUNDS / 4; r++)
#pragma unroll
    for (int q = 0; q < 8; q++) v[q] = rb_exp2_approx(-v[q]);
  float s = 0;
#pragma unroll
  for (int q = 0; q < 8; q++) s += v[q];
  out[blockIdx.x * THREADS + threadIdx.x] = s * 0.125f;
}

/* Trilinear fetches within a 32^3 texture that stays in the texture caches, along its third axis by `step`: an
 * argument, or the compiler would see that fetches repeat and add what it has. In steps of a texel 1024 fetches pass
 * the axis 32 times. All three fractions are a quarter or three: none that would let the unit leave a neighbour out,
 * and all exact in its 8 bits. */
static __global__ void __launch_bounds__(THREADS) texture_kernel(cudaTextureObject_t t, float step, float *out) {
  /* A warp's lanes lie along the first axis, the block's eight warps along the second; blocks begin at different
   * texels of the third. */
  const float u = (threadIdx.x % 32 + 0.25f) / TEXELS, v = (threadIdx.x / 32 + 0.25f) / TEXELS;
  float s = 0, w = (blockIdx.x % TEXELS + 0.75f) / TEXELS;
  for (int r = 0; r < FETCHES / 4; r++) {
#pragma unroll
    for (int q = 0; q < 4; q++) s += rb_fetch3(t, u, v, w + (float)q * step);
    w += 4 * step;
  }
  out[blockIdx.x * THREADS + threadIdx.x] = s;
}
static __global__ void empty_kernel(void) {}

/* A TEXELS^3 array filled from the host; wrapped in all axes, so that the walk may pass the end; normalised
 * coordinates, as wrapping needs them. */
static rb_status make_texture(cudaArray_t *array, cudaTextureObject_t *texture) {
  rb_status st = RB_OK;
  cudaExtent extent = make_cudaExtent(TEXELS, TEXELS, TEXELS);
  cudaChannelFormatDesc channel = cudaCreateChannelDesc<float>();
  cudaResourceDesc resource = {};
  cudaTextureDesc desc = {};
  cudaMemcpy3DParms copy = {};
  float *host = (float *)malloc(sizeof(float) * TEXELS * TEXELS * TEXELS);
  /* Small: 128 KiB, which is copied once. */
  RB_CHECK(host, RB_ENOMEM, "host memory");
  for (int i = 0; i < TEXELS * TEXELS * TEXELS; i++)
    host[i] = (float)(i / (TEXELS * TEXELS) +
                      i % TEXELS); /* plane and place in the row: the nearest texels' sum is another */
  RB_CUDA_TRY(cudaMalloc3DArray(array, &channel, extent));
  /* Rows of TEXELS floats, packed. */
  copy.srcPtr = make_cudaPitchedPtr(host, TEXELS * sizeof(float), TEXELS, TEXELS);
  copy.dstArray = *array;
  copy.extent = extent;
  copy.kind = cudaMemcpyHostToDevice;
  RB_CUDA_TRY(cudaMemcpy3DAsync(&copy, rb_cuda_stream()));
  RB_CUDA_TRY(cudaStreamSynchronize(rb_cuda_stream())); /* `host` is freed below */
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = *array;
  for (int a = 0; a < 3; a++) desc.addressMode[a] = cudaAddressModeWrap;
  desc.filterMode = cudaFilterModeLinear;
  desc.normalizedCoords = 1;
  RB_CUDA_TRY(cudaCreateTextureObject(texture, &resource, &desc, NULL));
done:
  free(host);
  return st;
}

/* One launch, or for LATENCY as many as LAUNCHES without a wait between them. */
static rb_status one_pass(int what, unsigned blocks, float *out, cudaTextureObject_t t) {
  rb_status st = RB_OK;
  switch (what) {
    case FMA:
      RB_LAUNCH(fma_kernel, blocks, THREADS, 0, out, 0.999f, 0.001f);
      break;
    case EXP2:
      RB_LAUNCH(exp2_kernel, blocks, THREADS, 0, out);
      break;
    case TEXTURE:
      RB_LAUNCH(texture_kernel, blocks, THREADS, 0, t, 1.0f / TEXELS, out);
      break;
    default:
      for (int i = 0; i < LAUNCHES; i++) RB_LAUNCH(empty_kernel, 1, 32, 0);
      break;
  }
done:
  return st;
}

/* Fixed points and sums that the kernels must reach. */
static rb_status verify(int what, float got, float *expected) {
  /* FMA, thread 0: chain q starts at q and tends to b / (1 - a) = 1: 8 + (0 + .. + 7 - 8) a^ROUNDS, a = 0.999.
   * Texture, thread 0: the planes' mean, and a quarter of the row's last texel, which lies before the first. In the
   * order FMA, EXP2, TEXTURE. */
  const float want[] = {8.0f + 20.0f * powf(0.999f, ROUNDS), 0.6411857f, (0.5f + 0.25f) * (TEXELS - 1) * FETCHES};
  /* Nothing to check in empty kernels. */
  if (what == LATENCY) return RB_OK;
  *expected = want[what - FMA];
  float error = got / *expected - 1.0f;
  return error < 1e-3f && error > -1e-3f
             ? RB_OK
             : RB_FAIL(RB_EINVALID, "probe result %g, not %g", (double)got, (double)*expected);
}

/* `out` is as large as the grid of threads; thread 0's value is checked after the last pass. */
static rb_status measure(const rb_backend *backend, int what, int samples, double *rate) {
  rb_status st = RB_OK;
  cudaArray_t array = NULL;
  cudaTextureObject_t texture = 0;
  float *out = NULL, got = 0, expected;
  int device = 0, sms = 0;
  unsigned blocks;
  double work, seconds, *rates = (double *)calloc((size_t)samples, sizeof *rates);
  RB_CHECK(rates, RB_ENOMEM, "host memory");
  RB_CUDA_TRY(cudaGetDevice(&device));
  RB_CUDA_TRY(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device));
  /* 32 blocks a multiprocessor. */
  blocks = (unsigned)sms * 8 * 4;
  RB_TRY(rb_alloc(backend, (size_t)blocks * THREADS * sizeof(float), (void **)&out));
  if (what == TEXTURE) RB_TRY(make_texture(&array, &texture));
  /* Work of a pass: two FLOPs for each of 8 ROUNDS multiply-adds a thread; 8 exponentials a round; fetches. LATENCY
   * has launches instead. */
  work = (double)blocks * THREADS *
         (what == FMA    ? 16.0 * ROUNDS
          : what == EXP2 ? 8.0 * (ROUNDS / 4)
                         : (double)FETCHES);
  /* Negative s: warm-up, not recorded. */
  for (int s = -3; s < samples; s++) {
    RB_TRY(backend->timer_start());
    RB_TRY(one_pass(what, blocks, out, texture));
    RB_TRY(backend->timer_stop(&seconds));
    if (s >= 0) rates[s] = what == LATENCY ? seconds / LAUNCHES : work / seconds;
  }
  RB_TRY(backend->download(&got, out, sizeof got));
  RB_TRY(verify(what, got, &expected));
  *rate = rb_median(rates, samples);
done:
  if (texture) cudaDestroyTextureObject(texture);
  if (array) cudaFreeArray(array);
  rb_release(backend, out);
  free(rates);
  return st;
}

#define PROBE(name, what, unit, text)                                                             \
  static rb_status name##_measure(const rb_backend *b, size_t bytes, int samples, double *rate) { \
    (void)bytes;                                                                                  \
    return measure(b, what, samples, rate);                                                       \
  }                                                                                               \
  extern "C" const rb_probe_ops name = {unit, text, name##_measure, none, NULL, 0};

PROBE(rb_probe_fma, FMA, "FLOP/s", "8 float32 chains a thread")
PROBE(rb_probe_exp2, EXP2, "1/s", "ex2.approx, 8 chains a thread")
PROBE(rb_probe_texture, TEXTURE, "1/s", "trilinear fetches in a 32^3 texture")
PROBE(rb_probe_latency, LATENCY, "s", "1000 empty kernels back to back")
