/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/cli/register_plot.h"

#include "experiments/runner/base/files.h"
#include "datasets/manifest.h"
#include "experiments/runner/report/plots.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int column(const rb_solver *solver, const char *name) {
  for (int k = 0; solver->history[k].name; k++)
    if (strcmp(solver->history[k].name, name) == 0) return k;
  return -1;
}

/* What is lowered: the first of these that the solver tells. */
static int lowered(const rb_solver *solver) {
  static const char *const names[] = {"variance", "energy", "objective", "mean_squared_difference"};
  int at = -1;
  for (size_t k = 0; k < sizeof names / sizeof *names && at < 0; k++) at = column(solver, names[k]);
  return at;
}

/* A block a level, a row an iteration, counted through; those that no logarithm shows are left out. Blocks. */
static int write_data(FILE *f, const rb_solution *s, int y, int level) {
  int blocks = 0, rows = 0;
  double last = -1;
  for (int i = 0; i < s->rows; i++) {
    const double *row = s->history + i * s->columns, now = level >= 0 ? row[level] : 0;
    if (i == 0 || now != last) fprintf(f, "%s", i ? "\n\n" : ""), blocks++;
    last = now;
    if (row[y] > 0) fprintf(f, "%d %.9g\n", i, row[y]), rows++;
  }
  return rows > 1 ? blocks : 0;
}

static void write_script(FILE *f, const rb_register_request *r, const char *folder, const char *style, int y,
                         int blocks) {
  char title[160];
  snprintf(title, sizeof title, "register %s: %s over its iterations", r->solver->family->name,
           r->solver->history[y].name);
  for (char *c = title; *c; c++)
    if (*c == '_') *c = ' ';
  rb_plot_with(f, "cd ", folder, "\n"), rb_plot_with(f, "load ", style, "\n"),
      rb_plot_with(f, "set title ", title, "\n");
  fputs("set logscale y\nset format y '%.3g'\nset xlabel 'row of the history'\n", f);
  if (blocks == 1) fputs("unset key\n", f);
  for (int k = 0; k < 2; k++) {
    fprintf(f, "set terminal %s font 'sans,11' size 960,560\nset output 'history.%s'\nplot ", k ? "pngcairo" : "svg",
            k ? "png" : "svg");
    for (int b = 0; b < blocks; b++)
      fprintf(f, "%s'.history.dat' index %d with linespoints ls %d ps 0.4 title 'level %d'", b ? ", " : "", b,
              b % 12 + 1, b + 1);
    fputs("\n", f);
  }
}

rb_status rb_register_plot(const rb_register_request *r, const rb_solution *s) {
  rb_status st = RB_OK;
  const char *home;
  const int y = lowered(r->solver);
  char folder[PATH_MAX], data[PATH_MAX] = "", script[PATH_MAX] = "", style[PATH_MAX], path[PATH_MAX];
  FILE *f = NULL;
  if (y < 0 || s->rows < 2) return RB_OK;
  RB_TRY(rb_project_root(&home));
  RB_CHECK(realpath(r->out, folder), RB_EIO, "no folder %s", r->out);
  RB_TRY(rb_path(style, sizeof style, "%s/scripts/gnuplot/style.gp", home));
  RB_TRY(rb_path(data, sizeof data, "%s/.history.dat", folder));
  RB_TRY(rb_path(script, sizeof script, "%s/.history.gp", folder));
  f = fopen(data, "w");
  RB_CHECK(f, RB_EIO, "cannot write %s", data);
  const int blocks = write_data(f, s, y, column(r->solver, "level"));
  fclose(f), f = NULL;
  if (!blocks) goto done;
  for (int k = 0; k < 2; k++) RB_TRY(rb_register_path(r, path, sizeof path, "history.%s", k ? "png" : "svg"));
  f = fopen(script, "w");
  RB_CHECK(f, RB_EIO, "cannot write %s", script);
  write_script(f, r, folder, style, y, blocks);
  fclose(f), f = NULL;
  RB_TRY(rb_gnuplot(script));
done:
  if (f) fclose(f);
  if (*data) unlink(data);
  if (*script) unlink(script);
  return st;
}
