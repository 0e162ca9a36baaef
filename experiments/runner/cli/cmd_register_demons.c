/* SPDX-License-Identifier: BSD-3-Clause */
/* register demons: diffeomorphic log-demons on a user's own images. */
#include "experiments/runner/cli/commands.h"
#include "experiments/runner/machine/environment.h"
#include "experiments/runner/cli/exit_codes.h"
#include "experiments/runner/base/interrupt.h"
#include "experiments/runner/workloads/measure.h"
#include "experiments/runner/machine/nvml.h"
#include "experiments/runner/cli/register_images.h"
#include "experiments/runner/workloads/registration.h"
#include "kernels/base/clock.h"
#include "solvers/demons/demons.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: regbench register demons --template A.nii.gz --reference B.nii.gz --out DIR [OPTIONS]\n\n"
    "The template is deformed to look like the reference. Two NIfTI images of one grid, or of any with --size.\n\n"
    "  --template-labels L, --reference-labels M   label maps (0 to 255), for Dice\n"
    "  --variant NAME            'regbench list demons' shows all (default gpu-fused, cpu without a GPU)\n"
    "  --size N | NX,NY,NZ       grid of the registration, in the file's x, y, z order (default the images' own)\n"
    "  --resample antialias|point  how images come to that grid (default antialias)\n"
    "  --ignore-geometry         images whose voxel axes or sizes differ are registered as they lie in memory\n"
    "  --sigma-fluid S           smoothing of each update in voxels (default 3; 0: none)\n"
    "  --sigma-diffusion S       smoothing of the velocity in voxels (default 2; 0: none)\n"
    "  --sigma-i S, --sigma-x S  noise of intensities and of correspondences (default 1, 1)\n"
    "  --update NAME             sum, bch, compose: how an update joins the velocity (default sum)\n"
    "  --levels N                of resolution, each half of the next (default 1); between levels the velocity is "
    "resampled on the host\n"
    "  --padding P               grid's size over the images', along every axis (default 1.2)\n"
    "  --iterations N            a level, at most (default 75)\n"
    "  --stop F                  end when five iterations lower the energy by no more than F of its first value "
    "(default 0.004; 0: never)\n\n"
    "A voxel where either image is 0 counts as background and exerts no force, as in the authors' program: masks and "
    "label maps do not move.\n"
    "DIR receives warped.nii.gz, velocity.nii.gz and displacement.nii.gz (mm along the file's x, y, z; the warped "
    "image is the\n"
    "template at x + displacement(x)), detF.nii.gz, labels.nii.gz and metrics.json. An interrupted solve leaves its "
    "iterate.\n\n"
    "exit codes: 0 fine, 2 usage or bad images, 6 iterations used up or nothing moved (the last iterate is written), "
    "8 a device failed or the disk is full,\n"
    "  130 interrupted (the iterate is written)\n";

typedef struct {
  rb_image_request common;
  rb_demons_options demons;
  int levels;
} request;

/* ---- command line -------------------------------------------------------------------------------------- */

static int number_option(int argc, char **argv, int *i, request *r, int *taken) {
  rb_demons_options *o = &r->demons;
  const rb_number_option options[] = {
      {"--sigma-fluid", &o->sigma_fluid, NULL, 1}, {"--sigma-diffusion", &o->sigma_diffusion, NULL, 1},
      {"--sigma-i", &o->sigma_i, NULL, 0},         {"--sigma-x", &o->sigma_x, NULL, 0},
      {"--padding", &o->padding, NULL, 0},         {"--stop", &o->stop, NULL, 1},
      {"--iterations", NULL, &o->iterations, 0},   {"--levels", NULL, &r->levels, 0}};
  return rb_number_options(argc, argv, i, options, sizeof options / sizeof *options, taken);
}

static int parse(int argc, char **argv, request *r) {
  for (int i = 0; i < argc; i++) {
    const char *value;
    int taken, code = rb_image_option(argc, argv, &i, &r->common, &taken);
    if (!code && !taken) code = number_option(argc, argv, &i, r, &taken);
    if (code) return code;
    if (taken) continue;
    if (!(value = rb_option(argc, argv, &i, "--update")))
      return rb_usage("register", "unknown argument '%s'", argv[i]);
    if (rb_demons_update_parse(value, &r->demons.update) != RB_OK) return rb_usage("register", "%s", rb_message());
  }
  return rb_image_request_check(&r->common);
}

/* ---- the registration ---------------------------------------------------------------------------------- */

static void print_row(void *context, int iteration, double energy, double longest) {
  (void)context;
  if (iteration == 1) fprintf(stderr, "%9s %18s %16s\n", "iteration", "mean squared diff.", "displacement");
  if (iteration <= 5 || iteration % 5 == 0) fprintf(stderr, "%9d %18.6g %9.3g voxels\n", iteration, energy, longest);
}

