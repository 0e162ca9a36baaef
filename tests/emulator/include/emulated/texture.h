/* SPDX-License-Identifier: BSD-3-Clause */
/* Fetches from textures and stores to surfaces (src/texture.cpp). */
#ifndef EMULATED_TEXTURE_H
#define EMULATED_TEXTURE_H

#include "emulated/language.h"

typedef unsigned long long cudaTextureObject_t;
typedef unsigned long long cudaSurfaceObject_t;

namespace emulated {
/* Up to 4 channels at u, v, w as the texture object takes them; dimensions: 1, 2 or 3, those of the array. */
float4 fetch(cudaTextureObject_t t, float u, float v, float w, int dimensions);
/* Texel i of plain memory; 0 outside. */
float fetch_linear(cudaTextureObject_t t, int i);
void surface_write(cudaSurfaceObject_t s, const void *value, size_t bytes, int x_bytes, int y, int z);
template <class T>
struct channels;
template <>
struct channels<float> {
  static float of(float4 v) { return v.x; }
};
template <>
struct channels<float2> {
  static float2 of(float4 v) { return {v.x, v.y}; }
};
template <>
struct channels<float4> {
  static float4 of(float4 v) { return v; }
};
}  // namespace emulated
template <class T>
T tex1Dfetch(cudaTextureObject_t t, int i) {
  return emulated::channels<T>::of({emulated::fetch_linear(t, i), 0, 0, 0});
}
template <class T>
T tex1D(cudaTextureObject_t t, float u) {
  return emulated::channels<T>::of(emulated::fetch(t, u, 0, 0, 1));
}
template <class T>
T tex2D(cudaTextureObject_t t, float u, float v) {
  return emulated::channels<T>::of(emulated::fetch(t, u, v, 0, 2));
}
template <class T>
T tex3D(cudaTextureObject_t t, float u, float v, float w) {
  return emulated::channels<T>::of(emulated::fetch(t, u, v, w, 3));
}
template <class T>
void surf3Dwrite(T value, cudaSurfaceObject_t s, int x, int y, int z) {
  emulated::surface_write(s, &value, sizeof value, x, y, z);
}
template <class T>
void surf2Dwrite(T value, cudaSurfaceObject_t s, int x, int y) {
  emulated::surface_write(s, &value, sizeof value, x, y, 0);
}

#endif
