/* SPDX-License-Identifier: BSD-3-Clause */
/* measure: numbers of anybody's files, by the code that solvers and experiments use. */
#include "experiments/runner/cli/commands.h"
#include "experiments/runner/cli/exit_codes.h"
#include "experiments/runner/cli/measure.h"

#include <string.h>

static const char measure_help[] =
    "usage: regbench measure images A B | labels A B | field FIELD | points A B    [--json]\n"
    "       regbench measure surfaces A B --sigma MM [--method NAME] [--spacing MM] [--orient] [--mirror] "
    "[--json]\n\n"
    "images     two images of one lattice: differences, correlation\n"
    "labels     two label maps of one lattice (0 to 255): Dice, 95 % Hausdorff and mean surface distance, by label\n"
    "field      a displacement as `register`, ITK and ANTs write it: det(I + du/dx), folds, lengths\n"
    "points     two lists of corresponding points (CSV, VTK): distances (TRE)\n"
    "surfaces   inner products and distance of two triangle surfaces as currents (ha2012): GIFTI, legacy VTK, OFF\n\n"
    "--sigma    width of the kernel exp(-r^2 / (2 sigma^2)), in the files' unit (mm)\n"
    "--method   exact (default): all pairs, in float64; or a particle mesh: plain (the paper's), corrected\n"
    "           (also called mesh), cubic\n"
    "--spacing  of the particle mesh's grid; default sigma / 2\n"
    "--orient   turn faces so that neighbours agree and closed pieces face outward\n"
    "--mirror   B reflected at the plane x = 0: a right hemisphere laid over a left one\n"
    "--json     the same numbers as JSON\n\n"
    "stdout carries the numbers, stderr the progress and what is odd about the files.\n\n"
    "exit codes: 0 fine, 1 internal, 2 usage, a file that is absent or of another kind, or a sigma that a method "
    "does "
    "not take, 8 memory does not suffice,\n  130 interrupted\n";

int rb_cmd_measure(int argc, char **argv) {
  static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
  } kinds[] = {{"images", rb_measure_images},
               {"labels", rb_measure_labels},
               {"field", rb_measure_field},
               {"points", rb_measure_points},
               {"surfaces", rb_measure_surfaces}};
  if (rb_wants_help(argc, argv, measure_help)) return RB_EXIT_OK;
  if (argc < 1) return rb_usage("measure", "what? images, labels, field, points or surfaces");
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
    if (strcmp(argv[0], kinds[k].name) == 0) return kinds[k].run(argc - 1, argv + 1);
  return rb_usage("measure", "'%s' is not known; images, labels, field, points and surfaces are", argv[0]);
}
