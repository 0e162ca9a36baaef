/* SPDX-License-Identifier: BSD-3-Clause */
/* Ours, a trial in low precision: sums of currents as matrix products of fp16 numbers, near tiles alone as in
 * cuda/culled. A warp has 16 targets and takes 16 sources at a time:
 *
 *   exponents  E = A B    of x.y s^2 - |x|^2 s^2/2 - |y|^2 s^2/2, s^2 = log2(e) / sigma^2; 16 products a pair: each
 *                         coordinate and square is a sum of two fp16 numbers, which together have 22 bits
 *   weights    P = 2^E    rounded to fp16
 *   sums       S = P C    float32; columns of C for each component b of the moments: m_b, m_b y_1, m_b y_2, m_b y_3
 *
 * and z_a = sum_b p_b (x_a S[m_b] - S[m_b y_a]). Places count from the middle of the sources' tile, and moments are
 * over a power of two. Tiles wider than WIDE sigma, as where points lie sparsely, would lose too many digits: they
 * are summed as float32. */
#include "kernels/cuda/half.cuh"
#include "kernels/currents/currents_sorted.cuh"

/* STEP sources of a matrix product; STEPS of a tile; ROWS targets of a warp. */
enum { STEP = 16, STEPS = POINTS / STEP, ROWS = 16, LANES = 32 };
#define WIDE 4.0f   /* sigma: the half diagonal of a tile's box */
#define FAR 1000.0f /* beyond this exponent nothing of a tile counts: 2^-FAR */
#define NONE -6e4f  /* an exponent that fp16 holds, whose power is 0 */

/* What a lane multiplies at a step: two times eight columns of B; C's two times eight columns. */
typedef struct {
  uint4 exponents, moments;
} step_words;

typedef struct {
  sorted_plan sorted;
  step_words *words;  /* [tiles][STEPS][LANES] of the sources */
  unsigned *greatest; /* bits of the greatest |component| of a moment */
} tensor_plan;

static void destroy(rb_currents_plan *head) {
  tensor_plan *p = (tensor_plan *)head;
  rb_release(head->backend, p->words), rb_release(head->backend, p->greatest);
  sorted_close(&p->sorted);
  free(p);
}
static rb_status plan(const rb_backend *backend, const rb_currents_desc *d, rb_currents_plan **out) {
  rb_status st = RB_OK;
  tensor_plan *p = (tensor_plan *)calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  p->sorted.shared.head.backend = backend;
  RB_TRY(sorted_open(&p->sorted, backend, d));
  RB_TRY(rb_alloc(backend, (size_t)tiles_of(d->sources) * STEPS * LANES * sizeof(step_words), (void **)&p->words));
  RB_TRY(rb_alloc(backend, sizeof *p->greatest, (void **)&p->greatest));
  *out = &p->sorted.shared.head;
  p = NULL;
done:
  if (p) destroy(&p->sorted.shared.head);
  return st;
}

/* ---- sources ---- */

static __device__ __forceinline__ float3 middle_of(const box &b) {
  return make_float3(0.5f * (b.low.x + b.high.x), 0.5f * (b.low.y + b.high.y), 0.5f * (b.low.z + b.high.z));
}
/* The power of two that moments are over: above the greatest component, so that quotients are below 1. */
static __device__ __forceinline__ float unit_of(const unsigned *greatest) {
  const float most = __uint_as_float(*greatest);
  int exponent = 0;
  /* Outside these, and for what is no number, moments stay as they are. */
  if (most > 1e-30f && most < 1e30f) frexpf(most, &exponent);
  return ldexpf(1.0f, exponent);
}
/* v as a sum of two fp16 numbers, the greater first. */
static __device__ __forceinline__ unsigned split(float v) {
  const float high = rb_half_unpack(rb_half_pack(v, 0.0f)).x;
  return rb_half_pack(high, v - high);
}

/* One thread a value; bits of floats that are not negative are ordered as the floats are. */
static __global__ void __launch_bounds__(THREADS)
    find_greatest(int64_t values, const float *__restrict__ m, unsigned *greatest) {
  unsigned most = 0;
  for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < values; i += (int64_t)gridDim.x * THREADS)
    most = max(most, __float_as_uint(fabsf(m[i])));
  for (int o = LANES / 2; o > 0; o /= 2) most = max(most, __shfl_xor_sync(~0u, most, o));
  if (threadIdx.x % LANES == 0) atomicMax(greatest, most);
}

