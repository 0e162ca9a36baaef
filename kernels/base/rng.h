/* SPDX-License-Identifier: BSD-3-Clause */
/* Counter-based random numbers: value number i of stream s does not depend on thread count or order.
 * SplitMix64's finaliser (Steele, Lea, Flood 2014) over a Weyl sequence. */
#ifndef RB_BASE_RNG_H
#define RB_BASE_RNG_H

#include <stdint.h>

static inline uint64_t rb_rng_bits(uint64_t stream, uint64_t index) {
  uint64_t z = (stream + 1) * 0xD1B54A32D192ED03u + (index + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}
/* Uniform in [0, 1) with 53 bits. */
static inline double rb_rng_uniform(uint64_t stream, uint64_t index) {
  return (double)(rb_rng_bits(stream, index) >> 11) * 0x1.0p-53;
}
/* Uniform in [-1, 1). */
static inline double rb_rng_symmetric(uint64_t stream, uint64_t index) {
  return 2.0 * rb_rng_uniform(stream, index) - 1.0;
}
#endif
