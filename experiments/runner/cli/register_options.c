/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of `register METHOD`: options of the verb, then those of the solver's table. */
#include "experiments/runner/cli/commands.h"
#include "experiments/runner/cli/exit_codes.h"
#include "experiments/runner/cli/register.h"
#include "experiments/runner/cli/register_world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "64" or "NX,NY,NZ" in the file's order. */
static int parse_size(const char *text, rb_grid *out) {
  long long n[3];
  char rest;
  if (sscanf(text, "%lld,%lld,%lld%c", &n[0], &n[1], &n[2], &rest) != 3) {
    if (sscanf(text, "%lld%c", &n[0], &rest) != 1) return 0;
    n[1] = n[2] = n[0];
  }
  for (int a = 0; a < 3; a++)
    if (n[a] < 4 || n[a] > 4096) return 0;
  *out = rb_grid_make(n[2], n[1], n[0]);
  return 1;
}

/* "H" or "X,Y,Z", mm. */
static int parse_spacing(const char *text, double out[3]) {
  char rest;
  if (sscanf(text, "%lf,%lf,%lf%c", &out[0], &out[1], &out[2], &rest) != 3) {
    if (sscanf(text, "%lf%c", &out[0], &rest) != 1) return 0;
    out[1] = out[2] = out[0];
  }
  return out[0] > 0 && out[1] > 0 && out[2] > 0 && isfinite(out[0] + out[1] + out[2]);
}

/* What two images alone have. 0 when argv[*i] was one or none of them (*taken tells), else an exit code. */
static int pair_option(int argc, char **argv, int *i, rb_register_request *r, int *taken) {
  const char *value;
  *taken = 1;
  if (!rb_register_is_pair(r)) {
    *taken = 0;
  } else if ((value = rb_option(argc, argv, i, "--spacing"))) {
    if (!parse_spacing(value, r->voxel)) return rb_usage("register", "--spacing '%s': mm, H or X,Y,Z", value);
  } else if ((value = rb_option(argc, argv, i, "--field-convention"))) {
    if (rb_field_convention_parse(value, &r->convention) != RB_OK || r->convention == RB_FIELD_RAS)
      return rb_usage("register", "--field-convention '%s': itk, fsl, voxel", value);
  } else if ((value = rb_option(argc, argv, i, "--affine"))) {
    r->affine = value;
  } else if ((value = rb_option(argc, argv, i, "--label-names"))) {
    r->label_names = value;
  } else if ((value = rb_option(argc, argv, i, "--template-points"))) {
    r->marks[RB_TEMPLATE] = value;
  } else if ((value = rb_option(argc, argv, i, "--reference-points"))) {
    r->marks[RB_REFERENCE] = value;
  } else if ((value = rb_option(argc, argv, i, "--points-in"))) {
    r->marks_in_voxels = strcmp(value, "voxels") == 0;
    if (!r->marks_in_voxels && strcmp(value, "mm") != 0)
      return rb_usage("register", "--points-in '%s': mm, voxels", value);
  } else if (strcmp(argv[*i], "--center") == 0) {
    r->centre = 1;
  } else if (strcmp(argv[*i], "--shift-negative") == 0) {
    r->shift = 1;
  } else {
    *taken = 0;
  }
  return 0;
}

/* --images A B C, --labels A B C: up to the next option. */
static int take_files(int argc, char **argv, int *i, char ***files, int *number) {
  const char *option = argv[*i];
  int count = 0;
  while (*i + 1 + count < argc && strncmp(argv[*i + 1 + count], "--", 2) != 0) count++;
  if (count == 0 || *files) return rb_usage("register", "%s names all files, once", option);
  *files = calloc((size_t)count, sizeof **files);
  for (int k = 0; k < count && *files; k++)
    if (((*files)[k] = strdup(argv[*i + 1 + k]))) ++*number;
  if (*number < count) return rb_usage("register", "host memory");
  *i += count;
  return 0;
}

