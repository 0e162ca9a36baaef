/* SPDX-License-Identifier: BSD-3-Clause */
/* cuda/sor-plain of helmholtz: a kernel a colour, a thread a node of that colour. */
#include "kernels/cuda/cuda.cuh"
#include "kernels/helmholtz/helmholtz_sor.h"

#include <stdlib.h>

enum { WIDE = 32, HIGH = 8 };

static rb_status supports(const rb_helmholtz_desc *d) {
  if (d->dtype != RB_F32) return RB_FAIL(RB_EUNSUPPORTED, "the CUDA variants are float32 only");
  if (rb_grid_points(d->grid) >= (int64_t)1 << 31 || d->grid.n[0] > RB_MOST_BLOCKS_YZ ||
      d->grid.n[1] > RB_MOST_BLOCKS_YZ * HIGH)
    return RB_FAIL(RB_EUNSUPPORTED, "cuda/sor-plain ends at 2^31 voxels, 65535 planes");
  return RB_OK;
}
static rb_status plan(const rb_backend *backend, const rb_helmholtz_desc *d, rb_helmholtz_plan **out) {
  (void)backend, (void)d;
  *out = (rb_helmholtz_plan *)calloc(1, sizeof **out);
  return *out ? RB_OK : RB_FAIL(RB_ENOMEM, "host memory");
}
static void destroy(rb_helmholtz_plan *p) { free(p); }

/* Of one component: nodes inside the border with i1 + i2 + i3 + odd even. A colour reads only the other: no thread
 * reads what another of this launch writes. */
static __global__ void __launch_bounds__(WIDE *HIGH)
    colour_kernel(int n1, int n2, int n3, int border, int odd, rb_sor_weights_f32 w, const float *__restrict__ f,
                  float *v) {
  const int i1 = (int)blockIdx.z + border, i2 = (int)(blockIdx.y * HIGH + threadIdx.y) + border;
  /* Every second node of the row, from the border on; the parity of the row decides which. */
  const int i3 = border + 2 * (int)(blockIdx.x * WIDE + threadIdx.x) + ((i1 + i2 + border + odd) & 1);
  if (i1 >= n1 - border || i2 >= n2 - border || i3 >= n3 - border) return;
  const int s1 = n2 * n3, i = i1 * s1 + i2 * n3 + i3;
  v[i] = rb_sor_update_f32(w, f[i], v[i], v[i - s1], v[i + s1], v[i - n3], v[i + n3], v[i - 1], v[i + 1]);
}

static rb_status sweep(rb_helmholtz_plan *p, int sweeps, double omega, const void *f, void *v) {
  rb_status st = RB_OK;
  const rb_helmholtz_desc *d = &p->desc;
  const int64_t n = rb_grid_points(d->grid);
  const int n1 = (int)d->grid.n[0], n2 = (int)d->grid.n[1], n3 = (int)d->grid.n[2], b = d->border;
  if (n1 <= 2 * b || n2 <= 2 * b || n3 <= 2 * b) goto done; /* nothing inside */
  for (int c = 0; c < 3; c++) /* a component after the other: its v and f may stay in the L2 cache */
    /* Half-sweeps 0, 2, ... are the even nodes, 1, 3, ... the odd ones. The end of a launch is the barrier between
     * colours. */
    for (int half = 0; half < 2 * sweeps; half++)
      RB_LAUNCH(colour_kernel,
                dim3(rb_blocks((n3 - 2 * b + 1) / 2, WIDE), rb_blocks(n2 - 2 * b, HIGH), (unsigned)(n1 - 2 * b)),
                dim3(WIDE, HIGH), 0, n1, n2, n3, b, half & 1, rb_sor_weights_of_f32(d, omega),
                (const float *)f + c * n, (float *)v + c * n);
done:
  return st;
}

extern "C" const rb_helmholtz_ops rb_helmholtz_sor_plain = {supports,          plan, NULL, sweep, destroy,
                                                            RB_HELMHOLTZ_ZERO, 0};
