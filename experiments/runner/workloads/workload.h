/* SPDX-License-Identifier: BSD-3-Clause */
/* A workload turns one case of an experiment (a method at one point of the axes) into something that can be
 * predicted, set up, run, timed and verified. It never measures time itself. */
#ifndef RB_WORKLOAD_H
#define RB_WORKLOAD_H

#include "experiments/runner/base/picture.h"
#include "experiments/runner/inputs/inputs.h"
#include "experiments/runner/workloads/case.h"
#include "kernels/base/grid.h"
#include "kernels/registry/registry.h"

#include <jansson.h>

/* A value that a case reports, with where it comes from. */
typedef struct {
  const char *name, *unit, *formula;
  double value;
} rb_metric;

/* What a class of kernels did in one run. */
typedef struct {
  const char *name; /* "interpolation"; static */
  double seconds;
  double bytes; /* least traffic by the families' models */
} rb_class_work;
enum { RB_MOST_CLASSES = 8 };

/* A verification: the case is valid when every error is at most its limit (a NaN is not). */
typedef struct {
  const char *name, *against;
  double value, limit;
} rb_verification;

typedef struct {
  rb_metric *metrics;
  int metric_count, metric_room;
  rb_verification *verifications;
  int verification_count, verification_room;
  int lost; /* values for which there was no memory: the case is not valid */
  rb_class_work classes[RB_MOST_CLASSES];
  int class_count;
  double flops, bytes;                  /* useful work of one run, the family's model */
  double footprint;                     /* bytes that the buffers of one run hold; 0: not known */
  double pairs;                         /* of points, evaluated by one run; 0: the workload has none */
  double fetches;                       /* trilinear ones of the texture unit by one run; 0: the variant has none */
  double paper_flops, paper_bytes;      /* the paper's own count of the same run; 0: it has none */
  char data_file[128], data_sha256[65]; /* the image that was read; "": none */
  rb_pictures pictures;                 /* files beside the record, which tells them as details.<pictures_name> */
  const char *pictures_name;
  json_t *details; /* whatever else the record should hold, or NULL; the record takes it */
} rb_outcome;

void rb_outcome_metric(rb_outcome *o, const char *name, double value, const char *unit, const char *formula);
/* Time and traffic of a class of kernels, of which at most RB_MOST_CLASSES are told apart. */
void rb_outcome_class(rb_outcome *o, const char *name, double seconds, double bytes);
/* A reported value; NaN where there is none of that name. */
double rb_outcome_value(const rb_outcome *o, const char *name);
/* All verifications passed, there are some, and nothing was lost. */
int rb_outcome_is_valid(const rb_outcome *o);
/* Copies of pictures, under a name of details. */
void rb_outcome_pictures(rb_outcome *o, const char *name, const rb_pictures *pictures);
void rb_outcome_free(rb_outcome *o);
/* The image that was read; file NULL: none. */
void rb_outcome_data(rb_outcome *o, const char *file, const char *sha256);
/* Names of what a run verifies beside the workload. */
#define RB_WITHIN_MEMORY "least traffic over the time, as a part of what memory can move"
#define RB_WITHIN_ARITHMETIC "arithmetic over the time, as a part of what the cores can do"
#define RB_ON_NEW_INPUTS "time of a run on new inputs over the median"
void rb_outcome_verify(rb_outcome *o, const char *name, double value, double limit, const char *against);

/* An axis that a kind of case reads, and the values that it takes: one of the words below, or values separated by
 * blanks and with * and ? as in file names ("SET": any data set that the suite knows; "PAIR": any pair of one, and
 * any set with an image). */
typedef struct {
  const char *name, *values;
} rb_workload_axis;
#define RB_VALUES_SIZE "N or N1xN2xN3"
#define RB_VALUES_NUMBER "a finite number"
#define RB_VALUES_COUNT "a whole number from 1 on"
#define RB_VALUES_PAIRS "phantom PAIR"

typedef struct rb_workload {
  const char *kind;
  const rb_family *family;
  /* Bytes on the backend that setup will ask for; host bytes likewise. */
  void (*predict)(const rb_case *c, int rotations, size_t *backend_bytes, size_t *host_bytes);
  /* Bytes that one rotation's buffers hold: rotation goes on until they exceed twice the cache. */
  size_t (*footprint)(const rb_case *c);
  rb_status (*setup)(const rb_case *c, const rb_backend *backend, int rotations, void **state);
  /* One timed execution on rotation `turn`. */
  rb_status (*run)(void *state, int turn);
  rb_status (*poison)(void *state, int turn);
  /* Check the output of `turn` and add errors, metrics and the work model. */
  rb_status (*verify)(void *state, int turn, rb_outcome *outcome);
  void (*teardown)(void *state); /* takes NULL */
  /* What a descriptor may vary, up to a row without name. Another axis would label cases with values that they do not
   * have; `size` makes the case's grid. */
  const rb_workload_axis *axes;
  /* Where outputs are linear in inputs: these of `turn` become `by` times what they were, a power of two or its
   * negative, in the memory where they are; verify knows. A kernel that keeps results would be found by it. NULL: not
   * linear. */
  rb_status (*rescale)(void *state, int turn, double by);
} rb_workload;

rb_status rb_workload_find(const char *kind, const rb_workload **out);
/* Whether a kind reads `axis`. */
int rb_workload_reads(const char *kind, const char *axis);

/* What a result that is kept for later cases is known by: all axes of its case, and whatever else the printf-style
 * text names (basis, kind). */
enum { RB_CASE_KEY = 512 };
void rb_case_key(const rb_case *c, char key[RB_CASE_KEY], const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The values that a kind takes of an axis; NULL where it does not read the axis. */
const char *rb_workload_values(const char *kind, const char *axis);

#define RB_WORKLOAD(name) extern const rb_workload rb_workload_##name;
#include "experiments/runner/workloads/workloads.def"
#undef RB_WORKLOAD
/* The verb register as a family of programs; its workload is register-files. */
extern const rb_family rb_register_family;
/* Registration programs against each other; its workload is contest. */
extern const rb_family rb_contest_family;
/* Mean images by programs; its workload is template. */
extern const rb_family rb_template_family;
#endif
