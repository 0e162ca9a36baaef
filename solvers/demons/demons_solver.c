/* SPDX-License-Identifier: BSD-3-Clause */
/* demons as a solver of the contract. */
#include "solvers/demons/demons.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
  rb_demons_options demons; /* of every level */
  int levels;
} settings;

typedef struct {
  /* The images are the caller's, borrowed until destroy. */
  const rb_variant *variant;
  settings settings;
  rb_problem problem;            /* its shape; arrays are the caller's */
  rb_subject subject, reference; /* template, reference */
  rb_demons *demons;             /* of the finest level, after a solve */
  rb_solution *solution;         /* of the solve under way */
  int level;                     /* of the rows that come; 1 is the coarsest */
} state;

static void made_of(const rb_variant *v, char *out, size_t size) {
  const rb_demons_config *c = v->ops;
  if (c)
    snprintf(out, size, "smooth %s, compose %s, force %s", c->smooth, c->compose, c->force);
  else
    *out = '\0';
}

/* ---- options ---------------------------------------------------------------------------------------------- */

/* Only the ratio of sigma-i and sigma-x matters: an update is at most sigma_x / (2 sigma_i) voxels long before it is
 * smoothed. Narrower ranges are checked by the solver itself: padding from 1 to 4, up to 8 levels and 4096 iterations
 * a level. */
#define AT(field) offsetof(settings, field)
static const rb_solver_option options[] = {
    {"sigma-fluid", RB_OPTION_REAL, AT(demons.sigma_fluid), .least = 0, .unit = "voxel",
     .help = "smoothing of each update; 0: none"},
    {"sigma-diffusion", RB_OPTION_REAL, AT(demons.sigma_diffusion), .least = 0, .unit = "voxel",
     .help = "smoothing of the velocity; 0: none"},
    {"sigma-i", RB_OPTION_REAL, AT(demons.sigma_i), .least = RB_POSITIVE, .unit = "1",
     .help = "noise of intensities"},
    {"sigma-x", RB_OPTION_REAL, AT(demons.sigma_x), .least = RB_POSITIVE, .unit = "1",
     .help = "noise of correspondences"},
    {"update", RB_OPTION_CHOICE, AT(demons.update), .choices = "sum bch compose", .unit = "",
     .help = "how an update joins the velocity"},
    {"levels", RB_OPTION_WHOLE, AT(levels), .least = 1, .unit = "1",
     .help = "of resolution, each half of the next; between levels the velocity is resampled on the host"},
    {"padding", RB_OPTION_REAL, AT(demons.padding), .least = RB_POSITIVE, .unit = "1",
     .help = "grid's size over the images', along every axis"},
    {"iterations", RB_OPTION_WHOLE, AT(demons.iterations), .least = 1, .unit = "1", .help = "a level, at most"},
    {"stop", RB_OPTION_REAL, AT(demons.stop), .least = 0, .unit = "1",
     .help = "end when five iterations lower the energy by no more than this part of its first value; 0: never"},
    {NULL},
};
static void defaults(void *o) { *(settings *)o = (settings){.demons = rb_demons_defaults(), .levels = 1}; }

/* The backend's need is the finest level's: coarser solvers are gone before it is made. */
static rb_status predict(const rb_variant *v, const void *o, const rb_problem_shape *shape, size_t *backend,
                         size_t *host) {
  *host = 3 * (size_t)rb_grid_points(shape->grid) * sizeof(float);
  return rb_demons_predict(v, &((const settings *)o)->demons, shape->grid, backend);
}

/* Without contrast there is no force, and standing still would pass for an end. The first voxel that differs from the
 * image's first ends the search, so the cost is small for images with contrast. */
