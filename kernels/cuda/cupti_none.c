/* SPDX-License-Identifier: BSD-3-Clause */
/* Stand-in for hardware counters in builds that have none: without nvcc, and where kernels are executed on the CPU.
 */
#include "kernels/base/hardware_counters.h"

rb_status rb_cupti_measure(const char **metrics, int count, rb_status (*run)(void *context), void *context,
                           double *values) {
  (void)metrics, (void)count, (void)run, (void)context, (void)values;
#ifdef RB_CUDA_EMULATED
  return RB_FAIL(RB_EUNSUPPORTED, "the emulated GPU has no hardware counters");
#else
  return RB_FAIL(RB_EUNSUPPORTED, "built without CUDA");
#endif
}
