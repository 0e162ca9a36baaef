/* SPDX-License-Identifier: BSD-3-Clause */
/* regbench report: tables, verdicts and plots from records alone. */
#ifndef RB_REPORT_H
#define RB_REPORT_H

#include "experiments/runner/report/table.h"
#include "experiments/runner/report/verdict.h"

typedef struct {
  const char *records[256];
  int count;
  rb_format format;
  int plots;             /* draw SVG and PNG beside each record */
  int write;             /* write tables beside each record instead of to stdout */
  int rejudge;           /* first put today's descriptor and published values into each record */
  const char *published; /* folder to write the published values into, as records of their own machine; or NULL */
} rb_report_options;

/* Tables and plots beside a record are named table.EXT and PLOT.EXT; of a preset beside whose record one of a larger
 * preset lies, table-PRESET.EXT and so on. Exit code: 2 when a record cannot be read, 8 when something could not be
 * written or drawn, 3 when a case is invalid, 5 when a numeric cell differs or a claim fails, 0. */
int rb_report(const rb_report_options *options);

/* Draw all plots of the record into `folder`, their names ending in `suffix`. RB_EUNSUPPORTED when gnuplot is absent.
 */
rb_status rb_plots_draw(const rb_judged *j, const char *folder, const char *suffix, int *drawn);

/* Records below results/ (or `root`): paths sorted. */
int rb_records_list(const char *root, char out[][4096], int most);
#endif
