/* SPDX-License-Identifier: BSD-3-Clause */
/* CUDA memory and event timer of the current device. */
#include "kernels/base/device_team.h"
#include "kernels/base/team.h"
#include "kernels/cuda/cuda.cuh"
#include "kernels/cuda/pinned.h"
#include "kernels/cuda/stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The timer's two events, and the size of the L2 cache. */
static cudaEvent_t begin_event, end_event;
static int l2_bytes;

/* Clears the thread's error as a side effect. Other errors have the runtime's own text. */
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

/* Device memory for rb_alloc. On failure *out is NULL and the message tells what was free. */
static rb_status cuda_alloc(size_t bytes, void **out) {
  /* A pointer even for no bytes: NULL would mean failure. */
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

/* One copy, and a wait for it: what is used where pinned stages could not be had. */
static rb_status copy(void *dst, const void *src, size_t bytes, cudaMemcpyKind kind) {
  rb_status st = RB_OK;
  RB_CUDA_TRY(cudaMemcpyAsync(dst, src, bytes, kind, rb_cuda_stream()));
  RB_CUDA_TRY(cudaStreamSynchronize(rb_cuda_stream()));
done:
  return st;
}
/* Arrays pass through pinned memory, in stages used in turn: the cores copy one while the bus carries another. What
 * the driver does by itself with pageable memory takes one core and some 12 GB/s, and waits after each small array.
 * STAGES pieces of pinned memory of STAGE bytes each. LARGE: from so many bytes on the host's copy takes all
 * cores, and an upload waits for its end. SLOTS: small pinned pieces that are lent. */
enum { STAGES = 4, STAGE = 4 << 20, LARGE = 1 << 20, SLOTS = 64 };
static char *stages; /* the slots of pinned.h behind them; NULL: could not be had, everything goes the plain way */
/* Indexed as the stages are; an event that was never recorded counts as past. */
static cudaEvent_t stage_events[STAGES]; /* after the last copy from or to a stage */
static unsigned stage_turn;
static char slot_lent[SLOTS];

/* Slots lie behind the stages. Main thread only: nothing guards slot_lent. */
extern "C" void *rb_cuda_pinned_take(void) {
  for (int i = 0; stages && i < SLOTS; i++)
    if (!slot_lent[i]) {
      slot_lent[i] = 1;
      return stages + STAGES * STAGE + i * RB_PINNED_BYTES;
    }
  return NULL;
}
/* A slot's number from its address. NULL is what a failed take gave. */
extern "C" void rb_cuda_pinned_return(void *slot) {
  if (slot) slot_lent[((char *)slot - stages - STAGES * STAGE) / RB_PINNED_BYTES] = 0;
}

/* Bytes of the piece that begins at `at`: a whole stage, or what is left. */
static size_t stage_bytes(size_t bytes, size_t at) { return bytes - at < STAGE ? bytes - at : (size_t)STAGE; }
/* Between the caller's memory and a stage: by one core, or by all for large pieces. */
static void copy_on_host(void *dst, const void *src, size_t bytes) {
  if (bytes < LARGE)
    memcpy(dst, src, bytes);
  else
    rb_copy_parallel(dst, src, bytes);
}
/* Small arrays are under way when this returns; `src` may be changed. A piece at a time: wait for a free stage, fill
 * it by the host, send it. The copy of one piece runs while the next stage is filled. */
static rb_status cuda_upload(void *dst, const void *src, size_t bytes) {
  rb_status st = RB_OK;
  /* Without stages: one plain copy, and a wait. */
  if (!stages) return copy(dst, src, bytes, cudaMemcpyHostToDevice);
  for (size_t at = 0; at < bytes; at += STAGE) {
    const unsigned k = stage_turn++ % STAGES;
    char *stage = stages + (size_t)k * STAGE;
    /* The copy that last used this stage must have left it before the host fills it again. */
    RB_CUDA_TRY(cudaEventSynchronize(stage_events[k]));
    copy_on_host(stage, (const char *)src + at, stage_bytes(bytes, at));
    RB_CUDA_TRY(
        cudaMemcpyAsync((char *)dst + at, stage, stage_bytes(bytes, at), cudaMemcpyHostToDevice, rb_cuda_stream()));
    RB_CUDA_TRY(cudaEventRecord(stage_events[k], rb_cuda_stream()));
  }
  /* The caller of a large upload may free its memory: it was copied to stages already, but the device's copy is
   * waited for, too. */
  if (bytes >= LARGE) RB_CUDA_TRY(cudaStreamSynchronize(rb_cuda_stream()));
done:
  return st;
}
/* Returns when all of `dst` is filled. */
static rb_status cuda_download(void *dst, const void *src, size_t bytes) {
  rb_status st = RB_OK;
  const size_t count = (bytes + STAGE - 1) / STAGE;
  /* Piece k of the array goes through stage (first + k) % STAGES. */
  const unsigned first = stage_turn;
  if (!stages) return copy(dst, src, bytes, cudaMemcpyDeviceToHost);
  /* The next transfer goes on with the stage behind the last one used here; only the count modulo STAGES matters. */
  stage_turn += (unsigned)(count % STAGES);
  /* Turn k starts the copy of piece k and empties piece k - (STAGES - 1): STAGES - 1 copies are under way meanwhile.
   * The stage of piece k was emptied in the turn before. */
  for (size_t k = 0; k < count + STAGES - 1; k++) { /* a stage is emptied when the others are under way */
    if (k < count) {
      const unsigned s = (unsigned)(first + k) % STAGES;
      RB_CUDA_TRY(cudaMemcpyAsync(stages + (size_t)s * STAGE, (const char *)src + k * STAGE,
                                  stage_bytes(bytes, k * STAGE), cudaMemcpyDeviceToHost, rb_cuda_stream()));
      RB_CUDA_TRY(cudaEventRecord(stage_events[s], rb_cuda_stream()));
    }
    /* The first turns only fill the stages. */
    if (k + 1 < STAGES || k + 1 - STAGES >= count) continue;
    const size_t full = k + 1 - STAGES;
    const unsigned s = (unsigned)(first + full) % STAGES;
    RB_CUDA_TRY(cudaEventSynchronize(stage_events[s]));
    /* Into the caller's memory while later pieces are on the bus. */
    copy_on_host((char *)dst + full * STAGE, stages + (size_t)s * STAGE, stage_bytes(bytes, full * STAGE));
  }
done:
  return st;
}
/* Asynchronous: in order with the kernels of the stream. */
static rb_status cuda_fill(void *dst, int byte, size_t bytes) {
  rb_status st = RB_OK;
  RB_CUDA_TRY(cudaMemsetAsync(dst, byte, bytes, rb_cuda_stream()));
done:
  return st;
}
/* All that was issued so far is done on return. */
static rb_status cuda_sync(void) {
  rb_status st = RB_OK;
  RB_CUDA_TRY(cudaStreamSynchronize(rb_cuda_stream()));
done:
  return st;
}
/* Events are recorded on the stream: the time between them is the device's, launches queued before the first not
 * included. */
static rb_status cuda_timer_start(void) {
  rb_status st = RB_OK;
  RB_CUDA_TRY(cudaEventRecord(begin_event, rb_cuda_stream()));
done:
  return st;
}
/* Waits for the work between the two events; milliseconds become seconds. */
static rb_status cuda_timer_stop(double *seconds) {
  rb_status st = RB_OK;
  float ms = 0;
  RB_CUDA_TRY(cudaEventRecord(end_event, rb_cuda_stream()));
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
  RB_CUDA_TRY(cudaEventRecord(stamps[i], rb_cuda_stream()));
done:
  return st;
}
/* `from` was recorded before `to` on the same stream: when `to` has come, both have. */
static rb_status cuda_stamp_interval(int from, int to, double *seconds) {
  rb_status st = RB_OK;
  float ms = 0;
  RB_CUDA_TRY(cudaEventSynchronize(stamps[to]));
  RB_CUDA_TRY(cudaEventElapsedTime(&ms, stamps[from], stamps[to]));
  *seconds = 1e-3 * (double)ms;
done:
  return st;
}
/* Of the device, other processes included. */
static rb_status cuda_memory(size_t *total, size_t *available) {
  rb_status st = RB_OK;
  RB_CUDA_TRY(cudaMemGetInfo(available, total));
done:
  return st;
}
/* Of the device that the process drives. */
static size_t cuda_cache_bytes(void) { return (size_t)l2_bytes; }

/* In the order of rb_backend's fields. */
static const rb_backend backend = {
    "cuda",
    RB_CUDA,
    cuda_alloc,
    cuda_release,
    cuda_upload,
    cuda_download,
    cuda_fill,
    cuda_sync,
    cuda_timer_start,
    cuda_timer_stop,
    cuda_stamp,
    cuda_stamp_interval,
    cuda_memory,
    cuda_cache_bytes,
    rb_cuda_record_begin,
    rb_cuda_record_end,
    rb_cuda_replay,
    rb_cuda_drop,
    &rb_device_team_nccl,
#ifdef RB_CUDA_EMULATED /* kernels are executed on a CPU */
    1,
#else
    0,
#endif
    rb_cuda_fork,
    rb_cuda_choose_stream,
    rb_cuda_join,
    rb_cuda_upload_later,
    rb_cuda_download_later,
    rb_cuda_pin,
    rb_cuda_unpin,
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
    /* A number in REGBENCH_DEVICE must name one of the devices that this process sees. */
    const long n = strtol(asked, &end, 10);
    RB_CHECK(*end == '\0' && n >= 0 && n < count, RB_EDEVICE, "there is no CUDA device %s: %d are here, from 0 on",
             asked, count);
    *out = (int)n;
  } else if (rb_team_processes() > 1) {
    *out = rb_team_local_rank() % count;
  } else {
    /* Sets each device in turn to ask for its free memory; a failure must not stay behind as the thread's last
     * error. */
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
  RB_TRY(rb_cuda_open_stream());
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
