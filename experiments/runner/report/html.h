/* SPDX-License-Identifier: BSD-3-Clause */
/* Many records as one static page: a matrix of all verdicts first, then each record's table, figures and claims. It
 * needs no network and no other file. */
#ifndef RB_HTML_H
#define RB_HTML_H

#include "experiments/runner/report/cells.h"

typedef struct rb_html rb_html;

/* Empty; NULL without memory. */
rb_html *rb_html_new(void);
/* A record's section and line; its verdicts are added to *sum. Records of printed values alone are left out.
 * RB_ENOMEM. */
rb_status rb_html_add(rb_html *h, const rb_judged *j, rb_verdicts *sum);
/* The page, whole or not at all. RB_EIO, RB_ENOMEM. */
rb_status rb_html_write(rb_html *h, const char *path);
void rb_html_free(rb_html *h); /* takes NULL */
#endif
