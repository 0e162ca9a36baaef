/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums in whole numbers: the paper's, of 32 bits and 2^20 a unit (ha2012 section 4.2.2), and ours, of 64 bits, whose
 * unit comes from the greatest mass. Zero, add, convert: three passes; ours leaves the sums 0 behind it, and where
 * points are few takes them from their nodes alone. */
#include "kernels/cuda/relaxed.cuh"
#include "kernels/splat/splat_cuda.cuh"

#define UNIT_BITS 20

/* ---- 32 bits ---- */

static rb_status supports_32(const rb_splat_desc *d) { return splat_supports_linear(d, "cuda/fixed-atomic"); }
/* One int a node and component. */
static size_t room_32(const rb_splat_desc *d) {
  return (size_t)(rb_grid_points(d->grid) * d->components) * sizeof(int);
}
/* Memory: the whole numbers; the report is the shared plan's. */
static rb_status plan_32(const rb_backend *backend, const rb_splat_desc *d, rb_splat_plan **out) {
  return splat_plan_create(backend, room_32(d), out);
}

/* A contribution as a whole number; what does not fit is told. */
static __device__ __forceinline__ int to_whole(float v, splat_report *report) {
  /* Times a power of two: exact. What follows rounds once, to a whole number. */
  v = ldexpf(v, UNIT_BITS);
  if (fabsf(v) >= 2147483648.0f) atomicOr(&report->exceeded, 1u);
  return __float2int_rn(v);
}

/* One thread a point. Rounded to the nearest whole number: the authors' int(v + 0.5) cuts toward zero and makes every
 * negative contribution one unit too high. */
static __global__ void __launch_bounds__(THREADS)
    add_32(splat_layout l, int boundary, int components, const float *__restrict__ x, const float *__restrict__ m,
           int *sums, splat_report *report) {
  /* Threads without a point stay: the shuffles at the end need whole warps. */
  const int64_t p = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  unsigned long long given = 0;
  if (p < l.np) {
    if (splat_finite(l, components, x, m, p)) {
      splat_visit<RB_SPLAT_LINEAR>(l, boundary, x[p], x[l.np + p], x[2 * l.np + p], [&](int64_t node, float w) {
        /* The same weight for all components of the point; nodes of component c begin c l.nodes further on. */
        for (int c = 0; c < components; c++) {
          /* The number that is added is also the one that is counted: a difference in the end is a sum that
           * wrapped. */
          const int whole = to_whole(w * m[c * l.np + p], report);
          atomicAdd(sums + c * l.nodes + node, whole);
          given += splat_weighted(c * l.nodes + node, whole);
        }
      });
    } else {
      atomicAdd(&report->lost, 1ull);
    }
  }
  splat_add_block(given, &report->given);
}
/* One thread a value. Reads each sum once: into the check, and as a float, which rounds sums beyond 24 bits. */
static __global__ void __launch_bounds__(THREADS)
    convert_32(int64_t values, const int *__restrict__ sums, float *__restrict__ out, splat_report *report) {
  const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  unsigned long long held = 0;
  if (i < values) {
    const int s = sums[i];
    held = splat_weighted(i, s);
    out[i] = ldexpf((float)s, -UNIT_BITS);
  }
  splat_add_block(held, &report->held);
}

/* Three steps on the stream: clear report and sums, add, convert. The outcome is read later, by splat_outcome. */
static rb_status run_32(rb_splat_plan *head, const void *x, const void *m, void *out) {
  rb_status st = RB_OK;
  const rb_splat_desc *d = &head->desc;
  const splat_layout l = splat_layout_of(d);
  splat_plan *p = (splat_plan *)head;
  const int64_t values = l.nodes * d->components;
  RB_TRY(splat_begin(head, p->room, (size_t)values * sizeof(int)));
  RB_LAUNCH(add_32, rb_blocks(l.np, THREADS), THREADS, 0, l, (int)d->boundary, d->components, (const float *)x,
            (const float *)m, (int *)p->room, p->report);
  RB_LAUNCH(convert_32, rb_blocks(values, THREADS), THREADS, 0, values, (const int *)p->room, (float *)out,
            p->report);
done:
  return st;
}

