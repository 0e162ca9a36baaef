/* SPDX-License-Identifier: BSD-3-Clause */
/* Subnormal numbers (below 1.2e-38 in float32) cost a CPU a hundred times a normal one's time. Recursive filters make
 * them where an image is exactly 0 over many voxels, as a brain's background is. */
#ifndef RB_SUBNORMALS_H
#define RB_SUBNORMALS_H

/* From here on this thread, and each thread that it starts, takes subnormal operands as 0 and rounds subnormal
 * results to 0. Call it before the first parallel region. */
void rb_flush_subnormals(void);
/* 1 where the calling thread does so. */
int rb_subnormals_are_flushed(void);
#endif
