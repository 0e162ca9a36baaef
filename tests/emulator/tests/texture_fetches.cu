/* SPDX-License-Identifier: BSD-3-Clause */
/* Texture fetches whose results tell how the unit computes: run on a GPU, its output is the recording that the model
 * is held to (texture_h200.txt; with the argument `exponents` or `cancelling`, columns 1, 2 and 6:
 * texture_exponents_h200.txt, texture_cancelling_h100.txt); executed by the emulator, it is what is held. A line a
 * fetch: group, number, coordinates, values, all as hexadecimal bits. */
#include "../cuda_launch.h"
#include "../src/texture_unit.h" /* its weights only, to choose texels by; on a GPU: nvcc texture_fetches.cu ../src/texture_unit.cpp */

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cmath>
#include <vector>

static uint64_t state;
static uint32_t bits32() { /* splitmix64 */
  uint64_t z = (state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return (uint32_t)(z >> 32);
}
static float uniform(float low, float high) {
  volatile float product =
      (high - low) * ((float)(bits32() >> 8) / 16777216.0f); /* rounded, whatever the compiler would fuse */
  return low + product;
}
static float from_bits(uint32_t b) {
  float f;
  memcpy(&f, &b, 4);
  return f;
}

struct point {
  float u, v, w;
};
static __global__ void fetch1(cudaTextureObject_t t, int n, const point *p, float4 *out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    const float v = tex3D<float>(t, p[i].u, p[i].v, p[i].w);
    out[i] = make_float4(v, 0, 0, 0);
  }
}
static __global__ void fetch4(cudaTextureObject_t t, int n, const point *p, float4 *out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = tex3D<float4>(t, p[i].u, p[i].v, p[i].w);
}

static void must(cudaError_t e, const char *what) {
  if (e == cudaSuccess) return;
  fprintf(stderr, "texture_fetches: %s: %s\n", what, cudaGetErrorString(e));
  exit(1);
}

/* Fetches of an array of n0 x n1 x n2 texels (width, height, depth), 1 or 4 channels. */
static void fetches(const char *group, const std::vector<float> &texels, int n0, int n1, int n2, int channels,
                    cudaTextureAddressMode mode, cudaTextureFilterMode filter, int normalised,
                    const std::vector<point> &points) {
  cudaArray_t array;
  cudaChannelFormatDesc channel = channels == 4 ? cudaCreateChannelDesc<float4>() : cudaCreateChannelDesc<float>();
  cudaTextureObject_t texture;
  cudaResourceDesc resource = {};
  cudaTextureDesc how = {};
  cudaMemcpy3DParms copy = {};
  const int n = (int)points.size();
  point *p;
  float4 *out;
  std::vector<float4> got((size_t)n);
  must(cudaMalloc3DArray(&array, &channel, make_cudaExtent(n0, n1, n2)), "array");
  copy.srcPtr =
      make_cudaPitchedPtr(const_cast<float *>(texels.data()), (size_t)n0 * channels * 4, (size_t)n0, (size_t)n1);
  copy.dstArray = array, copy.extent = make_cudaExtent(n0, n1, n2), copy.kind = cudaMemcpyHostToDevice;
  must(cudaMemcpy3D(&copy), "copy");
  resource.resType = cudaResourceTypeArray, resource.res.array.array = array;
  for (int a = 0; a < 3; a++) how.addressMode[a] = mode;
  how.filterMode = filter, how.readMode = cudaReadModeElementType, how.normalizedCoords = normalised;
  must(cudaCreateTextureObject(&texture, &resource, &how, nullptr), "texture");
  must(cudaMalloc(&p, sizeof(point) * (size_t)n), "points");
  must(cudaMalloc(&out, sizeof(float4) * (size_t)n), "values");
  must(cudaMemcpy(p, points.data(), sizeof(point) * (size_t)n, cudaMemcpyHostToDevice), "points");
  if (channels == 4)
    must(CUDA_LAUNCH(fetch4, (n + 63) / 64, 64, 0, nullptr, texture, n, p, out), "launch");
  else
    must(CUDA_LAUNCH(fetch1, (n + 63) / 64, 64, 0, nullptr, texture, n, p, out), "launch");
  must(cudaMemcpy(got.data(), out, sizeof(float4) * (size_t)n, cudaMemcpyDeviceToHost), "values");
  for (int i = 0; i < n; i++) {
    uint32_t c[3], v[4];
    memcpy(c, &points[(size_t)i], 12), memcpy(v, &got[(size_t)i], 16);
    printf("%s %d %08x %08x %08x %08x", group, i, c[0], c[1], c[2], v[0]);
    if (channels == 4) printf(" %08x %08x %08x", v[1], v[2], v[3]);
    printf("\n");
  }
  cudaFree(out), cudaFree(p), cudaDestroyTextureObject(texture), cudaFreeArray(array);
}

