/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts about the current CUDA device for records and doctor; defined by kernels/cuda, answers in every build. */
#ifndef RB_DEVICE_INFO_H
#define RB_DEVICE_INFO_H

#include "kernels/base/status.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  char name[256];
  int capability_major, capability_minor, multiprocessors, runtime_version, driver_version;
  size_t memory, l2, shared_per_multiprocessor;
  int devices; /* that CUDA sees */
} rb_device_info;

/* 1 when a usable device is there. runtime_version is filled in builds with CUDA either way. */
int rb_device_info_read(rb_device_info *out);
/* The same of device 0, 1, ... below `devices`; 0 where there is none of that number. */
int rb_device_info_of(int device, rb_device_info *out);
/* PCI bus address of the current CUDA device, as NVML takes it. RB_EDEVICE without one. */
rb_status rb_device_bus(char *out, int size);
/* cudaProfilerStart, cudaProfilerStop: bracket what an attached profiler shall see. No-ops without CUDA. */
void rb_profiler_start(void);
void rb_profiler_stop(void);

#ifdef __cplusplus
}
#endif
#endif
