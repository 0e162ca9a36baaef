/* SPDX-License-Identifier: BSD-3-Clause */
/* Methods compared, as text, Markdown, LaTeX with a .bib, and CSV. */
#include "experiments/runner/report/baselines_impl.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* A form of table: what stands before, between and behind cells. */
typedef struct {
  const char *begin, *between, *end, *rule;
  int padded; /* cells are filled with blanks to their column's width */
  void (*text)(const char *, FILE *);
} form;

static void plain(const char *s, FILE *f) { fputs(s, f); }
static void for_markdown(const char *s, FILE *f) {
  for (; *s; s++) {
    if (*s == '|') fputc('\\', f);
    fputc(*s, f);
  }
}
static void for_latex(const char *s, FILE *f) {
  for (; *s; s++) {
    if (strchr("&%$#_{}", *s)) fputc('\\', f);
    fputc(*s, f);
  }
}
static const form text_form = {"", "  ", "\n", NULL, 1, plain},
                  markdown_form = {"| ", " | ", " |\n", "---", 0, for_markdown},
                  latex_form = {"", " & ", " \\\\\n", NULL, 0, for_latex};

enum { COLUMNS = RB_MEASURES + 2, WIDE = 48 };
typedef struct {
  char cell[COLUMNS][WIDE];
} row;

static void add_value(char out[WIDE], double v) { snprintf(out, WIDE, isnan(v) ? "-" : "%.4g", v); }
static void add_spread(char out[WIDE], rb_spread s) {
  if (!s.count)
    snprintf(out, WIDE, "-");
  else if (s.count == 1)
    snprintf(out, WIDE, "%.4g", s.mean);
  else
    snprintf(out, WIDE, "%.4g (%.4g, %.4g, %.4g)", s.mean, s.low, s.median, s.high);
}

static int header(const rb_baselines *b, row *r) {
  int n = 2;
  snprintf(r->cell[0], WIDE, "method"), snprintf(r->cell[1], WIDE, "pairs");
  for (int m = 0; m < RB_MEASURES; m++) {
    const rb_baseline_measure *x = &rb_baseline_measures[m];
    if (rb_measure_is_there(b, m))
      snprintf(r->cell[n++], WIDE, "%s%s%s", x->title, strcmp(x->unit, "1") ? ", " : "",
               strcmp(x->unit, "1") ? x->unit : "");
  }
  return n;
}
static void row_of(const rb_baselines *b, int k, row *r) {
  int n = 2, results = 0;
  snprintf(r->cell[0], WIDE, "%.47s", k < 0 ? "before" : rb_baseline_method(b, k));
  for (int m = 0; m < RB_MEASURES; m++) {
    if (!rb_measure_is_there(b, m)) continue;
    const rb_spread s = k >= 0  ? rb_spread_of(b->pairs, rb_baseline_at(b, m, k))
                        : m < 3 ? rb_spread_of(b->pairs, b->before + m * b->pairs)
                                : (rb_spread){.count = 0};
    add_spread(r->cell[n++], s);
    if (s.count > results) results = s.count;
  }
  snprintf(r->cell[1], WIDE, "%d", results);
}

static void print_row(const form *how, const row *r, int n, const size_t *width, FILE *f) {
  fputs(how->begin, f);
  for (int c = 0; c < n; c++) {
    if (c) fputs(how->between, f);
    how->text(r->cell[c], f);
    for (size_t k = strlen(r->cell[c]); how->padded && c + 1 < n && k < width[c]; k++) fputc(' ', f);
  }
  fputs(how->end, f);
}
static void print_rows(const form *how, const row *rows, int count, int n, FILE *f) {
  size_t width[COLUMNS] = {0};
  for (int i = 0; i < count; i++)
    for (int c = 0; c < n; c++)
      if (strlen(rows[i].cell[c]) > width[c]) width[c] = strlen(rows[i].cell[c]);
  for (int i = 0; i < count; i++) {
    print_row(how, &rows[i], n, width, f);
    if (i) continue;
    if (how->rule) {
      row rule;
      for (int c = 0; c < n; c++) snprintf(rule.cell[c], WIDE, "%s", how->rule);
      print_row(how, &rule, n, width, f);
    } else if (how == &latex_form) {
      fputs("\\hline\n", f);
    }
  }
}
static int spreads(const rb_baselines *b, row *rows, int *columns) {
  int count = 1;
  *columns = header(b, &rows[0]);
  if (rb_spread_of(3 * b->pairs, b->before).count) row_of(b, -1, &rows[count++]);
  for (int k = 0; k < b->methods; k++) row_of(b, k, &rows[count++]);
  return count;
}
/* Every method but the first, by measures in which one is better than another. */
static int differences(const rb_baselines *b, row *rows, int most, int *columns) {
  static const char *const titles[] = {"measure", "method", "mean difference", "better in", "p"};
  int count = 1;
  *columns = 5;
  for (int c = 0; c < 5; c++) snprintf(rows[0].cell[c], WIDE, "%s", titles[c]);
  for (int m = 0; m < RB_MEASURES; m++)
    for (int k = 1; k < b->methods && count < most; k++) {
      const rb_difference d = rb_difference_of(b, m, k);
      if (!d.count || !rb_baseline_measures[m].better) continue;
      row *r = &rows[count++];
      snprintf(r->cell[0], WIDE, "%s", rb_baseline_measures[m].title);
      snprintf(r->cell[1], WIDE, "%.47s", rb_baseline_method(b, k));
      add_value(r->cell[2], d.mean);
      snprintf(r->cell[3], WIDE, "%d of %d", d.better, d.count);
      add_value(r->cell[4], d.p);
    }
  return count;
}

