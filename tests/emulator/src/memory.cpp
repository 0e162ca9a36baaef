/* SPDX-License-Identifier: BSD-3-Clause */
/* Device memory and pinned host memory: ordinary memory that is known by its ranges, filled with NaN when new. */
#include "internal.h"

#include <sys/mman.h>
#include <unistd.h>

namespace emulated {

static std::map<uintptr_t, allocation> all; /* by start */
static size_t live;

/* From here on memory is only reserved and costs what is touched: for index arithmetic on fields of which a sample of
 * blocks is run. */
enum : size_t { RESERVED = (size_t)1 << 30 };

const allocation *allocation_at(const void *p) {
  const uintptr_t at = reinterpret_cast<uintptr_t>(p);
  auto next = all.upper_bound(at);
  if (next == all.begin()) return nullptr;
  const allocation &a = std::prev(next)->second;
  return at < reinterpret_cast<uintptr_t>(a.start) + a.bytes ? &a : nullptr;
}
size_t device_memory_live() { return live; }

static char *reserve(size_t bytes) {
  void *p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? nullptr : static_cast<char *>(p);
}

extern "C" int (*emulator_allocation_fails)(void);
int (*emulator_allocation_fails)(void) = nullptr;
bool allocation_fails() { return emulator_allocation_fails && emulator_allocation_fails(); }

static cudaError_t take(void **out, size_t bytes, place_of where) {
  void *p = nullptr;
  *out = nullptr;
  if (bytes == 0) return cudaSuccess;
  if (allocation_fails()) return last_error = cudaErrorMemoryAllocation;
  const size_t most = std::getenv("EMULATOR_BLOCKS") ? (size_t)1 << 46 : this_device().memory;
  if (where == place_of::device && (bytes > most || live + bytes > most))
    return last_error = cudaErrorMemoryAllocation;
  if (where == place_of::device && (p = watch_memory(bytes))) {
  } else if (bytes >= RESERVED)
    p = reserve(bytes);
  else if (posix_memalign(&p, 512, bytes) != 0)
    p = nullptr;
  if (!p) return last_error = cudaErrorMemoryAllocation;
  watch_device(true);
  if (bytes < RESERVED) std::memset(p, 0xff, bytes);
  watch_device(false);
  all[reinterpret_cast<uintptr_t>(p)] = {static_cast<char *>(p), bytes, where};
  if (where == place_of::device) live += bytes;
  watch_new(p, bytes);
  *out = p;
  return cudaSuccess;
}

static cudaError_t give_back(void *p, place_of where) {
  if (!p) return cudaSuccess;
  run_everything(); /* frees wait for the device */
  const auto found = all.find(reinterpret_cast<uintptr_t>(p));
  if (found == all.end() || found->second.where != where)
    return fail_call(cudaErrorInvalidValue, "%p is freed and was not allocated so, or is freed twice", p);
  const size_t bytes = found->second.bytes;
  all.erase(found);
  if (where == place_of::device) live -= bytes;
  watch_gone(p, bytes);
  if (watch_owns(p)) {
  } else if (bytes >= RESERVED)
    munmap(p, bytes);
  else
    std::free(p);
  return sticky;
}

/* The caller's memory, known as pinned from now on; its contents stay. */
static cudaError_t lock_pages(void *p, size_t bytes) {
  if (!p || !bytes || allocation_at(p) || allocation_at(static_cast<char *>(p) + bytes - 1))
    return fail_call(cudaErrorInvalidValue, "%p is not memory of the host, or is pinned", p);
  if (allocation_fails()) return last_error = cudaErrorMemoryAllocation;
  all[reinterpret_cast<uintptr_t>(p)] = {static_cast<char *>(p), bytes, place_of::registered};
  return cudaSuccess;
}
static cudaError_t unlock_pages(void *p) {
  const auto found = all.find(reinterpret_cast<uintptr_t>(p));
  if (found == all.end() || found->second.where != place_of::registered)
    return fail_call(cudaErrorInvalidValue, "%p was not registered", p);
  run_everything();
  all.erase(found);
  return sticky;
}

}  // namespace emulated

using namespace emulated;

