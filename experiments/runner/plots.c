/* Plots from records: a data file and a gnuplot script beside the picture, drawn as SVG and PNG. */
#include "experiments/runner/plots.h"
#include "experiments/runner/record.h"
#include "experiments/runner/report.h"

#include "datasets/manifest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Published points belong to the methods that the paper lists, not to rows that borrow their values. */
static double published_at(const rb_judged *j, const rb_plot *p, const json_t *c) {
  for (unsigned m = 0; m < j->descriptor->methods_count; m++)
    if (j->descriptor->methods[m].published_as && strcmp(j->descriptor->methods[m].label, rb_json_text(c, "method", "")) == 0) return NAN;
  const char *printed = p->published ? rb_published_value(j, c, p->published, NULL) : NULL;
  return printed ? strtod(printed, NULL) : NAN;
}

/* Where a case stands on the x axis: the value of an axis of the experiment, or of a metric. */
static double x_of(const rb_plot *p, const json_t *c) {
  const char *axis = rb_json_text(json_object_get(c, "axes"), p->x, NULL);
  return axis ? strtod(axis, NULL) : rb_json_metric(c, p->x);
}

/* The metric y of method `relative_to` at the same point of all axes. */
static double reference_of(const rb_judged *j, const rb_plot *p, const json_t *of) {
  size_t i;
  json_t *c;
  json_array_foreach(json_object_get(j->record, "cases"), i, c)
    if (strcmp(rb_json_text(c, "method", ""), p->relative_to) == 0 && strcmp(rb_json_text(c, "status", ""), "valid") == 0 &&
        json_equal(json_object_get(c, "axes"), json_object_get(of, "axes"))) return rb_json_metric(c, p->y);
  return NAN;
}

static int plotted(const rb_plot *p, const char *method) {
  for (unsigned i = 0; i < p->methods_count; i++)
    if (strcmp(p->methods[i], method) == 0) return 1;
  return p->methods_count == 0;
}

/* The y values of all panels. */
typedef struct {
  double least, most;
} extent;
static void extend(extent *e, double y) {
  if (y == y) e->least = fmin(e->least, y), e->most = fmax(e->most, y);
}

/* One block a method and panel: x, ours, published. */
static int write_series(const rb_judged *j, const rb_plot *p, const char *method, const char *panel, FILE *f, int *has_published, extent *e) {
  const json_t *cases = json_object_get(j->record, "cases");
  size_t i;
  json_t *c;
  int points = 0;
  json_array_foreach(cases, i, c) {
    const json_t *axes = json_object_get(c, "axes");
    if (strcmp(rb_json_text(c, "method", ""), method) != 0 || strcmp(rb_json_text(c, "status", ""), "valid") != 0) continue;
    if (panel && strcmp(rb_json_text(axes, p->panel, ""), panel) != 0) continue;
    double y = rb_json_metric(c, p->y), theirs = published_at(j, p, c);
    if (p->relative_to) y = reference_of(j, p, c) / y, theirs = NAN;
    if (y != y) continue;
    fprintf(f, "%.9g %.9g ", x_of(p, c), y);
    extend(e, y), extend(e, theirs);
    if (theirs == theirs) {
      fprintf(f, "%.9g\n", theirs);
      *has_published = 1;
    } else {
      fprintf(f, "nan\n");
    }
    points++;
  }
  if (points) fprintf(f, "\n\n");
  return points;
}

static void quoted(FILE *f, const char *s) {
  fputc('"', f);
  for (; *s; s++) {
    if (*s == '\n') {
      fputs("\\n", f);
      continue;
    }
    if (*s == '"' || *s == '\\') fputc('\\', f);
    fputc(*s, f);
  }
  fputc('"', f);
}

int rb_plot_panels(const rb_judged *j, const rb_plot *p, const char *metric, const char *panel[32]) {
  const json_t *cases = json_object_get(j->record, "cases");
  size_t i;
  json_t *c;
  int n = 0;
  if (!p->panel) {
    panel[0] = NULL;
    return 1;
  }
  json_array_foreach(cases, i, c) {
    const char *v = rb_json_text(json_object_get(c, "axes"), p->panel, "");
    int known = 0;
    for (int k = 0; k < n; k++) known |= strcmp(panel[k], v) == 0;
    if (!known && n < 32 && rb_json_metric(c, metric) == rb_json_metric(c, metric)) panel[n++] = v;
  }
  return n;
}

