/* SPDX-License-Identifier: BSD-3-Clause */
/* Claims, judged by a record's cases. */
#include "experiments/runner/record/record.h"
#include "experiments/runner/report/verdict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The next "axis=value" of a list separated by commas; 0: none is left. */
static int next_pair(const char **list, char axis[160], const char **value) {
  const char *s = *list;
  if (!s || !*s) return 0;
  snprintf(axis, 160, "%.*s", (int)strcspn(s, ","), s);
  s += strcspn(s, ",");
  *list = s + (*s == ',');
  char *equals = strchr(axis, '=');
  if (equals) *equals = '\0';
  *value = equals ? equals + 1 : "";
  return 1;
}

int rb_case_meets(const json_t *c, const char *conditions) {
  const char *wanted;
  char axis[160];
  while (next_pair(&conditions, axis, &wanted))
    if (strcmp(rb_json_text(json_object_get(c, "axes"), axis, ""), wanted) != 0) return 0;
  return 1;
}

static int in_scope(const rb_claim *claim, const json_t *c) {
  if (!rb_case_meets(c, claim->where)) return 0;
  if (!claim->axis) return 1;
  const char *value = rb_json_text(json_object_get(c, "axes"), claim->axis, "");
  for (unsigned i = 0; i < claim->values_count; i++)
    if (strcmp(claim->values[i], value) == 0) return 1;
  return 0;
}

/* The case that a claim has on its right: of that method, at the left one's axes but for those of `at`. */
static const json_t *case_of_right_side(const rb_judged *j, const rb_claim *claim, const json_t *c) {
  const char *list = claim->at, *value;
  char axis[160];
  json_t *axes = json_copy(json_object_get(c, "axes"));
  while (next_pair(&list, axis, &value)) json_object_set_new(axes, axis, json_string(value));
  const json_t *found = rb_judged_case(j, claim->right, axes);
  json_decref(axes);
  return found;
}

/* Only verified cases speak, and not by times of a throttled GPU. */
static double valid_metric(const json_t *c, const char *metric) {
  const int speaks = strcmp(rb_json_text(c, "status", ""), "valid") == 0 && !rb_metric_is_slowed(c, metric);
  return speaks ? rb_json_metric(c, metric) : NAN;
}

/* What is printed for a metric of the case, by the column that shows it; NULL: nothing. *elsewhere: it is a time or
 * rate of another machine. */
static const char *printed_metric(const rb_judged *j, const json_t *c, const char *metric, const char **elsewhere) {
  const char *machine = "", *own = rb_json_text(json_object_get(j->record, "machine"), "name", ""), *printed = NULL;
  *elsewhere = NULL;
  for (unsigned k = 0; k < j->descriptor->columns_count && !printed; k++) {
    const rb_column *column = &j->descriptor->columns[k];
    if (strcmp(column->metric, metric) != 0) continue;
    printed = rb_published_value(j, c, column->name, &machine);
    if (printed && (column->class == RB_DATA || (column->class == RB_HARDWARE && strcmp(machine, own) != 0)))
      *elsewhere = machine;
  }
  return printed;
}

/* left RELATION factor * right. */
static int relation_holds(const rb_claim *claim, double left, double right) {
  return strcmp(claim->relation, "<=") == 0 ? left <= claim->factor * right : left >= claim->factor * right;
}

/* One case against what the claim holds it to. */
typedef struct {
  int in_scope, judged, holds;
  double left, right;
  const json_t *other; /* the case on the right, or NULL */
  char why[200];       /* it is not judged */
} claim_sides;

