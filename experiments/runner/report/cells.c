/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/report/cells.h"

#include "experiments/runner/record/record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *rb_case_note(const json_t *c) {
  if (rb_case_stale(c))
    return rb_case_is_slowed(c) ? "STALE: code changed since; THROTTLED" : "STALE: code changed since";
  return rb_case_is_slowed(c) ? "THROTTLED: the GPU held its clocks down; times are not judged" : "";
}

const char *rb_no_counters(const json_t *c) {
  return rb_json_text(json_object_get(c, "counters"), "unavailable", NULL);
}
/* The label whose cases a column is relative to for case c: the one it names, or the first method of c's kind. */
static const char *relative_label(const rb_descriptor *d, const json_t *c, const rb_column *column) {
  if (strcmp(column->relative_to, RB_FIRST_OF_KIND) != 0) return column->relative_to;
  for (unsigned m = 0; m < d->methods_count; m++)
    if (strcmp(d->methods[m].kind, rb_json_text(c, "kind", "")) == 0) return d->methods[m].label;
  return "";
}
/* The other method's value of the column at the same place, over this one's; NaN where there is none. */
static double relative_value(const rb_judged *j, const json_t *c, const rb_column *column) {
  const json_t *other = rb_judged_case(j, relative_label(j->descriptor, c, column), json_object_get(c, "axes"));
  return other ? rb_json_metric(other, column->metric) / rb_json_metric(c, column->metric) : NAN;
}
double rb_cell_value(const rb_judged *j, const json_t *c, const rb_column *column) {
  return column->relative_to ? relative_value(j, c, column) : rb_json_metric(c, column->metric);
}
static void relative_text(double ratio, char *out, size_t size) {
  out[0] = '\0';
  if (isfinite(ratio)) snprintf(out, size, "x%.3g", ratio);
}
static void metric_text(const json_t *c, const char *metric, char *out, size_t size) {
  if (rb_metric_is_counted(metric) && rb_json_metric(c, metric) != rb_json_metric(c, metric) && rb_no_counters(c)) {
    snprintf(out, size, "not available");
    return;
  }
  const json_t *m = json_object_get(json_object_get(c, "metrics"), metric);
  if (m && json_is_null(json_object_get(m, "value")))
    snprintf(out, size, "not finite");
  else
    rb_format_value(rb_json_metric(c, metric), rb_json_text(m, "unit", ""), out, size);
}

/* A value of this machine beside a printed one: times and rates as how many times faster, with how the roof is used;
 * others as a share. Of a printed bound (">2200") the ratio is one, too. */
static void beside_printed(const json_t *c, const char *metric, const char *printed, char *out, size_t size) {
  char bound;
  const double theirs = rb_printed_number(printed, &bound), mine = rb_json_metric(c, metric),
               roof = rb_json_metric(c, "percent_copy");
  const char *unit = rb_json_text(json_object_get(json_object_get(c, "metrics"), metric), "unit", "");
  const int time = strcmp(unit, "s") == 0,
            rate = strcmp(unit, "B/s") == 0 || strcmp(unit, "1/s") == 0 || strcmp(unit, "FLOP/s") == 0;
  const char *than = !bound ? "" : (bound == '>') == time ? "more than " : "less than ";
  if (!time && !rate)
    snprintf(out, size, "%s%.2f of it", than, mine / theirs);
  else if (roof == roof)
    snprintf(out, size, "%sx%.2f, %.0f %% of roof", than, time ? theirs / mine : mine / theirs, roof);
  else
    snprintf(out, size, "%sx%.2f", than, time ? theirs / mine : mine / theirs);
}

rb_cell_kind rb_cell_kind_of(const rb_judged *j, const json_t *c, const rb_column *column) {
  if (column->origin != RB_ORIGIN_PAPER) return column->origin == RB_ORIGIN_INPUT ? RB_CELL_INPUT : RB_CELL_PROGRAM;
  for (unsigned m = 0; m < j->descriptor->methods_count; m++)
    if (strcmp(j->descriptor->methods[m].label, rb_json_text(c, "method", "")) == 0 &&
        j->descriptor->methods[m].published_as)
      return RB_CELL_AS;
  return RB_CELL_PRINTED;
}

/* Every method at a place of the axes has the same input: only the first judged one counts. */
static int counted_before(const rb_judged *j, const json_t *c, const rb_column *column) {
  size_t i;
  json_t *earlier;
  json_array_foreach(json_object_get(j->record, "cases"), i, earlier) {
    if (earlier == c) return 0;
    if (strcmp(rb_json_text(earlier, "status", ""), "valid") == 0 &&
        json_equal(json_object_get(earlier, "axes"), json_object_get(c, "axes")) &&
        rb_judge_cell(j, earlier, column) != RB_NO_VERDICT)
      return 1;
  }
  return 0;
}

