/* Hardware counters of one case: floating-point instructions and bytes at L2 and at device memory. */
#ifndef RB_COUNTERS_H
#define RB_COUNTERS_H

#include "experiments/runner/workload.h"

typedef struct {
  double flops;                    /* add + mul + 2 fma, float32, summed over the kernels of one run */
  double dram_bytes, l2_bytes;     /* read + written at device memory; L1 <-> L2 traffic */
  const char *how;                 /* "ncu" */
} rb_counters;

/* Runs this program again under `ncu` for the case. RB_EUNSUPPORTED with the reason where that is impossible. */
rb_status rb_counters_measure(const rb_case *c, const char *descriptor_path, rb_preset preset, rb_counters *out);
#endif
