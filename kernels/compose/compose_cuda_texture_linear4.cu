/* SPDX-License-Identifier: BSD-3-Clause */
/* B4 (demons2020): one filtered fetch of a float4 brings all three components. */
#include "kernels/compose/compose_texture.cuh"

static rb_status plan(const rb_backend *b, const rb_compose_desc *d, rb_compose_plan **out) {
  return texture_make(b, d, cudaFilterModeLinear, 1, out);
}

struct filtered4 {
  static __device__ __forceinline__ void at(const handles &h, int, float x1, float x2, float x3, float v[3]) {
    /* Texel i is centred at i + 0.5; the fourth float is padding. */
    const float4 q = rb_fetch3x4(h.texture[0], x3 + 0.5f, x2 + 0.5f, x1 + 0.5f);
    v[0] = q.x, v[1] = q.y, v[2] = q.z;
  }
};

extern "C" const rb_compose_ops rb_compose_texture_linear4 = {texture_supports,
                                                              plan,
                                                              texture_load<1>,
                                                              texture_compose<filtered4>,
                                                              texture_warp<filtered4>,
                                                              compose_determinant,
                                                              compose_bracket,
                                                              compose_longest,
                                                              compose_longest_end,
                                                              compose_pad,
                                                              compose_crop,
                                                              texture_destroy,
                                                              8,
                                                              4,
                                                              NULL,
                                                              NULL};
