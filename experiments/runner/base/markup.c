/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/base/markup.h"

void rb_put_escaped(FILE *f, const char *text) {
  for (const char *s = text; *s; s++) switch (*s) {
      case '&':
        fputs("&amp;", f);
        break;
      case '<':
        fputs("&lt;", f);
        break;
      case '>':
        fputs("&gt;", f);
        break;
      case '"':
        fputs("&quot;", f);
        break;
      default:
        fputc((unsigned char)*s < 0x20 ? ' ' : *s, f);
    }
}
