/* SPDX-License-Identifier: BSD-3-Clause */
/* The order of blocks, warps and lanes is drawn from a seed that is printed: the same seed gives the same order. */
#include "internal.h"

#include <ctime>

namespace emulated {

uint64_t seed() {
  static uint64_t value;
  static bool known;
  if (known) return value;
  const char *text = std::getenv("EMULATOR_SEED");
  const time_t now = time(nullptr);
  value = text && *text ? std::strtoull(text, nullptr, 10) : (uint64_t)(now / 86400); /* one a day */
  known = true;
  if (!std::getenv("EMULATOR_QUIET"))
    tell("EMULATOR_SEED=%llu repeats the order of threads of this run", (unsigned long long)value);
  return value;
}

static uint64_t next() { /* splitmix64 */
  static uint64_t at = seed() * 0x9e3779b97f4a7c15u;
  uint64_t z = (at += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

uint32_t draw(uint32_t n) { return seed() == 0 || n < 2 ? 0 : (uint32_t)((next() >> 32) * n >> 32); }

}  // namespace emulated
