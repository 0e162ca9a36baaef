/* SPDX-License-Identifier: BSD-3-Clause */
/* What a descriptor says must mean something: methods, axes, claims and plots that refer to each other, told with
 * their line. */
#include "experiments/runner/descriptor/descriptor_check.h"
#include "experiments/runner/workloads/workload.h"
#include "kernels/currents/currents.h"
#include "kernels/derivative/derivative.h"
#include "kernels/interp/interp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int has_axis(const rb_descriptor *d, const char *name) {
  for (unsigned i = 0; i < d->axes_count; i++)
    if (strcmp(d->axes[i].name, name) == 0) return 1;
  return 0;
}

static const char *const plot_kinds[] = {"lines",  "roofline",     "stacked",  "scatter",
                                         "panels", "trajectories", "animation"};

/* `basis`, `scheme` and `sums`: in the families that read them, one of theirs. */
static rb_status validate_numerics(const rb_descriptor *d, const rb_method *m, const char *origin) {
  static const char *const bases[] = {"linear", "lagrange", "bspline", "bspline15"}, *const schemes[] = {"fd2", "fd8",
                                                                                                         "spectral"};
  rb_status st = RB_OK;
  rb_interp_basis basis;
  rb_prefilter prefilter;
  rb_scheme scheme;
  rb_currents_method sums;
  const char *near;
  if (m->basis && rb_interp_basis_parse(m->basis, &basis, &prefilter) != RB_OK) {
    rb_clear();
    near = rb_nearest(m->basis, bases, sizeof bases / sizeof *bases);
    CHECK_AT(0, "basis:", m->basis, "method '%s': unknown basis '%s'; %s%s", m->label, m->basis,
             near ? "nearest is " : "linear, lagrange, bspline, bspline15", near ? near : "");
  }
  if (m->scheme && rb_scheme_parse(m->scheme, &scheme) != RB_OK) {
    rb_clear();
    near = rb_nearest(m->scheme, schemes, sizeof schemes / sizeof *schemes);
    CHECK_AT(0, "scheme:", m->scheme, "method '%s': unknown scheme '%s'; %s%s", m->label, m->scheme,
             near ? "nearest is " : "fd2, fd8, spectral", near ? near : "");
  }
  CHECK_AT(m->basis || !reads_basis(m->kind), "label:", m->label,
           "method '%s' needs a basis: linear, lagrange, bspline, bspline15", m->label);
  CHECK_AT(m->scheme || !reads_scheme(m->kind), "label:", m->label, "method '%s' needs a scheme: fd2, fd8, spectral",
           m->label);
  CHECK_AT(!m->sums || rb_currents_method_parse(m->sums, &sums) == RB_OK, "sums:", m->sums,
           "method '%s': unknown sums '%s'; exact, plain, corrected, cubic", m->label, m->sums);
  CHECK_AT(m->sums || !reads_sums(m->kind), "label:", m->label,
           "method '%s' needs sums: exact, plain, corrected, cubic", m->label);
done:
  return st;
}

static rb_status validate_methods(const rb_descriptor *d, const char *origin) {
  rb_status st = RB_OK;
  for (unsigned i = 0; i < d->methods_count; i++) {
    const rb_method *m = &d->methods[i];
    const rb_workload *w;
    for (unsigned j = 0; j < i; j++)
      CHECK_AT(strcmp(m->label, d->methods[j].label) != 0, "label:", m->label, "two methods are labelled '%s'",
               m->label);
    if (rb_workload_find(m->kind, &w) != RB_OK) {
      rb_clear();
      CHECK_AT(0, "kind:", m->kind, "method '%s': unknown kind '%s'", m->label, m->kind);
    }
    RB_TRY(validate_numerics(d, m, origin));
    CHECK_AT(!m->published_as || has_label(d, m->published_as), "published_as:", m->published_as,
             "method '%s': no method '%s' to be published as", m->label, m->published_as);
  }
done:
  return st;
}

