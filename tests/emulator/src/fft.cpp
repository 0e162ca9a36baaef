/* SPDX-License-Identifier: BSD-3-Clause */
/* cuFFT by FFTW: the same transforms, other roundings. */
#include "cufft.h"
#include "internal.h"

#include <fftw3.h>

namespace emulated {
struct fft_plan {
  std::vector<int> n;
  cufftType type;
  int batch;
  cudaStream_t stream;
  bool made;
};
static std::map<cufftHandle, fft_plan> plans;

static fft_plan *find(cufftHandle h, cufftType type) {
  const auto found = plans.find(h);
  return found == plans.end() || !found->second.made || found->second.type != type ? nullptr : &found->second;
}
/* Values of a field, real and complex. */
static size_t reals(const fft_plan &p) {
  size_t n = 1;
  for (int v : p.n) n *= (size_t)v;
  return n;
}
static size_t complexes(const fft_plan &p) { return reals(p) / (size_t)p.n.back() * (size_t)(p.n.back() / 2 + 1); }

static cufftResult run(const fft_plan &p, void *in, size_t in_bytes, void *out, size_t out_bytes,
                       std::function<fftwf_plan()> make) {
  for (const auto &side : {std::make_pair(in, in_bytes), std::make_pair(out, out_bytes)}) {
    const allocation *a = allocation_at(side.first);
    if (!a || a->where != place_of::device || static_cast<char *>(side.first) + side.second > a->start + a->bytes) {
      fail_call(cudaErrorInvalidValue, "cuFFT: %zu bytes at %p are not within one device array", side.second,
                side.first);
      return CUFFT_EXEC_FAILED;
    }
  }
  const cudaError_t e = enqueue(p.stream, [in, in_bytes, out, out_bytes, make]() {
    watch_read(in, in_bytes, "cuFFT");
    const fftwf_plan plan = make(); /* FFTW_ESTIMATE: writes nothing while it plans */
    fftwf_execute(plan);
    fftwf_destroy_plan(plan);
    watch_written(out, out_bytes);
  });
  return e == cudaSuccess ? CUFFT_SUCCESS : CUFFT_EXEC_FAILED;
}
}  // namespace emulated

using namespace emulated;

extern "C" {
cufftResult cufftCreate(cufftHandle *out) {
  static int next = 1;
  if (allocation_fails()) return CUFFT_ALLOC_FAILED;
  plans[ *out = next++] = fft_plan{{}, CUFFT_C2C, 0, nullptr, false};
  return CUFFT_SUCCESS;
}
cufftResult cufftDestroy(cufftHandle h) {
  run_everything();
  return plans.erase(h) ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN;
}
cufftResult cufftSetAutoAllocation(cufftHandle h, int) { return plans.count(h) ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN; }
cufftResult cufftSetWorkArea(cufftHandle h, void *) { return plans.count(h) ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN; }
cufftResult cufftSetStream(cufftHandle h, cudaStream_t s) {
  if (!plans.count(h)) return CUFFT_INVALID_PLAN;
  plans[h].stream = s;
  return CUFFT_SUCCESS;
}
cufftResult cufftMakePlanMany(cufftHandle h, int rank, int *n, int *inembed, int, int, int *onembed, int, int,
                              cufftType type, int batch, size_t *work) {
  if (!plans.count(h)) return CUFFT_INVALID_PLAN;
  if (inembed || onembed) {
    fail_call(cudaErrorNotSupported, "cuFFT: contiguous batches are emulated");
    return CUFFT_INVALID_VALUE;
  }
  fft_plan &p = plans[h];
  p.n.assign(n, n + rank), p.type = type, p.batch = batch, p.made = true;
  *work = 256;
  return CUFFT_SUCCESS;
}
cufftResult cufftExecR2C(cufftHandle h, cufftReal *in, cufftComplex *out) {
  fft_plan *p = find(h, CUFFT_R2C);
  if (!p) return CUFFT_INVALID_PLAN;
  const fft_plan c = *p;
  return run(c, in, reals(c) * 4 * (size_t)c.batch, out, complexes(c) * 8 * (size_t)c.batch, [c, in, out]() {
    return fftwf_plan_many_dft_r2c((int)c.n.size(), c.n.data(), c.batch, in, nullptr, 1, (int)reals(c),
                                   reinterpret_cast<fftwf_complex *>(out), nullptr, 1, (int)complexes(c),
                                   FFTW_ESTIMATE | FFTW_PRESERVE_INPUT);
  });
}
cufftResult cufftExecC2R(cufftHandle h, cufftComplex *in, cufftReal *out) {
  fft_plan *p = find(h, CUFFT_C2R);
  if (!p) return CUFFT_INVALID_PLAN;
  const fft_plan c = *p;
  return run(c, in, complexes(c) * 8 * (size_t)c.batch, out, reals(c) * 4 * (size_t)c.batch, [c, in, out]() {
    return fftwf_plan_many_dft_c2r((int)c.n.size(), c.n.data(), c.batch, reinterpret_cast<fftwf_complex *>(in),
                                   nullptr, 1, (int)complexes(c), out, nullptr, 1, (int)reals(c), FFTW_ESTIMATE);
  });
}
cufftResult cufftExecC2C(cufftHandle h, cufftComplex *in, cufftComplex *out, int direction) {
  fft_plan *p = find(h, CUFFT_C2C);
  if (!p) return CUFFT_INVALID_PLAN;
  const fft_plan c = *p;
  const size_t bytes = reals(c) * 8 * (size_t)c.batch;
  return run(c, in, bytes, out, bytes, [c, in, out, direction]() {
    return fftwf_plan_many_dft((int)c.n.size(), c.n.data(), c.batch, reinterpret_cast<fftwf_complex *>(in), nullptr,
                               1, (int)reals(c), reinterpret_cast<fftwf_complex *>(out), nullptr, 1, (int)reals(c),
                               direction == CUFFT_FORWARD ? FFTW_FORWARD : FFTW_BACKWARD, FFTW_ESTIMATE);
  });
}
}
