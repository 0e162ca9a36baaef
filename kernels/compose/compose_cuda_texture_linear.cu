/* SPDX-License-Identifier: BSD-3-Clause */
/* B3 (demons2020): the texture unit interpolates, a fetch a component; its weights have 8 fractional bits. */
#include "kernels/compose/compose_texture.cuh"

static rb_status plan(const rb_backend *b, const rb_compose_desc *d, rb_compose_plan **out) {
  return texture_make(b, d, cudaFilterModeLinear, 0, out);
}

/* The unit weights all eight corners; a fetch a component. */
struct filtered {
  static __device__ __forceinline__ void at(const handles &h, int components, float x1, float x2, float x3,
                                            float v[3]) {
#pragma unroll
    for (int c = 0; c < 3; c++)
      /* Texel i is centred at i + 0.5; the border's 0 makes values fade over one voxel outside. */
      if (c < components) v[c] = rb_fetch3(h.texture[c], x3 + 0.5f, x2 + 0.5f, x1 + 0.5f);
  }
};

extern "C" const rb_compose_ops rb_compose_texture_linear = {texture_supports,
                                                             plan,
                                                             texture_load<0>,
                                                             texture_compose<filtered>,
                                                             texture_warp<filtered>,
                                                             compose_determinant,
                                                             compose_bracket,
                                                             compose_longest,
                                                             compose_longest_end,
                                                             compose_pad,
                                                             compose_crop,
                                                             texture_destroy,
                                                             8,
                                                             3,
                                                             NULL,
                                                             NULL};
