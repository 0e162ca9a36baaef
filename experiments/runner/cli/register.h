/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of the verb register: what is asked for, what is read, what is written. None of them knows a solver by
 * name. */
#ifndef RB_REGISTER_H
#define RB_REGISTER_H

#include "datasets/displacement_file.h"
#include "datasets/points.h"
#include "experiments/runner/inputs/anatomy.h"
#include "experiments/runner/inputs/cohort.h"
#include "experiments/runner/inputs/pairs.h"
#include "solvers/common/overlap.h"
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
  char **label_files; /* of the images, in their order; owned */
  int label_count;    /* as many as images, or none */
  int leave_out;      /* files of a cohort that do not serve are left out, and told; else they are fatal */
  double spacing;     /* of the grid around points; 0: none */
  double voxel[3];    /* --spacing: mm along the file's x, y, z; 0: none */
  const char *affine; /* a file, or NULL */
  int centre;         /* centres of mass are laid onto each other first */
  const char *marks[2], *label_names; /* points in both images; a table of labels; NULL: none */
  int marks_in_voxels;                /* indices of each image's own voxels, as Learn2Reg has them; else mm */
  rb_field_convention convention;     /* of the displacements that are written */
  const char *outputs;                /* names with commas between them: those that are written; NULL: all */
} rb_register_request;

/* The folder for results: one run's, from the first read to the last file. */
typedef struct {
  int lock; /* a file descriptor; 0: none */
} rb_register_folder;

/* What the files hold; the problem points into it. */
typedef struct {
  rb_pair pair;
  rb_cohort cohort, reference; /* reference: of a cohort, one image or none */
  rb_anatomy anatomy[2];
  rb_points points[2], applied;
  rb_points marks[2];          /* of images: mm right, anterior, superior */
  char *label_name[RB_LABELS]; /* owned; NULL: it has none */
  rb_subject subject[2];       /* of a pair; [RB_REFERENCE] of a cohort, too */
  rb_subject *templates;       /* of a cohort; owned */
  const char **kept;           /* its files, those left out not among them; owned */
  const rb_volume *like;       /* the images' geometry */
  rb_register_folder folder;
  rb_problem problem;
} rb_register_inputs;

typedef struct {
  double total;                              /* s */
  double energy, energy_cpu;                 /* J of the GPU, of all processor packages; NaN: not measured */
  size_t predicted, peak, peak_with_results; /* bytes on the backend */
} rb_register_costs;

/* What follows the method's name. 0 or an exit code, told. */
int rb_register_parse(int argc, char **argv, rb_register_request *r);
/* `regbench register METHOD --help`, from the solver's tables. */
void rb_register_print_help(const rb_solver *s);

/* Makes the folder where it is not there, and holds it against other runs (rank 0 alone). RB_EIO: it cannot be
 * written; RB_EINVAL: a file, or an input lies in it under a name that a result would take; RB_EBUSY. */
rb_status rb_register_folder_take(const rb_register_request *r, rb_register_folder *f);
void rb_register_folder_release(rb_register_folder *f);
/* Removes what an earlier run left in it: the files that it listed in `.results`. */
void rb_register_folder_clear(const rb_register_request *r);
/* FOLDER/name of a result, listed in `.results` before it is written. RB_EINVAL: too long; RB_EIO. */
rb_status rb_register_path(const rb_register_request *r, char *path, size_t size, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Two images, registered in the world: results are made of the displacement and the files (register_world.h). */
int rb_register_is_pair(const rb_register_request *r);
/* Compare the files' geometry, make the folder for results, read. */
rb_status rb_register_read(const rb_register_request *r, rb_register_inputs *in);
void rb_register_inputs_free(rb_register_inputs *in);

/* Every output of the solver to its file, points carried along, metrics.json, and one line on stdout. `started` is on
 * rb_now's clock. */
rb_status rb_register_write(const rb_register_request *r, const rb_register_inputs *in, const rb_variant *v,
                            void *state, const rb_solution *s, rb_register_costs *costs, double started);
#endif
