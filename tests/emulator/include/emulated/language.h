/* SPDX-License-Identifier: BSD-3-Clause */
/* What CUDA C++ adds to C++, for the host's compiler: keywords, built-in variables and vector types, barriers, warp
 * functions, atomics, loads and stores with cache hints, texture fetches. Semantics: CUDA C++ Programming Guide,
 * chapters "C++ Language Extensions" and "Texture Functions". */
#ifndef EMULATED_LANGUAGE_H
#define EMULATED_LANGUAGE_H

/* first: __noinline__ below would break attributes that they spell so */
#include <climits>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#ifndef EMULATED_ARCH
#error "EMULATED_ARCH is the compute capability to compile for, as 900; it must be that of the emulated device "
"(src/devices.def)"
#endif
#define __CUDACC__ 1
#define __CUDA_ARCH__ EMULATED_ARCH
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0

#define __global__
#define __device__
#define __host__
#define __constant__
/* One block runs at a time and threads are fibers of one host thread, so a static variable is shared by a block;
 * shared.cpp finds these variables. */
#define __shared__ static
#define __managed__ emulator_does_not_support_managed_memory
#define __cluster_dims__(...) emulator_does_not_support_clusters
#define __grid_constant__
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))

/* ---- vector types ----------------------------------------------------------------------------------------- */

#define EMULATED_VECTORS(type, name, align2, align4)                                 \
  struct name##1 {                                                                   \
    type x;                                                                          \
  };                                                                                 \
  struct __attribute__((aligned(align2))) name##2 {                                  \
    type x, y;                                                                       \
  };                                                                                 \
  struct name##3 {                                                                   \
    type x, y, z;                                                                    \
  };                                                                                 \
  struct __attribute__((aligned(align4))) name##4 {                                  \
    type x, y, z, w;                                                                 \
  };                                                                                 \
  static inline name##1 make_##name##1(type x) { return {x}; }                       \
  static inline name##2 make_##name##2(type x, type y) { return {x, y}; }            \
  static inline name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; } \
  static inline name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
    EMULATED_VECTORS(float, float, 8, 16) EMULATED_VECTORS(double, double, 16, 16) EMULATED_VECTORS(int, int, 8, 16)
        EMULATED_VECTORS(unsigned, uint, 8, 16) EMULATED_VECTORS(short, short, 4, 8)
            EMULATED_VECTORS(unsigned short, ushort, 4, 8) EMULATED_VECTORS(signed char, char, 2, 4)
                EMULATED_VECTORS(unsigned char, uchar, 2, 4) EMULATED_VECTORS(long long, longlong, 16, 16)
                    EMULATED_VECTORS(unsigned long long, ulonglong, 16, 16)
#undef EMULATED_VECTORS

                        struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

/* ---- built-in variables: of the thread that runs ------------------------------------------------------------ */

extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
static constexpr int warpSize = 32;

/* ---- barriers and warp functions ------------------------------------------------------------------------------ */

namespace emulated {
/* Where in the source a thread waits: told when threads meet at different places, or never. */
struct place {
  const char *file;
  int line;
};
#define EMULATED_HERE const char *file = __builtin_FILE(), int line = __builtin_LINE()

enum class join : int { none, any_of, all_of, count };
int barrier(join what, int predicate, place at);

enum class lanes : int {
  sync,
  shuffle_index,
  shuffle_up,
  shuffle_down,
  shuffle_xor,
  ballot,
  any_of,
  all_of,
  add,
  least,
  most,
  and_bits,
  or_bits,
  xor_bits
};
/* bits: the lane's value, at most 8 bytes of it; parameter: source lane, delta or mask of a shuffle. Every lane that
 * `mask` names takes part. */
uint64_t meet(lanes what, unsigned mask, uint64_t bits, int parameter, int width, bool is_signed, place at);

template <class T>
uint64_t to_bits(T v) {
  static_assert(sizeof(T) <= 8 && std::is_trivially_copyable<T>::value, "shuffles carry values of at most 8 bytes");
  uint64_t bits = 0;
  std::memcpy(&bits, &v, sizeof v);
  return bits;
}
template <class T>
T from_bits(uint64_t bits) {
  T v;
  std::memcpy(&v, &bits, sizeof v);
  return v;
}

[[noreturn]] void trap(place at);
/* A thread that polls memory which another one will write: the others go first. */
void yield_while_polling();
void *dynamic_shared(size_t align);
}  // namespace emulated

