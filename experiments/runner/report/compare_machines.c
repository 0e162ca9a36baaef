/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/report/compare_machines.h"

#include "experiments/runner/base/files.h"
#include "experiments/runner/record/record.h"
#include "experiments/runner/report/compare.h"
#include "experiments/runner/report/plots.h"
#include "experiments/runner/report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the records of a machine ------------------------------------------------------------------------------- */

typedef struct {
  char name[128];
  json_t **records;
  rb_judged *judged;
  int count;
} machine;

static void close_machine(machine *m) {
  for (int i = 0; i < m->count; i++) rb_judged_close(&m->judged[i]), json_decref(m->records[i]);
  free(m->judged), free(m->records);
}

static rb_status open_machine(const char *folder, char (*paths)[4096], int most, machine *m) {
  rb_status st = RB_OK;
  const int count = rb_records_list(folder, paths, most);
  RB_CHECK(count > 0, RB_ENOTFOUND, "no records below '%s'", folder);
  m->records = calloc((size_t)count, sizeof *m->records), m->judged = calloc((size_t)count, sizeof *m->judged);
  RB_CHECK(m->records && m->judged, RB_ENOMEM, "host memory");
  for (int i = 0; i < count; i++) {
    m->count = i + 1; /* what is opened is closed */
    RB_TRY(rb_record_load(paths[i], &m->records[i]));
    RB_TRY(rb_judged_open(m->records[i], paths[i], &m->judged[i]));
    const char *name = rb_json_text(json_object_get(m->records[i], "machine"), "name", "?");
    if (i == 0) snprintf(m->name, sizeof m->name, "%s", name), rb_strip_control_chars(m->name);
    RB_CHECK(strncmp(m->name, name, sizeof m->name - 1) == 0, RB_EFORMAT,
             "'%s' holds records of several machines (%.100s, %.100s): name the folder of one", folder, m->name,
             name);
  }
done:
  return st;
}

static int is_of(const rb_judged *a, const rb_judged *b) {
  const char *pa = rb_json_text(a->record, "preset", ""), *pb = rb_json_text(b->record, "preset", "");
  return strcmp(a->descriptor->paper, b->descriptor->paper) == 0 &&
         strcmp(a->descriptor->name, b->descriptor->name) == 0 &&
         (strcmp(pa, pb) == 0 || strcmp(pa, "published") == 0 || strcmp(pb, "published") == 0);
}

/* ---- ratios by paper, family and backend -------------------------------------------------------------------- */

typedef struct {
  int count;
  double log_sum[3]; /* of the ratio, and of its interval's low and high end */
  double least, greatest;
} ratios;
typedef struct {
  char paper[64], family[32], backend[8];
  ratios of[RB_MOST_MACHINES];
} group;
typedef struct {
  group *groups;
  int count, compared, differ; /* pairs of times; of these, not of the same thing */
} gathered;

static void add_ratio(ratios *r, const double ratio[3]) {
  for (int k = 0; k < 3; k++) r->log_sum[k] += log(ratio[k]);
  r->least = r->count ? fmin(r->least, ratio[0]) : ratio[0];
  r->greatest = r->count ? fmax(r->greatest, ratio[0]) : ratio[0];
  r->count++;
}

/* Made where it is new; NULL without memory. */
static group *group_of(gathered *g, const char *paper, const char *family, const char *backend) {
  for (int i = 0; i < g->count; i++) {
    group *at = &g->groups[i];
    if (strcmp(at->paper, paper) == 0 && strcmp(at->family, family) == 0 && strcmp(at->backend, backend) == 0)
      return at;
  }
  group *more = realloc(g->groups, ((size_t)g->count + 1) * sizeof *more);
  if (!more) return NULL;
  g->groups = more;
  more += g->count++;
  memset(more, 0, sizeof *more);
  snprintf(more->paper, sizeof more->paper, "%s", paper);
  snprintf(more->family, sizeof more->family, "%s", family);
  snprintf(more->backend, sizeof more->backend, "%s", backend);
  return more;
}

