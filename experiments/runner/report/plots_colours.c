/* SPDX-License-Identifier: BSD-3-Clause */
/* One colour a method in all figures of a paper. */
#include "experiments/runner/report/plots.h"

#include "datasets/manifest.h"

#include <stdlib.h>
#include <string.h>

/* The number behind "PAPER,METHOD," in a line of the table, 0 for any other line. */
static unsigned colour_in(const char *line, const char *paper, const char *method) {
  const size_t p = strlen(paper), m = strlen(method);
  if (strncmp(line, paper, p) != 0 || line[p] != ',') return 0;
  line += p + 1;
  if (strncmp(line, method, m) != 0 || line[m] != ',') return 0;
  const unsigned long colour = strtoul(line + m + 1, NULL, 10);
  return colour <= RB_PLOT_COLOURS ? (unsigned)colour : 0;
}

/* The table's lines for the descriptor's methods; 0 where it has none, or where there is no table. */
static void read_table(const rb_descriptor *d, unsigned *colour) {
  const char *home;
  char path[4300], line[512];
  memset(colour, 0, d->methods_count * sizeof *colour);
  if (rb_project_root(&home) != RB_OK) {
    rb_clear();
    return;
  }
  snprintf(path, sizeof path, "%.4000s/scripts/gnuplot/colours.csv", home);
  FILE *f = fopen(path, "r");
  while (f && fgets(line, sizeof line, f))
    for (unsigned m = 0; m < d->methods_count; m++)
      if (!colour[m]) colour[m] = colour_in(line, d->paper, d->methods[m].label);
  if (f) fclose(f);
}

/* Methods that the table lacks take, in their order, colours that none of the others has. */
void rb_plot_colours(const rb_descriptor *d, unsigned *colour) {
  int taken[RB_PLOT_COLOURS + 1] = {0};
  unsigned free_ones[RB_PLOT_COLOURS], count = 0, next = 0;
  read_table(d, colour);
  for (unsigned m = 0; m < d->methods_count; m++) taken[colour[m]] = 1;
  for (unsigned k = 1; k <= RB_PLOT_COLOURS; k++)
    if (!taken[k]) free_ones[count++] = k;
  for (unsigned m = 0; m < d->methods_count; m++)
    if (!colour[m]) colour[m] = count ? free_ones[next++ % count] : m % RB_PLOT_COLOURS + 1;
}
