/* SPDX-License-Identifier: BSD-3-Clause */
/* regbench run: descriptors to records. */
#ifndef RB_RUN_H
#define RB_RUN_H

#include "experiments/runner/descriptor/cases.h"
#include "experiments/runner/run/listener.h"

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

typedef struct {
  int valid, invalid, skipped, failed; /* cases */
} rb_run_counts;

/* The cases of the descriptor at `path` into its record; counts are added to *counts, also where it fails. Ends early
 * without an error when rb_interrupted is set: what was measured is kept. */
rb_status rb_run_experiment(const rb_run_options *options, const char *path, const rb_listener *listener,
                            rb_run_counts *counts);

/* Run one case of one experiment once between profiler marks: what `ncu` and CUPTI look at. */
rb_status rb_run_for_counters(const char *descriptor, const char *case_id, rb_preset preset);
#endif