/* What one method shows in one panel. */
typedef struct {
  int block; /* of the data file; -1: nothing */
  int published;
} curve;

/* Write the data of all panels; the number of series. */
static int write_panels(const rb_judged *j, const rb_plot *p, int panels, const char *const *panel, curve *all, extent *e, FILE *data) {
  const rb_descriptor *d = j->descriptor;
  int blocks = 0;
  for (int q = 0; q < panels; q++)
    for (unsigned m = 0; m < d->methods_count; m++) {
      curve *s = &all[(unsigned)q * d->methods_count + m];
      *s = (curve){.block = -1};
      if (plotted(p, d->methods[m].label) && write_series(j, p, d->methods[m].label, panel[q], data, &s->published, e)) s->block = blocks++;
    }
  return blocks;
}

/* One key for all panels, at the right: an entry for every method that any of them shows. */
static void common_key(const rb_descriptor *d, int panels, const curve *all, const char **separator, FILE *script) {
  for (unsigned m = 0; m < d->methods_count; m++) {
    int shown = 0, published = 0;
    for (int q = 0; q < panels; q++) {
      const curve *s = &all[(unsigned)q * d->methods_count + m];
      shown |= s->block >= 0, published |= s->published;
    }
    if (!shown) continue;
    fprintf(script, "%s keyentry with linespoints ls %u title ", *separator, m % 12 + 1);
    quoted(script, d->methods[m].label);
    *separator = ", \\\n    ";
    if (published) fprintf(script, "%s keyentry with points pt 6 ps 1.6 lw 2 lc rgb COLOR%u title \"%s, published\"", *separator, m % 12 + 1, d->methods[m].label);
  }
}

static void plot_panel(const rb_descriptor *d, const curve *panel, int panels, const char *data_path, const char **separator, FILE *script) {
  for (unsigned m = 0; m < d->methods_count; m++) {
    if (panel[m].block < 0) continue;
    fprintf(script, "%s '%s' index %d using 1:2 with linespoints ls %u ", *separator, data_path, panel[m].block, m % 12 + 1);
    *separator = ", \\\n    ";
    if (panels > 1) fprintf(script, "notitle");
    else fprintf(script, "title "), quoted(script, d->methods[m].label);
    if (!panel[m].published) continue;
    fprintf(script, "%s '%s' index %d using 1:3 with points pt 6 ps 1.6 lw 2 lc rgb COLOR%u ", *separator, data_path, panel[m].block, m % 12 + 1);
    if (panels > 1) fprintf(script, "notitle");
    else fprintf(script, "title \"%s, published\"", d->methods[m].label);
  }
  fprintf(script, "\n");
}

static int lines_script(const rb_judged *j, const rb_plot *p, const char *data_path, FILE *data, FILE *script) {
  const rb_descriptor *d = j->descriptor;
  const char *panel[32];
  const int panels = rb_plot_panels(j, p, p->y, panel);
  extent e = {INFINITY, -INFINITY};
  curve *all = calloc((size_t)panels * d->methods_count + 1, sizeof *all);
  const int drawn = all ? write_panels(j, p, panels, panel, all, &e, data) : 0;
  if (!drawn) goto done;
  if (panels > 1) fprintf(script, "set multiplot layout 1,%d margins screen 0.06,0.83,0.13,0.86 spacing screen 0.035 title TITLE font ',13'\n", panels);
  else fprintf(script, "set title TITLE font ',13'\n");
  fprintf(script, "set xlabel ");
  quoted(script, p->x_label ? p->x_label : p->x);
  fprintf(script, "\nset ylabel ");
  quoted(script, p->y_label ? p->y_label : p->y);
  fprintf(script, "\nset format y '10^{%%L}'\n%s%s", p->log_x ? "set logscale x 2\n" : "", p->log_y ? "set logscale y 10\n" : "unset format y\n");
  if (panels == 1) fprintf(script, "set key outside right font ',10'\n");
  else fprintf(script, "set key at screen 0.995, screen 0.88 right top samplen 2 font ',9' noenhanced\n");
  if (panels > 1 && p->log_y && e.least > 0) fprintf(script, "set yrange [%g:%g]\n", pow(10, floor(log10(e.least))), pow(10, ceil(log10(e.most))));
  else if (panels > 1) fprintf(script, "set yrange [%g:%g]\n", fmin(0, e.least), 1.05 * e.most);
  for (int q = 0; q < panels; q++) {
    const char *separator = "plot";
    if (panel[q]) fprintf(script, "set title '%s = %s'\n", p->panel, panel[q]);
    if (panels > 1 && q == 0) common_key(d, panels, all, &separator, script);
    if (q == 1) fprintf(script, "unset key\nunset ylabel\n");
    plot_panel(d, all + (size_t)q * d->methods_count, panels, data_path, &separator, script);
  }
  if (panels > 1) fprintf(script, "unset multiplot\n");
done:
  free(all);
  return drawn;
}

