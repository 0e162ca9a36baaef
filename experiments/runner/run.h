/* SPDX-License-Identifier: BSD-3-Clause */
/* regbench run: descriptors to records. */
#ifndef RB_RUN_H
#define RB_RUN_H

#include "experiments/runner/cases.h"

typedef struct {
  const char *experiments[32];
  int experiment_count;
  rb_preset preset;
  int backend; /* -1 all */
  rb_filter filters[32];
  int filter_count;
  const char *out;
  int resume;
} rb_run_options;

/* Exit code of the program. */
int rb_run(const rb_run_options *options);

/* Run one case of one experiment once between profiler marks: what `ncu` and CUPTI look at. */
int rb_run_for_counters(const char *descriptor, const char *case_id, rb_preset preset);
#endif
