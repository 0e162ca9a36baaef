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
static rb_status plan(const rb_backend *backend, const rb_average_desc *d, rb_average_plan **out) {
  (void)backend, (void)d;
  *out = (rb_average_plan *)calloc(1, sizeof **out);
  return *out ? RB_OK : RB_FAIL(RB_ENOMEM, "host memory");
}
static void destroy(rb_average_plan *p) { free(p); }

/* One value of each pass. Fixed: the product in double and one rounding, as on the CPU, to the bit. */
struct add_fixed {
  double scale;
  __device__ int operator()(float image, int sum) const { return sum + __double2int_rn((double)image * scale); }
};
struct add_float {
  float weight;
  __device__ float operator()(float image, float sum) const { return __fadd_rn(sum, __fmul_rn(weight, image)); }
};
struct finish_fixed {
  double unit;
  __device__ float operator()(int sum, float) const { return (float)__ddiv_rn((double)sum, unit); }
};
struct finish_float {
  double total;
  __device__ float operator()(float sum, float) const { return (float)__ddiv_rn((double)sum, total); }
};

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
 * do not start on 16 bytes, go one by one. */
template <typename IN, typename OUT, typename OP, bool READS>
static __global__ void __launch_bounds__(THREADS) pointwise(int64_t n, bool wide, OP op, const IN *in, OUT *out) {
  typedef typename four_of<IN>::type in4;
  typedef typename four_of<OUT>::type out4;
  const int64_t first = 4 * ((int64_t)blockIdx.x * THREADS + threadIdx.x);
  if (wide && first + 4 <= n) {
    const in4 a = *(const in4 *)(in + first);
    out4 b = {};
    if (READS) b = *(const out4 *)(out + first);
    b.x = op(a.x, b.x), b.y = op(a.y, b.y), b.z = op(a.z, b.z), b.w = op(a.w, b.w);
    *(out4 *)(out + first) = b;
    return;
  }
  for (int64_t i = first; i < n && i < first + 4; i++) out[i] = op(in[i], READS ? out[i] : OUT(0));
}

template <typename IN, typename OUT, typename OP, bool READS>
static rb_status launch(int64_t n, OP op, const void *in, void *out) {
  rb_status st = RB_OK;
  const bool wide = ((uintptr_t)in | (uintptr_t)out) % 16 == 0;
  RB_LAUNCH((pointwise<IN, OUT, OP, READS>), rb_blocks(n, 4 * THREADS), THREADS, 0, n, wide, op, (const IN *)in,
            (OUT *)out);
done:
  return st;
}

static rb_status add(rb_average_plan *p, double weight, const void *image) {
  if (p->desc.kind == RB_SUM_FIXED) {
    const add_fixed op = {RB_AVERAGE_UNIT * weight};
    return launch<float, int, add_fixed, true>(p->desc.count, op, image, p->sums);
  }
  const add_float op = {(float)weight};
  return launch<float, float, add_float, true>(p->desc.count, op, image, p->sums);
}
static rb_status finish(rb_average_plan *p, double total, void *out) {
  if (p->desc.kind == RB_SUM_FIXED) {
    const finish_fixed op = {RB_AVERAGE_UNIT * total};
    return launch<int, float, finish_fixed, false>(p->desc.count, op, p->sums, out);
  }
  const finish_float op = {total};
  return launch<float, float, finish_float, false>(p->desc.count, op, p->sums, out);
}

extern "C" const rb_average_ops rb_average_grid = {supports, plan, add, finish, destroy, NULL};
