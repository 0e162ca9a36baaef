/* SPDX-License-Identifier: BSD-3-Clause */
/* Signals that end a run: what was measured is kept, and the record says that it is not complete. */
#ifndef RB_INTERRUPT_H
#define RB_INTERRUPT_H

/* Set by SIGINT, SIGTERM and SIGHUP. */
extern volatile int rb_interrupted;
/* From now on SIGINT, SIGTERM and SIGHUP set rb_interrupted; a second SIGINT ends the process at once,
 * for solves that look at the flag seldom. */
void rb_catch_interrupts(void);

#endif
