/* SPDX-License-Identifier: BSD-3-Clause */
#include "solvers/common/advance.h"

rb_status rb_advance(rb_steps_plan *steps, int k, rb_compose_plan *compose, rb_array u, rb_array v, rb_array room,
                     rb_array next, rb_array image, rb_array warped) {
  rb_status st = RB_OK;
  if (rb_compose_has_step(compose->variant))
    return rb_compose_step(compose, rb_steps_of(steps, k), u, v, next, image, warped);
  RB_TRY(rb_steps_scale(steps, k, 3 * rb_grid_points(compose->desc.grid), v, room));
  RB_TRY(rb_compose(compose, 1, u, room, next));
  if (image.data) RB_TRY(rb_compose_warp(compose, image, next, warped));
done:
  return st;
}
