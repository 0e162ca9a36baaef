/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/base/date.h"

#include <time.h>

void rb_date_now(char out[RB_DATE_SIZE]) {
  const time_t now = time(NULL);
  struct tm utc;
  strftime(out, RB_DATE_SIZE, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
}
