/* SPDX-License-Identifier: BSD-3-Clause */
/* cuda/grid of average: pointwise; a thread four neighbouring values by 16-byte accesses where the arrays allow it,
 * so that enough bytes are under way to fill the memory's pipe. */
#include "kernels/average/average.h"
#include "kernels/cuda/cuda.cuh"

#include <stdlib.h>

enum { THREADS = 256 };

static rb_status supports(const rb_average_desc *d) {
  return d->dtype == RB_F32 ? RB_OK : RB_FAIL(RB_EUNSUPPORTED, "the CUDA variants are float32 only");
}
/* The sums are made by the front door; nothing else is kept. */
static rb_status plan(const rb_backend *backend, const rb_average_desc *d, rb_average_plan **out) {
  (void)backend, (void)d;
  *out = (rb_average_plan *)calloc(1, sizeof **out);
  return *out ? RB_OK : RB_FAIL(RB_ENOMEM, "host memory");
}
static void destroy(rb_average_plan *p) { free(p); }

/* One value of each pass. Fixed: the product in double and one rounding, as on the CPU, to the bit.
 * Float: __fmul_rn and __fadd_rn are never fused, product and sum round once each. */
struct add_fixed {
  double scale;
  __device__ int operator()(float image, int sum) const { return sum + __double2int_rn((double)image * scale); }
};
/* The weight is rounded to float32 by the caller. */
struct add_float {
  float weight;
  __device__ float operator()(float image, float sum) const { return __fadd_rn(sum, __fmul_rn(weight, image)); }
};
/* The quotient in float64, then one rounding. */
struct finish_fixed {
  double unit;
  __device__ float operator()(int sum, float) const { return (float)__ddiv_rn((double)sum, unit); }
};
struct finish_float {
  double total;
  __device__ float operator()(float sum, float) const { return (float)__ddiv_rn((double)sum, total); }
};

/* The vector type of four T, for one 16-byte access. */
template <typename T>
struct four_of;
template <>
struct four_of<float> {
  typedef float4 type;
};
template <>
struct four_of<int> {
  typedef int4 type;
};

/* out = op(in, out); READS: whether op looks at out. Thread t owns values 4t .. 4t+3; the last ones, and arrays that
 * do not start on 16 bytes, go one by one. 64-bit numbers throughout: volumes may exceed 2^31 values. */
template <typename IN, typename OUT, typename OP, bool READS>
static __global__ void __launch_bounds__(THREADS) pointwise(int64_t n, bool wide, OP op, const IN *in, OUT *out) {
  typedef typename four_of<IN>::type in4;
  typedef typename four_of<OUT>::type out4;
  /* first: number of the thread's first value. */
  const int64_t first = 4 * ((int64_t)blockIdx.x * THREADS + threadIdx.x);
  if (wide && first + 4 <= n) {
    const in4 a = *(const in4 *)(in + first);
    out4 b = {};
    if (READS) b = *(const out4 *)(out + first); /* otherwise b stays zero and is not used */
    b.x = op(a.x, b.x), b.y = op(a.y, b.y), b.z = op(a.z, b.z), b.w = op(a.w, b.w);
    *(out4 *)(out + first) = b;
    return;
  }
  /* At most four values of the last thread, or all of them where an array is not aligned. */
  for (int64_t i = first; i < n && i < first + 4; i++) out[i] = op(in[i], READS ? out[i] : OUT(0));
}

/* One launch, a thread four values. */
template <typename IN, typename OUT, typename OP, bool READS>
static rb_status launch(int64_t n, OP op, const void *in, void *out) {
  rb_status st = RB_OK;
  /* Both arrays on 16 bytes; then every thread's four values are, too. */
  const bool wide = ((uintptr_t)in | (uintptr_t)out) % 16 == 0;
  RB_LAUNCH((pointwise<IN, OUT, OP, READS>), rb_blocks(n, 4 * THREADS), THREADS, 0, n, wide, op, (const IN *)in,
            (OUT *)out);
done:
  return st;
}

static rb_status add(rb_average_plan *p, double weight, const void *image) {
  /* The image is read, the sums read and written: 12 bytes a value. */
  if (p->desc.kind == RB_SUM_FIXED) {
    /* 2^20 units an intensity of 1, times the weight, in float64. */
    const add_fixed op = {RB_AVERAGE_UNIT * weight};
    return launch<float, int, add_fixed, true>(p->desc.count, op, image, p->sums);
  }
  const add_float op = {(float)weight};
  return launch<float, float, add_float, true>(p->desc.count, op, image, p->sums);
}
static rb_status finish(rb_average_plan *p, double total, void *out) {
  if (p->desc.kind == RB_SUM_FIXED) {
    /* The sum of weights in the same unit: the division gives the mean at once. */
    const finish_fixed op = {RB_AVERAGE_UNIT * total};
    return launch<int, float, finish_fixed, false>(p->desc.count, op, p->sums, out);
  }
  /* The sum is divided in float64, too. */
  const finish_float op = {total};
  return launch<float, float, finish_float, false>(p->desc.count, op, p->sums, out);
}

extern "C" const rb_average_ops rb_average_grid = {supports, plan, add, finish, destroy, NULL};
