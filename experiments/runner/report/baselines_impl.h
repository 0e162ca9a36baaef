/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files that compare methods share: the values, their statistics, the forms of the tables. */
#ifndef RB_BASELINES_IMPL_H
#define RB_BASELINES_IMPL_H

#include "kernels/base/status.h"

#include <jansson.h>
#include <stdio.h>

enum { RB_MEASURES = 10, RB_BASELINE_METHODS = 32 };
enum { RB_MEASURE_DICE = 0, RB_MEASURE_TIME = 6 };
typedef struct {
  const char *title, *name, *unit;
  double scale; /* of what metrics.json has, to the unit */
  int better;   /* 1: more is better; -1: less is; 0: neither */
  const char *path[3];
} rb_baseline_measure;
extern const rb_baseline_measure rb_baseline_measures[RB_MEASURES];

typedef struct {
  json_t *index, *cite[RB_BASELINE_METHODS];
  int methods, pairs;
  double *value;  /* [measures][methods][pairs]; NaN: none */
  double *before; /* [Dice, HD95, TRE][pairs] without a registration */
} rb_baselines;
const char *rb_baseline_method(const rb_baselines *b, int k);
const char *rb_baseline_pair(const rb_baselines *b, int i);
double *rb_baseline_at(const rb_baselines *b, int measure, int method); /* [pairs] */
int rb_measure_is_there(const rb_baselines *b, int measure);

/* Of the values that there are; NaN of none. Quartiles are linear between ranks. */
typedef struct {
  int count;
  double mean, low, median, high;
} rb_spread;
rb_spread rb_spread_of(int n, const double *values);
/* Method k minus the first, pair by pair. */
typedef struct {
  int count, better; /* pairs; of these better than the first */
  double mean, p;    /* Wilcoxon's signed-rank test, two-sided */
} rb_difference;
rb_difference rb_difference_of(const rb_baselines *b, int measure, int k);

void rb_baselines_text(const rb_baselines *b, FILE *f);
void rb_baselines_markdown(const rb_baselines *b, FILE *f);
void rb_baselines_latex(const rb_baselines *b, FILE *f);
void rb_baselines_csv(const rb_baselines *b, FILE *f);
void rb_baselines_bib(const rb_baselines *b, FILE *f);
/* dice and dice-over-time, SVG and PNG, in the folder; nothing without labels. RB_EUNSUPPORTED: no gnuplot. */
rb_status rb_baselines_plots(const char *folder, const rb_baselines *b);
#endif