extern "C" const rb_splat_ops rb_splat_fixed_atomic = {supports_32, plan_32, run_32,  splat_outcome, splat_destroy,
                                                       UNIT_BITS,   1,       room_32, NULL};

/* ---- 32 bits, three planes of the points' own place in shared memory ---- */

enum { SIDE = 16 };

/* One point a node: point p belongs to the node of the same number, and lies near it for the planes to help. */
static rb_status supports_shared(const rb_splat_desc *d) {
  rb_status st = splat_supports_linear(d, "cuda/shared-fixed");
  if (st == RB_OK && d->np != rb_grid_points(d->grid))
    st = RB_FAIL(RB_EUNSUPPORTED, "cuda/shared-fixed takes one point a node");
  if (st == RB_OK && d->components != 1) st = RB_FAIL(RB_EUNSUPPORTED, "cuda/shared-fixed takes one component");
  return st;
}

/* A block owns the points of 16 x 16 columns and marches along x1. Three planes of 16 x 16 nodes, those of the
 * points' own columns at x1 = k-1, k, k+1, lie in shared memory as planes (k-1) % 3 and so on; a point of plane k
 * whose eight nodes lie in them adds there, any other to the device's memory. Behind step k nobody adds to plane k-1
 * any more: each thread gives its node of it to the device's memory and clears it for k+2. Barrier 1: all have added;
 * barrier 2: the plane is clear. */
static __global__ void __launch_bounds__(SIDE *SIDE)
    add_shared(splat_layout l, int boundary, const float *__restrict__ x, const float *__restrict__ m, int *sums,
               splat_report *report) {
  /* plane[i1 % 3][column]: a thread clears and gives away the node of its own column; any thread of the block
   * adds. */
  __shared__ int plane[3][SIDE * SIDE];
  const int first3 = (int)blockIdx.x * SIDE, first2 = (int)blockIdx.y * SIDE, c3 = first3 + (int)threadIdx.x % SIDE,
            c2 = first2 + (int)threadIdx.x / SIDE;
  const bool inside = c2 < l.n2 && c3 < l.n3;
  const int64_t stride = (int64_t)l.n2 * l.n3;
  unsigned long long given = 0;
  for (int q = 0; q < 3; q++) plane[q][threadIdx.x] = 0;
  __syncthreads();
  /* One step more than there are planes: the last one gives plane n1 - 1 away. */
  for (int k = 0; k <= l.n1; k++) {
    const int64_t p = k * stride + (int64_t)c2 * l.n3 + c3;
    /* Points are read along x3 by neighbouring threads; those without one go on to the barriers. */
    if (inside && k < l.n1) {
      /* The point's coordinates in grid units along x1, x2, x3. */
      const float x1 = x[p], x2 = x[l.np + p], x3 = x[2 * l.np + p], mass = m[p];
      if (is_number(x1) && is_number(x2) && is_number(x3) && is_number(mass)) {
        float t1, t2, t3;
        const int b1 = splat_base<RB_SPLAT_LINEAR>(x1, &t1), b2 = splat_base<RB_SPLAT_LINEAR>(x2, &t2),
                  b3 = splat_base<RB_SPLAT_LINEAR>(x3, &t3), s2 = b2 - first2, s3 = b3 - first3;
        /* All eight nodes lie on the grid, in the block's columns and in planes k-1 .. k+1. */
        if ((b1 == k || b1 == k - 1) && b1 >= 0 && b1 + 1 < l.n1 && s2 >= 0 && s2 + 1 < SIDE && b2 + 1 < l.n2 &&
            s3 >= 0 && s3 + 1 < SIDE && b3 + 1 < l.n3) {
          /* Bits of i, from the highest: the step along x1, x2, x3. */
#pragma unroll
          for (int i = 0; i < 8; i++) {
            const int o1 = i >> 2, o2 = i >> 1 & 1, o3 = i & 1;
            const float w = (o1 ? t1 : 1.0f - t1) * (o2 ? t2 : 1.0f - t2) * (o3 ? t3 : 1.0f - t3);
            const int whole = to_whole(w * mass, report);
            atomicAdd(&plane[(b1 + o1) % 3][(s2 + o2) * SIDE + s3 + o3], whole);
            given += splat_weighted((b1 + o1) * stride + (int64_t)(b2 + o2) * l.n3 + b3 + o3, whole);
          }
        } else {
          /* Any other point adds to the device's memory: all boundaries are handled there. */
          splat_visit<RB_SPLAT_LINEAR>(l, boundary, x1, x2, x3, [&](int64_t node, float w) {
            const int whole = to_whole(w * mass, report);
            atomicAdd(sums + node, whole);
            given += splat_weighted(node, whole);
          });
        }
      } else {
        atomicAdd(&report->lost, 1ull);
      }
    }
    __syncthreads(); /* 1 */
    if (k > 0 && inside) {
      int *mine = &plane[(k - 1) % 3][threadIdx.x];
      /* Zeros are left out: they cost an atomic and change nothing. */
      if (*mine) atomicAdd(sums + p - stride, *mine); /* p - stride is the same column, one plane back */
      *mine = 0;
    }
    __syncthreads(); /* 2 */
  }
  splat_add_block(given, &report->given);
}