int rb_verdicts_differ(const rb_verdicts *s) {
  int n = 0;
  for (int k = 0; k < RB_CELL_KINDS; k++) n += s->differs[k];
  return n;
}

char *rb_verdicts_cells_text(const rb_verdicts *s) {
  static const char *const names[] = {"Cells that the paper prints for its own variants",
                                      "Ours and CPU twins against another method's cells",
                                      "Against values that no paper prints", "Properties of the input"};
  char *text = NULL;
  size_t length = 0;
  int shown = 0;
  FILE *out = open_memstream(&text, &length);
  if (!out) return NULL;
  for (int k = 0; k < RB_CELL_KINDS; k++) {
    const int judged = s->reproduced[k] + s->differs[k];
    if (!judged) continue;
    fprintf(out, "%s%s: %d of %d REPRODUCED", shown++ ? " " : "", names[k], s->reproduced[k], judged);
    if (s->within_a_unit[k]) fprintf(out, ", %d more within a unit of the last digit", s->within_a_unit[k]);
    fputc('.', out);
  }
  if (!shown) fprintf(out, "No cell is judged.");
  if (s->not_comparable) fprintf(out, " NOT COMPARABLE, of another machine: %d.", s->not_comparable);
  if (s->other_data) fprintf(out, " Not judged, of OTHER DATA than ours: %d.", s->other_data);
  if (fclose(out) == 0) return text;
  free(text);
  return NULL;
}

/* Ours with the verdict folded in: numeric cells are judged, hardware cells show how the machine's roof is used. */
static void add_cells(const rb_judged *j, const json_t *c, rb_table *t, int at, rb_verdicts *s) {
  const rb_descriptor *d = j->descriptor;
  for (unsigned k = 0; k < d->columns_count; k++) {
    const rb_column *column = &d->columns[k];
    char ours[64], text[64];
    const char *machine, *printed = rb_published_value(j, c, column->name, &machine);
    const double ratio = column->relative_to ? relative_value(j, c, column) : NAN;
    if (column->relative_to)
      relative_text(ratio, ours, sizeof ours);
    else
      metric_text(c, column->metric, ours, sizeof ours);
    rb_table_set(t, at, "%s", ours);
    if (column->class == RB_INFO) {
      at++;
      continue;
    }
    rb_cell_verdict v = rb_judge_cell(j, c, column);
    const rb_cell_kind kind = rb_cell_kind_of(j, c, column);
    if (kind != RB_CELL_INPUT || !counted_before(j, c, column))
      s->reproduced[kind] += v == RB_REPRODUCED, s->differs[kind] += v == RB_DIFFERS,
          s->within_a_unit[kind] += v == RB_DIFFERS && rb_cell_within_a_unit(j, c, column);
    s->not_comparable += v == RB_NOT_COMPARABLE;
    s->other_data += v == RB_OTHER_DATA;
    rb_table_set(t, at + 1, "%s", printed ? printed : "");
    if (v == RB_OTHER_DATA) {
      char bound;
      rb_table_set(t, at + 2, "OTHER DATA: %+.0f %%",
                   100 * (rb_json_metric(c, column->metric) / rb_printed_number(printed, &bound) - 1));
    } else if (v == RB_NOT_COMPARABLE || v == RB_SAME_MACHINE) {
      char bound;
      if (!column->relative_to)
        beside_printed(c, column->metric, printed, text, sizeof text);
      else if (isfinite(ratio))
        snprintf(text, sizeof text, "%.2f of it", ratio / rb_printed_number(printed, &bound));
      else
        snprintf(text, sizeof text, "no case to compare with");
      rb_table_set(t, at + 2, "%s: %s", rb_cell_verdict_name(v), text);
    } else {
      rb_table_set(t, at + 2, "%s", rb_cell_verdict_name(v));
    }
    at += 3;
  }
}

