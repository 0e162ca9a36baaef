/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether others use the processors that a measurement wants for itself: threads of a CPU variant wait for the one
 * whose processor somebody else keeps busy. */
#ifndef RB_LOAD_H
#define RB_LOAD_H

typedef struct {
  double wall; /* s */
  double busy; /* s, over the processors that this process may use, whoever used them; NaN: unknown */
  double own;  /* s, of this process and its children that ended */
} rb_load;

void rb_load_now(rb_load *out);
/* Processors that others kept busy between two readings, on average. NaN: unknown, or less than a second: the
 * system counts in hundredths. */
double rb_load_of_others(const rb_load *before, const rb_load *after);
#endif
