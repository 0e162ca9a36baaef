/* SPDX-License-Identifier: BSD-3-Clause */
/* What a solve spends where: calls, model bytes and time by kernel class, noted by the families' front doors.
 *
 * Counting is always on and costs nothing; times are taken between rb_profile_start(…, timed) and rb_profile_stop, by
 * events on the backend's stream (the monotonic clock on the CPU), without waiting in between. Not thread-safe: one
 * solve at a time. */
#ifndef RB_BASE_PROFILE_H
#define RB_BASE_PROFILE_H

#include "kernels/base/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  RB_CLASS_INTERP,     /* unit: scalar field evaluated at a grid's worth of points */
  RB_CLASS_GRADIENT,   /* unit: one partial derivative (a gradient counts 3) */
  RB_CLASS_DIVERGENCE, /* the same */
  RB_CLASS_SPECTRAL, /* other spectral operators; unit: one component transformed and back (brunn2020 counts these) */
  RB_CLASS_FIELD,    /* pointwise arithmetic and reductions; unit: a call */
  RB_CLASS_TRANSPORT, /* fused transport kernels; unit: a launch */
  RB_CLASSES
} rb_class;

typedef struct {
  double units[RB_CLASSES];
  double bytes[RB_CLASSES];   /* least traffic by the families' models */
  double seconds[RB_CLASSES]; /* 0 when not timed */
  double stamps;              /* events recorded: their number times their cost is the overhead */
} rb_profile;

/* Forget everything noted; with `timed`, record events from here on. */
rb_status rb_profile_start(const rb_backend *b, int timed);
/* Counts since start; sums the times. */
rb_status rb_profile_stop(const rb_backend *b, rb_profile *out);
/* Take no more times, whatever happened. */
void rb_profile_abandon(void);
/* Counts so far, without stopping. */
rb_profile rb_profile_now(void);
const char *rb_class_name(rb_class c);

/* For front doors: bracket a call. Nested brackets belong to the outermost. */
rb_status rb_profile_begin(const rb_backend *b, rb_class c);
rb_status rb_profile_end(const rb_backend *b, double units, double bytes);

#ifdef __cplusplus
}
#endif
#endif