/* The same room, report and conversion as cuda/fixed-atomic. */
static rb_status run_shared(rb_splat_plan *head, const void *x, const void *m, void *out) {
  rb_status st = RB_OK;
  const splat_layout l = splat_layout_of(&head->desc);
  splat_plan *p = (splat_plan *)head;
  RB_TRY(splat_begin(head, p->room, (size_t)l.nodes * sizeof(int)));
  /* Blocks tile x3 and x2; the whole of x1 is one block's march. */
  RB_LAUNCH(add_shared, dim3(rb_blocks(l.n3, SIDE), rb_blocks(l.n2, SIDE)), SIDE * SIDE, 0, l,
            (int)head->desc.boundary, (const float *)x, (const float *)m, (int *)p->room, p->report);
  RB_LAUNCH(convert_32, rb_blocks(l.nodes, THREADS), THREADS, 0, l.nodes, (const int *)p->room, (float *)out,
            p->report);
done:
  return st;
}

extern "C" const rb_splat_ops rb_splat_shared_fixed = {
    supports_shared, plan_32, run_shared, splat_outcome, splat_destroy, UNIT_BITS, 1, room_32, NULL};

/* ---- 64 bits ---- */

/* One 64-bit number a node and component. */
static size_t room_64(const rb_splat_desc *d) {
  return (size_t)(rb_grid_points(d->grid) * d->components) * sizeof(long long);
}
/* Sums are 0 between runs. */
static rb_status plan_64(const rb_backend *backend, const rb_splat_desc *d, rb_splat_plan **out) {
  rb_status st = RB_OK;
  RB_TRY(splat_plan_create(backend, room_64(d), out));
  RB_CUDA_TRY(cudaMemsetAsync(((splat_plan *)*out)->room, 0, room_64(d), rb_cuda_stream()));
  return RB_OK;
done:
  if (*out) splat_destroy(*out);
  *out = NULL;
  return st;
}

/* Bits a unit: no sum of 2^points masses of at most `greatest` (its bits) reaches 2^62, as a point's weights add up
 * to
 * 1. Cut so that a unit is a float. */
static __device__ __forceinline__ int unit_bits_of(unsigned greatest, int points) {
  const int exponent = (int)(greatest >> 23) - 126; /* greatest < 2^exponent */
  return min(62 - points - max(exponent, -126), 120);
}
/* The least p with 2^p >= np. */
static int points_bits(int64_t np) {
  int p = 0;
  while (((int64_t)1 << p) < np) p++;
  return p;
}