cudaError_t emulated_malloc(void **out, size_t bytes) { return take(out, bytes, place_of::device); }
cudaError_t emulated_malloc_host(void **out, size_t bytes) { return take(out, bytes, place_of::pinned); }

/* What a copy may touch: device memory within one array, or host memory. Told with its cause. */
static bool side_is_good(const void *p, size_t bytes, bool device, const char *side) {
  const allocation *a = allocation_at(p);
  const bool on_device = a && a->where == place_of::device;
  if (device != on_device) {
    fail_call(cudaErrorInvalidValue, "a copy's %s %p is %s", side, p,
              device ? "no device memory" : "device memory, not the host's");
    return false;
  }
  if (a && static_cast<const char *>(p) + bytes > a->start + a->bytes) {
    fail_call(cudaErrorInvalidValue, "a copy's %s %p: %zu bytes go %zu beyond the end of its array of %zu", side, p,
              bytes, (size_t)(static_cast<const char *>(p) + bytes - a->start - a->bytes), a->bytes);
    return false;
  }
  return true;
}

static cudaError_t copy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream,
                        bool wait) {
  if (sticky != cudaSuccess) return sticky;
  if (bytes == 0) return cudaSuccess;
  if (kind == cudaMemcpyDefault) {
    const allocation *a = allocation_at(to), *b = allocation_at(from);
    const bool to_device = a && a->where == place_of::device, from_device = b && b->where == place_of::device;
    kind = to_device     ? (from_device ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice)
           : from_device ? cudaMemcpyDeviceToHost
                         : cudaMemcpyHostToHost;
  }
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice,
             from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (!side_is_good(to, bytes, to_device, "target") || !side_is_good(from, bytes, from_device, "source"))
    return cudaErrorInvalidValue;
  const allocation *pinned_from = from_device ? nullptr : allocation_at(from),
                   *pinned_to = to_device ? nullptr : allocation_at(to);
  cudaError_t e;
  if (!from_device && !pinned_from) { /* the driver takes pageable memory at the call */
    std::vector<char> staged(static_cast<const char *>(from), static_cast<const char *>(from) + bytes);
    e = enqueue(stream, [to, staged]() {
      std::memcpy(to, staged.data(), staged.size());
      watch_written(to, staged.size());
    });
  } else {
    e = enqueue(
        stream,
        [to, from, bytes, from_device,
         to_device]() { /* what is copied to the host is not looked at: the host may know which part is meant */
                        std::memmove(to, from, bytes);
                        if (to_device && from_device)
                          watch_copied(to, from, bytes);
                        else if (to_device)
                          watch_written(to, bytes);
        });
  }
  if (e == cudaSuccess && (wait || (!to_device && !pinned_to)))
    e = run_through(stream); /* into pageable memory: the call waits */
  return e;
}

static cudaError_t fill(void *to, int byte, size_t bytes, cudaStream_t stream) {
  if (sticky != cudaSuccess) return sticky;
  if (bytes == 0) return cudaSuccess;
  if (!side_is_good(to, bytes, true, "target")) return cudaErrorInvalidValue;
  return enqueue(stream, [to, byte, bytes]() {
    std::memset(to, byte, bytes);
    if (byte != 0xff) watch_written(to, bytes); /* all ones are NaN: what poisons writes nothing */
  });
}

extern "C" {
cudaError_t cudaFree(void *p) { return give_back(p, place_of::device); }
cudaError_t cudaHostRegister(void *p, size_t bytes, unsigned) { return lock_pages(p, bytes); }
cudaError_t cudaHostUnregister(void *p) { return unlock_pages(p); }
cudaError_t cudaFreeHost(void *p) { return give_back(p, place_of::pinned); }
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
  return copy(to, from, bytes, kind, nullptr, true);
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t s) {
  return copy(to, from, bytes, kind, s, false);
}
cudaError_t cudaMemset(void *to, int byte, size_t bytes) {
  const cudaError_t e = fill(to, byte, bytes, nullptr);
  return e == cudaSuccess ? run_through(nullptr) : e;
}
cudaError_t cudaMemsetAsync(void *to, int byte, size_t bytes, cudaStream_t s) { return fill(to, byte, bytes, s); }
}
