/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a record was made: processor, memory, compiler, libraries, GPU, clocks. */
#ifndef RB_ENVIRONMENT_H
#define RB_ENVIRONMENT_H

#include <jansson.h>

/* A new reference. Missing facts are null. No user names, host names or paths. */
json_t *rb_environment(void);
/* Of an rb_environment what times of two parts of one record must share: processor, threads, build, GPU and its
 * driver. A new reference. */
json_t *rb_environment_of_times(const json_t *environment);
/* Folder name for this machine's records: "nvidia-h200", of several devices "nvidia-h200-x8", else the processor:
 * "intel-xeon-processor-2core". */
void rb_machine_slug(char *out, int size);
/* "Intel(R) Xeon(R)" -> "intel-xeon": lower case, dashes, no (R). */
void rb_slug(const char *name, char *out, int size);
void rb_machine_name(char *out, int size);
/* JSON number, or null for NaN and infinities. */
json_t *rb_json_number(double v);
#endif
