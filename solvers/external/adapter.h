/* SPDX-License-Identifier: BSD-3-Clause */
/* Adapters: how a program of others is started, as a YAML file.
 *
 * name         letters, digits, dashes
 * title        what it is, in a line
 * version      a shell command whose first line is the version; it fails where the program is absent
 * install      said where it is absent: pip install my-program
 * command      a shell command, of many lines if need be: my-program {fixed} {moving} --out {out_field} --step {step}
 * convention   of the displacement that it writes: itk, ras, fsl, voxel (datasets/displacement_file.h); or template:
 *              it makes a mean image of several
 * parameters   may be none: - {name: step, value: "0.5", help: "length of a step, voxels"}
 * seconds      that it may take; without it any time
 * citation, licence
 *
 * The command runs in a folder of its own by `sh -c`. {fixed} and {moving} are images (NIfTI, float32, voxels of 1
 * mm, x, y, z to the left, posterior, superior); {out_field} is the file that it must write. Of a template {images}
 * is a text file with an image's path a line, {out_template} the file that it must write. {threads}: how many it may
 * use. {NAME}: a parameter. Braces around anything else stay. */
#ifndef RB_ADAPTER_H
#define RB_ADAPTER_H

#include "datasets/displacement_file.h"

typedef struct {
  char *name, *value, *help;
} rb_adapter_parameter;
typedef struct {
  char *name, *title, *version, *install, *command, *convention_name, *citation, *licence;
  rb_adapter_parameter *parameters;
  unsigned parameters_count;
  int seconds;
  rb_field_convention convention; /* of convention_name */
  int makes_template;             /* convention: template */
  char sha256[65];                /* of the file */
} rb_adapter;

/* A file (a path with / or ending in .yaml), or one of solvers/external/adapters by its name. RB_ENOTFOUND names
 * those; RB_EFORMAT: not such a file, with the cause. */
rb_status rb_adapter_load(const char *name, rb_adapter **out);
void rb_adapter_free(rb_adapter *a); /* takes NULL */
/* Parameters as text, "knots=4 iterations=500". RB_EINVAL: no such parameter, or a value that is no plain word. */
rb_status rb_adapter_set(rb_adapter *a, const char *assignments);
/* The command for these files; of a template the list, NULL and the template. *out is freed by the caller. */
rb_status rb_adapter_command(const rb_adapter *a, const char *fixed, const char *moving, const char *field,
                             int threads, char **out);
/* What the program calls its version. RB_EUNSUPPORTED: it is not installed. */
rb_status rb_adapter_version(const rb_adapter *a, char *out, size_t size);
#endif
