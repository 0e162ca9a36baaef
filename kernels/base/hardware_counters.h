/* SPDX-License-Identifier: BSD-3-Clause */
/* Hardware counters of a piece of work in this process: by CUPTI in builds with CUDA (kernels/cuda). */
#ifndef RB_HARDWARE_COUNTERS_H
#define RB_HARDWARE_COUNTERS_H

#include "kernels/base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Values of `count` metrics (names as ncu takes them, e.g. "dram__bytes_read.sum") over one execution of
 * run(context). run is repeated for as many passes as the counters need. RB_EUNSUPPORTED with CUPTI's reason where it
 * refuses (no library, no permission, another profiler attached). */
rb_status rb_cupti_measure(const char **metrics, int count, rb_status (*run)(void *context), void *context,
                           double *values);

#ifdef __cplusplus
}
#endif
#endif
