/* SPDX-License-Identifier: BSD-3-Clause */
/* atlas as a solver of the contract. */
#include "solvers/atlas/atlas_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void made_of(const rb_variant *v, char *out, size_t size) {
  const rb_atlas_config *c = v->ops;
  snprintf(out, size, "l2force %s, helmholtz %s, compose %s, average %s", c->l2force, c->helmholtz, c->compose,
           c->average);
}

/* ---- options ---------------------------------------------------------------------------------------------- */

/* Lengths are voxels of each level. What depends on the grid or on the variant is
 * checked by rb_atlas_check: up to 8 levels, beta 0 with sweeps. */
#define AT(field) offsetof(rb_atlas_options, field)
static const rb_solver_option options[] = {
    {"alpha", RB_OPTION_REAL, AT(alpha), .least = 0, .unit = "1", .help = "weight of -Laplacian in the operator"},
    {"beta", RB_OPTION_REAL, AT(beta), .least = 0, .unit = "1",
     .help = "weight of -grad div; 0 with over-relaxation"},
    {"gamma", RB_OPTION_REAL, AT(gamma), .least = RB_POSITIVE, .unit = "1",
     .help = "weight of the identity; movements that rounding over gamma can explain are not made"},
    {"step", RB_OPTION_REAL, AT(step), .least = RB_POSITIVE, .unit = "voxel",
     .help = "longest movement in the first iteration of a level"},
    {"iterations", RB_OPTION_WHOLE, AT(iterations), .least = 1, .unit = "1", .help = "of the finest level"},
    {"coarse-iterations", RB_OPTION_WHOLE, AT(coarse_iterations), .least = 1, .unit = "1",
     .help = "of each other level"},
    {"levels", RB_OPTION_WHOLE, AT(levels), .least = 1, .unit = "1", .help = "of resolution, each half of the next"},
    {"first-sweeps", RB_OPTION_WHOLE, AT(first_sweeps), .least = 1, .unit = "1",
     .help = "of over-relaxation in a level's first iteration"},
    {"sweeps", RB_OPTION_WHOLE, AT(sweeps), .least = 1, .unit = "1", .help = "of over-relaxation later"},
    {"omega", RB_OPTION_CHOICE, AT(omega), .choices = "laplace shifted", .unit = "",
     .help = "relaxation that is best for the Laplacian, or with gamma"},
    {"no-halving", RB_OPTION_FLAG, AT(halve), .flag = 0, .unit = "",
     .help = "keep an image's step when its difference to the mean rises"},
    {"sum", RB_OPTION_CHOICE, AT(sum), .choices = "fixed float", .unit = "",
     .help = "arithmetic of the mean; fixed: the same bits for any number of processes"},
    {"scale", RB_OPTION_CHOICE, AT(scale), .choices = "image cohort none", .unit = "",
     .help = "whose least and greatest value become 0 and 1; none: the images lie in [0, 1]"},
    {"reduce", RB_OPTION_CHOICE, AT(reduce), .choices = "auto hosts devices", .unit = "",
     .help =
         "where processes add the mean: by MPI on hosts or by NCCL on devices, one each; auto: there if it can be"},
    {"voxels", RB_OPTION_CHOICE, AT(voxels), .choices = "cubes spacing", .unit = "",
     .help = "what force and operator take them for: cubes, as the paper does, or boxes of the files' spacing"},
    {"clip", RB_OPTION_WHOLE, AT(clip), .least = -1, .unit = "voxel",
     .help =
         "work on the box alone that holds what any image has above its least value, and so much around it; -1: on "
         "all"},
    {"stream", RB_OPTION_FLAG, AT(stream), .flag = 1, .unit = "",
     .help = "images stay in host memory and pass through three buffers: where they do not fit on the GPU; the same "
             "bits"},
    {"concurrent", RB_OPTION_WHOLE, AT(concurrent), .least = 0, .most = RB_STREAMS, .unit = "1",
     .help = "images that a GPU moves concurrently where an iteration is one launch, at most 8; 0: 8 up to 64^3, "
             "then 1"},
    {"checkpoint", RB_OPTION_TEXT, AT(checkpoint), .choices = " FOLDER", .unit = "",
     .help = "checkpoints, from which --resume goes on with any number of processes"},
    {"checkpoint-minutes", RB_OPTION_REAL, AT(checkpoint_minutes), .least = 0, .unit = "min",
     .help = "between checkpoints; one more is made when the solve is interrupted"},
    {"resume", RB_OPTION_FLAG, AT(resume), .flag = 1, .unit = "",
     .help = "go on from the last checkpoint in that folder, or begin where there is none"},
    {NULL},
};
static void defaults(void *o) { *(rb_atlas_options *)o = rb_atlas_defaults(); }

/* For a process alone: all templates are its own. A member of a team needs less. */
static rb_status predict(const rb_variant *v, const void *o, const rb_problem_shape *shape, size_t *backend,
                         size_t *host) {
  return rb_atlas_predict(v, o, shape->grid, shape->templates, backend, host);
}

/* ---- solve ------------------------------------------------------------------------------------------------ */

static void destroy(void *p) { rb_atlas_destroy(p); }

/* Images of other members are NULL here; each keeps the caller's arrays, the list of them is copied. A reference,
 * where there is one, is there on all members. */
