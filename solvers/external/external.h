/* SPDX-License-Identifier: BSD-3-Clause */
/* external: programs of others as solvers, NIfTI in, a displacement out.
 *
 * A program is run as a child process in a temporary folder that holds reference.nii.gz and template.nii.gz, voxels
 * of 1 mm without an affine, which ITK reads as left, posterior, superior along x, y, z. It is judged by the
 * displacement that it leaves (field.nii.gz, as ITK writes one) and by nothing else that it writes or says: images
 * and labels are carried by it here, by the same code for every program.
 *
 * plastimatch-log-demons: ITK's log-domain demons as packaged by Debian (plastimatch), all cores.
 * elastix-squares, elastix-information: elastix's B-splines by mean squares and mutual information (Debian's 5.0.1).
 */
#ifndef RB_EXTERNAL_H
#define RB_EXTERNAL_H

#include "kernels/registry/registry.h"
#include "solvers/solver.h"

extern const rb_family rb_external_family;

typedef struct {
  int iterations;                      /* 75 */
  double sigma_fluid, sigma_diffusion; /* of demons, voxels: 3, 2 */
  double knots;                        /* between B-splines, voxels: 10 */
} rb_external_options;

enum { RB_EXTERNAL_ARGUMENTS = 16 };
/* What is known of a program: ops of a variant of rb_external_family. */
typedef struct {
  const char *program; /* on PATH */
  const char *package; /* Debian's */
  /* Writes what the program reads besides the images into `folder`, which is its working folder, and names its
   * arguments, the program first, up to a NULL. Strings live as long as the folder's path. */
  rb_status (*command)(const rb_external_options *o, const char *folder,
                       const char *arguments[RB_EXTERNAL_ARGUMENTS]);
} rb_external_program;

/* What the program calls its version. RB_EUNSUPPORTED: it is not installed. */
rb_status rb_external_version(const rb_variant *variant, char *out, size_t size);

#endif
