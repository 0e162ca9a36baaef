/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RB_BASE_CLOCK_H
#define RB_BASE_CLOCK_H

#include <time.h>

/* Seconds of a clock that only goes forward. */
static inline double rb_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
#endif