/* A source's two columns of B for lane q of its quad, from places in units of 1/s: q < 3 an axis, whose two parts
 * meet both of the target's; q = 3 the squares. */
static __device__ __forceinline__ uint2 exponent_words(int q, float3 y) {
  const float own = q == 0 ? y.x : q == 1 ? y.y : y.z;
  if (q < 3) return make_uint2(split(own), split(own));
  return make_uint2(rb_half_pack(1.0f, 1.0f), split(-0.5f * (y.x * y.x + y.y * y.y + y.z * y.z)));
}
/* Column g of C for one source: component g/2 of its moment, by itself or times a coordinate; columns 6 and 7 are
 * empty. */
static __device__ __forceinline__ float moment_value(int g, int eight, float3 y, float4 m) {
  const float own = g / 2 == 0 ? m.x : g / 2 == 1 ? m.y : g / 2 == 2 ? m.z : 0.0f;
  if (eight == 0) return g % 2 ? own * y.x : own;
  return own * (g % 2 ? y.z : y.y);
}
/* A block a tile, a warp a step, a thread what the lane of its number will multiply. s: see above. */
static __global__ void __launch_bounds__(STEPS *LANES)
    pack_tiles(float s, const unsigned *__restrict__ greatest, const box *__restrict__ boxes,
               const float4 *__restrict__ place, const float4 *__restrict__ moment, step_words *__restrict__ words) {
  const int lane = threadIdx.x % LANES, step = threadIdx.x / LANES, g = lane / 4, q = lane % 4;
  const float3 c = middle_of(boxes[blockIdx.x]);
  const float over = 1.0f / unit_of(greatest);
  const int64_t first = (int64_t)blockIdx.x * POINTS + step * STEP;
  /* Place of source j of the step, and its moment. */
  const auto at = [&](int j) {
    const float4 p = place[first + j];
    return make_float3((p.x - c.x) * s, (p.y - c.y) * s, (p.z - c.z) * s);
  };
  const auto of = [&](int j) {
    const float4 m = moment[first + j];
    return make_float4(m.x * over, m.y * over, m.z * over, 0.0f);
  };
  const uint2 left = exponent_words(q, at(g)), right = exponent_words(q, at(8 + g));
  step_words w;
  w.exponents = make_uint4(left.x, left.y, right.x, right.y);
  unsigned c_words[2][2];
#pragma unroll
  for (int eight = 0; eight < 2; eight++)
#pragma unroll
    for (int far = 0; far < 2; far++) {
      const int j = 8 * far + 2 * q;
      c_words[eight][far] =
          rb_half_pack(moment_value(g, eight, at(j), of(j)), moment_value(g, eight, at(j + 1), of(j + 1)));
    }
  w.moments = make_uint4(c_words[0][0], c_words[0][1], c_words[1][0], c_words[1][1]);
  words[((int64_t)blockIdx.x * STEPS + step) * LANES + lane] = w;
}

/* ---- sums ---- */

/* A lane's two targets, rows g and g + 8 of its warp. */
typedef struct {
  float3 x, p; /* place; what z is paired with */
} target_row;

static __device__ __forceinline__ target_row row_at(const float4 *place, const float4 *with, int64_t i) {
  const float4 x = place[i], p = with[i];
  return {make_float3(x.x, x.y, x.z), make_float3(p.x, p.y, p.z)};
}

/* Adds a tile of sources to a lane's two targets by matrix products. Sums of component q of the moments are the
 * lane's (q = 3: none), and what z gets of it. c: the tile's middle; z in units of s. */
