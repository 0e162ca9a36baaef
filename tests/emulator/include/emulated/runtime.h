/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of the CUDA runtime API that is emulated: memory, arrays and textures, streams, events, graphs, launches,
 * attributes of one device. Streams are lazy: what is issued runs when somebody waits for it, so that a missing wait
 * shows. */
#ifndef EMULATED_RUNTIME_H
#define EMULATED_RUNTIME_H

#include "emulated/language.h"
#include "emulated/texture.h"

#define CUDART_VERSION 13000
#define CUDA_VERSION 13000

typedef enum cudaError {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorInvalidPitchValue = 12,
  cudaErrorInvalidSymbol = 13,
  cudaErrorInvalidDevicePointer = 17,
  cudaErrorInvalidTexture = 18,
  cudaErrorInvalidMemcpyDirection = 21,
  cudaErrorInsufficientDriver = 35,
  cudaErrorDevicesUnavailable = 46,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorNoKernelImageForDevice = 209,
  cudaErrorInvalidResourceHandle = 400,
  cudaErrorNotReady = 600,
  cudaErrorLaunchOutOfResources = 701,
  cudaErrorLaunchFailure = 719,
  cudaErrorCooperativeLaunchTooLarge = 720,
  cudaErrorNotSupported = 801,
  cudaErrorStreamCaptureUnsupported = 900,
  cudaErrorStreamCaptureInvalidated = 901,
  cudaErrorStreamCaptureUnjoined = 904,
  cudaErrorUnknown = 999
} cudaError_t;

extern "C" {
cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);
const char *cudaGetErrorString(cudaError_t e);
const char *cudaGetErrorName(cudaError_t e);

/* ---- device ------------------------------------------------------------------------------------------------- */

enum cudaDeviceAttr {
  cudaDevAttrMaxThreadsPerBlock = 1,
  cudaDevAttrMaxSharedMemoryPerBlock = 8,
  cudaDevAttrWarpSize = 10,
  cudaDevAttrMultiProcessorCount = 16,
  cudaDevAttrL2CacheSize = 38,
  cudaDevAttrMaxThreadsPerMultiProcessor = 39,
  cudaDevAttrComputeCapabilityMajor = 75,
  cudaDevAttrComputeCapabilityMinor = 76,
  cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
  cudaDevAttrCooperativeLaunch = 95,
  cudaDevAttrMaxSharedMemoryPerBlockOptin = 97
};
struct cudaDeviceProp {
  char name[256];
  size_t totalGlobalMem, sharedMemPerBlock, sharedMemPerBlockOptin, sharedMemPerMultiprocessor;
  int warpSize, maxThreadsPerBlock, maxThreadsPerMultiProcessor, multiProcessorCount, l2CacheSize, major, minor,
      cooperativeLaunch;
};
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaDeviceReset(void); /* of a device on which nothing was made */
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int device);
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr what, int device);
cudaError_t cudaDeviceGetPCIBusId(char *out, int length, int device);
cudaError_t cudaRuntimeGetVersion(int *version);
cudaError_t cudaDriverGetVersion(int *version);
cudaError_t cudaMemGetInfo(size_t *available, size_t *total);
cudaError_t cudaDeviceSynchronize(void);

/* ---- memory ------------------------------------------------------------------------------------------------- */

enum cudaMemcpyKind {
  cudaMemcpyHostToHost,
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault
};
enum { cudaHostRegisterDefault = 0 };
enum { cudaHostAllocDefault = 0, cudaHostAllocPortable = 1, cudaHostAllocMapped = 2 };
typedef struct emulated_stream *cudaStream_t;
typedef struct emulated_event *cudaEvent_t;
typedef struct emulated_array *cudaArray_t;
typedef struct emulated_graph *cudaGraph_t;
typedef struct emulated_graph *cudaGraphExec_t;

cudaError_t cudaFree(void *p);
cudaError_t cudaHostRegister(void *p, size_t bytes, unsigned flags);
cudaError_t cudaHostUnregister(void *p);
cudaError_t cudaFreeHost(void *p);
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream = nullptr);
cudaError_t cudaMemset(void *to, int byte, size_t bytes);
cudaError_t cudaMemsetAsync(void *to, int byte, size_t bytes, cudaStream_t stream = nullptr);

/* ---- arrays, textures, surfaces ------------------------------------------------------------------------------- */

