/* SPDX-License-Identifier: BSD-3-Clause */
/* Index arithmetic beyond 2^31 points: gradients on 1300^3 by every CUDA variant, where kernels are executed on a
 * CPU. A sample of the blocks runs, the last one among them, and memory costs only what is touched, so that 35 GB of
 * arrays need none of it. */
#include "tests/ok.h"

#include "kernels/base/backend.h"
#include "kernels/derivative/derivative.h"
#include "kernels/registry/registry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1300 };

static void gradient_at_the_last_point(void **state) {
  (void)state;
  const rb_backend *cuda;
  const char *wanted = getenv("RB_TEST_VARIANT"); /* one of them, or all */
  const rb_derivative_desc d = {.grid = rb_grid_make(N, N, N), .scheme = RB_FD8, .dtype = RB_F32};
  const int64_t n = rb_grid_points(d.grid), last = n - 1;
  const double slope = -rb_fd8[0] * N / (2 * acos(-1.0)); /* of a field that is 1 at the point before, 0 elsewhere */
  void *f, *g;
  int ran = 0;
  if (rb_backend_get(RB_CUDA, &cuda) != RB_OK || !cuda->emulated) {
    rb_clear();
    skip();
  }
  for (int i = 0; i < rb_derivative_family.count; i++) {
    const rb_variant *v = &rb_derivative_family.variants[i];
    rb_derivative_plan *p;
    const float one = 1, nothing = -7;
    float got;
    if (v->backend != RB_CUDA || (wanted && strcmp(wanted, v->name) != 0)) continue;
    const rb_status st = rb_derivative_create(v, &d, &p);
    if (st == RB_EUNSUPPORTED) {
      rb_clear();
      continue;
    }
    ok(st);
    /* not by rb_alloc, which fills new memory in Debug builds: 35 GB would be touched */
    ok(cuda->alloc((size_t)n * sizeof(float), &f));
    ok(cuda->alloc(3 * (size_t)n * sizeof(float), &g));
    ok(cuda->upload((float *)f + last - 1, &one, sizeof one));
    ok(cuda->upload((float *)g + 2 * n + last, &nothing, sizeof nothing));
    ok(rb_gradient(p, rb_array_view(cuda, RB_F32, n, f), rb_array_view(cuda, RB_F32, 3 * n, g)));
    ok(cuda->download(&got, (float *)g + 2 * n + last, sizeof got));
    if (!(fabs(got / slope - 1) < 1e-6)) fail_msg("%s: %g at the last point, not %g", v->name, got, slope);
    rb_derivative_destroy(p);
    cuda->release(f);
    cuda->release(g);
    ran++;
  }
  assert_true(ran > 0);
}

int main(void) {
  setenv("EMULATOR_BLOCKS", "8", 1);
  const struct CMUnitTest tests[] = {cmocka_unit_test(gradient_at_the_last_point)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
