/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/cli/register.h"
#include "experiments/runner/cli/register_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char images[] =
    "The template is deformed to look like the reference: two NIfTI images. The template comes onto the reference's "
    "lattice\nthrough both files' affines first (the sform where a file has one, else the qform; files without "
    "either "
    "are registered as\nthey lie in memory).\n\n"
    "  --template-labels L          label map (0 to 255), carried to the reference\n"
    "  --reference-labels M         likewise, for Dice and distances of borders; --label-names FILE: lines of "
    "number, "
    "name\n"
    "  --template-points P, --reference-points Q   corresponding points, mm right, anterior, superior: their "
    "distances "
    "(TRE)\n"
    "  --points-in mm|voxels        or they are indices of each image's own voxels, from 0 (Learn2Reg's keypoints)\n"
    "  --center                     first lay the centres of mass of what is above 0 onto each other\n"
    "  --affine FILE                first apply this map of the reference's world to the template's: ITK's (.txt, "
    ".tfm, "
    ".mat), or\n                               four rows of four numbers (right, anterior, superior)\n"
    "  --size N | NX,NY,NZ          grid of the registration, in the file's x, y, z order (default the reference's)\n"
    "  --spacing MM | X,Y,Z         or its voxels' size, about: the reference's field of view stays\n"
    "  --resample antialias|point   how images come to that grid (default antialias)\n"
    "  --shift-negative             raise an image that has values below 0 (CT) by its least one; else it is "
    "refused\n"
    "  --ignore-geometry            images are registered as they lie in memory\n"
    "  --field-convention NAME      of displacements: itk (default), fsl (relative warp, for applywarp), voxel\n";
static const char cohort[] =
    "NIfTI images of one grid, or of any with --size; all come onto the first one's lattice (or the reference's) "
    "through "
    "their\naffines. Several processes share them: mpirun -n 4 regbench register "
    "...\n\n"
    "  --images A B C ...           the images\n"
    "  --list FILE                  or a list of them, a file a line (first column; relative to the list); below a "
    "line\n"
    "                               \"image,labels\" the second column has their label maps\n"
    "  --labels A B C ...           label maps (0 to 255) of the images, in their order: probability_001.nii.gz and "
    "so "
    "on\n"
    "                               (the part of the images that have label 1) and labels.nii.gz (what most have)\n"
    "  --reference R                all are deformed onto this image: no mean is made\n"
    "  --leave-out-bad              images that cannot be used are reported and left out (default: they end the "
    "run)\n"
    "  --size N | NX,NY,NZ          grid of the registration, in the file's x, y, z order (default the images' own)\n"
    "  --resample antialias|point   how images come to that grid (default antialias)\n"
    "  --ignore-geometry            images are registered as they lie in memory, whatever their affines\n";
static const char anatomy[] =
    "Anatomies: class posteriors as NIfTI (values in [0, 1], at most 1 together, of cubic voxels), and surfaces "
    "(GIFTI, "
    "VTK, OFF)\nin mm of the same world. The template comes onto the reference's grid through the files' affines.\n\n"
    "  --template-posteriors A B C ...    tissue classes, the same in the same order for both\n"
    "  --reference-posteriors A B C ...\n"
    "  --template-surfaces S T ...        may be none; those at one place of the lists belong together\n"
    "  --reference-surfaces S T ...\n";
static const char points[] =
    "Two sets of corresponding points: legacy VTK (ASCII) or CSV, 2D or 3D.\n\n"
    "  --apply FILE                 carry these points, or this mesh's, along as well\n"
    "  --grid H                     velocity at t = 0 and displacement on points H apart around both sets, as "
    "NIfTI\n";

/* "--sigma S" in a column, then what it does, in which unit, and its default. */
static void print_option(const rb_solver_option *o, const void *options) {
  char name[64], value[64];
  const int takes = o->type != RB_OPTION_FLAG;
  snprintf(name, sizeof name, "--%s%s", o->name,
           !takes                        ? ""
           : o->type == RB_OPTION_TEXT   ? (o->choices ? o->choices : " 'OPTIONS'")
           : o->type == RB_OPTION_CHOICE ? " NAME"
                                         : " N");
  printf("  %-28s %s", name, o->help);
  if (o->type == RB_OPTION_CHOICE) printf(": %s", o->choices);
  rb_solver_option_show(o, options, value, sizeof value);
  if (takes && *value) {
    const char *unit = strcmp(o->unit, "voxel") == 0    ? "voxels; "
                       : strcmp(o->unit, "points") == 0 ? "unit of the points; "
                                                        : "";
    printf(" (%sdefault %s)", unit, value);
  }
  printf("\n");
}

static void print_files(const rb_solver *s) {
  const rb_register_request asked = {.solver = s};
  const int pair = rb_register_is_pair(&asked);
  printf("\nDIR receives metrics.json, history.svg and .png (without --outputs, where gnuplot is installed) and\n");
  if (pair) rb_register_world_print_help();
  for (const rb_output *o = s->outputs; o->name; o++) {
    if (pair && rb_register_world_has(&asked, o->name)) continue;
    const char *ending = o->kind == RB_OUTPUT_POINTS                                        ? ".vtk or .csv"
                         : o->kind == RB_OUTPUT_PATHS || o->kind == RB_OUTPUT_POINT_VECTORS ? ".csv"
                                                                                            : ".nii.gz";
    char name[64];
    snprintf(name, sizeof name, "%s%s%s", o->name, s->cohort && !o->common ? "_001_FILE" : "", ending);
    if (*o->name != '.') printf("  %-28s %s\n", name, o->what);
  }
  if (s->carry)
    printf(
        "  %-28s the points of --apply (without attributes that would have to turn with a mesh: normals, vectors)\n",
        "applied.vtk or .csv");
  if (s->velocity_at) printf("  %-28s with --grid, mm\n", "velocity.nii.gz, displacement.nii.gz");
}

void rb_register_print_help(const rb_solver *s) {
  const char *name = s->family->name;
  void *options = calloc(1, s->options_size);
  if (!options) return;
  s->defaults(options);
  printf("usage: regbench register %s %s --out DIR [OPTIONS]\n\n%s\n\n", name,
         s->cohort                      ? "--images A B C ... | --list FILE"
         : s->takes & RB_TAKES_CHANNELS ? "--template-posteriors A ... --reference-posteriors B ..."
                                        : "--template A --reference B",
         s->family->what);
  if (*s->about) printf("%s\n", s->about);
  printf("%s", s->cohort                      ? cohort
               : s->takes & RB_TAKES_CHANNELS ? anatomy
               : s->takes & RB_TAKES_IMAGES   ? images
                                              : points);
  printf("  --variant NAME               'regbench list %s' shows all (default %s, %s without a GPU)\n", name,
         s->preferred, s->otherwise);
  printf("  --outputs NAME,NAME          of the files below write these; what the others measure is not measured\n");
  for (const rb_solver_option *o = s->options; o->name; o++) print_option(o, options);
  print_files(s);
  printf(
      "\nAn interrupted solve leaves its iterate.\n\nexit codes: 0 fine, 2 usage or bad input, 6 not converged (the "
      "best iterate is written) or values that are not finite,\n  8 a device failed, memory does not suffice or the "
      "disk is full, 130 interrupted (the iterate is written)\n");
  free(options);
}
