/* Facts about CUDA device 0 for records and doctor; plain C, answers in every build. */
#ifndef RB_DEVICE_INFO_H
#define RB_DEVICE_INFO_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  char name[256];
  int capability_major, capability_minor, multiprocessors, runtime_version, driver_version;
  size_t memory, l2, shared_per_multiprocessor;
} rb_device_info;

/* 1 when a usable device is there. runtime_version is filled in builds with CUDA either way. */
int rb_device_info_read(rb_device_info *out);
/* cudaProfilerStart, cudaProfilerStop: bracket what an attached profiler shall see. No-ops without CUDA. */
void rb_profiler_start(void);
void rb_profiler_stop(void);

#ifdef __cplusplus
}
#endif
#endif
