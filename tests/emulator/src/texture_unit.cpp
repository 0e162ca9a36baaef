/* SPDX-License-Identifier: BSD-3-Clause */
#include "texture_unit.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace texture_unit {

position place(double texels) {
  const double far = 1099511627776.0; /* 2^40: beyond any array */
  if (!(std::fabs(texels) < far)) return {texels < 0 ? -(long long)far : (long long)far, 0};
  const double scaled = std::floor(texels * 256 + 0.5) - 128;
  const double index = std::floor(scaled / 256);
  return {(long long)index, (int)(scaled - 256 * index)};
}

/* 256 is split along w, each part along u, each of these along v; a part is a whole number again, halves go up in the
 * upper part along u and down in the lower one. */
void weights(int u, int v, int w, int weight[2][2][2]) {
  const int along_w[2] = {256 - w, w};
  for (int k = 0; k < 2; k++) {
    const int upper = (along_w[k] * u + 128) / 256, along_u[2] = {along_w[k] - upper, upper};
    for (int i = 0; i < 2; i++) {
      weight[k][1][i] = (along_u[i] * v + 127 + i) / 256;
      weight[k][0][i] = along_u[i] - weight[k][1][i];
    }
  }
}

/* The four texels of a plane along w, whose weights are not zero: each loses what lies more than 27 bits below the
 * exponent of the largest of them; the weighted sum, in 256ths of 2^*unit, is exact. 0 where there are none. */
static int64_t plane_sum(const float texel[4], const int weight[4], int *unit) {
  enum { KEPT = 27 };
  float largest = 0;
  int64_t sum = 0;
  int exponent;
  for (int i = 0; i < 4; i++)
    if (weight[i]) largest = std::fmax(largest, std::fabs(texel[i]));
  std::frexp(largest, &exponent);
  *unit = exponent - 1 - KEPT;
  for (int i = 0; i < 4; i++)
    if (weight[i]) sum += (int64_t)std::trunc(std::ldexp((double)texel[i], -*unit)) * weight[i];
  return sum;
}

/* The last bit that an adder keeps whose columns are groups of four bits, where the plane with the larger texels ends
 * at 2^unit: up to three bits below it. */
static int last_column(int unit) { return unit - ((unit + 2) & 3); }

/* The planes' sums are exact. They meet in an adder that is aligned to whole groups of four exponents: what lies
 * below its last column, of the plane with the smaller texels, is cut downwards. The result is rounded to 24 bits,
 * halves away from zero. Texels of weight zero do not count at all, be they NaN or infinite. */
float blend(const float texel[8], const int weight[8]) {
  enum { FRACTION = 8, FLOAT = 24 };
  bool finite = true, nan = false, up = false, down = false;
  for (int i = 0; i < 8; i++) {
    if (!weight[i]) continue;
    finite = finite && std::isfinite(texel[i]);
    nan = nan || std::isnan(texel[i]);
    up = up || texel[i] == INFINITY, down = down || texel[i] == -INFINITY;
  }
  if (!finite) {
    const uint32_t bits = 0x7fffffff; /* the unit's NaN */
    float result;
    std::memcpy(&result, &bits, sizeof result);
    return nan || (up && down) ? result : up ? INFINITY : -INFINITY;
  }
  int unit[2];
  const int64_t sum[2] = {plane_sum(texel, weight, &unit[0]), plane_sum(texel + 4, weight + 4, &unit[1])};
  const double value[2] = {std::ldexp((double)sum[0], unit[0] - FRACTION),
                           std::ldexp((double)sum[1], unit[1] - FRACTION)}; /* at most 38 bits: exact */
  if (value[0] == 0 && value[1] == 0) return 0;
  const int last = last_column(std::max(sum[0] ? unit[0] : -1000, sum[1] ? unit[1] : -1000) - FRACTION);
  const int64_t both =
      (int64_t)std::floor(std::ldexp(value[0], -last)) + (int64_t)std::floor(std::ldexp(value[1], -last));
  uint64_t magnitude = both < 0 ? (uint64_t)-both : (uint64_t)both;
  int bits = 0;
  while (magnitude >> bits) bits++;
  const int dropped = bits > FLOAT ? bits - FLOAT : 0;
  if (dropped) magnitude = (magnitude + ((uint64_t)1 << (dropped - 1))) >> dropped;
  const double result = std::ldexp((double)magnitude, dropped + last);
  if (result < 1.17549435e-38) return 0; /* subnormal results are flushed */
  return (float)(both < 0 ? -result : result);
}

}  // namespace texture_unit