static inline void __syncthreads(EMULATED_HERE) { emulated::barrier(emulated::join::none, 0, {file, line}); }
static inline int __syncthreads_or(int p, EMULATED_HERE) {
  return emulated::barrier(emulated::join::any_of, p, {file, line});
}
static inline int __syncthreads_and(int p, EMULATED_HERE) {
  return emulated::barrier(emulated::join::all_of, p, {file, line});
}
static inline int __syncthreads_count(int p, EMULATED_HERE) {
  return emulated::barrier(emulated::join::count, p, {file, line});
}
static inline void __syncwarp(unsigned mask = ~0u, EMULATED_HERE) {
  emulated::meet(emulated::lanes::sync, mask, 0, 0, 32, false, {file, line});
}

template <class T>
T __shfl_sync(unsigned mask, T v, int source, int width = 32, EMULATED_HERE) {
  return emulated::from_bits<T>(
      emulated::meet(emulated::lanes::shuffle_index, mask, emulated::to_bits(v), source, width, false, {file, line}));
}
template <class T>
T __shfl_up_sync(unsigned mask, T v, unsigned delta, int width = 32, EMULATED_HERE) {
  return emulated::from_bits<T>(emulated::meet(emulated::lanes::shuffle_up, mask, emulated::to_bits(v), (int)delta,
                                               width, false, {file, line}));
}
template <class T>
T __shfl_down_sync(unsigned mask, T v, unsigned delta, int width = 32, EMULATED_HERE) {
  return emulated::from_bits<T>(emulated::meet(emulated::lanes::shuffle_down, mask, emulated::to_bits(v), (int)delta,
                                               width, false, {file, line}));
}
template <class T>
T __shfl_xor_sync(unsigned mask, T v, int lane_mask, int width = 32, EMULATED_HERE) {
  return emulated::from_bits<T>(emulated::meet(emulated::lanes::shuffle_xor, mask, emulated::to_bits(v), lane_mask,
                                               width, false, {file, line}));
}
static inline unsigned __ballot_sync(unsigned mask, int p, EMULATED_HERE) {
  return (unsigned)emulated::meet(emulated::lanes::ballot, mask, p != 0, 0, 32, false, {file, line});
}
static inline int __any_sync(unsigned mask, int p, EMULATED_HERE) {
  return (int)emulated::meet(emulated::lanes::any_of, mask, p != 0, 0, 32, false, {file, line});
}
static inline int __all_sync(unsigned mask, int p, EMULATED_HERE) {
  return (int)emulated::meet(emulated::lanes::all_of, mask, p != 0, 0, 32, false, {file, line});
}
#if EMULATED_ARCH >= 800
#define EMULATED_REDUCE(name, what)                                                          \
  static inline unsigned name(unsigned mask, unsigned v, EMULATED_HERE) {                    \
    return (unsigned)emulated::meet(what, mask, v, 0, 32, false, {file, line});              \
  }                                                                                          \
  static inline int name(unsigned mask, int v, EMULATED_HERE) {                              \
    return (int)emulated::meet(what, mask, (uint64_t)(int64_t)v, 0, 32, true, {file, line}); \
  }
EMULATED_REDUCE(__reduce_add_sync, emulated::lanes::add)
EMULATED_REDUCE(__reduce_min_sync, emulated::lanes::least)
EMULATED_REDUCE(__reduce_max_sync, emulated::lanes::most)
#undef EMULATED_REDUCE
static inline unsigned __reduce_and_sync(unsigned mask, unsigned v, EMULATED_HERE) {
  return (unsigned)emulated::meet(emulated::lanes::and_bits, mask, v, 0, 32, false, {file, line});
}
static inline unsigned __reduce_or_sync(unsigned mask, unsigned v, EMULATED_HERE) {
  return (unsigned)emulated::meet(emulated::lanes::or_bits, mask, v, 0, 32, false, {file, line});
}
static inline unsigned __reduce_xor_sync(unsigned mask, unsigned v, EMULATED_HERE) {
  return (unsigned)emulated::meet(emulated::lanes::xor_bits, mask, v, 0, 32, false, {file, line});
}
#endif

/* Memory is as the program orders it: fences order nothing more. */
static inline void __threadfence() {}
static inline void __threadfence_block() {}
static inline void __threadfence_system() {}
static inline void __nanosleep(unsigned) { emulated::yield_while_polling(); }
static inline void __trap_at(EMULATED_HERE) { emulated::trap({file, line}); }
#define __trap() __trap_at()

/* Shared memory whose size is given at the launch: an array `name` of `type`. */
#define EMULATED_DYNAMIC_SHARED(type, name) \
  type *const name = static_cast<type *>(emulated::dynamic_shared(alignof(type) > 16 ? alignof(type) : 16))

