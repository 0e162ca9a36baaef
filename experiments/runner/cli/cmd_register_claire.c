/* SPDX-License-Identifier: BSD-3-Clause */
/* register claire: the Gauss-Newton-Krylov solver on a user's own images. */
#include "experiments/runner/cli/commands.h"
#include "experiments/runner/machine/environment.h"
#include "experiments/runner/cli/exit_codes.h"
#include "experiments/runner/base/interrupt.h"
#include "experiments/runner/workloads/measure.h"
#include "experiments/runner/machine/nvml.h"
#include "experiments/runner/cli/register_images.h"
#include "experiments/runner/workloads/registration.h"
#include "kernels/base/clock.h"
#include "solvers/krylov/krylov.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: regbench register claire --template A.nii.gz --reference B.nii.gz --out DIR [OPTIONS]\n\n"
    "The template is deformed to look like the reference. Two NIfTI images of one grid, or of any with --size.\n\n"
    "  --template-labels L, --reference-labels M   label maps (0 to 255), for Dice\n"
    "  --variant NAME            'regbench list claire' shows all (default fused-fd8-linear, cpu-fd8-linear without "
    "a GPU)\n"
    "  --size N | NX,NY,NZ       grid of the registration, in the file's x, y, z order (default the images' own)\n"
    "  --resample antialias|point  how images come to that grid (default antialias)\n"
    "  --ignore-geometry         images whose voxel axes or sizes differ are registered as they lie in memory\n"
    "  --beta B                  target regularisation weight (default 5e-4)\n"
    "  --beta-div B              weight of the divergence penalty (default 1e-4)\n"
    "  --regularisation NAME     h1-div, h1-semi, h2-semi, h1, h2 (default h1-div)\n"
    "  --incompressible          velocities without divergence: volumes are kept\n"
    "  --steps N                 time steps (default 4)\n"
    "  --tolerance T             relative gradient at the end (default 5e-2)\n"
    "  --no-continuation         only the target beta\n"
    "  --newton N, --krylov N    iteration limits (default 50 a level, 500 a step)\n"
    "  --smooth S                Gaussian smoothing of both images in voxels (default 1)\n"
    "  --petsc 'OPTIONS'         PETSc's own options, e.g. '-tao_monitor -tao_nls_ksp_monitor'\n\n"
    "DIR receives warped.nii.gz, velocity.nii.gz and displacement.nii.gz (mm along the file's x, y, z; the warped "
    "image is the\n"
    "template at x + displacement(x)), detF.nii.gz, labels.nii.gz and metrics.json. An interrupted solve leaves its "
    "iterate.\n\n"
    "exit codes: 0 fine, 2 usage or bad images, 6 not converged (the best iterate is written), 8 a device failed or "
    "the disk is full,\n"
    "  130 interrupted (the iterate is written)\n";

typedef struct {
  rb_image_request common;
  rb_claire_options claire;
} request;

/* ---- command line -------------------------------------------------------------------------------------- */

static int number_option(int argc, char **argv, int *i, request *r, int *taken) {
  rb_claire_options *o = &r->claire;
  const rb_number_option options[] = {{"--beta", &o->beta, NULL, 0},           {"--beta-div", &o->beta_div, NULL, 0},
                                      {"--tolerance", &o->tolerance, NULL, 0}, {"--smooth", &o->sigma, NULL, 1},
                                      {"--steps", NULL, &o->steps, 0},         {"--newton", NULL, &o->most_newton, 0},
                                      {"--krylov", NULL, &o->most_krylov, 0}};
  return rb_number_options(argc, argv, i, options, sizeof options / sizeof *options, taken);
}

static int parse(int argc, char **argv, request *r) {
  for (int i = 0; i < argc; i++) {
    const char *value;
    int taken, code = rb_image_option(argc, argv, &i, &r->common, &taken);
    if (!code && !taken) code = number_option(argc, argv, &i, r, &taken);
    if (code) return code;
    if (taken) continue;
    if ((value = rb_option(argc, argv, &i, "--petsc"))) {
      if (!*value) return rb_usage("register", "--petsc needs a value");
      r->claire.petsc = value;
    } else if ((value = rb_option(argc, argv, &i, "--regularisation"))) {
      if (rb_regularisation_parse(value, &r->claire.regularisation) != RB_OK)
        return rb_usage("register", "%s", rb_message());
    } else if (strcmp(argv[i], "--incompressible") == 0) {
      r->claire.incompressible = 1;
    } else if (strcmp(argv[i], "--no-continuation") == 0) {
      r->claire.continuation = 0;
    } else {
      return rb_usage("register", "unknown argument '%s'", argv[i]);
    }
  }
  return rb_image_request_check(&r->common);
}

