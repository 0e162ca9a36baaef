/* SPDX-License-Identifier: BSD-3-Clause */
/* Stand-in for the CUDA backend in builds without nvcc: everything that asks for a GPU learns why. */
#include "kernels/base/backend.h"
#include "kernels/base/device_info.h"

#include <string.h>

rb_status rb_cuda_backend(const rb_backend **out) {
  *out = NULL;
  return RB_FAIL(RB_EDEVICE, "built without CUDA: configure with nvcc on PATH to get the CUDA variants");
}

/* all zeros, and 0 for "no device" */
int rb_device_info_of(int device, rb_device_info *out) {
  (void)device;
  memset(out, 0, sizeof *out);
  return 0;
}
int rb_device_info_read(rb_device_info *out) { return rb_device_info_of(0, out); }
rb_status rb_device_bus(char *out, int size) {
  (void)out, (void)size;
  return RB_FAIL(RB_EDEVICE, "built without CUDA");
}
void rb_profiler_start(void) {}
void rb_profiler_stop(void) {}
