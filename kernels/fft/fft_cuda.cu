/* SPDX-License-Identifier: BSD-3-Clause */
/* cuFFT behind kernels/fft/fft.h. */
#include "kernels/cuda/cuda.cuh"
#include "kernels/fft/fft.h"

#include <cufft.h>
#include <stdlib.h>

#define RB_CUFFT_TRY(call)                                                                                         \
  do {                                                                                                             \
    cufftResult rb_r = (call);                                                                                     \
    if (rb_r != CUFFT_SUCCESS) {                                                                                   \
      st = RB_FAIL(rb_r == CUFFT_ALLOC_FAILED ? RB_ENOMEM : RB_EDEVICE, "%s: cuFFT result %d%s", #call, (int)rb_r, \
                   rb_r == CUFFT_ALLOC_FAILED ? " (GPU memory does not suffice)" : "");                            \
      goto done;                                                                                                   \
    }                                                                                                              \
  } while (0)

/* forward, inverse: plans of cuFFT; `made` pairs of them exist. field_bytes: of one real field, for copies to
 * `stage`. */
typedef struct {
  rb_fft head;
  cufftHandle forward[2], inverse[2]; /* [0] one field, [1] `most` fields */
  int made, most;
  void *work;   /* shared by the plans */
  float *stage; /* real fields that start off cuFFT's alignment, when the grid allows such */
  size_t field_bytes;
} cufft_plans;

/* Plans first: they refer to the work area. */
static void destroy(rb_fft *head) {
  cufft_plans *t = (cufft_plans *)head;
  for (int b = 0; b < t->made; b++) {
    cufftDestroy(t->forward[b]);
    cufftDestroy(t->inverse[b]);
  }
  rb_release(head->backend, t->work);
  rb_release(head->backend, t->stage);
  free(t);
}

/* One work area, as large as the greediest plan asks, serves all: they never run at the same time. Up to four plans:
 * forward and inverse, for one field and for `most`. */
static rb_status make_plans(cufft_plans *t, rb_grid g) {
  rb_status st = RB_OK;
  /* cuFFT counts the slowest axis first, as the fields lie: [n1][n2][n3]. */
  int n[3] = {(int)g.n[0], (int)g.n[1], (int)g.n[2]};
  const int skip = g.n[0] == 1; /* a field of one plane is a plane */
  size_t work, greatest = 0;
  for (int b = 0; b < (t->most > 1 ? 2 : 1); b++) {
    const int fields = b ? t->most : 1;
    RB_CUFFT_TRY(cufftCreate(&t->forward[b]));
    /* Both or none: `made` counts complete pairs. */
    if (cufftCreate(&t->inverse[b]) != CUFFT_SUCCESS) {
      cufftDestroy(t->forward[b]);
      st = RB_FAIL(RB_EDEVICE, "cuFFT refused a plan");
      goto done;
    }
    t->made = b + 1;
    /* Work areas are the project's, so that memory is counted; MakePlan tells how large they must be. */
    RB_CUFFT_TRY(cufftSetAutoAllocation(t->forward[b], 0));
    RB_CUFFT_TRY(cufftSetAutoAllocation(t->inverse[b], 0));
    /* Dense fields one after the other: no embedding, stride 1; x3 is the transformed axis that is halved. */
    RB_CUFFT_TRY(
        cufftMakePlanMany(t->forward[b], 3 - skip, n + skip, NULL, 1, 0, NULL, 1, 0, CUFFT_R2C, fields, &work));
    greatest = work > greatest ? work : greatest;
    /* The area that one plan needs may not do for its inverse: both are asked. */
    RB_CUFFT_TRY(
        cufftMakePlanMany(t->inverse[b], 3 - skip, n + skip, NULL, 1, 0, NULL, 1, 0, CUFFT_C2R, fields, &work));
    greatest = work > greatest ? work : greatest;
    RB_CUFFT_TRY(cufftSetStream(t->forward[b], rb_cuda_stream()));
    RB_CUFFT_TRY(cufftSetStream(t->inverse[b], rb_cuda_stream()));
  }
  /* One allocation for all of them. */
  RB_TRY(rb_alloc(t->head.backend, greatest, &t->work));
  for (int b = 0; b < t->made; b++) {
    RB_CUFFT_TRY(cufftSetWorkArea(t->forward[b], t->work));
    RB_CUFFT_TRY(cufftSetWorkArea(t->inverse[b], t->work));
  }
done:
  return st;
}

/* Float32 only: dtype is kept, not looked at. */
static rb_status create(const rb_backend *backend, rb_grid g, rb_dtype dtype, int most, rb_fft **out) {
  rb_status st = RB_OK;
  cufft_plans *t = (cufft_plans *)calloc(1, sizeof *t);
  RB_CHECK(t, RB_ENOMEM, "host memory");
  t->head.ops = &rb_fft_cufft, t->head.backend = backend, t->head.dtype = dtype;
  t->most = most;
  /* Bytes of a real field of float32. */
  t->field_bytes = (size_t)rb_grid_points(g) * sizeof(float);
  /* Where N divides by 4, fields of an aligned array are aligned, too; and who transforms `most` of them at once
   * needs no more than that. */
  if (most * rb_grid_points(g) % 4 != 0) RB_TRY(rb_alloc(backend, (size_t)most * t->field_bytes, (void **)&t->stage));
  RB_TRY(make_plans(t, g));
  *out = &t->head;
  t = NULL;
done:
  if (t) destroy(&t->head);
  return st;
}

static int aligned(const void *p) { return (uintptr_t)p % 16 == 0; }

/* Where N divides by 4 a stage is wanted for a caller's odd offset alone: it is made then. */
static rb_status make_stage(cufft_plans *t) {
  return t->stage ? RB_OK : rb_alloc(t->head.backend, (size_t)t->most * t->field_bytes, (void **)&t->stage);
}

/* Real arrays that do not begin on 16 bytes pass through `stage`. */
static rb_status forward(rb_fft *head, int fields, const void *from, void *spectrum) {
  rb_status st = RB_OK;
  cufft_plans *t = (cufft_plans *)head;
  const void *real = from;
  if (!aligned(real)) {
    RB_TRY(make_stage(t));
    RB_CUDA_TRY(
        cudaMemcpyAsync(t->stage, real, (size_t)fields * t->field_bytes, cudaMemcpyDeviceToDevice, rb_cuda_stream()));
    real = t->stage;
  }
  /* The plan for one field, or for `most`. */
  RB_CUFFT_TRY(cufftExecR2C(t->forward[fields > 1], (cufftReal *)real, (cufftComplex *)spectrum));
done:
  return st;
}

/* Real output off the alignment is made in `stage` and copied; the stream keeps the order. */
static rb_status inverse(rb_fft *head, int fields, void *spectrum, void *real) {
  rb_status st = RB_OK;
  cufft_plans *t = (cufft_plans *)head;
  void *to = real;
  if (!aligned(real)) {
    RB_TRY(make_stage(t));
    to = t->stage;
  }
  RB_CUFFT_TRY(cufftExecC2R(t->inverse[fields > 1], (cufftComplex *)spectrum, (cufftReal *)to));
  if (to != real)
    RB_CUDA_TRY(
        cudaMemcpyAsync(real, to, (size_t)fields * t->field_bytes, cudaMemcpyDeviceToDevice, rb_cuda_stream()));
done:
  return st;
}

extern "C" const rb_fft_ops rb_fft_cufft = {create, forward, inverse, destroy};