/* One record of the first machine beside one of machine k. */
static rb_status gather_pair(gathered *g, const rb_judged *a, const rb_judged *b, int k) {
  size_t i;
  json_t *c;
  json_array_foreach(json_object_get(a->record, "cases"), i, c) {
    const rb_timed_pair p = rb_timed_pair_of(a, c, b);
    double slower[3]; /* B's time over A's */
    if (p.kind != RB_PAIR_TIMED) {
      g->differ += p.kind == RB_PAIR_DIFFERS;
      continue;
    }
    if (rb_compare_times(p.a, p.b, 0.05, slower) == RB_INCOMPARABLE || !(slower[1] > 0) || !isfinite(slower[2]))
      continue; /* a bound alone is printed */
    const char *family = rb_json_text(c, "family", rb_json_text(p.other, "family", "")),
               *backend = rb_json_text(c, "backend", rb_json_text(p.other, "backend", ""));
    group *at = group_of(g, a->descriptor->paper, family, backend);
    if (!at) return RB_FAIL(RB_ENOMEM, "host memory");
    add_ratio(&at->of[k], (const double[3]){1 / slower[0], 1 / slower[2], 1 / slower[1]});
    g->compared++;
  }
  return RB_OK;
}

static int has_times(const gathered *g, int k) {
  for (int i = 0; i < g->count; i++)
    if (g->groups[i].of[k].count) return 1;
  return 0;
}

static int by_name(const void *a, const void *b) {
  const group *p = a, *q = b;
  int order = strcmp(p->paper, q->paper);
  if (order == 0) order = strcmp(q->backend, p->backend); /* cuda before cpu */
  return order ? order : strcmp(p->family, q->family);
}

/* ---- the table ------------------------------------------------------------------------------------------------ */

static void set_ratio(rb_table *t, int column, const ratios *r) {
  if (!r->count) {
    rb_table_set(t, column, "-");
    return;
  }
  const double n = r->count;
  rb_table_set(t, column, "%.3g [%.3g, %.3g]", exp(r->log_sum[0] / n), exp(r->log_sum[1] / n),
               exp(r->log_sum[2] / n));
  rb_table_set(t, column + 1, "%.3g to %.3g", r->least, r->greatest);
  rb_table_set(t, column + 2, "%d", r->count);
}
static rb_status print_group(rb_table *t, const group *g, const char *family, int machines) {
  rb_status st = RB_OK;
  RB_TRY(rb_table_row(t));
  rb_table_set(t, 0, "%s", g->paper);
  rb_table_set(t, 1, "%s", family);
  rb_table_set(t, 2, "%s", g->backend);
  for (int k = 1; k < machines; k++) set_ratio(t, 3 * k, &g->of[k]);
done:
  return st;
}
static void add_group(group *to, const group *g) {
  for (int k = 0; k < RB_MOST_MACHINES; k++) {
    const ratios *r = &g->of[k];
    ratios *sum = &to->of[k];
    if (!r->count) continue;
    for (int e = 0; e < 3; e++) sum->log_sum[e] += r->log_sum[e];
    sum->least = sum->count ? fmin(sum->least, r->least) : r->least;
    sum->greatest = sum->count ? fmax(sum->greatest, r->greatest) : r->greatest;
    sum->count += r->count;
  }
}

static rb_status print_table(const gathered *g, const machine *m, int machines, const rb_machines_options *o) {
  rb_status st = RB_OK;
  rb_table t;
  char title[256];
  group total = {.paper = ""};
  int families = 0;
  rb_table_init(&t, 3 * machines);
  RB_TRY(rb_table_row(&t));
  rb_table_set(&t, 0, "paper"), rb_table_set(&t, 1, "family"), rb_table_set(&t, 2, "backend");
  for (int k = 1; k < machines; k++) {
    rb_table_set(&t, 3 * k, "%s [95 %%]", m[k].name);
    rb_table_set(&t, 3 * k + 1, "least to greatest");
    rb_table_set(&t, 3 * k + 2, "cases");
  }
  for (int i = 0; i < g->count; i++) {
    const group *at = &g->groups[i], *next = i + 1 < g->count ? at + 1 : NULL;
    RB_TRY(print_group(&t, at, at->family, machines));
    if (!families++)
      snprintf(total.paper, sizeof total.paper, "%s", at->paper),
          snprintf(total.backend, sizeof total.backend, "%s", at->backend);
    add_group(&total, at);
    if (next && strcmp(next->paper, at->paper) == 0 && strcmp(next->backend, at->backend) == 0) continue;
    if (families > 1) RB_TRY(print_group(&t, &total, "all", machines));
    total = (group){.paper = ""}, families = 0;
  }
  snprintf(title, sizeof title, "Times as fast as %s: geometric means over cases", m[0].name);
  if (t.rows > 1) rb_table_print(&t, o->format, title, o->out);
done:
  rb_table_free(&t);
  return st;
}

/* ---- the plot ---------------------------------------------------------------------------------------------------
 */

