/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/inputs/deformation.h"

#include "kernels/base/rng.h"

#include <math.h>
#include <string.h>

static const char *const names[] = {"random", "diffeomorphic", "step", "singular"};
enum { RANDOM, DIFFEOMORPHIC, STEP, SINGULAR, KINDS };

static int kind_of(const char *name) {
  for (int k = 0; k < KINDS; k++)
    if (strcmp(name, names[k]) == 0) return k;
  return -1;
}
int rb_deformation_known(const char *name) { return kind_of(name) >= 0; }

rb_status rb_deformation(const char *name, rb_grid grid, float *x) {
  const int kind = kind_of(name);
  const int64_t *n = grid.n, all = rb_grid_points(grid);
  const double amplitude = kind == STEP ? 0.003 : 0.04;
  if (kind < 0) return RB_FAIL(RB_EINVAL, "unknown deformation '%s': random, diffeomorphic, step, singular", name);
#pragma omp parallel for schedule(static)
  for (int64_t p = 0; p < all; p++) {
    const int64_t i[3] = {p / n[2] / n[1], p / n[2] % n[1], p % n[2]};
    double turn[3]; /* 2 pi xi */
    for (int a = 0; a < 3; a++) turn[a] = n[a] > 1 ? RB_TWO_PI * (double)i[a] / (double)(n[a] - 1) : 0;
    for (int a = 0; a < 3; a++) {
      const double side = (double)(n[a] - 1);
      x[a * all + p] = (float)(kind == RANDOM     ? rb_rng_uniform((uint64_t)a, (uint64_t)p) * side
                               : kind == SINGULAR ? side / 2 + 0.25
                                                  : (double)i[a] + amplitude * side * sin(turn[a]) *
                                                                       (1 + cos(turn[(a + 1) % 3]) / 2));
    }
  }
  return RB_OK;
}
