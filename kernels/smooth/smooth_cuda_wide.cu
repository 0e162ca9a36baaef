/* SPDX-License-Identifier: BSD-3-Clause */
/* Ours for wide kernels, one axis at a time: a block takes 32 lines side by side and 128 outputs of each, and lets
 * the values that these need pass through shared memory, 32 of every line at a time. A lane has a line and a warp 16
 * of its outputs: one value read serves 16 products, whose weights, the same for all lanes, wait in registers. */
#include "kernels/smooth/smooth_cuda_march.cuh"

/* LINES side by side, one a lane; OUTPUTS of a warp and line, PIECE of the block; CHUNK values of each line in shared
 * memory, SHARE of them loaded by a thread; MARGIN: how far beyond a line's length weights may be read. */
enum {
  LINES = 32,
  WARPS = 8,
  OUTPUTS = 16,
  PIECE = WARPS * OUTPUTS,
  CHUNK = 32,
  SHARE = CHUNK / WARPS,
  MARGIN = CHUNK + OUTPUTS
};

/* ROWS: lines lie along x3, each in a piece of memory; otherwise neighbouring lines are neighbours in memory.
 * taps[d]: the weight at distance d, 0 beyond the kernel's own radius (`radius` may be cut to length - 1); to be read
 * for |d| < length + MARGIN. */
template <bool ROWS>
static __global__ void __launch_bounds__(LINES *WARPS)
    wide_kernel(view v, int pieces, int radius, const float *__restrict__ taps, const float *__restrict__ in,
                float *__restrict__ out) {
  /* s[place along the line][line]; one more column, so that writing by columns, too, meets no bank conflict. Of rows
   * it also takes the PIECE outputs on their way out. */
  __shared__ float s[ROWS ? PIECE : CHUNK][LINES + 1];
  const int lane = threadIdx.x, warp = threadIdx.y;
  /* across: lines side by side; groups of LINES; blockIdx.x counts pieces of a group first, then groups, then outer
   * lines. */
  const int64_t across = ROWS ? v.lines : v.inner, groups = (across + LINES - 1) / LINES,
                block = (int64_t)blockIdx.x / pieces;
  const int64_t line = block % groups * LINES, base = ROWS ? 0 : block / groups * v.length * v.inner;
  /* The block's outputs begin at `begin`, those of the warp at `from`. Values low .. high - 1 reach some of the
   * block's outputs. */
  const int begin = (int)((int64_t)blockIdx.x % pieces) * PIECE, from = begin + warp * OUTPUTS;
  const int low = max(begin - radius, 0), high = min(begin + PIECE + radius, v.length);
  const bool inside = line + lane < across;
  float acc[OUTPUTS] = {}, next[SHARE];

  /* a lane's value of a column, or of a row that its warp reads along. Loads are along memory either way: a warp
   * reads 32 values of one row, or one value of 32 neighbouring lines. */
  auto load = [&](int at) {
#pragma unroll
    for (int q = 0; q < SHARE; q++) {
      if (ROWS) {
        const int64_t row = line + warp + q * WARPS;
        next[q] = row < across && at + lane < high ? in[row * v.length + at + lane] : 0.0f;
      } else {
        const int here = at + warp + q * WARPS;
        next[q] = inside && here < high ? in[base + here * v.inner + line + lane] : 0.0f;
      }
    }
  };
  load(low);
  for (int at = low; at < high; at += CHUNK) {
    __syncthreads(); /* the values before are done with */
#pragma unroll
    for (int q = 0; q < SHARE; q++) ROWS ? s[lane][warp + q * WARPS] = next[q] : s[warp + q * WARPS][lane] = next[q];
    /* The chunk is whole. The next one is asked for before this one is worked on. */
    __syncthreads();
    if (at + CHUNK < high) load(at + CHUNK);
    /* This warp's outputs are out of reach of the chunk; it still meets the barriers. */
    if (at + CHUNK <= from - radius || at >= from + OUTPUTS + radius) continue;
    /* Weight of value at + i for output from + q is k[i - q + OUTPUTS - 1]: CHUNK + OUTPUTS - 1 distances in all, the
     * same for all lanes, in registers, as the indices are constants once unrolled. */
    float k[CHUNK + OUTPUTS - 1];
#pragma unroll
    for (int d = 0; d < CHUNK + OUTPUTS - 1; d++) k[d] = taps[at - from - (OUTPUTS - 1) + d];
#pragma unroll
    for (int i = 0; i < CHUNK; i++) {
      const float f = s[i][lane];
#pragma unroll
      for (int q = 0; q < OUTPUTS; q++) acc[q] = fmaf(k[i - q + OUTPUTS - 1], f, acc[q]);
    }
  }

  if (!ROWS) {
#pragma unroll
    for (int q = 0; q < OUTPUTS; q++)
      if (inside && from + q < v.length) out[base + (from + q) * v.inner + line + lane] = acc[q];
    return;
  }
  __syncthreads(); /* rows leave by way of shared memory, so that a warp writes along one */
#pragma unroll
  for (int q = 0; q < OUTPUTS; q++) s[warp * OUTPUTS + q][lane] = acc[q];
  /* Outputs of all warps are there: [place][line]. */
  __syncthreads();
  for (int row = warp; row < LINES && line + row < across; row += WARPS)
    for (int i = lane; i < PIECE && begin + i < v.length; i += LINES)
      out[(line + row) * v.length + begin + i] = s[i][row];
}

