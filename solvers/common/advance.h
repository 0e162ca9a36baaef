/* SPDX-License-Identifier: BSD-3-Clause */
/* A greedy fluid's step, with a step length that the backend alone knows. */
#ifndef RB_ADVANCE_H
#define RB_ADVANCE_H

#include "kernels/compose/compose.h"
#include "kernels/steps/steps.h"

/* next(x) = e v(x) + u(x + e v(x)), e the k-th of `steps`: in one pass where compose can, else e v is written into
 * `room` before, which may be v. With an image also warped(x) = image(x + next(x)); rb_array_none() for both else.
 * next must be neither u nor v. Does not wait. */
rb_status rb_advance(rb_steps_plan *steps, int k, rb_compose_plan *compose, rb_array u, rb_array v, rb_array room,
                     rb_array next, rb_array image, rb_array warped);
#endif
