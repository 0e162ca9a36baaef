/* SPDX-License-Identifier: BSD-3-Clause */
/* Status, memory accounting, names, random numbers, grids. */
#include "tests/cmocka_all.h"

#include "cpu_ref/base/memory_limits.h"
#include "kernels/base/backend.h"
#include "kernels/base/grid.h"
#include "kernels/registry/registry.h"
#include "kernels/base/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#ifdef RB_WITH_CUDA
const char *rb_cuda_explain(int error); /* kernels/cuda/cuda.cuh, which C cannot include */
#endif

static void first_message_wins(void **s) {
  (void)s;
  rb_clear();
  assert_int_equal(RB_FAIL(RB_EIO, "first %d", 1), RB_EIO);
  RB_FAIL(RB_EINVAL, "second");
  assert_string_equal(rb_message(), "first 1");
  assert_non_null(strstr(rb_message_where(), "test_base.c:"));
  rb_clear();
  assert_string_equal(rb_message(), "");
}

static void memory_is_counted(void **s) {
  (void)s;
  const rb_backend *b;
  void *p, *q;
  assert_int_equal(rb_backend_get(RB_CPU, &b), RB_OK);
  size_t before = rb_memory_live(RB_CPU);
  assert_int_equal(rb_alloc(b, 1000, &p), RB_OK);
  assert_int_equal(rb_alloc(b, 500, &q), RB_OK);
  assert_int_equal(rb_memory_live(RB_CPU) - before, 1500);
  rb_release(b, p);
  assert_int_equal(rb_memory_live(RB_CPU) - before, 500);
  assert_true(rb_memory_peak(RB_CPU) - before >= 1500);
  rb_release(b, q);
  rb_release(b, NULL);
  assert_int_equal(rb_memory_live(RB_CPU), before);
}

static void out_of_memory_names_the_bytes(void **s) {
  (void)s;
  const rb_backend *b;
  void *p;
  rb_backend_get(RB_CPU, &b);
  rb_memory_limit(RB_CPU, rb_memory_live(RB_CPU) + 100);
  assert_int_equal(rb_alloc(b, 12345, &p), RB_ENOMEM);
  assert_null(p);
  assert_non_null(strstr(rb_message(), "12345 bytes"));
  rb_clear();
  rb_memory_limit(RB_CPU, 0);
}

#ifndef NDEBUG
static void debug_memory_is_poisoned_and_guarded(void **s) {
  (void)s;
  const rb_backend *b;
  float *p;
  rb_backend_get(RB_CPU, &b);
  assert_int_equal(rb_alloc(b, 8 * sizeof(float), (void **)&p), RB_OK);
  assert_true(p[0] != p[0]);
  int before = rb_guard_violations();
  ((volatile float *)p)[8] = 1; /* one past the end: inside the guard band */
  rb_release(b, p);
  assert_int_equal(rb_guard_violations(), before + 1);
}
#endif

static void nearest_name_is_offered(void **s) {
  (void)s;
  const rb_variant *v;
  const rb_family *f;
  assert_int_equal(rb_family_find("interp", &f), RB_OK);
  assert_int_equal(rb_family_find("interpp", &f), RB_ENOTFOUND);
  assert_non_null(strstr(rb_message(), "nearest is interp"));
  rb_clear();
  assert_int_equal(rb_variant_find(&rb_interp_family, "cuda/texture-bsplin", &v), RB_ENOTFOUND);
  assert_non_null(strstr(rb_message(), "cuda/texture-bspline"));
  rb_clear();
  assert_int_equal(rb_variant_find(&rb_interp_family, "cpu/omp", &v), RB_OK);
  assert_string_equal(v->name, "cpu/omp");
}

static void names_are_unique(void **s) {
  (void)s;
  int n;
  const rb_family *const *f = rb_families(&n);
  for (int i = 0; i < n; i++)
    for (int a = 0; a < f[i]->count; a++)
      for (int b = 0; b < a; b++) assert_string_not_equal(f[i]->variants[a].name, f[i]->variants[b].name);
}

static void wave_numbers_drop_nyquist(void **s) {
  (void)s;
  const int even[] = {0, 1, 2, 0, -2, -1}, odd[] = {0, 1, 2, -2, -1};
  for (int k = 0; k < 6; k++) assert_int_equal(rb_wavenumber(k, 6), even[k]);
  for (int k = 0; k < 5; k++) assert_int_equal(rb_wavenumber(k, 5), odd[k]);
  assert_int_equal(rb_wrap(-1, 5), 4);
  assert_int_equal(rb_wrap(10, 5), 0);
  assert_int_equal(rb_wrap(-11, 5), 4);
}

