/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan that all texture variants of interp share: one 3D CUDA array and texture object a component. */
#ifndef RB_INTERP_TEXTURE_CUH
#define RB_INTERP_TEXTURE_CUH

#include "kernels/interp/interp_weights.cuh"

#include <stdlib.h>

/* array: n3 x n2 x n1 texels of one float. */
typedef struct {
  cudaArray_t array;
  cudaTextureObject_t texture;
} texture_component;

typedef struct {
  rb_interp_plan head;
  texture_component *component; /* [components] */
  float *coefficients;          /* B-spline only: prefiltered copy, and scratch of the same size */
  float *scratch;
  int components;
  int64_t array_bytes; /* of one */
} texture_plan;

/* 3D textures have a limit an axis; everything else follows from the basis, which the variants check. */
static rb_status texture_supports_all(const rb_interp_desc *desc) {
  if (desc->dtype != RB_F32) return RB_FAIL(RB_EUNSUPPORTED, "texture variants are float32 only");
  for (int a = 0; a < 3; a++) /* limit of 3D textures, cc 7.5 and later */
    if (desc->grid.n[a] > 16384) return RB_FAIL(RB_EUNSUPPORTED, "3D textures end at 16384 texels an axis");
  return RB_OK;
}

/* Takes a plan that is made in part. */
static void texture_destroy(rb_interp_plan *head) {
  /* Components are made in order; handles of 0 were never made. */
  texture_plan *p = (texture_plan *)head;
  for (int c = 0; c < p->components; c++) {
    if (p->component[c].texture) cudaDestroyTextureObject(p->component[c].texture);
    if (p->component[c].array) {
      cudaFreeArray(p->component[c].array);
      rb_memory_note(RB_CUDA, -p->array_bytes);
    }
  }
  free(p->component);
  rb_release(head->backend, p->coefficients);
  rb_release(head->backend, p->scratch);
  free(p);
}

/* filter: linear for the hardware's trilinear fetch, point for look-ups. Extents count the fastest axis first: x3,
 * x2, x1 become the array's width, height, depth. */
static rb_status texture_plan_create(const rb_backend *backend, const rb_interp_desc *d, cudaTextureFilterMode filter,
                                     rb_interp_plan **out) {
  rb_status st = RB_OK;
  cudaExtent extent = make_cudaExtent((size_t)d->grid.n[2], (size_t)d->grid.n[1], (size_t)d->grid.n[0]);
  cudaChannelFormatDesc channel = cudaCreateChannelDesc<float>();
  /* The unit applies the boundary: outside it wraps, repeats the border texel, or gives 0. */
  cudaTextureAddressMode mode = d->boundary == RB_PERIODIC ? cudaAddressModeWrap
                                : d->boundary == RB_CLAMP  ? cudaAddressModeClamp
                                                           : cudaAddressModeBorder;
  cudaResourceDesc resource = {};
  cudaTextureDesc texture = {};
  /* The table of components is zero, so that a failure half-way can be undone. */
  texture_plan *p = (texture_plan *)calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  p->head.backend = backend;
  /* Bytes of one array, as the memory account has them. */
  p->array_bytes = rb_grid_points(d->grid) * (int64_t)sizeof(float);
  p->component = (texture_component *)calloc((size_t)d->components, sizeof *p->component);
  RB_CHECK(p->component, RB_ENOMEM, "host memory");
  p->components = d->components;
  /* The same rule along all axes. */
  for (int a = 0; a < 3; a++) texture.addressMode[a] = mode;
  texture.filterMode = filter;
  texture.readMode = cudaReadModeElementType;
  texture.normalizedCoords = 1; /* wrap needs it; the others follow */
  for (int c = 0; c < d->components; c++) {
    RB_CUDA_TRY(cudaMalloc3DArray(&p->component[c].array, &channel, extent));
    /* Arrays are not the backend's allocations: they are told to the memory account. */
    rb_memory_note(RB_CUDA, p->array_bytes);
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = p->component[c].array;
    RB_CUDA_TRY(cudaCreateTextureObject(&p->component[c].texture, &resource, &texture, NULL));
  }
  *out = &p->head;
  return RB_OK;
done:
  if (p) texture_destroy(&p->head);
  return st;
}

/* Copy all components of f into the arrays: device to device, asynchronous. One 3D copy a component, in stream order
 * before the fetches that follow. */
static rb_status texture_copy(texture_plan *p, const float *f) {
  rb_status st = RB_OK;
  const rb_grid g = p->head.desc.grid;
  for (int c = 0; c < p->head.desc.components; c++) {
    cudaMemcpy3DParms copy = {};
    /* A component lies densely: the pitch of a row is n3 floats. */
    copy.srcPtr = make_cudaPitchedPtr((void *)(f + c * rb_grid_points(g)), (size_t)g.n[2] * sizeof(float),
                                      (size_t)g.n[2], (size_t)g.n[1]);
    copy.dstArray = p->component[c].array;
    copy.extent = make_cudaExtent((size_t)g.n[2], (size_t)g.n[1], (size_t)g.n[0]);
    copy.kind = cudaMemcpyDeviceToDevice;
    RB_CUDA_TRY(cudaMemcpy3DAsync(&copy, rb_cuda_stream()));
  }
done:
  return st;
}

[[maybe_unused]] static rb_status texture_load(rb_interp_plan *head, const void *f) {
  return texture_copy((texture_plan *)head, (const float *)f);
}

/* Points come in grid units along x1, x2, x3; the texture's u, v, w are x3, x2, x1 over n. 1/n of each axis: from
 * texel units to normalised ones. */
struct unit_scale {
  float s1, s2, s3;
  /* float32 quotients; the kernel multiplies. */
};
static inline unit_scale texture_scale(rb_grid g) {
  unit_scale s = {1.0f / (float)g.n[0], 1.0f / (float)g.n[1], 1.0f / (float)g.n[2]};
  return s;
}

/* One thread a point and component; FETCH(texture, x1, x2, x3, scale) is the variant's idea. x [3][np]: neighbouring
 * threads read neighbouring coordinates. */
template <float (*FETCH)(cudaTextureObject_t, float, float, float, unit_scale)>
static __global__ void __launch_bounds__(256)
    texture_kernel(cudaTextureObject_t texture, int64_t np, const float *__restrict__ x, float *__restrict__ out,
                   unit_scale s) {
  int64_t p = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (p < np) out[p] = FETCH(texture, x[p], x[np + p], x[2 * np + p], s);
}

/* np may differ from call to call. */
template <float (*FETCH)(cudaTextureObject_t, float, float, float, unit_scale)>
static rb_status texture_eval(rb_interp_plan *head, int64_t np, const void *x, void *out) {
  rb_status st = RB_OK;
  texture_plan *p = (texture_plan *)head;
  /* The points are read again for every component. */
  for (int c = 0; c < head->desc.components; c++)
    RB_LAUNCH(texture_kernel<FETCH>, rb_blocks(np, 256), 256, 0, p->component[c].texture, np, (const float *)x,
              (float *)out + c * np, texture_scale(head->desc.grid));
done:
  return st;
}

#endif