/* Against what is printed for the case itself. */
static void against_printed(const rb_judged *j, const rb_claim *claim, const json_t *c, claim_sides *out) {
  const char *elsewhere, *printed = printed_metric(j, c, claim->metric, &elsewhere);
  char bound = '\0';
  out->in_scope = printed != NULL;
  if (!printed) return;
  out->right = rb_printed_number(printed, &bound);
  out->judged = out->left == out->left && !elsewhere;
  out->holds = relation_holds(claim, out->left, out->right);
  if (elsewhere) snprintf(out->why, sizeof out->why, "%.60s: what is printed is of %.100s", claim->left, elsewhere);
  if (!bound || !out->judged) return;
  /* beyond a bound lies any value, not the bound itself: ">2200" makes 2200 <= right true, 2200 >= right false, and
   * decides nothing about 2300 */
  const int decided =
      bound == '>' ? out->left <= claim->factor * out->right : out->left >= claim->factor * out->right;
  out->judged = decided;
  out->holds = (bound == '>') == (strcmp(claim->relation, "<=") == 0);
  if (!decided) snprintf(out->why, sizeof out->why, "%.60s: printed is only the bound %.40s", claim->left, printed);
}

static int is_label(const rb_judged *j, const char *text) {
  for (unsigned m = 0; m < j->descriptor->methods_count; m++)
    if (strcmp(j->descriptor->methods[m].label, text) == 0) return 1;
  return 0;
}

/* Why `c`, which a claim needs, cannot speak. */
static void describe_missing(const json_t *c, const rb_claim *claim, char *why, size_t size) {
  const char *reason = rb_json_text(c, "reason", ""), *method = rb_json_text(c, "method", claim->right);
  if (rb_metric_is_slowed(c, claim->metric))
    snprintf(why, size, "%.60s: the GPU was throttled", method);
  else if (strcmp(rb_json_text(c, "status", ""), "valid") == 0)
    snprintf(why, size, "%.60s: its cases have no '%.60s'", method, claim->metric);
  else
    snprintf(why, size, "%.60s: %.130s", method, reason[0] ? reason : "not measured");
}

static void values_of_both_sides(const rb_judged *j, const rb_claim *claim, const json_t *c, claim_sides *out) {
  char *end;
  *out = (claim_sides){.left = valid_metric(c, claim->metric), .right = strtod(claim->right, &end), .in_scope = 1};
  if (strcmp(claim->right, "published") == 0) {
    against_printed(j, claim, c, out);
  } else {
    if (*end || is_label(j, claim->right))
      out->other = case_of_right_side(j, claim, c), out->right = valid_metric(out->other, claim->metric);
    out->judged = out->left == out->left && out->right == out->right;
    out->holds = relation_holds(claim, out->left, out->right);
  }
  if (out->judged || out->why[0]) return;
  describe_missing(out->left != out->left ? c : out->other, claim, out->why, sizeof out->why);
}

static int is_invalid(const json_t *c) { return strcmp(rb_json_text(c, "status", ""), "invalid") == 0; }

/* What a claim's cases have come to. */
typedef struct {
  size_t in_scope, judged, failed, stale, invalid;
  const json_t *worst_case;
  double worst;  /* its left / right */
  char why[200]; /* a case is not judged; an invalid one before any other */
} tally;

static void add_case(const rb_judged *j, const rb_claim *claim, const json_t *c, tally *t) {
  claim_sides at;
  values_of_both_sides(j, claim, c, &at);
  if (!at.in_scope) return;
  t->in_scope++;
  if (!at.judged) {
    const int invalid = is_invalid(c) || is_invalid(at.other);
    if (!t->why[0] || (invalid && !t->invalid)) memcpy(t->why, at.why, sizeof t->why);
    t->invalid += (size_t)invalid;
    return;
  }
  const double ratio = at.left / at.right;
  t->judged++;
  t->failed += !at.holds;
  t->stale += rb_case_stale(c) || (at.other && rb_case_stale(at.other));
  if (!t->worst_case || (strcmp(claim->relation, "<=") == 0 ? ratio > t->worst : ratio < t->worst))
    t->worst_case = c, t->worst = ratio;
}

