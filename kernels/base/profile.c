/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/base/profile.h"

#include <string.h>

/* Stamps in use before they are read: the backend has no more. */
enum { FLUSH_AT = RB_STAMPS };

/* One profile a program, without locks: one solve at a time. */
static rb_profile now;
static int timed, depth, stamps;
/* stamps: 2 i begins and 2 i + 1 ends a section of class stamp_class[i]. depth: sections within one another. */
static rb_class current, stamp_class[FLUSH_AT / 2];

/* Counts begin at 0; with_times: seconds, too, by stamps of the backend. */
rb_status rb_profile_start(const rb_backend *b, int with_times) {
  (void)b;
  memset(&now, 0, sizeof now);
  timed = with_times;
  depth = stamps = 0;
  return RB_OK;
}

/* Read the pending pairs of events into the sums. */
static rb_status flush(const rb_backend *b) {
  rb_status st = RB_OK;
  for (int i = 0; i + 1 < stamps; i += 2) {
    /* waits for the later stamp of each pair */
    double seconds;
    RB_TRY(b->stamp_interval(i, i + 1, &seconds));
    now.seconds[stamp_class[i / 2]] += seconds;
  }
  stamps = 0;
done:
  return st;
}

rb_status rb_profile_stop(const rb_backend *b, rb_profile *out) {
  rb_status st = RB_OK;
  /* *out is not written where the flush fails */
  if (timed) RB_TRY(flush(b));
  *out = now;
done:
  timed = 0;
  return st;
}

/* For a solve that failed within a section: depth would otherwise stay above 0. */
void rb_profile_abandon(void) { timed = depth = stamps = 0; }

rb_profile rb_profile_now(void) { return now; }

const char *rb_class_name(rb_class c) {
  static const char *const names[] = {"interpolation",      "gradients",        "divergences",
                                      "spectral operators", "field arithmetic", "fused transport"};
  return names[c];
}

/* Of nested sections the outermost counts: what a kernel calls of other families is part of its own time and class.
 */
rb_status rb_profile_begin(const rb_backend *b, rb_class c) {
  rb_status st = RB_OK;
  if (depth++ > 0) return RB_OK;
  current = c;
  if (!timed) return RB_OK;
  /* room for both stamps of the section, so that end never has to flush between them */
  if (stamps + 2 > FLUSH_AT) RB_TRY(flush(b));
  stamp_class[stamps / 2] = c;
  RB_TRY(b->stamp(stamps++));
  now.stamps++;
done:
  return st;
}

rb_status rb_profile_end(const rb_backend *b, double units, double bytes) {
  rb_status st = RB_OK;
  /* inner sections' units and bytes are not added */
  if (--depth > 0) return RB_OK;
  /* counted whether timed or not */
  now.units[current] += units;
  now.bytes[current] += bytes;
  if (!timed) return RB_OK;
  RB_TRY(b->stamp(stamps++));
  now.stamps++;
done:
  return st;
}
