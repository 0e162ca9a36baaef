/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/cli/register_images.h"

#include "experiments/runner/cli/commands.h"
#include "experiments/runner/machine/build.h"
#include "experiments/runner/machine/environment.h"
#include "experiments/runner/workloads/measure.h"
#include "experiments/runner/record/record.h"
#include "kernels/base/clock.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- command line -------------------------------------------------------------------------------------- */

static int positive(const char *text, double *out) {
  char *end;
  *out = strtod(text, &end);
  return end != text && *end == '\0' && *out > 0 && isfinite(*out);
}

int rb_number_options(int argc, char **argv, int *i, const rb_number_option *options, int count, int *taken) {
  *taken = 0;
  for (int k = 0; k < count; k++) {
    const rb_number_option *o = &options[k];
    const char *value = rb_option(argc, argv, i, o->name);
    double number = 0;
    if (!value) continue;
    *taken = 1;
    if (!(o->zero_works && strcmp(value, "0") == 0) && !positive(value, &number))
      return rb_usage("register", "%s '%s' is not a positive number", o->name, value);
    if (o->whole && number != floor(number))
      return rb_usage("register", "%s '%s' is not a whole number", o->name, value);
    if (o->real)
      *o->real = number;
    else
      *o->whole = number > 1e9 ? 1000000000 : (int)number;
    return 0;
  }
  return 0;
}

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

int rb_image_option(int argc, char **argv, int *i, rb_image_request *r, int *taken) {
  const struct {
    const char *name;
    const char **to;
  } texts[] = {{"--template", &r->images[0]},        {"--reference", &r->images[1]},
               {"--template-labels", &r->labels[0]}, {"--reference-labels", &r->labels[1]},
               {"--variant", &r->variant},           {"--out", &r->out}};
  const char *value;
  *taken = 1;
  for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
    if (!(value = rb_option(argc, argv, i, texts[k].name))) continue;
    if (!*value) return rb_usage("register", "%s needs a value", texts[k].name);
    *texts[k].to = value;
    return 0;
  }
  if ((value = rb_option(argc, argv, i, "--size"))) {
    if (!parse_size(value, &r->grid))
      return rb_usage("register", "--size '%s': N or NX,NY,NZ, from 4 to 4096", value);
  } else if ((value = rb_option(argc, argv, i, "--resample"))) {
    if (rb_resampling_parse(value, &r->how) != RB_OK) return rb_usage("register", "%s", rb_message());
  } else if (strcmp(argv[*i], "--ignore-geometry") == 0) {
    r->ignore_geometry = 1;
  } else {
    *taken = 0;
  }
  return 0;
}

int rb_image_request_check(const rb_image_request *r) {
  if (!r->images[0] || !r->images[1]) return rb_usage("register", "--template and --reference are needed");
  if (!r->labels[0] != !r->labels[1])
    return rb_usage("register", "--template-labels and --reference-labels go together");
  return r->out ? 0 : rb_usage("register", "--out names the folder for the results");
}

/* ---- before the solve ---------------------------------------------------------------------------------- */

rb_status rb_image_variant(rb_image_request *r, const rb_family *family, const char *preferred, const char *fallback,
                           const rb_variant **out) {
  rb_status st = RB_OK;
  if (!r->variant) {
    RB_TRY(rb_variant_find(family, preferred, out));
    if (rb_variant_timed(*out) == RB_OK) return RB_OK;
    rb_clear();
    r->variant = fallback;
  }
  RB_TRY(rb_variant_find(family, r->variant, out));
  RB_TRY(rb_variant_timed(*out));
done:
  return st;
}

rb_status rb_fits_memory(const rb_variant *v, size_t need) {
  rb_status st = RB_OK;
  const rb_backend *b;
  size_t total, available;
  RB_TRY(rb_backend_get(v->backend, &b));
  RB_TRY(b->memory(&total, &available));
  RB_CHECK(need <= available, RB_ENOMEM,
           "%s needs about %.1f GB of %s memory for this grid and %.1f GB are free; take a smaller --size", v->name,
           1e-9 * (double)need, b->name, 1e-9 * (double)available);
done:
  return st;
}

/* Both images, and each image's labels. Files that are not there or no NIfTI are told by whoever reads them. */
static rb_status same_geometry(const rb_image_request *r) {
  rb_status st = RB_OK;
  const char *pairs[3][2] = {
      {r->images[0], r->images[1]}, {r->images[0], r->labels[0]}, {r->images[1], r->labels[1]}};
  for (int k = 0; k < 3 && !r->ignore_geometry; k++)
    if (pairs[k][0] && pairs[k][1] && access(pairs[k][0], R_OK) == 0 && access(pairs[k][1], R_OK) == 0)
      RB_TRY(rb_volume_same_axes(pairs[k][0], pairs[k][1]));
done:
  return st;
}