enum cudaChannelFormatKind { cudaChannelFormatKindSigned, cudaChannelFormatKindUnsigned, cudaChannelFormatKindFloat };
struct cudaChannelFormatDesc {
  int x, y, z, w; /* bits a channel */
  cudaChannelFormatKind f;
};
struct cudaExtent {
  size_t width, height, depth;
};
struct cudaPitchedPtr {
  void *ptr;
  size_t pitch, xsize, ysize;
};
struct cudaPos {
  size_t x, y, z;
};
struct cudaMemcpy3DParms {
  cudaArray_t srcArray;
  cudaPos srcPos;
  cudaPitchedPtr srcPtr;
  cudaArray_t dstArray;
  cudaPos dstPos;
  cudaPitchedPtr dstPtr;
  cudaExtent extent;
  cudaMemcpyKind kind;
};
enum { cudaArrayDefault = 0, cudaArraySurfaceLoadStore = 2 };
enum cudaResourceType { cudaResourceTypeArray, cudaResourceTypeLinear };
struct cudaResourceDesc {
  cudaResourceType resType;
  struct {
    struct {
      cudaArray_t array;
    } array;
    struct {
      void *devPtr;
      cudaChannelFormatDesc desc;
      size_t sizeInBytes;
    } linear;
  } res;
};
enum cudaTextureAddressMode {
  cudaAddressModeWrap,
  cudaAddressModeClamp,
  cudaAddressModeMirror,
  cudaAddressModeBorder
};
enum cudaTextureFilterMode { cudaFilterModePoint, cudaFilterModeLinear };
enum cudaTextureReadMode { cudaReadModeElementType, cudaReadModeNormalizedFloat };
struct cudaTextureDesc {
  cudaTextureAddressMode addressMode[3];
  cudaTextureFilterMode filterMode;
  cudaTextureReadMode readMode;
  int sRGB;
  float borderColor[4];
  int normalizedCoords;
};
struct cudaResourceViewDesc;
cudaError_t cudaMalloc3DArray(cudaArray_t *out, const cudaChannelFormatDesc *channel, cudaExtent extent,
                              unsigned flags = 0);
cudaError_t cudaMallocArray(cudaArray_t *out, const cudaChannelFormatDesc *channel, size_t width, size_t height = 0,
                            unsigned flags = 0);
cudaError_t cudaFreeArray(cudaArray_t a);
cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms *p);
cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms *p, cudaStream_t stream = nullptr);
cudaError_t cudaCreateTextureObject(cudaTextureObject_t *out, const cudaResourceDesc *resource,
                                    const cudaTextureDesc *texture, const cudaResourceViewDesc *view);
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t t);
cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *out, const cudaResourceDesc *resource);
cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t s);

/* ---- streams, events, graphs ------------------------------------------------------------------------------------
 */

enum {
  cudaStreamDefault = 0,
  cudaStreamNonBlocking = 1,
  cudaEventDefault = 0,
  cudaEventBlockingSync = 1,
  cudaEventDisableTiming = 2
};
enum { cudaGraphInstantiateFlagUseNodePriority = 8 };
enum cudaStreamCaptureMode {
  cudaStreamCaptureModeGlobal,
  cudaStreamCaptureModeThreadLocal,
  cudaStreamCaptureModeRelaxed
};
typedef void (*cudaHostFn_t)(void *context);
cudaError_t cudaStreamCreate(cudaStream_t *out);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags);
/* Priorities change no order here: streams run in any that their events allow. */
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *out, unsigned flags, int priority);
cudaError_t cudaStreamDestroy(cudaStream_t s);
cudaError_t cudaStreamSynchronize(cudaStream_t s);
cudaError_t cudaStreamQuery(cudaStream_t s);
cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned flags = 0);
cudaError_t cudaLaunchHostFunc(cudaStream_t s, cudaHostFn_t f, void *context);
cudaError_t cudaEventCreate(cudaEvent_t *out);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t e);
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s = nullptr);
cudaError_t cudaEventSynchronize(cudaEvent_t e);
cudaError_t cudaEventQuery(cudaEvent_t e);
/* NaN: an emulated run has no times. */
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to);
cudaError_t cudaStreamBeginCapture(cudaStream_t s, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *out);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t g, unsigned long long flags = 0);
cudaError_t cudaGraphLaunch(cudaGraphExec_t g, cudaStream_t s);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t g);
cudaError_t cudaGraphDestroy(cudaGraph_t g);
}

template <class T>
cudaError_t cudaMalloc(T **out, size_t bytes) {
  extern cudaError_t emulated_malloc(void **, size_t);
  return emulated_malloc(reinterpret_cast<void **>(out), bytes);
}
template <class T>
cudaError_t cudaMallocHost(T **out, size_t bytes, unsigned = 0) {
  extern cudaError_t emulated_malloc_host(void **, size_t);
  return emulated_malloc_host(reinterpret_cast<void **>(out), bytes);
}
template <class T>
cudaError_t cudaHostAlloc(T **out, size_t bytes, unsigned flags) {
  return cudaMallocHost(out, bytes, flags);
}
template <class T>
cudaChannelFormatDesc cudaCreateChannelDesc();
template <>
inline cudaChannelFormatDesc cudaCreateChannelDesc<float>() {
  return {32, 0, 0, 0, cudaChannelFormatKindFloat};
}
template <>
inline cudaChannelFormatDesc cudaCreateChannelDesc<float2>() {
  return {32, 32, 0, 0, cudaChannelFormatKindFloat};
}
template <>
inline cudaChannelFormatDesc cudaCreateChannelDesc<float4>() {
  return {32, 32, 32, 32, cudaChannelFormatKindFloat};
}
static inline cudaExtent make_cudaExtent(size_t w, size_t h, size_t d) { return {w, h, d}; }
static inline cudaPitchedPtr make_cudaPitchedPtr(void *p, size_t pitch, size_t xsize, size_t ysize) {
  return {p, pitch, xsize, ysize};
}
static inline cudaPos make_cudaPos(size_t x, size_t y, size_t z) { return {x, y, z}; }
template <class T>
cudaError_t cudaMemcpyToSymbol(T &symbol, const void *from, size_t bytes, size_t offset = 0,
                               cudaMemcpyKind = cudaMemcpyHostToDevice) {
  if (offset + bytes > sizeof symbol) return cudaErrorInvalidValue;
  const cudaError_t e = cudaDeviceSynchronize(); /* kernels before it saw the old value */
  std::memcpy(reinterpret_cast<char *>(&symbol) + offset, from, bytes);
  return e;
}

