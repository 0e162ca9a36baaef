/* SPDX-License-Identifier: BSD-3-Clause */
/* Host roofs: STREAM copy and triad (McCalpin's byte counts: no write-allocate), float32 multiply-adds. */
#include "kernels/base/statistics.h"
#include "kernels/probe/probe.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of each array: four times the last-level cache, 64 MiB at least. */
static size_t memory_bytes(const rb_backend *b) {
  size_t beyond = 4 * b->cache_bytes();
  return beyond < ((size_t)64 << 20) ? (size_t)64 << 20 : beyond;
}
/* Default size of a probe that moves no arrays. */
static size_t none(const rb_backend *b) {
  (void)b;
  return 1;
}

/* copy: a = b;  triad: a = b + 3 c, in float. Rate: (2 or 3) arrays' bytes over the time; the median of `samples`.
 */
static rb_status stream(const rb_backend *backend, size_t bytes, int samples, int triad, double *rate) {
  rb_status st = RB_OK;
  /* three arrays of `bytes` each, copy leaves c out of its loop */
  float *a = NULL, *b = NULL, *c = NULL;
  int64_t n = (int64_t)(bytes / sizeof(float));
  double *rates = calloc((size_t)samples, sizeof *rates);
  RB_CHECK(rates, RB_ENOMEM, "host memory");
  RB_TRY(rb_alloc(backend, bytes, (void **)&a));
  RB_TRY(rb_alloc(backend, bytes, (void **)&b));
  RB_TRY(rb_alloc(backend, bytes, (void **)&c));
#pragma omp parallel for schedule(static)
  /* written by the same static shares as the loops below: each thread meets its own pages first */
  for (int64_t i = 0; i < n; i++) a[i] = 0, b[i] = (float)(i % 1021), c[i] = (float)(i % 509);
  /* pass -1 warms up and is not kept */
  for (int s = -1; s < samples; s++) {
    double seconds;
    RB_TRY(backend->timer_start());
    if (triad) {
#pragma omp parallel for simd schedule(static)
      for (int64_t i = 0; i < n; i++) a[i] = b[i] + 3.0f * c[i];
    } else {
#pragma omp parallel for simd schedule(static)
      for (int64_t i = 0; i < n; i++) a[i] = b[i];
    }
    RB_TRY(backend->timer_stop(&seconds));
    /* what is read and what is written; a line that is fetched to be written is not counted */
    if (s >= 0) rates[s] = (triad ? 3.0 : 2.0) * (double)bytes / seconds;
  }
  /* a sample of the values; the products are small whole numbers and exact */
  for (int64_t i = 0; i < n; i += 7919)
    RB_CHECK(a[i] == (triad ? b[i] + 3.0f * c[i] : b[i]), RB_EINVALID, "STREAM result wrong at %lld", (long long)i);
  *rate = rb_median(rates, samples);
done:
  rb_release(backend, c);
  rb_release(backend, b);
  rb_release(backend, a);
  free(rates);
  return st;
}
/* rate: bytes of two arrays over the time; triad: of three */
static rb_status copy(const rb_backend *b, size_t bytes, int samples, double *rate) {
  return stream(b, bytes, samples, 0, rate);
}
static rb_status triad(const rb_backend *b, size_t bytes, int samples, double *rate) {
  return stream(b, bytes, samples, 1, rate);
}

/* 128 independent accumulators a thread hide the latency of the multiply-add at any vector width. */
static double multiply_adds(int64_t rounds, float seed) {
  float acc[128];
  for (int v = 0; v < 128; v++) acc[v] = (float)v;
  /* acc <- 0.999 acc + seed converges to 1000 seed: no overflow, no infinity */
  for (int64_t r = 0; r < rounds; r++)
    for (int v = 0; v < 128; v++) acc[v] = acc[v] * 0.999f + seed;
  double sum = 0;
  for (int v = 0; v < 128; v++) sum += acc[v];
  return sum;
}

/* FLOP/s of all threads together, in float32; the time includes starting the team. */
static rb_status fma_rate(const rb_backend *backend, size_t bytes, int samples, double *rate) {
  rb_status st = RB_OK;
  (void)bytes;
  /* of 128 multiply-adds a thread */
  const int64_t rounds = 400000;
  double *rates = calloc((size_t)samples, sizeof *rates);
  RB_CHECK(rates, RB_ENOMEM, "host memory");
  for (int s = -1; s < samples; s++) {
    double seconds, sum = 0;
    RB_TRY(backend->timer_start());
#pragma omp parallel reduction(+ : sum)
    /* every thread does the whole work; its result is used, in the check below */
    sum += multiply_adds(rounds, 1.0f + (float)s);
    RB_TRY(backend->timer_stop(&seconds));
    RB_CHECK(sum == sum, RB_EINVALID, "multiply-adds gave NaN");
    /* a multiply-add is two FLOPs, of 128 accumulators, rounds and threads */
    if (s >= 0) rates[s] = 2.0 * 128 * (double)rounds * omp_get_max_threads() / seconds;
  }
  *rate = rb_median(rates, samples);
done:
  free(rates);
  return st;
}

/* The copy as a timed operation on the caller's arrays, N floats. */
static rb_status plain_copy(const void *in, void *out, rb_grid g) {
  const float *from = in;
  float *to = out;
  int64_t n = rb_grid_points(g);
#pragma omp parallel for simd schedule(static)
  for (int64_t i = 0; i < n; i++) to[i] = from[i];
  return RB_OK;
}
const rb_probe_ops rb_probe_cpu_copy = {"B/s", "a[i] = b[i], read + write", copy, memory_bytes, plain_copy, 0};
const rb_probe_ops rb_probe_cpu_triad = {"B/s", "a[i] = b[i] + s c[i], two reads + write", triad, memory_bytes, NULL,
                                         0};
const rb_probe_ops rb_probe_cpu_fma = {"FLOP/s", "128 float32 accumulators a core", fma_rate, none, NULL, 0};
