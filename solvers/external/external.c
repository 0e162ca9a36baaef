/* SPDX-License-Identifier: BSD-3-Clause */
#include "solvers/external/external.h"

#include "datasets/temporary.h"
#include "kernels/base/process.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The program's own file of commands: images and field by their names in its working folder, one stage of ITK's
 * log-domain demons at full resolution, intensities as they are (no histogram equalisation), as many iterations as
 * asked for, and both smoothings with their widths in voxels, as voxels are 1 mm. What could not be written in full
 * is RB_EIO. */
static rb_status plastimatch_command(const rb_external_options *o, const char *folder,
                                     const char *arguments[RB_EXTERNAL_ARGUMENTS]) {
  rb_status st = RB_OK;
  char path[4200];
  FILE *f = NULL;
  RB_TRY(rb_path(path, sizeof path, "%s/commands.txt", folder));
  f = fopen(path, "w");
  RB_CHECK(f, RB_EIO, "cannot write %s: %s", path, strerror(errno));
  fprintf(f, "[GLOBAL]\nfixed=reference.nii.gz\nmoving=template.nii.gz\nvf_out=field.nii.gz\n");
  fprintf(f,
          "[STAGE]\nxform=vf\nimpl=itk\noptim=demons\noptim_subtype=log_domain\nmax_its=%d\nres=1 1 1\nhisto_equ=0\n",
          o->iterations);
  fprintf(f,
          "demons_smooth_update_field=1\ndemons_std_update_field=%g\ndemons_smooth_deformation_field=1\ndemons_std_"
          "deformation_field=%g\n",
          o->sigma_fluid, o->sigma_diffusion);
  RB_CHECK(fflush(f) == 0 && !ferror(f), RB_EIO, "cannot write %s: %s", path, strerror(errno));
  arguments[0] = "plastimatch", arguments[1] = "register", arguments[2] = "commands.txt", arguments[3] = NULL;
done:
  if (f) fclose(f);
  return st;
}

/* A further program is one more command function, a row of this kind and a variant. */
static const rb_external_program plastimatch = {"plastimatch", "plastimatch", plastimatch_command};
static const rb_variant variants[] = {
    {"plastimatch-log-demons", "ITK", "ITK's log-domain demons as packaged in plastimatch, all cores",
     RB_ON_CPU(&plastimatch)},
};
const rb_family rb_external_family = {
    .name = "external",
    .what = "programs of others, as baselines, judged by their displacement",
    .variants = variants,
    .count = sizeof variants / sizeof *variants,
};

/* The first line of `PROGRAM --version`; where the program is missing ours names the package to install. */
rb_status rb_external_version(const rb_variant *variant, char *out, size_t size) {
  rb_status st = RB_OK;
  const rb_external_program *p = variant->ops;
  char folder[1024] = "", output[1100];
  char *const arguments[] = {(char *)(uintptr_t)p->program, "--version", NULL};
  FILE *f = NULL;
  int code = 0;
  RB_TRY(rb_temporary_make(folder, sizeof folder));
  snprintf(output, sizeof output, "%s/version.txt", folder);
  RB_TRY(rb_process_run(&(rb_process){.output = output, .seconds = 60}, arguments, &code));
  f = code == RB_PROCESS_ABSENT ? NULL : fopen(output, "r");
  RB_CHECK(f && fgets(out, (int)size, f), RB_EUNSUPPORTED, "%s is not installed (Debian: apt-get install %s)",
           p->program, p->package);
  out[strcspn(out, "\n")] = '\0';
done:
  if (f) fclose(f);
  if (folder[0]) rb_temporary_remove(folder);
  return st;
}
