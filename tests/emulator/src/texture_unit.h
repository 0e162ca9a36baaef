/* SPDX-License-Identifier: BSD-3-Clause */
/* How an NVIDIA texture unit computes a linear fetch, bit by bit. Fitted to what an H200 gave; NVIDIA documents only
 * that fractions have 8 bits. */
#ifndef EMULATED_TEXTURE_UNIT_H
#define EMULATED_TEXTURE_UNIT_H

namespace texture_unit {

/* A coordinate in texels becomes a texel and a fraction in 256ths: rounded to the nearest 1/256, halves up, half a
 * texel less. `fraction` of 256 between texels `index` and index + 1. */
struct position {
  long long index;
  int fraction; /* 0 .. 255 */
};
position place(double texels);

/* weight[k][j][i] of the 2 x 2 x 2 neighbours along w, v, u: whole 256ths that sum to 256. */
void weights(int u, int v, int w, int weight[2][2][2]);

/* Sum of 8 texels, their weights in 256ths. */
float blend(const float texel[8], const int weight[8]);

}  // namespace texture_unit

#endif