/* Where outputs go: fails before the solve when the folder cannot be written. */
static rb_status make_folder(const char *out) {
  rb_status st = RB_OK;
  struct stat info;
  RB_CHECK(mkdir(out, 0777) == 0 || errno == EEXIST, RB_EIO, "cannot make %s: %s", out, strerror(errno));
  RB_CHECK(stat(out, &info) == 0 && S_ISDIR(info.st_mode), RB_EINVAL, "%s is a file; --out names a folder", out);
  RB_CHECK(access(out, W_OK) == 0, RB_EIO, "cannot write in %s: %s", out, strerror(errno));
done:
  return st;
}

/* Labels that one map alone has are told: their overlap is 0 whatever the registration does. None in common cannot be
 * meant. */
static rb_status common_labels(const rb_pair *pair) {
  enum { LABELS = 256 };
  rb_status st = RB_OK;
  char has[2][LABELS] = {{0}};
  int common = 0, alone[2] = {0};
  for (int k = 0; k < 2; k++)
    for (int64_t i = 0; i < rb_grid_points(pair->grid); i++) has[k][(unsigned char)pair->labels[k][i]] = 1;
  for (int l = 1; l < LABELS; l++)
    common += has[0][l] && has[1][l], alone[0] += has[0][l] && !has[1][l], alone[1] += has[1][l] && !has[0][l];
  RB_CHECK(common, RB_EINVAL,
           "the label maps have no label in common (%d in the template's alone, %d in the reference's)", alone[0],
           alone[1]);
  if (alone[0] || alone[1])
    fprintf(stderr,
            "regbench register: %d labels are in both maps, %d in the template's alone, %d in the reference's: these "
            "overlap by 0\n",
            common, alone[0], alone[1]);
done:
  return st;
}

rb_status rb_image_open(const rb_image_request *r, rb_pair *pair) {
  rb_status st = RB_OK;
  RB_TRY(same_geometry(r));
  RB_TRY(make_folder(r->out));
  RB_TRY(rb_pair_read(r->images, r->labels, r->how, r->grid, pair));
  if (pair->labels[RB_TEMPLATE] && pair->labels[RB_REFERENCE]) RB_TRY(common_labels(pair));
done:
  return st;
}

/* ---- results ------------------------------------------------------------------------------------------- */

rb_status rb_write_result(const rb_image_request *r, const rb_pair *pair, const char *name, const float *data,
                          int vector) {
  rb_status st = RB_OK;
  char path[4096];
  RB_TRY(rb_path(path, sizeof path, "%s/%s", r->out, name));
  RB_TRY(vector ? rb_volume_write_vector(path, &pair->like, pair->grid, data)
                : rb_volume_write(path, &pair->like, pair->grid, data));
done:
  return st;
}

json_t *rb_register_metrics(const char *program, const rb_variant *v, const rb_pair *pair, rb_register_costs k) {
  json_t *j = json_pack("{s:s,s:s,s:s,s:{s:s,s:s,s:s,s:s},s:[I,I,I]}", "program", program, "commit",
                        rb_build_commit(), "variant", v->name, "images", "template", pair->file[0], "template_sha256",
                        pair->sha256[0], "reference", pair->file[1], "reference_sha256", pair->sha256[1], "grid_xyz",
                        (json_int_t)pair->grid.n[2], (json_int_t)pair->grid.n[1], (json_int_t)pair->grid.n[0]);
  json_object_set_new(j, "seconds", json_pack("{s:f,s:f}", "solver", k.solver, "files_in_to_files_out", k.total));
  json_object_set_new(j, "memory_peak_bytes", json_integer((json_int_t)k.peak));
  json_object_set_new(j, "memory_peak_with_results_bytes", json_integer((json_int_t)k.peak_with_results));
  json_object_set_new(j, "memory_predicted_bytes", json_integer((json_int_t)k.predicted));
  if (isfinite(k.energy)) json_object_set_new(j, "energy_joule", json_real(k.energy));
  return j;
}

rb_status rb_write_metrics(const rb_image_request *r, const json_t *j) {
  rb_status st = RB_OK;
  char path[4096], *text = json_dumps(j, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
  RB_CHECK(text, RB_ENOMEM, "host memory");
  RB_TRY(rb_path(path, sizeof path, "%s/metrics.json", r->out));
  RB_TRY(rb_write_atomically(path, text, strlen(text)));
done:
  free(text);
  return st;
}

/* ---- time, failures --------------------------------------------------------------------------- */

int rb_register_failed(rb_status st) {
  fprintf(stderr, "regbench register: %s\n", rb_message());
  return rb_register_exit_code(st);
}
