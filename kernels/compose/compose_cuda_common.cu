/* SPDX-License-Identifier: BSD-3-Clause */
/* Determinant, bracket, greatest length, padding: the same in every CUDA variant. */
#include "kernels/compose/compose_cuda.cuh"
#include "kernels/cuda/longest.cuh"

#include <math.h>

rb_status compose_supports(const rb_compose_desc *d) {
  if (d->dtype != RB_F32) return RB_FAIL(RB_EUNSUPPORTED, "the CUDA variants are float32 only");
  /* 32-bit offsets within a component; planes are blocks along z, rows blocks along y. */
  if (rb_grid_points(d->grid) >= (int64_t)1 << 31 || d->grid.n[0] > RB_MOST_BLOCKS_YZ ||
      d->grid.n[1] > RB_MOST_BLOCKS_YZ * HIGH)
    return RB_FAIL(RB_EUNSUPPORTED, "the CUDA variants end at 2^31 voxels, 65535 planes");
  return RB_OK;
}
rb_status compose_open(const rb_backend *backend, compose_plan *p) {
  rb_status st = RB_OK;
  p->head.backend = backend;
  /* One value on the device and one in pinned memory, from the shared slots or, where none is left, of its own; and
   * an event for when it has come. */
  RB_TRY(rb_alloc(backend, sizeof *p->most, (void **)&p->most));
  p->host = (float *)rb_cuda_pinned_take();
  if (!p->host) {
    RB_CUDA_TRY(cudaMallocHost((void **)&p->host, sizeof *p->host));
    p->host_is_own = 1;
  }
  RB_CUDA_TRY(cudaEventCreateWithFlags(&p->there, cudaEventDisableTiming));
done:
  return st;
}
/* Pinned memory goes back where it came from. */
void compose_close(compose_plan *p) {
  rb_release(p->head.backend, p->most);
  if (p->host_is_own)
    cudaFreeHost(p->host);
  else
    rb_cuda_pinned_return(p->host);
  if (p->there) cudaEventDestroy(p->there);
}

/* The plan of variants that keep nothing besides what the greatest length needs. */
rb_status compose_plan_make(const rb_backend *backend, const rb_compose_desc *d, rb_compose_plan **out) {
  rb_status st = RB_OK;
  (void)d;
  /* Zeroed, so that a failure half-way can be undone. */
  compose_plan *p = (compose_plan *)calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  RB_TRY(compose_open(backend, p));
  *out = &p->head;
  return RB_OK;
done:
  if (p) compose_destroy(&p->head);
  return st;
}
void compose_destroy(rb_compose_plan *head) {
  compose_close((compose_plan *)head);
  free(head);
}

/* ---- derivatives -------------------------------------------------------------------------------------- */

/* j[c][axis] at a node: central differences, one-sided at the border, 0 along an axis of one node. */
static __device__ __forceinline__ void derivatives(sizes g, const float *__restrict__ s, const int at[3],
                                                   float j[3][3]) {
  const int64_t n = (int64_t)g.n1 * g.n2 * g.n3;
  /* Offsets within a component are 32 bits (fewer than 2^31 voxels), across components 64. */
  const int extent[3] = {g.n1, g.n2, g.n3}, stride[3] = {g.n2 * g.n3, g.n3, 1},
            i = (at[0] * g.n2 + at[1]) * g.n3 + at[2];
#pragma unroll
  for (int a = 0; a < 3; a++) {
    /* At a border low or high is the node itself: per is 1/2 between two neighbours, 1 where one is missing, 0 where
     * both are. */
    const int low = at[a] > 0 ? -stride[a] : 0, high = at[a] + 1 < extent[a] ? stride[a] : 0;
    const float per = high - low == 2 * stride[a] ? 0.5f : high != low ? 1.0f : 0.0f;
#pragma unroll
    for (int c = 0; c < 3; c++) j[c][a] = per * (__ldg(s + c * n + i + high) - __ldg(s + c * n + i + low));
  }
}

/* A thread a node; a block WIDE x HIGH nodes of plane blockIdx.z, a warp along x3. */
static __global__ void __launch_bounds__(WIDE *HIGH)
    determinant_kernel(sizes g, const float *__restrict__ s, float *__restrict__ out) {
  const int at[3] = {(int)blockIdx.z, (int)(blockIdx.y * HIGH + threadIdx.y), (int)(blockIdx.x * WIDE + threadIdx.x)};
  float j[3][3];
  /* i: the node's place in a component; all nine derivatives need 2 x 9 loads. */
  if (at[1] >= g.n2 || at[2] >= g.n3) return;
  derivatives(g, s, at, j);
  /* J = I + ds/dx; then the determinant by the first row. */
#pragma unroll
  for (int c = 0; c < 3; c++) j[c][c] += 1.0f;
  out[(at[0] * g.n2 + at[1]) * g.n3 + at[2]] = j[0][0] * (j[1][1] * j[2][2] - j[1][2] * j[2][1]) -
                                               j[0][1] * (j[1][0] * j[2][2] - j[1][2] * j[2][0]) +
                                               j[0][2] * (j[1][0] * j[2][1] - j[1][1] * j[2][0]);
}
rb_status compose_determinant(rb_compose_plan *p, const void *s, void *out) {
  rb_status st = RB_OK;
  /* A thread a node; s and out as they are given, nothing is allocated. */
  RB_LAUNCH(determinant_kernel, tiles_of(p->desc.grid, 1), dim3(WIDE, HIGH), 0, sizes_of(p->desc.grid),
            (const float *)s, (float *)out);
done:
  return st;
}