/* ---- atomics ---------------------------------------------------------------------------------------------- */

namespace emulated {
/* The two halves of an atomic change: one access for the watching build, made where it is not compiled to watch. */
void atomic_load(const void *p, void *to, size_t bytes);
void atomic_store(void *p, const void *from, size_t bytes);
/* Stores and loads that a kernel uses to tell other blocks something. A thread that loads may be waiting: the others
 * go first. */
void store_relaxed(void *to, const void *from, size_t bytes);
void load_relaxed(void *to, const void *from, size_t bytes);
template <class T, class F>
T atomically(T *p, F change) {
  T old;
  atomic_load(p, &old, sizeof old);
  const T now = change(old);
  atomic_store(p, &now, sizeof now);
  return old;
}
}  // namespace emulated

#define EMULATED_ATOMIC(name, type, expression)                                   \
  static inline type name(type *p, type v) {                                      \
    return emulated::atomically(p, [v](type old) -> type { return expression; }); \
  }
#define EMULATED_ATOMIC_INTEGERS(name, expression) \
  EMULATED_ATOMIC(name, int, expression)           \
  EMULATED_ATOMIC(name, unsigned, expression)      \
  EMULATED_ATOMIC(name, unsigned long long, expression)
EMULATED_ATOMIC(atomicAdd, int, (int)((unsigned)old + (unsigned)v))
EMULATED_ATOMIC(atomicAdd, unsigned, old + v)
EMULATED_ATOMIC(atomicAdd, unsigned long long, old + v)
EMULATED_ATOMIC(atomicAdd, float, old + v)
EMULATED_ATOMIC(atomicAdd, double, old + v)
EMULATED_ATOMIC(atomicSub, int, (int)((unsigned)old - (unsigned)v))
EMULATED_ATOMIC(atomicSub, unsigned, old - v)
EMULATED_ATOMIC_INTEGERS(atomicMax, old > v ? old : v)
EMULATED_ATOMIC_INTEGERS(atomicMin, old < v ? old : v)
EMULATED_ATOMIC(atomicMax, long long, old > v ? old : v)
EMULATED_ATOMIC(atomicMin, long long, old < v ? old : v)
EMULATED_ATOMIC_INTEGERS(atomicAnd, old &v)
EMULATED_ATOMIC_INTEGERS(atomicOr, old | v)
EMULATED_ATOMIC_INTEGERS(atomicXor, old ^ v)
EMULATED_ATOMIC_INTEGERS(atomicExch, ((void)old, v))
EMULATED_ATOMIC(atomicExch, float, ((void)old, v))
static inline unsigned atomicInc(unsigned *p, unsigned most) {
  return emulated::atomically(p, [most](unsigned old) { return old >= most ? 0u : old + 1; });
}
#define EMULATED_CAS(type)                                                                       \
  static inline type atomicCAS(type *p, type compare, type v) {                                  \
    return emulated::atomically(p, [compare, v](type old) { return old == compare ? v : old; }); \
  }
EMULATED_CAS(int)
EMULATED_CAS(unsigned)
EMULATED_CAS(unsigned long long)
#undef EMULATED_CAS
#undef EMULATED_ATOMIC_INTEGERS
#undef EMULATED_ATOMIC

/* ---- loads, stores, conversions -------------------------------------------------------------------------------- */

namespace emulated {
/* An access with a cache hint needs the alignment of its type: vectors of 8 and 16 bytes trap off it. */
template <class T>
const T &aligned(const T *p) {
  if ((uintptr_t)p % sizeof(T) != 0) trap({"a load or store with a cache hint, off its alignment", 0});
  return *p;
}
}  // namespace emulated
template <class T>
T __ldg(const T *p) {
  return emulated::aligned(p);
}
template <class T>
T __ldcs(const T *p) {
  return emulated::aligned(p);
}
template <class T>
T __ldcg(const T *p) {
  return emulated::aligned(p);
}
template <class T>
T __ldca(const T *p) {
  return emulated::aligned(p);
}
template <class T>
T __ldcv(const T *p) {
  return emulated::aligned(p);
}
template <class T>
void __stcs(T *p, T v) {
  const_cast<T &>(emulated::aligned(p)) = v;
}
template <class T>
void __stcg(T *p, T v) {
  const_cast<T &>(emulated::aligned(p)) = v;
}
template <class T>
void __stwt(T *p, T v) {
  const_cast<T &>(emulated::aligned(p)) = v;
}

