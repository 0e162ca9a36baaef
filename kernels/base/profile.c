/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/base/profile.h"

#include <string.h>

enum { FLUSH_AT = RB_STAMPS };

static rb_profile now;
static int timed, depth, stamps;
static rb_class current, stamp_class[FLUSH_AT / 2];

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
  if (timed) RB_TRY(flush(b));
  *out = now;
done:
  timed = 0;
  return st;
}

void rb_profile_abandon(void) { timed = depth = stamps = 0; }

rb_profile rb_profile_now(void) { return now; }

const char *rb_class_name(rb_class c) {
  static const char *const names[] = {"interpolation",      "gradients",        "divergences",
                                      "spectral operators", "field arithmetic", "fused transport"};
  return names[c];
}

rb_status rb_profile_begin(const rb_backend *b, rb_class c) {
  rb_status st = RB_OK;
  if (depth++ > 0) return RB_OK;
  current = c;
  if (!timed) return RB_OK;
  if (stamps + 2 > FLUSH_AT) RB_TRY(flush(b));
  stamp_class[stamps / 2] = c;
  RB_TRY(b->stamp(stamps++));
  now.stamps++;
done:
  return st;
}

rb_status rb_profile_end(const rb_backend *b, double units, double bytes) {
  rb_status st = RB_OK;
  if (--depth > 0) return RB_OK;
  now.units[current] += units;
  now.bytes[current] += bytes;
  if (!timed) return RB_OK;
  RB_TRY(b->stamp(stamps++));
  now.stamps++;
done:
  return st;
}
