/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/report/tidy.h"

#include "experiments/runner/record/record.h"
#include "experiments/runner/report/cells.h"
#include "experiments/runner/report/table.h"

#include <math.h>
#include <string.h>

static void put(FILE *out, const char *text) {
  if (!strpbrk(text, ",\"\n")) {
    fputs(text, out);
    return;
  }
  fputc('"', out);
  for (const char *s = text; *s; s++) fprintf(out, *s == '"' ? "\"\"" : "%c", *s);
  fputc('"', out);
}
static void put_text(FILE *out, const char *text) {
  fputc(',', out);
  put(out, text);
}
static void put_number(FILE *out, double v) {
  fputc(',', out);
  if (isfinite(v)) fprintf(out, "%.9g", v);
}

void rb_tidy_head(FILE *out) {
  fputs(
      "paper,experiment,machine,preset,commit,axes,method,variant,column,metric,value,unit,low,high,published,"
      "verdict,"
      "ratio,status,note\n",
      out);
}

/* What stands in front of every row of a case. A case of an earlier run has that run's commit. */
static void put_case(const rb_judged *j, const json_t *c, FILE *out) {
  const json_t *run =
      json_array_get(json_object_get(j->record, "runs"), (size_t)json_integer_value(json_object_get(c, "run")));
  const json_t *build = json_object_get(run ? run : j->record, "regbench");
  char axes[1024] = "";
  size_t n = 0;
  put(out, j->descriptor->paper);
  put_text(out, j->descriptor->name);
  put_text(out, rb_json_text(json_object_get(j->record, "machine"), "name", ""));
  put_text(out, rb_json_text(j->record, "preset", ""));
  put_text(out, rb_json_text(build, "commit", ""));
  for (unsigned a = 0; a < j->descriptor->axes_count && n < sizeof axes; a++)
    n += (size_t)snprintf(axes + n, sizeof axes - n, "%s%s=%s", a ? " " : "", j->descriptor->axes[a].name,
                          rb_json_text(json_object_get(c, "axes"), j->descriptor->axes[a].name, ""));
  put_text(out, axes);
  put_text(out, rb_json_text(c, "method", ""));
  put_text(out, rb_json_text(c, "variant", ""));
}

static void put_value(const rb_judged *j, const json_t *c, const rb_column *column, const char *status,
                      const char *note, FILE *out) {
  const json_t *m = json_object_get(json_object_get(c, "metrics"), column->metric),
               *t = strcmp(column->metric, "time") == 0 && !column->relative_to ? json_object_get(c, "timing") : NULL;
  const char *printed = column->class == RB_INFO ? NULL : rb_published_value(j, c, column->name, NULL);
  const double value = rb_cell_value(j, c, column);
  char bound;
  if (isnan(value) && !printed && !m) return;
  put_case(j, c, out);
  put_text(out, column->name);
  put_text(out, column->metric);
  put_number(out, value);
  put_text(out, column->relative_to ? "1" : rb_json_text(m, "unit", ""));
  put_number(out, t ? json_number_value(json_object_get(t, "low")) : NAN);
  put_number(out, t ? json_number_value(json_object_get(t, "high")) : NAN);
  put_text(out, printed ? printed : "");
  put_text(out, rb_cell_verdict_name(rb_judge_cell(j, c, column)));
  put_number(out, printed ? value / rb_printed_number(printed, &bound) : NAN);
  put_text(out, status);
  put_text(out, note);
  fputc('\n', out);
}

static void put_columns(const rb_judged *j, const json_t *c, const char *status, const char *note, FILE *out) {
  for (unsigned k = 0; k < j->descriptor->columns_count; k++)
    put_value(j, c, &j->descriptor->columns[k], status, note, out);
}

void rb_tidy_rows(const rb_judged *j, FILE *out) {
  size_t i;
  json_t *c;
  json_array_foreach(json_object_get(j->record, "cases"), i, c) {
    const char *status = rb_json_text(c, "status", "");
    char reason[512];
    if (strcmp(rb_json_text(c, "kind", ""), "published") == 0) {
      put_columns(j, c, "printed", "", out);
    } else if (strcmp(status, "valid") == 0) {
      put_columns(j, c, status, rb_case_note(c), out);
    } else {
      snprintf(reason, sizeof reason, "%s", rb_json_text(c, "reason", ""));
      rb_strip_control_chars(reason);
      put_case(j, c, out);
      fputs(",,,,,,,,,", out);
      put_text(out, status);
      put_text(out, reason);
      fputc('\n', out);
    }
  }
  for (unsigned m = 0; m < j->descriptor->methods_count; m++) {
    json_t *rows = rb_judged_printed(j, j->descriptor->methods[m].label);
    json_array_foreach(rows, i, c) put_columns(j, c, "printed", "not measured here", out);
    json_decref(rows);
  }
}
