/* SPDX-License-Identifier: BSD-3-Clause */
/* What the emulator's tests are written with. A test ends with the number of failures. */
#ifndef EMULATOR_TESTS_EXPECT_H
#define EMULATOR_TESTS_EXPECT_H

#include <cstdio>
#include <vector>

static int failures;
static void failed(int line, const char *what) {
  printf("FAIL %s:%d: %s\n", __FILE__, line, what);
  failures++;
}
#define EXPECT(condition) ((condition) ? (void)0 : failed(__LINE__, #condition))
#define OK(call) EXPECT((call) == cudaSuccess)

/* An array of n values on the device. */
template <class T>
static T *device(size_t n, const T *from = nullptr) {
  T *p = nullptr;
  OK(cudaMalloc(&p, n * sizeof(T)));
  if (from) OK(cudaMemcpy(p, from, n * sizeof(T), cudaMemcpyHostToDevice));
  return p;
}
template <class T>
static std::vector<T> host(const T *p, size_t n) {
  std::vector<T> v(n);
  OK(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost));
  return v;
}

#endif
