/* SPDX-License-Identifier: BSD-3-Clause */
/* Methods compared, as pictures: boxes of Dice, and Dice over the time that it took. */
#include "datasets/manifest.h"
#include "experiments/runner/base/files.h"
#include "experiments/runner/report/baselines_impl.h"
#include "experiments/runner/report/plots.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static void boxes(const rb_baselines *b, FILE *f) {
  fputs(
      "set style data boxplot\nset style boxplot outliers pt 7\nset style fill solid 0.35\nset boxwidth 0.6\n"
      "set ylabel 'mean Dice of labels'\nset xtics rotate by -25 nomirror ()\nunset key\n",
      f);
  for (int k = 0; k < b->methods; k++) {
    fputs("set xtics add (", f), rb_plot_quoted(f, rb_baseline_method(b, k)), fprintf(f, " %d)\n", k + 1);
  }
  fprintf(f, "set xrange [0.4:%g]\nplot ", b->methods + 0.6);
  for (int k = 0; k < b->methods; k++)
    fprintf(f, "%s'dice.dat' index %d using (%d.0):1 lc rgb C[%d]", k ? ", " : "", k, k + 1, k % 12 + 1);
  fputs("\n", f);
}
static void over_time(const rb_baselines *b, FILE *f) {
  fputs(
      "set logscale x\nset xlabel 'time of the registration in s'\nset ylabel 'mean Dice of labels'\n"
      "set key outside right\nplot ",
      f);
  for (int k = 0; k < b->methods; k++) {
    fprintf(f, "%s'dice.dat' index %d using 2:1 with points ls %d ps 1.3 title ", k ? ", " : "", k, k % 12 + 1);
    rb_plot_quoted(f, rb_baseline_method(b, k));
  }
  fputs("\n", f);
}

/* A block a method: Dice and seconds a line. */
static rb_status write_data(const char *folder, const rb_baselines *b) {
  rb_status st = RB_OK;
  char path[PATH_MAX], *text = NULL;
  size_t size = 0;
  FILE *f = open_memstream(&text, &size);
  RB_CHECK(f, RB_ENOMEM, "host memory");
  for (int k = 0; k < b->methods; k++) {
    const double *dice = rb_baseline_at(b, RB_MEASURE_DICE, k), *seconds = rb_baseline_at(b, RB_MEASURE_TIME, k);
    fprintf(f, "# %s\n", rb_baseline_method(b, k));
    int lines = 0;
    for (int i = 0; i < b->pairs; i++)
      if (!isnan(dice[i]) && !isnan(seconds[i])) fprintf(f, "%.6g %.6g\n", dice[i], seconds[i]), lines++;
    if (!lines) fputs("nan nan\n", f);
    fputs("\n\n", f);
  }
  fclose(f);
  RB_TRY(rb_path(path, sizeof path, "%s/dice.dat", folder));
  RB_TRY(rb_write_atomically(path, text, size));
done:
  free(text);
  return st;
}

static rb_status draw(const char *folder, const char *stem, const char *title, const rb_baselines *b,
                      void (*plot)(const rb_baselines *, FILE *)) {
  rb_status st = RB_OK;
  char *commands = NULL;
  size_t size = 0;
  FILE *f = open_memstream(&commands, &size);
  RB_CHECK(f, RB_ENOMEM, "host memory");
  plot(b, f);
  fclose(f);
  RB_CHECK(commands, RB_ENOMEM, "host memory");
  RB_TRY(rb_plot_draw(folder, stem, title, commands));
done:
  free(commands);
  return st;
}

rb_status rb_baselines_plots(const char *folder, const rb_baselines *b) {
  rb_status st = RB_OK;
  if (!rb_measure_is_there(b, RB_MEASURE_DICE)) return RB_OK;
  RB_TRY(write_data(folder, b));
  RB_TRY(draw(folder, "dice", "Overlap by method: quartiles over pairs", b, boxes));
  RB_TRY(draw(folder, "dice-over-time", "Overlap over time, a point a pair", b, over_time));
done:
  return st;
}
