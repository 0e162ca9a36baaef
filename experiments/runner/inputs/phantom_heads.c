/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/inputs/phantom_heads.h"

static int64_t kept; /* the size; 0: none */
static rb_anatomy head[2];

static void drop(void) {
  for (int k = 0; k < 2; k++) rb_anatomy_free(&head[k]);
  kept = 0;
}

rb_status rb_borrow_phantom_head(int64_t size, int which, rb_anatomy *out) {
  rb_status st = RB_OK;
  if (kept != size) {
    drop();
    for (int k = 0; k < 2; k++) RB_TRY(rb_anatomy_phantom(size, k, &head[k]));
    kept = size;
  }
  *out = head[which];
done:
  if (st != RB_OK) drop();
  return st;
}
