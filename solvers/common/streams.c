/* SPDX-License-Identifier: BSD-3-Clause */
#include "solvers/common/streams.h"

rb_status rb_in_streams(const rb_backend *b, int streams, int count, rb_status (*issue)(void *context, int k),
                        void *context) {
  return rb_in_streams_beside(b, streams, count, issue, NULL, context);
}

rb_status rb_in_streams_beside(const rb_backend *b, int streams, int count, rb_status (*issue)(void *context, int k),
                               rb_status (*beside)(void *context), void *context) {
  rb_status st = RB_OK;
  RB_TRY(rb_fork(b, streams, beside != NULL));
  if (beside) {
    rb_choose_stream(b, RB_BACKGROUND);
    st = beside(context);
  }
  for (int k = 0; k < count && st == RB_OK; k++) {
    rb_choose_stream(b, k % streams);
    st = issue(context, k);
  }
  const rb_status joined = rb_join(b);
  if (st == RB_OK) st = joined;
done:
  return st;
}
