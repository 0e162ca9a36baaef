/* SPDX-License-Identifier: BSD-3-Clause */
/* Small images of which the tests of the atlas make means. */
#ifndef RB_ATLAS_PICTURES_H
#define RB_ATLAS_PICTURES_H

#include "tests/ok.h"

#include "solvers/atlas/atlas.h"

#include <math.h>

enum { N1 = 16, N2 = 20, N3 = 17, N = N1 * N2 * N3, MOST = 8 };
static const rb_grid grid = {{N1, N2, N3}};

/* A soft ball with a smaller one in it; `k` moves and deforms it. Values in [0, 1]. */
static float pictures[MOST][N];
static void fill_pictures(void) {
  for (int k = 0; k < MOST; k++)
    for (int i = 0; i < N; i++) {
      const double x = i / N3 / N2 - 7.5 + 0.6 * sin(k + 1.0), y = i / N3 % N2 - 9.5 + 0.8 * cos(2.0 * k),
                   z = i % N3 - 8 + 0.5 * sin(3.0 * k), r = sqrt(x * x + y * y * (1 + 0.05 * k) + z * z),
                   q = sqrt((x - 2) * (x - 2) + y * y + z * z);
      pictures[k][i] = (float)(0.7 / (1 + exp(1.5 * (r - 5))) + 0.3 / (1 + exp(2 * (q - 2))));
    }
}

static const rb_variant *variant(const char *name) {
  const rb_variant *v;
  ok(rb_variant_find(&rb_atlas_family, name, &v));
  return v;
}

static rb_atlas_options quick(void) {
  rb_atlas_options o = rb_atlas_defaults();
  o.iterations = 20, o.first_sweeps = 30;
  return o;
}
#endif
