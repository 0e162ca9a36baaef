/* SPDX-License-Identifier: BSD-3-Clause */
/* Which files the case at hand was made from: what finds or reads an input notes it here, the record tells them all.
 * Main thread only. */
#ifndef RB_INPUT_NOTES_H
#define RB_INPUT_NOTES_H

#include "kernels/base/status.h"

typedef struct {
  char name[128]; /* without folder; bytes that are not ASCII are '?' */
  char sha256[65];
} rb_input_note;

/* A file that is not there, or cannot be read, is left out: who reads it says why. Once a path, and hashed again only
 * where its size or its time has changed. RB_ENOMEM. */
rb_status rb_note_input(const char *path);
/* Of what was kept from an earlier case: a note of that case, which stays valid. */
void rb_note_again(const rb_input_note *note);
void rb_forget_inputs(void);
/* The i-th of those noted since they were forgotten, in order; NULL beyond the last. */
const rb_input_note *rb_noted_input(int i);
#endif
