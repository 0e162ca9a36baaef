/* SPDX-License-Identifier: BSD-3-Clause */
/* Stand-in for shooting2018's 34 subjects (not public), by the paper's own pipeline on public data.
 *
 * Template landmarks: Poisson disks on the surface of one label of na01 (nirep; 13, a parahippocampal gyrus: the
 * medial temporal lobe). They are carried to each other subject of nirep that is present by a CLAIRE registration at
 * 64^3; subjects beyond those are the template under known diffeomorphisms (flows of smooth random velocities). All
 * targets are aligned rigidly (Procrustes) to the template, which is then replaced by their mean. mm. */
#ifndef RB_LANDMARK_COHORT_H
#define RB_LANDMARK_COHORT_H

#include "datasets/input_notes.h"
#include "kernels/base/status.h"

enum { RB_COHORT_POINTS = 1847, RB_COHORT_MOST = 34 };

typedef struct {
  int subjects, registered;                     /* registered: by CLAIRE, the first ones; the others by known maps */
  double template_points[3 * RB_COHORT_POINTS]; /* [3][n] */
  double target[RB_COHORT_MOST][3 * RB_COHORT_POINTS];
  char sha256[65]; /* of the label map */
  const rb_input_note *inputs[2 * RB_COHORT_MOST + 2];
  int input_count;
} rb_landmark_cohort;

/* Made once a process; the caller does not free it. RB_ENOTFOUND: nirep is absent. */
rb_status rb_landmark_cohort_make(int subjects, const rb_landmark_cohort **out);
#endif
