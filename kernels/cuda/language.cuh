/* SPDX-License-Identifier: BSD-3-Clause */
/* All that lies between the kernels and the language: launches, shared memory sized at the launch, textures, PTX. Two
 * implementations: nvcc's, and that of tests/emulator, which executes the same .cu files on a CPU. Kernels use these
 * names only; CONTRIBUTING says what else they must obey. */
#ifndef RB_CUDA_LANGUAGE_CUH
#define RB_CUDA_LANGUAGE_CUH

#include <cuda_runtime.h>

/* ---- launches, shared memory, textures ------------------------------------------------------------------------- */

#ifdef RB_CUDA_EMULATED
#define RB_START(kernel, grid, block, shared, stream, ...) \
  emulated::launch(#kernel, false, kernel, grid, block, shared, stream, ##__VA_ARGS__)
#define RB_START_COOPERATIVE(kernel, config, ...)                                                         \
  emulated::launch(#kernel, true, kernel, (config).gridDim, (config).blockDim, (config).dynamicSmemBytes, \
                   (config).stream, ##__VA_ARGS__)
#define RB_DYNAMIC_SHARED(type, name, alignment) EMULATED_DYNAMIC_SHARED(type, name)
#else
#define RB_START_COOPERATIVE(kernel, config, ...) cudaLaunchKernelEx(&(config), kernel, ##__VA_ARGS__)
/* An expression: the error of the launch. */
#define RB_START(kernel, grid, block, shared, stream, ...) \
  (kernel<<<grid, block, shared, stream>>>(__VA_ARGS__), cudaGetLastError())
/* An array `name` in the shared memory that the launch asked for, on a multiple of `alignment` bytes. */
#define RB_DYNAMIC_SHARED(type, name, alignment) \
  extern __shared__ __align__(alignment)         \
  type name[]
#endif

/* u, v, w normalised: texel i of an axis of n is centred at (i + 0.5) / n; or in texels, as the texture object has
 * them. */
static __device__ __forceinline__ float rb_fetch3(cudaTextureObject_t t, float u, float v, float w) {
  return tex3D<float>(t, u, v, w);
}
[[maybe_unused]] static __device__ __forceinline__ float4 rb_fetch3x4(cudaTextureObject_t t, float u, float v,
                                                                      float w) {
  return tex3D<float4>(t, u, v, w);
}

/* Texel i of a texture over plain memory; 0 outside. */
[[maybe_unused]] static __device__ __forceinline__ float rb_fetch1(cudaTextureObject_t t, int i) {
  return tex1Dfetch<float>(t, i);
}
/* Four floats added where other threads add, too; one instruction from compute capability 9.0 on. `to` on a multiple
 * of 16 bytes. */
[[maybe_unused]] static __device__ __forceinline__ void rb_atomic_add4(float4 *to, float4 v) {
#if defined(RB_CUDA_EMULATED) || __CUDA_ARCH__ < 900
  atomicAdd(&to->x, v.x), atomicAdd(&to->y, v.y), atomicAdd(&to->z, v.z), atomicAdd(&to->w, v.w);
#else
  atomicAdd(to, v);
#endif
}

/* ---- PTX ------------------------------------------------------------------------------------------------------- */

/* 2^x by the special-function unit, within 2 units of the last place; what is below 2^-126 becomes 0. */
[[maybe_unused]] static __device__ __forceinline__ float rb_exp2_approx(float x) {
#ifdef RB_CUDA_EMULATED
  return emulated_exp2_approx(x);
#else
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#endif
}

/* Prefetches what lies at `at` in global memory into the L2 cache; of an address without memory, nothing. */
[[maybe_unused]] static __device__ __forceinline__ void rb_prefetch(const void *at) {
#ifdef RB_CUDA_EMULATED
  (void)at;
#else
  asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
#endif
}

/* Copies of 4 or 16 bytes from global to shared memory that nobody waits for yet; zeros where there is no source.
 * From compute capability 8.0 on; before, at once. */
template <int FLOATS>
static __device__ __forceinline__ void rb_copy_async(float *to, const float *from, bool there) {
#if __CUDA_ARCH__ < 800
  for (int q = 0; q < FLOATS; q++) to[q] = there ? from[q] : 0.0f;
#elif defined(RB_CUDA_EMULATED)
  emulated::copy_async(to, from, 4 * FLOATS, there ? 4 * FLOATS : 0, {__FILE__, __LINE__});
#else
  /* PTX wants the address within shared memory, as 32 bits. */
  const unsigned address = (unsigned)__cvta_generic_to_shared(to);
  const int bytes = there ? 4 * FLOATS : 0;
  /* 16 bytes pass by L1 (.cg); 4 bytes only exist with L1 (.ca). Fewer source bytes than 4 FLOATS are filled up with
   * zeros. */
  if (FLOATS == 4)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(bytes) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(address), "l"(from), "r"(bytes) : "memory");
#endif
}
/* The copies since the last call are a group. */
[[maybe_unused]] static __device__ __forceinline__ void rb_copy_async_commit(void) {
#if __CUDA_ARCH__ >= 800
#ifdef RB_CUDA_EMULATED
  emulated::copies_commit();
#else
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
#endif
}
/* All but the last LATER groups of this thread have arrived. */
template <int LATER>
static __device__ __forceinline__ void rb_copy_async_wait(void) {
#if __CUDA_ARCH__ >= 800
#ifdef RB_CUDA_EMULATED
  emulated::copies_wait(LATER);
#else
  asm volatile("cp.async.wait_group %0;" ::"n"(LATER) : "memory");
#endif
#endif
}

/* 16 bytes that become visible together: one aligned access each way (PTX ISA 8.3, with CUDA 12.3), relaxed and past
 * the L1 cache. */
struct __align__(16) rb_words {
  unsigned head;
  float value[3];
};
#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1203
enum { RB_RELAXED_WORDS_WORK = 1 };
[[maybe_unused]] static __device__ __forceinline__ void rb_store_relaxed(rb_words *to, rb_words p) {
#ifdef RB_CUDA_EMULATED
  emulated::store_relaxed(to, &p, sizeof p);
#else
  /* The four words are packed into one 128-bit register, so that one instruction stores them. */
  asm volatile(
      "{ .reg .b64 low, high; .reg .b128 all; mov.b64 low, {%1, %2}; mov.b64 high, {%3, %4}; mov.b128 all, {low, "
      "high};"
      " st.relaxed.gpu.global.b128 [%0], all; }" ::"l"(to),
      "r"(p.head), "f"(p.value[0]), "f"(p.value[1]), "f"(p.value[2])
      : "memory");
#endif
}
[[maybe_unused]] static __device__ __forceinline__ rb_words rb_load_relaxed(const rb_words *at) {
  rb_words p;
#ifdef RB_CUDA_EMULATED
  emulated::load_relaxed(&p, at, sizeof p);
#else
  /* One 128-bit load, then taken apart. */
  asm volatile(
      "{ .reg .b64 low, high; .reg .b128 all; ld.relaxed.gpu.global.b128 all, [%4]; mov.b128 {low, high}, all;"
      " mov.b64 {%0, %1}, low; mov.b64 {%2, %3}, high; }"
      : "=r"(p.head), "=f"(p.value[0]), "=f"(p.value[1]), "=f"(p.value[2])
      : "l"(at)
      : "memory");
#endif
  return p;
}
#else
/* An older compiler: RB_RELAXED_WORDS_WORK tells callers not to use these. */
enum { RB_RELAXED_WORDS_WORK = 0 };
[[maybe_unused]] static __device__ __forceinline__ void rb_store_relaxed(rb_words *, rb_words) {}
[[maybe_unused]] static __device__ __forceinline__ rb_words rb_load_relaxed(const rb_words *) { return rb_words(); }
#endif

#endif
