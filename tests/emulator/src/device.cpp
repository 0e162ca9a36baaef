/* SPDX-License-Identifier: BSD-3-Clause */
/* The one device: what it can hold and how much of it runs at a time. */
#include "internal.h"

#include <unistd.h>

namespace emulated {

static size_t setting(const char *name, size_t otherwise) {
  const char *text = std::getenv(name);
  const long long v = text ? std::atoll(text) : 0;
  return v > 0 ? (size_t)v : otherwise;
}

const device &this_device() {
#define DEVICE(name, arch, processors, optin, processor, l2, memory) \
  {name, arch, processors, optin, processor, l2, memory},
  static const device known[] = {
#include "devices.def"
  };
#undef DEVICE
  static device it;
  if (it.name) return it;
  for (const device &d : known)
    if (d.arch == EMULATED_ARCH && !it.name) it = d;
  if (!it.name) it = known[0], it.name = "GPU", it.arch = EMULATED_ARCH;
  it.processors = (int)setting("EMULATOR_PROCESSORS", (size_t)it.processors);
  it.shared_optin = setting("EMULATOR_SHARED", it.shared_optin);
  return it;
}

cudaError_t occupancy(int *blocks, const void *kernel, int threads, size_t shared) {
  const device &d = this_device();
  const size_t warps = ((size_t)threads + 31) / 32,
               bytes = shared + static_shared_of(kernel) + (d.arch >= 800 ? 1024 : 0);
  const size_t by_threads = (d.arch == 750 ? 1024 : 2048) / (warps * 32),
               by_shared = d.shared_processor / (bytes ? bytes : 1);
  if (threads < 1 || threads > MOST_THREADS) return last_error = cudaErrorInvalidValue;
  *blocks = (int)std::min<size_t>({by_threads, by_shared, 32});
  return cudaSuccess;
}

}  // namespace emulated

using namespace emulated;

/* CUDA_VISIBLE_DEVICES that begins with no number leaves no device. */
static bool visible() {
  const char *text = std::getenv("CUDA_VISIBLE_DEVICES");
  return !text || (text[0] >= '0' && text[0] <= '9');
}

extern "C" {
cudaError_t cudaGetDeviceCount(int *count) {
  *count = visible();
  return *count ? cudaSuccess : last_error = cudaErrorNoDevice;
}
cudaError_t cudaGetDevice(int *d) { return *d = 0, visible() ? cudaSuccess : last_error = cudaErrorNoDevice; }
cudaError_t cudaSetDevice(int d) {
  if (!visible()) return last_error = cudaErrorNoDevice;
  return d == 0 ? cudaSuccess : last_error = cudaErrorInvalidDevice;
}
cudaError_t cudaDeviceReset(void) { return cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int *v) { return *v = CUDART_VERSION, cudaSuccess; }
cudaError_t cudaDriverGetVersion(int *v) { return *v = CUDART_VERSION, cudaSuccess; }
cudaError_t cudaDeviceGetPCIBusId(char *, int, int) { return cudaErrorNotSupported; } /* it sits in no slot */
cudaError_t cudaMemGetInfo(size_t *available, size_t *total) {
  const size_t host = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE), live = device_memory_live();
  *total = std::min(this_device().memory, host);
  *available = live < *total ? *total - live : 0;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int number) {
  if (number != 0 || !visible()) return last_error = visible() ? cudaErrorInvalidDevice : cudaErrorNoDevice;
  const device &d = this_device();
  size_t available;
  *p = cudaDeviceProp();
  snprintf(p->name, sizeof p->name, "emulated %s", d.name);
  cudaMemGetInfo(&available, &p->totalGlobalMem);
  p->sharedMemPerBlock = SHARED_WITHOUT_ASKING, p->sharedMemPerBlockOptin = d.shared_optin,
  p->sharedMemPerMultiprocessor = d.shared_processor;
  p->warpSize = 32, p->maxThreadsPerBlock = MOST_THREADS,
  p->maxThreadsPerMultiProcessor = d.arch == 750 ? 1024 : 2048, p->multiProcessorCount = d.processors;
  p->l2CacheSize = (int)d.l2, p->major = d.arch / 100, p->minor = d.arch / 10 % 10, p->cooperativeLaunch = 1;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr what, int number) {
  cudaDeviceProp p;
  const cudaError_t e = cudaGetDeviceProperties(&p, number);
  if (e != cudaSuccess) return e;
  switch (what) {
    case cudaDevAttrMaxThreadsPerBlock:
      *value = p.maxThreadsPerBlock;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *value = (int)p.sharedMemPerBlock;
      break;
    case cudaDevAttrWarpSize:
      *value = 32;
      break;
    case cudaDevAttrMultiProcessorCount:
      *value = p.multiProcessorCount;
      break;
    case cudaDevAttrL2CacheSize:
      *value = p.l2CacheSize;
      break;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      *value = p.maxThreadsPerMultiProcessor;
      break;
    case cudaDevAttrComputeCapabilityMajor:
      *value = p.major;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *value = p.minor;
      break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      *value = (int)p.sharedMemPerMultiprocessor;
      break;
    case cudaDevAttrCooperativeLaunch:
      *value = 1;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = (int)p.sharedMemPerBlockOptin;
      break;
    default:
      return last_error = cudaErrorInvalidValue;
  }
  return cudaSuccess;
}
}