/* --template-posteriors A B C and the like, up to the next option. 0 when argv[*i] was one (*taken tells). */
static int take_anatomy(int argc, char **argv, int *i, rb_register_request *r, int *taken) {
  static const char *const names[2][2] = {{"--template-posteriors", "--reference-posteriors"},
                                          {"--template-surfaces", "--reference-surfaces"}};
  *taken = 0;
  if (!(r->solver->takes & RB_TAKES_CHANNELS)) return 0;
  for (int k = 0; k < 4; k++) {
    if (strcmp(argv[*i], names[k / 2][k % 2]) != 0) continue;
    int count = 0;
    while (*i + 1 + count < argc && strncmp(argv[*i + 1 + count], "--", 2) != 0) count++;
    if (count == 0) return rb_usage("register", "%s needs files", argv[*i]);
    if (k / 2)
      r->surfaces[k % 2].files = (const char *const *)argv + *i + 1, r->surfaces[k % 2].count = count;
    else
      r->posteriors[k % 2].files = (const char *const *)argv + *i + 1, r->posteriors[k % 2].count = count;
    *i += count;
    *taken = 1;
  }
  return 0;
}

/* An option that belongs to the verb. 0 when argv[*i] was one or none of them (*taken tells), else an exit code. */
static int common_option(int argc, char **argv, int *i, rb_register_request *r, int *taken) {
  const int images = r->solver->takes & RB_TAKES_IMAGES, anatomy = r->solver->takes & RB_TAKES_CHANNELS;
  const struct {
    const char *name;
    const char **to;
    int offered;
  } texts[] = {{"--template", &r->files[RB_TEMPLATE], !r->solver->cohort && !anatomy},
               {"--list", &r->list, r->solver->cohort},
               {"--reference", &r->files[RB_REFERENCE], !anatomy},
               {"--variant", &r->variant, 1},
               {"--out", &r->out, 1},
               {"--outputs", &r->outputs, 1},
               {"--template-labels", &r->labels[RB_TEMPLATE], images && !r->solver->cohort},
               {"--reference-labels", &r->labels[RB_REFERENCE], images && !r->solver->cohort},
               {"--apply", &r->apply, r->solver->carry != NULL}};
  const char *value;
  char *end;
  *taken = 1;
  for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
    if (!texts[k].offered || !(value = rb_option(argc, argv, i, texts[k].name))) continue;
    if (!*value) return rb_usage("register", "%s needs a value", texts[k].name);
    *texts[k].to = value;
    return 0;
  }
  if (images && (value = rb_option(argc, argv, i, "--size"))) {
    if (!parse_size(value, &r->grid))
      return rb_usage("register", "--size '%s': N or NX,NY,NZ, from 4 to 4096", value);
  } else if (images && (value = rb_option(argc, argv, i, "--resample"))) {
    if (rb_resampling_parse(value, &r->how) != RB_OK) return rb_usage("register", "%s", rb_message());
  } else if (images && strcmp(argv[*i], "--ignore-geometry") == 0) {
    r->ignore_geometry = 1;
  } else if (r->solver->cohort && strcmp(argv[*i], "--leave-out-bad") == 0) {
    r->leave_out = 1;
  } else if (r->solver->cohort && strcmp(argv[*i], "--images") == 0) {
    return take_files(argc, argv, i, &r->images, &r->image_count);
  } else if (r->solver->cohort && strcmp(argv[*i], "--labels") == 0) {
    return take_files(argc, argv, i, &r->label_files, &r->label_count);
  } else if (r->solver->velocity_at && (value = rb_option(argc, argv, i, "--grid"))) {
    r->spacing = strtod(value, &end);
    if (end == value || *end || !isfinite(r->spacing) || !(r->spacing > 0))
      return rb_usage("register", "--grid '%s' is not a positive number", value);
  } else {
    *taken = 0;
  }
  return 0;
}

/* As common_option, for the solver's own. */
static int solver_option(int argc, char **argv, int *i, rb_register_request *r, int *taken) {
  *taken = 0;
  for (const rb_solver_option *o = r->solver->options; o->name && !*taken; o++) {
    char name[64];
    const char *value;
    snprintf(name, sizeof name, "--%s", o->name);
    if (o->type == RB_OPTION_FLAG)
      value = strcmp(argv[*i], name) == 0 ? "1" : NULL;
    else
      value = rb_option(argc, argv, i, name);
    if (!value) continue;
    *taken = 1;
    if (!*value) return rb_usage("register", "%s needs a value", name);
    if (rb_solver_option_set(o, r->options, value) != RB_OK) return rb_usage("register", "%s", rb_message());
  }
  return 0;
}

