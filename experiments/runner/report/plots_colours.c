/* SPDX-License-Identifier: BSD-3-Clause */
/* One colour a method in all figures of a paper. */
#include "experiments/runner/report/plots.h"

#include "datasets/manifest.h"
#include "experiments/runner/base/files.h"
#include "experiments/runner/report/csv.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* The table's colours of the descriptor's methods; those that it lacks keep 0. */
static rb_status read_table(const rb_descriptor *d, unsigned *colour) {
  rb_status st = RB_OK;
  const char *home;
  char path[PATH_MAX], *text = NULL;
  rb_csv table = {0};
  RB_TRY(rb_project_root(&home));
  RB_TRY(rb_path(path, sizeof path, "%s/scripts/gnuplot/colours.csv", home));
  RB_TRY(rb_read_file(path, &text, NULL));
  RB_TRY(rb_csv_parse(text, path, &table));
  RB_CHECK(table.columns == 3, RB_EFORMAT, "%s: %d columns; paper, method and colour are wanted", path,
           table.columns);
  for (int r = 1; r < table.rows; r++) {
    const unsigned long number = strtoul(rb_csv_at(&table, r, 2), NULL, 10);
    RB_CHECK(number >= 1 && number <= RB_PLOT_COLOURS, RB_EFORMAT, "%s:%d: colour '%s'; 1 to %d", path,
             rb_csv_line(&table, r), rb_csv_at(&table, r, 2), RB_PLOT_COLOURS);
    if (strcmp(rb_csv_at(&table, r, 0), d->paper) != 0) continue;
    for (unsigned m = 0; m < d->methods_count; m++)
      if (strcmp(rb_csv_at(&table, r, 1), d->methods[m].label) == 0) colour[m] = (unsigned)number;
  }
done:
  rb_csv_free(&table);
  free(text);
  return st;
}

/* Methods that the table lacks take, in their order, colours that none of the others has. */
unsigned *rb_plot_colours(const rb_descriptor *d) {
  int taken[RB_PLOT_COLOURS + 1] = {0};
  unsigned free_ones[RB_PLOT_COLOURS], count = 0, next = 0;
  unsigned *colour = calloc(d->methods_count + 1, sizeof *colour);
  if (!colour || read_table(d, colour) != RB_OK) {
    if (!colour) RB_FAIL(RB_ENOMEM, "host memory");
    free(colour);
    return NULL;
  }
  for (unsigned m = 0; m < d->methods_count; m++) taken[colour[m]] = 1;
  for (unsigned k = 1; k <= RB_PLOT_COLOURS; k++)
    if (!taken[k]) free_ones[count++] = k;
  for (unsigned m = 0; m < d->methods_count; m++)
    if (!colour[m]) colour[m] = count ? free_ones[next++ % count] : m % RB_PLOT_COLOURS + 1;
  return colour;
}
