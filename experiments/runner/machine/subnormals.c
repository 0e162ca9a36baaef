/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/machine/subnormals.h"

#include <float.h>

#if defined(__SSE2__)
#include <immintrin.h>
/* MXCSR: bit 15 flushes results, bit 6 takes operands as zeros. A new thread inherits it. */
enum { FLUSH = 0x8000 | 0x0040 };
void rb_flush_subnormals(void) { _mm_setcsr(_mm_getcsr() | FLUSH); }
#elif defined(__aarch64__)
/* FPCR: bit 24 does both. */
void rb_flush_subnormals(void) {
  unsigned long control;
  __asm__ volatile("mrs %0, fpcr" : "=r"(control));
  __asm__ volatile("msr fpcr, %0" ::"r"(control | 1ul << 24));
}
#else
void rb_flush_subnormals(void) {}
#endif

int rb_subnormals_are_flushed(void) {
  volatile float least = FLT_MIN, half = 0.5f;
  return least * half == 0;
}