static double roof_of(const json_t *record, const char *name) {
  const json_t *v = json_object_get(json_object_get(record, "roofs"), name);
  return json_is_number(v) ? json_number_value(v) : NAN;
}

/* Intensity against FLOP rate under the measured roofs; filled: the family's model, open: by counters. */
static int roofline_script(const rb_judged *j, const char *data_path, FILE *data, FILE *script) {
  const json_t *cases = json_object_get(j->record, "cases");
  const char *backend = roof_of(j->record, "cuda/copy") == roof_of(j->record, "cuda/copy") ? "cuda" : "cpu";
  char copy[32], fma[32];
  snprintf(copy, sizeof copy, "%s/copy", backend);
  snprintf(fma, sizeof fma, "%s/fma", backend);
  double bandwidth = roof_of(j->record, copy), peak = roof_of(j->record, fma);
  size_t i;
  json_t *c;
  int block = 0;
  if (!(bandwidth > 0) || !(peak > 0)) return 0;
  fprintf(script, "set title TITLE font ',13'\nset logscale xy\nset xrange [0.1:200]\nset yrange [1e-3*%g:2*%g]\n", peak, peak);
  fprintf(script, "set xlabel 'intensity in FLOP/B'\nset ylabel 'FLOP/s'\nset format y '10^{%%L}'\nset key outside right font ',10'\n");
  fprintf(script, "plot (x*%g < %g ? x*%g : %g) with lines lw 2 lc rgb '#333333' title 'copy %.3g TB/s, FMA %.3g TFLOP/s'", bandwidth, peak, bandwidth,
          peak, 1e-12 * bandwidth, 1e-12 * peak);
  json_array_foreach(cases, i, c) {
    double x = rb_json_metric(c, "model_intensity"), y = rb_json_metric(c, "flop_rate"), k = rb_json_metric(c, "counter_intensity");
    double counted = 1e9 * rb_json_metric(c, "counter_gflop") / rb_json_metric(c, "time");
    if (strcmp(rb_json_text(c, "backend", ""), backend) != 0 || x != x || y != y) continue;
    fprintf(data, "%.9g %.9g\n", x, y);
    if (k == k) fprintf(data, "\n%.9g %.9g\n", k, counted);
    fprintf(data, "\n\n");
    fprintf(script, ", \\\n     '%s' index %d every :::0::0 using 1:2 with points ls %d ps 1.8 title ", data_path, block, block % 12 + 1);
    quoted(script, rb_json_text(c, "method", ""));
    if (k == k)
      fprintf(script, ", \\\n     '%s' index %d every :::1::1 using 1:2 with points pt 6 ps 1.8 lw 2 lc rgb COLOR%d notitle", data_path, block, block % 12 + 1);
    block++;
  }
  fprintf(script, "\n");
  return block;
}

static rb_status gnuplot(const char *script) {
  pid_t child = fork();
  int code = 0;
  if (child < 0) return RB_FAIL(RB_EIO, "cannot start gnuplot");
  if (child == 0) {
    execlp("gnuplot", "gnuplot", script, (char *)NULL);
    _exit(127);
  }
  waitpid(child, &code, 0);
  if (WIFEXITED(code) && WEXITSTATUS(code) == 127) return RB_FAIL(RB_EUNSUPPORTED, "gnuplot is not installed: apt-get install gnuplot-nox");
  return WIFEXITED(code) && WEXITSTATUS(code) == 0 ? RB_OK : RB_FAIL(RB_EIO, "gnuplot failed on %s", script);
}