static rb_status check(const rb_problem *problem) {
  static const char *const names[] = {"template", "reference"};
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(problem->shape.grid);
  for (int k = 0; k < 2; k++) {
    const float *image = k ? problem->reference->image : problem->templates[0].image;
    int64_t i = 1;
    while (i < n && image[i] == image[0]) i++;
    RB_CHECK(i < n, RB_EINVAL, "the %s image is constant: there is nothing to register", names[k]);
  }
done:
  return st;
}

/* ---- solve ------------------------------------------------------------------------------------------------ */

/* Fields of the finest level live until the next solve or until here. */
static void destroy(void *p) {
  state *s = p;
  if (!s) return;
  rb_demons_destroy(s->demons);
  free(s);
}

/* The levels' own solvers are made by the solve: the coarse ones must go before the finest has room. So nothing is
 * computed here, and a lack of memory shows in the solve. `team` is not used: one process, one template. */
static rb_status create(const rb_variant *v, const void *o, const rb_problem *problem, const rb_team *team,
                        const volatile int *interrupted, void **out) {
  rb_status st = RB_OK;
  (void)team;
  state *s = calloc(1, sizeof *s);
  RB_CHECK(s, RB_ENOMEM, "host memory");
  s->variant = v, s->settings = *(const settings *)o, s->problem = *problem;
  s->subject = problem->templates[0], s->reference = *problem->reference;
  s->settings.demons.interrupted = interrupted; /* ends every level */
  *out = s;
  s = NULL;
done:
  destroy(s);
  return st;
}

static const rb_history_column history[] = {
    {"level", "1"}, {"iteration", "1"}, {"mean_squared_difference", "1"}, {"displacement", "voxel"}, {NULL, NULL}};
/* The solver tells no level: a new one begins where the iterations begin again. */
static void add_row(void *context, int iteration, double energy, double longest) {
  state *s = context;
  s->level += iteration == 1;
  const double row[] = {s->level, iteration, energy, longest};
  rb_solution_row(s->solution, row);
}

/* What the solver cannot see: energies that never fell pass for an end. mismatch: on the images' own grid. Both sums
 * are over the images' own voxels, not the padded grid that the energies refer to. No displacement although the
 * images differ: no force anywhere, as where either image is 0 there is none. A solve that was interrupted is not
 * called diverged: it was not at its end. */
static rb_status judge(state *s, rb_solution *out) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(s->problem.shape.grid);
  const float *m = s->subject.image, *f = s->reference.image;
  double off = 0, was = 0, longest = 0;
  float *room = malloc(3 * (size_t)n * sizeof *room);
  RB_CHECK(room, RB_ENOMEM, "host memory: %zu bytes for results", 3 * (size_t)n * sizeof *room);
  RB_TRY(rb_demons_warp(s->demons, m, room)); /* without padding */
  for (int64_t i = 0; i < n; i++) off += pow((double)(room[i] - f[i]), 2), was += pow((double)(m[i] - f[i]), 2);
  RB_TRY(rb_demons_displacement(s->demons, room)); /* longest component, voxels */
  for (int64_t i = 0; i < 3 * n; i++) longest = fmax(longest, fabs((double)room[i]));
  const double mismatch = was > 0 ? off / was : 0;
  rb_solution_scalar(out, "mismatch", mismatch, "1", "|M o s - F|^2 / |M - F|^2");
  if (longest == 0 && mismatch > 0) {
    out->end = RB_END_NO_FORCE, out->as_asked = 0;
    out->advice = "no voxel where both images are above 0 and differ exerts a force; see --help";
  } else if (out->end != RB_END_INTERRUPTED && mismatch > 1) {
    out->end = RB_END_DIVERGED, out->as_asked = 0;
    out->advice = "take a smaller step (--sigma-x) or more smoothing";
  }
done:
  free(room);
  return st;
}

/* The end by iterations is what was asked for only where the test for an early end was switched off. Parts are those
 * of the finest level, and only where they were timed. */
