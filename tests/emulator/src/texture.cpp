/* SPDX-License-Identifier: BSD-3-Clause */
/* CUDA arrays, texture objects, surfaces. The arithmetic of a fetch is texture_unit.cpp's. */
#include "internal.h"

#include "texture_unit.h"

struct emulated_array {
  size_t n[3]; /* width, height, depth; 1 where there is no such axis */
  int channels;
  std::vector<float> data; /* [depth][height][width][channels] */
};

namespace emulated {

struct texture {
  emulated_array *array;
  cudaTextureDesc how;
  const float *linear; /* instead of an array: plain memory, one channel */
  size_t texels;       /* of it */
};
static std::map<cudaTextureObject_t, texture> textures;
static std::map<cudaSurfaceObject_t, emulated_array *> surfaces;
static unsigned long long next_handle = 1;

/* A texel along an axis by the addressing mode; -1: the border. */
static long long texel_at(long long i, size_t n, cudaTextureAddressMode mode) {
  const long long size = (long long)n;
  if (i >= 0 && i < size) return i;
  switch (mode) {
    case cudaAddressModeWrap:
      return (i % size + size) % size;
    case cudaAddressModeClamp:
      return i < 0 ? 0 : size - 1;
    case cudaAddressModeMirror: {
      const long long m = (i % (2 * size) + 2 * size) % (2 * size);
      return m < size ? m : 2 * size - 1 - m;
    }
    default:
      return -1;
  }
}

/* A coordinate in texels. Where normalised ones wrap, they are taken modulo 1 and lose what lies below 2^-21. Clamped
 * ones end at the centres of the outermost texels, so that there is no fraction outside. */
static double in_texels(float c, size_t n, const cudaTextureDesc &how, int axis) {
  const double size = (double)n;
  const cudaTextureAddressMode mode = how.addressMode[axis];
  if (!(c == c) || (std::isinf(c) && (mode == cudaAddressModeWrap || mode == cudaAddressModeMirror))) c = 0;
  if (mode == cudaAddressModeClamp) {
    const double t = how.normalizedCoords ? (double)c * size : (double)c;
    return how.filterMode == cudaFilterModePoint ? t : std::fmin(std::fmax(t, 0.5), size - 0.5);
  }
  if (!how.normalizedCoords) return (double)c;
  if (mode == cudaAddressModeWrap)
    return std::ldexp(std::floor(std::ldexp((double)c - std::floor((double)c), 21)), -21) * size;
  if (mode == cudaAddressModeMirror) return ((double)c - 2 * std::floor((double)c / 2)) * size;
  return (double)c * size;
}

static float value_at(const texture &t, const long long at[3], int channel) {
  const emulated_array &a = *t.array;
  if (at[0] < 0 || at[1] < 0 || at[2] < 0) return t.how.borderColor[channel];
  return a.data[(((size_t)at[2] * a.n[1] + (size_t)at[1]) * a.n[0] + (size_t)at[0]) * (size_t)a.channels +
                (size_t)channel];
}

float4 fetch(cudaTextureObject_t object, float u, float v, float w, int dimensions) {
  const auto found = textures.find(object);
  if (found == textures.end()) fault({"a texture fetch", 0}, "no texture object %llu", object);
  const texture &t = found->second;
  const float c[3] = {u, v, w};
  float out[4] = {0, 0, 0, 0};
  if (t.how.filterMode == cudaFilterModePoint) {
    long long at[3] = {0, 0, 0};
    for (int a = 0; a < dimensions; a++)
      at[a] =
          texel_at((long long)std::floor(std::fmin(std::fmax(in_texels(c[a], t.array->n[a], t.how, a), -1e12), 1e12)),
                   t.array->n[a], t.how.addressMode[a]);
    for (int k = 0; k < t.array->channels; k++) out[k] = value_at(t, at, k);
  } else {
    long long near[3][2] = {{0, 0}, {0, 0}, {0, 0}};
    int fraction[3] = {0, 0, 0}, weight[2][2][2];
    for (int a = 0; a < dimensions; a++) {
      const texture_unit::position p = texture_unit::place(in_texels(c[a], t.array->n[a], t.how, a));
      fraction[a] = p.fraction;
      for (int i = 0; i < 2; i++) near[a][i] = texel_at(p.index + i, t.array->n[a], t.how.addressMode[a]);
    }
    texture_unit::weights(fraction[0], fraction[1], fraction[2], weight);
    for (int k = 0; k < t.array->channels; k++) {
      float texel[8];
      for (int i = 0; i < 8; i++) {
        const long long at[3] = {near[0][i & 1], near[1][i >> 1 & 1], near[2][i >> 2]};
        texel[i] = value_at(t, at, k);
      }
      out[k] = texture_unit::blend(texel, &weight[0][0][0]);
    }
  }
  return {out[0], out[1], out[2], out[3]};
}

float fetch_linear(cudaTextureObject_t object, int i) {
  const auto found = textures.find(object);
  if (found == textures.end() || !found->second.linear)
    fault({"a texture fetch", 0}, "no texture object %llu of plain memory", object);
  const texture &t = found->second;
  return i >= 0 && (size_t)i < t.texels ? __ldg(t.linear + i) : 0.0f;
}

void surface_write(cudaSurfaceObject_t object, const void *value, size_t bytes, int x_bytes, int y, int z) {
  const auto found = surfaces.find(object);
  if (found == surfaces.end()) fault({"a surface write", 0}, "no surface object %llu", object);
  emulated_array &a = *found->second;
  const size_t texel = (size_t)a.channels * sizeof(float);
  if (x_bytes < 0 || y < 0 || z < 0 || (size_t)x_bytes + bytes > a.n[0] * texel || (size_t)y >= a.n[1] ||
      (size_t)z >= a.n[2] || (size_t)x_bytes % bytes != 0)
    fault({"a surface write", 0},
          "byte %d of row %d, plane %d is outside of an array of %zu x %zu x %zu, or off its alignment", x_bytes, y,
          z, a.n[0], a.n[1], a.n[2]);
  std::memcpy(
      reinterpret_cast<char *>(a.data.data()) + ((size_t)z * a.n[1] + (size_t)y) * a.n[0] * texel + (size_t)x_bytes,
      value, bytes);
}

}  // namespace emulated

