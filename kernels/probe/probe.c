/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/probe/probe.h"

rb_status rb_probe_measure(const rb_variant *variant, size_t bytes, int samples, double *rate) {
  rb_status st = RB_OK;
  const rb_backend *backend;
  /* a rate is a time: an emulated backend is refused */
  RB_TRY(rb_variant_timed(variant));
  RB_TRY(rb_variant_backend(variant, &backend));
  const rb_probe_ops *ops = variant->ops;
  RB_CHECK(samples > 0, RB_EINVAL, "probe: %d samples", samples);
  RB_TRY(ops->measure(backend, bytes ? bytes : ops->default_bytes(backend), samples, rate));
done:
  return st;
}

/* Tiles of 128 x 32 values of axes x3 and x2, in every plane of x1, each with a halo of 4 values on four sides,
 * without the corners: 2 * 4 * (128 + 32) floats a tile read besides the N read and N written. */
double rb_copy_halo_bytes(rb_grid g) {
  double tiles2 = (double)((g.n[1] + RB_HALO_TILE_Y - 1) / RB_HALO_TILE_Y);
  double tiles3 = (double)((g.n[2] + RB_HALO_TILE_X - 1) / RB_HALO_TILE_X);
  double halo = tiles2 * tiles3 * (double)g.n[0] * RB_HALO_WIDTH * 2 * (RB_HALO_TILE_X + RB_HALO_TILE_Y);
  return sizeof(float) * (2 * (double)rb_grid_points(g) + halo);
}
