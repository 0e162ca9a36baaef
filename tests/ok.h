/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that must succeed. */
#ifndef RB_TEST_OK_H
#define RB_TEST_OK_H

#include "kernels/base/status.h"
#include "tests/cmocka_all.h"

static inline void ok(rb_status st) {
  if (st != RB_OK) fail_msg("%s", rb_message_where());
}

#endif
