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

/* Parameters as elastix's manual recommends them (version 5, chapter 5): cubic B-splines on a grid of the spacing
 * asked for, adaptive stochastic gradient descent on 2048 samples drawn anew in each iteration, four resolutions.
 * Images as they lie: no affine step. Its numbers are drawn from its own fixed seed. Voxels are 1 mm. */
static rb_status elastix_command(const rb_external_options *o, const char *folder, const char *metric,
                                 const char *arguments[RB_EXTERNAL_ARGUMENTS]) {
  rb_status st = RB_OK;
  char path[4200];
  FILE *f = NULL;
  RB_TRY(rb_path(path, sizeof path, "%s/parameters.txt", folder));
  f = fopen(path, "w");
  RB_CHECK(f, RB_EIO, "cannot write %s: %s", path, strerror(errno));
  fprintf(f,
          "(FixedInternalImagePixelType \"float\")\n(MovingInternalImagePixelType \"float\")\n(UseDirectionCosines "
          "\"true\")\n(Registration \"MultiResolutionRegistration\")\n(Interpolator \"BSplineInterpolator\")\n"
          "(ResampleInterpolator \"FinalBSplineInterpolator\")\n(Resampler \"DefaultResampler\")\n"
          "(FixedImagePyramid \"FixedSmoothingImagePyramid\")\n(MovingImagePyramid \"MovingSmoothingImagePyramid\")\n"
          "(Optimizer \"AdaptiveStochasticGradientDescent\")\n(Transform \"BSplineTransform\")\n(Metric \"%s\")\n",
          metric);
  fprintf(f, "(FinalGridSpacingInPhysicalUnits %g)\n(NumberOfResolutions 4)\n(MaximumNumberOfIterations %d)\n",
          o->knots, o->iterations);
  fprintf(f,
          "(AutomaticTransformInitialization \"false\")\n(HowToCombineTransforms \"Compose\")\n"
          "(NumberOfHistogramBins 32)\n(ErodeMask \"false\")\n(ImageSampler \"RandomCoordinate\")\n"
          "(NumberOfSpatialSamples 2048)\n(NewSamplesEveryIteration \"true\")\n(BSplineInterpolationOrder 1)\n"
          "(FinalBSplineInterpolationOrder 3)\n(DefaultPixelValue 0)\n(WriteResultImage \"false\")\n"
          "(ResultImagePixelType \"float\")\n(ResultImageFormat \"nii.gz\")\n");
  RB_CHECK(fflush(f) == 0 && !ferror(f), RB_EIO, "cannot write %s: %s", path, strerror(errno));
  arguments[0] = "sh", arguments[1] = "-c", arguments[3] = NULL;
  arguments[2] =
      "elastix -f reference.nii.gz -m template.nii.gz -p parameters.txt -out . && "
      "transformix -def all -out . -tp TransformParameters.0.txt && mv deformationField.nii.gz field.nii.gz";
done:
  if (f) fclose(f);
  return st;
}
static rb_status elastix_squares(const rb_external_options *o, const char *folder,
                                 const char *a[RB_EXTERNAL_ARGUMENTS]) {
  return elastix_command(o, folder, "AdvancedMeanSquares", a);
}
static rb_status elastix_information(const rb_external_options *o, const char *folder,
                                     const char *a[RB_EXTERNAL_ARGUMENTS]) {
  return elastix_command(o, folder, "AdvancedMattesMutualInformation", a);
}

/* A further program is one more command function, a row of this kind and a variant. */
static const rb_external_program plastimatch = {"plastimatch", "plastimatch", plastimatch_command};
static const rb_external_program elastix_by_squares = {"elastix", "elastix", elastix_squares},
                                 elastix_by_information = {"elastix", "elastix", elastix_information};
static const rb_variant variants[] = {
    {"plastimatch-log-demons", "ITK", "ITK's log-domain demons as packaged in plastimatch, all cores",
     RB_ON_CPU(&plastimatch)},
    {"elastix-squares", "", "elastix: cubic B-splines by mean squares, all cores", RB_ON_CPU(&elastix_by_squares)},
    {"elastix-information", "", "elastix: cubic B-splines by mutual information, all cores",
     RB_ON_CPU(&elastix_by_information)},
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
