/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/inputs/phantom_heads.h"

#include <string.h>

static rb_grid kept; /* without points: none */
static rb_anatomy head[2];

static void drop(void) {
  for (int k = 0; k < 2; k++) rb_anatomy_free(&head[k]);
  kept = (rb_grid){0};
}

rb_status rb_borrow_phantom_head(rb_grid grid, int which, rb_anatomy *out) {
  rb_status st = RB_OK;
  if (memcmp(&kept, &grid, sizeof grid) != 0) {
    drop();
    for (int k = 0; k < 2; k++) RB_TRY(rb_anatomy_phantom(grid, k, &head[k]));
    kept = grid;
  }
  *out = head[which];
done:
  if (st != RB_OK) drop();
  return st;
}
