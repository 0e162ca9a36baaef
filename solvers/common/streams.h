/* SPDX-License-Identifier: BSD-3-Clause */
/* Work on parts that do not meet, side by side where a backend has several streams. */
#ifndef RB_STREAMS_H
#define RB_STREAMS_H

#include "kernels/base/backend.h"

/* issue(context, k) for k < count, the k-th in stream k % streams; streams: 1 to RB_STREAMS. Behind the first failure
 * nothing more is issued. All streams are joined at the end, whatever happened. Does not wait. */
rb_status rb_in_streams(const rb_backend *b, int streams, int count, rb_status (*issue)(void *context, int k),
                        void *context);
/* The same beside `beside`, long passes that use what the others leave idle (RB_BACKGROUND of backend.h). */
rb_status rb_in_streams_beside(const rb_backend *b, int streams, int count, rb_status (*issue)(void *context, int k),
                               rb_status (*beside)(void *context), void *context);
#endif