/* What the paper prints of methods that the record has no case of, at the record's values of the axes. */
static rb_status printed_rows(const rb_judged *j, rb_table *t) {
  rb_status st = RB_OK;
  const rb_descriptor *d = j->descriptor;
  for (unsigned m = 0; m < d->methods_count; m++) {
    json_t *rows = rb_judged_printed(j, d->methods[m].label), *printed;
    size_t i;
    json_array_foreach(rows, i, printed) {
      int at = (int)d->axes_count + 2;
      if ((st = rb_table_row(t)) != RB_OK) break;
      for (unsigned a = 0; a < d->axes_count; a++)
        rb_table_set(t, (int)a, "%s", rb_json_text(json_object_get(printed, "axes"), d->axes[a].name, ""));
      rb_table_set(t, (int)d->axes_count, "%s", d->methods[m].label);
      for (unsigned k = 0; k < d->columns_count; at += d->columns[k].class == RB_INFO ? 1 : 3, k++) {
        const char *value =
            d->columns[k].class == RB_INFO ? NULL : rb_published_value(j, printed, d->columns[k].name, NULL);
        if (value) rb_table_set(t, at + 1, "%s", value);
      }
      rb_table_set(t, at, "printed; not measured here");
    }
    json_decref(rows);
  }
  return st;
}

/* A place of the axes at which nothing is printed for the method. */
static int is_blank(const rb_judged *j, const json_t *c) {
  if (strcmp(rb_json_text(c, "kind", ""), "published") != 0) return 0;
  for (unsigned k = 0; k < j->descriptor->columns_count; k++)
    if (rb_published_value(j, c, j->descriptor->columns[k].name, NULL)) return 0;
  return 1;
}

rb_status rb_cell_table(const rb_judged *j, rb_table *t, rb_verdicts *s) {
  rb_status st = RB_OK;
  const rb_descriptor *d = j->descriptor;
  const json_t *cases = json_object_get(j->record, "cases");
  int columns = (int)d->axes_count + 2;
  size_t i;
  json_t *c;
  for (unsigned k = 0; k < d->columns_count; k++) columns += d->columns[k].class == RB_INFO ? 1 : 3;
  rb_table_init(t, columns + 1);
  RB_TRY(rb_table_row(t));
  for (unsigned a = 0; a < d->axes_count; a++) rb_table_set(t, (int)a, "%s", d->axes[a].name);
  int at = (int)d->axes_count;
  rb_table_set(t, at++, "method");
  rb_table_set(t, at++, "variant");
  for (unsigned k = 0; k < d->columns_count; k++) {
    rb_table_set(t, at++, "%s", d->columns[k].title);
    if (d->columns[k].class == RB_INFO) continue;
    rb_table_set(t, at++, "published");
    rb_table_set(t, at++, "verdict");
  }
  rb_table_set(t, at, "note");
  json_array_foreach(cases, i, c) {
    if (is_blank(j, c)) continue;
    RB_TRY(rb_table_row(t));
    for (unsigned a = 0; a < d->axes_count; a++)
      rb_table_set(t, (int)a, "%s", rb_json_text(json_object_get(c, "axes"), d->axes[a].name, ""));
    rb_table_set(t, (int)d->axes_count, "%s", rb_json_text(c, "method", ""));
    rb_table_set(t, (int)d->axes_count + 1, "%s", rb_json_text(c, "variant", ""));
    const char *status = rb_json_text(c, "status", "");
    if (strcmp(status, "valid") == 0) {
      add_cells(j, c, t, (int)d->axes_count + 2, s);
      if (rb_case_note(c)[0]) rb_table_set(t, columns, "%s", rb_case_note(c));
      s->stale += rb_case_stale(c);
    } else if (strcmp(rb_json_text(c, "kind", ""), "published") == 0) {
      add_cells(j, c, t, (int)d->axes_count + 2, s); /* the printed values alone */
    } else {
      s->invalid += strcmp(status, "invalid") == 0;
      s->skipped += strcmp(status, "invalid") != 0;
      rb_table_set(t, columns, "%s: %s", status, rb_json_text(c, "reason", ""));
    }
  }
  RB_TRY(printed_rows(j, t));
done:
  return st;
}

rb_status rb_claim_table(const rb_judged *j, rb_table *t, rb_verdicts *s) {
  rb_status st = RB_OK;
  rb_table_init(t, 3);
  RB_TRY(rb_table_row(t));
  rb_table_set(t, 0, "claim");
  rb_table_set(t, 1, "verdict");
  rb_table_set(t, 2, "why");
  for (unsigned i = 0; i < j->descriptor->claims_count; i++) {
    char why[256];
    rb_claim_verdict v = rb_judge_claim(j, &j->descriptor->claims[i], why, sizeof why);
    s->holds += v == RB_HOLDS, s->fails += v == RB_FAILS, s->not_judged += v == RB_NOT_JUDGED;
    RB_TRY(rb_table_row(t));
    rb_table_set(t, 0, "%s", j->descriptor->claims[i].text);
    rb_table_set(t, 1, "%s", rb_claim_verdict_name(v));
    rb_table_set(t, 2, "%s", why);
  }
done:
  return st;
}
