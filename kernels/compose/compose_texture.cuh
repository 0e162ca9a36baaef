/* SPDX-License-Identifier: BSD-3-Clause */
/* B2 to B4: the field that is interpolated lies in 3D arrays behind textures whose border is 0; `load` copies it
 * there. */
#ifndef RB_COMPOSE_TEXTURE_CUH
#define RB_COMPOSE_TEXTURE_CUH

#include "kernels/compose/compose_cuda.cuh"

/* One 3D array, texture and surface a component, or one of float4 for all three. */
typedef struct {
  /* Handles of component c in [c]; with `wide` only [0] is used, whose texels are (component 0, 1, 2, 0). */
  compose_plan base;
  int wide; /* one array of float4 instead of three of float */
  cudaArray_t array[3];
  cudaTextureObject_t texture[3];
  cudaSurfaceObject_t surface[3];
  int64_t bytes; /* of one array */
} texture_plan;

/* What kernels need of a plan, passed by value. */
struct handles {
  cudaTextureObject_t texture[3];
  cudaSurfaceObject_t surface[3];
};
/* A copy of the plan's handles. */
static inline handles handles_of(const texture_plan *p) {
  handles h;
  for (int c = 0; c < 3; c++) h.texture[c] = p->texture[c], h.surface[c] = p->surface[c];
  return h;
}

/* Grids within the limit of 3D textures and of the shared kernels. */
static rb_status texture_supports(const rb_compose_desc *d) {
  /* Along any axis. */
  for (int a = 0; a < 3; a++)
    if (d->grid.n[a] > 16384) return RB_FAIL(RB_EUNSUPPORTED, "3D textures end at 16384 texels an axis");
  return compose_supports(d);
}

/* Takes a plan that is made in part: handles of 0 were never created. */
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

/* Extents are counted as x3, x2, x1: the array's fastest axis comes first. Coordinates are in texels (not
 * normalised): texel i is centred at i + 0.5, and beyond the border the texture gives 0. */
static rb_status texture_make(const rb_backend *backend, const rb_compose_desc *d, cudaTextureFilterMode filter,
                              int wide, rb_compose_plan **out) {
  rb_status st = RB_OK;
  const cudaExtent extent = make_cudaExtent((size_t)d->grid.n[2], (size_t)d->grid.n[1], (size_t)d->grid.n[0]);
  const cudaChannelFormatDesc channel = wide ? cudaCreateChannelDesc<float4>() : cudaCreateChannelDesc<float>();
  cudaResourceDesc resource = {};
  cudaTextureDesc texture = {};
  texture_plan *p = (texture_plan *)calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  /* Arrays are not the backend's allocations: they are told to the memory account, 4 or 16 bytes a voxel. */
  p->wide = wide, p->bytes = rb_grid_points(d->grid) * (wide ? 16 : 4);
  RB_TRY(compose_open(backend, &p->base));
  /* In all three directions: the border's value is 0. */
  for (int a = 0; a < 3; a++) texture.addressMode[a] = cudaAddressModeBorder;
  texture.filterMode = filter;
  /* Texels come back as they are stored, as float. */
  texture.readMode = cudaReadModeElementType;
  for (int c = 0; c < (wide ? 1 : 3); c++) {
    /* Surfaces write what textures read: the array must allow both. */
    RB_CUDA_TRY(cudaMalloc3DArray(&p->array[c], &channel, extent, cudaArraySurfaceLoadStore));
    rb_memory_note(RB_CUDA, p->bytes);
    /* Texture and surface share the array's description. */
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

/* A thread a node: a f to its texel. Along x, surfaces count bytes: 16 or 4 a texel. */
template <int COMPONENTS, int WIDE4>
static __global__ void __launch_bounds__(WIDE *HIGH)
    load_kernel(sizes g, float a, const float *__restrict__ f, handles h) {
  /* One node a thread, plane blockIdx.z. */
  const int k = blockIdx.x * WIDE + threadIdx.x, j = blockIdx.y * HIGH + threadIdx.y, i = blockIdx.z;
  if (j >= g.n2 || k >= g.n3) return;
  const int64_t n = (int64_t)g.n1 * g.n2 * g.n3, p = ((int64_t)i * g.n2 + j) * g.n3 + k;
  /* Components that are not loaded stay 0; with `wide` they share the texel with the others. */
  float v[3] = {0, 0, 0};
  /* Scaled here once, not at every fetch. */
#pragma unroll
  for (int c = 0; c < COMPONENTS; c++) v[c] = a * f[c * n + p];
  if (WIDE4)
    surf3Dwrite(make_float4(v[0], v[1], v[2], 0), h.surface[0], k * 16, j, i);
  else
#pragma unroll
    for (int c = 0; c < COMPONENTS; c++) surf3Dwrite(v[c], h.surface[c], k * 4, j, i);
}

/* One launch over the grid; 3 components are a displacement, 1 an image. The next fetch is on the same stream. */
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

/* FETCH: the variant's idea: components of the loaded field at a point. A warp runs along x3. Vectors: out = d + v
 * with d = a s2(x), v the loaded a s1 at x + d; images: the value alone. */
template <int COMPONENTS, class FETCH>
static __global__ void __launch_bounds__(WIDE *HIGH)
    fetch_kernel(sizes g, float a, handles h, const float *__restrict__ s, float *__restrict__ out) {
  const int k = blockIdx.x * WIDE + threadIdx.x, j = blockIdx.y * HIGH + threadIdx.y, i = blockIdx.z;
  if (j >= g.n2 || k >= g.n3) return;
  /* i, j, k: the node along x1, x2, x3; p its place in a component. */
  const int64_t n = (int64_t)g.n1 * g.n2 * g.n3, p = ((int64_t)i * g.n2 + j) * g.n3 + k;
  const float d[3] = {a * s[p], a * s[n + p], a * s[2 * n + p]};
  float v[3];
  /* The variant gives COMPONENTS values of the loaded field at the point, in voxels. */
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
  /* s1 was loaded already, scaled by a: the pointer is not looked at. */
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
  /* Displacements of a warp are not scaled. */
  RB_LAUNCH((fetch_kernel<1, FETCH>), tiles_of(g, 1), dim3(WIDE, HIGH), 0, sizes_of(g), 1.0f,
            handles_of((texture_plan *)head), (const float *)s, (float *)out);
done:
  return st;
}

#endif
