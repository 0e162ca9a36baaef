/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/cuda/cuda.cuh"

extern "C" {
#include "kernels/cuda/sort.h"
}

#ifndef RB_CUDA_EMULATED

/* Sorting and sums by key are CUB's. Called without room, its functions tell how many bytes they need. Counts are
 * ints there. */
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>

/* Sum of two values; runs are added in the order of CUB's own tree, which may differ from the sequential one. */
struct add_floats {
  __device__ float operator()(float a, float b) const { return a + b; }
};

/* n pairs of a 32-bit key and a float. *bytes on entry is not read. */
extern "C" rb_status rb_sort_room(int64_t n, size_t *bytes) {
  rb_status st = RB_OK;
  size_t adding = 0;
  RB_CUDA_TRY(cub::DeviceRadixSort::SortPairs(NULL, *bytes, (const unsigned *)NULL, (unsigned *)NULL,
                                              (const float *)NULL, (float *)NULL, (int)n, 0, 32, rb_cuda_stream()));
  RB_CUDA_TRY(cub::DeviceReduce::ReduceByKey(NULL, adding, (const unsigned *)NULL, (unsigned *)NULL,
                                             (const float *)NULL, (float *)NULL, (int *)NULL, add_floats(), (int)n,
                                             rb_cuda_stream()));
  /* One room serves both, as they never run at the same time. */
  if (adding > *bytes) *bytes = adding;
done:
  return st;
}

/* By the lowest `bits` bits of the keys, stable: equal keys keep the order of their values. */
extern "C" rb_status rb_sort_pairs(void *room, size_t bytes, int64_t n, int bits, const unsigned *keys,
                                   unsigned *keys_out, const float *values, float *values_out) {
  rb_status st = RB_OK;
  /* From bit 0 to `bits`: fewer bits are fewer passes. Keys and values go from one pair of arrays to the other. */
  RB_CUDA_TRY(cub::DeviceRadixSort::SortPairs(room, bytes, keys, keys_out, values, values_out, (int)n, 0, bits,
                                              rb_cuda_stream()));
done:
  return st;
}

/* Sums of runs of equal neighbouring keys: `unique` and `sums` have *count entries, a device value. */
extern "C" rb_status rb_add_by_key(void *room, size_t bytes, int64_t n, const unsigned *keys, const float *values,
                                   unsigned *unique, float *sums, int *count) {
  rb_status st = RB_OK;
  RB_CUDA_TRY(cub::DeviceReduce::ReduceByKey(room, bytes, keys, unique, values, sums, count, add_floats(), (int)n,
                                             rb_cuda_stream()));
done:
  return st;
}

#else
/* The same for kernels executed on a CPU (tests/emulator), without CUB. */

/* Room for the merged pairs, 8 bytes each. */
extern "C" rb_status rb_sort_room(int64_t n, size_t *bytes) {
  /* n keys, then n values. */
  *bytes = 2 * (size_t)n * sizeof(unsigned);
  return RB_OK;
}

/* One thread: runs of doubling length are merged, to and fro between the outputs and the room. mask: the bits that
 * count. Arrays *_out hold the sorted runs, *_room the merged ones of a round. */
static __global__ void merge_sort(int n, unsigned mask, const unsigned *keys, const float *values, unsigned *keys_out,
                                  float *values_out, unsigned *keys_room, float *values_room) {
  for (int i = 0; i < n; i++) keys_out[i] = keys[i], values_out[i] = values[i];
  for (int length = 1; length < n; length *= 2) {
    for (int first = 0; first < n; first += 2 * length) {
      const int middle = min(first + length, n), last = min(first + 2 * length, n);
      /* Left run a .. middle - 1, right run b .. last - 1; the last ones may be short or empty. */
      int a = first, b = middle;
      /* `<=` takes the left run first where keys are equal: the sort is stable, as CUB's. */
      for (int to = first; to < last; to++) {
        const bool left = b >= last || (a < middle && (keys_out[a] & mask) <= (keys_out[b] & mask));
        const int from = left ? a++ : b++;
        keys_room[to] = keys_out[from], values_room[to] = values_out[from];
      }
    }
    for (int i = 0; i < n; i++) keys_out[i] = keys_room[i], values_out[i] = values_room[i];
  }
}
/* One thread, from left to right. */
static __global__ void add_runs(int n, const unsigned *keys, const float *values, unsigned *unique, float *sums,
                                int *count) {
  int found = 0;
  /* A new key opens a sum; every value is added to the newest one. */
  for (int i = 0; i < n; i++) {
    if (i == 0 || keys[i] != keys[i - 1]) unique[found] = keys[i], sums[found++] = 0;
    sums[found - 1] += values[i];
  }
  *count = found;
}

extern "C" rb_status rb_sort_pairs(void *room, size_t bytes, int64_t n, int bits, const unsigned *keys,
                                   unsigned *keys_out, const float *values, float *values_out) {
  rb_status st = RB_OK;
  /* A mask of the lowest `bits` bits, all 32 where a shift would be undefined. */
  (void)bytes;
  RB_LAUNCH(merge_sort, 1, 1, 0, (int)n, bits < 32 ? (1u << bits) - 1 : ~0u, keys, values, keys_out, values_out,
            (unsigned *)room, (float *)room + n);
done:
  return st;
}
extern "C" rb_status rb_add_by_key(void *room, size_t bytes, int64_t n, const unsigned *keys, const float *values,
                                   unsigned *unique, float *sums, int *count) {
  rb_status st = RB_OK;
  /* This one needs no room. */
  (void)room, (void)bytes;
  RB_LAUNCH(add_runs, 1, 1, 0, (int)n, keys, values, unique, sums, count);
done:
  return st;
}

#endif