static std::vector<point> random_points(int n, float low, float high) {
  std::vector<point> p;
  for (int i = 0; i < n; i++) {
    const float u = uniform(low, high), v = uniform(low, high), w = uniform(low, high);
    p.push_back({u, v, w});
  }
  return p;
}

/* One-hot texels in the four channels: the values are corner weights. */
static void weights(void) {
  for (int half = 0; half < 2; half++) {
    std::vector<float> t(2 * 2 * 2 * 4, 0);
    for (int corner = 0; corner < 4; corner++) t[(size_t)(half * 4 + corner) * 4 + (size_t)corner] = 1;
    state = 1;
    std::vector<point> p = random_points(400, 0.5f, 1.5f);
    for (int a = 0; a < 256; a += 15)
      p.push_back({0.5f + (float)a / 256, 0.5f + 0.5f, 0.5f + 129.0f / 256}); /* halves among them */
    fetches(half ? "weights-upper" : "weights-lower", t, 2, 2, 2, 4, cudaAddressModeClamp, cudaFilterModeLinear, 0,
            p);
  }
}

/* Texels of very different size. In `zero` the largest ones get weight zero at points on an axis. */
static void exponents(int spread, const char *group, int zero, int seed = 0, int count = 300) {
  state = 100 + (uint64_t)spread + 1000 * (uint64_t)seed;
  std::vector<float> t;
  for (int i = 0; i < 5 * 5 * 5; i++) {
    const int exponent =
        (int)(bits32() % (uint32_t)(2 * spread + 1)) - spread; /* drawn first, whatever the compiler */
    t.push_back(ldexpf(uniform(-1, 1), exponent));
  }
  std::vector<point> p = random_points(count, 0.6f, 4.4f);
  for (point &q : p)
    if (zero) q.u = floorf(q.u) + 0.5f; /* on texels along u: those beside have no weight */
  fetches(group, t, 5, 5, 5, 1, cudaAddressModeClamp, cudaFilterModeLinear, 0, p);
}
static void four_exponents(void) {
  state = 77;
  std::vector<float> t;
  for (int i = 0; i < 3 * 3 * 3; i++)
    for (int c = 0; c < 4; c++) {
      const int exponent = c == 3 ? 25 : (int)(bits32() % 9) - 4;
      t.push_back(ldexpf(uniform(-1, 1), exponent));
    }
  fetches("four-channels", t, 3, 3, 3, 4, cudaAddressModeClamp, cudaFilterModeLinear, 0,
          random_points(200, 0.6f, 2.4f));
}

static void special_values(void) {
  const float values[] = {NAN, INFINITY, -INFINITY, from_bits(1), from_bits(0x007fffff), 3e38f, -3e38f};
  for (int k = 0; k < 7; k++) {
    char group[32];
    std::vector<float> t(4 * 4 * 4, 1);
    t[(1 * 4 + 1) * 4 + 1] = values[k];
    snprintf(group, sizeof group, "special-%d", k);
    std::vector<point> p;
    for (float u = 0.5f; u <= 3; u += 0.25f)
      p.push_back({u, 1.5f, 1.5f}), p.push_back({u, 1.5f + 0.25f, 1.5f}), p.push_back({u, 2.5f, 1.75f});
    fetches(group, t, 4, 4, 4, 1, cudaAddressModeClamp, cudaFilterModeLinear, 0, p);
  }
}

