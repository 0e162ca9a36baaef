/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/spectral/fft_cuda.cuh"

#define RB_CUFFT_TRY(call)                                                                                         \
  do {                                                                                                             \
    cufftResult rb_r = (call);                                                                                     \
    if (rb_r != CUFFT_SUCCESS) {                                                                                   \
      st = RB_FAIL(rb_r == CUFFT_ALLOC_FAILED ? RB_ENOMEM : RB_EDEVICE, "%s: cuFFT result %d%s", #call, (int)rb_r, \
                   rb_r == CUFFT_ALLOC_FAILED ? " (GPU memory does not suffice)" : "");                            \
      goto done;                                                                                                   \
    }                                                                                                              \
  } while (0)

/* One work area, as large as the greediest plan asks, serves all: they never run at the same time. */
rb_status rb_cufft_create(rb_cufft *t, rb_grid g, int three) {
  rb_status st = RB_OK;
  int n[3] = {(int)g.n[0], (int)g.n[1], (int)g.n[2]};
  size_t work, most = 0;
  t->field_bytes = (size_t)rb_grid_points(g) * sizeof(float);
  RB_TRY(rb_cuda_backend(&t->backend));
  if (rb_grid_points(g) % 4 != 0) RB_TRY(rb_alloc(t->backend, (three ? 3 : 1) * t->field_bytes, (void **)&t->stage));
  for (int b = 0; b < (three ? 2 : 1); b++) {
    RB_CUFFT_TRY(cufftCreate(&t->forward[b]));
    if (cufftCreate(&t->inverse[b]) != CUFFT_SUCCESS) {
      cufftDestroy(t->forward[b]);
      st = RB_FAIL(RB_EDEVICE, "cuFFT refused a plan");
      goto done;
    }
    t->made = b + 1;
    RB_CUFFT_TRY(cufftSetAutoAllocation(t->forward[b], 0));
    RB_CUFFT_TRY(cufftSetAutoAllocation(t->inverse[b], 0));
    RB_CUFFT_TRY(cufftMakePlanMany(t->forward[b], 3, n, NULL, 1, 0, NULL, 1, 0, CUFFT_R2C, b ? 3 : 1, &work));
    most = work > most ? work : most;
    RB_CUFFT_TRY(cufftMakePlanMany(t->inverse[b], 3, n, NULL, 1, 0, NULL, 1, 0, CUFFT_C2R, b ? 3 : 1, &work));
    most = work > most ? work : most;
    RB_CUFFT_TRY(cufftSetStream(t->forward[b], rb_cuda_stream()));
    RB_CUFFT_TRY(cufftSetStream(t->inverse[b], rb_cuda_stream()));
  }
  RB_TRY(rb_alloc(t->backend, most, &t->work));
  for (int b = 0; b < t->made; b++) {
    RB_CUFFT_TRY(cufftSetWorkArea(t->forward[b], t->work));
    RB_CUFFT_TRY(cufftSetWorkArea(t->inverse[b], t->work));
  }
done:
  return st;
}

static int aligned(const void *p) { return (uintptr_t)p % 16 == 0; }

rb_status rb_cufft_forward(rb_cufft *t, int fields, const float *real, float2 *spectrum) {
  rb_status st = RB_OK;
  if (!aligned(real)) {
    RB_CUDA_TRY(
        cudaMemcpyAsync(t->stage, real, (size_t)fields * t->field_bytes, cudaMemcpyDeviceToDevice, rb_cuda_stream()));
    real = t->stage;
  }
  RB_CUFFT_TRY(cufftExecR2C(t->forward[fields == 3], (cufftReal *)real, (cufftComplex *)spectrum));
done:
  return st;
}

rb_status rb_cufft_inverse(rb_cufft *t, int fields, float2 *spectrum, float *real) {
  rb_status st = RB_OK;
  float *to = aligned(real) ? real : t->stage;
  RB_CUFFT_TRY(cufftExecC2R(t->inverse[fields == 3], (cufftComplex *)spectrum, (cufftReal *)to));
  if (to != real)
    RB_CUDA_TRY(
        cudaMemcpyAsync(real, to, (size_t)fields * t->field_bytes, cudaMemcpyDeviceToDevice, rb_cuda_stream()));
done:
  return st;
}

void rb_cufft_destroy(rb_cufft *t) {
  if (!t->backend) return;
  for (int b = 0; b < t->made; b++) {
    cufftDestroy(t->forward[b]);
    cufftDestroy(t->inverse[b]);
  }
  rb_release(t->backend, t->work);
  rb_release(t->backend, t->stage);
}
