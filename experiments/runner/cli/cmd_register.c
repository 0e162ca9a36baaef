/* SPDX-License-Identifier: BSD-3-Clause */
/* register: one of the systems on a user's own data. */
#include "experiments/runner/cli/commands.h"
#include "experiments/runner/cli/exit_codes.h"

#include <string.h>

static const char help[] =
    "usage: regbench register METHOD ... --out DIR\n\n"
    "  claire      two images, Gauss-Newton-Krylov with a stationary velocity (brunn2020)\n"
    "  demons      two images, diffeomorphic log-demons (demons2020)\n"
    "  landmarks   two sets of corresponding points, geodesic shooting (shooting2018)\n\n"
    "'regbench register METHOD --help' shows its options, files and exit codes.\n";

int rb_register_exit_code(rb_status st) {
  switch (st) {
    case RB_EINVAL:
    case RB_EFORMAT:
    case RB_ENOTFOUND:
    case RB_EUNSUPPORTED:
      return RB_EXIT_USAGE;
    case RB_ENOMEM:
    case RB_EIO:
    case RB_EDEVICE:
      return RB_EXIT_INCOMPLETE;
    case RB_EINVALID:
      return RB_EXIT_NOT_CONVERGED; /* values that are not finite, or PETSc gave up */
    default:
      return RB_EXIT_INTERNAL;
  }
}

int rb_cmd_register(int argc, char **argv) {
  static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
  } methods[] = {{"claire", rb_cmd_register_claire},
                 {"demons", rb_cmd_register_demons},
                 {"landmarks", rb_cmd_register_landmarks}};
  for (size_t k = 0; argc > 0 && k < sizeof methods / sizeof *methods; k++)
    if (strcmp(argv[0], methods[k].name) == 0) return methods[k].run(argc - 1, argv + 1);
  if (rb_wants_help(argc, argv, help)) return RB_EXIT_OK;
  if (argc < 1 || argv[0][0] == '-') return rb_usage("register", "which method? claire, demons, landmarks");
  return rb_usage("register", "no method '%s': claire, demons, landmarks", argv[0]);
}
