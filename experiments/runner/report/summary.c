/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/report/summary.h"

#include "experiments/runner/record/record.h"
#include "experiments/runner/descriptor/cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  char paper[64], name[160], machine[128], preset[16];
  int valid, cases;
  double roof; /* greatest share of the machine's copy that a valid case reached, %; NaN: no case has one */
  rb_verdicts verdicts;
} line;

/* Why cases were skipped, and of which experiments. */
typedef struct {
  char text[256];
  int cases;
  char experiments[1024];
} reason;

struct rb_summary {
  line *lines;
  reason *reasons;
  int count, reason_count;
};

rb_summary *rb_summary_new(void) { return calloc(1, sizeof(rb_summary)); }
void rb_summary_free(rb_summary *s) {
  if (!s) return;
  free(s->lines), free(s->reasons);
  free(s);
}

/* The reason's place in the list, made where it is new; NULL without memory. */
static reason *reason_of(rb_summary *s, const char *text) {
  for (int k = 0; k < s->reason_count; k++)
    if (strncmp(s->reasons[k].text, text, sizeof s->reasons[k].text - 1) == 0) return &s->reasons[k];
  reason *more = realloc(s->reasons, ((size_t)s->reason_count + 1) * sizeof *more);
  if (!more) return NULL;
  s->reasons = more;
  more += s->reason_count++;
  *more = (reason){.cases = 0};
  snprintf(more->text, sizeof more->text, "%s", text);
  rb_strip_control_chars(more->text);
  return more;
}

static rb_status add_skipped(rb_summary *s, const line *l, const json_t *c) {
  const char *text = rb_json_text(c, "reason", "no reason is recorded");
  char experiment[240];
  if (strcmp(text, "printed values only") == 0) return RB_OK; /* a row that shows what is printed, not a lack */
  reason *r = reason_of(s, text);
  if (!r) return RB_FAIL(RB_ENOMEM, "host memory");
  r->cases++;
  snprintf(experiment, sizeof experiment, "%s/%s", l->paper, l->name);
  if (strstr(r->experiments, experiment)) return RB_OK;
  const size_t length = strlen(r->experiments);
  snprintf(r->experiments + length, sizeof r->experiments - length, "%s%s", length ? ", " : "", experiment);
  return RB_OK;
}

/* Verdicts alone: the tables that they stand in are not shown. */
static rb_status judge(const rb_judged *j, rb_verdicts *out) {
  rb_status st = RB_OK;
  rb_table cells = {0}, claims = {0};
  RB_TRY(rb_cell_table(j, &cells, out));
  RB_TRY(rb_claim_table(j, &claims, out));
done:
  rb_table_free(&claims);
  rb_table_free(&cells);
  return st;
}

rb_status rb_summary_add(rb_summary *s, const rb_judged *j, rb_verdicts *sum) {
  rb_status st = RB_OK;
  line l = {.roof = NAN};
  size_t i;
  json_t *c;
  snprintf(l.paper, sizeof l.paper, "%s", j->descriptor->paper);
  snprintf(l.name, sizeof l.name, "%s", j->descriptor->name);
  snprintf(l.machine, sizeof l.machine, "%s", rb_json_text(json_object_get(j->record, "machine"), "name", "?"));
  snprintf(l.preset, sizeof l.preset, "%s", rb_json_text(j->record, "preset", "?"));
  rb_strip_control_chars(l.machine);
  if (strcmp(l.preset, "published") == 0) return RB_OK;
  RB_TRY(judge(j, &l.verdicts));
  json_array_foreach(json_object_get(j->record, "cases"), i, c) {
    const char *status = rb_json_text(c, "status", "");
    const double roof = rb_json_metric(c, "percent_copy");
    if (strcmp(rb_json_text(c, "kind", ""), "published") == 0) continue;
    l.cases++;
    if (strcmp(status, "valid") == 0) l.valid++, l.roof = fmax(l.roof, roof);
    if (strcmp(status, "skipped") == 0) RB_TRY(add_skipped(s, &l, c));
  }
  line *more = realloc(s->lines, ((size_t)s->count + 1) * sizeof *more);
  RB_CHECK(more, RB_ENOMEM, "host memory");
  s->lines = more;
  more[s->count++] = l;
  sum->differs[RB_CELL_PRINTED] += rb_verdicts_differ(&l.verdicts), sum->fails += l.verdicts.fails,
      sum->invalid += l.verdicts.invalid;
done:
  return st;
}

/* ---- printing --------------------------------------------------------------------------------------------- */

static int by_paper(const void *a, const void *b) {
  const line *p = a, *q = b;
  int order = strcmp(p->paper, q->paper);
  if (order == 0) order = strcmp(p->name, q->name);
  return order ? order : strcmp(p->machine, q->machine);
}

static void print_share(rb_table *t, int column, int part, int all) {
  if (all)
    rb_table_set(t, column, "%d of %d", part, all);
  else
    rb_table_set(t, column, "-");
}

