/* SPDX-License-Identifier: BSD-3-Clause */
/* cuda/example: linear, periodic, float32; a thread a point, eight loads each. */
#include "kernels/cuda/cuda.cuh"
#include "kernels/interp/interp.h"

#include <stdlib.h>

typedef struct {
  rb_interp_plan head;
  const float *f; /* on the device; the caller keeps it until the last eval */
} example_plan;

/* Thread p makes out[p]. */
static __global__ void linear_kernel(const float *__restrict__ f, int n1, int n2, int n3, int64_t np,
                                     const float *__restrict__ x, float *__restrict__ out) {
  const int64_t p = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (p >= np) return;
  const float low[3] = {floorf(x[p]), floorf(x[np + p]), floorf(x[2 * np + p])};
  const float t[3] = {x[p] - low[0], x[np + p] - low[1], x[2 * np + p] - low[2]};
  float sum = 0;
  for (int corner = 0; corner < 8; corner++) {
    const int up[3] = {corner >> 2, corner >> 1 & 1, corner & 1};
    const float weight = (up[0] ? t[0] : 1 - t[0]) * (up[1] ? t[1] : 1 - t[1]) * (up[2] ? t[2] : 1 - t[2]);
    const int i = rb_wrap_near((int)low[0] + up[0], n1), j = rb_wrap_near((int)low[1] + up[1], n2),
              k = rb_wrap_near((int)low[2] + up[2], n3);
    sum += weight * f[((int64_t)i * n2 + j) * n3 + k];
  }
  out[p] = sum;
}

static rb_status supports(const rb_interp_desc *d) {
  if (d->basis != RB_LINEAR || d->boundary != RB_PERIODIC || d->dtype != RB_F32)
    return RB_FAIL(RB_EUNSUPPORTED, "the example is linear, periodic, in float32");
  return RB_OK;
}
static rb_status plan(const rb_backend *, const rb_interp_desc *, rb_interp_plan **out) {
  rb_status st = RB_OK;
  example_plan *p = (example_plan *)calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  *out = &p->head;
done:
  return st;
}
static rb_status load(rb_interp_plan *head, const void *f) {
  ((example_plan *)head)->f = (const float *)f;
  return RB_OK;
}
static rb_status eval(rb_interp_plan *head, int64_t np, const void *x, void *out) {
  rb_status st = RB_OK;
  const rb_interp_desc *d = &head->desc;
  for (int c = 0; c < d->components; c++)
    RB_LAUNCH(linear_kernel, rb_blocks(np, 256), 256, 0, ((example_plan *)head)->f + c * rb_grid_points(d->grid),
              (int)d->grid.n[0], (int)d->grid.n[1], (int)d->grid.n[2], np, (const float *)x, (float *)out + c * np);
done:
  return st;
}
static void destroy(rb_interp_plan *head) { free(head); }

extern "C" const rb_interp_ops example_cuda;
const rb_interp_ops example_cuda = {supports, plan, load, eval, destroy, 0, 0, NULL};