using namespace emulated;

extern "C" {
cudaError_t cudaMalloc3DArray(cudaArray_t *out, const cudaChannelFormatDesc *c, cudaExtent e, unsigned) {
  const int channels = (c->x != 0) + (c->y != 0) + (c->z != 0) + (c->w != 0);
  *out = nullptr;
  if (c->f != cudaChannelFormatKindFloat || c->x != 32 || channels == 3)
    return fail_call(cudaErrorNotSupported, "arrays of 1, 2 or 4 float32 channels are emulated");
  const size_t n[3] = {e.width, e.height ? e.height : 1, e.depth ? e.depth : 1};
  if (n[0] == 0 || n[0] > 16384 || n[1] > 16384 || n[2] > 16384) return last_error = cudaErrorInvalidValue;
  if (allocation_fails()) return last_error = cudaErrorMemoryAllocation;
  *out = new emulated_array{
      {n[0], n[1], n[2]}, channels, std::vector<float>(n[0] * n[1] * n[2] * (size_t)channels, std::nanf(""))};
  return cudaSuccess;
}
cudaError_t cudaMallocArray(cudaArray_t *out, const cudaChannelFormatDesc *c, size_t width, size_t height,
                            unsigned flags) {
  return cudaMalloc3DArray(out, c, {width, height, 0}, flags);
}
cudaError_t cudaFreeArray(cudaArray_t a) {
  run_everything();
  delete a;
  return sticky;
}

/* Between an array and memory with a pitch, whole arrays only. */
cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms *p, cudaStream_t stream) {
  emulated_array *to = p->dstArray;
  if (!to || p->srcArray || p->srcPos.x || p->srcPos.y || p->srcPos.z || p->dstPos.x || p->dstPos.y || p->dstPos.z)
    return fail_call(cudaErrorNotSupported, "cudaMemcpy3D: from memory to a whole array is emulated");
  if (p->extent.width != to->n[0] || (p->extent.height ? p->extent.height : 1) != to->n[1] ||
      (p->extent.depth ? p->extent.depth : 1) != to->n[2])
    return fail_call(cudaErrorInvalidValue,
                     "cudaMemcpy3D: an extent of %zu x %zu x %zu for an array of %zu x %zu x %zu", p->extent.width,
                     p->extent.height, p->extent.depth, to->n[0], to->n[1], to->n[2]);
  const size_t row = to->n[0] * (size_t)to->channels * sizeof(float), pitch = p->srcPtr.pitch,
               slice = pitch * p->srcPtr.ysize;
  if (pitch < row || p->srcPtr.ysize < to->n[1])
    return fail_call(cudaErrorInvalidPitchValue, "cudaMemcpy3D: a pitch of %zu bytes for rows of %zu", pitch, row);
  const size_t bytes = slice * (to->n[2] - 1) + pitch * (to->n[1] - 1) + row;
  const char *from = static_cast<const char *>(p->srcPtr.ptr);
  const bool on_device = p->kind == cudaMemcpyDeviceToDevice;
  const allocation *a = allocation_at(from);
  if (on_device != (a && a->where == place_of::device))
    return fail_call(cudaErrorInvalidValue, "cudaMemcpy3D: the source %p is not where the kind of copy says",
                     p->srcPtr.ptr);
  if (a && from + bytes > a->start + a->bytes)
    return fail_call(cudaErrorInvalidValue, "cudaMemcpy3D: the source ends %zu bytes beyond its array",
                     (size_t)(from + bytes - a->start - a->bytes));
  std::vector<char> staged; /* pageable memory is taken at the call */
  if (!a) staged.assign(from, from + bytes);
  return enqueue(stream, [to, from, staged, row, pitch, slice, on_device, bytes]() {
    const char *source = staged.empty() ? from : staged.data();
    if (on_device) watch_read(source, bytes, "a copy into an array");
    for (size_t k = 0; k < to->n[2]; k++)
      for (size_t j = 0; j < to->n[1]; j++)
        std::memcpy(reinterpret_cast<char *>(to->data.data()) + (k * to->n[1] + j) * row,
                    source + k * slice + j * pitch, row);
  });
}
cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms *p) {
  const cudaError_t e = cudaMemcpy3DAsync(p, nullptr);
  return e == cudaSuccess ? run_through(nullptr) : e;
}

