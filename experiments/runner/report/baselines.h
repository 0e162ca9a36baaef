/* SPDX-License-Identifier: BSD-3-Clause */
/* Methods compared on a user's pairs (run baselines): FOLDER/PAIR/METHOD/metrics.json as tables and plots. */
#ifndef RB_BASELINES_H
#define RB_BASELINES_H

#include "experiments/runner/inputs/pair_list.h"

#include <stdio.h>

/* FOLDER/baselines.json: which methods and pairs there are, in order. RB_EIO. */
rb_status rb_baselines_index(const char *folder, int methods, const char *const *names, int pairs,
                             const rb_listed_pair *list);
/* Whether a folder has that file. */
int rb_baselines_is(const char *folder);
/* table.txt, .md, .tex, results.csv (a value a line), references.bib, and where gnuplot is installed dice.svg, .png
 * (boxes) and dice-over-time.svg, .png in FOLDER; the text also to `out`. RB_ENOTFOUND: no result; RB_EFORMAT;
 * RB_EIO. */
rb_status rb_baselines_report(const char *folder, FILE *out);
#endif
