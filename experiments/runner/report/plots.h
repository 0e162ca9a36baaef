/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files that draw plots share. Each kind writes its data and its gnuplot script, and returns how much it
 * drew; -1 with a pending failure. */
#ifndef RB_PLOTS_H
#define RB_PLOTS_H

#include "experiments/runner/report/verdict.h"

#include <stdio.h>

/* Colours of scripts/gnuplot/style.gp, 1 to RB_PLOT_COLOURS, for the descriptor's methods, [methods_count]: those
 * that scripts/gnuplot/colours.csv gives a paper's methods, the same in all its figures. The caller frees them. NULL
 * with a pending failure: no memory, or a table that cannot be read. */
enum { RB_PLOT_COLOURS = 12 };
unsigned *rb_plot_colours(const rb_descriptor *d);
/* Whether the plot has that method: its own list, or all. */
int rb_plot_names(const rb_plot *p, const char *method);
/* Whether it shows a case: of one of its methods, under its conditions. */
int rb_plot_shows(const rb_plot *p, const json_t *c);
/* Values of the plot's panel axis among cases that it shows and that have `metric`; panel[0] NULL when there is no
 * such axis. */
int rb_plot_panels(const rb_judged *j, const rb_plot *p, const char *metric, const char *panel[32]);

/* gnuplot on a script, "PLOT.gp" beside the plot. RB_EUNSUPPORTED: it is not installed; RB_EIO; RB_EINTERRUPTED. */
rb_status rb_gnuplot(const char *script);
/* `commands` (a plot, without terminal and title) in FOLDER as STEM.svg and STEM.png, by the house's style; data
 * files are named from that folder. As rb_gnuplot. */
rb_status rb_plot_draw(const char *folder, const char *stem, const char *title, const char *commands);
/* A gnuplot string: records come from elsewhere, and gnuplot runs what stands in backquotes within double quotes. */
void rb_plot_quoted(FILE *f, const char *s);
/* The same after a word and before another: `before`'text'`after`. */
void rb_plot_with(FILE *f, const char *before, const char *text, const char *after);

int rb_plot_lines(const rb_judged *j, const rb_plot *p, const char *data_path, FILE *data, FILE *script);
int rb_plot_stacked(const rb_judged *j, const rb_plot *p, const char *data_path, FILE *data, FILE *script);
int rb_plot_scatter(const rb_judged *j, const rb_plot *p, const char *data_path, FILE *data, FILE *script);
int rb_plot_trajectories(const rb_judged *j, const char *data_path, FILE *data, FILE *script);
int rb_plot_animation(const rb_judged *j, const char *data_path, FILE *data, FILE *script);
int rb_plot_panels_picture(const rb_judged *j, const rb_plot *p, const char *data_path, FILE *data, FILE *script);
#endif
