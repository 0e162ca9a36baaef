/* SPDX-License-Identifier: BSD-3-Clause */
/* Records: one JSON file a run of an experiment (results/schema/README.md). journal.h: what is written on the way. */
#ifndef RB_RECORD_H
#define RB_RECORD_H

#include "experiments/runner/base/files.h"
#include "experiments/runner/descriptor/descriptor.h"
#include "experiments/runner/machine/nvml.h"
#include "experiments/runner/workloads/measure.h"

#include <jansson.h>
#include <stdio.h>

#define RB_RECORD_SCHEMA "regbench-record"
#define RB_RECORD_VERSION "1.6.0"

typedef struct {
  char folder[4096], path[4200], journal_path[4200];
  char set_aside[4300]; /* what rb_record_write named a record that held more; "": there was none */
  FILE *journal;
  int lock;
} rb_record_place;

/* Make <out>/<slug>/<paper>/<name>/, take its lock and open the journal (kept when resume, else set aside as
 * <preset>.journal.before). RB_EBUSY when another run holds the folder. */
rb_status rb_record_open(rb_record_place *place, const char *out, const char *slug, const rb_descriptor *d,
                         rb_preset preset, int resume);
/* Write a valid case's pictures to files of <folder>/pictures, and their titles, names and sha256 into the case. */
rb_status rb_record_store_pictures(const rb_record_place *place, const rb_outcome *o, json_t *c);
/* Keep the panels of the first valid case that has any, which is the one that plots of kind panels draw. */
void rb_record_keep_drawn_panels(json_t *record);
/* Every picture of a list (details.panels, details.slices) lies beside the record at `path` with its sha256;
 * RB_EFORMAT or RB_ENOTFOUND else. */
rb_status rb_record_check_pictures(const json_t *list, const char *path);
/* Remove the files of <folder>/pictures that no record or journal of the folder names. */
void rb_record_prune_pictures(const char *folder);
/* Write the record beside itself, sync, rename: at every moment the old or the new one is whole. An older one that
 * holds more measured cases, or a whole one where this is not complete, is set aside as <preset>.json.before
 * (.before.2 and so on) (`set_aside` is its name); a record without a measured case does not replace one that has
 * some: *written tells. */
rb_status rb_record_write(rb_record_place *place, const json_t *record, int *written);
void rb_record_close(rb_record_place *place);

/* RB_EFORMAT for anything that is not a record of a readable schema version. New reference. */
rb_status rb_record_load(const char *path, json_t **out);

/* What became of a case. */
typedef enum {
  RB_CASE_VALID,   /* verified before and after it was timed */
  RB_CASE_INVALID, /* a verification failed: it has no time */
  RB_CASE_SKIPPED, /* absent, unsupported or too large here */
  RB_CASE_FAILED,
} rb_case_status;
const char *rb_case_status_name(rb_case_status s); /* "valid" */
typedef struct {
  const rb_case *c;
  rb_case_status status;
  char reason[512]; /* "" for a valid one */
  int ran;          /* 0: skipped or failed, nothing below holds */
  json_t *inputs;   /* files that it was made from, [{file, sha256}]; NULL: none */
  rb_outcome outcome;
  int timed; /* 0: only `outcome` holds */
  rb_timing timing;
  int rotations;
  double copy_roof; /* B/s; NaN or 0: not measured */
  int counted;      /* 0: no counters were asked for */
  rb_counters counters;
  char no_counters[512]; /* why there are none, or "" */
  size_t memory_peak;    /* bytes on the backend */
  rb_nvml_state before, after;
  int has_clocks; /* NVML answered */
} rb_case_result;
void rb_case_result_free(rb_case_result *r);
/* The case as the record holds it. New reference; NULL: no memory. */
json_t *rb_case_json(const rb_case_result *r);
/* Records from before 1.2.0 lack the bytes of kernel classes (gigabytes_interpolation): rate times time. */
void rb_case_json_bytes(json_t *j);
/* Whether a metric is made of hardware counters, which not every host lets one read. */
int rb_metric_is_counted(const char *metric);

/* Value of a case's metric; NaN when absent. */
double rb_json_metric(const json_t *c, const char *metric);
const char *rb_json_text(const json_t *object, const char *key, const char *fallback);
/* Whether the GPU was throttled so long that the case's median is of throttled samples, and whether that holds for
 * the metric, because it is a time, a rate or an energy: it is shown and nothing is judged by it. */
int rb_case_is_slowed(const json_t *c);
int rb_metric_is_slowed(const json_t *c, const char *metric);
/* Whether a sample, from 0 on, is one of those that make the median. */
int rb_timing_counts(const json_t *timing, size_t sample);
#endif
