/* Stand-in for the CUDA backend in builds without nvcc: everything that asks for a GPU learns why. */
#include "kernels/base/backend.h"

rb_status rb_cuda_backend(const rb_backend **out) {
  *out = NULL;
  return RB_FAIL(RB_EDEVICE, "built without CUDA: configure with nvcc on PATH to get the CUDA variants");
}
