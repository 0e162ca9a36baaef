/* SPDX-License-Identifier: BSD-3-Clause */
/* What is worked out from a registration's outputs, whichever solver made them. */
#ifndef RB_REGISTER_QUALITY_H
#define RB_REGISTER_QUALITY_H

#include "experiments/runner/cli/register.h"
#include "kernels/base/team.h"

#include <jansson.h>

enum { RB_QUALITY_DETERMINANTS = 2 };
typedef struct {
  int templates, has_inverse;
  struct {
    const char *name; /* of the output; NULL: there is none */
    double least, mean, greatest, folds, log_sd;
  } determinant[RB_QUALITY_DETERMINANTS]; /* over all templates */
  double *det; /* [determinants][templates][5]: least, mean, greatest, per cent of folds, SD of log of each one's; 0
                  for those of other processes */
  double *undone;       /* [templates]: greatest |w + u(x + w)| of each one's inverse, likewise */
  double inverse_error; /* over all templates */
  json_t *dice;         /* overlaps before and after, or NULL */
  json_t *classes;      /* of tissue classes, likewise */
  double dice_before, dice_after;
} rb_quality;

rb_status rb_quality_create(int templates, rb_quality *out);
void rb_quality_free(rb_quality *q);
/* Of template t, output `name`: a determinant that is no number leaves its mark on all three values. */
void rb_quality_determinant(rb_quality *q, const char *name, int t, rb_grid grid, const float *det);
/* Of template t: u, w [3][n] in voxels; nodes whose inverse lies beyond the grid do not count. */
void rb_quality_inverse(rb_quality *q, int t, rb_grid grid, const float *u, const float *w);
/* Output "labels" gives the overlap "after", ".labels-smoothed" the overlap "after_smoothed". */
void rb_quality_labels(rb_quality *q, const char *name, const rb_pair *pair, const float *labels);
/* Overlaps of classes by their posteriors [channels][n]: of the template as it was, and as it is now. */
void rb_quality_classes(rb_quality *q, rb_grid grid, int channels, const float *before, const float *after,
                        const float *reference);
/* Over the team, then over the templates. A value has one owner. */
rb_status rb_quality_reduce(const rb_team *team, rb_quality *q);
/* Into metrics.json, and onto the line on stdout. */
void rb_quality_add(const rb_quality *q, json_t *metrics);
void rb_quality_print(const rb_quality *q);
/* metrics.json; `world`: an object of what else joins it. */
rb_status rb_register_write_metrics(const rb_register_request *r, const rb_register_inputs *in, const rb_variant *v,
                                    const rb_solution *s, const rb_register_costs *costs, const rb_quality *q,
                                    json_t *world);
#endif
