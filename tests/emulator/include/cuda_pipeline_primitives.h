/* SPDX-License-Identifier: BSD-3-Clause */
/* Stands in for the CUDA toolkit's header of this name: asynchronous copies from global to shared memory. */
#pragma once
#include "emulated/language.h"
static inline void __pipeline_memcpy_async(void *to, const void *from, size_t bytes, size_t zeros = 0,
                                           EMULATED_HERE) {
  emulated::copy_async(to, from, bytes, bytes - zeros, {file, line});
}
static inline void __pipeline_commit() { emulated::copies_commit(); }
static inline void __pipeline_wait_prior(size_t later) { emulated::copies_wait(later); }