static rb_status draw(const rb_judged *j, const rb_plot *p, const char *folder, int *drawn) {
  rb_status st = RB_OK;
  const char *home, *machine = rb_json_text(json_object_get(j->record, "machine"), "name", "");
  char data_path[4300], script_path[4300], style[4300];
  FILE *data = NULL, *script = NULL, *body = NULL;
  char *text = NULL;
  size_t length = 0;
  RB_TRY(rb_home(&home));
  snprintf(style, sizeof style, "%s/scripts/gnuplot/style.gp", home);
  snprintf(data_path, sizeof data_path, "%s/%s.dat", folder, p->file);
  snprintf(script_path, sizeof script_path, "%s/%s.gp", folder, p->file);
  data = fopen(data_path, "w");
  script = fopen(script_path, "w");
  body = open_memstream(&text, &length);
  RB_CHECK(data && script && body, RB_EIO, "cannot write plots into %s", folder);
  char name[128];
  snprintf(name, sizeof name, "%s.dat", p->file);
  int series = strcmp(p->kind, "roofline") == 0  ? roofline_script(j, name, data, body)
               : strcmp(p->kind, "stacked") == 0 ? rb_plot_stacked(j, p, name, data, body)
               : strcmp(p->kind, "scatter") == 0 ? rb_plot_scatter(j, p, name, data, body)
               : strcmp(p->kind, "panels") == 0  ? rb_plot_panels_picture(j, name, data, body)
               : strcmp(p->kind, "trajectories") == 0 ? rb_plot_trajectories(j, name, data, body)
               : strcmp(p->kind, "animation") == 0    ? rb_plot_animation(j, name, data, body)
                                                 : lines_script(j, p, name, data, body);
  fclose(body);
  body = NULL;
  int panels = p->panel && strcmp(p->kind, "scatter") != 0 ? 3 : strcmp(p->kind, "panels") == 0 || strcmp(p->kind, "trajectories") == 0 ? 3 : 1;
  fprintf(script, "# drawn by 'regbench report --plots' from the record beside it\nTITLE = ");
  char title[512];
  snprintf(title, sizeof title, "%s%s%s", p->title, panels > 1 ? ": " : "\n", machine);
  quoted(script, title);
  fprintf(script, "\ncd '%s'\nload '%s'\n", folder, style);
  int moving = strcmp(p->kind, "animation") == 0, many = moving || strcmp(p->kind, "trajectories") == 0;
  if (moving) fprintf(script, "set terminal gif animate delay 8 loop 0 optimize size 420,420 font 'sans,9'\nset output '%s.gif'\n%s", p->file, text);
  for (int k = many ? 1 : 0; k < 2 && !moving; k++) /* thousands of points make a heavy SVG */
    fprintf(script, "%s size %d,%d\nset output '%s.%s'\n%s", k ? "set terminal pngcairo enhanced font 'sans,11'" : "set terminal svg enhanced font 'sans,11'",
            panels > 1 ? 1500 : 960, 560, p->file, k ? "png" : "svg", text);
  fclose(data), data = NULL;
  fclose(script), script = NULL;
  if (series) {
    RB_TRY(gnuplot(script_path));
    ++*drawn;
  } else {
    unlink(data_path);
  }
  unlink(script_path); /* it holds this machine's paths; the data and the style stay */
done:
  if (data) fclose(data);
  if (script) fclose(script);
  if (body) fclose(body);
  free(text);
  return st;
}

rb_status rb_plots_draw(const rb_judged *j, const char *folder, int *drawn) {
  rb_status st = RB_OK;
  char absolute[4096];
  RB_CHECK(realpath(folder, absolute), RB_ENOTFOUND, "no folder %s", folder);
  for (unsigned i = 0; i < j->descriptor->plots_count; i++) RB_TRY(draw(j, &j->descriptor->plots[i], absolute, drawn));
done:
  return st;
}
