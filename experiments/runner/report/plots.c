/* SPDX-License-Identifier: BSD-3-Clause */
/* Plots from records: a data file and a gnuplot script beside the picture, drawn as SVG and PNG. */
#include "experiments/runner/report/plots.h"
#include "experiments/runner/workloads/measure.h"
#include "experiments/runner/record/record.h"
#include "experiments/runner/report/report.h"

#include "datasets/manifest.h"
#include "experiments/runner/base/interrupt.h"
#include "kernels/base/process.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void rb_plot_quoted(FILE *f, const char *s) {
  fputc('\'', f);
  for (; *s; s++) {
    if (*s == '\n')
      fputs("'.\"\\n\".'", f);
    else if (*s == '\'')
      fputs("''", f);
    else
      fputc(*s, f);
  }
  fputc('\'', f);
}
/* What gnuplot's enhanced text would take for markup ("@ 2.50GHz"), escaped. Titles of plots want theirs (256^3). */
static void without_markup(const char *s, char *out, size_t size) {
  size_t n = 0;
  for (; *s && n + 2 < size; s++) {
    if (strchr("@&~_^{}", *s)) out[n++] = '\\';
    out[n++] = *s;
  }
  out[n] = '\0';
}

void rb_plot_with(FILE *f, const char *before, const char *text, const char *after) {
  fputs(before, f);
  rb_plot_quoted(f, text);
  fputs(after, f);
}

int rb_plot_names(const rb_plot *p, const char *method) {
  for (unsigned i = 0; i < p->methods_count; i++)
    if (strcmp(p->methods[i], method) == 0) return 1;
  return p->methods_count == 0;
}
int rb_plot_shows(const rb_plot *p, const json_t *c) {
  return rb_plot_names(p, rb_json_text(c, "method", "")) && rb_case_meets(c, p->where);
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
    if (!known && n < 32 && rb_plot_shows(p, c) && rb_json_metric(c, metric) == rb_json_metric(c, metric))
      panel[n++] = v;
  }
  return n;
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
  const rb_descriptor *d = j->descriptor;
  size_t i;
  json_t *c;
  int block = 0;
  if (!(bandwidth > 0) || !(peak > 0)) return 0;
  unsigned *colour = rb_plot_colours(d);
  if (!colour) return -1;
  fprintf(script, "set title TITLE font ',13'\nset logscale xy\nset xrange [0.1:200]\nset yrange [1e-3*%g:2*%g]\n",
          peak, peak);
  fprintf(script,
          "set xlabel 'intensity in FLOP/B'\nset ylabel 'FLOP/s'\nset format y '10^{%%L}'\nset key outside right "
          "font ',10'\n");
  fprintf(script,
          "plot (x*%g < %g ? x*%g : %g) with lines lw 2 lc rgb '#333333' title 'copy %.3g TB/s, FMA %.3g TFLOP/s'",
          bandwidth, peak, bandwidth, peak, 1e-12 * bandwidth, 1e-12 * peak);
  json_array_foreach(cases, i, c) {
    double x = rb_json_metric(c, "model_intensity"), y = rb_json_metric(c, "flop_rate"),
           k = rb_json_metric(c, "counter_intensity");
    double counted = 1e9 * rb_json_metric(c, "counter_gflop") / rb_json_metric(c, "time");
    if (strcmp(rb_json_text(c, "backend", ""), backend) != 0 || x != x || y != y) continue;
    const char *method = rb_json_text(c, "method", "");
    unsigned m = 0;
    while (m < d->methods_count && strcmp(d->methods[m].label, method) != 0) m++;
    const unsigned its = m < d->methods_count ? colour[m] : RB_PLOT_COLOURS;
    fprintf(data, "%.9g %.9g\n", x, y);
    if (k == k) fprintf(data, "\n%.9g %.9g\n", k, counted);
    fprintf(data, "\n\n");
    fprintf(script, ", \\\n     '%s' index %d every :::0::0 using 1:2 with points ls %u ps 1.8 title ", data_path,
            block, its);
    rb_plot_quoted(script, method);
    if (k == k)
      fprintf(script,
              ", \\\n     '%s' index %d every :::1::1 using 1:2 with points pt 6 ps 1.8 lw 2 lc rgb COLOR%u notitle",
              data_path, block, its);
    block++;
  }
  free(colour);
  fprintf(script, "\n");
  return block;
}