/* ---- the registration ---------------------------------------------------------------------------------- */

static void print_row(void *context, const rb_claire_iteration *t) {
  (void)context;
  if (t->level == 0 && t->iteration == 0)
    fprintf(stderr, "%8s %5s %8s %12s %12s %12s %7s %8s %9s\n", "beta", "step", "products", "objective", "mismatch",
            "gradient", "length", "forcing", "seconds");
  fprintf(stderr, "%8.1e %5d %8d %12.5e %12.5e %12.5e %7.3g %8.3f %9.2f\n", t->beta, t->iteration, t->matvecs,
          t->objective, t->mismatch, t->gradient, t->step, t->forcing, t->seconds);
}

static rb_status fits(const rb_variant *v, const request *r, rb_grid grid, size_t *need) {
  rb_status st = RB_OK;
  RB_TRY(rb_variant_timed(v));
  RB_TRY(rb_register_claire_predict(v, &r->claire, grid, r->common.labels[RB_TEMPLATE] != NULL, need));
  RB_TRY(rb_fits_memory(v, *need));
done:
  return st;
}

static rb_status write_images(const request *r, const rb_pair *pair, rb_claire *c, rb_claire_determinant *det,
                              rb_overlaps *overlaps) {
  rb_status st = RB_OK;
  int64_t n = rb_grid_points(pair->grid);
  float *f = malloc(3 * (size_t)n * sizeof *f);
  RB_CHECK(f, RB_ENOMEM, "host memory: %zu bytes for results", 3 * (size_t)n * sizeof *f);
  RB_TRY(rb_claire_warp(c, pair->image[RB_TEMPLATE], f)); /* the user's intensities, not the smoothed ones */
  RB_TRY(rb_write_result(&r->common, pair, "warped.nii.gz", f, 0));
  RB_TRY(rb_claire_velocity(c, f));
  for (int a = 0; a < 3; a++)
    for (int64_t i = 0; i < n; i++) f[a * n + i] /= (float)rb_grid_spacing(pair->grid, a);
  RB_TRY(rb_write_result(&r->common, pair, "velocity.nii.gz", f, 1));
  RB_TRY(rb_claire_displacement(c, f));
  RB_TRY(rb_write_result(&r->common, pair, "displacement.nii.gz", f, 1));
  RB_TRY(rb_claire_jacobian(c, f, det));
  RB_TRY(rb_write_result(&r->common, pair, "detF.nii.gz", f, 0));
  RB_TRY(rb_claire_overlaps(c, pair, f, overlaps));
  if (overlaps->has_labels) RB_TRY(rb_write_result(&r->common, pair, "labels.nii.gz", f, 0));
done:
  free(f);
  return st;
}

static rb_status write_metrics(const request *r, const rb_pair *pair, const rb_variant *v, const rb_claire_result *s,
                               rb_claire_determinant det, const rb_overlaps *o, rb_register_costs k) {
  rb_status st = RB_OK;
  json_t *j = rb_register_metrics("regbench register claire", v, pair, k);
  json_object_set_new(j, "end", json_string(rb_claire_end_name(s->end)));
  json_object_set_new(
      j, "parameters",
      json_pack("{s:f,s:f,s:i,s:b,s:i,s:f,s:f,s:b}", "beta", r->claire.beta, "beta_div", r->claire.beta_div,
                "regularisation", (int)r->claire.regularisation, "incompressible", r->claire.incompressible,
                "time_steps", r->claire.steps, "tolerance", r->claire.tolerance, "smoothing_voxels", r->claire.sigma,
                "continuation", r->claire.continuation));
  json_object_set_new(j, "mismatch", rb_json_number(s->mismatch));
  json_object_set_new(j, "relative_gradient", rb_json_number(s->gradient));
  json_object_set_new(j, "newton_steps", json_integer(s->newton));
  json_object_set_new(j, "hessian_products", json_integer(s->matvecs));
  json_object_set_new(j, "det_F",
                      json_pack("{s:f,s:f,s:f}", "min", det.least, "mean", det.mean, "max", det.greatest));
  if (o->has_labels)
    json_object_set_new(j, "dice",
                        json_pack("{s:o,s:o,s:o}", "before", rb_overlap_json(&o->before), "after",
                                  rb_overlap_json(&o->after), "after_smoothed", rb_overlap_json(&o->after_smoothed)));
  json_object_set_new(j, "iterations", rb_iterations_json(s));
  json_object_set_new(j, "kernel_classes", rb_profile_json(&s->profile));
  RB_TRY(rb_write_metrics(&r->common, j));
done:
  json_decref(j);
  return st;
}

