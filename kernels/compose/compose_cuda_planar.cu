/* SPDX-License-Identifier: BSD-3-Clause */
/* Ours: float32 weights, the field read where it lies, planar. A block takes 32 nodes of x3 by a few of x2 and DEEP
 * planes, so that corners are found in the L1 cache; a thread takes one plane after the other and fetches the next
 * displacement before it reads the corners of this one. Vectors: weights and offsets are worked out once for the
 * three components, borders cost no branch (a corner outside gets weight 0 and a clamped place), and 64 registers let
 * all 24 corners be in flight. Images: 8 corners need no more than 32 registers, with which a multiprocessor holds
 * all the threads it can; for that the corners of points inside lie at constant offsets from the first. */
#include "kernels/compose/compose_cuda.cuh"

/* DEEP planes a thread; VECTOR_HIGH, IMAGE_HIGH: rows of a block of vectors, of images. */
enum { DEEP = 8, VECTOR_HIGH = 4, IMAGE_HIGH = 8 };
/* Blocks wanted on a multiprocessor: 1024 threads of vectors; of images as many as there can be (1024 on 7.5, 1536
 * on 8.6, 8.9 and 12). */
enum { VECTOR_RESIDENT = 1024 / (WIDE * VECTOR_HIGH) };
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 750
enum { IMAGE_RESIDENT = 4 };
#elif !defined(__CUDA_ARCH__) || __CUDA_ARCH__ == 700 || __CUDA_ARCH__ == 800 || \
    (__CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200)
enum { IMAGE_RESIDENT = 8 };
#else
enum { IMAGE_RESIDENT = 6 };
#endif

/* Two neighbours along an axis: places in it and weights. */
struct pair {
  int low, high;
  float w0, w1;
};
/* Points far outside are cut to where both weights are 0, so that the int holds them. Corners outside the grid get
 * weight 0 and the nearest place inside: no branch. Places are multiplied by the axis's stride. */
static __device__ __forceinline__ pair neighbours(float x, int n, int stride) {
  const float y = fminf(fmaxf(x, -2.0f), (float)n + 1), l = floorf(y), t = y - l;
  const int i = (int)l;
  /* Weights of the two nodes; outside the grid 0. */
  pair q;
  q.w0 = (unsigned)i < (unsigned)n ? 1.0f - t : 0.0f;
  q.w1 = (unsigned)(i + 1) < (unsigned)n ? t : 0.0f;
  q.low = min(max(i, 0), n - 1) * stride;
  q.high = min(max(i + 1, 0), n - 1) * stride;
  return q;
}

/* Trilinear value: along x3 first, then x2, then x1. Two index sums for each of the four rows of corners. */
static __device__ __forceinline__ float mix(const float *__restrict__ f, pair a, pair b, pair c) {
  const int i00 = a.low + b.low, i01 = a.low + b.high, i10 = a.high + b.low, i11 = a.high + b.high;
  const float v00 = c.w0 * __ldg(f + i00 + c.low) + c.w1 * __ldg(f + i00 + c.high),
              v01 = c.w0 * __ldg(f + i01 + c.low) + c.w1 * __ldg(f + i01 + c.high);
  const float v10 = c.w0 * __ldg(f + i10 + c.low) + c.w1 * __ldg(f + i10 + c.high),
              v11 = c.w0 * __ldg(f + i11 + c.low) + c.w1 * __ldg(f + i11 + c.high);
  return a.w0 * (b.w0 * v00 + b.w1 * v01) + a.w1 * (b.w0 * v10 + b.w1 * v11);
}

/* A displacement; s [3][n]. */
struct vector {
  float d1, d2, d3;
};
static __device__ __forceinline__ vector fetch(const float *__restrict__ s, int64_t n, int at) {
  return {__ldcs(s + at), __ldcs(s + n + at), __ldcs(s + 2 * n + at)};
}

/* The nodes of one thread: from plane `first` to `last`, at column j, k; `at` is the place of the first. */
struct column {
  int j, k, first, last, at, plane, valid;
};
/* blockIdx.z counts groups of DEEP planes; the last may be short. */
template <int HEIGHT>
static __device__ __forceinline__ column own_column(sizes g) {
  column c;
  c.k = blockIdx.x * WIDE + threadIdx.x, c.j = blockIdx.y * HEIGHT + threadIdx.y, c.first = blockIdx.z * DEEP;
  c.valid = c.j < g.n2 && c.k < g.n3;
  c.last = min(c.first + DEEP, g.n1) - 1, c.plane = g.n2 * g.n3, c.at = c.first * c.plane + c.j * g.n3 + c.k;
  return c;
}

