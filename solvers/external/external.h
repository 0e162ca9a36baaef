/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs of others as baselines: NIfTI in, NIfTI out, run as a child process and timed from outside.
 *
 * plastimatch-log-demons: ITK's log-domain demons as packaged by Debian (plastimatch), all cores. */
#ifndef RB_EXTERNAL_H
#define RB_EXTERNAL_H

#include "kernels/registry/registry.h"

#include <stddef.h>

extern const rb_family rb_external_family;

typedef struct {
  int iterations;                      /* 75 */
  double sigma_fluid, sigma_diffusion; /* voxels: 3, 2 */
  const volatile int *interrupted;     /* may be NULL */
} rb_external_options;
rb_external_options rb_external_defaults(void);

/* What the program calls its version. RB_EUNSUPPORTED: it is not installed. */
rb_status rb_external_version(const rb_variant *variant, char *out, size_t size);
/* Registers FOLDER/template.nii.gz to FOLDER/reference.nii.gz; leaves warped.nii.gz, and what the program said in
 * log.txt. RB_EIO repeats the program's last line when it fails, RB_EINTERRUPTED when it was interrupted. */
rb_status rb_external_register(const rb_variant *variant, const rb_external_options *options, const char *folder);
/* After it, by the same program: determinant.nii.gz and, where labels.nii.gz lies there, warped_labels.nii.gz. */
rb_status rb_external_results(const rb_variant *variant, const char *folder, const volatile int *interrupted);

#endif
