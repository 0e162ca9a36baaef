/* SPDX-License-Identifier: BSD-3-Clause */
/* CUDA memory, stream and event timer of the current device. */
#include "kernels/base/team.h"
#include "kernels/cuda/cuda.cuh"
#include "kernels/cuda/pinned.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cudaStream_t stream;
static cudaEvent_t begin_event, end_event;
static int l2_bytes;

extern "C" cudaStream_t rb_cuda_stream(void) { return stream; }

extern "C" const char *rb_cuda_explain(int error) {
  (void)cudaGetLastError(); /* told now: the next launch must not be blamed for it */
  switch ((cudaError_t)error) {
    case cudaErrorNoDevice:
      return "no CUDA-capable GPU on this machine; CPU variants run without one";
    case cudaErrorInsufficientDriver:
      return "the CUDA driver is missing or older than this build's runtime; install a driver for CUDA 13, or "
             "rebuild with the host's toolkit";
    case cudaErrorMemoryAllocation:
      return "GPU memory does not suffice; take a smaller size or close other GPU programs";
    case cudaErrorNoKernelImageForDevice:
      return "this build holds no code for the GPU; rebuild with -DCMAKE_CUDA_ARCHITECTURES=native";
    case cudaErrorDevicesUnavailable:
      return "the GPU is busy or in exclusive mode; see 'regbench doctor'";
    default:
      return cudaGetErrorString((cudaError_t)error);
  }
}

static rb_status cuda_alloc(size_t bytes, void **out) {
  cudaError_t e = cudaMalloc(out, bytes ? bytes : 256);
  if (e == cudaSuccess) return RB_OK;
  (void)cudaGetLastError(); /* an allocation that fails is not sticky */
  *out = NULL;
  size_t free_bytes = 0, total = 0;
  cudaMemGetInfo(&free_bytes, &total);
  return RB_FAIL(e == cudaErrorMemoryAllocation ? RB_ENOMEM : RB_EDEVICE,
                 "GPU memory: %zu bytes asked for, %zu free: %s", bytes, free_bytes, rb_cuda_explain((int)e));
}
static void cuda_release(void *p) { cudaFree(p); }

static rb_status copy(void *dst, const void *src, size_t bytes, cudaMemcpyKind kind) {
  rb_status st = RB_OK;
  RB_CUDA_TRY(cudaMemcpyAsync(dst, src, bytes, kind, stream));
  RB_CUDA_TRY(cudaStreamSynchronize(stream));
done:
  return st;
}
/* Arrays pass through pinned memory, in stages used in turn: the cores copy one while the bus carries another. What
 * the driver does by itself with pageable memory takes one core and some 12 GB/s, and waits after each small array.
 */
enum { STAGES = 4, STAGE = 4 << 20, LARGE = 1 << 20, SLOTS = 64 };
static char *stages; /* the slots of pinned.h behind them; NULL: could not be had, everything goes the plain way */
static cudaEvent_t stage_events[STAGES]; /* after the last copy from or to a stage */
static unsigned stage_turn;
static char slot_lent[SLOTS];

extern "C" void *rb_cuda_pinned_take(void) {
  for (int i = 0; stages && i < SLOTS; i++)
    if (!slot_lent[i]) {
      slot_lent[i] = 1;
      return stages + STAGES * STAGE + i * RB_PINNED_BYTES;
    }
  return NULL;
}
extern "C" void rb_cuda_pinned_return(void *slot) {
  if (slot) slot_lent[((char *)slot - stages - STAGES * STAGE) / RB_PINNED_BYTES] = 0;
}

