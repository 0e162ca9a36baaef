/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress on stderr: a bar on a terminal, one line a finished case elsewhere. stdout stays free. */
#ifndef RB_PROGRESS_H
#define RB_PROGRESS_H

typedef struct {
  const char *paper, *name;
  int terminal, index, total;
  double started;
  char id[256];
} rb_progress;

void rb_progress_open(rb_progress *p, const char *paper, const char *name);
void rb_progress_begin(rb_progress *p, int index, int total, const char *id);
void rb_progress_phase(rb_progress *p, const char *phase);
void rb_progress_case(rb_progress *p, int index, int total, const char *id, const char *status, const char *text);
void rb_progress_close(rb_progress *p);
#endif