template <bool WITH_Z>
static __device__ __forceinline__ void add_tile(float s, float3 c, int q, const step_words *__restrict__ words,
                                                const target_row row[2], pair_sums sum[2]) {
  float3 d[2];
  unsigned a[4];
#pragma unroll
  for (int r = 0; r < 2; r++) {
    d[r] = make_float3((row[r].x.x - c.x) * s, (row[r].x.y - c.y) * s, (row[r].x.z - c.z) * s);
    /* A target that no source of this tile reaches: its exponents become NONE whatever the source. */
    float square = -0.5f * (d[r].x * d[r].x + d[r].y * d[r].y + d[r].z * d[r].z);
    float own = q == 0 ? d[r].x : q == 1 ? d[r].y : d[r].z;
    if (!(square > -FAR)) square = NONE, own = 0.0f;
    const unsigned parts = split(q < 3 ? own : square);
    const float2 part = rb_half_unpack(parts);
    /* Rows of A: (high, high, low, low) against the source's (high, low, high, low); squares against ones. */
    a[r] = q < 3 ? rb_half_pack(part.x, part.x) : parts;
    a[2 + r] = q < 3 ? rb_half_pack(part.y, part.y) : rb_half_pack(1.0f, 1.0f);
  }
  float first[4] = {}, second[4] = {};
#pragma unroll
  for (int step = 0; step < STEPS; step++) {
    const uint4 e = words[step * LANES].exponents, m = words[step * LANES].moments;
    float left[4] = {}, right[4] = {};
    rb_half_multiply(left, a, e.x, e.y);
    rb_half_multiply(right, a, e.z, e.w);
    /* A product's layout is that of the next one's factor. */
    const unsigned p[4] = {rb_half_exp2(rb_half_pack(left[0], left[1])), rb_half_exp2(rb_half_pack(left[2], left[3])),
                           rb_half_exp2(rb_half_pack(right[0], right[1])),
                           rb_half_exp2(rb_half_pack(right[2], right[3]))};
    rb_half_multiply(first, p, m.x, m.y);
    if (WITH_Z) rb_half_multiply(second, p, m.z, m.w);
  }
#pragma unroll
  for (int r = 0; r < 2; r++) {
    const float u = first[2 * r];
    sum[r].u[0] += q == 0 ? u : 0.0f, sum[r].u[1] += q == 1 ? u : 0.0f, sum[r].u[2] += q == 2 ? u : 0.0f;
    if (WITH_Z) {
      const float p = q == 0 ? row[r].p.x : q == 1 ? row[r].p.y : q == 2 ? row[r].p.z : 0.0f;
      sum[r].z[0] += p * (d[r].x * u - first[2 * r + 1]);
      sum[r].z[1] += p * (d[r].y * u - second[2 * r]);
      sum[r].z[2] += p * (d[r].z * u - second[2 * r + 1]);
    }
  }
}
/* The same in float32, in the same units: a lane takes every fourth source. */
template <bool WITH_Z>
static __device__ __forceinline__ void add_wide_tile(float f, float s, float over, int q,
                                                     const float4 *__restrict__ place,
                                                     const float4 *__restrict__ moment, const target_row row[2],
                                                     pair_sums sum[2]) {
#pragma unroll
  for (int r = 0; r < 2; r++) {
    const float x[3] = {row[r].x.x, row[r].x.y, row[r].x.z}, p[3] = {row[r].p.x, row[r].p.y, row[r].p.z};
    pair_sums part = {};
    for (int j = q; j < POINTS; j += 4) add_pair<WITH_Z>(f, x, p, place[j], moment[j], &part);
#pragma unroll
    for (int a = 0; a < 3; a++) sum[r].u[a] += over * part.u[a], sum[r].z[a] += over * s * part.z[a];
  }
}

/* A block a tile of targets, a warp ROWS of them. The list of near tiles is the block's; each warp walks along it by
 * itself. factor: of z, for sums in units of s. Barriers: those of list_near, whose first also waits for the warps
 * that still read the list. */
