/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/base/device_info.h"

#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <stdio.h>
#include <string.h>

extern "C" int rb_device_info_of(int device, rb_device_info *out) {
  cudaDeviceProp p;
  memset(out, 0, sizeof *out);
  cudaRuntimeGetVersion(&out->runtime_version);
  cudaDriverGetVersion(&out->driver_version);
  if (cudaGetDeviceProperties(&p, device) != cudaSuccess) {
    (void)cudaGetLastError();
    return 0;
  }
  snprintf(out->name, sizeof out->name, "%s", p.name);
  out->capability_major = p.major, out->capability_minor = p.minor, out->multiprocessors = p.multiProcessorCount;
  out->memory = p.totalGlobalMem, out->l2 = (size_t)p.l2CacheSize,
  out->shared_per_multiprocessor = p.sharedMemPerMultiprocessor;
  if (cudaGetDeviceCount(&out->devices) != cudaSuccess) out->devices = 1;
  return 1;
}

extern "C" int rb_device_info_read(rb_device_info *out) {
  int device = -1; /* of which rb_device_info_of knows no properties */
  if (cudaGetDevice(&device) != cudaSuccess) (void)cudaGetLastError();
  return rb_device_info_of(device, out);
}

extern "C" rb_status rb_device_bus(char *out, int size) {
  int device;
  if (cudaGetDevice(&device) == cudaSuccess && cudaDeviceGetPCIBusId(out, size, device) == cudaSuccess) return RB_OK;
  (void)cudaGetLastError();
  return RB_FAIL(RB_EDEVICE, "no CUDA device");
}

extern "C" void rb_profiler_start(void) { cudaProfilerStart(); }
extern "C" void rb_profiler_stop(void) { cudaProfilerStop(); }
