/* SPDX-License-Identifier: BSD-3-Clause */
/* GPU-TXTSPL (brunn2020 2.3.1): 15-tap prefilter as an axis-aligned stencil, then eight weighted trilinear
 * fetches: an axis's taps pair up as (w0, w1) and (w2, w3), each pair one fetch between its nodes. */
#include "kernels/interp/interp_prefilter.cuh"
#include "kernels/interp/interp_texture.cuh"

static rb_status supports(const rb_interp_desc *desc) {
  if (desc->basis != RB_BSPLINE || desc->prefilter != RB_PREFILTER_15TAP)
    return RB_FAIL(RB_EUNSUPPORTED, "cuda/texture-bspline is bspline15 only");
  return texture_supports_all(desc);
}

static rb_status plan(const rb_backend *backend, const rb_interp_desc *desc, rb_interp_plan **out) {
  rb_status st = RB_OK;
  size_t field = (size_t)rb_grid_points(desc->grid) * sizeof(float);
  /* Texture arrays from the shared plan; here the coefficients and the filter's scratch are added. */
  texture_plan *p = NULL;
  RB_TRY(texture_plan_create(backend, desc, cudaFilterModeLinear, out));
  p = (texture_plan *)*out;
  /* Coefficients of all components; the filter needs scratch for one at a time. */
  RB_TRY(rb_alloc(backend, field * (size_t)desc->components, (void **)&p->coefficients));
  RB_TRY(rb_alloc(backend, field, (void **)&p->scratch));
  return RB_OK;
done:
  if (p) texture_destroy(*out);
  *out = NULL;
  return st;
}

static rb_status load(rb_interp_plan *head, const void *f) {
  rb_status st = RB_OK;
  texture_plan *p = (texture_plan *)head;
  /* Filter each component, then copy all of them into the arrays. */
  int64_t n = rb_grid_points(head->desc.grid);
  for (int c = 0; c < head->desc.components; c++)
    RB_TRY(rb_prefilter_stencil15(head->desc.grid, (const float *)f + c * n, p->coefficients + c * n, p->scratch));
  RB_TRY(texture_copy(p, p->coefficients));
done:
  return st;
}

/* Of an axis: places (normalised) and weights of the two fetches. The first lies between nodes b - 1 and b, at tap1 /
 * (tap0 + tap1) of the way, so that the unit's two weights are in the ratio of the taps; likewise the second. Texel i
 * is centred at i + 0.5; the four taps add up to 1. */
static __device__ __forceinline__ void axis_fetches(float x, float scale, float at[2], float w[2]) {
  float t, tap[4];
  float b = (float)cell_of(x, &t) + 0.5f;
  basis_weights<RB_BSPLINE>(t, tap);
  w[0] = tap[0] + tap[1], w[1] = 1.0f - w[0];
  at[0] = (b - 1.0f + tap[1] / w[0]) * scale, at[1] = (b + 1.0f + tap[3] / w[1]) * scale;
}

/* Eight fetches; u, v, w are x3, x2, x1. */
static __device__ float fetch(cudaTextureObject_t t, float x1, float x2, float x3, unit_scale s) {
  float a1[2], a2[2], a3[2], w1[2], w2[2], w3[2], sum = 0;
  axis_fetches(x1, s.s1, a1, w1);
  axis_fetches(x2, s.s2, a2, w2);
  axis_fetches(x3, s.s3, a3, w3);
  /* Weights of the outer two axes times the interpolated pair along x3. */
#pragma unroll
  for (int i = 0; i < 2; i++)
#pragma unroll
    for (int j = 0; j < 2; j++)
      sum += w1[i] * w2[j] * (w3[0] * rb_fetch3(t, a3[0], a2[j], a1[i]) + w3[1] * rb_fetch3(t, a3[1], a2[j], a1[i]));
  return sum;
}

extern "C" const rb_interp_ops rb_interp_txtspl = {supports,        plan, load, texture_eval<fetch>,
                                                   texture_destroy, 8,    8,    NULL};