static size_t stage_bytes(size_t bytes, size_t at) { return bytes - at < STAGE ? bytes - at : (size_t)STAGE; }
static void copy_on_host(void *dst, const void *src, size_t bytes) {
  if (bytes < LARGE)
    memcpy(dst, src, bytes);
  else
    rb_copy_parallel(dst, src, bytes);
}
/* Small arrays are under way when this returns; `src` may be changed. */
static rb_status cuda_upload(void *dst, const void *src, size_t bytes) {
  rb_status st = RB_OK;
  if (!stages) return copy(dst, src, bytes, cudaMemcpyHostToDevice);
  for (size_t at = 0; at < bytes; at += STAGE) {
    const unsigned k = stage_turn++ % STAGES;
    char *stage = stages + (size_t)k * STAGE;
    RB_CUDA_TRY(cudaEventSynchronize(stage_events[k]));
    copy_on_host(stage, (const char *)src + at, stage_bytes(bytes, at));
    RB_CUDA_TRY(cudaMemcpyAsync((char *)dst + at, stage, stage_bytes(bytes, at), cudaMemcpyHostToDevice, stream));
    RB_CUDA_TRY(cudaEventRecord(stage_events[k], stream));
  }
  if (bytes >= LARGE) RB_CUDA_TRY(cudaStreamSynchronize(stream));
done:
  return st;
}
static rb_status cuda_download(void *dst, const void *src, size_t bytes) {
  rb_status st = RB_OK;
  const size_t count = (bytes + STAGE - 1) / STAGE;
  const unsigned first = stage_turn;
  if (!stages) return copy(dst, src, bytes, cudaMemcpyDeviceToHost);
  stage_turn += (unsigned)(count % STAGES);
  for (size_t k = 0; k < count + STAGES - 1; k++) { /* a stage is emptied when the others are under way */
    if (k < count) {
      const unsigned s = (unsigned)(first + k) % STAGES;
      RB_CUDA_TRY(cudaMemcpyAsync(stages + (size_t)s * STAGE, (const char *)src + k * STAGE,
                                  stage_bytes(bytes, k * STAGE), cudaMemcpyDeviceToHost, stream));
      RB_CUDA_TRY(cudaEventRecord(stage_events[s], stream));
    }
    if (k + 1 < STAGES || k + 1 - STAGES >= count) continue;
    const size_t full = k + 1 - STAGES;
    const unsigned s = (unsigned)(first + full) % STAGES;
    RB_CUDA_TRY(cudaEventSynchronize(stage_events[s]));
    copy_on_host((char *)dst + full * STAGE, stages + (size_t)s * STAGE, stage_bytes(bytes, full * STAGE));
  }
done:
  return st;
}
static rb_status cuda_fill(void *dst, int byte, size_t bytes) {
  rb_status st = RB_OK;
  RB_CUDA_TRY(cudaMemsetAsync(dst, byte, bytes, stream));
done:
  return st;
}
static rb_status cuda_sync(void) {
  rb_status st = RB_OK;
  RB_CUDA_TRY(cudaStreamSynchronize(stream));
done:
  return st;
}
static rb_status cuda_timer_start(void) {
  rb_status st = RB_OK;
  RB_CUDA_TRY(cudaEventRecord(begin_event, stream));
done:
  return st;
}
static rb_status cuda_timer_stop(double *seconds) {
  rb_status st = RB_OK;
  float ms = 0;
  RB_CUDA_TRY(cudaEventRecord(end_event, stream));
  RB_CUDA_TRY(cudaEventSynchronize(end_event));
  RB_CUDA_TRY(cudaEventElapsedTime(&ms, begin_event, end_event));
  *seconds = 1e-3 * (double)ms;
done:
  return st;
}
/* Events are made when first stamped and kept: a profile uses the same few thousand again and again. */
static cudaEvent_t stamps[RB_STAMPS];
static rb_status cuda_stamp(int i) {
  rb_status st = RB_OK;
  if (!stamps[i]) RB_CUDA_TRY(cudaEventCreate(&stamps[i]));
  RB_CUDA_TRY(cudaEventRecord(stamps[i], stream));
done:
  return st;
}
static rb_status cuda_stamp_interval(int from, int to, double *seconds) {
  rb_status st = RB_OK;
  float ms = 0;
  RB_CUDA_TRY(cudaEventSynchronize(stamps[to]));
  RB_CUDA_TRY(cudaEventElapsedTime(&ms, stamps[from], stamps[to]));
  *seconds = 1e-3 * (double)ms;
done:
  return st;
}
static rb_status cuda_memory(size_t *total, size_t *available) {
  rb_status st = RB_OK;
  RB_CUDA_TRY(cudaMemGetInfo(available, total));
done:
  return st;
}
static size_t cuda_cache_bytes(void) { return (size_t)l2_bytes; }

