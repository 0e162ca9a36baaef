/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a solve's time goes: points in the backend's time, and the times between them added up by part. A point costs
 * an event on a GPU and nothing on a CPU; nothing waits before rb_parts_add, or before all points are used up. */
#ifndef RB_PARTS_H
#define RB_PARTS_H

#include "kernels/base/backend.h"

/* Of a point at which no part ends: what lies before it is nobody's. */
enum { RB_PART_NONE = -1 };

typedef struct {
  const rb_backend *backend; /* NULL: nothing is timed */
  double *seconds;           /* [parts], borrowed: the sums */
  rb_status status;          /* of the points so far */
  int count, part[RB_STAMPS];
} rb_parts;

/* Times nothing where `timed` is 0. seconds are added to, not cleared, and must live until the last rb_parts_add. */
void rb_parts_begin(rb_parts *p, int timed, const rb_backend *b, double *seconds);
/* Here `part` ends, which began at the point before. A failure is kept for rb_parts_add. */
void rb_parts_end_of(rb_parts *p, int part);
/* Waits; adds what the points so far tell and forgets them. */
rb_status rb_parts_add(rb_parts *p);
#endif
