/* SPDX-License-Identifier: BSD-3-Clause */
/* GPU-TXTLIN (brunn2020 2.3.1): one hardware trilinear fetch a point; the unit's weights have 8 fractional bits. */
#include "kernels/interp/interp_texture.cuh"

static rb_status supports(const rb_interp_desc *desc) {
  if (desc->basis != RB_LINEAR) return RB_FAIL(RB_EUNSUPPORTED, "cuda/texture-linear is linear only");
  return texture_supports_all(desc);
}
static rb_status plan(const rb_backend *backend, const rb_interp_desc *desc, rb_interp_plan **out) {
  return texture_plan_create(backend, desc, cudaFilterModeLinear, out);
}

static __device__ float fetch(cudaTextureObject_t t, float x1, float x2, float x3, unit_scale s) {
  return rb_fetch3(t, (x3 + 0.5f) * s.s3, (x2 + 0.5f) * s.s2, (x1 + 0.5f) * s.s1);
}

extern "C" const rb_interp_ops rb_interp_txtlin = {supports, plan, texture_load, texture_eval<fetch>, texture_destroy,
                                                   8,        1,    NULL};
