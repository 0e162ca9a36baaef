/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/workloads/places.h"

#include "kernels/base/rng.h"

#include <stdlib.h>
#include <time.h>

uint64_t rb_places_seed(void) {
  static uint64_t seed;
  if (!seed) {
    const char *asked = getenv("REGBENCH_SEED");
    const long long number = asked ? atoll(asked) : 0;
    seed = (number > 0 ? (uint64_t)number : (uint64_t)time(NULL)) & 0x7fffffff;
  }
  return seed;
}

/* The `draw`-th whole number below `below`. */
static int64_t drawn(int64_t draw, int64_t below) {
  return (int64_t)(rb_rng_bits(rb_places_seed(), (uint64_t)draw) % (uint64_t)below);
}

/* One more place on the face where coordinate `axis` is `value`. */
static int64_t on_face(rb_grid g, int axis, int64_t value, int64_t draw) {
  int64_t x[3];
  for (int a = 0; a < 3; a++) x[a] = a == axis ? value : drawn(3 * draw + a, g.n[a]);
  return (x[0] * g.n[1] + x[1]) * g.n[2] + x[2];
}

static void fill(rb_grid g, int all, int64_t count, int64_t *at) {
  const int64_t n = rb_grid_points(g);
  int64_t k = 0;
  if (all) {
    for (; k < count; k++) at[k] = k;
    return;
  }
  for (int64_t i = 0; i < g.n[2]; i++) at[k++] = i, at[k++] = n - 1 - i;
  for (int axis = 0; axis < 3; axis++)
    for (int i = 0; i < RB_PLACES_OF_A_FACE; i++, k += 2)
      at[k] = on_face(g, axis, 0, k), at[k + 1] = on_face(g, axis, g.n[axis] - 1, k + 1);
  for (; k < count; k++) at[k] = drawn(3 * k, n);
}

rb_status rb_places_of(rb_grid g, rb_places *out) {
  static rb_places kept;
  static int64_t *at;
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(g);
  const int all = n <= RB_PLACES_ALL;
  const int64_t count = all ? n : 2 * g.n[2] + 6 * RB_PLACES_OF_A_FACE + RB_PLACES_DRAWN;
  if (!kept.count || g.n[0] != kept.grid.n[0] || g.n[1] != kept.grid.n[1] || g.n[2] != kept.grid.n[2]) {
    kept.count = 0;
    free(at);
    at = malloc((size_t)count * sizeof *at);
    RB_CHECK(at, RB_ENOMEM, "host memory");
    fill(g, all, count, at);
    kept = (rb_places){g, all, count, at};
  }
  *out = kept;
done:
  return st;
}

void rb_places_tell(const rb_places *p, rb_outcome *o) {
  if (!p->all) rb_outcome_metric(o, "oracle_seed", (double)rb_places_seed(), "1", "of the places that were drawn");
}
const char *rb_places_against(const rb_places *p) {
  return p->all ? "cpu/ref" : "cpu/ref, on the borders and at drawn places";
}