static void special_coordinates(void) {
  const float c[] = {NAN,         INFINITY, -INFINITY,    1e9f,     -1e9f,    3e38f,
                     16777217.5f, -0.0f,    from_bits(1), 65536.3f, -65536.3f};
  const struct {
    const char *name;
    cudaTextureAddressMode mode;
    int normalised;
  } how[] = {{"far-wrap", cudaAddressModeWrap, 1},          {"far-clamp", cudaAddressModeClamp, 1},
             {"far-border", cudaAddressModeBorder, 1},      {"far-mirror", cudaAddressModeMirror, 1},
             {"far-clamp-texels", cudaAddressModeClamp, 0}, {"far-border-texels", cudaAddressModeBorder, 0}};
  std::vector<float> t;
  for (int i = 0; i < 6 * 5 * 4; i++) t.push_back((float)(i + 1));
  for (const auto &h : how) {
    std::vector<point> p;
    for (float v : c)
      p.push_back({v, h.normalised ? 0.4f : 1.7f, h.normalised ? 0.6f : 2.2f}),
          p.push_back({h.normalised ? 0.4f : 1.7f, v, h.normalised ? 0.6f : 2.2f});
    fetches(h.name, t, 6, 5, 4, 1, h.mode, cudaFilterModeLinear, h.normalised, p);
  }
}

/* Outside of the array the neighbours along an axis are one texel, or none: whether the fraction there still splits
 * the weights shows in the last bits. */
static void outside(void) {
  const struct {
    const char *name;
    cudaTextureAddressMode mode;
    int normalised;
  } how[] = {{"outside-clamp", cudaAddressModeClamp, 0},
             {"outside-border", cudaAddressModeBorder, 0},
             {"outside-wrap", cudaAddressModeWrap, 1},
             {"outside-clamp-normalised", cudaAddressModeClamp, 1},
             {"outside-mirror", cudaAddressModeMirror, 1}};
  for (const auto &h : how) {
    state = 9;
    std::vector<float> t;
    for (int i = 0; i < 7 * 5 * 6; i++) t.push_back(uniform(-1, 1));
    std::vector<point> p = h.normalised ? random_points(300, -1.3f, 2.3f) : random_points(300, -3, 9);
    fetches(h.name, t, 7, 5, 6, 1, h.mode, cudaFilterModeLinear, h.normalised, p);
  }
}

/* Where a nearest texel ends. */
static void points_of_texels(void) {
  const struct {
    const char *name;
    int normalised;
  } how[] = {{"nearest-texels", 0}, {"nearest-normalised", 1}};
  std::vector<float> t;
  for (int i = 0; i < 7 * 3 * 2; i++) t.push_back((float)i);
  for (const auto &h : how) {
    std::vector<point> p;
    for (int k = -1; k <= 8; k++)
      for (int e = -6; e <= 6; e++) {
        const float off = e == 0 ? 0 : (e < 0 ? -1 : 1) * ldexpf(1, -5 - 2 * abs(e)), u = (float)k + off;
        p.push_back(h.normalised ? point{u / 7, 0.5f, 0.75f} : point{u, 1.5f, 1.5f});
      }
    fetches(h.name, t, 7, 3, 2, 1, h.normalised ? cudaAddressModeWrap : cudaAddressModeBorder, cudaFilterModePoint,
            h.normalised, p);
  }
}