/* Some method reads the axis, or all rows are printed ones. */
static int is_read(const rb_descriptor *d, const char *axis) {
  int computed = 0;
  for (unsigned i = 0; i < d->methods_count; i++) {
    computed |= strcmp(d->methods[i].kind, "published") != 0;
    if (rb_workload_reads(d->methods[i].kind, axis)) return 1;
  }
  return !computed;
}
/* The axes that a kind reads, each after a blank. */
static const char *axes_of(const char *kind, char *out, size_t size) {
  const rb_workload *w = NULL;
  size_t used = 0;
  out[0] = '\0';
  if (rb_workload_find(kind, &w) != RB_OK) return out;
  for (const rb_workload_axis *a = w->axes; a->name && used < size; a++)
    used += (size_t)snprintf(out + used, size - used, " %s", a->name);
  return out;
}

static rb_status validate_axes(const rb_descriptor *d, const char *origin) {
  rb_status st = RB_OK;
  char names[256];
  for (unsigned i = 0; i < d->axes_count; i++) {
    const rb_axis *a = &d->axes[i];
    CHECK_AT(rb_axis_values(a, RB_PRESET_PAPER).count, "name:", a->name, "axis '%s' has no values", a->name);
    for (int p = 0; p < RB_PRESETS && strcmp(a->name, "size") == 0; p++) {
      const rb_strings v = rb_axis_values(a, (rb_preset)p);
      rb_grid grid;
      for (unsigned k = 0; k < v.count; k++) {
        const int good = rb_size_parse(v.values[k], &grid) == RB_OK;
        rb_clear();
        CHECK_AT(good, "size", v.values[k],
                 "axis size: '%s'; N or N1xN2xN3, 1 to 2^20 points an axis, at most 2^40 in all", v.values[k]);
      }
    }
    CHECK_AT(is_read(d, a->name), "name:", a->name, "axis '%s': no method reads it; kind %s reads%s", a->name,
             d->methods[0].kind, axes_of(d->methods[0].kind, names, sizeof names));
  }
done:
  return st;
}

/* "axis=value,axis=value" of axes that there are. */
static rb_status validate_where(const rb_descriptor *d, const rb_claim *c, const char *where, const char *origin) {
  rb_status st = RB_OK;
  for (const char *s = where; s && *s; s += strcspn(s, ","), s += *s == ',') {
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(s, "=,"), s);
    CHECK_AT(s[strcspn(s, "=,")] == '=' && has_axis(d, name), "id:", c->id,
             "claim '%s': where '%s': axis=value,... of this experiment's axes", c->id, where);
  }
done:
  return st;
}

static rb_status validate_columns(const rb_descriptor *d, const char *origin) {
  rb_status st = RB_OK;
  for (unsigned i = 0; i < d->columns_count; i++) {
    const rb_column *c = &d->columns[i];
    CHECK_AT(!c->relative_to || strcmp(c->relative_to, RB_FIRST_OF_KIND) == 0 || has_label(d, c->relative_to),
             "relative_to:", c->relative_to, "column '%s': no method '%s'", c->name, c->relative_to);
    CHECK_AT(!c->relative_to || c->class == RB_INFO || c->class == RB_HARDWARE, "name:", c->name,
             "column '%s' is relative to a method: its class is info or hardware", c->name);
  }
done:
  return st;
}

static rb_status validate_claims(const rb_descriptor *d, const char *origin) {
  rb_status st = RB_OK;
  for (unsigned i = 0; i < d->claims_count; i++) {
    const rb_claim *c = &d->claims[i];
    char *end;
    strtod(c->right, &end);
    CHECK_AT(has_label(d, c->left), "id:", c->id, "claim '%s': no method '%s'", c->id, c->left);
    CHECK_AT(*end == '\0' || has_label(d, c->right) || strcmp(c->right, "published") == 0, "id:", c->id,
             "claim '%s': no method '%s'", c->id, c->right);
    CHECK_AT(strcmp(c->right, "published") != 0 || has_metric(d, c->metric), "id:", c->id,
             "claim '%s': no column shows '%s', so none is published", c->id, c->metric);
    RB_TRY(validate_where(d, c, c->where, origin));
    RB_TRY(validate_where(d, c, c->at, origin));
    CHECK_AT(!c->axis || has_axis(d, c->axis), "id:", c->id, "claim '%s': no axis '%s'", c->id, c->axis);
    CHECK_AT(!c->spread || (has_axis(d, c->spread) && has_label(d, c->right) && !c->at), "id:", c->id,
             "claim '%s': spread '%s': an axis, with a method on the right and without 'at'", c->id, c->spread);
    CHECK_AT(strcmp(c->relation, "<=") == 0 || strcmp(c->relation, ">=") == 0, "id:", c->id,
             "claim '%s': relation '%s'; <= or >=", c->id, c->relation);
  }
done:
  return st;
}

