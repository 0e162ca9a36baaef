/* SPDX-License-Identifier: BSD-3-Clause */
/* ha2012 section 5.2, "linear 1D texture": trilinear from eight look-ups in a texture over the field's own memory,
 * weights in float32; nothing is copied. */
#include "kernels/interp/interp_weights.cuh"

#include <stdlib.h>

/* Textures over plain memory begin on a multiple of this many bytes, and end at so many texels (cc 7.5 and later). */
#define ALIGNMENT ((uintptr_t)512)
#define MOST_TEXELS ((int64_t)1 << 28)

/* One texture over the caller's field, all components of it. */
typedef struct {
  rb_interp_plan head;
  cudaTextureObject_t texture;
  const float *field; /* what `texture` was made for */
  int first;          /* texel of the field's first value */
} texture_1d_plan;

static rb_status supports(const rb_interp_desc *d) {
  if (d->dtype != RB_F32) return RB_FAIL(RB_EUNSUPPORTED, "texture variants are float32 only");
  if (d->basis != RB_LINEAR) return RB_FAIL(RB_EUNSUPPORTED, "cuda/texture-1d is linear only");
  if (rb_grid_points(d->grid) * d->components > MOST_TEXELS - (int64_t)(ALIGNMENT / sizeof(float)))
    return RB_FAIL(RB_EUNSUPPORTED, "1D textures end at 2^28 texels");
  return RB_OK;
}

/* The texture goes; the field is the caller's. */
static void destroy(rb_interp_plan *head) {
  texture_1d_plan *p = (texture_1d_plan *)head;
  if (p->texture) cudaDestroyTextureObject(p->texture);
  free(p);
}

/* Nothing is allocated: the texture is made by load. */
static rb_status plan(const rb_backend *backend, const rb_interp_desc *d, rb_interp_plan **out) {
  texture_1d_plan *p = (texture_1d_plan *)calloc(1, sizeof *p);
  (void)d;
  if (!p) return RB_FAIL(RB_ENOMEM, "host memory");
  p->head.backend = backend;
  *out = &p->head;
  return RB_OK;
}

/* A texture object is a description, made once a field. */
static rb_status load(rb_interp_plan *head, const void *f) {
  rb_status st = RB_OK;
  texture_1d_plan *p = (texture_1d_plan *)head;
  cudaResourceDesc resource = {};
  cudaTextureDesc texture = {};
  /* The texture begins at the last multiple of ALIGNMENT before the field; `first` texels lie between. */
  const uintptr_t begin = (uintptr_t)f / ALIGNMENT * ALIGNMENT;
  if (p->texture && p->field == (const float *)f)
    return RB_OK; /* the same memory: the texture shows its present contents */
  if (p->texture) cudaDestroyTextureObject(p->texture);
  p->texture = 0;
  p->field = (const float *)f;
  p->first = (int)(((uintptr_t)f - begin) / sizeof(float));
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = (void *)begin;
  resource.res.linear.desc = cudaCreateChannelDesc<float>();
  /* Up to the field's last value, with all components. */
  resource.res.linear.sizeInBytes =
      (size_t)(p->first + rb_grid_points(head->desc.grid) * head->desc.components) * sizeof(float);
  /* Texels come back as they are stored; there is no filter for such textures. */
  texture.readMode = cudaReadModeElementType;
  RB_CUDA_TRY(cudaCreateTextureObject(&p->texture, &resource, &texture, NULL));
done:
  return st;
}

/* Nodes along the axes. */
struct lattice {
  int n1, n2, n3, first; /* texel of the component's first value */
};

/* Node i of an axis of n by the boundary's rule; -1: the value there is 0. Periodic by a division, as a point may lie
 * any number of periods outside. */
template <int BOUNDARY>
static __device__ __forceinline__ int node(int i, int n) {
  if (BOUNDARY == RB_CLAMP) return min(max(i, 0), n - 1);
  if (BOUNDARY == RB_ZERO) return i >= 0 && i < n ? i : -1;
  const int m = i % n;
  return m < 0 ? m + n : m;
}

/* One thread a point. np points x [3][np]; out one component. */
template <int BOUNDARY>
static __global__ void __launch_bounds__(256)
    kernel(cudaTextureObject_t texture, lattice g, int64_t np, const float *__restrict__ x, float *__restrict__ out) {
  const int64_t p = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (p >= np) return;
  float t1, t2, t3, sum = 0;
  const int b1 = cell_of(x[p], &t1), b2 = cell_of(x[np + p], &t2), b3 = cell_of(x[2 * np + p], &t3);
  /* The two places along x3 are the same for all four rows. */
  const int k0 = node<BOUNDARY>(b3, g.n3), k1 = node<BOUNDARY>(b3 + 1, g.n3);
#pragma unroll
  for (int i = 0; i < 2; i++)
#pragma unroll
    for (int j = 0; j < 2; j++) {
      const int n1 = node<BOUNDARY>(b1 + i, g.n1), n2 = node<BOUNDARY>(b2 + j, g.n2);
      /* The row's place is not used where n1 or n2 is -1. */
      const int row = g.first + (n1 * g.n2 + n2) * g.n3;
      const bool there = n1 >= 0 && n2 >= 0;
      const float low = there && k0 >= 0 ? rb_fetch1(texture, row + k0) : 0.0f;
      const float high = there && k1 >= 0 ? rb_fetch1(texture, row + k1) : 0.0f;
      /* Weights in float32: the product of two, times the interpolation along x3. */
      sum += (i ? t1 : 1.0f - t1) * (j ? t2 : 1.0f - t2) * ((1.0f - t3) * low + t3 * high);
    }
  out[p] = sum;
}

/* A launch a component; its values begin n texels after the last one's. */
static rb_status eval(rb_interp_plan *head, int64_t np, const void *x, void *out) {
  rb_status st = RB_OK;
  const texture_1d_plan *p = (const texture_1d_plan *)head;
  const rb_interp_desc *d = &head->desc;
  for (int c = 0; c < d->components; c++) {
    /* The texel of a component's first value stays below 2^28: an int holds it. */
    const lattice g = {(int)d->grid.n[0], (int)d->grid.n[1], (int)d->grid.n[2],
                       p->first + c * (int)rb_grid_points(d->grid)};
    float *to = (float *)out + c * np;
    if (d->boundary == RB_PERIODIC)
      RB_LAUNCH(kernel<RB_PERIODIC>, rb_blocks(np, 256), 256, 0, p->texture, g, np, (const float *)x, to);
    else if (d->boundary == RB_CLAMP)
      RB_LAUNCH(kernel<RB_CLAMP>, rb_blocks(np, 256), 256, 0, p->texture, g, np, (const float *)x, to);
    else
      RB_LAUNCH(kernel<RB_ZERO>, rb_blocks(np, 256), 256, 0, p->texture, g, np, (const float *)x, to);
  }
done:
  return st;
}

extern "C" const rb_interp_ops rb_interp_texture_1d = {supports, plan, load, eval, destroy, 0, 0, NULL};
