/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* longer messages are cut */
enum { MESSAGE_MAX = 1024 };

/* each thread has its own pending failure; "" means none */
static _Thread_local char message[MESSAGE_MAX];
static _Thread_local char message_where[MESSAGE_MAX + 256];

rb_status rb_fail(rb_status code, const char *file, int line, const char *format, ...) {
  /* the first failure keeps its message: callers on the way up add a code, no text */
  if (message[0] != '\0') return code;
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  /* the file's name without its folders */
  const char *base = strrchr(file, '/');
  /* the same message with the place where it arose, "MESSAGE (FILE:LINE)" */
  snprintf(message_where, sizeof message_where, "%s (%s:%d)", message, base ? base + 1 : file, line);
  return code;
}

const char *rb_message(void) { return message; }
const char *rb_message_where(void) { return message_where; }

void rb_clear(void) {
  message[0] = '\0';
  message_where[0] = '\0';
}

const char *rb_status_name(rb_status code) {
  /* short names by code; a code without one is "unknown status" */
  static const char *const names[] = {
      [RB_OK] = "ok",
      [RB_EINVAL] = "invalid argument",
      [RB_ENOTFOUND] = "not found",
      [RB_EFORMAT] = "bad format",
      [RB_EIO] = "input/output error",
      [RB_ENOMEM] = "out of memory",
      [RB_EDEVICE] = "device error",
      [RB_EUNSUPPORTED] = "unsupported",
      [RB_EINVALID] = "verification failed",
      [RB_EBUSY] = "busy",
      [RB_EINTERRUPTED] = "interrupted",
  };
  unsigned i = (unsigned)code;
  return i < sizeof names / sizeof *names && names[i] ? names[i] : "unknown status";
}

/* n is the length that the path would have: as long as `size` or longer, it has been cut */
rb_status rb_path(char *out, size_t size, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int n = vsnprintf(out, size, format, args);
  va_end(args);
  return n >= 0 && (size_t)n < size ? RB_OK : RB_FAIL(RB_EINVAL, "path too long: %.200s...", out);
}
