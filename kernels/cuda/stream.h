/* SPDX-License-Identifier: BSD-3-Clause */
/* The order of the device's work, for the backend: its fields of the same names (backend.h). */
#ifndef RB_CUDA_STREAM_H
#define RB_CUDA_STREAM_H

#include "kernels/base/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Once, when the device is chosen; rb_cuda_stream (cuda.cuh) is valid from then on. */
rb_status rb_cuda_open_stream(void);
rb_status rb_cuda_upload_later(void *dst, const void *host, size_t bytes);
rb_status rb_cuda_download_later(void *host, const void *src, size_t bytes);
rb_status rb_cuda_pin(void *host, size_t bytes);
void rb_cuda_unpin(void *host);
rb_status rb_cuda_record_begin(void);
rb_status rb_cuda_record_end(void **recording);
rb_status rb_cuda_replay(void *recording);
void rb_cuda_drop(void *recording);
rb_status rb_cuda_fork(int streams, int background);
void rb_cuda_choose_stream(int k);
rb_status rb_cuda_join(void);

#ifdef __cplusplus
}
#endif
#endif
