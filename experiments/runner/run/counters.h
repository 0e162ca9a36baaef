/* SPDX-License-Identifier: BSD-3-Clause */
/* Hardware counters of one case: floating-point instructions and bytes at L2 and at device memory.
 *
 * In this process by CUPTI's range profiler; where CUPTI refuses, by running this program again under `ncu`. */
#ifndef RB_COUNTERS_H
#define RB_COUNTERS_H

#include "experiments/runner/workloads/workload.h"

#include <jansson.h>

typedef struct {
  double flops;                /* add + mul + 2 fma, float32, summed over the kernels of one run */
  double dram_bytes, l2_bytes; /* read + written at device memory; bytes through L2 */
  const char *how;             /* "cupti" or "ncu" */
} rb_counters;

/* Count one run of a set-up case. *state is torn down (and set to NULL) when a child process needs its memory.
 * RB_EUNSUPPORTED with both reasons where neither way works. */
rb_status rb_counters_measure(const rb_case *c, const rb_workload *w, void **state, const char *descriptor_path,
                              rb_preset preset, rb_counters *out);

/* Add object `counters` (values, or why there are none) and the analytic and counted metrics to a case's JSON. */
void rb_counters_add(json_t *j, const rb_case *c, const rb_outcome *o, const rb_workload *w, void **state,
                     const char *descriptor_path, rb_preset preset);
#endif