/* Where a coordinate is rounded to 1/256: within a few units of halves. */
static void halves(void) {
  std::vector<float> t;
  for (int i = 0; i < 300; i++) t.push_back((float)i);
  for (int normalised = 0; normalised < 2; normalised++) {
    std::vector<point> p;
    state = 5;
    for (int i = 0; i < 300; i++) {
      const float texels = (float)(1 + bits32() % 298) + ((float)(bits32() % 256) + 0.5f) / 256 +
                           (float)((int)(bits32() % 9) - 4) * ldexpf(1, -15);
      p.push_back({normalised ? texels / 300 : texels, normalised ? 0.5f : 0.5f, normalised ? 0.5f : 0.5f});
    }
    fetches(normalised ? "halves-normalised" : "halves-texels", t, 300, 1, 1, 1,
            normalised ? cudaAddressModeWrap : cudaAddressModeClamp, cudaFilterModeLinear, normalised, p);
  }
}

/* Cells of 2 x 2 x 2 texels beside each other, a fetch in each at whole 256ths. In every cell one texel makes the
 * weighted sum of the `kind` of texels vanish but for its rounding, so that the result shows the last bits of what
 * the unit has added: 0 within the lower plane along w, 1 over both planes, 2 over both with the large texels in one.
 */
static void cancelling(int spread, int kind, const char *group) {
  enum { CELLS = 1024 };
  state = 5000 + 10 * (uint64_t)spread + (uint64_t)kind;
  std::vector<float> t(2 * CELLS * 4, 0);
  std::vector<point> p;
  for (int c = 0; c < CELLS; c++) {
    int f[3], weight[2][2][2], *of = &weight[0][0][0], chosen = -1;
    for (int a = 0; a < 3; a++) f[a] = 1 + (int)(bits32() % 255);
    if (kind == 0) f[2] = 0;
    texture_unit::weights(f[0], f[1], f[2], weight);
    double sum = 0, value[8];
    for (int i = 0; i < 8; i++) {
      const int exponent = -(int)(bits32() % (uint32_t)(spread + 1)) - (kind == 2 && i >= 4 ? 4 : 0);
      value[i] = (float)(ldexpf(uniform(0.5f, 1), exponent) * (bits32() & 1 ? 1.0f : -1.0f));
      if (of[i] >= 8 && (chosen < 0 || bits32() & 1)) chosen = i;
    }
    for (int i = 0; i < 8; i++)
      if (i != chosen) sum += of[i] * value[i];
    value[chosen] = (float)(-sum / of[chosen]);
    for (int i = 0; i < 8; i++)
      t[(size_t)((i >> 2) * 2 + (i >> 1 & 1)) * 2 * CELLS + (size_t)(2 * c + (i & 1))] = (float)value[i];
    p.push_back({2 * (float)c + 0.5f + (float)f[0] / 256, 0.5f + (float)f[1] / 256, 0.5f + (float)f[2] / 256});
  }
  fetches(group, t, 2 * CELLS, 2, 2, 1, cudaAddressModeClamp, cudaFilterModeLinear, 0, p);
}

int main(int argc, char **argv) {
  const char *groups = argc > 1 ? argv[1] : "";
  if (strcmp(groups, "cancelling") == 0) {
    for (int spread = 0; spread <= 16; spread = spread ? 2 * spread : 1)
      for (int kind = 0; kind < 3; kind++) {
        char group[32];
        snprintf(group, sizeof group, "cancelling-%d-%d", spread, kind);
        cancelling(spread, kind, group);
      }
    return 0;
  }
  if (strcmp(groups, "exponents") == 0) { /* more of those that tell most about the sum */
    exponents(6, "exponents-6", 0, 1, 6000), exponents(12, "exponents-12", 0, 1, 6000);
    exponents(20, "exponents-20", 0, 1, 6000), exponents(40, "exponents-40", 0, 1, 6000);
    return 0;
  }
  weights();
  exponents(2, "exponents-2", 0), exponents(20, "exponents-20", 0), exponents(40, "exponents-40", 0),
      exponents(20, "exponents-20-weight-0", 1), exponents(40, "exponents-40-weight-0", 1);
  four_exponents();
  special_values();
  special_coordinates();
  outside();
  points_of_texels();
  halves();
  return 0;
}