/* The weights of k on the backend; more of the same sigma do, as a line that wants fewer ends before them. */
static rb_status bring(march_plan *p, const rb_smooth_kernel *k) {
  rb_status st = RB_OK;
  RB_CHECK(p->taps, RB_EINVAL, "smooth: sigma %g voxels; the plan is for %g at most", k->sigma, p->head.desc.sigma);
  if (p->sigma == k->sigma && p->held >= k->held) goto done;
  /* Distance 0 is at `centre`; zeros beyond the kernel, so that no reader tests its reach. */
  for (int i = 0; i <= 2 * p->centre; i++) {
    const int d = abs(i - p->centre);
    p->staged[i] = d <= k->held ? (float)k->k[d] : 0.0f;
  }
  /* Until the upload has succeeded the weights are nobody's. */
  p->held = -1;
  RB_TRY(p->head.backend->upload(p->taps, p->staged, (size_t)(2 * p->centre + 1) * sizeof *p->taps));
  p->sigma = k->sigma, p->held = k->held;
done:
  return st;
}

rb_status smooth_wide_pass(rb_smooth_plan *head, const rb_smooth_kernel *k, int axis, const void *in, void *out) {
  rb_status st = RB_OK;
  march_plan *p = (march_plan *)head;
  const view v = view_of(&head->desc, axis);
  const int pieces = (v.length + PIECE - 1) / PIECE;
  const dim3 threads(LINES, WARPS);
  RB_TRY(bring(p, k));
  if (axis == 2)
    RB_LAUNCH(wide_kernel<true>, rb_blocks(v.lines, LINES) * (unsigned)pieces, threads, 0, v, pieces, k->radius,
              p->taps + p->centre, (const float *)in, (float *)out);
  else
    RB_LAUNCH(wide_kernel<false>, (unsigned)(v.lines * rb_blocks(v.inner, LINES)) * (unsigned)pieces, threads, 0, v,
              pieces, k->radius, p->taps + p->centre, (const float *)in, (float *)out);
done:
  return st;
}

rb_status smooth_wide_plan(const rb_backend *b, const rb_smooth_desc *d, rb_smooth_plan **out) {
  rb_status st = RB_OK;
  march_plan *p = (march_plan *)calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  p->head.backend = b;
  p->held = -1;
  /* A plan for narrow kernels alone needs no table. Its reach is the longest axis and the margin. */
  if (d->sigma == 0 || ceil(3 * d->sigma) > PASSES_MOST) {
    for (int a = 0; a < 3; a++)
      if (d->grid.n[a] > p->centre) p->centre = (int)d->grid.n[a];
    p->centre += MARGIN;
    const size_t bytes = (size_t)(2 * p->centre + 1) * sizeof *p->taps;
    p->staged = (float *)malloc(bytes);
    RB_CHECK(p->staged, RB_ENOMEM, "host memory");
    RB_TRY(rb_alloc(b, bytes, (void **)&p->taps));
  }
  *out = &p->head;
  p = NULL;
done:
  if (p) smooth_wide_destroy(&p->head);
  return st;
}
void smooth_wide_destroy(rb_smooth_plan *head) {
  march_plan *p = (march_plan *)head;
  rb_release(head->backend, p->taps);
  free(p->staged);
  free(p);
}
