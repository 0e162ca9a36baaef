/* SPDX-License-Identifier: BSD-3-Clause */
/* Records: one JSON file a run of an experiment (results/schema/README.md), and its journal. */
#ifndef RB_RECORD_H
#define RB_RECORD_H

#include "experiments/runner/measure.h"

#include <jansson.h>
#include <stdio.h>

#define RB_RECORD_SCHEMA "regbench-record"
#define RB_RECORD_VERSION "1.2.0"

typedef struct {
  char folder[4096], path[4200], journal_path[4200];
  FILE *journal;
  int lock;
} rb_record_place;

/* Make <out>/<slug>/<paper>/<name>/, take its lock and open the journal (kept when resume, else set aside as
 * <preset>.journal.before). RB_EBUSY when another run holds the folder. */
rb_status rb_record_open(rb_record_place *place, const char *out, const char *slug, const rb_descriptor *d,
                         rb_preset preset, int resume);
/* Take a folder's lock, which the process holds until *lock (-1: none) is closed. RB_EBUSY when another run holds it.
 */
rb_status rb_folder_lock(const char *folder, int *lock);
/* Append one line and see it reach the disk. RB_EIO (disk full) leaves the lines before it whole. */
rb_status rb_journal_append(rb_record_place *place, const json_t *line);
/* Cases of the journal by id; lines that do not parse (a torn last one), cases whose code has changed since and those
 * after a header line of another "host" (build, processor, GPU) are dropped, the last two counted in *others. A
 * header with another descriptor makes the journal worthless: RB_EINVAL. New reference. */
rb_status rb_journal_read(const rb_record_place *place, const json_t *header, json_t **cases, int *others);
/* Keep the pictures of the first valid case that has any, which is the one that plots of kind panels draw: each set
 * takes a MB. */
void rb_record_drop_undrawn(json_t *record);
/* Write the record beside itself, sync, rename: at every moment the old or the new one is whole. An older one that
 * holds more measured cases, or a whole one where this is not complete, is set aside as <preset>.json.before
 * (.before.2 and so on), with a line on stderr; a record without a measured case does not replace one that has some:
 * *written tells. */
rb_status rb_record_write(const rb_record_place *place, const json_t *record, int *written);
void rb_record_close(rb_record_place *place);
/* A folder and those above it, where they are not there yet. RB_EIO. */
rb_status rb_make_folders(const char *path);
/* Any file, atomically. */
int rb_is_special_file(const char *path);
rb_status rb_write_atomically(const char *path, const char *text, size_t length);

/* RB_EFORMAT for anything that is not a record of a readable schema version. New reference. */
rb_status rb_record_load(const char *path, json_t **out);

json_t *rb_case_json(const rb_case *c, const char *status, const char *reason);
void rb_case_json_outcome(json_t *j, const rb_outcome *o);
void rb_case_json_timing(json_t *j, const rb_timing *t, const rb_outcome *o, double copy_roof, int rotations);
/* Metrics gigabytes_X of kernel classes from rate_X and time_X; records from before them get them when they are
 * judged anew. */
void rb_case_json_bytes(json_t *j);

/* Probability that the interval of rb_order_statistics for n values holds the median: below 95 % for fewer than 6. */
double rb_order_coverage(int n);

/* Current hash of the sources behind a family on a backend. */
const char *rb_source_hash(const char *family, rb_backend_kind backend);
/* Whether code of that hash is this program's: the same hash, or one that results/same_code.csv leads to it. */
int rb_source_is_current(const char *family, rb_backend_kind backend, const char *hash);
const char *rb_build_commit(void);
int rb_build_dirty(void);

/* Value of a case's metric; NaN when absent. */
double rb_json_metric(const json_t *c, const char *metric);
const char *rb_json_text(const json_t *object, const char *key, const char *fallback);
#endif
