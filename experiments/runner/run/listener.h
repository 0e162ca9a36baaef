/* SPDX-License-Identifier: BSD-3-Clause */
/* Who is told how a run goes: the command line shows it. */
#ifndef RB_LISTENER_H
#define RB_LISTENER_H

typedef struct {
  void *context; /* of the listener, handed to each */
  void (*experiment)(void *context, const char *paper,
                     const char *name); /* its cases begin; NULL, NULL: they ended */
  void (*case_started)(void *context, int index, int total, const char *id);  /* a case, counted from 0 */
  void (*phase)(void *context, const char *phase);                            /* of that case */
  void (*case_finished)(void *context, const char *status, const char *text); /* of that case */
  void (*message)(void *context, const char *line);                           /* about the experiment */
} rb_listener;
#endif