static rb_status validate_plots(const rb_descriptor *d, const char *origin) {
  rb_status st = RB_OK;
  for (unsigned i = 0; i < d->plots_count; i++) {
    const rb_plot *p = &d->plots[i];
    int lines = strcmp(p->kind, "lines") == 0, known = 0;
    for (size_t k = 0; k < sizeof plot_kinds / sizeof *plot_kinds; k++) known |= strcmp(p->kind, plot_kinds[k]) == 0;
    CHECK_AT(known, "file:", p->file,
             "plot '%s': kind '%s'; lines, roofline, stacked, scatter, panels, trajectories or animation", p->file,
             p->kind);
    CHECK_AT(!p->where || lines || strcmp(p->kind, "stacked") == 0 || strcmp(p->kind, "scatter") == 0 ||
                 strcmp(p->kind, "panels") == 0,
             "file:", p->file, "plot '%s': a plot of kind %s takes no 'where'", p->file, p->kind);
    CHECK_AT(strcmp(p->kind, "stacked") != 0 || p->parts_count, "file:", p->file,
             "plot '%s' of stacked bars needs parts", p->file);
    CHECK_AT(strcmp(p->kind, "scatter") != 0 || (p->x && p->y), "file:", p->file, "plot '%s' of points needs x and y",
             p->file);
    CHECK_AT(!lines || (p->x && p->y), "file:", p->file, "plot '%s' of lines needs x and y", p->file);
    CHECK_AT(!lines || has_axis(d, p->x) || has_metric(d, p->x), "file:", p->file,
             "plot '%s': no axis or column's metric '%s'", p->file, p->x);
    CHECK_AT(!p->relative_to || has_label(d, p->relative_to), "file:", p->file, "plot '%s': no method '%s'", p->file,
             p->relative_to);
    CHECK_AT(!p->panel || has_axis(d, p->panel), "file:", p->file, "plot '%s': no axis '%s'", p->file, p->panel);
  }
done:
  return st;
}

/* A name that becomes part of a path: what a record brings along must not leave the folder that it is written to. */
static int is_file_name(const char *s) {
  const size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.");
  return s[n] == '\0' && n > 0 && n <= 100 && s[0] != '.';
}
static rb_status validate_names(const rb_descriptor *d, const char *origin) {
  rb_status st = RB_OK;
  CHECK_AT(is_file_name(d->paper), "paper:", d->paper, "paper '%s' names a folder: letters, digits, '_', '-' and '.'",
           d->paper);
  CHECK_AT(is_file_name(d->name), "name:", d->name, "name '%s' names a folder: letters, digits, '_', '-' and '.'",
           d->name);
  CHECK_AT(!d->published || (!strstr(d->published, "..") && d->published[0] != '/'), "published:", d->published,
           "published '%s' lies beside the descriptor", d->published);
  for (unsigned i = 0; i < d->plots_count; i++)
    CHECK_AT(is_file_name(d->plots[i].file), "file:", d->plots[i].file,
             "plot '%s' names files: letters, digits, '_', '-' and '.'", d->plots[i].file);
done:
  return st;
}

rb_status rb_descriptor_validate(const rb_descriptor *d, const char *origin) {
  rb_status st = RB_OK;
  CHECK_AT(d->schema == 1, "schema:", "", "schema %d; this program reads schema 1", d->schema);
  CHECK_AT(strcmp(d->cache, "warm") == 0 || strcmp(d->cache, "cold") == 0, "cache:", "",
           "cache is '%s'; warm or cold", d->cache);
  RB_TRY(validate_names(d, origin));
  RB_TRY(validate_methods(d, origin));
  RB_TRY(validate_axes(d, origin));
  RB_TRY(validate_columns(d, origin));
  RB_TRY(validate_claims(d, origin));
  RB_TRY(validate_plots(d, origin));
done:
  return st;
}