/* A line a group: its place, and of every other machine geometric mean, least, greatest. */
static void write_data(const gathered *g, int machines, FILE *f) {
  for (int i = 0; i < g->count; i++) {
    fprintf(f, "%d", i);
    for (int k = 1; k < machines; k++) {
      const ratios *r = &g->groups[i].of[k];
      if (r->count)
        fprintf(f, " %.5g %.5g %.5g", exp(r->log_sum[0] / r->count), r->least, r->greatest);
      else
        fprintf(f, " nan nan nan");
    }
    fprintf(f, "\n");
  }
}
static void write_commands(const gathered *g, const machine *m, int machines, FILE *f) {
  fprintf(f, "set logscale y 10\nset xtics rotate by -40 ()\nset xrange [-0.6:%g]\n", g->count - 0.4);
  rb_plot_with(f, "set ylabel ", "times as fast as ", ".");
  rb_plot_quoted(f, m[0].name);
  fprintf(f, "\nset key outside top center horizontal noenhanced\n");
  for (int i = 0; i < g->count; i++) {
    char label[128];
    snprintf(label, sizeof label, "%s %s%s", g->groups[i].paper, g->groups[i].family,
             strcmp(g->groups[i].backend, "cpu") == 0 ? " (CPU)" : "");
    rb_plot_with(f, "set xtics add (", label, "");
    fprintf(f, " %d)\n", i);
  }
  fprintf(f, "plot 1 with lines lc rgb '#888888' dt 3 notitle");
  for (int k = 1; k < machines; k++) { /* beside each other, within a place */
    const double shift = 0.6 * (k - 0.5 * machines) / machines;
    fprintf(f, ", \\\n 'machines.dat' using ($1 + %g):%d:%d:%d with yerrorbars ls %d ps 1.3 title ", shift, 3 * k - 1,
            3 * k, 3 * k + 1, k);
    rb_plot_quoted(f, m[k].name);
  }
  fprintf(f, "\n");
}
static rb_status draw(const gathered *g, const machine *m, int machines, const char *folder) {
  rb_status st = RB_OK;
  char path[4300], *data = NULL, *commands = NULL;
  size_t bytes = 0, size = 0;
  FILE *f = open_memstream(&data, &bytes), *c = open_memstream(&commands, &size);
  if (f) write_data(g, machines, f), fclose(f);
  if (c) write_commands(g, m, machines, c), fclose(c);
  RB_CHECK(f && c && data && commands, RB_ENOMEM, "host memory");
  RB_TRY(rb_make_folders(folder));
  snprintf(path, sizeof path, "%.4096s/machines.dat", folder);
  RB_TRY(rb_write_atomically(path, data, bytes));
  RB_TRY(rb_plot_draw(folder, "machines", "Geometric means over cases, least and greatest", commands));
done:
  free(data), free(commands);
  return st;
}

rb_status rb_compare_machines(int count, const char *const *folders, const rb_machines_options *o, int *compared) {
  enum { MOST = 1024 };
  rb_status st = RB_OK;
  machine m[RB_MOST_MACHINES] = {{.count = 0}};
  gathered g = {.groups = NULL};
  char(*paths)[4096] = malloc(MOST * sizeof *paths);
  RB_CHECK(paths, RB_ENOMEM, "host memory");
  for (int k = 0; k < count; k++) RB_TRY(open_machine(folders[k], paths, MOST, &m[k]));
  for (int k = 1; k < count; k++)
    for (int i = 0; i < m[0].count; i++)
      for (int n = 0; n < m[k].count; n++)
        if (is_of(&m[0].judged[i], &m[k].judged[n])) RB_TRY(gather_pair(&g, &m[0].judged[i], &m[k].judged[n], k));
  if (g.count) qsort(g.groups, (size_t)g.count, sizeof *g.groups, by_name);
  *compared = g.compared;
  RB_TRY(print_table(&g, m, count, o));
  for (int k = 1; k < count && (o->format == RB_TEXT || o->format == RB_MARKDOWN); k++)
    if (!has_times(&g, k)) fprintf(o->out, "%s has no timed case in common with %s.\n\n", m[k].name, m[0].name);
  if (o->format == RB_TEXT || o->format == RB_MARKDOWN)
    fprintf(o->out, "%d pairs of times; %d more are not of the same thing.\n", g.compared, g.differ);
  if (o->plots && g.count) RB_TRY(draw(&g, m, count, o->plots));
done:
  for (int k = 0; k < count; k++) close_machine(&m[k]);
  free(g.groups), free(paths);
  return st;
}