template <bool WITH_Z>
static __global__ void __launch_bounds__(THREADS)
    sum_near(float f, float s, float factor, float reach2, float wide2, int tiles,
             const unsigned *__restrict__ greatest, const box *__restrict__ boxes,
             const step_words *__restrict__ words, const float4 *__restrict__ place,
             const float4 *__restrict__ moment, int64_t n, const box *__restrict__ target_boxes,
             const float *__restrict__ from, const float4 *__restrict__ target, const float4 *__restrict__ with,
             float *__restrict__ u, float *__restrict__ z) {
  __shared__ int list[THREADS], found[THREADS / LANES];
  const int lane = threadIdx.x % LANES, g = lane / 4, q = lane % 4;
  const int64_t mine = (int64_t)blockIdx.x * POINTS + threadIdx.x / LANES * ROWS + g;
  const box b = target_boxes[blockIdx.x];
  const float unit = unit_of(greatest), over = 1.0f / unit;
  const target_row row[2] = {row_at(target, with, mine), row_at(target, with, mine + ROWS / 2)};
  pair_sums sum[2] = {};
  for (int first = 0; first < tiles; first += THREADS) {
    const int count = list_near(b, boxes, tiles, first, reach2, list, found);
    for (int k = 0; k < count; k++) {
      const int64_t tile = list[k];
      const box o = boxes[tile];
      const float w0 = o.high.x - o.low.x, w1 = o.high.y - o.low.y, w2 = o.high.z - o.low.z;
      if (w0 * w0 + w1 * w1 + w2 * w2 > wide2)
        add_wide_tile<WITH_Z>(f, s, over, q, place + tile * POINTS, moment + tile * POINTS, row, sum);
      else
        add_tile<WITH_Z>(s, middle_of(o), q, words + tile * STEPS * LANES + lane, row, sum);
    }
  }
  /* The four lanes of a row together; lane q stores component q. */
#pragma unroll
  for (int r = 0; r < 2; r++) {
    const int64_t at = mine + r * (ROWS / 2);
#pragma unroll
    for (int a = 0; a < 3; a++) {
      float all = sum[r].u[a], slope = sum[r].z[a];
      all += __shfl_xor_sync(~0u, all, 1), slope += __shfl_xor_sync(~0u, slope, 1);
      all += __shfl_xor_sync(~0u, all, 2), slope += __shfl_xor_sync(~0u, slope, 2);
      if (q != a || at >= n) continue;
      const int64_t i = __float_as_uint(from[at]);
      u[a * n + i] = unit * all;
      if (WITH_Z) z[a * n + i] = factor * unit * slope;
    }
  }
}

/* Coordinates are multiplied by it: exponents of 2 are half the square of a difference. */
static float place_scale(double sigma) { return (float)(sqrt(1.44269504088896340736) / sigma); }

static rb_status load(rb_currents_plan *head, const void *y, const void *m) {
  rb_status st = RB_OK;
  tensor_plan *p = (tensor_plan *)head;
  const int64_t n = head->desc.sources;
  const sorted_points *s = &p->sorted.sources;
  p->sorted.shared.y = (const float *)y, p->sorted.shared.m = (const float *)m;
  RB_TRY(sort_points(&p->sorted, head->desc.sigma, &p->sorted.sources, n, p->sorted.shared.y, p->sorted.shared.m));
  RB_CUDA_TRY(cudaMemsetAsync(p->greatest, 0, sizeof *p->greatest, rb_cuda_stream()));
  RB_LAUNCH(find_greatest, rb_sum_blocks(3 * n), THREADS, 0, 3 * n, p->sorted.shared.m, p->greatest);
  RB_LAUNCH(pack_tiles, (unsigned)tiles_of(n), STEPS * LANES, 0, place_scale(head->desc.sigma), p->greatest, s->boxes,
            s->place, s->with, p->words);
done:
  return st;
}
static rb_status eval(rb_currents_plan *head, int64_t n, const void *x, const void *pair, void *u, void *z) {
  rb_status st = RB_OK;
  tensor_plan *p = (tensor_plan *)head;
  const double sigma = head->desc.sigma, reach = REACH * sigma, wide = 2 * WIDE * sigma;
  const float f = exponent_factor(sigma), scale = place_scale(sigma), factor = (float)(-1 / (sigma * sigma)) / scale;
  const float reach2 = (float)(reach * reach), wide2 = (float)(wide * wide);
  const int tiles = (int)tiles_of(head->desc.sources);
  const unsigned blocks = (unsigned)tiles_of(n);
  const sorted_points *s = &p->sorted.sources, *t = &p->sorted.targets;
  RB_TRY(sort_points(&p->sorted, sigma, &p->sorted.targets, n, (const float *)x, (const float *)pair));
  if (z)
    RB_LAUNCH(sum_near<true>, blocks, THREADS, 0, f, scale, factor, reach2, wide2, tiles, p->greatest, s->boxes,
              p->words, s->place, s->with, n, t->boxes, t->from, t->place, t->with, (float *)u, (float *)z);
  else
    RB_LAUNCH(sum_near<false>, blocks, THREADS, 0, f, scale, factor, reach2, wide2, tiles, p->greatest, s->boxes,
              p->words, s->place, s->with, n, t->boxes, t->from, t->place, t->with, (float *)u, (float *)NULL);
done:
  return st;
}
static rb_status energy(rb_currents_plan *head, double *out) { return exact_energy(head, out, eval); }

extern "C" const rb_currents_ops rb_currents_tensor = {
    exact_supports, plan, load, eval, energy, NULL, destroy, REACH, RB_WEIGHTS_FP16, NULL};