static rb_status cuda_record_begin(void) {
  rb_status st = RB_OK;
  RB_CUDA_TRY(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
done:
  return st;
}
static rb_status cuda_record_end(void **recording) {
  rb_status st = RB_OK;
  cudaGraph_t graph = NULL;
  cudaGraphExec_t exec = NULL;
  *recording = NULL;
  RB_CUDA_TRY(cudaStreamEndCapture(stream, &graph));
  RB_CUDA_TRY(cudaGraphInstantiate(&exec, graph, 0));
  *recording = exec;
done:
  if (graph) cudaGraphDestroy(graph);
  return st;
}
static rb_status cuda_replay(void *recording) {
  rb_status st = RB_OK;
  RB_CUDA_TRY(cudaGraphLaunch((cudaGraphExec_t)recording, stream));
done:
  return st;
}
static void cuda_drop(void *recording) {
  if (recording) cudaGraphExecDestroy((cudaGraphExec_t)recording);
}

static const rb_backend backend = {
    "cuda",      RB_CUDA,          cuda_alloc,        cuda_release,    cuda_upload, cuda_download,
    cuda_fill,   cuda_sync,        cuda_timer_start,  cuda_timer_stop, cuda_stamp,  cuda_stamp_interval,
    cuda_memory, cuda_cache_bytes, cuda_record_begin, cuda_record_end, cuda_replay, cuda_drop,
#ifdef RB_CUDA_EMULATED
    1,
#else
    0,
#endif
};

/* One process drives one device: that of REGBENCH_DEVICE; in a team on one machine, each member the next; else the
 * one with the most free memory, the first of equals. */
static rb_status choose_device(int count, int *out) {
  rb_status st = RB_OK;
  const char *asked = getenv("REGBENCH_DEVICE");
  size_t most = 0, available, total;
  *out = 0;
  if (asked && *asked) {
    char *end;
    const long n = strtol(asked, &end, 10);
    RB_CHECK(*end == '\0' && n >= 0 && n < count, RB_EDEVICE, "there is no CUDA device %s: %d are here, from 0 on",
             asked, count);
    *out = (int)n;
  } else if (rb_team_processes() > 1) {
    *out = rb_team_local_rank() % count;
  } else {
    for (int d = 0; d < count && count > 1; d++) { /* one that cannot be used is not the choice */
      if (cudaSetDevice(d) == cudaSuccess && cudaMemGetInfo(&available, &total) == cudaSuccess && available > most)
        most = available, *out = d;
      (void)cudaGetLastError();
    }
    for (int d = 0; d < count && count > 1; d++) /* nothing of ours stays on the others */
      if (d != *out && cudaSetDevice(d) == cudaSuccess) cudaDeviceReset();
    (void)cudaGetLastError();
  }
  RB_CUDA_TRY(cudaSetDevice(*out));
done:
  return st;
}

static rb_status open_device(void) {
  rb_status st = RB_OK;
  int count = 0, device = 0;
  cudaError_t e = cudaGetDeviceCount(&count);
  if (e == cudaSuccess && count == 0) e = cudaErrorNoDevice;
  RB_CHECK(e == cudaSuccess, RB_EDEVICE, "%s", rb_cuda_explain((int)e));
  RB_TRY(choose_device(count, &device));
  RB_CUDA_TRY(cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, device));
  RB_CUDA_TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  RB_CUDA_TRY(cudaEventCreate(&begin_event));
  RB_CUDA_TRY(cudaEventCreate(&end_event));
  for (int i = 0; i < STAGES; i++) RB_CUDA_TRY(cudaEventCreateWithFlags(&stage_events[i], cudaEventDisableTiming));
  if (cudaHostAlloc((void **)&stages, STAGES * STAGE + SLOTS * RB_PINNED_BYTES, cudaHostAllocDefault) !=
      cudaSuccess) {
    (void)cudaGetLastError();
    stages = NULL;
  }
done:
  return st;
}

/* Opened once; the reason of a first failure is kept and repeated. */
extern "C" rb_status rb_cuda_backend(const rb_backend **out) {
  static int opened;
  static rb_status first;
  static char reason[512];
  *out = NULL;
  if (!opened) {
    first = open_device();
    if (first != RB_OK) {
      snprintf(reason, sizeof reason, "%s", rb_message());
      rb_clear();
    }
    opened = 1;
  }
  if (first != RB_OK) return RB_FAIL(first, "%s", reason);
  *out = &backend;
  return RB_OK;
}
