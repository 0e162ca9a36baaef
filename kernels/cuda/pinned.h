/* SPDX-License-Identifier: BSD-3-Clause */
/* Pinned host memory for the few bytes that a kernel tells the host: pinning costs 0.6 ms a time, so slots of one
 * page are lent. */
#ifndef RB_CUDA_PINNED_H
#define RB_CUDA_PINNED_H

#ifdef __cplusplus
extern "C" {
#endif

enum { RB_PINNED_BYTES = 64 };

/* A slot of RB_PINNED_BYTES; NULL when all are lent or none could be had. Main thread only. */
void *rb_cuda_pinned_take(void);
/* Accepts NULL. */
void rb_cuda_pinned_return(void *slot);

#ifdef __cplusplus
}
#endif
#endif
