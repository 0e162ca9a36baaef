/* SPDX-License-Identifier: BSD-3-Clause */
/* From a descriptor to its cases: methods x axes under a preset, filtered. */
#ifndef RB_CASES_H
#define RB_CASES_H

#include "experiments/runner/descriptor/descriptor.h"
#include "experiments/runner/workloads/workload.h"

typedef struct {
  const char *axis, *value; /* axis "method" filters labels; the same axis twice means either value */
} rb_filter;

/* backend: -1 all, else an rb_backend_kind. RB_EINVAL for a filter whose axis or value the descriptor lacks.
 * Where all data sets that axis `data` names at the preset are absent, and no filter asks for one, a smaller preset's
 * phantom stands in. *out is malloc'ed; the cases point into the descriptor. */
rb_status rb_cases_expand(const rb_descriptor *d, rb_preset preset, int backend, const rb_filter *filters,
                          int filter_count, rb_case **out, int *count);

/* The first of the data sets for which a phantom stands in, or NULL. */
const char *rb_cases_absent_data(const rb_descriptor *d, rb_preset preset, const rb_filter *filters,
                                 int filter_count);

/* Paths of the descriptors that an argument of `run` means: "brunn2020", "brunn2020/table4", or a .yaml file.
 * RB_ENOTFOUND offers the nearest. Paths are written to out[i], at most `most`. */
rb_status rb_experiments_find(const char *argument, char out[][4096], int most, int *count);
/* Paths of all descriptors, paper by paper in alphabetical order. */
rb_status rb_experiments_all(char out[][4096], int most, int *count);
#endif