static inline unsigned __float_as_uint(float f) { return emulated::from_bits<unsigned>(emulated::to_bits(f)); }
static inline int __float_as_int(float f) { return emulated::from_bits<int>(emulated::to_bits(f)); }
static inline float __uint_as_float(unsigned u) { return emulated::from_bits<float>(emulated::to_bits(u)); }
static inline float __int_as_float(int i) { return emulated::from_bits<float>(emulated::to_bits(i)); }
/* Saturating; NaN gives 0. */
static inline int emulated_to_int(double v) {
  return !(v == v) ? 0 : v >= 2147483647.0 ? 2147483647 : v <= -2147483648.0 ? (-2147483647 - 1) : (int)v;
}
static inline int __float2int_rd(float f) { return emulated_to_int(std::floor((double)f)); }
static inline int __float2int_ru(float f) { return emulated_to_int(std::ceil((double)f)); }
static inline int __float2int_rz(float f) { return emulated_to_int(std::trunc((double)f)); }
static inline int __float2int_rn(float f) { return emulated_to_int(std::nearbyint((double)f)); }
static inline int __double2int_rn(double d) { return emulated_to_int(std::nearbyint(d)); }
static inline long long __double2ll_rn(double v) {
  return std::isnan(v) ? LLONG_MIN : v >= 0x1p63 ? LLONG_MAX : v < -0x1p63 ? LLONG_MIN : (long long)std::nearbyint(v);
}
static inline long long __float2ll_rn(float v) { return __double2ll_rn((double)v); }
static inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline float __fdividef(float a, float b) { return a / b; }
static inline float __fmul_rn(float a, float b) {
  volatile float p = a * b;
  return p;
}
static inline float __fadd_rn(float a, float b) {
  volatile float s = a + b;
  return s;
}
static inline double __ddiv_rn(double a, double b) {
  volatile double q = a / b;
  return q;
}
/* sin(pi x): exact at multiples of 1/2, as CUDA's. */
static inline float sinpif(float x) {
  const double r = std::fmod((double)x, 2.0), a = std::fabs(r), f = a > 1 ? a - 1 : a,
               s = f == 0     ? 0
                   : f == 0.5 ? 1
                              : std::sin(3.14159265358979323846 * f);
  return (float)((r < 0) != (a > 1) ? -s : s);
}
static inline float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
/* The special-function unit, without its rounding: ex2.approx errs by up to 2 units of the last place, what is below
 * 2^-126 is 0. */
static inline float emulated_flush(float v) {
  return __builtin_fabsf(v) < 1.17549435e-38f ? __builtin_copysignf(0.0f, v) : v;
}
static inline float emulated_exp2_approx(float x) {
  return emulated_flush((float)std::exp2((double)emulated_flush(x)));
}
#define __expf(x) expf(x) /* glibc declares a function of this name */
static inline float rsqrtf(float x) { return (float)(1 / std::sqrt((double)x)); }

#define EMULATED_ORDER(type)                                       \
  static inline type min(type a, type b) { return b < a ? b : a; } \
  static inline type max(type a, type b) { return a < b ? b : a; }
EMULATED_ORDER(int)
EMULATED_ORDER(unsigned)
EMULATED_ORDER(long)
EMULATED_ORDER(unsigned long)
EMULATED_ORDER(long long)
EMULATED_ORDER(unsigned long long)
#undef EMULATED_ORDER
static inline float min(float a, float b) { return fminf(a, b); }
static inline float max(float a, float b) { return fmaxf(a, b); }
static inline double min(double a, double b) { return fmin(a, b); }
static inline double max(double a, double b) { return fmax(a, b); }
static inline unsigned min(unsigned a, int b) { return min(a, (unsigned)b); }
static inline unsigned min(int a, unsigned b) { return min((unsigned)a, b); }
static inline unsigned max(unsigned a, int b) { return max(a, (unsigned)b); }
static inline unsigned max(int a, unsigned b) { return max((unsigned)a, b); }

/* ---- asynchronous copies ------------------------------------------------------------------------------------- */

namespace emulated {
/* cp.async: `bytes` (4, 8 or 16) of shared memory get the first `from_bytes` of the source and zeros behind; the
 * values are there for the thread when it has waited for the group, and for others after a barrier besides. Until
 * then `to` holds NaN. */
void copy_async(void *to, const void *from, size_t bytes, size_t from_bytes, place at);
void copies_commit();
/* All but the `later` last groups are there. */
void copies_wait(size_t later);
}  // namespace emulated

#endif
