/* SPDX-License-Identifier: BSD-3-Clause */
/* What all solvers share: reading and showing options, collecting a solution, and the list of solvers. */
#include "solvers/solver.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- options ---------------------------------------------------------------------------------------------- */

/* Axes of experiments write sigma_fluid what the command line writes sigma-fluid. */
static int same_name(const char *a, const char *b) {
  while (*a && (*a == '_' ? '-' : *a) == (*b == '_' ? '-' : *b)) a++, b++;
  return *a == '\0' && *b == '\0';
}

/* Tables have some ten rows and end at one without a name. */
const rb_solver_option *rb_solver_option_find(const rb_solver_option *table, const char *name) {
  for (; table->name; table++)
    if (same_name(table->name, name)) return table;
  return NULL;
}

/* A finite number within the option's range, and whole where the option is. What strtod leaves behind or skips before
 * it makes the text no number. The message names the reason that a user can act on: not a number or too small, too
 * great, not whole. NaN fails the first comparison, as it is written as a negation. Whole numbers above 1e9 are
 * refused, so that they fit an int. */
static rb_status parse_number(const rb_solver_option *o, const char *text, double *out) {
  char *end;
  *out = strtod(text, &end);
  if (end == text || *end != '\0' || !isfinite(*out) || isspace((unsigned char)*text)) *out = NAN;
  if (!(*out >= o->least)) /* NaN, too */
    return o->least == RB_POSITIVE || o->least == 1
               ? RB_FAIL(RB_EINVAL, "--%s '%s' is not a positive number", o->name, text)
               : RB_FAIL(RB_EINVAL, "--%s '%s' is not a number from %g on", o->name, text, o->least);
  if (o->most > 0 && *out > o->most) return RB_FAIL(RB_EINVAL, "--%s '%s' is above %g", o->name, text, o->most);
  if (o->type != RB_OPTION_REAL && *out != floor(*out))
    return RB_FAIL(RB_EINVAL, "--%s '%s' is not a whole number", o->name, text);
  if (o->type != RB_OPTION_REAL && *out > 1e9) return RB_FAIL(RB_EINVAL, "--%s '%s' is above 1e9", o->name, text);
  return RB_OK;
}

/* The k-th word of `words`, or "" behind the last. */
static const char *word_at(const char *words, int k, int *length) {
  for (;; k--) {
    *length = (int)strcspn(words, " ");
    if (k == 0 || words[*length] == '\0') return k == 0 ? words : "";
    words += *length + 1;
  }
}

/* The index of the word in `choices`, exactly as written: no abbreviations. */
static rb_status parse_choice(const rb_solver_option *o, const char *text, int *out) {
  int length;
  const char *word;
  for (int k = 0; *(word = word_at(o->choices, k, &length)); k++)
    if ((int)strlen(text) == length && strncmp(word, text, (size_t)length) == 0) {
      *out = k;
      return RB_OK;
    }
  return RB_FAIL(RB_EINVAL, "unknown %s '%s'; these are known: %s", o->name, text, o->choices);
}

/* An option lies at its offset in the solver's own struct; memcpy, as the struct's type is not known here. A flag's
 * text says whether it is named: named it takes the value `flag`, else the other of 0 and 1. Text is not copied: it
 * must live as long as the options do. On a failure the options stay as they were. */
rb_status rb_solver_option_set(const rb_solver_option *o, void *options, const char *text) {
  rb_status st = RB_OK;
  char *to = (char *)options + o->offset;
  double number = 0;
  int whole = 0;
  switch (o->type) {
    case RB_OPTION_REAL:
      RB_TRY(parse_number(o, text, &number));
      memcpy(to, &number, sizeof number);
      break;
    case RB_OPTION_WHOLE:
      RB_TRY(parse_number(o, text, &number));
      whole = (int)number;
      memcpy(to, &whole, sizeof whole);
      break;
    case RB_OPTION_CHOICE:
      RB_TRY(parse_choice(o, text, &whole));
      memcpy(to, &whole, sizeof whole);
      break;
    case RB_OPTION_FLAG:
      RB_CHECK(strcmp(text, "0") == 0 || strcmp(text, "1") == 0, RB_EINVAL, "%s is 0 or 1, not '%s'", o->name, text);
      whole = *text == '1' ? o->flag : !o->flag; /* --no-... has flag 0 */
      memcpy(to, &whole, sizeof whole);
      break;
    case RB_OPTION_TEXT:
      RB_CHECK(*text, RB_EINVAL, "--%s needs a value", o->name);
      memcpy(to, &text, sizeof text);
      break;
  }
done:
  return st;
}

/* NaN for text. A flag counts as 1 where it is named, whatever value that stands for. */
double rb_solver_option_number(const rb_solver_option *o, const void *options) {
  const char *from = (const char *)options + o->offset;
  double number = NAN;
  int whole;
  if (o->type == RB_OPTION_REAL) {
    memcpy(&number, from, sizeof number);
  } else if (o->type != RB_OPTION_TEXT) {
    memcpy(&whole, from, sizeof whole);
    number = o->type == RB_OPTION_FLAG ? whole == o->flag : whole; /* 1: named */
  }
  return number;
}

