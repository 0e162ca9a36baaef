/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of the verb register: what is asked for, what is read, what is written. None of them knows a solver by
 * name. */
#ifndef RB_REGISTER_H
#define RB_REGISTER_H

#include "datasets/points.h"
#include "experiments/runner/inputs/anatomy.h"
#include "experiments/runner/inputs/cohort.h"
#include "experiments/runner/inputs/pairs.h"
#include "solvers/solver.h"

typedef struct {
  const rb_solver *solver;
  const rb_team *team;
  void *options;                                            /* of the solver; owned */
  const char *files[2], *labels[2], *apply, *variant, *out; /* [RB_TEMPLATE], [RB_REFERENCE] */
  rb_grid grid;                                             /* {0}: the images' own */
  rb_resampling how;
  int ignore_geometry;
  int shift; /* an image with values below 0 is raised by its least one */
  struct {
    const char *const *files; /* arguments of the command line */
    int count;
  } posteriors[2], surfaces[2]; /* [RB_TEMPLATE], [RB_REFERENCE] */
  const char *list;             /* of a cohort, or NULL */
  char **images;                /* of a cohort; owned */
  int image_count;
  int leave_out;       /* files of a cohort that do not serve are left out, and told; else they are fatal */
  double spacing;      /* of the grid around points; 0: none */
  const char *outputs; /* names with commas between them: those that are written; NULL: all */
} rb_register_request;

/* What the files hold; the problem points into it. */
typedef struct {
  rb_pair pair;
  rb_cohort cohort, reference; /* reference: of a cohort, one image or none */
  rb_anatomy anatomy[2];
  rb_points points[2], applied;
  rb_subject subject[2]; /* of a pair; [RB_REFERENCE] of a cohort, too */
  rb_subject *templates; /* of a cohort; owned */
  const rb_volume *like; /* the images' geometry */
  rb_problem problem;
} rb_register_inputs;

typedef struct {
  double total, energy;                      /* s, J (NaN: not measured) */
  size_t predicted, peak, peak_with_results; /* bytes on the backend */
} rb_register_costs;

/* What follows the method's name. 0 or an exit code, told. */
int rb_register_parse(int argc, char **argv, rb_register_request *r);
/* `regbench register METHOD --help`, from the solver's tables. */
void rb_register_print_help(const rb_solver *s);

/* Compare the files' geometry, make the folder for results, read. */
rb_status rb_register_read(const rb_register_request *r, rb_register_inputs *in);
void rb_register_inputs_free(rb_register_inputs *in);

/* Every output of the solver to its file, points carried along, metrics.json, and one line on stdout. `started` is on
 * rb_now's clock. */
rb_status rb_register_write(const rb_register_request *r, const rb_register_inputs *in, const rb_variant *v,
                            void *state, const rb_solution *s, rb_register_costs *costs, double started);
#endif
