/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RB_MARKUP_H
#define RB_MARKUP_H

#include <stdio.h>

/* Text of an element or attribute of XML or HTML: nothing of it is markup; control characters, which XML 1.0 forbids,
 * become blanks. */
void rb_put_escaped(FILE *f, const char *text);
#endif
