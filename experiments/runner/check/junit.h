/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks as JUnit XML, for the servers of continuous integration. */
#ifndef RB_JUNIT_H
#define RB_JUNIT_H

#include "kernels/base/status.h"

typedef struct rb_junit rb_junit;
typedef enum { RB_JUNIT_PASSED, RB_JUNIT_FAILED, RB_JUNIT_SKIPPED } rb_junit_outcome;

/* NULL without memory. */
rb_junit *rb_junit_open(void);
/* A test case of class FAMILY.VARIANT. A name that its class has already gets a number, so that all differ. message:
 * why it failed or was skipped. Its time is what has passed since the case before. Takes a NULL junit. */
void rb_junit_case(rb_junit *j, const char *family, const char *variant, const char *name, rb_junit_outcome outcome,
                   const char *message);
/* The whole file, with this host, its GPU and the commit as properties. RB_EIO, RB_ENOMEM. */
rb_status rb_junit_write(rb_junit *j, const char *path);
void rb_junit_free(rb_junit *j); /* takes NULL */
#endif