enum { MOST_ROWS = RB_BASELINE_METHODS * RB_MEASURES + 2 };
static const char about[] =
    "Means and, in brackets, quartiles and median over pairs. Every value is worked out of the displacement that a "
    "method wrote, by one code.";
static void both(const rb_baselines *b, const form *how, FILE *f) {
  static row rows[MOST_ROWS];
  int columns, count = spreads(b, rows, &columns);
  print_rows(how, rows, count, columns, f);
  count = differences(b, rows, MOST_ROWS, &columns);
  if (count < 2) return;
  fprintf(
      f,
      "\nPaired differences to %s; p: Wilcoxon's signed-rank test, two-sided, exact, not corrected for several.\n\n",
      rb_baseline_method(b, 0));
  print_rows(how, rows, count, columns, f);
}
void rb_baselines_text(const rb_baselines *b, FILE *f) {
  fprintf(f, "%s\n\n", about);
  both(b, &text_form, f);
}
void rb_baselines_markdown(const rb_baselines *b, FILE *f) {
  fprintf(f, "%s\n\n", about);
  both(b, &markdown_form, f);
}

/* A key of the .bib: letters and digits of the method's name. */
static void key_of(const char *name, int i, FILE *f) {
  for (const char *c = name; *c; c++)
    if (isalnum((unsigned char)*c)) fputc(*c, f);
  fprintf(f, "%c", 'a' + i % 26);
}

static void latex_table(const row *rows, int count, int columns, const char *caption, const char *label, FILE *f) {
  fprintf(
      f,
      "\\begin{table}\n\\caption{%s}\n\\label{tab:%s}\n\\centering\\footnotesize\n\\resizebox{\\linewidth}{!}{%%\n"
      "\\begin{tabular}{l",
      caption, label);
  for (int c = 1; c < columns; c++) fputc('r', f);
  fputs("}\n\\hline\n", f);
  print_rows(&latex_form, rows, count, columns, f);
  fputs("\\hline\n\\end{tabular}}\n\\end{table}\n", f);
}
void rb_baselines_latex(const rb_baselines *b, FILE *f) {
  static row rows[MOST_ROWS];
  int columns, count = spreads(b, rows, &columns);
  fputs("% made by regbench; \\usepackage{graphicx}, \\bibliography{references}\n", f);
  latex_table(rows, count, columns,
              "Registration methods compared: means, in brackets quartiles and median over pairs.", "methods", f);
  count = differences(b, rows, MOST_ROWS, &columns);
  if (count > 1)
    latex_table(rows, count, columns, "Paired differences to the first method; $p$ by Wilcoxon's signed-rank test.",
                "differences", f);
  fputs("% cite:", f);
  for (int k = 0; k < b->methods; k++)
    for (size_t i = 0; i < json_array_size(b->cite[k]); i++) {
      fputs(" \\cite{", f), key_of(rb_baseline_method(b, k), (int)i, f), fputs("}", f);
    }
  fputc('\n', f);
}
void rb_baselines_bib(const rb_baselines *b, FILE *f) {
  for (int k = 0; k < b->methods; k++)
    for (size_t i = 0; i < json_array_size(b->cite[k]); i++) {
      const char *text = json_string_value(json_array_get(b->cite[k], i));
      fputs("@misc{", f), key_of(rb_baseline_method(b, k), (int)i, f);
      fputs(",\n  key = {", f), key_of(rb_baseline_method(b, k), (int)i, f), fputs("},\n  note = {", f);
      for_latex(text ? text : "", f), fputs("}\n}\n", f);
    }
}

/* Names may hold commas or quotes. */
static void quoted(const char *s, FILE *f) {
  fputc('"', f);
  for (; *s; s++) {
    if (*s == '"') fputc('"', f);
    fputc(*s, f);
  }
  fputc('"', f);
}
void rb_baselines_csv(const rb_baselines *b, FILE *f) {
  fputs("pair,method,measure,unit,value\n", f);
  for (int i = 0; i < b->pairs; i++)
    for (int k = 0; k < b->methods; k++)
      for (int m = 0; m < RB_MEASURES; m++) {
        const double v = rb_baseline_at(b, m, k)[i];
        if (isnan(v)) continue;
        quoted(rb_baseline_pair(b, i), f), fputc(',', f), quoted(rb_baseline_method(b, k), f);
        fprintf(f, ",%s,%s,%.9g\n", rb_baseline_measures[m].name, rb_baseline_measures[m].unit, v);
      }
}