static rb_status fits(const rb_variant *v, const rb_demons_options *o, rb_grid grid, size_t *need) {
  rb_status st = RB_OK;
  RB_TRY(rb_demons_predict(v, o, grid, need));
  RB_TRY(rb_fits_memory(v, *need));
done:
  return st;
}

typedef struct {
  double mismatch, det_min, det_mean, det_max, longest; /* longest: component of the displacement, voxels */
  rb_overlaps overlaps;
} quality;

/* Without contrast there is no force, and standing still would pass for an end. */
static rb_status have_contrast(const rb_pair *pair) {
  static const char *const names[] = {"template", "reference"};
  rb_status st = RB_OK;
  for (int k = 0; k < 2; k++) {
    const float *image = pair->image[k];
    int64_t i = 1;
    const int64_t n = rb_grid_points(pair->grid);
    while (i < n && image[i] == image[0]) i++;
    RB_CHECK(i < n, RB_EINVAL, "the %s image is constant: there is nothing to register", names[k]);
  }
done:
  return st;
}

static rb_status write_images(const request *r, const rb_pair *pair, rb_demons *d, quality *q) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(pair->grid);
  const float *m = pair->image[RB_TEMPLATE], *f = pair->image[RB_REFERENCE];
  double off = 0, was = 0, sum = 0;
  float *out = malloc(3 * (size_t)n * sizeof *out);
  *q = (quality){.det_min = INFINITY, .det_max = -INFINITY};
  RB_CHECK(out, RB_ENOMEM, "host memory: %zu bytes for results", 3 * (size_t)n * sizeof *out);
  RB_TRY(rb_demons_warp(d, m, out));
  for (int64_t i = 0; i < n; i++) off += pow((double)(out[i] - f[i]), 2), was += pow((double)(m[i] - f[i]), 2);
  q->mismatch = was > 0 ? off / was : 0;
  RB_TRY(rb_write_result(&r->common, pair, "warped.nii.gz", out, 0));
  RB_TRY(rb_demons_velocity(d, out));
  RB_TRY(rb_write_result(&r->common, pair, "velocity.nii.gz", out, 1));
  RB_TRY(rb_demons_displacement(d, out));
  for (int64_t i = 0; i < 3 * n; i++) q->longest = fmax(q->longest, fabs((double)out[i]));
  RB_TRY(rb_write_result(&r->common, pair, "displacement.nii.gz", out, 1));
  RB_TRY(rb_demons_determinant(d, out));
  for (int64_t i = 0; i < n; i++)
    sum += (double)out[i], q->det_min = fmin(q->det_min, (double)out[i]),
                           q->det_max = fmax(q->det_max, (double)out[i]); /* the mean shows a NaN */
  q->det_mean = sum / (double)n;
  RB_TRY(rb_write_result(&r->common, pair, "detF.nii.gz", out, 0));
  if (!pair->labels[RB_TEMPLATE] || !pair->labels[RB_REFERENCE]) goto done;
  RB_TRY(rb_demons_labels(d, pair->labels[RB_TEMPLATE], out));
  RB_TRY(rb_write_result(&r->common, pair, "labels.nii.gz", out, 0));
  q->overlaps.has_labels = 1;
  q->overlaps.before = rb_overlap_of(n, pair->labels[RB_TEMPLATE], pair->labels[RB_REFERENCE]);
  q->overlaps.after = rb_overlap_of(n, out, pair->labels[RB_REFERENCE]);
done:
  free(out);
  return st;
}

/* No voxel of both images is above 0, or all that are agree already: the energy cannot fall, which the solver takes
 * for an end. */
static int stands_still(const quality *q) { return q->longest == 0 && q->mismatch > 0; }
static int climbed(const rb_demons_result *s, const quality *q) {
  return s->end != RB_DEMONS_INTERRUPTED && q->mismatch > 1;
}
static const char *end_name(const rb_demons_result *s, const quality *q) {
  return stands_still(q) ? "nothing moved" : climbed(s, q) ? "the difference grew" : rb_demons_end_name(s->end);
}

static rb_status write_metrics(const request *r, const rb_pair *pair, const rb_variant *v, const rb_demons_result *s,
                               const quality *q, rb_register_costs k) {
  rb_status st = RB_OK;
  const rb_demons_options *o = &r->demons;
  json_t *j = rb_register_metrics("regbench register demons", v, pair, k), *rows = json_array();
  json_object_set_new(j, "end", json_string(end_name(s, q)));
  json_object_set_new(j, "parameters",
                      json_pack("{s:f,s:f,s:f,s:f,s:s,s:i,s:f,s:i,s:f}", "sigma_fluid", o->sigma_fluid,
                                "sigma_diffusion", o->sigma_diffusion, "sigma_i", o->sigma_i, "sigma_x", o->sigma_x,
                                "update", rb_demons_update_name(o->update), "levels", r->levels, "padding",
                                o->padding, "iterations", o->iterations, "stop", o->stop));
  json_object_set_new(j, "mismatch", rb_json_number(q->mismatch));
  json_object_set_new(j, "det_F",
                      json_pack("{s:f,s:f,s:f}", "min", q->det_min, "mean", q->det_mean, "max", q->det_max));
  if (q->overlaps.has_labels)
    json_object_set_new(j, "dice",
                        json_pack("{s:o,s:o}", "before", rb_overlap_json(&q->overlaps.before), "after",
                                  rb_overlap_json(&q->overlaps.after)));
  json_object_set_new(j, "setup_seconds", json_real(s->setup_seconds));
  for (int i = 0; i < s->iterations; i++) json_array_append_new(rows, json_real(s->energy[i]));
  json_object_set_new(j, "mean_squared_difference", rows);
  RB_TRY(rb_write_metrics(&r->common, j));
done:
  json_decref(j);
  return st;
}