static rb_status run(request *r, rb_claire_result *result) {
  rb_status st = RB_OK;
  const rb_variant *v;
  const rb_backend *b;
  rb_pair pair = {0};
  rb_claire *c = NULL;
  rb_claire_determinant det;
  rb_overlaps overlaps;
  rb_register_costs k = {0};
  const double start = rb_now();
  double joules;
  RB_TRY(rb_image_variant(&r->common, &rb_claire_family, "fused-fd8-linear", "cpu-fd8-linear", &v));
  if (r->common.grid.n[0])
    RB_TRY(fits(v, r, r->common.grid, &k.predicted)); /* before anything of that size is made */
  RB_TRY(rb_image_open(&r->common, &pair));
  RB_TRY(fits(v, r, pair.grid, &k.predicted));
  RB_TRY(rb_backend_get(v->backend, &b));
  rb_memory_reset_peak(b->kind);
  RB_TRY(rb_claire_create(v, &r->claire, pair.grid, pair.image[RB_TEMPLATE], pair.image[RB_REFERENCE], &c));
  joules = v->backend == RB_CUDA ? rb_nvml_energy() : NAN;
  RB_TRY(rb_claire_solve(c, print_row, NULL, result));
  k.energy = v->backend == RB_CUDA ? rb_nvml_energy() - joules : NAN;
  if (result->seconds < 0.5) k.energy = NAN; /* below the counter's ticks */
  k.peak = rb_memory_peak(b->kind);
  RB_TRY(write_images(r, &pair, c, &det, &overlaps));
  k.peak_with_results = rb_memory_peak(b->kind);
  k.solver = result->seconds, k.total = rb_now() - start;
  RB_TRY(write_metrics(r, &pair, v, result, det, &overlaps, k));
  printf("%s: mismatch %.4g, gradient %.3g, det F %.3g to %.3g", v->name, result->mismatch, result->gradient,
         det.least, det.greatest);
  if (overlaps.has_labels) printf(", Dice %.4f -> %.4f", overlaps.before.all, overlaps.after.all);
  printf(", %d Newton steps, %d products, %.3g s (%.3g s with files): %s\n", result->newton, result->matvecs,
         k.solver, k.total, r->common.out);
done:
  rb_claire_destroy(c);
  rb_pair_free(&pair);
  return st;
}

int rb_cmd_register_claire(int argc, char **argv) {
  request r = {.claire = rb_claire_defaults()};
  if (argc < 1 || rb_wants_help(argc, argv, help))
    return argc < 1 ? rb_usage("register", "--template and --reference are needed") : RB_EXIT_OK;
  r.claire.interrupted = &rb_interrupted;
  int code = parse(argc, argv, &r);
  if (code) return code;
  rb_catch_interrupts();
  rb_claire_result *result = calloc(1, sizeof *result); /* not static: see register landmarks */
  rb_status st = result ? run(&r, result) : RB_FAIL(RB_ENOMEM, "host memory");
  const rb_claire_end end = st == RB_OK ? result->end : RB_CLAIRE_CONVERGED;
  free(result);
  rb_krylov_close();
  if (st != RB_OK) return rb_register_failed(st);
  if (end == RB_CLAIRE_CONVERGED) return RB_EXIT_OK;
  fflush(stdout); /* the reason comes last wherever both streams go */
  fprintf(stderr, "regbench register: %s; the best iterate is in %s\n", rb_claire_end_name(end), r.common.out);
  return end == RB_CLAIRE_INTERRUPTED ? RB_EXIT_INTERRUPTED : RB_EXIT_NOT_CONVERGED;
}