/* Nine digits: enough for a number to be the same after float32, and short for round ones. */
void rb_solver_option_show(const rb_solver_option *o, const void *options, char *out, size_t size) {
  const char *text;
  int length;
  if (o->type == RB_OPTION_TEXT) {
    memcpy(&text, (const char *)options + o->offset, sizeof text);
    snprintf(out, size, "%s", text ? text : "");
  } else if (o->type == RB_OPTION_CHOICE) {
    text = word_at(o->choices, (int)rb_solver_option_number(o, options), &length);
    snprintf(out, size, "%.*s", length, text);
  } else {
    snprintf(out, size, "%.9g", rb_solver_option_number(o, options));
  }
}

/* ---- the solution ----------------------------------------------------------------------------------------- */

/* In the order of rb_solver_end. */
const char *rb_solver_end_name(rb_solver_end e) {
  static const char *const names[] = {"converged",   "stalled",       "iterations used up", "line search failed",
                                      "interrupted", "nothing moved", "the difference grew"};
  return names[e];
}

/* A value for which there is no memory is counted, not dropped in silence. Grows by one: there are some twenty
 * scalars a solution. Names, units and formulas are constants of the program and are not copied. */
static void append(rb_solution *s, rb_scalar **list, int *count, rb_scalar one) {
  rb_scalar *more = realloc(*list, ((size_t)*count + 1) * sizeof *more);
  if (!more) {
    s->lost++;
    return;
  }
  *list = more;
  more[(*count)++] = one;
}
void rb_solution_scalar(rb_solution *s, const char *name, double value, const char *unit, const char *formula) {
  append(s, &s->scalars, &s->scalar_count, (rb_scalar){name, unit, formula, value});
}
void rb_solution_part(rb_solution *s, const char *name, double seconds) {
  append(s, &s->parts, &s->part_count, (rb_scalar){name, "s", "", seconds});
}

/* The table grows by doubling; the watcher sees a row whether or not there was memory for it. s->columns was set by
 * rb_solver_solve from the solver's own table. A row for which there is no memory is counted as lost. */
void rb_solution_row(rb_solution *s, const double *row) {
  const size_t bytes = (size_t)s->columns * sizeof *row;
  if (s->rows == s->room) {
    const int room = s->room ? 2 * s->room : 64; /* rows */
    double *more = realloc(s->history, (size_t)room * bytes);
    if (more) s->history = more, s->room = room; /* else the old table stays */
  }
  if (s->rows < s->room)
    memcpy(s->history + (size_t)s->rows++ * (size_t)s->columns, row, bytes);
  else
    s->lost++;
  if (s->watch) s->watch(s->context, row, s->columns);
}

/* By the scalar's full name; a search through the list. */
double rb_solution_value(const rb_solution *s, const char *name) {
  for (int k = 0; k < s->scalar_count; k++)
    if (strcmp(s->scalars[k].name, name) == 0) return s->scalars[k].value;
  return NAN;
}

/* The strings are constants; only the lists are owned. */
void rb_solution_free(rb_solution *s) {
  free(s->scalars), free(s->parts), free(s->history);
  *s = (rb_solution){.watch = s->watch, .context = s->context}; /* ready for another solve */
}

/* ---- solvers ---------------------------------------------------------------------------------------------- */

/* A table of the program, made from solvers.def: nothing registers itself at run time. */
const rb_solver *const *rb_solvers(int *count) {
#define RB_SOLVER(name) &rb_solver_##name,
  static const rb_solver *const all[] = {
#include "solvers/solvers.def"
  };
#undef RB_SOLVER
  *count = sizeof all / sizeof *all;
  return all;
}

/* By exact name; the message lists all names, so that a slip can be mended. */
rb_status rb_solver_find(const char *name, const rb_solver **out) {
  char names[512] = "";
  int count;
  const rb_solver *const *all = rb_solvers(&count);
  for (int k = 0; k < count; k++) {
    if (strcmp(all[k]->family->name, name) == 0) {
      *out = all[k];
      return RB_OK;
    }
    snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", k ? ", " : "", all[k]->family->name);
  }
  return RB_FAIL(RB_ENOTFOUND, "no method '%s': %s", name, names);
}

/* The columns of the history are the contract's; a solve that converged did what was asked. What a failed solve has
 * left in the solution stays there: rb_solution_free takes it. */
rb_status rb_solver_solve(const rb_solver *s, void *state, rb_solution *solution) {
  rb_solution_free(solution);
  while (s->history[solution->columns].name) solution->columns++;
  const rb_status st = s->solve(state, solution);
  if (solution->end == RB_END_CONVERGED) solution->as_asked = 1; /* whatever the solver says */
  return st;
}

const rb_output *rb_solver_output(const rb_solver *s, const char *name) {
  for (const rb_output *o = s->outputs; o->name; o++)
    if (strcmp(o->name, name) == 0) return o;
  return NULL;
}
