/* SPDX-License-Identifier: BSD-3-Clause */
/* Times in UTC, as records and reports write them. */
#ifndef RB_DATE_H
#define RB_DATE_H

#include <time.h>

enum { RB_DATE_SIZE = 32 };
/* "2026-11-29T07:32:31Z"; its first 19 characters are the same without the zone. */
void rb_date_of(time_t when, char out[RB_DATE_SIZE]);
void rb_date_now(char out[RB_DATE_SIZE]);
#endif
