/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/base/device_info.h"

#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <stdio.h>
#include <string.h>

/* 0 where the device cannot be asked; versions are filled in nevertheless, all else stays 0. */
extern "C" int rb_device_info_of(int device, rb_device_info *out) {
  cudaDeviceProp p;
  memset(out, 0, sizeof *out);
  /* Versions of the runtime that was linked and of the newest that the driver serves. */
  cudaRuntimeGetVersion(&out->runtime_version);
  cudaDriverGetVersion(&out->driver_version);
  if (cudaGetDeviceProperties(&p, device) != cudaSuccess) {
    (void)cudaGetLastError();
    return 0;
  }
  /* Bytes of global memory, of the L2 cache, and of shared memory a multiprocessor. */
  snprintf(out->name, sizeof out->name, "%s", p.name);
  out->capability_major = p.major, out->capability_minor = p.minor, out->multiprocessors = p.multiProcessorCount;
  out->memory = p.totalGlobalMem, out->l2 = (size_t)p.l2CacheSize,
  out->shared_per_multiprocessor = p.sharedMemPerMultiprocessor;
  if (cudaGetDeviceCount(&out->devices) != cudaSuccess) out->devices = 1;
  return 1;
}

/* Of the current device; a failure is not left behind for the next launch to be blamed for. */
extern "C" int rb_device_info_read(rb_device_info *out) {
  int device = -1; /* of which rb_device_info_of knows no properties */
  if (cudaGetDevice(&device) != cudaSuccess) (void)cudaGetLastError();
  return rb_device_info_of(device, out);
}

/* The device's PCI address, a name that does not depend on how devices are numbered. */
extern "C" rb_status rb_device_bus(char *out, int size) {
  int device;
  if (cudaGetDevice(&device) == cudaSuccess && cudaDeviceGetPCIBusId(out, size, device) == cudaSuccess) return RB_OK;
  (void)cudaGetLastError();
  return RB_FAIL(RB_EDEVICE, "no CUDA device");
}

/* Begin and end of what a profiler that was told to wait records. */
extern "C" void rb_profiler_start(void) { cudaProfilerStart(); }
extern "C" void rb_profiler_stop(void) { cudaProfilerStop(); }