static rb_status solve(void *p, rb_solution *out) {
  static const char *const parts[RB_DEMONS_PARTS] = {"force",       "fluid", "update", "diffusion",
                                                     "exponential", "warp",  "energy"};
  rb_status st = RB_OK;
  state *s = p;
  rb_demons_result r;
  const settings *o = &s->settings;
  double timed = 0;
  rb_demons_destroy(s->demons);
  s->demons = NULL, s->solution = out, s->level = 0;
  RB_TRY(rb_demons_solve_levels(s->variant, &o->demons, o->levels, s->problem.shape.grid, s->subject.image,
                                s->reference.image, add_row, s, &r, &s->demons));
  out->end = r.end;
  out->as_asked = r.end == RB_END_CONVERGED || (r.end == RB_END_ITERATIONS && o->demons.stop == 0);
  out->seconds = r.seconds, out->setup_seconds = r.setup_seconds;
  RB_TRY(judge(s, out));
  rb_solution_scalar(out, "iterations", r.iterations, "1", "of the finest level");
  rb_solution_scalar(out, "before", r.before, "1", "mean squared difference before"); /* padded grid */
  rb_solution_scalar(out, "after", r.after, "1", "the same after");
  for (int k = 0; k < RB_DEMONS_PARTS; k++) timed += r.parts[k];
  for (int k = 0; k < RB_DEMONS_PARTS && timed > 0; k++) rb_solution_part(out, parts[k], r.parts[k]);
done:
  s->solution = NULL;
  return st;
}

/* ---- outputs ---------------------------------------------------------------------------------------------- */

static rb_status warped(void *p, int t, void *out) {
  (void)t;
  return rb_demons_warp(((state *)p)->demons, ((state *)p)->subject.image, out);
}
/* The contract wants vectors in voxels of each axis: that is what the solver works in. They become mm where they are
 * written to a file. */
static rb_status velocity(void *p, int t, void *out) {
  (void)t;
  return rb_demons_velocity(((state *)p)->demons, out);
}
static rb_status displacement(void *p, int t, void *out) {
  (void)t;
  return rb_demons_displacement(((state *)p)->demons, out);
}
static rb_status determinant(void *p, int t, void *out) {
  (void)t;
  return rb_demons_determinant(((state *)p)->demons, out);
}
/* By the nearest voxel, not by indicators as claire carries them. */
static rb_status labels(void *p, int t, void *out) {
  (void)t;
  return rb_demons_labels(((state *)p)->demons, ((state *)p)->subject.labels, out);
}
static const rb_output outputs[] = {
    {"warped", RB_OUTPUT_SCALAR, "the template at x + displacement(x)", warped, NULL, 0},
    {"velocity", RB_OUTPUT_VECTOR, "stationary velocity, mm a unit time to the left, posterior, superior", velocity,
     NULL, 0},
    {"displacement", RB_OUTPUT_VECTOR,
     "as ITK takes it: mm to the left, posterior, superior; the template is read at x + u(x)", displacement, NULL, 0},
    {"jacobian", RB_OUTPUT_DETERMINANT, "determinant of I + du/dx, u the displacement", determinant, NULL, 0},
    {"labels", RB_OUTPUT_LABELS, "the template's labels, each voxel's the nearest", labels, NULL, 0},
    {NULL, RB_OUTPUT_SCALAR, NULL, NULL, NULL, 0},
};

const rb_solver rb_solver_demons = {
    .family = &rb_demons_family,
    .preferred = "gpu-fused",
    .otherwise = "cpu",
    .takes = RB_TAKES_IMAGES,
    .about =
        "A voxel where either image is 0 counts as background and exerts no force, as in the authors' program: "
        "masks and label maps do not move.",
    .citation = "GPU performance-aware programming on diffeomorphic log-demons (demons2020)",
    .made_of = made_of,
    .options = options,
    .options_size = sizeof(settings),
    .defaults = defaults,
    .history = history,
    .outputs = outputs,
    .predict = predict,
    .check = check,
    .create = create,
    .solve = solve,
    .destroy = destroy,
};