static void random_numbers_are_uniform(void **s) {
  (void)s;
  double sum = 0, square = 0;
  const int n = 100000;
  for (int i = 0; i < n; i++) {
    double v = rb_rng_symmetric(3, (uint64_t)i);
    assert_true(v >= -1 && v < 1);
    sum += v;
    square += v * v;
  }
  assert_true(sum / n < 0.01 && sum / n > -0.01);
  assert_true(square / n > 0.325 && square / n < 0.342); /* 1/3 */
  assert_true(rb_rng_bits(1, 5) != rb_rng_bits(2, 5));
}

/* What a user without the right driver, or without room on the GPU, is told. Codes are the CUDA runtime's. */
static void cuda_errors_tell_the_way_out(void **s) {
  (void)s;
#ifdef RB_WITH_CUDA
  assert_non_null(strstr(rb_cuda_explain(35), "driver is missing or older"));
  assert_non_null(strstr(rb_cuda_explain(100), "no CUDA-capable GPU"));
  assert_non_null(strstr(rb_cuda_explain(2), "take a smaller size"));
  assert_non_null(strstr(rb_cuda_explain(209), "rebuild with"));
#else
  skip();
#endif
}

static void gpu_memory_runs_out(void **s) {
  (void)s;
  const rb_backend *b;
  void *p;
  if (rb_backend_get(RB_CUDA, &b) != RB_OK) {
    assert_true(rb_message()[0] != '\0');
    rb_clear();
    skip();
  }
  assert_int_equal(rb_alloc(b, (size_t)1 << 46, &p), RB_ENOMEM); /* 64 TiB */
  assert_non_null(strstr(rb_message(), "GPU memory"));
  rb_clear();
  rb_memory_limit(RB_CUDA, 1000);
  assert_int_equal(rb_alloc(b, 1001, &p), RB_ENOMEM);
  assert_non_null(strstr(rb_message(), "take a smaller size"));
  rb_clear();
  rb_memory_limit(RB_CUDA, 0);
  assert_int_equal(rb_alloc(b, 1001, &p), RB_OK); /* and nothing stuck */
  rb_release(b, p);
}

static void write_text(const char *folder, const char *name, const char *text) {
  char path[400];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
}
/* Made folders stand for the kernel's: version 2 with a limit two groups above, version 1 without one. */
static void control_groups_limit_memory(void **s) {
  (void)s;
  char root[] = "/tmp/regbench-groups-XXXXXX", path[300], membership[300];
  assert_non_null(mkdtemp(root));
  snprintf(membership, sizeof membership, "%s/cgroup", root);
  const char *const folders[] = {"a", "a/b", "memory"};
  for (int i = 0; i < 3; i++) {
    snprintf(path, sizeof path, "%s/%s", root, folders[i]);
    assert_int_equal(mkdir(path, 0700), 0);
  }
  snprintf(path, sizeof path, "%s/a/b", root);
  write_text(path, "memory.max", "max\n");
  snprintf(path, sizeof path, "%s/a", root);
  write_text(path, "memory.max", "1000000\n"), write_text(path, "memory.current", "400000\n"),
      write_text(path, "memory.stat", "anon 1\ninactive_file 100000\n");
  write_text(root, "cgroup", "0::/a/b\n");
  assert_int_equal(rb_cgroup_memory_available(membership, root), 700000);
  snprintf(path, sizeof path, "%s/memory", root);
  write_text(path, "memory.limit_in_bytes", "9223372036854771712\n"),
      write_text(path, "memory.usage_in_bytes", "5\n");
  write_text(root, "cgroup", "4:cpu,memory:/absent\n");
  assert_true(rb_cgroup_memory_available(membership, root) == SIZE_MAX);
  write_text(path, "memory.limit_in_bytes", "50\n");
  assert_int_equal(rb_cgroup_memory_available(membership, root), 45);
  snprintf(path, sizeof path, "rm -r %s", root);
  assert_int_equal(system(path), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cuda_errors_tell_the_way_out),
      cmocka_unit_test(gpu_memory_runs_out),
      cmocka_unit_test(first_message_wins),
      cmocka_unit_test(memory_is_counted),
      cmocka_unit_test(out_of_memory_names_the_bytes),
#ifndef NDEBUG
      cmocka_unit_test(debug_memory_is_poisoned_and_guarded),
#endif
      cmocka_unit_test(control_groups_limit_memory),
      cmocka_unit_test(nearest_name_is_offered),
      cmocka_unit_test(names_are_unique),
      cmocka_unit_test(wave_numbers_drop_nyquist),
      cmocka_unit_test(random_numbers_are_uniform),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