rb_status rb_gnuplot(const char *script) {
  enum { PATIENCE = 120 }; /* seconds; the largest film takes 10 */
  rb_status st = RB_OK;
  char *const arguments[] = {"gnuplot", (char *)(uintptr_t)script, NULL};
  int code = 0;
  RB_TRY(rb_process_run(&(rb_process){.seconds = PATIENCE, .interrupted = &rb_interrupted}, arguments, &code));
  RB_CHECK(code != RB_PROCESS_ABSENT, RB_EUNSUPPORTED, "gnuplot is not installed: apt-get install gnuplot-nox");
  RB_CHECK(code == 0, RB_EIO, "gnuplot could not draw %.*s; its complaint stands above", (int)strlen(script) - 3,
           script);
done:
  return st;
}

rb_status rb_plot_draw(const char *folder, const char *stem, const char *title, const char *commands) {
  rb_status st = RB_OK;
  const char *home;
  char script[PATH_MAX] = "", style[PATH_MAX], absolute[PATH_MAX];
  FILE *f = NULL;
  RB_TRY(rb_project_root(&home));
  RB_CHECK(realpath(folder, absolute), RB_ENOTFOUND, "no folder %s", folder);
  RB_TRY(rb_path(style, sizeof style, "%s/scripts/gnuplot/style.gp", home));
  RB_TRY(rb_path(script, sizeof script, "%s/%s.gp", absolute, stem));
  f = fopen(script, "w");
  RB_CHECK(f, RB_EIO, "cannot write plots into %s", folder);
  rb_plot_with(f, "cd ", absolute, "\n"), rb_plot_with(f, "load ", style, "\n"),
      rb_plot_with(f, "set title ", title, "\n");
  for (int k = 0; k < 2; k++)
    fprintf(f, "set terminal %s font 'sans,11' size 960,560\nset output '%s.%s'\n%s", k ? "pngcairo" : "svg", stem,
            k ? "png" : "svg", commands);
  fclose(f), f = NULL;
  st = rb_gnuplot(script);
done:
  if (f) fclose(f);
  if (*script) unlink(script); /* it holds this machine's paths */
  return st;
}

/* The plot's data and the commands that draw them; how many series, -1 on failure. */
static int write_series(const rb_judged *j, const rb_plot *p, const char *name, FILE *data, FILE *body) {
  return strcmp(p->kind, "roofline") == 0       ? roofline_script(j, name, data, body)
         : strcmp(p->kind, "stacked") == 0      ? rb_plot_stacked(j, p, name, data, body)
         : strcmp(p->kind, "scatter") == 0      ? rb_plot_scatter(j, p, name, data, body)
         : strcmp(p->kind, "panels") == 0       ? rb_plot_panels_picture(j, p, name, data, body)
         : strcmp(p->kind, "trajectories") == 0 ? rb_plot_trajectories(j, name, data, body)
         : strcmp(p->kind, "animation") == 0    ? rb_plot_animation(j, name, data, body)
                                                : rb_plot_lines(j, p, name, data, body);
}

