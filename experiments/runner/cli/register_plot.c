/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/cli/register_plot.h"

#include "experiments/runner/base/files.h"
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

/* Commands for the levels' blocks of the data. NULL without memory. */
static char *commands_for(int blocks) {
  char *commands = NULL;
  size_t size = 0;
  FILE *f = open_memstream(&commands, &size);
  if (!f) return NULL;
  fprintf(f, "set logscale y\nset format y '%%.3g'\nset xlabel 'row of the history'\n%splot ",
          blocks == 1 ? "unset key\n" : "");
  for (int b = 0; b < blocks; b++)
    fprintf(f, "%s'.history.dat' index %d with linespoints ls %d ps 0.4 title 'level %d'", b ? ", " : "", b,
            b % 12 + 1, b + 1);
  fputs("\n", f);
  fclose(f);
  return commands;
}

rb_status rb_register_plot(const rb_register_request *r, const rb_solution *s) {
  rb_status st = RB_OK;
  const int y = lowered(r->solver);
  char data[PATH_MAX] = "", path[PATH_MAX], title[160], *commands = NULL;
  FILE *f = NULL;
  if (y < 0 || s->rows < 2) return RB_OK;
  RB_TRY(rb_path(data, sizeof data, "%s/.history.dat", r->out));
  f = fopen(data, "w");
  RB_CHECK(f, RB_EIO, "cannot write %s", data);
  const int blocks = write_data(f, s, y, column(r->solver, "level"));
  fclose(f), f = NULL;
  if (!blocks) goto done;
  for (int k = 0; k < 2; k++) RB_TRY(rb_register_path(r, path, sizeof path, "history.%s", k ? "png" : "svg"));
  snprintf(title, sizeof title, "register %s: %s over its iterations", r->solver->family->name,
           r->solver->history[y].name);
  for (char *c = title; *c; c++)
    if (*c == '_') *c = ' ';
  commands = commands_for(blocks);
  RB_CHECK(commands, RB_ENOMEM, "host memory");
  RB_TRY(rb_plot_draw(r->out, "history", title, commands));
done:
  free(commands);
  if (*data) unlink(data);
  return st;
}
