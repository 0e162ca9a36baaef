/* SPDX-License-Identifier: BSD-3-Clause */
#include "solvers/external/external.h"
#include "solvers/external/child.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char plastimatch[] = "plastimatch"; /* ops of the variant: the program's name */
static const rb_variant variants[] = {
    {"plastimatch-log-demons", "ITK", "ITK's log-domain demons as packaged in plastimatch, all cores",
     RB_ON_CPU(plastimatch)},
};
const rb_family rb_external_family = {
    .name = "external",
    .what = "programs of others, as baselines",
    .variants = variants,
    .count = sizeof variants / sizeof *variants,
};

rb_external_options rb_external_defaults(void) {
  return (rb_external_options){.iterations = 75, .sigma_fluid = 3, .sigma_diffusion = 2};
}

rb_status rb_external_version(const rb_variant *variant, char *out, size_t size) {
  rb_status st = RB_OK;
  char command[128];
  FILE *f = NULL;
  snprintf(command, sizeof command, "%s --version 2>/dev/null", (const char *)variant->ops);
  f = popen(command, "r");
  RB_CHECK(f, RB_EIO, "cannot start a shell: %s", strerror(errno));
  RB_CHECK(fgets(out, (int)size, f), RB_EUNSUPPORTED, "%s is not installed (Debian: apt-get install %s)",
           (const char *)variant->ops, (const char *)variant->ops);
  out[strcspn(out, "\n")] = '\0';
done:
  if (f) pclose(f);
  return st;
}

static rb_status write_commands(const rb_external_options *o, const char *folder, const char *path) {
  rb_status st = RB_OK;
  FILE *f = fopen(path, "w");
  RB_CHECK(f, RB_EIO, "cannot write %s: %s", path, strerror(errno));
  fprintf(f,
          "[GLOBAL]\nfixed=%s/reference.nii.gz\nmoving=%s/template.nii.gz\nimg_out=%s/warped.nii.gz\nvf_out=%s/"
          "field.nii.gz\nimg_out_type=float\n",
          folder, folder, folder, folder);
  fprintf(f,
          "[STAGE]\nxform=vf\nimpl=itk\noptim=demons\noptim_subtype=log_domain\nmax_its=%d\nres=1 1 1\nhisto_equ=0\n",
          o->iterations);
  fprintf(f,
          "demons_smooth_update_field=1\ndemons_std_update_field=%g\ndemons_smooth_deformation_field=1\ndemons_std_"
          "deformation_field=%g\n",
          o->sigma_fluid, o->sigma_diffusion);
  RB_CHECK(fflush(f) == 0 && !ferror(f), RB_EIO, "cannot write %s: %s", path, strerror(errno));
done:
  if (f) fclose(f);
  return st;
}

rb_status rb_external_register(const rb_variant *variant, const rb_external_options *o, const char *folder) {
  rb_status st = RB_OK;
  char commands[4096];
  char *arguments[] = {(char *)(uintptr_t)variant->ops, "register", commands, NULL};
  RB_CHECK(strlen(folder) < 4000, RB_EINVAL, "path too long");
  snprintf(commands, sizeof commands, "%.4000s/commands.txt", folder);
  RB_TRY(write_commands(o, folder, commands));
  RB_TRY(rb_child_run(folder, arguments, o->interrupted));
done:
  return st;
}

rb_status rb_external_results(const rb_variant *variant, const char *folder, const volatile int *interrupted) {
  rb_status st = RB_OK;
  char field[4096], det[4200], labels[4096], moved[4200], *program = (char *)(uintptr_t)variant->ops;
  char *jacobian[] = {program, "jacobian", "--input", field, det, NULL};
  char *warp[] = {program, "warp", "--input", labels, "--xf", field, "--interpolation", "nn", moved, NULL};
  RB_CHECK(strlen(folder) < 4000, RB_EINVAL, "path too long");
  snprintf(field, sizeof field, "%.4000s/field.nii.gz", folder);
  snprintf(det, sizeof det, "--output-img=%.4000s/determinant.nii.gz", folder);
  snprintf(labels, sizeof labels, "%.4000s/labels.nii.gz", folder);
  snprintf(moved, sizeof moved, "--output-img=%.4000s/warped_labels.nii.gz", folder);
  RB_TRY(rb_child_run(folder, jacobian, interrupted));
  if (access(labels, R_OK) == 0) RB_TRY(rb_child_run(folder, warp, interrupted));
done:
  return st;
}