static rb_status run(request *r, rb_demons_result *result, quality *q) {
  rb_status st = RB_OK;
  const rb_variant *v;
  const rb_backend *b;
  rb_pair pair = {0};
  rb_demons *d = NULL;
  rb_register_costs k = {0};
  const double start = rb_now();
  RB_TRY(rb_image_variant(&r->common, &rb_demons_family, "gpu-fused", "cpu", &v));
  if (r->common.grid.n[0])
    RB_TRY(fits(v, &r->demons, r->common.grid, &k.predicted)); /* before anything of that size is made */
  RB_TRY(rb_image_open(&r->common, &pair));
  RB_TRY(have_contrast(&pair));
  RB_TRY(fits(v, &r->demons, pair.grid, &k.predicted));
  RB_TRY(rb_backend_get(v->backend, &b));
  rb_memory_reset_peak(b->kind);
  const double joules = v->backend == RB_CUDA ? rb_nvml_energy() : NAN;
  RB_TRY(rb_demons_solve_levels(v, &r->demons, r->levels, pair.grid, pair.image[RB_TEMPLATE],
                                pair.image[RB_REFERENCE], print_row, NULL, result, &d));
  k.solver = result->seconds;
  k.energy =
      v->backend == RB_CUDA && k.solver >= 0.5 ? rb_nvml_energy() - joules : NAN; /* the counter ticks slowly */
  k.peak = rb_memory_peak(b->kind);
  RB_TRY(write_images(r, &pair, d, q));
  k.peak_with_results = rb_memory_peak(b->kind);
  k.total = rb_now() - start;
  RB_TRY(write_metrics(r, &pair, v, result, q, k));
  printf("%s: mismatch %.4g, det F %.3g to %.3g", v->name, q->mismatch, q->det_min, q->det_max);
  if (q->overlaps.has_labels) printf(", Dice %.4f -> %.4f", q->overlaps.before.all, q->overlaps.after.all);
  printf(", %d iterations, %.3g s (%.3g s with files): %s\n", result->iterations, k.solver, k.total, r->common.out);
done:
  rb_demons_destroy(d);
  rb_pair_free(&pair);
  return st;
}

/* The end of a solve as an exit code, told on stderr where it is not what was asked for. */
static int exit_code_of_end(const request *r, const rb_demons_result *result, const quality *q) {
  if (stands_still(q)) {
    fprintf(stderr,
            "regbench register: nothing moved: no voxel where both images are above 0 and differ exerts a force; see "
            "--help\n");
    return RB_EXIT_NOT_CONVERGED;
  }
  if (climbed(result, q)) {
    fprintf(stderr,
            "regbench register: the difference of the images grew to %.3g times its start: not converged; take a "
            "smaller step (--sigma-x) or more smoothing; the last iterate is in %s\n",
            q->mismatch, r->common.out);
    return RB_EXIT_NOT_CONVERGED;
  }
  if (result->end == RB_DEMONS_CONVERGED || (result->end == RB_DEMONS_ITERATIONS && r->demons.stop == 0))
    return RB_EXIT_OK; /* all that was asked for */
  fprintf(stderr, "regbench register: %s; the last iterate is in %s\n", rb_demons_end_name(result->end),
          r->common.out);
  return result->end == RB_DEMONS_INTERRUPTED ? RB_EXIT_INTERRUPTED : RB_EXIT_NOT_CONVERGED;
}

int rb_cmd_register_demons(int argc, char **argv) {
  request r = {.demons = rb_demons_defaults(), .levels = 1};
  quality q = {0};
  if (rb_wants_help(argc, argv, help)) return RB_EXIT_OK;
  r.demons.interrupted = &rb_interrupted;
  int code = parse(argc, argv, &r);
  if (code) return code;
  rb_catch_interrupts();
  rb_demons_result *result = calloc(1, sizeof *result); /* not static: see register landmarks */
  rb_status st = result ? run(&r, result, &q) : RB_FAIL(RB_ENOMEM, "host memory");
  code = st == RB_OK ? exit_code_of_end(&r, result, &q) : rb_register_failed(st);
  free(result);
  return code;
}