/* The whole script: title, style, and the commands once an output: a GIF of an animation, else SVG and PNG. */
static void write_script(const rb_judged *j, const rb_plot *p, const char *folder, const char *style,
                         const char *stem, const char *commands, int pdf, FILE *script) {
  const char *machine = rb_json_text(json_object_get(j->record, "machine"), "name", "");
  const int moving = strcmp(p->kind, "animation") == 0, many = strcmp(p->kind, "trajectories") == 0,
            pictures = strcmp(p->kind, "panels") == 0,
            wide = (p->panel && strcmp(p->kind, "scatter") != 0) || pictures || many;
  char title[512], plain[256];
  fprintf(script, "# drawn by 'regbench report --plots' from the record beside it\nTITLE = ");
  if (pictures)
    snprintf(plain, sizeof plain, "%.250s", machine); /* its title is set without markup */
  else
    without_markup(machine, plain, sizeof plain);
  snprintf(title, sizeof title, "%s%s%s", p->title, wide ? ": " : "\n", plain);
  rb_plot_quoted(script, title);
  rb_plot_with(script, "\ncd ", folder, "\n");
  rb_plot_with(script, "load ", style, "\n");
  if (moving)
    fprintf(script,
            "set terminal gif animate delay 8 loop 0 optimize size 420,420 font 'sans,9'\nset output '%s.gif'\n%s",
            stem, commands);
  for (int k = many ? 1 : 0; k < 2 && !moving; k++) /* thousands of points make a heavy SVG */
    fprintf(script, "%s size %d,%d\nset output '%s.%s'\n%s",
            k ? "set terminal pngcairo enhanced font 'sans,11'" : "set terminal svg enhanced font 'sans,11'",
            wide ? 1500 : 960, 560, stem, k ? "png" : "svg", commands);
  if (pdf && !moving) /* inches, as wide as a page's text or its column */
    fprintf(script, "set terminal pdfcairo enhanced font 'sans,9' size %s\nset output '%s.pdf'\n%s",
            wide ? "13.4in,5in" : "8.6in,5in", stem, commands);
}

static rb_status draw(const rb_judged *j, const rb_plot *p, const char *folder, const char *suffix, int pdf,
                      int *drawn) {
  rb_status st = RB_OK;
  const char *home;
  char data_path[4300] = "", script_path[4300] = "", style[4300], stem[160];
  FILE *data = NULL, *script = NULL, *body = NULL;
  char *text = NULL;
  size_t length = 0;
  RB_TRY(rb_project_root(&home));
  snprintf(style, sizeof style, "%s/scripts/gnuplot/style.gp", home);
  snprintf(stem, sizeof stem, "%.100s%.40s", p->file, suffix);
  snprintf(data_path, sizeof data_path, "%s/%s.dat", folder, stem);
  snprintf(script_path, sizeof script_path, "%s/%s.gp", folder, stem);
  data = fopen(data_path, "w");
  script = fopen(script_path, "w");
  body = open_memstream(&text, &length);
  RB_CHECK(data && script && body, RB_EIO, "cannot write plots into %s", folder);
  char name[168];
  snprintf(name, sizeof name, "%s.dat", stem);
  const int series = write_series(j, p, name, data, body);
  fclose(body);
  body = NULL;
  RB_CHECK(series >= 0, RB_EFORMAT, "%s", rb_message());
  write_script(j, p, folder, style, stem, text, pdf, script);
  fclose(data), data = NULL;
  fclose(script), script = NULL;
  if (series) {
    RB_TRY(rb_gnuplot(script_path));
    ++*drawn;
  } else {
    unlink(data_path);
  }
done:
  if (data) fclose(data);
  if (script) fclose(script);
  if (body) fclose(body);
  if (script_path[0]) unlink(script_path); /* it holds this machine's paths; the data and the style stay */
  free(text);
  return st;
}

rb_status rb_plots_draw(const rb_judged *j, const char *folder, const char *suffix, int pdf, int *drawn) {
  rb_status st = RB_OK;
  char absolute[4096];
  RB_CHECK(realpath(folder, absolute), RB_ENOTFOUND, "no folder %s", folder);
  for (unsigned i = 0; i < j->descriptor->plots_count; i++)
    RB_TRY(draw(j, &j->descriptor->plots[i], absolute, suffix, pdf, drawn));
done:
  return st;
}