static rb_status print_line(rb_table *t, const line *l, const char *name) {
  rb_status st = RB_OK;
  const rb_verdicts *v = &l->verdicts;
  RB_TRY(rb_table_row(t));
  rb_table_set(t, 0, "%s", name);
  rb_table_set(t, 1, "%s", l->machine);
  rb_table_set(t, 2, "%s", l->preset);
  print_share(t, 3, l->valid, l->cases);
  print_share(t, 4, v->reproduced[RB_CELL_PRINTED], v->reproduced[RB_CELL_PRINTED] + v->differs[RB_CELL_PRINTED]);
  print_share(t, 5, v->reproduced[RB_CELL_AS], v->reproduced[RB_CELL_AS] + v->differs[RB_CELL_AS]);
  print_share(t, 6, v->holds, v->holds + v->fails);
  rb_table_set(t, 7, "%d", v->not_judged);
  rb_table_set(t, 8, "%d", v->stale);
  if (l->roof == l->roof)
    rb_table_set(t, 9, "%.0f %%", l->roof);
  else
    rb_table_set(t, 9, "-");
done:
  return st;
}

static void add_verdicts(rb_verdicts *to, const rb_verdicts *v) {
  for (int k = 0; k < RB_CELL_KINDS; k++)
    to->reproduced[k] += v->reproduced[k], to->differs[k] += v->differs[k],
        to->within_a_unit[k] += v->within_a_unit[k];
  to->holds += v->holds, to->fails += v->fails, to->not_judged += v->not_judged, to->stale += v->stale;
}

/* Experiments of the papers in the lines that no line is about. */
static void print_missing(const line *lines, int count, FILE *out) {
  enum { MOST = 256 };
  char(*paths)[4096] = malloc(MOST * sizeof *paths);
  int missing = 0;
  for (int first = 0; paths && first < count;) {
    int end = first, found = 0;
    while (end < count && strcmp(lines[end].paper, lines[first].paper) == 0) end++;
    if (rb_experiments_find(lines[first].paper, paths, MOST, &found) != RB_OK) rb_clear(), found = 0;
    for (int p = 0; p < found; p++) {
      const char *slash = strrchr(paths[p], '/');
      char name[160];
      snprintf(name, sizeof name, "%.*s", (int)strcspn(slash ? slash + 1 : paths[p], "."),
               slash ? slash + 1 : paths[p]);
      int k = first;
      while (k < end && strcmp(lines[k].name, name) != 0) k++;
      if (k == end) fprintf(out, "%s%s/%s", missing++ ? ", " : "No record of: ", lines[first].paper, name);
    }
    first = end;
  }
  if (missing) fprintf(out, ".\n\n");
  free(paths);
}

rb_status rb_summary_print(const rb_summary *s, rb_format format, FILE *out) {
  static const char *const heads[] = {"experiment",   "machine",     "preset",     "valid cases", "printed cells",
                                      "as another's", "claims hold", "not judged", "STALE",       "best of copy"};
  enum { COLUMNS = sizeof heads / sizeof *heads };
  rb_status st = RB_OK;
  rb_table t = {0};
  char name[240];
  rb_table_init(&t, COLUMNS);
  RB_TRY(rb_table_row(&t));
  for (int k = 0; k < COLUMNS; k++) rb_table_set(&t, k, "%s", heads[k]);
  qsort(s->lines, (size_t)s->count, sizeof *s->lines, by_paper);
  line total = {.roof = NAN};
  for (int i = 0; i < s->count; i++) {
    const line *l = &s->lines[i];
    snprintf(name, sizeof name, "%s/%s", l->paper, l->name);
    RB_TRY(print_line(&t, l, name));
    total.valid += l->valid, total.cases += l->cases;
    add_verdicts(&total.verdicts, &l->verdicts);
    if (i + 1 < s->count && strcmp(l->paper, s->lines[i + 1].paper) == 0) continue;
    snprintf(name, sizeof name, "%s, all", l->paper);
    RB_TRY(print_line(&t, &total, name));
    total = (line){.roof = NAN};
  }
  rb_table_print(&t, format, "Summary", out);
  if (format == RB_TEXT || format == RB_MARKDOWN) {
    fprintf(
        out, "%s",
        "Printed cells: REPRODUCED by the paper's own variants, of those judged. As another's: ours and CPU twins "
        "against another\nmethod's cells. Best of copy: the greatest share of the measured copy bandwidth that a "
        "case's least traffic reached;\nwhat fits a cache, or does in one pass what is counted as several, passes "
        "100.\n\n");
    print_missing(s->lines, s->count, out);
    for (int k = 0; k < s->reason_count; k++)
      fprintf(out, "%d cases were skipped: %s (%s)\n", s->reasons[k].cases, s->reasons[k].text,
              s->reasons[k].experiments);
  }
done:
  rb_table_free(&t);
  return st;
}
