/* SPDX-License-Identifier: BSD-3-Clause */
/* splat: sums that are known without an oracle: constants, the last node, and places outside by less than a cell,
 * where cutting a coordinate off towards 0 instead of rounding it down gives negative weights. */
#include "experiments/runner/check/check.h"
#include "experiments/runner/inputs/host_splat.h"

#include <math.h>
#include <stdio.h>

enum { N1 = 6, N2 = 5, N3 = 8, N = N1 * N2 * N3 };

static int supported(const rb_variant *v, const rb_splat_desc *d) {
  const int ok = ((const rb_splat_ops *)v->ops)->supports(d) == RB_OK;
  rb_clear();
  return ok;
}

/* A mass of 1 a node, all moved alike on a periodic grid: 1 everywhere, as weights add up to 1. */
static void constants(rb_checker *c, rb_dtype t, rb_splat_basis basis) {
  const rb_splat_desc d = {
      .grid = {{N1, N2, N3}}, .np = N, .basis = basis, .boundary = RB_PERIODIC, .dtype = t, .components = 1};
  double x[3 * N], m[N], out[N], worst = 0; /* as large as either type needs */
  const double moved[3] = {0.3, -0.6, 7.1};
  if (!supported(c->variant, &d)) return;
  for (int p = 0; p < N; p++) {
    const int node[3] = {p / N3 / N2, p / N3 % N2, p % N3};
    for (int a = 0; a < 3; a++) rb_check_set(t, x, a * N + p, node[a] + moved[a]);
    rb_check_set(t, m, p, 1);
  }
  if (!rb_check_status(c, rb_host_splat(c->variant, &d, x, m, out, NULL), "constants")) return;
  for (int i = 0; i < N; i++) worst = fmax(worst, fabs(rb_check_at(t, out, i) - 1));
  rb_check_value(c, worst, rb_splat_tolerance(c->variant, &d, 1, 1) + 8 * rb_epsilon(t) * 8, "constants stay, %s %s",
                 basis == RB_SPLAT_LINEAR ? "linear" : "cubic", rb_dtype_name(t));
}

/* One mass of 1 on the line of nodes (., 2, 3), at `at` along the first axis: what nodes 0 and N1 - 1 get. */
static void on_a_line(rb_checker *c, rb_dtype t, rb_boundary boundary, double at, double first, double last) {
  static const char *const boundaries[] = {"periodic", "clamp", "zero"};
  const rb_splat_desc d = {
      .grid = {{N1, N2, N3}}, .np = 1, .basis = RB_SPLAT_LINEAR, .boundary = boundary, .dtype = t, .components = 1};
  double x[3], m[1], out[N], others = 0;
  if (!supported(c->variant, &d)) return;
  rb_check_set(t, x, 0, at), rb_check_set(t, x, 1, 2), rb_check_set(t, x, 2, 3), rb_check_set(t, m, 0, 1);
  if (!rb_check_status(c, rb_host_splat(c->variant, &d, x, m, out, NULL), "one mass")) return;
  const int low = 2 * N3 + 3, high = ((N1 - 1) * N2 + 2) * N3 + 3;
  for (int i = 0; i < N; i++) others = fmax(others, i == low || i == high ? 0 : fabs(rb_check_at(t, out, i)));
  const double apart = fmax(fabs(rb_check_at(t, out, low) - first), fabs(rb_check_at(t, out, high) - last));
  rb_check_value(c, fmax(apart, others), rb_splat_tolerance(c->variant, &d, 1, 1), "one mass at %g of 0 to %d, %s %s",
                 at, N1 - 1, boundaries[boundary], rb_dtype_name(t));
}

void rb_check_splat_known(rb_checker *c) {
  for (int t = RB_F32; t <= RB_F64; t++) {
    for (int basis = RB_SPLAT_LINEAR; basis <= RB_SPLAT_CUBIC; basis++)
      constants(c, (rb_dtype)t, (rb_splat_basis)basis);
    for (int b = RB_PERIODIC; b <= RB_ZERO; b++) {
      const double kept = b == RB_CLAMP ? 1 : 0.75, other = b == RB_PERIODIC ? 0.25 : 0;
      on_a_line(c, (rb_dtype)t, (rb_boundary)b, N1 - 1, 0, 1);
      on_a_line(c, (rb_dtype)t, (rb_boundary)b, 0, 1, 0);
      on_a_line(c, (rb_dtype)t, (rb_boundary)b, N1 - 0.75, other, kept);
      on_a_line(c, (rb_dtype)t, (rb_boundary)b, -0.25, kept, other);
    }
  }
}