cudaError_t cudaCreateTextureObject(cudaTextureObject_t *out, const cudaResourceDesc *r, const cudaTextureDesc *how,
                                    const cudaResourceViewDesc *) {
  if (r->resType == cudaResourceTypeLinear) {
    const auto &l = r->res.linear;
    if ((uintptr_t)l.devPtr % 512 != 0)
      return fail_call(cudaErrorInvalidValue, "textures of plain memory begin on a multiple of 512 bytes");
    if (l.sizeInBytes / sizeof(float) > (size_t)1 << 28)
      return fail_call(cudaErrorInvalidValue, "textures of plain memory end at 2^28 texels");
    textures[ *out = next_handle++] = {nullptr, *how, (const float *)l.devPtr, l.sizeInBytes / sizeof(float)};
    return cudaSuccess;
  }
  if (!r->res.array.array || how->readMode != cudaReadModeElementType)
    return fail_call(cudaErrorNotSupported, "textures of arrays, read as their elements, are emulated");
  for (int a = 0; a < 3; a++)
    if (!how->normalizedCoords &&
        (how->addressMode[a] == cudaAddressModeWrap || how->addressMode[a] == cudaAddressModeMirror) &&
        r->res.array.array->n[a] > 1)
      return fail_call(cudaErrorInvalidValue, "wrap and mirror need normalised coordinates");
  textures[ *out = next_handle++] = {r->res.array.array, *how, nullptr, 0};
  return cudaSuccess;
}
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t t) {
  run_everything();
  return textures.erase(t) ? sticky : last_error = cudaErrorInvalidTexture;
}
cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *out, const cudaResourceDesc *r) {
  surfaces[ *out = next_handle++] = r->res.array.array;
  return cudaSuccess;
}
cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t s) {
  run_everything();
  return surfaces.erase(s) ? sticky : last_error = cudaErrorInvalidResourceHandle;
}
}
