/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/report/latex.h"

#include <string.h>

enum { PAGE_ROWS = 45, PAGE_ROWS_OF_TEXT = 16, LONG_TEXT = 40 };

void rb_latex_text(const char *text, FILE *out) {
  static const char *const commands[][2] = {{"^", "\\textasciicircum{}"}, {"~", "\\textasciitilde{}"},
                                            {"\\", "\\textbackslash{}"},  {"<", "\\textless{}"},
                                            {">", "\\textgreater{}"},     {"|", "\\textbar{}"}};
  for (const char *s = text; *s; s++) {
    size_t k = 0;
    while (k < sizeof commands / sizeof *commands && commands[k][0][0] != *s) k++;
    if (k < sizeof commands / sizeof *commands)
      fputs(commands[k][1], out);
    else
      fprintf(out, strchr("%&_#${}", *s) ? "\\%c" : "%c", *s);
  }
}

static const char *at(const rb_table *t, int r, int c) { return t->row[r][c] ? t->row[r][c] : ""; }

static void put_row(const rb_table *t, int r, FILE *out) {
  for (int c = 0; c < t->columns; c++) {
    if (c) fputs(" & ", out);
    rb_latex_text(at(t, r, c), out);
  }
  fputs(" \\\\\n", out);
}

/* A column of long texts breaks its lines. */
static int is_long(const rb_table *t, int c) {
  size_t most = 0;
  for (int r = 1; r < t->rows; r++)
    if (strlen(at(t, r, c)) > most) most = strlen(at(t, r, c));
  return most > LONG_TEXT;
}

void rb_latex_table(const rb_table *t, const char *title, const char *caption, const char *label, FILE *out) {
  int page = PAGE_ROWS;
  for (int c = 0; c < t->columns; c++)
    if (is_long(t, c)) page = PAGE_ROWS_OF_TEXT;
  for (int first = 1; first == 1 || first < t->rows; first += page) {
    fputs("\\begin{table}\n\\centering\\footnotesize\n\\caption{", out);
    rb_latex_text(title, out);
    if (first == 1) {
      if (*caption) fprintf(out, ". %s", caption);
      fputs("}\n", out);
      if (*label) fprintf(out, "\\label{%s}\n", label);
    } else {
      fputs(" (continued)}\n", out);
    }
    fputs("\\sbox0{\\begin{tabular}{", out);
    for (int c = 0; c < t->columns; c++) fputs(is_long(t, c) ? "p{.45\\textwidth}" : "l", out);
    fputs("}\n\\toprule\n", out);
    put_row(t, 0, out);
    fputs("\\midrule\n", out);
    for (int r = first; r < t->rows && r < first + page; r++) put_row(t, r, out);
    fputs(
        "\\bottomrule\n\\end{tabular}}\n\\ifdim\\wd0>\\textwidth\\resizebox{\\textwidth}{!}{\\usebox0}\\else\\usebox0"
        "\\fi\n\\end{table}\n\n",
        out);
  }
}
