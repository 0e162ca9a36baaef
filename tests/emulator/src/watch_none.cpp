/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds that do not watch. */
#include "internal.h"

namespace emulated {
void watch_launch_begins(const launch_request &) {}
void watch_launch_ends() {}
void watch_block_begins(block_state &) {}
void watch_syncwarp(block_state &, int, unsigned) {}
void watch_copy(const pending_copy &) {}
void watch_written(const void *, size_t) {}
void watch_copied(const void *, const void *, size_t) {}
void watch_read(const void *, size_t, const char *) {}
void watch_new(const void *, size_t) {}
void watch_gone(const void *, size_t) {}
char *watch_memory(size_t) { return nullptr; }
bool watch_owns(const void *) { return false; }
void watch_device(bool) {}
bool watch_reported() { return false; }
void watch_atomic(const void *, size_t, bool) {}
}  // namespace emulated
