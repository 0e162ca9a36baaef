/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines over an axis or a metric, ours and published, in one panel or in several beside each other. */
#include "experiments/runner/report/plots.h"
#include "experiments/runner/record/record.h"
#include "experiments/runner/report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Published points belong to the methods that the paper lists, not to rows that borrow their values: numeric ones are
 * borrowed, times never. */
static double published_at(const rb_judged *j, const rb_plot *p, const json_t *c) {
  const rb_descriptor *d = j->descriptor;
  int borrowed = 0;
  for (unsigned k = 0; k < d->columns_count && p->published; k++)
    if (strcmp(d->columns[k].name, p->published) == 0) borrowed = d->columns[k].class == RB_NUMERIC;
  for (unsigned m = 0; borrowed && m < d->methods_count; m++)
    if (d->methods[m].published_as && strcmp(d->methods[m].label, rb_json_text(c, "method", "")) == 0) return NAN;
  const char *printed = p->published ? rb_published_value(j, c, p->published, NULL) : NULL;
  char bound = '\0';
  const double value = printed ? rb_printed_number(printed, &bound) : NAN;
  return bound ? NAN : value; /* ">2200" is no point of a curve */
}

/* Where a case stands on the x axis: the value of an axis of the experiment, or of a metric. */
static double x_of(const rb_plot *p, const json_t *c) {
  const char *axis = rb_json_text(json_object_get(c, "axes"), p->x, NULL);
  return axis ? strtod(axis, NULL) : rb_json_metric(c, p->x);
}

/* The same for a case that was not run, as those of values printed only: where a measured one at its axes stands. */
static double x_beside(const rb_judged *j, const rb_plot *p, const json_t *of) {
  double x = x_of(p, of);
  size_t i;
  json_t *c;
  json_array_foreach(json_object_get(j->record, "cases"), i, c) {
    if (x == x) break;
    if (json_equal(json_object_get(c, "axes"), json_object_get(of, "axes"))) x = x_of(p, c);
  }
  return x;
}

/* The metric y of method `relative_to` at the same point of all axes. */
static double reference_of(const rb_judged *j, const rb_plot *p, const json_t *of) {
  size_t i;
  json_t *c;
  json_array_foreach(
      json_object_get(j->record, "cases"), i,
      c) if (strcmp(rb_json_text(c, "method", ""), p->relative_to) == 0 &&
             strcmp(rb_json_text(c, "status", ""), "valid") == 0 &&
             json_equal(json_object_get(c, "axes"), json_object_get(of, "axes"))) return rb_json_metric(c, p->y);
  return NAN;
}

/* The y values of all panels. */
typedef struct {
  double least, most;
} extent;
static void extend(extent *e, double y) {
  if (y == y) e->least = fmin(e->least, y), e->most = fmax(e->most, y);
}

/* What one method shows in one panel. */
typedef struct {
  int block;       /* of the data file; -1: nothing */
  unsigned colour; /* the method's */
  int measured, published;
} curve;

/* One block a method and panel: x, ours, published. */
static int write_series(const rb_judged *j, const rb_plot *p, const char *method, const char *panel, FILE *f,
                        curve *s, extent *e) {
  const json_t *cases = json_object_get(j->record, "cases");
  size_t i;
  json_t *c;
  int points = 0;
  json_array_foreach(cases, i, c) {
    const json_t *axes = json_object_get(c, "axes");
    const int printed_only = strcmp(rb_json_text(c, "kind", ""), "published") == 0;
    if (strcmp(rb_json_text(c, "method", ""), method) != 0 ||
        (strcmp(rb_json_text(c, "status", ""), "valid") != 0 && !printed_only))
      continue;
    if (panel && strcmp(rb_json_text(axes, p->panel, ""), panel) != 0) continue;
    if (!rb_case_meets(c, p->where)) continue;
    double y = rb_json_metric(c, p->y), theirs = published_at(j, p, c);
    if (p->relative_to) y = reference_of(j, p, c) / y, theirs = NAN;
    const double x = x_beside(j, p, c);
    if ((y != y && !(printed_only && theirs == theirs)) || x != x) continue;
    fprintf(f, "%.9g %.9g %.9g\n", x, y, theirs);
    extend(e, y), extend(e, theirs);
    s->measured |= y == y, s->published |= theirs == theirs;
    points++;
  }
  if (points) fprintf(f, "\n\n");
  return points;
}

/* Write the data of all panels; the number of series. */
static int write_panels(const rb_judged *j, const rb_plot *p, int panels, const char *const *panel,
                        const unsigned *colour, curve *all, extent *e, FILE *data) {
  const rb_descriptor *d = j->descriptor;
  int blocks = 0;
  for (int q = 0; q < panels; q++)
    for (unsigned m = 0; m < d->methods_count; m++) {
      curve *s = &all[(unsigned)q * d->methods_count + m];
      *s = (curve){.block = -1, .colour = colour[m]};
      if (rb_plot_names(p, d->methods[m].label) && write_series(j, p, d->methods[m].label, panel[q], data, s, e))
        s->block = blocks++;
    }
  return blocks;
}

/* One key for all panels, at the right: an entry for every method that any of them shows. */
static void common_key(const rb_descriptor *d, int panels, const curve *all, const char **separator, FILE *script) {
  for (unsigned m = 0; m < d->methods_count; m++) {
    int measured = 0, published = 0;
    for (int q = 0; q < panels; q++) {
      const curve *s = &all[(unsigned)q * d->methods_count + m];
      measured |= s->measured, published |= s->published;
    }
    if (measured) {
      fprintf(script, "%s keyentry with linespoints ls %u title ", *separator, all[m].colour);
      rb_plot_quoted(script, d->methods[m].label);
      *separator = ", \\\n    ";
    }
    if (!published) continue;
    fprintf(script, "%s keyentry with points pt 6 ps 1.6 lw 2 lc rgb COLOR%u title ", *separator, all[m].colour);
    rb_plot_with(script, "", d->methods[m].label, ".', published'");
    *separator = ", \\\n    ";
  }
}