/* One thread a value: the greatest finite |mass|. m [components][np]; what is no number counts as 0. */
static __global__ void __launch_bounds__(THREADS)
    find_greatest(int64_t values, const float *__restrict__ m, splat_report *report) {
  const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  float v = i < values ? fabsf(m[i]) : 0.0f;
  if (!is_number(v)) v = 0;
  /* Halving within the warp, then one atomic on the bits, which are ordered as positive floats are. */
  for (int o = 16; o > 0; o >>= 1) v = fmaxf(v, __shfl_down_sync(~0u, v, o));
  if (threadIdx.x % 32 == 0 && v > 0) atomicMax(&report->greatest, __float_as_uint(v));
}
/* One thread a point. A product in float, then exactly a whole number: the same whatever the order. No check of
 * wrapped sums is needed: the unit is chosen so that none wraps. */
template <int BASIS>
static __global__ void __launch_bounds__(THREADS)
    add_64(splat_layout l, int boundary, int components, int points, const float *__restrict__ x,
           const float *__restrict__ m, unsigned long long *sums, splat_report *report) {
  const int64_t p = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (p >= l.np) return;
  if (!splat_finite(l, components, x, m, p)) {
    atomicAdd(&report->lost, 1ull);
    return;
  }
  /* The same power of two for all threads, as find_greatest has ended: the scaling is exact. */
  const float scale = ldexpf(1.0f, unit_bits_of(report->greatest, points));
  splat_visit<BASIS>(l, boundary, x[p], x[l.np + p], x[2 * l.np + p], [&](int64_t node, float w) {
    for (int c = 0; c < components; c++)
      /* Negative numbers by two's complement: unsigned additions that wrap give the signed sum. */
      atomicAdd(sums + c * l.nodes + node, (unsigned long long)__float2ll_rn(w * m[c * l.np + p] * scale));
  });
}
/* One thread a value. The sum as a double (53 bits), scaled exactly, then rounded to float. ONTO: added to `by` times
 * `from`, which may be `out`. */
template <bool ONTO>
static __global__ void __launch_bounds__(THREADS)
    convert_64(int64_t values, int points, float by, const unsigned long long *__restrict__ sums, const float *from,
               float *out, const splat_report *report) {
  const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (i >= values) return;
  const float sum = (float)scalbn((double)(long long)sums[i], -unit_bits_of(report->greatest, points));
  out[i] = ONTO ? fmaf(by, from[i], sum) : sum;
}

/* One thread a point: its nodes' sums onto `out`, and 0 in their place. Of the points that share a node, the one that
 * takes the sum adds it; the others find 0. So each node is added to once, by one thread. */
template <int BASIS>
static __global__ void __launch_bounds__(THREADS)
    take_64(splat_layout l, int boundary, int components, int points, const float *__restrict__ x,
            const float *__restrict__ m, unsigned long long *sums, float *out, const splat_report *report) {
  const int64_t p = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (p >= l.np || !splat_finite(l, components, x, m, p)) return;
  const int shift = -unit_bits_of(report->greatest, points);
  splat_visit<BASIS>(l, boundary, x[p], x[l.np + p], x[2 * l.np + p], [&](int64_t node, float w) {
    (void)w;
    for (int c = 0; c < components; c++) {
      unsigned long long *const at = sums + c * l.nodes + node;
      /* Looked at before: most are taken already, and an exchange costs more than a look. */
      const unsigned long long sum = rb_look_relaxed(at) ? atomicExch(at, 0ull) : 0ull;
      if (sum) out[c * l.nodes + node] += (float)scalbn((double)(long long)sum, shift);
    }
  });
}

