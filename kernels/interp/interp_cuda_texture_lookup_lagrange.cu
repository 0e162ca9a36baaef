/* SPDX-License-Identifier: BSD-3-Clause */
/* GPU-LAG (brunn2020 2.3.1): cubic Lagrange, the texture as a look-up table, weights in float32. */
#include "kernels/interp/interp_texture.cuh"

static rb_status supports(const rb_interp_desc *desc) {
  if (desc->basis != RB_LAGRANGE) return RB_FAIL(RB_EUNSUPPORTED, "cuda/texture-lookup-lagrange is lagrange only");
  return texture_supports_all(desc);
}
static rb_status plan(const rb_backend *backend, const rb_interp_desc *desc, rb_interp_plan **out) {
  return texture_plan_create(backend, desc, cudaFilterModePoint, out);
}

/* 64 fetches at texel centres (node i at i + 0.5, normalised), which point filtering returns unweighted. */
static __device__ float fetch(cudaTextureObject_t t, float x1, float x2, float x3, unit_scale s) {
  float t1, t2, t3, w1[4], w2[4], w3[4], sum = 0;
  /* Centre of the first node, one before the cell: cell - 1 + 0.5. */
  float b1 = (float)cell_of(x1, &t1) - 0.5f, b2 = (float)cell_of(x2, &t2) - 0.5f, b3 = (float)cell_of(x3, &t3) - 0.5f;
  basis_weights<RB_LAGRANGE>(t1, w1);
  basis_weights<RB_LAGRANGE>(t2, w2);
  basis_weights<RB_LAGRANGE>(t3, w3);
  /* Along x3 first; the product of the other two weights once a row. */
#pragma unroll
  for (int i = 0; i < 4; i++)
#pragma unroll
    for (int j = 0; j < 4; j++) {
      float row = 0;
#pragma unroll
      for (int k = 0; k < 4; k++)
        row += w3[k] * rb_fetch3(t, (b3 + (float)k) * s.s3, (b2 + (float)j) * s.s2, (b1 + (float)i) * s.s1);
      sum += w1[i] * w2[j] * row;
    }
  return sum;
}

extern "C" const rb_interp_ops rb_interp_lag = {supports, plan, texture_load, texture_eval<fetch>, texture_destroy,
                                                0,        0,    NULL};
