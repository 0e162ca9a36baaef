/* SPDX-License-Identifier: BSD-3-Clause */
/* B2 to B4: the field that is interpolated lies in 3D arrays behind textures whose border is 0; `load` copies it
 * there. */
#ifndef RB_COMPOSE_TEXTURE_CUH
#define RB_COMPOSE_TEXTURE_CUH

#include "kernels/compose/compose_cuda.cuh"

typedef struct {
  compose_plan base;
  int wide; /* one array of float4 instead of three of float */
  cudaArray_t array[3];
  cudaTextureObject_t texture[3];
  cudaSurfaceObject_t surface[3];
  int64_t bytes; /* of one array */
} texture_plan;

struct handles {
  cudaTextureObject_t texture[3];
  cudaSurfaceObject_t surface[3];
};
static inline handles handles_of(const texture_plan *p) {
  handles h;
  for (int c = 0; c < 3; c++) h.texture[c] = p->texture[c], h.surface[c] = p->surface[c];
  return h;
}

static rb_status texture_supports(const rb_compose_desc *d) {
  for (int a = 0; a < 3; a++)
    if (d->grid.n[a] > 16384) return RB_FAIL(RB_EUNSUPPORTED, "3D textures end at 16384 texels an axis");
  return compose_supports(d);
}

static void texture_destroy(rb_compose_plan *head) {
  texture_plan *p = (texture_plan *)head;
  for (int c = 0; c < 3; c++) {
    if (p->texture[c]) cudaDestroyTextureObject(p->texture[c]);
    if (p->surface[c]) cudaDestroySurfaceObject(p->surface[c]);
    if (!p->array[c]) continue;
    cudaFreeArray(p->array[c]);
    rb_memory_note(RB_CUDA, -p->bytes);
  }
  compose_close(&p->base);
  free(p);
}

static rb_status texture_make(const rb_backend *backend, const rb_compose_desc *d, cudaTextureFilterMode filter,
                              int wide, rb_compose_plan **out) {
  rb_status st = RB_OK;
  const cudaExtent extent = make_cudaExtent((size_t)d->grid.n[2], (size_t)d->grid.n[1], (size_t)d->grid.n[0]);
  const cudaChannelFormatDesc channel = wide ? cudaCreateChannelDesc<float4>() : cudaCreateChannelDesc<float>();
  cudaResourceDesc resource = {};
  cudaTextureDesc texture = {};
  texture_plan *p = (texture_plan *)calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  p->wide = wide, p->bytes = rb_grid_points(d->grid) * (wide ? 16 : 4);
  RB_TRY(compose_open(backend, &p->base));
  for (int a = 0; a < 3; a++) texture.addressMode[a] = cudaAddressModeBorder;
  texture.filterMode = filter;
  texture.readMode = cudaReadModeElementType;
  for (int c = 0; c < (wide ? 1 : 3); c++) {
    RB_CUDA_TRY(cudaMalloc3DArray(&p->array[c], &channel, extent, cudaArraySurfaceLoadStore));
    rb_memory_note(RB_CUDA, p->bytes);
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = p->array[c];
    RB_CUDA_TRY(cudaCreateTextureObject(&p->texture[c], &resource, &texture, NULL));
    RB_CUDA_TRY(cudaCreateSurfaceObject(&p->surface[c], &resource));
  }
  *out = &p->base.head;
  return RB_OK;
done:
  if (p) texture_destroy(&p->base.head);
  return st;
}

template <int COMPONENTS, int WIDE4>
static __global__ void __launch_bounds__(WIDE *HIGH)
    load_kernel(sizes g, float a, const float *__restrict__ f, handles h) {
  const int k = blockIdx.x * WIDE + threadIdx.x, j = blockIdx.y * HIGH + threadIdx.y, i = blockIdx.z;
  if (j >= g.n2 || k >= g.n3) return;
  const int64_t n = (int64_t)g.n1 * g.n2 * g.n3, p = ((int64_t)i * g.n2 + j) * g.n3 + k;
  float v[3] = {0, 0, 0};
#pragma unroll
  for (int c = 0; c < COMPONENTS; c++) v[c] = a * f[c * n + p];
  if (WIDE4)
    surf3Dwrite(make_float4(v[0], v[1], v[2], 0), h.surface[0], k * 16, j, i);
  else
#pragma unroll
    for (int c = 0; c < COMPONENTS; c++) surf3Dwrite(v[c], h.surface[c], k * 4, j, i);
}

template <int WIDE4>
static rb_status texture_load(rb_compose_plan *head, double a, int components, const void *f) {
  rb_status st = RB_OK;
  const rb_grid g = head->desc.grid;
  const handles h = handles_of((texture_plan *)head);
  if (components == 3)
    RB_LAUNCH((load_kernel<3, WIDE4>), tiles_of(g, 1), dim3(WIDE, HIGH), 0, sizes_of(g), (float)a, (const float *)f,
              h);
  else
    RB_LAUNCH((load_kernel<1, WIDE4>), tiles_of(g, 1), dim3(WIDE, HIGH), 0, sizes_of(g), (float)a, (const float *)f,
              h);
done:
  return st;
}

/* FETCH: the variant's idea: components of the loaded field at a point. */
template <int COMPONENTS, class FETCH>
static __global__ void __launch_bounds__(WIDE *HIGH)
    fetch_kernel(sizes g, float a, handles h, const float *__restrict__ s, float *__restrict__ out) {
  const int k = blockIdx.x * WIDE + threadIdx.x, j = blockIdx.y * HIGH + threadIdx.y, i = blockIdx.z;
  if (j >= g.n2 || k >= g.n3) return;
  const int64_t n = (int64_t)g.n1 * g.n2 * g.n3, p = ((int64_t)i * g.n2 + j) * g.n3 + k;
  const float d[3] = {a * s[p], a * s[n + p], a * s[2 * n + p]};
  float v[3];
  FETCH::at(h, COMPONENTS, (float)i + d[0], (float)j + d[1], (float)k + d[2], v);
  if (COMPONENTS == 1)
    out[p] = v[0];
  else
#pragma unroll
    for (int c = 0; c < 3; c++) out[c * n + p] = d[c] + v[c];
}

template <class FETCH>
static rb_status texture_compose(rb_compose_plan *head, double a, const void *, const void *s2, void *out) {
  rb_status st = RB_OK;
  const rb_grid g = head->desc.grid;
  RB_LAUNCH((fetch_kernel<3, FETCH>), tiles_of(g, 1), dim3(WIDE, HIGH), 0, sizes_of(g), (float)a,
            handles_of((texture_plan *)head), (const float *)s2, (float *)out);
done:
  return st;
}
template <class FETCH>
static rb_status texture_warp(rb_compose_plan *head, const void *, const void *s, void *out) {
  rb_status st = RB_OK;
  const rb_grid g = head->desc.grid;
  RB_LAUNCH((fetch_kernel<1, FETCH>), tiles_of(g, 1), dim3(WIDE, HIGH), 0, sizes_of(g), 1.0f,
            handles_of((texture_plan *)head), (const float *)s, (float *)out);
done:
  return st;
}

#endif
