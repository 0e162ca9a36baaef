/* SPDX-License-Identifier: BSD-3-Clause */
/* The single-thread code that demons2020 divides by, in spirit: float32, a bound check a tap, every pass along its
 * own axis. */
#include "kernels/smooth/smooth.h"

#include <stdlib.h>

static rb_status supports(const rb_smooth_desc *d) {
  return d->dtype == RB_F32 ? RB_OK : RB_FAIL(RB_EUNSUPPORTED, "cpu/naive is float32, as the paper's");
}
static rb_status plan(const rb_backend *b, const rb_smooth_desc *d, rb_smooth_plan **out) {
  (void)b, (void)d;
  *out = calloc(1, sizeof **out);
  return *out ? RB_OK : RB_FAIL(RB_ENOMEM, "host memory");
}
static void destroy(rb_smooth_plan *p) { free(p); }

static rb_status pass(rb_smooth_plan *p, const rb_smooth_kernel *k, int axis, const void *in_, void *out_) {
  const rb_grid g = p->desc.grid;
  const int64_t stride = axis == 0 ? g.n[1] * g.n[2] : axis == 1 ? g.n[2] : 1;
  const float *in = in_;
  float *out = out_, *w = malloc((size_t)(k->radius + 1) * sizeof *w);
  if (!w) return RB_FAIL(RB_ENOMEM, "host memory");
  /* weights in float, made in double by the front door */
  for (int d = 0; d <= k->radius; d++) w[d] = (float)k->k[d];
  /* i: flat index of node `at` of component c, counted along */
  int64_t at[3], i = 0;
  for (int c = 0; c < p->desc.components; c++)
    for (at[0] = 0; at[0] < g.n[0]; at[0]++)
      for (at[1] = 0; at[1] < g.n[1]; at[1]++)
        for (at[2] = 0; at[2] < g.n[2]; at[2]++, i++) {
          float sum = 0;
          /* from -r to r, one term after the other in float; taps outside are left out */
          for (int64_t d = -k->radius; d <= k->radius; d++)
            if (at[axis] + d >= 0 && at[axis] + d < g.n[axis]) sum += w[d < 0 ? -d : d] * in[i + d * stride];
          out[i] = sum;
        }
  free(w);
  return RB_OK;
}

const rb_smooth_ops rb_smooth_naive = {supports, plan, pass, NULL, destroy, 0, 0};
