/* SPDX-License-Identifier: BSD-3-Clause */
/* scripts/gnuplot/colours.csv: a method has one colour in all figures of its paper, and no figure has two of one. */
#include "tests/cmocka_all.h"

#include "experiments/runner/descriptor/descriptor.h"
#include "experiments/runner/report/plots.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All that there are. */
static glob_t files;
static rb_descriptor **descriptor;
static unsigned **colours; /* of their methods */

static int load_descriptors(void **state) {
  (void)state;
  if (glob(RB_SOURCE "/experiments/*/*.yaml", 0, NULL, &files)) return -1;
  descriptor = calloc(files.gl_pathc, sizeof *descriptor), colours = calloc(files.gl_pathc, sizeof *colours);
  for (size_t i = 0; i < files.gl_pathc; i++)
    if (rb_descriptor_load(files.gl_pathv[i], &descriptor[i]) != RB_OK ||
        !(colours[i] = rb_plot_colours(descriptor[i]))) {
      print_error("%s\n", rb_message());
      return -1;
    }
  return 0;
}
static int drop_descriptors(void **state) {
  (void)state;
  for (size_t i = 0; i < files.gl_pathc; i++) free(colours[i]), rb_descriptor_free(descriptor[i]);
  free(colours), free(descriptor);
  globfree(&files);
  return 0;
}

static int one_colour_a_method(const rb_plot *p) {
  return strcmp(p->kind, "lines") == 0 || strcmp(p->kind, "scatter") == 0 || strcmp(p->kind, "roofline") == 0;
}

/* As long as there are colours enough. */
static void no_colour_twice_in_a_figure(void **state) {
  (void)state;
  int drawn = 0;
  assert_true(files.gl_pathc > 60);
  for (size_t i = 0; i < files.gl_pathc; i++) {
    const rb_descriptor *d = descriptor[i];
    const unsigned *colour = colours[i];
    for (unsigned q = 0; q < d->plots_count; q++) {
      const rb_plot *p = &d->plots[q];
      const char *of[RB_PLOT_COLOURS + 1] = {NULL};
      unsigned count = 0;
      for (unsigned m = 0; m < d->methods_count; m++) count += (unsigned)rb_plot_names(p, d->methods[m].label);
      for (unsigned m = 0; m < d->methods_count && one_colour_a_method(p) && count <= RB_PLOT_COLOURS; m++) {
        const char *label = d->methods[m].label;
        if (!rb_plot_names(p, label)) continue;
        assert_in_range(colour[m], 1, RB_PLOT_COLOURS);
        if (of[colour[m]])
          fail_msg("%s, plot %s: '%s' and '%s' have one colour", files.gl_pathv[i], p->file, of[colour[m]], label);
        of[colour[m]] = label, drawn++;
      }
    }
  }
  assert_true(drawn > 100);
}

/* A line whose method is gone, or misspelt, would be no one's. */
static void every_line_has_a_method(void **state) {
  (void)state;
  char line[256];
  int lines = 0;
  FILE *f = fopen(RB_SOURCE "/scripts/gnuplot/colours.csv", "r");
  assert_non_null(f);
  while (fgets(line, sizeof line, f)) {
    char paper[64], method[128];
    unsigned colour;
    int found = 0;
    if (*line == '#' || strcmp(line, "paper,method,colour\n") == 0) continue;
    if (sscanf(line, "%63[^,],%127[^,],%u", paper, method, &colour) != 3) fail_msg("not three fields: %s", line);
    assert_in_range(colour, 1, RB_PLOT_COLOURS);
    for (size_t i = 0; i < files.gl_pathc && !found; i++) {
      const rb_descriptor *d = descriptor[i];
      for (unsigned m = 0; m < d->methods_count && strcmp(d->paper, paper) == 0; m++)
        if (strcmp(d->methods[m].label, method) == 0) found = 1, assert_int_equal(colours[i][m], colour);
    }
    if (!found) fail_msg("no experiment of %s has a method '%s'", paper, method);
    lines++;
  }
  fclose(f);
  assert_true(lines > 50);
}

/* Methods of a descriptor that the table does not know: no two alike while colours last, then around again. */
static void others_take_what_is_free(void **state) {
  (void)state;
  static char labels[15][16];
  rb_method methods[15] = {{0}};
  rb_descriptor d = {.paper = "ha2009", .methods = methods, .methods_count = 15};
  unsigned times[RB_PLOT_COLOURS + 1] = {0};
  for (int k = 0; k < 15; k++) snprintf(labels[k], sizeof labels[k], "method %d", k), methods[k].label = labels[k];
  snprintf(labels[3], sizeof labels[3], "CPU FFT");
  unsigned *colour = rb_plot_colours(&d);
  for (int k = 0; k < 15; k++) times[colour[k]]++;
  assert_int_equal(colour[3], 8);
  assert_int_equal(colour[0], 1);
  assert_int_equal(times[8], 1);
  for (int k = 1; k <= RB_PLOT_COLOURS; k++) assert_in_range(times[k], 1, 2);
  free(colour);
  d.paper = "of a reader";
  colour = rb_plot_colours(&d);
  for (int k = 0; k < 15; k++) assert_int_equal(colour[k], (unsigned)k % RB_PLOT_COLOURS + 1);
  free(colour);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(no_colour_twice_in_a_figure),
                                     cmocka_unit_test(every_line_has_a_method),
                                     cmocka_unit_test(others_take_what_is_free)};
  return cmocka_run_group_tests(tests, load_descriptors, drop_descriptors);
}
