/* SPDX-License-Identifier: BSD-3-Clause */
#include "solvers/common/parts.h"

void rb_parts_begin(rb_parts *p, int timed, const rb_backend *b, double *seconds) {
  p->backend = timed ? b : NULL, p->seconds = seconds, p->status = RB_OK, p->count = 0;
}

void rb_parts_end_of(rb_parts *p, int part) {
  if (!p->backend || p->status != RB_OK) return;
  if (p->count == RB_STAMPS) p->status = rb_parts_add(p); /* full: counted, begun anew */
  if (p->status != RB_OK) return;
  p->part[p->count] = part;
  p->status = p->backend->stamp(p->count++);
}

rb_status rb_parts_add(rb_parts *p) {
  rb_status st = p->status;
  for (int k = 1; k < p->count && st == RB_OK; k++) {
    double seconds;
    if (p->part[k] == RB_PART_NONE) continue;
    RB_TRY(p->backend->stamp_interval(k - 1, k, &seconds));
    p->seconds[p->part[k]] += seconds;
  }
done:
  p->count = 0;
  return st;
}
