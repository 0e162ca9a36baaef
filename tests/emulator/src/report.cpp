/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages, places in the source, and what happens after an error. */
#include "internal.h"

#include <cstdarg>
#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

namespace emulated {

cudaError_t sticky = cudaSuccess, last_error = cudaSuccess;

void tell(const char *format, ...) {
  char text[2048];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  fflush(stdout);
  fprintf(stderr, "emulator: %s\n", text);
}

const char *base_name(const char *path) {
  const char *slash = std::strrchr(path, '/');
  return slash ? slash + 1 : path;
}

std::string source_of(const void *pc) {
  Dl_info info;
  link_map *map = nullptr;
  if (!dladdr1(pc, &info, reinterpret_cast<void **>(&map), RTLD_DL_LINKMAP) || !map) return "?";
  char command[4400], line[1024] = "";
  snprintf(command, sizeof command, "addr2line -i -e '%.4000s' 0x%llx 2>/dev/null",
           map->l_name[0] ? map->l_name : "/proc/self/exe",
           (unsigned long long)(reinterpret_cast<uintptr_t>(pc) - 1 -
                                map->l_addr)); /* of the call, not of what follows it */
  char self[4096];
  const ssize_t n = map->l_name[0] ? -1 : readlink("/proc/self/exe", self, sizeof self - 1);
  if (n > 0) {
    self[n] = '\0';
    snprintf(command, sizeof command, "addr2line -i -e '%.4000s' 0x%llx 2>/dev/null", self,
             (unsigned long long)(reinterpret_cast<uintptr_t>(pc) - 1 - map->l_addr));
  }
  std::string found = "?";
  if (FILE *f = popen(command, "r")) {
    while (fgets(line, sizeof line,
                 f)) { /* inlined functions first: the emulator's own headers are not what the reader looks for */
      line[std::strcspn(line, " \n")] = '\0';
      if (line[0] == '?') continue;
      found = base_name(line);
      if (!std::strstr(line, "/emulated/") && !std::strstr(line, "cuda_pipeline_primitives.h")) break;
    }
    pclose(f);
  }
  return found;
}

cudaError_t fail_call(cudaError_t e, const char *format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  tell("%s", text);
  last_error = e;
  return e;
}
void set_launch_error(cudaError_t e) {
  if (e != cudaSuccess) last_error = e;
}

}  // namespace emulated

using namespace emulated;

extern "C" {
cudaError_t cudaPeekAtLastError(void) { return sticky != cudaSuccess ? sticky : last_error; }
cudaError_t cudaGetLastError(void) {
  const cudaError_t e = cudaPeekAtLastError();
  last_error = cudaSuccess;
  return e;
}
const char *cudaGetErrorName(cudaError_t e) { return cudaGetErrorString(e); }
const char *cudaGetErrorString(cudaError_t e) {
  switch (e) {
    case cudaSuccess:
      return "no error";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInvalidConfiguration:
      return "invalid configuration argument";
    case cudaErrorInvalidDevicePointer:
      return "invalid device pointer";
    case cudaErrorInvalidTexture:
      return "invalid texture";
    case cudaErrorNoDevice:
      return "no CUDA-capable device is detected";
    case cudaErrorInvalidDevice:
      return "invalid device ordinal";
    case cudaErrorInvalidResourceHandle:
      return "invalid resource handle";
    case cudaErrorNotReady:
      return "device not ready";
    case cudaErrorLaunchOutOfResources:
      return "too many resources requested for launch";
    case cudaErrorLaunchFailure:
      return "unspecified launch failure (the emulator told why)";
    case cudaErrorCooperativeLaunchTooLarge:
      return "too many blocks in cooperative launch";
    case cudaErrorNotSupported:
      return "operation not supported by the emulator";
    case cudaErrorStreamCaptureUnsupported:
      return "operation not permitted when stream is capturing";
    case cudaErrorStreamCaptureInvalidated:
      return "operation failed due to a previous error during capture";
    case cudaErrorStreamCaptureUnjoined:
      return "capturing stream has unjoined work";
    default:
      return "unknown error";
  }
}
}
