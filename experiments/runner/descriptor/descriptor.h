/* SPDX-License-Identifier: BSD-3-Clause */
/* An experiment descriptor: one YAML file a published table or figure, strictly read.
 *
 * Unknown keys, wrong types, missing keys and duplicate keys are RB_EFORMAT with file and line. */
#ifndef RB_DESCRIPTOR_H
#define RB_DESCRIPTOR_H

#include "experiments/runner/workloads/case.h"
#include "kernels/base/status.h"

#include <stddef.h>

typedef struct {
  char **values;
  unsigned count;
} rb_strings;

/* A named list of values; a preset without its own list takes the next smaller preset's. */
typedef struct {
  char *name; /* size, data, points, omega, count */
  char **quick, **standard, **paper;
  unsigned quick_count, standard_count, paper_count;
} rb_axis;

typedef enum { RB_NUMERIC, RB_HARDWARE, RB_DATA, RB_INFO } rb_column_class;
const char *rb_column_class_name(rb_column_class c);
/* Whose a column's published values are: the paper prints them as results of its methods; they describe the input
 * before any method acts on it; or they were measured with another program and no paper prints them. Counts keep the
 * three apart. */
typedef enum { RB_ORIGIN_PAPER, RB_ORIGIN_INPUT, RB_ORIGIN_PROGRAM } rb_column_origin;

typedef struct {
  char *name;   /* as in the published CSV */
  char *metric; /* of the case: "time", "error_rms", ... */
  char *title;
  rb_column_class class; /* numeric: judged anywhere; hardware: shown beside % of roof; data: of the paper's own
                           data, for which others stand in: the difference is shown; info: ours alone */
  rb_column_origin origin;
  double *tolerance; /* relative, beyond half a unit of the last printed digit; NULL: none */
  double *absolute;  /* allowed besides, in the column's unit */
  char *reason;      /* why that tolerance */
  char *relative_to; /* method: shown is its metric over this row's, a speed-up where the metric is a time;
                        RB_FIRST_OF_KIND: of the first method of the row's own kind; or NULL */
} rb_column;
#define RB_FIRST_OF_KIND "first-of-kind"

typedef struct {
  char *id, *text, *metric;
  char *left, *right; /* method labels; right may be a number, or "published": what is printed for the same case */
  char *relation;     /* "<=" or ">=": left RELATION factor * right */
  double factor;
  char *axis;   /* judged only where this axis has one of the values; NULL: everywhere */
  char *where;  /* "size=64,data=na02": judged only where all of these hold; NULL: everywhere */
  char *at;     /* likewise: the case on the right has these values in place of the left's; NULL: the same values */
  char *spread; /* an axis: not single cases are compared but the metric's standard deviations over its values */
  char **values;
  unsigned values_count;
} rb_claim;

typedef struct {
  char *file; /* stem of the output files */
  char *kind; /* lines, roofline, stacked, scatter, panels */
  char *title, *x, *y, *x_label, *y_label;
  char *panel;  /* axis that splits into panels, or NULL */
  char **parts; /* metrics stacked by kind stacked */
  unsigned parts_count;
  char *relative_to; /* kind lines: y of this method over each method's own, as speed-ups are; or NULL */
  char **methods;    /* only these labels (kinds lines, stacked, scatter, panels); none: all */
  unsigned methods_count;
  char
      *where; /* kinds lines, stacked, scatter, panels: "levels=1,clip=-1": only cases with these values; NULL: all */
  char *published; /* column of the published CSV drawn beside, or NULL */
  unsigned *
      slope; /* kind lines, both axes logarithmic: a line y ~ x^slope through the last method's last point; or NULL */
  int log_x, log_y;
} rb_plot;

typedef struct {
  int schema;
  char *paper, *name, *title, *source, *note;
  char *cache;    /* "warm": as a loop over one buffer; "cold": buffers rotate beyond twice the last-level cache */
  int counters;   /* hardware counters wanted */
  int single_run; /* programs of seconds that are not worth repeating: the verified run is the only sample */
  rb_method *methods;
  unsigned methods_count;
  rb_axis *axes;
  unsigned axes_count;
  rb_column *columns;
  unsigned columns_count;
  char *published; /* CSV beside the descriptor, values as printed, a bound as >VALUE or <VALUE; or NULL */
  rb_claim *claims;
  unsigned claims_count;
  rb_plot *plots;
  unsigned plots_count;

  char *text; /* the file as read */
  char sha256[65];
} rb_descriptor;

/* Read, validate and check the use of `path`. */
rb_status rb_descriptor_load(const char *path, rb_descriptor **out);
/* The same from text; `origin` names it in messages. */
rb_status rb_descriptor_parse(const char *text, const char *origin, rb_descriptor **out);
void rb_descriptor_free(rb_descriptor *d); /* takes NULL */

/* Kinds, labels and references against what exists: RB_EFORMAT with `origin`, line and meaning. Called by _parse. */
rb_status rb_descriptor_validate(const rb_descriptor *d, const char *origin);
/* What a descriptor that is to be run must satisfy besides, and that of an old record need not: its variants exist,
 * nothing in it would be ignored, or fail at work. RB_EFORMAT likewise. Called by _load. */
rb_status rb_descriptor_check_use(const rb_descriptor *d, const char *origin);
/* The values of an axis under a preset. */
rb_strings rb_axis_values(const rb_axis *axis, rb_preset preset);

#endif
