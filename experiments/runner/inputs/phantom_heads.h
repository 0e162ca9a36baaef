/* SPDX-License-Identifier: BSD-3-Clause */
/* The two phantom heads of a grid, kept from case to case: their surfaces take longer than most solves. */
#ifndef RB_PHANTOM_HEADS_H
#define RB_PHANTOM_HEADS_H

#include "experiments/runner/inputs/anatomy.h"

/* As rb_anatomy_phantom makes it; borrowed: it stays until another grid is asked for. Not thread-safe. */
rb_status rb_borrow_phantom_head(rb_grid grid, int which, rb_anatomy *out);
#endif
