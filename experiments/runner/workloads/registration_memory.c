/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/workloads/registration.h"

/* need: bytes on the backend for the solve and, with label maps, for a second transport that carries labels while the
 * first stands: its history, 14 fields, what a cubic basis keeps, and the spectral plans that differentiate and
 * smooth. */
rb_status rb_register_claire_predict(const rb_variant *v, const rb_claire_options *o, rb_grid grid, int labels,
                                     size_t *need) {
  rb_status st = RB_OK;
  size_t host;
  RB_TRY(rb_claire_predict(v, o, grid, need, &host));
  if (labels) {
    const rb_claire_config *c = v->ops;
    const int spectral = c->scheme != RB_SPECTRAL ? 0 : v->backend == RB_CUDA ? 10 : 3;
    *need += (size_t)rb_grid_points(grid) * (size_t)(o->steps + 1 + 14 + 4 + spectral) * rb_dtype_size(c->dtype);
  }
done:
  return st;
}
