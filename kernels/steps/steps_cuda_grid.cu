/* SPDX-License-Identifier: BSD-3-Clause */
/* cuda/grid of steps: a thread a descent; a thread four values of what is scaled, where 16-byte accesses are
 * possible. */
#include "kernels/cuda/longest.cuh"
#include "kernels/steps/steps.h"

#include <stdlib.h>

enum { THREADS = 256 };

static rb_status supports(const rb_steps_desc *d) {
  return d->dtype == RB_F32 ? RB_OK : RB_FAIL(RB_EUNSUPPORTED, "the CUDA variants are float32 only");
}
static void destroy(rb_steps_plan *p) { free(p); }
static rb_status plan(const rb_backend *backend, const rb_steps_desc *d, rb_steps_plan **out) {
  (void)backend, (void)d;
  *out = (rb_steps_plan *)calloc(1, sizeof **out);
  return *out ? RB_OK : RB_FAIL(RB_ENOMEM, "host memory");
}

/* One block: its threads take descents k, k + THREADS, ... The row's number is read by all before thread 0 counts it:
 * the barrier lies between. */
static __global__ void __launch_bounds__(THREADS)
    judge_kernel(int count, int most, int halve, const double *now, double *a, double *e, double *rows) {
  const int row = (int)rows[0];
  __syncthreads();
  double *to = row < most ? rows + 1 + (int64_t)row * 2 * count : NULL;
  for (int k = threadIdx.x; k < count; k += THREADS) {
    const double is = now[k];
    double step = a[k];
    if (halve && step > 0 && is > e[k]) step *= 0.5;
    a[k] = step, e[k] = is;
    if (to) to[k] = is, to[count + k] = step;
  }
  if (to && threadIdx.x == 0) rows[0] = row + 1;
}
static rb_status judge(rb_steps_plan *p, const double *now) {
  rb_status st = RB_OK;
  RB_LAUNCH(judge_kernel, 1, THREADS, 0, p->desc.count, p->desc.rows, p->desc.halve, now, p->a, p->e, p->rows);
done:
  return st;
}

/* One thread: the root of the greatest square, and the step that it allows. */
static __global__ void bound_kernel(double first, double most, const unsigned *square, double *a, double *longest) {
  const double l = sqrt((double)__uint_as_float(*square));
  *longest = l;
  *a = l > 0 ? fmin(first, most / l) : l; /* 0, or NaN */
}
static rb_status bound(rb_steps_plan *p, int k, double first, double most, int64_t n, const void *x,
                       double *longest) {
  rb_status st = RB_OK;
  unsigned *square = (unsigned *)p->room;
  RB_TRY(p->backend->fill(square, 0, sizeof *square));
  RB_LAUNCH(longest_kernel, rb_longest_blocks(n), LONGEST_THREADS, 0, n, (const float *)x, square);
  RB_LAUNCH(bound_kernel, 1, 1, 0, first, most, square, p->a + k, longest);
done:
  return st;
}

/* z = a x; V floats a thread. x and z may be one array: a thread reads its values before it writes them. */
template <int V>
struct __align__(sizeof(float) * V) pack {
  float v[V];
};
template <int V>
static __global__ void __launch_bounds__(THREADS)
    scale_kernel(int64_t packs, const double *a, const float *x, float *z) {
  const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (i >= packs) return;
  const float by = (float)*a;
  pack<V> p = reinterpret_cast<const pack<V> *>(x)[i];
#pragma unroll
  for (int k = 0; k < V; k++) p.v[k] *= by;
  reinterpret_cast<pack<V> *>(z)[i] = p;
}
static rb_status scale(rb_steps_plan *p, int k, int64_t n, const void *x, void *z) {
  rb_status st = RB_OK;
  if (n == 0) return RB_OK;
  if (n % 4 == 0 && ((uintptr_t)x | (uintptr_t)z) % 16 == 0)
    RB_LAUNCH(scale_kernel<4>, rb_blocks(n / 4, THREADS), THREADS, 0, n / 4, p->a + k, (const float *)x, (float *)z);
  else
    RB_LAUNCH(scale_kernel<1>, rb_blocks(n, THREADS), THREADS, 0, n, p->a + k, (const float *)x, (float *)z);
done:
  return st;
}

extern "C" const rb_steps_ops rb_steps_grid = {supports, plan, judge, bound, scale, destroy};