/* Two steps onto sums that are 0: greatest mass, add. */
static rb_status sum_64(splat_plan *p, const float *x, const float *m) {
  rb_status st = RB_OK;
  const rb_splat_desc *d = &p->head.desc;
  const splat_layout l = splat_layout_of(d);
  unsigned long long *sums = (unsigned long long *)p->room;
  RB_TRY(splat_begin(&p->head, NULL, 0));
  RB_LAUNCH(find_greatest, rb_blocks(l.np * d->components, THREADS), THREADS, 0, l.np * d->components, m, p->report);
  if (d->basis == RB_SPLAT_LINEAR)
    RB_LAUNCH(add_64<RB_SPLAT_LINEAR>, rb_blocks(l.np, THREADS), THREADS, 0, l, (int)d->boundary, d->components,
              points_bits(l.np), x, m, sums, p->report);
  else
    RB_LAUNCH(add_64<RB_SPLAT_CUBIC>, rb_blocks(l.np, THREADS), THREADS, 0, l, (int)d->boundary, d->components,
              points_bits(l.np), x, m, sums, p->report);
done:
  return st;
}
/* After a failure: nothing of it may be left for the next run. */
static void clear_sums(splat_plan *p) { (void)cudaMemsetAsync(p->room, 0, room_64(&p->head.desc), rb_cuda_stream()); }
/* Converts, and leaves the sums 0 for the next run. */
template <bool ONTO>
static rb_status convert(splat_plan *p, double by, const void *from, void *out) {
  rb_status st = RB_OK;
  const rb_splat_desc *d = &p->head.desc;
  const int64_t values = rb_grid_points(d->grid) * d->components;
  RB_LAUNCH(convert_64<ONTO>, rb_blocks(values, THREADS), THREADS, 0, values, points_bits(d->np), (float)by,
            (const unsigned long long *)p->room, (const float *)from, (float *)out, p->report);
  RB_CUDA_TRY(cudaMemsetAsync(p->room, 0, room_64(d), rb_cuda_stream()));
done:
  return st;
}
/* Onto what is there, node by node: where points are few, most of the grid is not looked at. */
static rb_status take(splat_plan *p, const float *x, const float *m, float *out) {
  rb_status st = RB_OK;
  const rb_splat_desc *d = &p->head.desc;
  const splat_layout l = splat_layout_of(d);
  unsigned long long *sums = (unsigned long long *)p->room;
  if (d->basis == RB_SPLAT_LINEAR)
    RB_LAUNCH(take_64<RB_SPLAT_LINEAR>, rb_blocks(l.np, THREADS), THREADS, 0, l, (int)d->boundary, d->components,
              points_bits(l.np), x, m, sums, out, p->report);
  else
    RB_LAUNCH(take_64<RB_SPLAT_CUBIC>, rb_blocks(l.np, THREADS), THREADS, 0, l, (int)d->boundary, d->components,
              points_bits(l.np), x, m, sums, out, p->report);
done:
  return st;
}
/* Nodes that points visit, each as often as there are points around it, against nodes of the grid. */
static bool is_sparse(const rb_splat_desc *d) {
  return (d->basis == RB_SPLAT_LINEAR ? 8 : 64) * d->np <= rb_grid_points(d->grid);
}
static rb_status run_64(rb_splat_plan *head, const void *x, const void *m, void *out) {
  rb_status st = RB_OK;
  splat_plan *p = (splat_plan *)head;
  RB_TRY(sum_64(p, (const float *)x, (const float *)m));
  RB_TRY(convert<false>(p, 0, NULL, out));
done:
  if (st != RB_OK) clear_sums(p);
  return st;
}
static rb_status onto_64(rb_splat_plan *head, const void *x, const void *m, double by, const void *from, void *out) {
  rb_status st = RB_OK;
  splat_plan *p = (splat_plan *)head;
  RB_TRY(sum_64(p, (const float *)x, (const float *)m));
  RB_TRY(by == 1 && from == out && is_sparse(&head->desc) ? take(p, (const float *)x, (const float *)m, (float *)out)
                                                          : convert<true>(p, by, from, out));
done:
  if (st != RB_OK) clear_sums(p);
  return st;
}

extern "C" const rb_splat_ops rb_splat_fixed64 = {
    splat_supports_float, plan_64, run_64, splat_outcome, splat_destroy, 0, 1, room_64, onto_64};
