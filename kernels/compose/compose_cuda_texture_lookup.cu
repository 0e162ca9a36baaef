/* SPDX-License-Identifier: BSD-3-Clause */
/* B2 (demons2020): the eight corners through the texture path, weights in float32. */
#include "kernels/compose/compose_texture.cuh"

static rb_status plan(const rb_backend *b, const rb_compose_desc *d, rb_compose_plan **out) {
  return texture_make(b, d, cudaFilterModePoint, 0, out);
}

struct lookup {
  static __device__ __forceinline__ void at(const handles &h, int components, float x1, float x2, float x3,
                                            float v[3]) {
    /* Texel i is centred at i + 0.5; point filtering returns it unweighted, and 0 beyond the border. */
    const float l1 = floorf(x1), l2 = floorf(x2), l3 = floorf(x3), t1 = x1 - l1, t2 = x2 - l2, t3 = x3 - l3;
#pragma unroll
    for (int c = 0; c < 3; c++) {
      /* Each component has a texture of its own and fetches its eight corners. */
      float sum = 0;
      if (c >= components) break;
        /* Bit 0 of `corner` is the step along x1, bit 1 along x2, bit 2 along x3. */
#pragma unroll
      for (int corner = 0; corner < 8; corner++) /* The product of the three weights, times the texel. */
        sum += (corner & 1 ? t1 : 1 - t1) * (corner & 2 ? t2 : 1 - t2) * (corner & 4 ? t3 : 1 - t3) *
               rb_fetch3(h.texture[c], l3 + (float)(corner >> 2) + 0.5f, l2 + (float)(corner >> 1 & 1) + 0.5f,
                         l1 + (float)(corner & 1) + 0.5f);
      v[c] = sum;
    }
  }
};

extern "C" const rb_compose_ops rb_compose_texture_lookup = {texture_supports,
                                                             plan,
                                                             texture_load<0>,
                                                             texture_compose<lookup>,
                                                             texture_warp<lookup>,
                                                             compose_determinant,
                                                             compose_bracket,
                                                             compose_longest,
                                                             compose_longest_end,
                                                             compose_pad,
                                                             compose_crop,
                                                             texture_destroy,
                                                             0,
                                                             3,
                                                             NULL,
                                                             NULL};