/* Value of an image at a point. Inside, all eight corners are there: constant offsets and no weights of 0; near a
 * border or outside `mix` decides corner by corner. A NaN fails every comparison and takes that way, too. */
static __device__ __forceinline__ float value_at(const float *__restrict__ f, sizes g, int plane, float x, float y,
                                                 float z) {
  const float l1 = floorf(x), l2 = floorf(y), l3 = floorf(z);
  if (l1 >= 0 && l2 >= 0 && l3 >= 0 && l1 < g.n1 - 1 && l2 < g.n2 - 1 && l3 < g.n3 - 1) {
    /* t: fractions; `low` and `high`: the first corners of the two planes; all others lie at constant offsets. */
    const float t1 = x - l1, t2 = y - l2, t3 = z - l3, u3 = 1 - t3;
    const float *low = f + ((int)l1 * g.n2 + (int)l2) * g.n3 + (int)l3, *high = low + plane;
    const float v00 = u3 * __ldg(low) + t3 * __ldg(low + 1),
                v01 = u3 * __ldg(low + g.n3) + t3 * __ldg(low + g.n3 + 1);
    const float v10 = u3 * __ldg(high) + t3 * __ldg(high + 1),
                v11 = u3 * __ldg(high + g.n3) + t3 * __ldg(high + g.n3 + 1);
    return (1 - t1) * ((1 - t2) * v00 + t2 * v01) + t1 * ((1 - t2) * v10 + t2 * v11);
  }
  return mix(f, neighbours(x, g.n1, plane), neighbours(y, g.n2, g.n3), neighbours(z, g.n3, 1));
}

/* out = a s2 + a s1(x + a s2): f is s1, s is s2, `scale` is a. Three components share one set of weights and places.
 * STEP: out = e s2 + s1(x + e s2), e from the device's memory; e s2 is rounded before anything is added to it, as if
 * a kernel had written it. WARP: warped = image(x + out), too. Registers are limited by VECTOR_RESIDENT blocks: 64 a
 * thread. */
template <bool STEP, bool WARP>
static __global__ void __launch_bounds__(WIDE *VECTOR_HIGH, VECTOR_RESIDENT)
    vector_kernel(sizes g, float scale, const double *e, const float *__restrict__ f, const float *__restrict__ s,
                  float *__restrict__ out, const float *__restrict__ image, float *__restrict__ warped) {
  const column own = own_column<VECTOR_HIGH>(g);
  /* There is no barrier: threads off the plane leave. */
  if (!own.valid) return;
  const int64_t n = (int64_t)g.n1 * own.plane;
  const float inner = STEP ? (float)*e : scale, outer = STEP ? 1.0f : scale;
  int at = own.at;
  vector next = fetch(s, n, at);
  /* Not unrolled: the registers of one plane's corners are all that should be live. */
#pragma unroll 1
  for (int i = own.first;; i++, at += own.plane) {
    /* `next` was loaded a plane ago; the displacement of the plane ahead is asked for before this plane's corners
     * are. */
    const float d[3] = {STEP ? __fmul_rn(inner, next.d1) : inner * next.d1,
                        STEP ? __fmul_rn(inner, next.d2) : inner * next.d2,
                        STEP ? __fmul_rn(inner, next.d3) : inner * next.d3};
    if (i < own.last) next = fetch(s, n, at + own.plane);
    const pair a = neighbours((float)i + d[0], g.n1, own.plane), b = neighbours((float)own.j + d[1], g.n2, g.n3);
    const pair c = neighbours((float)own.k + d[2], g.n3, 1);
    /* a s1 + d in one rounding; the streaming store leaves the caches to the corners. */
    float to[3];
#pragma unroll
    for (int m = 0; m < 3; m++) to[m] = fmaf(outer, mix(f + m * n, a, b, c), d[m]), __stcs(out + m * n + at, to[m]);
    if (WARP)
      __stcs(warped + at,
             value_at(image, g, own.plane, (float)i + to[0], (float)own.j + to[1], (float)own.k + to[2]));
    if (i == own.last) break;
  }
}

/* out = f(x + s), one component. The loop is that of vector_kernel. PART: planes [begin, end) alone, of which
 * blockIdx.z counts groups of DEEP. */
