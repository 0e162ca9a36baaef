/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/report/verdict.h"

#include "experiments/runner/machine/build.h"
#include "experiments/runner/record/record.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

rb_status rb_judged_open(json_t *record, const char *origin, rb_judged *out) {
  rb_status st = RB_OK;
  const char *text = rb_json_text(record, "descriptor", NULL), *published = rb_json_text(record, "published", NULL);
  memset(out, 0, sizeof *out);
  out->record = record;
  const char *slash = strrchr(origin, '/');
  snprintf(out->folder, sizeof out->folder, "%.*s", slash ? (int)(slash - origin) : 1, slash ? origin : ".");
  RB_CHECK(text, RB_EFORMAT, "%s: the record holds no descriptor", origin);
  RB_TRY(rb_descriptor_parse(text, origin, &out->descriptor));
  if (published) RB_TRY(rb_csv_parse(published, origin, &out->published));
done:
  return st;
}

void rb_judged_close(rb_judged *j) {
  rb_descriptor_free(j->descriptor);
  rb_csv_free(&j->published);
  memset(j, 0, sizeof *j);
}

/* Every axis that the CSV has a column for must agree; "method" is the case's label. */
static int row_matches(const rb_csv *p, int row, const json_t *c, const char *label) {
  for (int k = 0; k < p->columns; k++) {
    const char *name = rb_csv_at(p, 0, k), *mine = NULL;
    if (strcmp(name, "method") == 0)
      mine = label;
    else
      mine = rb_json_text(json_object_get(c, "axes"), name, NULL);
    if (mine && strcmp(mine, rb_csv_at(p, row, k)) != 0) return 0;
  }
  return 1;
}

/* The label under which the CSV lists the case: its own, or for numeric columns the one it stands for. */
static const char *published_label(const rb_judged *j, const json_t *c, const char *column) {
  const char *own = rb_json_text(c, "method", "");
  int numeric = 0;
  for (unsigned i = 0; i < j->descriptor->columns_count; i++)
    if (strcmp(j->descriptor->columns[i].name, column) == 0) numeric = j->descriptor->columns[i].class == RB_NUMERIC;
  for (unsigned i = 0; numeric && i < j->descriptor->methods_count; i++) {
    const rb_method *m = &j->descriptor->methods[i];
    if (strcmp(m->label, own) == 0 && m->published_as) return m->published_as;
  }
  return own;
}

const char *rb_published_value(const rb_judged *j, const json_t *c, const char *column, const char **machine) {
  const rb_csv *p = &j->published;
  const char *label = published_label(j, c, column);
  int k = rb_csv_column(p, column), m = rb_csv_column(p, "machine");
  for (int r = 1; k >= 0 && r < p->rows; r++)
    if (row_matches(p, r, c, label) && rb_csv_at(p, r, k)[0]) {
      if (machine) *machine = m >= 0 ? rb_csv_at(p, r, m) : "";
      return rb_csv_at(p, r, k);
    }
  return NULL;
}

double rb_printed_number(const char *s, char *bound) {
  *bound = *s == '>' || *s == '<' ? *s++ : '\0';
  return strtod(s, NULL);
}

double rb_printed_unit(const char *s) {
  int decimals = 0, after_point = 0;
  const char *e = strpbrk(s, "eE");
  for (; *s && s != e; s++) {
    if (*s == '.')
      after_point = 1;
    else if (after_point && *s >= '0' && *s <= '9')
      decimals++;
  }
  return pow(10, (e ? atoi(e + 1) : 0) - decimals);
}

/* Within `units` of the last printed digit and what the column states beyond them. */
static int is_near(double mine, const char *printed, const rb_column *column, double units) {
  char bound;
  const double value = rb_printed_number(printed, &bound);
  double stated = 0;
  if (column->tolerance) stated = *column->tolerance * fabs(value);
  if (column->absolute) stated = fmax(stated, *column->absolute);
  /* the sum is rounded: allow for its last bits, so that 0.0067 +- 0.0001 holds 0.0068 */
  return fabs(mine - value) <= (units * rb_printed_unit(printed) + stated) * (1 + 1e-9);
}
int rb_cell_within_a_unit(const rb_judged *j, const json_t *c, const rb_column *column) {
  const char *printed = rb_published_value(j, c, column->name, NULL);
  return printed && *printed != '>' && *printed != '<' &&
         is_near(rb_json_metric(c, column->metric), printed, column, 1);
}