static rb_status create(const rb_variant *v, const void *o, const rb_problem *problem, const rb_team *team,
                        const volatile int *interrupted, void **out) {
  rb_status st = RB_OK;
  rb_atlas_options mine = *(const rb_atlas_options *)o;
  const int count = problem->shape.templates;
  rb_atlas *atlas = NULL;
  const float **images = calloc((size_t)count + 1, sizeof *images);
  RB_CHECK(images, RB_ENOMEM, "host memory");
  mine.interrupted = interrupted; /* not an option */
  memcpy(mine.spacing, problem->shape.spacing, sizeof mine.spacing);
  for (int t = 0; t < count; t++) images[t] = problem->templates[t].image;
  RB_TRY(rb_atlas_create(v, &mine, problem->shape.grid, count, images,
                         problem->reference ? problem->reference->image : NULL, team, &atlas));
  /* stamps cost nothing on a CPU; the share of a team's sums is worth some on a GPU, but no recording */
  rb_atlas_set_profile(atlas, v->backend == RB_CPU || (team->size > 1 && !rb_atlas_replays(atlas)));
  *out = atlas;
done:
  free(images);
  return st;
}

/* A row an iteration, with the variance before it, and one more at the end of each level. On rank 0 the step is the
 * least of all images. */
static const rb_history_column history[] = {{"level", "1"},    {"iteration", "1"}, {"variance", "1"},
                                            {"step", "voxel"}, {"halvings", "1"},  {NULL, NULL}};
static void add_row(void *solution, const rb_atlas_row *t) {
  const double row[] = {t->level, t->iteration, t->variance, t->step, t->halvings};
  rb_solution_row(solution, row);
}

/* A variance that ends above its start is told as divergence: the paper has no test of its own. Both are on the
 * finest grid. */
static rb_status solve(void *p, rb_solution *out) {
  static const char *const parts[RB_ATLAS_PARTS] = {"average", "force", "solve", "update", "energy"};
  rb_status st = RB_OK;
  rb_atlas_result r;
  RB_TRY(rb_atlas_solve(p, add_row, out, &r));
  out->end = r.end, out->as_asked = r.end == RB_END_ITERATIONS; /* the paper knows no other end */
  out->seconds = r.seconds, out->setup_seconds = r.setup_seconds;
  if (r.end == RB_END_ITERATIONS && r.variance_after > r.variance_before) { /* all iterations, and worse */
    out->end = RB_END_DIVERGED, out->as_asked = 0;
    out->advice = "take a smaller --step, or leave out --no-halving";
  }
  if (r.end == RB_END_NO_FORCE)
    out->advice = "the images are equal, or gamma is so small that the rounding of the mean exceeds every velocity";
  rb_solution_scalar(out, "variance_before", r.variance_before, "1", "mean over images and voxels of (mean - D)^2");
  rb_solution_scalar(out, "variance_after", r.variance_after, "1", "the same at the end");
  rb_solution_scalar(out, "iterations", r.iterations, "1", "over all levels");
  rb_solution_scalar(out, "halvings", r.halvings, "1", "of steps, all images");
  if (r.box < 1)
    rb_solution_scalar(out, "box", r.box, "1", "part of the grid that is worked on; variances are its own");
  if (r.on_devices >= 0)
    rb_solution_scalar(out, "mean_on_devices", r.on_devices, "1", "1: processes added it by NCCL, 0: through hosts");
  for (int k = 0; k < RB_ATLAS_PARTS && r.parts[RB_ATLAS_SOLVE] > 0; k++) rb_solution_part(out, parts[k], r.parts[k]);
done:
  return st;
}

/* ---- outputs ---------------------------------------------------------------------------------------------- */

/* t is an image's number among all; only its owner can answer, but for the mean, which all members have. */
static rb_status mean(void *p, int t, void *out) {
  (void)t;
  return rb_atlas_mean(p, out);
}
static rb_status warped(void *p, int t, void *out) { return rb_atlas_warped(p, t, out); }
static rb_status displacement(void *p, int t, void *out) { return rb_atlas_displacement(p, t, out); }
static rb_status determinant(void *p, int t, void *out) { return rb_atlas_determinant(p, t, out); }
static rb_status inverse(void *p, int t, void *out) { return rb_atlas_inverse(p, t, out); }
/* Intensities are the scaled ones. Displacements are in voxels of the finest grid here, and become mm where they are
 * written to a file. */
static const rb_output outputs[] = {
    {"atlas", RB_OUTPUT_SCALAR, "the mean, of images in [0, 1]", mean, NULL, 1},
    {"warped", RB_OUTPUT_SCALAR,
     "an image at x + displacement(x), interpolated once from its file, at the first image's (or the reference's) "
     "resolution",
     warped, NULL, 0},
    {"displacement", RB_OUTPUT_VECTOR,
     "as ITK takes it: mm to the left, posterior, superior; the template is read at x + u(x)", displacement, NULL, 0},
    {"inverse_displacement", RB_OUTPUT_INVERSE, "of the displacement, likewise", inverse, NULL, 0},
    {"jacobian", RB_OUTPUT_DETERMINANT, "determinant of I + du/dx, u the displacement", determinant, NULL, 0},
    {NULL, RB_OUTPUT_SCALAR, NULL, NULL, NULL, 0},
};

const rb_solver rb_solver_atlas = {
    .family = &rb_atlas_family,
    .preferred = "gpu-fft",
    .otherwise = "cpu-fft",
    .takes = RB_TAKES_IMAGES,
    .teams = 1,
    .cohort = 1,
    .about =
        "Images are brought to [0, 1], each by its own least and greatest value, and deformed onto their common "
        "mean; with --reference onto that.",
    .citation =
        "L. Ha, J. Krueger, P. T. Fletcher, S. Joshi, C. T. Silva: Fast parallel unbiased diffeomorphic atlas "
        "construction on multi-GPUs (ha2009)",
    .made_of = made_of,
    .options = options,
    .options_size = sizeof(rb_atlas_options),
    .defaults = defaults,
    .history = history,
    .outputs = outputs,
    .predict = predict,
    .create = create,
    .solve = solve,
    .destroy = destroy,
};