static void describe_tally(const rb_claim *claim, const tally *t, char *reason, size_t size) {
  const char *worst = rb_json_text(t->worst_case, "id", "");
  char failed[48] = "", stale[48] = "", invalid[32] = "";
  if (t->judged > 1) snprintf(failed, sizeof failed, "%zu of %zu cases, worst ", t->failed, t->judged);
  if (t->stale)
    snprintf(stale, sizeof stale, "; %zu of %zu STALE", t->stale,
             t->judged); /* the code is not the one that was measured */
  if (t->invalid) snprintf(invalid, sizeof invalid, "; %zu invalid", t->invalid);
  if (t->failed)
    snprintf(reason, size, "%s%.120s: ratio %.3g, wanted %s %.3g%s%s", failed, worst, t->worst, claim->relation,
             claim->factor, stale, invalid);
  else if (t->judged && !t->invalid)
    snprintf(reason, size, "%zu of %zu cases, worst ratio %.3g%s", t->judged, t->in_scope, t->worst, stale);
  else if (t->in_scope)
    snprintf(reason, size, "%s", t->why);
  else
    snprintf(reason, size, "no case of '%s' in scope", claim->left);
}

/* ---- a spread ------------------------------------------------------------------------------------------- */

/* Of one method over the cases in scope. */
typedef struct {
  size_t in_scope, valid, stale;
  double sum, squares;
} spread;

static spread spread_of(const rb_judged *j, const rb_claim *claim, const char *method) {
  spread s = {0};
  size_t i;
  json_t *c;
  json_array_foreach(json_object_get(j->record, "cases"), i, c) {
    if (strcmp(rb_json_text(c, "method", ""), method) != 0 || !in_scope(claim, c)) continue;
    const double value = valid_metric(c, claim->metric);
    s.in_scope++;
    if (value != value) continue;
    s.valid++, s.stale += (size_t)rb_case_stale(c);
    s.sum += value, s.squares += value * value;
  }
  return s;
}
/* Of a sample. */
static double deviation(const spread *s) {
  const double n = (double)s->valid;
  return s->valid > 1 ? sqrt(fmax(0, (s->squares - s->sum * s->sum / n) / (n - 1))) : NAN;
}

/* Standard deviations of both methods over the same cases; one that is missing lets none speak. */
static rb_claim_verdict judge_spread(const rb_judged *j, const rb_claim *claim, char *reason, size_t size) {
  const spread left = spread_of(j, claim, claim->left), right = spread_of(j, claim, claim->right);
  const double l = deviation(&left), r = deviation(&right);
  char stale[48] = "";
  if (left.stale + right.stale)
    snprintf(stale, sizeof stale, "; %zu of %zu STALE", left.stale + right.stale, left.valid + right.valid);
  if (left.valid < 2 || left.valid < left.in_scope || right.valid != left.valid || right.in_scope != left.in_scope) {
    snprintf(reason, size, "%zu of %zu cases of '%.60s' and %zu of %zu of '%.60s' are valid", left.valid,
             left.in_scope, claim->left, right.valid, right.in_scope, claim->right);
    return RB_NOT_JUDGED;
  }
  const int holds = relation_holds(claim, l, r);
  snprintf(reason, size, "standard deviations %.3g and %.3g over %zu cases: ratio %.3g%s", l, r, left.valid, l / r,
           stale);
  return holds ? RB_HOLDS : RB_FAILS;
}

rb_claim_verdict rb_judge_claim(const rb_judged *j, const rb_claim *claim, char *reason, size_t size) {
  if (claim->spread) return judge_spread(j, claim, reason, size);
  tally t = {0};
  size_t i;
  json_t *c;
  json_array_foreach(json_object_get(j->record, "cases"), i,
                     c) if (strcmp(rb_json_text(c, "method", ""), claim->left) == 0 && in_scope(claim, c))
      add_case(j, claim, c, &t);
  describe_tally(claim, &t, reason, size);
  if (t.failed) return RB_FAILS;
  return t.judged && !t.invalid ? RB_HOLDS : RB_NOT_JUDGED; /* a case whose output was wrong supports nothing */
}
