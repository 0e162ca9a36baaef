/* SPDX-License-Identifier: BSD-3-Clause */
/* Status codes and the message that goes with the first failure.
 *
 * Every fallible function returns rb_status. The first failure of a thread stores its message with
 * file and line; later failures on the way up do not overwrite it. Nothing below main prints or exits. */
#ifndef RB_BASE_STATUS_H
#define RB_BASE_STATUS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  RB_OK = 0,
  RB_EINVAL,       /* argument or descriptor that no run could accept */
  RB_ENOTFOUND,    /* unknown name, missing file, absent data set */
  RB_EFORMAT,      /* a file that is there and is damaged or of the wrong kind */
  RB_EIO,          /* reading or writing failed, disk full */
  RB_ENOMEM,       /* host or device memory does not suffice */
  RB_EDEVICE,      /* no GPU, driver too old, a CUDA call failed */
  RB_EUNSUPPORTED, /* a combination that a variant does not offer: a recorded skip */
  RB_EINVALID,     /* a result that failed verification */
  RB_EBUSY,        /* another run holds the output directory */
  RB_EINTERRUPTED, /* Ctrl-C */
} rb_status;

/* Store a message for `code` unless one is pending, and return `code`. printf-style. */
rb_status rb_fail(rb_status code, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Message of the pending failure of this thread, "" when none. Valid until the next rb_clear. */
const char *rb_message(void);
/* Message together with "file:line", for logs. */
const char *rb_message_where(void);
/* Forget the pending failure: the caller has dealt with it. */
void rb_clear(void);
/* Short name of a code, e.g. "not found". */
const char *rb_status_name(rb_status code);

/* snprintf for paths: RB_EINVAL instead of a truncated path. */
rb_status rb_path(char *out, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

#define RB_FAIL(code, ...) rb_fail((code), __FILE__, __LINE__, __VA_ARGS__)

/* Leave through `done:` on failure; the enclosing function declares `rb_status st = RB_OK`. */
#define RB_TRY(call)                       \
  do {                                     \
    if ((st = (call)) != RB_OK) goto done; \
  } while (0)
#define RB_CHECK(cond, code, ...)        \
  do {                                   \
    if (!(cond)) {                       \
      st = RB_FAIL((code), __VA_ARGS__); \
      goto done;                         \
    }                                    \
  } while (0)

#ifdef __cplusplus
}
#endif
#endif