/* ---- launches ------------------------------------------------------------------------------------------------- */

enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaFuncAttributePreferredSharedMemoryCarveout = 9
};
enum cudaLaunchAttributeID { cudaLaunchAttributeIgnore, cudaLaunchAttributeCooperative = 2 };
struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  struct {
    int cooperative;
  } val;
};
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute *attrs;
  unsigned numAttrs;
};

namespace emulated {
/* A kernel and copies of its arguments; `run` runs one thread. */
struct call {
  std::shared_ptr<void> arguments;
  size_t bytes;
  void (*run)(const void *arguments);
};
/* Checks a launch and puts it into its stream. name: as written in the source. */
cudaError_t enqueue_launch(const char *name, const void *kernel, dim3 grid, dim3 block, size_t shared,
                           bool cooperative, cudaStream_t stream, call body);
cudaError_t set_dynamic_shared(const void *kernel, int bytes);
cudaError_t occupancy(int *blocks, const void *kernel, int threads, size_t shared);

/* Arguments are converted and copied at the launch, as the driver does. */
template <class... P, class... A>
cudaError_t launch(const char *name, bool cooperative, void (*kernel)(P...), dim3 grid, dim3 block, size_t shared,
                   cudaStream_t stream, A &&...arguments) {
  static_assert(sizeof...(P) == sizeof...(A), "a launch must give every parameter of the kernel");
  struct packed {
    void (*kernel)(P...);
    std::tuple<typename std::decay<P>::type...> copies;
  };
  const auto all = std::make_shared<packed>(packed{kernel, {static_cast<P>(arguments)...}});
  return enqueue_launch(name, reinterpret_cast<const void *>(kernel), grid, block, shared, cooperative, stream,
                        {all, sizeof(packed), [](const void *p) {
                           const packed *c = static_cast<const packed *>(p);
                           std::apply(c->kernel, c->copies);
                         }});
}

/* kernel<<<grid, block, shared, stream>>>(...) as an expression: emulated::configure(kernel, grid, block, shared,
 * stream)(...). */
template <class... P>
struct configured {
  const char *name;
  void (*kernel)(P...);
  dim3 grid, block;
  size_t shared;
  cudaStream_t stream;
  template <class... A>
  void operator()(A &&...arguments) const {
    extern void set_launch_error(cudaError_t);
    set_launch_error(launch(name, false, kernel, grid, block, shared, stream, std::forward<A>(arguments)...));
  }
};
template <class... P>
configured<P...> configure(const char *name, void (*kernel)(P...), dim3 grid, dim3 block, size_t shared = 0,
                           cudaStream_t stream = nullptr) {
  return {name, kernel, grid, block, shared, stream};
}
}  // namespace emulated

template <class... P, class... A>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *c, void (*kernel)(P...), A &&...arguments) {
  bool cooperative = false;
  for (unsigned i = 0; i < c->numAttrs; i++)
    if (c->attrs[i].id == cudaLaunchAttributeCooperative) cooperative = c->attrs[i].val.cooperative != 0;
  return emulated::launch("a kernel", cooperative, kernel, c->gridDim, c->blockDim, c->dynamicSmemBytes, c->stream,
                          std::forward<A>(arguments)...);
}
template <class... P>
cudaError_t cudaFuncSetAttribute(void (*kernel)(P...), cudaFuncAttribute what, int value) {
  return what == cudaFuncAttributeMaxDynamicSharedMemorySize
             ? emulated::set_dynamic_shared(reinterpret_cast<const void *>(kernel), value)
             : cudaSuccess;
}
static inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *kernel, int threads,
                                                                        size_t shared) {
  return emulated::occupancy(blocks, kernel, threads, shared);
}
template <class... P>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void (*kernel)(P...), int threads,
                                                          size_t shared) {
  return emulated::occupancy(blocks, reinterpret_cast<const void *>(kernel), threads, shared);
}

#endif
