/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables as LaTeX: no wider than the text, in parts that fit a page. They need graphicx and booktabs. */
#ifndef RB_LATEX_H
#define RB_LATEX_H

#include "experiments/runner/report/table.h"

/* Text with LaTeX's own characters written as commands. */
void rb_latex_text(const char *text, FILE *out);
/* caption: text behind the title, as LaTeX; label: of \label, "": none. The parts behind the first are "continued".
 */
void rb_latex_table(const rb_table *t, const char *title, const char *caption, const char *label, FILE *out);

#endif