rb_cell_verdict rb_judge_cell(const rb_judged *j, const json_t *c, const rb_column *column) {
  const char *machine = "", *printed = rb_published_value(j, c, column->name, &machine);
  double mine = rb_json_metric(c, column->metric);
  if (!printed || column->class == RB_INFO) return RB_NO_VERDICT;
  if (strcmp(rb_json_text(j->record, "preset", ""), "published") == 0)
    return RB_NO_VERDICT; /* the printed values themselves */
  if (mine != mine)
    return column->class == RB_NUMERIC && json_object_get(json_object_get(c, "metrics"), column->metric)
               ? RB_DIFFERS
               : RB_NO_VERDICT; /* NaN is a result */
  const char *own = rb_json_text(json_object_get(j->record, "machine"), "name", "");
  if (column->class == RB_DATA) return RB_OTHER_DATA;
  if (column->class == RB_HARDWARE) return strcmp(own, machine) == 0 ? RB_SAME_MACHINE : RB_NOT_COMPARABLE;
  char bound;
  const double value = rb_printed_number(printed, &bound);
  const int reproduced = bound ? (bound == '>' ? mine > value : mine < value) : is_near(mine, printed, column, 0.5);
  return reproduced ? RB_REPRODUCED : RB_DIFFERS;
}

const json_t *rb_judged_case(const rb_judged *j, const char *method, const json_t *axes) {
  size_t i;
  json_t *c;
  json_array_foreach(json_object_get(j->record, "cases"), i, c) {
    if (strcmp(rb_json_text(c, "method", ""), method) == 0 && json_equal(json_object_get(c, "axes"), axes)) return c;
  }
  return NULL;
}

/* The one value that all cases have of an axis, or NULL; `wanted` counts whether any has it. */
static const char *value_of_all(const json_t *cases, const char *axis, const char *wanted, int *found) {
  const char *one = NULL;
  size_t i;
  int several = 0;
  json_t *c;
  json_array_foreach(cases, i, c) {
    const char *value = rb_json_text(json_object_get(c, "axes"), axis, "");
    several |= one && strcmp(one, value) != 0;
    one = value;
    *found += wanted && strcmp(value, wanted) == 0;
  }
  return several ? NULL : one;
}

/* The case of which row `row` of the published values speaks, where the record's cases have its values; else NULL. */
static json_t *printed_case(const rb_judged *j, int row, const rb_method *method) {
  const rb_descriptor *d = j->descriptor;
  const json_t *cases = json_object_get(j->record, "cases");
  json_t *axes = json_object();
  char id[256];
  int used = snprintf(id, sizeof id, "%s", method->label), kept = 1, shown = 0;
  for (unsigned a = 0; a < d->axes_count && kept; a++) {
    const int k = rb_csv_column(&j->published, d->axes[a].name);
    const char *wanted = k >= 0 ? rb_csv_at(&j->published, row, k) : NULL;
    int found = 0;
    const char *value = value_of_all(cases, d->axes[a].name, wanted, &found);
    if (wanted) value = wanted, kept = found > 0;
    if (!value) continue;
    json_object_set_new(axes, d->axes[a].name, json_string(value));
    if (used < (int)sizeof id)
      used += snprintf(id + used, sizeof id - (size_t)used, " %s=%s", d->axes[a].name, value);
  }
  for (unsigned k = 0; k < d->columns_count; k++) {
    const int column = d->columns[k].class == RB_INFO ? -1 : rb_csv_column(&j->published, d->columns[k].name);
    shown |= column >= 0 && rb_csv_at(&j->published, row, column)[0];
  }
  if (!kept || !shown) {
    json_decref(axes);
    return NULL;
  }
  return json_pack("{s:s,s:s,s:o,s:s}", "id", id, "method", method->label, "axes", axes, "kind", method->kind);
}

json_t *rb_judged_printed(const rb_judged *j, const char *label) {
  const int k = rb_csv_column(&j->published, "method");
  const rb_method *method = NULL;
  json_t *out = json_array(), *c;
  size_t i;
  for (unsigned m = 0; m < j->descriptor->methods_count; m++)
    if (strcmp(j->descriptor->methods[m].label, label) == 0) method = &j->descriptor->methods[m];
  json_array_foreach(json_object_get(j->record, "cases"), i, c) if (strcmp(rb_json_text(c, "method", ""), label) == 0)
      method = NULL;
  for (int r = 1; method && k >= 0 && r < j->published.rows; r++)
    if (strcmp(rb_csv_at(&j->published, r, k), label) == 0 && (c = printed_case(j, r, method)))
      json_array_append_new(out, c);
  return out;
}

const char *rb_cell_verdict_name(rb_cell_verdict v) {
  static const char *const names[] = {"", "REPRODUCED", "DIFFERS", "NOT COMPARABLE", "same machine", "OTHER DATA"};
  return names[v];
}
const char *rb_claim_verdict_name(rb_claim_verdict v) {
  static const char *const names[] = {"HOLDS", "FAILS", "NOT JUDGED"};
  return names[v];
}

int rb_case_stale(const json_t *c) {
  const char *then = rb_json_text(c, "source", ""), *family = rb_json_text(c, "family", "");
  rb_backend_kind kind = strcmp(rb_json_text(c, "backend", "cpu"), "cuda") == 0 ? RB_CUDA : RB_CPU;
  return then[0] && strcmp(then, "published") != 0 &&
         !rb_source_is_current(family, kind, then, rb_json_text(c, "kind", ""), rb_json_text(c, "variant", ""));
}
