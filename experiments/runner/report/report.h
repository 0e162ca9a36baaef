/* SPDX-License-Identifier: BSD-3-Clause */
/* regbench report: tables, verdicts and plots from records alone. */
#ifndef RB_REPORT_H
#define RB_REPORT_H

#include "experiments/runner/report/table.h"
#include "experiments/runner/report/cells.h"

#include <stdio.h>

typedef struct {
  rb_format format;
  FILE *out, *names;     /* tables; names of the files that were written */
  int plots;             /* draw SVG and PNG beside each record */
  int pdf;               /* and PDF */
  int write;             /* write tables beside each record instead of to `out` */
  int summary;           /* a line a record instead of its tables */
  int rejudge;           /* first put today's descriptor and published values into each record */
  const char *published; /* folder to write the published values into, as records of their own machine; or NULL */
} rb_report_options;

/* The tables and plots of one record, its verdicts added to *sum. Tables and plots beside a record are named
 * table.EXT and PLOT.EXT; of a preset beside whose record one of a larger preset lies, table-PRESET.EXT and so on.
 * RB_EINTERRUPTED; RB_EIO, RB_EBUSY, RB_ENOMEM, RB_EUNSUPPORTED when something cannot be written or drawn; else the
 * record cannot be read. */
rb_status rb_report(const char *path, const rb_report_options *options, rb_verdicts *sum);

/* Draw all plots of the record into `folder`, their names ending in `suffix`. RB_EUNSUPPORTED when gnuplot is absent.
 */
rb_status rb_plots_draw(const rb_judged *j, const char *folder, const char *suffix, int pdf, int *drawn);

/* Records below `root`: paths sorted. */
int rb_records_list(const char *root, char out[][4096], int most);
/* Journals below `root`, which their runs left or are writing. */
int rb_journals_list(const char *root, char out[][4096], int most);
#endif
