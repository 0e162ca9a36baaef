/* SPDX-License-Identifier: BSD-3-Clause */
/* Pairs of key and value on the device: sorted by key, and added where keys are equal. CUB's; in the emulated build
 * one thread's. Both return at once, on rb_cuda_stream(). */
#ifndef RB_CUDA_SORT_H
#define RB_CUDA_SORT_H

#include "kernels/base/status.h"

#include <stddef.h>
#include <stdint.h>

/* Bytes of room that both need for n pairs; n below 2^31. */
rb_status rb_sort_room(int64_t n, size_t *bytes);
/* By the lowest `bits` of the keys; pairs of one key keep their order. */
rb_status rb_sort_pairs(void *room, size_t bytes, int64_t n, int bits, const unsigned *keys, unsigned *keys_out,
                        const float *values, float *values_out);
/* Of sorted pairs: each key once, with the sum of its values; their number into *count, on the device. */
rb_status rb_add_by_key(void *room, size_t bytes, int64_t n, const unsigned *keys, const float *values,
                        unsigned *unique, float *sums, int *count);
#endif