static int check_cohort(rb_register_request *r) {
  if (!r->images == !r->list) return rb_usage("register", "either --images A B ... or --list FILE");
  if (r->list && r->label_files)
    return rb_usage("register", "--labels goes with --images; a list has them in its column labels");
  if (r->list && rb_cohort_list(r->list, &r->images, &r->image_count, &r->label_files, &r->label_count) != RB_OK)
    return rb_usage("register", "%s", rb_message());
  if (r->label_count && r->label_count != r->image_count)
    return rb_usage("register", "%d label maps for %d images: one each, in their order", r->label_count,
                    r->image_count);
  if (r->image_count < 2 && !r->files[RB_REFERENCE])
    return rb_usage("register", "one image has no atlas but itself: two at least, or a --reference");
  return r->out ? 0 : rb_usage("register", "--out names the folder for the results");
}

static int check_anatomy(const rb_register_request *r) {
  if (!r->posteriors[0].count || !r->posteriors[1].count)
    return rb_usage("register", "--template-posteriors and --reference-posteriors are needed");
  if (r->posteriors[0].count != r->posteriors[1].count || r->surfaces[0].count != r->surfaces[1].count)
    return rb_usage("register",
                    "%d and %d posteriors, %d and %d surfaces: as many of the template as of the reference",
                    r->posteriors[0].count, r->posteriors[1].count, r->surfaces[0].count, r->surfaces[1].count);
  return r->out ? 0 : rb_usage("register", "--out names the folder for the results");
}

static int check_pair(const rb_register_request *r) {
  if (r->labels[RB_REFERENCE] && !r->labels[RB_TEMPLATE])
    return rb_usage("register", "--reference-labels needs --template-labels, which are compared with them");
  if (!r->marks[0] != !r->marks[1])
    return rb_usage("register", "--template-points and --reference-points go together");
  if (r->grid.n[0] && r->voxel[0] > 0) return rb_usage("register", "--size or --spacing, not both");
  if (r->ignore_geometry && (r->affine || r->centre))
    return rb_usage("register", "--ignore-geometry leaves out the world, in which --affine and --center move images");
  if (r->label_names && !r->labels[RB_REFERENCE])
    return rb_usage("register", "--label-names is about label maps of both images");
  return 0;
}

/* Every name of --outputs is one that the solver has. */
static int check_outputs(const rb_register_request *r) {
  char name[64];
  for (const char *at = r->outputs; at && *at; at += strcspn(at, ","), at += *at == ',') {
    snprintf(name, sizeof name, "%.*s", (int)strcspn(at, ","), at);
    if (r->label_count && strcmp(name, "probability") == 0) continue;
    if (*name == '.' || (!rb_solver_output(r->solver, name) && !rb_register_world_has(r, name)))
      return rb_usage("register", "--outputs: %s has no output '%s'; --help lists them", r->solver->family->name,
                      name);
  }
  return 0;
}

int rb_register_is_pair(const rb_register_request *r) {
  return (r->solver->takes & RB_TAKES_IMAGES) && !r->solver->cohort && !(r->solver->takes & RB_TAKES_CHANNELS);
}

int rb_register_parse(int argc, char **argv, rb_register_request *r) {
  for (int i = 0; i < argc; i++) {
    int taken, code = common_option(argc, argv, &i, r, &taken);
    if (!code && !taken) code = pair_option(argc, argv, &i, r, &taken);
    if (!code && !taken) code = take_anatomy(argc, argv, &i, r, &taken);
    if (!code && !taken) code = solver_option(argc, argv, &i, r, &taken);
    if (code) return code;
    if (!taken) return rb_usage("register", "unknown argument '%s'", argv[i]);
  }
  int code = r->solver->cohort ? check_cohort(r) : 0;
  if (!code) code = check_outputs(r);
  if (code || r->solver->cohort) return code;
  if (r->solver->takes & RB_TAKES_CHANNELS) return check_anatomy(r);
  if (!r->files[0] || !r->files[1]) return rb_usage("register", "--template and --reference are needed");
  if (rb_register_is_pair(r) && check_pair(r)) return RB_EXIT_USAGE;
  return r->out ? 0 : rb_usage("register", "--out names the folder for the results");
}
