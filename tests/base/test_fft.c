/* SPDX-License-Identifier: BSD-3-Clause */
/* Transforms on the CPU: planes of threads of our own against FFTW's, and the same bits on any number of threads. */
#include "kernels/fft/fft.h"
#include "tests/ok.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS = 3 };
static const rb_backend *cpu;

static float *some_fields(rb_grid g) {
  const int64_t n = FIELDS * rb_grid_points(g);
  float *f = malloc((size_t)n * sizeof *f);
  for (int64_t i = 0; i < n; i++) f[i] = (float)(sin(1.7 * (double)i) + cos(0.01 * (double)i));
  return f;
}
/* The spectra of FIELDS fields, and the fields that come back, unscaled. */
static void there_and_back(const rb_fft_ops *ops, rb_grid g, float *spectrum, float *back) {
  rb_fft *t;
  float *f = some_fields(g), *kept = malloc(FIELDS * (size_t)rb_grid_points(g) * sizeof *kept);
  const size_t bytes = FIELDS * rb_fft_bytes(g, RB_F32);
  float *lost = malloc(bytes);
  memcpy(kept, f, FIELDS * (size_t)rb_grid_points(g) * sizeof *f);
  ok(rb_fft_create(ops, cpu, g, RB_F32, FIELDS, &t));
  ok(rb_fft_forward(t, FIELDS, f, spectrum));
  assert_memory_equal(f, kept, FIELDS * (size_t)rb_grid_points(g) * sizeof *f);
  memcpy(lost, spectrum, bytes);
  ok(rb_fft_inverse(t, FIELDS, lost, back));
  rb_fft_destroy(t);
  free(lost), free(kept), free(f);
}

static void planes_are_the_transform(void **state) {
  (void)state;
  static const int64_t sizes[][3] = {{8, 6, 10}, {7, 9, 5}, {36, 45, 36}, {2, 3, 2}};
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    const rb_grid g = rb_grid_make(sizes[k][0], sizes[k][1], sizes[k][2]);
    const int64_t n = rb_grid_points(g), pairs = FIELDS * rb_fft_coefficients(g);
    float *a = malloc(2 * (size_t)pairs * sizeof *a), *b = malloc(2 * (size_t)pairs * sizeof *b),
          *back = malloc(FIELDS * (size_t)n * sizeof *back), *other = malloc(FIELDS * (size_t)n * sizeof *other),
          *f = some_fields(g);
    there_and_back(&rb_fft_planes, g, a, back);
    there_and_back(&rb_fft_fftw, g, b, other);
    for (int64_t i = 0; i < 2 * pairs; i++) assert_true(fabsf(a[i] - b[i]) < 1e-5f * (float)n);
    for (int64_t i = 0; i < FIELDS * n; i++) assert_true(fabsf(back[i] / (float)n - f[i]) < 1e-5f);
    free(a), free(b), free(back), free(other), free(f);
  }
}

static void bits_do_not_depend_on_threads(void **state) {
  (void)state;
  const rb_grid g = rb_grid_make(36, 45, 36);
  const size_t spectra = FIELDS * rb_fft_bytes(g, RB_F32),
               fields = FIELDS * (size_t)rb_grid_points(g) * sizeof(float);
  float *one = malloc(spectra), *many = malloc(spectra), *back = malloc(fields), *other = malloc(fields);
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  there_and_back(&rb_fft_planes, g, one, back);
  static const int counts[] = {2, 3, 12};
  for (int k = 0; k < 3; k++) {
    omp_set_num_threads(counts[k]);
    there_and_back(&rb_fft_planes, g, many, other);
    assert_memory_equal(one, many, spectra);
    assert_memory_equal(back, other, fields);
  }
  omp_set_num_threads(threads);
  free(one), free(many), free(back), free(other);
}

int main(void) {
  ok(rb_cpu_backend(&cpu));
  const struct CMUnitTest tests[] = {cmocka_unit_test(planes_are_the_transform),
                                     cmocka_unit_test(bits_do_not_depend_on_threads)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