template <bool PART>
static __global__ void __launch_bounds__(WIDE *IMAGE_HIGH, IMAGE_RESIDENT)
    image_kernel(sizes g, const float *__restrict__ f, const float *__restrict__ s, float *__restrict__ out,
                 int begin, int end) {
  column own = own_column<IMAGE_HIGH>(g);
  if (!own.valid) return;
  if (PART) own.first += begin, own.last = min(own.first + DEEP, end) - 1, own.at += begin * own.plane;
  const int64_t n = (int64_t)g.n1 * own.plane;
  int at = own.at;
  vector next = fetch(s, n, at);
#pragma unroll 1
  for (int i = own.first;; i++, at += own.plane) {
    const vector d = next;
    if (i < own.last) next = fetch(s, n, at + own.plane);
    __stcs(out + at, value_at(f, g, own.plane, (float)i + d.d1, (float)own.j + d.d2, (float)own.k + d.d3));
    if (i == own.last) break;
    /* The loop ends behind the last plane, so that nothing is asked for beyond it. */
  }
}

/* Rows are blocks along y, VECTOR_HIGH a block, which is the fewer of the two kernels. */
static rb_status supports(const rb_compose_desc *d) {
  if (d->grid.n[1] > RB_MOST_BLOCKS_YZ * VECTOR_HIGH)
    return RB_FAIL(RB_EUNSUPPORTED, "cuda/planar ends at %d rows a plane", RB_MOST_BLOCKS_YZ * VECTOR_HIGH);
  return compose_supports(d);
}
static dim3 blocks_of(rb_grid g, int high) {
  return dim3(rb_blocks(g.n[2], WIDE), rb_blocks(g.n[1], high), rb_blocks(g.n[0], DEEP));
}
/* One launch, DEEP planes a block; s1 and s2 [3][n]. */
template <bool STEP, bool WARP>
static rb_status launch(rb_compose_plan *p, double a, const double *e, const void *s1, const void *s2, void *out,
                        const void *f, void *warped) {
  rb_status st = RB_OK;
  const rb_grid g = p->desc.grid;
  RB_LAUNCH((vector_kernel<STEP, WARP>), blocks_of(g, VECTOR_HIGH), dim3(WIDE, VECTOR_HIGH), 0, sizes_of(g), (float)a,
            e, (const float *)s1, (const float *)s2, (float *)out, (const float *)f, (float *)warped);
done:
  return st;
}
static rb_status compose(rb_compose_plan *p, double a, const void *s1, const void *s2, void *out) {
  return launch<false, false>(p, a, NULL, s1, s2, out, NULL, NULL);
}
static rb_status step(rb_compose_plan *p, const double *e, const void *s1, const void *s2, void *out, const void *f,
                      void *warped) {
  return f ? launch<true, true>(p, 1, e, s1, s2, out, f, warped)
           : launch<true, false>(p, 1, e, s1, s2, out, NULL, NULL);
}
/* One launch; f [n], s [3][n]. */
static rb_status warp(rb_compose_plan *p, const void *f, const void *s, void *out) {
  rb_status st = RB_OK;
  const rb_grid g = p->desc.grid;
  RB_LAUNCH(image_kernel<false>, blocks_of(g, IMAGE_HIGH), dim3(WIDE, IMAGE_HIGH), 0, sizes_of(g), (const float *)f,
            (const float *)s, (float *)out, 0, 0);
done:
  return st;
}
/* One launch; arrays as for warp. */
static rb_status warp_planes(rb_compose_plan *p, const void *f, const void *s, int64_t begin, int64_t end,
                             void *out) {
  rb_status st = RB_OK;
  const rb_grid g = p->desc.grid;
  const dim3 blocks(rb_blocks(g.n[2], WIDE), rb_blocks(g.n[1], IMAGE_HIGH), rb_blocks(end - begin, DEEP));
  RB_LAUNCH(image_kernel<true>, blocks, dim3(WIDE, IMAGE_HIGH), 0, sizes_of(g), (const float *)f, (const float *)s,
            (float *)out, (int)begin, (int)end);
done:
  return st;
}

extern "C" const rb_compose_ops rb_compose_planar = {supports,
                                                     compose_plan_make,
                                                     NULL,
                                                     compose,
                                                     warp,
                                                     compose_determinant,
                                                     compose_bracket,
                                                     compose_longest,
                                                     compose_longest_end,
                                                     compose_pad,
                                                     compose_crop,
                                                     compose_destroy,
                                                     0,
                                                     0,
                                                     warp_planes,
                                                     step};
