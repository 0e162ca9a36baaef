/* SPDX-License-Identifier: BSD-3-Clause */
/* Host memory and the monotonic clock. */
#include "cpu_ref/base/memory_limits.h"
#include "kernels/base/backend.h"
#include "kernels/base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* one timer a backend: seconds of the monotonic clock */
static double started;

/* Aligned to 256 bytes, as the contract has it; not initialised. */
static rb_status cpu_alloc(size_t bytes, void **out) {
  /* aligned_alloc wants a multiple of the alignment, and at least one unit so that 0 bytes have an address */
  size_t padded = (bytes + 255) / 256 * 256;
  *out = aligned_alloc(256, padded ? padded : 256);
  return *out ? RB_OK : RB_FAIL(RB_ENOMEM, "host memory: %zu bytes asked for; take a smaller size", bytes);
}
static void cpu_release(void *p) { free(p); }
/* Upload and download alike: both sides are host memory. They must not overlap. */
static rb_status cpu_copy(void *dst, const void *src, size_t bytes) {
  if (bytes) memcpy(dst, src, bytes);
  return RB_OK;
}
static rb_status cpu_fill(void *dst, int byte, size_t bytes) {
  if (bytes) memset(dst, byte, bytes);
  return RB_OK;
}
/* Functions return when their work is done: there is nothing to wait for. */
static rb_status cpu_sync(void) { return RB_OK; }
/* seconds of the monotonic clock; the index is not checked */
static double stamps[RB_STAMPS];
/* A stamp is a reading of the clock: all work issued before has ended. */
static rb_status cpu_stamp(int i) {
  stamps[i] = rb_now();
  return RB_OK;
}
static rb_status cpu_stamp_interval(int from, int to, double *seconds) {
  *seconds = stamps[to] - stamps[from];
  return RB_OK;
}
static rb_status cpu_timer_start(void) {
  started = rb_now();
  return RB_OK;
}
static rb_status cpu_timer_stop(double *seconds) {
  *seconds = rb_now() - started;
  return RB_OK;
}

/* total: of the machine; available: what this process may still take */
static rb_status cpu_memory(size_t *total, size_t *available) {
  *total = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
  *available = rb_memory_available();
  return RB_OK;
}
/* Size of the third-level cache, 32 MiB where it is unknown, 64 MiB at most. */
static size_t cpu_cache_bytes(void) {
  long l3 = sysconf(_SC_LEVEL3_CACHE_SIZE);
  /* A shared server part may report hundreds of MB that one guest never owns. */
  size_t bytes = l3 > 0 ? (size_t)l3 : (size_t)32 << 20;
  return bytes > ((size_t)64 << 20) ? (size_t)64 << 20 : bytes;
}

/* No record_begin and replay: they stay NULL, as replaying would gain nothing here. */
static const rb_backend backend = {
    .name = "cpu",
    .kind = RB_CPU,
    .alloc = cpu_alloc,
    .release = cpu_release,
    .upload = cpu_copy,
    .download = cpu_copy,
    .fill = cpu_fill,
    .sync = cpu_sync,
    .timer_start = cpu_timer_start,
    .timer_stop = cpu_timer_stop,
    .stamp = cpu_stamp,
    .stamp_interval = cpu_stamp_interval,
    .memory = cpu_memory,
    .cache_bytes = cpu_cache_bytes,
};

/* Never fails. */
rb_status rb_cpu_backend(const rb_backend **out) {
  *out = &backend;
  return RB_OK;
}
