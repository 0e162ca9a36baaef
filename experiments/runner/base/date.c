/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/base/date.h"

void rb_date_of(time_t when, char out[RB_DATE_SIZE]) {
  struct tm utc;
  strftime(out, RB_DATE_SIZE, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&when, &utc));
}
void rb_date_now(char out[RB_DATE_SIZE]) { rb_date_of(time(NULL), out); }