/* A thread a node, all three components: 18 derivatives in registers. */
static __global__ void __launch_bounds__(WIDE *HIGH)
    bracket_kernel(sizes g, const float *__restrict__ v, const float *__restrict__ w, float *__restrict__ out) {
  const int at[3] = {(int)blockIdx.z, (int)(blockIdx.y * HIGH + threadIdx.y), (int)(blockIdx.x * WIDE + threadIdx.x)};
  float dv[3][3], dw[3][3];
  if (at[1] >= g.n2 || at[2] >= g.n3) return;
  /* n: voxels, the distance between components. */
  const int64_t n = (int64_t)g.n1 * g.n2 * g.n3, i = ((int64_t)at[0] * g.n2 + at[1]) * g.n3 + at[2];
  derivatives(g, v, at, dv);
  derivatives(g, w, at, dw);
  /* Component c: sum_a (d v_c/dx_a w_a - d w_c/dx_a v_a). */
#pragma unroll
  for (int c = 0; c < 3; c++) {
    float sum = 0;
    /* Products of derivatives and fields in the order of the axes. */
#pragma unroll
    for (int a = 0; a < 3; a++) sum += dv[c][a] * w[a * n + i] - dw[c][a] * v[a * n + i];
    out[c * n + i] = sum;
  }
}
rb_status compose_bracket(rb_compose_plan *p, const void *v, const void *w, void *out) {
  rb_status st = RB_OK;
  RB_LAUNCH(bracket_kernel, tiles_of(p->desc.grid, 1), dim3(WIDE, HIGH), 0, sizes_of(p->desc.grid), (const float *)v,
            (const float *)w, (float *)out);
done:
  return st;
}

/* ---- greatest length ---------------------------------------------------------------------------------- */

rb_status compose_longest(rb_compose_plan *head, const void *s) {
  /* First half: clears, reduces, starts the copy. Nothing waits, so that other work may follow on the stream. */
  rb_status st = RB_OK;
  const compose_plan *p = (compose_plan *)head;
  const int64_t n = rb_grid_points(head->desc.grid);
  /* Bits of 0 to start with. The copy to pinned memory is asynchronous; `there` marks its end. */
  RB_TRY(head->backend->fill(p->most, 0, sizeof *p->most));
  RB_LAUNCH(longest_kernel, rb_longest_blocks(n), LONGEST_THREADS, 0, n, (const float *)s, p->most);
  RB_CUDA_TRY(cudaMemcpyAsync(p->host, p->most, sizeof *p->host, cudaMemcpyDeviceToHost, rb_cuda_stream()));
  RB_CUDA_TRY(cudaEventRecord(p->there, rb_cuda_stream()));
done:
  return st;
}
/* Second half: waits for the copy's event alone, not for what was issued after it. */
rb_status compose_longest_end(rb_compose_plan *head) {
  rb_status st = RB_OK;
  const compose_plan *p = (compose_plan *)head;
  RB_CUDA_TRY(cudaEventSynchronize(p->there));
  /* Squares were compared; the root is taken of the greatest alone. */
  head->longest = sqrt((double)*p->host);
done:
  return st;
}

/* ---- padding ------------------------------------------------------------------------------------------- */

/* A thread a node of the wide grid. The inner grid is centred: it begins at (n - inner) / 2 along every axis, rounded
 * down. */
static __global__ void __launch_bounds__(WIDE *HIGH)
    embed_kernel(sizes g, sizes inner, int crop, const float *__restrict__ f, float *__restrict__ out) {
  /* One kernel both ways: `f` is the small grid to pad, the large one to crop; threads always cover the large one. */
  const int k = blockIdx.x * WIDE + threadIdx.x, j = blockIdx.y * HIGH + threadIdx.y, i = blockIdx.z;
  if (j >= g.n2 || k >= g.n3) return;
  const int a = i - (g.n1 - inner.n1) / 2, b = j - (g.n2 - inner.n2) / 2, c = k - (g.n3 - inner.n3) / 2;
  const int inside = a >= 0 && a < inner.n1 && b >= 0 && b < inner.n2 && c >= 0 && c < inner.n3;
  /* Places in the large and in the small grid; the latter is used where `inside` only. */
  const int wide = (i * g.n2 + j) * g.n3 + k, narrow = (a * inner.n2 + b) * inner.n3 + c;
  if (!crop)
    out[wide] = inside ? f[narrow] : 0.0f;
  else if (inside)
    out[narrow] = f[wide];
}
static rb_status embed(rb_compose_plan *p, rb_grid inner, int crop, const void *f, void *out) {
  rb_status st = RB_OK;
  RB_LAUNCH(embed_kernel, tiles_of(p->desc.grid, 1), dim3(WIDE, HIGH), 0, sizes_of(p->desc.grid), sizes_of(inner),
            crop, (const float *)f, (float *)out);
done:
  return st;
}
rb_status compose_pad(rb_compose_plan *p, rb_grid inner, const void *f, void *out) {
  return embed(p, inner, 0, f, out);
}
rb_status compose_crop(rb_compose_plan *p, rb_grid inner, const void *f, void *out) {
  return embed(p, inner, 1, f, out);
}