static void plot_panel(const rb_descriptor *d, const curve *panel, int panels, const char *data_path,
                       const char **separator, FILE *script) {
  for (unsigned m = 0; m < d->methods_count; m++) {
    if (panel[m].block < 0) continue;
    if (panel[m].measured) {
      fprintf(script, "%s '%s' index %d using 1:2 with linespoints ls %u ", *separator, data_path, panel[m].block,
              panel[m].colour);
      *separator = ", \\\n    ";
      if (panels > 1)
        fprintf(script, "notitle");
      else
        rb_plot_with(script, "title ", d->methods[m].label, "");
    }
    if (!panel[m].published) continue;
    fprintf(script, "%s '%s' index %d using 1:3 with points pt 6 ps 1.6 lw 2 lc rgb COLOR%u ", *separator, data_path,
            panel[m].block, panel[m].colour);
    if (panels > 1)
      fprintf(script, "notitle");
    else
      rb_plot_with(script, "title ", d->methods[m].label, ".', published'");
    *separator = ", \\\n    ";
  }
}

/* y ~ x^slope through the last method's point of greatest x: where a curve runs along it, that power bounds it. */
static void asymptote(const rb_judged *j, const rb_plot *p, FILE *script) {
  double x = -INFINITY, y = NAN;
  const char *last = NULL;
  size_t i;
  json_t *c;
  for (unsigned m = 0; m < j->descriptor->methods_count; m++)
    if (rb_plot_names(p, j->descriptor->methods[m].label)) last = j->descriptor->methods[m].label;
  json_array_foreach(json_object_get(j->record, "cases"), i,
                     c) if (last && strcmp(rb_json_text(c, "method", ""), last) == 0 && rb_case_meets(c, p->where) &&
                            x_of(p, c) > x && rb_json_metric(c, p->y) == rb_json_metric(c, p->y))
      x = x_of(p, c),
      y = rb_json_metric(c, p->y);
  if (y == y)
    fprintf(script, ", \\\n    %.9g * (x / %.9g)**%u with lines dt 3 lc rgb '#888888' title 'slope %u'", y, x,
            *p->slope, *p->slope);
}

/* One range of y: whole decades, or from 0 (or below) to a little above the greatest. */
static void common_range(int logarithmic, extent e, FILE *script) {
  if (logarithmic && e.least > 0) {
    const double low = floor(log10(e.least)), high = fmax(ceil(log10(e.most)), low + 1);
    fprintf(script, "set yrange [%g:%g]\n", pow(10, low), pow(10, high));
  } else if (e.most > fmin(0, e.least)) {
    fprintf(script, "set yrange [%g:%g]\n", fmin(0, e.least), e.most + 0.05 * fabs(e.most));
  }
}

int rb_plot_lines(const rb_judged *j, const rb_plot *p, const char *data_path, FILE *data, FILE *script) {
  const rb_descriptor *d = j->descriptor;
  const char *panel[32];
  const int panels = rb_plot_panels(j, p, p->y, panel);
  extent e = {INFINITY, -INFINITY};
  curve *all = calloc((size_t)panels * d->methods_count + 1, sizeof *all);
  unsigned *colour = rb_plot_colours(d);
  const int drawn = !colour ? -1 : all ? write_panels(j, p, panels, panel, colour, all, &e, data) : 0;
  if (drawn < 1) goto done;
  if (panels > 1)
    fprintf(
        script,
        "set multiplot layout 1,%d margins screen 0.06,0.83,0.13,0.86 spacing screen 0.035 title TITLE font ',13'\n",
        panels);
  else
    fprintf(script, "set title TITLE font ',13'\n");
  rb_plot_with(script, "set xlabel ", p->x_label ? p->x_label : p->x, "\n");
  rb_plot_with(script, "set ylabel ", p->y_label ? p->y_label : p->y, "\n");
  fprintf(script, "set format y '10^{%%L}'\n%s%s", p->log_x ? "set logscale x 2\n" : "",
          p->log_y ? "set logscale y 10\n" : "unset format y\n");
  if (strcmp(p->y, "bandwidth") == 0 || (p->y_label && strcmp(p->y_label, "B/s") == 0))
    fputs("set format y '%.0s %cB/s'\nunset ylabel\n", script);
  if (panels == 1)
    fprintf(script, "set key outside right font ',10'\n");
  else
    fprintf(script, "set key at screen 0.995, screen 0.88 right top samplen 2 font ',9' noenhanced\n");
  if (panels > 1 || p->slope) common_range(p->log_y, e, script);
  for (int q = 0; q < panels; q++) {
    const char *separator = "plot";
    if (panel[q]) rb_plot_with(script, "set title ", p->panel, ".' = '."), rb_plot_with(script, "", panel[q], "\n");
    if (panels > 1 && q == 0) common_key(d, panels, all, &separator, script);
    if (q == 1) fprintf(script, "unset key\nunset ylabel\n");
    plot_panel(d, all + (size_t)q * d->methods_count, panels, data_path, &separator, script);
    if (p->slope && panels == 1) asymptote(j, p, script);
    fprintf(script, "\n");
  }
  if (panels > 1) fprintf(script, "unset multiplot\n");
done:
  free(colour), free(all);
  return drawn;
}
