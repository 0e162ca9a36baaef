/* SPDX-License-Identifier: BSD-3-Clause */
/* GPU-TXTLAG (brunn2020 2.3.1): cubic Lagrange by 27 weighted trilinear fetches. An axis's two middle
 * weights have one sign and merge into one fetch between their nodes; the outer two differ in sign from
 * them and stay point fetches: 3 fetches an axis. */
#include "kernels/interp/interp_texture.cuh"

static rb_status supports(const rb_interp_desc *desc) {
  if (desc->basis != RB_LAGRANGE) return RB_FAIL(RB_EUNSUPPORTED, "cuda/texture-lagrange is lagrange only");
  return texture_supports_all(desc);
}
static rb_status plan(const rb_backend *backend, const rb_interp_desc *desc, rb_interp_plan **out) {
  return texture_plan_create(backend, desc, cudaFilterModeLinear, out);
}

/* Positions (normalised) and weights of the three fetches of an axis. */
static __device__ __forceinline__ void axis_fetches(float x, float scale, float at[3], float w[3]) {
  float t, tap[4];
  /* Texel i is centred at i + 0.5: b is the centre of the cell's first node. */
  float b = (float)cell_of(x, &t) + 0.5f;
  basis_weights<RB_LAGRANGE>(t, tap);
  float middle = tap[1] + tap[2];
  w[0] = tap[0], w[1] = middle, w[2] = tap[3];
  /* Nodes -1 and 2 at their centres, where the unit's weights are 1 and 0; the middle fetch at tap2's share of the
   * way. */
  at[0] = (b - 1.0f) * scale, at[1] = (b + tap[2] / middle) * scale, at[2] = (b + 2.0f) * scale;
}

static __device__ float fetch(cudaTextureObject_t t, float x1, float x2, float x3, unit_scale s) {
  float a1[3], a2[3], a3[3], w1[3], w2[3], w3[3], sum = 0;
  axis_fetches(x1, s.s1, a1, w1);
  axis_fetches(x2, s.s2, a2, w2);
  axis_fetches(x3, s.s3, a3, w3);
#pragma unroll
  for (int i = 0; i < 3; i++)
#pragma unroll
    for (int j = 0; j < 3; j++) {
      float row = 0;
#pragma unroll
      for (int k = 0; k < 3; k++) row += w3[k] * rb_fetch3(t, a3[k], a2[j], a1[i]);
      sum += w1[i] * w2[j] * row;
    }
  return sum;
}

extern "C" const rb_interp_ops rb_interp_txtlag = {supports,        plan, texture_load, texture_eval<fetch>,
                                                   texture_destroy, 8,    27,           NULL};
