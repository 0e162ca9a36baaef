/* SPDX-License-Identifier: BSD-3-Clause */
/* Hardware counters of one case: floating-point instructions and bytes at L2 and at device memory.
 *
 * In this process by CUPTI's range profiler; where CUPTI refuses, by running this program again under `ncu`. */
#ifndef RB_COUNTERS_H
#define RB_COUNTERS_H

#include "experiments/runner/workloads/measure.h"

/* Count one run of a set-up case. *state is torn down (and set to NULL) when a child process needs its memory.
 * RB_EUNSUPPORTED with both reasons where neither way works. */
rb_status rb_counters_measure(const rb_case *c, const rb_workload *w, void **state, const char *descriptor_path,
                              rb_preset preset, rb_counters *out);
#endif
