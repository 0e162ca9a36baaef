/* SPDX-License-Identifier: BSD-3-Clause */
/* A backend is where arrays live and kernels run: host memory, or one CUDA device.
 *
 * rb_alloc counts live bytes and their high-water mark. Debug builds (no NDEBUG) fill new memory with
 * 0xFF (a NaN in float and double) and put guard bands around it that rb_release checks. */
#ifndef RB_BASE_BACKEND_H
#define RB_BASE_BACKEND_H

#include "kernels/base/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum { RB_CPU = 0, RB_CUDA = 1, RB_BACKENDS = 2 } rb_backend_kind;

enum { RB_STAMPS = 4096, RB_STREAMS = 8, RB_BACKGROUND = RB_STREAMS };

typedef struct rb_backend {
  const char *name; /* "cpu", "cuda" */
  rb_backend_kind kind;
  rb_status (*alloc)(size_t bytes, void **out);
  void (*release)(void *p);
  /* Host memory may be used again on return. Main thread only: large copies share pinned stages. */
  rb_status (*upload)(void *dst, const void *host, size_t bytes);
  rb_status (*download)(void *host, const void *src, size_t bytes);
  rb_status (*fill)(void *dst, int byte, size_t bytes);
  rb_status (*sync)(void);
  /* One timer a backend: CUDA events on the stream that kernels use, the monotonic clock on the CPU. */
  rb_status (*timer_start)(void);
  rb_status (*timer_stop)(double *seconds);
  /* Stamp i (below RB_STAMPS): a point in the stream's time, without waiting. stamp_interval waits for the later one.
   */
  rb_status (*stamp)(int i);
  rb_status (*stamp_interval)(int from, int to, double *seconds);
  rb_status (*memory)(size_t *total, size_t *available);
  size_t (*cache_bytes)(void); /* last-level cache: rotation of buffers goes beyond twice this */
  /* What is issued between begin and end is kept instead of run; replay issues it again as one piece. Nothing in
   * between may wait for the device. NULL where it would gain nothing. `drop` takes NULL. */
  rb_status (*record_begin)(void);
  rb_status (*record_end)(void **recording);
  rb_status (*replay)(void *recording);
  void (*drop)(void *recording);
  const struct rb_device_team_ops *team; /* sums over a team of arrays here (device_team.h); NULL: by the hosts */
  int emulated; /* kernels are executed on the CPU (tests/emulator): their outputs can be checked; times mean nothing
                 */
  /* Work whose parts may run concurrently, in streams as CUDA has them. fork: streams 0 to count - 1 (at most
   * RB_STREAMS) begin behind what was issued so far, and with `background` one more, of number RB_BACKGROUND, which
   * uses what the others leave idle: for a long pass beside many short ones. stream: what follows is issued to that
   * one, and plans that are made belong to it. join: what follows is issued behind all of them, in the one order that
   * there was before. Also while recording. NULL: one order only. */
  rb_status (*fork)(int count, int background);
  void (*stream)(int k);
  rb_status (*join)(void);
  /* upload and download without waiting, in order with what else is issued: `host` was pinned and keeps what it
   * holds, or is not read, until the order is past it. Memory that was not pinned will do; the call may wait then.
   * pin: RB_EDEVICE where it cannot be. All four NULL where copies are made at once. */
  rb_status (*upload_later)(void *dst, const void *host, size_t bytes);
  rb_status (*download_later)(void *host, const void *src, size_t bytes);
  rb_status (*pin)(void *host, size_t bytes);
  void (*unpin)(void *host);
} rb_backend;

/* fork, stream, join, where a backend may have one order only; one stream needs no fork. */
rb_status rb_fork(const rb_backend *b, int count, int background);
void rb_choose_stream(const rb_backend *b, int k);
rb_status rb_join(const rb_backend *b);

/* Gives a backend, or RB_EDEVICE with the reason why it cannot be used here. */
typedef rb_status rb_backend_source(const rb_backend **out);
/* Defined by cpu_ref/base and by kernels/cuda (or its stub in builds without nvcc); what is above asks the registry.
 */
rb_backend_source rb_cpu_backend, rb_cuda_backend;

/* bytes of uninitialised memory on b, aligned to 256 bytes. RB_ENOMEM names the bytes asked for. */
rb_status rb_alloc(const rb_backend *b, size_t bytes, void **out);
/* Accepts NULL. A damaged guard band is reported by rb_guard_violations(). */
void rb_release(const rb_backend *b, void *p);

/* memcpy by all cores. */
void rb_copy_parallel(void *to, const void *from, size_t bytes);

size_t rb_memory_live(rb_backend_kind kind);
size_t rb_memory_peak(rb_backend_kind kind);
void rb_memory_reset_peak(rb_backend_kind kind);
/* Bytes that a library holds for us (texture arrays, cuFFT work areas): positive when taken, negative when returned.
 */
void rb_memory_note(rb_backend_kind kind, int64_t bytes);
int rb_guard_violations(void);
/* Pretend that the backend holds only `bytes` (0: no pretence). For tests of out-of-memory paths. */
void rb_memory_limit(rb_backend_kind kind, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
