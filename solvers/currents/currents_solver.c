/* SPDX-License-Identifier: BSD-3-Clause */
/* currents as a solver of the contract. */
#include "solvers/common/by_displacement.h"
#include "solvers/currents/currents.h"

#include <stdio.h>
#include <stdlib.h>

/* currents names the particle mesh; with --method exact the exact sums of the same backend take its place. */
static void made_of(const rb_variant *v, char *out, size_t size) {
  const rb_currents_config *c = v->ops;
  snprintf(out, size, "interp %s, l2force %s, helmholtz %s, compose %s, splat %s, currents %s", c->interp, c->l2force,
           c->helmholtz, c->compose, c->splat, c->currents);
}

/* ---- options ---- */

/* Three lists of the same length make the levels; rb_currents_levels reads them. image-weight or surface-weight 0
 * leaves that part out of force and energy. The texts are borrowed. */
#define AT(field) offsetof(rb_currents_options, field)
static const rb_solver_option options[] = {
    {"sigmas", RB_OPTION_TEXT, AT(sigmas), .unit = "voxel",
     .help = "widths of the kernel of surfaces, one a level, between commas"},
    {"steps", RB_OPTION_TEXT, AT(steps), .unit = "voxel", .help = "greatest movement an iteration, one a level"},
    {"iterations", RB_OPTION_TEXT, AT(iterations), .unit = "1", .help = "one number a level"},
    {"image-weight", RB_OPTION_REAL, AT(image_weight), .least = 0, .unit = "1",
     .help = "of the posteriors' mismatch over that at the start"},
    {"surface-weight", RB_OPTION_REAL, AT(surface_weight), .least = 0, .unit = "1",
     .help = "of a surface's squared distance over the reference surface's own square"},
    {"method", RB_OPTION_CHOICE, AT(method), .choices = "plain corrected cubic exact", .unit = "",
     .help = "sums of surfaces: particle meshes on the images' grid, or all pairs"},
    {"mesh", RB_OPTION_REAL, AT(mesh), .least = 0, .most = 2, .unit = "sigma",
     .help = "spacing of a particle mesh over sigma; 0: a voxel, as the paper has it"},
    {"alpha", RB_OPTION_REAL, AT(alpha), .least = 0, .unit = "1", .help = "weight of -Laplacian in the operator"},
    {"beta", RB_OPTION_REAL, AT(beta), .least = 0, .unit = "1", .help = "weight of -grad div"},
    {"gamma", RB_OPTION_REAL, AT(gamma), .least = RB_POSITIVE, .unit = "1", .help = "weight of the identity"},
    {NULL},
};
static void defaults(void *o) { *(rb_currents_options *)o = rb_currents_defaults(); }

/* Both parts of a problem, images and surfaces, are counted where they are there. */
static rb_status predict(const rb_variant *v, const void *o, const rb_problem_shape *shape, size_t *backend,
                         size_t *host) {
  return rb_currents_predict(v, o, shape, backend, host);
}

/* ---- solve ---- */

/* One process, one template: `team` is not used. */
static rb_status create(const rb_variant *v, const void *o, const rb_problem *problem, const rb_team *team,
                        const volatile int *interrupted, void **out) {
  rb_currents *s = NULL;
  const rb_status st = rb_currents_solver_create(v, o, problem, interrupted, &s);
  (void)team;
  if (st == RB_OK) rb_currents_set_profile(s, v->backend == RB_CPU); /* stamps cost nothing there */
  *out = s;
  return st;
}
static void destroy(void *p) { rb_currents_solver_destroy(p); }

/* A row an iteration: energies before its movement, dt after a cut, longest movement in voxels. */
static const rb_history_column history[] = {{"level", "1"},       {"iteration", "1"}, {"energy", "1"},
                                            {"images", "1"},      {"surfaces", "1"},  {"dt", "1"},
                                            {"longest", "voxel"}, {NULL, NULL}};
static void add_row(void *solution, const rb_currents_row *t) {
  const double row[] = {t->level, t->iteration, t->energy, t->image, t->surface, t->dt, t->longest};
  rb_solution_row(solution, row);
}

/* Energies fell or the solve is told as diverged: the paper has no test of its own. The images' part at the start
 * is that of the unmoved template, the surfaces' that of the last level's start, as another width makes another
 * energy. */
static rb_status solve(void *p, rb_solution *out) {
  static const char *const parts[RB_CURRENTS_PARTS] = {"pull_back", "force", "sums", "splat",
                                                       "velocity",  "step",  "move"};
  rb_status st = RB_OK;
  rb_currents_result r;
  RB_TRY(rb_currents_solve(p, add_row, out, &r));
  out->end = r.end, out->as_asked = r.end == RB_END_ITERATIONS; /* the paper knows no other end */
  out->seconds = r.seconds, out->setup_seconds = r.setup_seconds;
  const double before = r.image_before + r.surface_before, after = r.image_after + r.surface_after; /* weighted */
  if (r.end == RB_END_ITERATIONS && after > before) {
    out->end = RB_END_DIVERGED, out->as_asked = 0;
    out->advice = "take smaller --steps";
  }
  if (r.coarsest > 1)
    out->remark =
        "a kernel is narrower than its particle mesh's spacing, where sums of surfaces are off by tens of per "
        "cent: take wider --sigmas, a finer --mesh, or --method exact";
  if (r.end == RB_END_NO_FORCE) out->advice = "template and reference are equal";
  rb_solution_scalar(out, "images_before", r.image_before, "1",
                     "sum_k a_k/2 sum (P_k - Q_k)^2, a_k = weight over it");
  rb_solution_scalar(out, "images_after", r.image_after, "1", "the same before the last movement");
  rb_solution_scalar(out, "surfaces_before", r.surface_before, "1",
                     "sum_j weight |M_j - N_j|^2 / <N_j, N_j>, at the last level's start and width");
  rb_solution_scalar(out, "surfaces_after", r.surface_after, "1", "the same before the last movement");
  rb_solution_scalar(out, "iterations", r.iterations, "1", "over all levels");
  rb_solution_scalar(out, "drift", r.drift, "voxel", "mean |h(x_v) - x_v(0)| of the surfaces' vertices");
  for (int k = 0; k < RB_CURRENTS_PARTS && r.parts[RB_CURRENTS_VELOCITY] > 0; k++)
    rb_solution_part(out, parts[k], r.parts[k]);
done:
  return st;
}

/* ---- outputs ---- */

/* Images are read at h(x) = x + u(x), the pull-back; surfaces are pushed forward the other way. */
static rb_status warped(void *p, int t, void *out) {
  (void)t;
  return rb_currents_warped(p, out);
}
static rb_status displacement(void *p, int t, void *out) {
  (void)t;
  return rb_currents_displacement(p, out);
}
static rb_status determinant(void *p, int t, void *out) {
  (void)t;
  return rb_currents_determinant(p, out);
}
/* w with w + u(x + w) = 0, which is where surfaces go, up to the drift between both. */
static rb_status inverse(void *p, int t, void *out) {
  rb_status st = RB_OK;
  const rb_grid g = rb_currents_grid(p);
  float *u = malloc(3 * (size_t)rb_grid_points(g) * sizeof *u);
  (void)t;
  RB_CHECK(u, RB_ENOMEM, "host memory");
  RB_TRY(rb_currents_displacement(p, u));
  rb_displacement_inverse(g, u, out);
done:
  free(u);
  return st;
}
/* [3][vertices] of all surfaces, one after the other, in voxels. */
static rb_status surfaces(void *p, int t, void *out) {
  (void)t;
  return rb_currents_vertices(p, out);
}
static const rb_output outputs[] = {
    {"warped", RB_OUTPUT_CHANNELS,
     "the template's posteriors at x + displacement(x), interpolated once from their files", warped, NULL, 0},
    {"displacement", RB_OUTPUT_VECTOR,
     "as ITK takes it: mm to the left, posterior, superior; the template is read at x + u(x)", displacement, NULL, 0},
    {"inverse_displacement", RB_OUTPUT_INVERSE, "of the displacement, likewise", inverse, NULL, 0},
    {"jacobian", RB_OUTPUT_DETERMINANT, "determinant of I + du/dx, u the displacement", determinant, NULL, 0},
    {"surface", RB_OUTPUT_SURFACES, "the template's surfaces, pushed forward, as GIFTI", surfaces, NULL, 0},
    {NULL, RB_OUTPUT_SCALAR, NULL, NULL, NULL, 0},
};

const rb_solver rb_solver_currents = {
    .family = &rb_currents_solver_family,
    .preferred = "gpu",
    .otherwise = "cpu",
    .takes = RB_TAKES_CHANNELS | RB_TAKES_SURFACES,
    .about =
        "Posteriors are probabilities in [0, 1] of tissue classes, the same classes in the same order for template "
        "and reference; they are pulled back. Surfaces correspond by their order and are pushed forward; there may "
        "be none.",
    .citation =
        "L. Ha, M. Prastawa, G. Gerig, J. H. Gilmore, C. T. Silva, S. Joshi: Efficient probabilistic and geometric "
        "anatomical mapping using particle mesh approximation on GPUs, Int. J. Biomed. Imaging 2011, 572187 (ha2012)",
    .made_of = made_of,
    .options = options,
    .options_size = sizeof(rb_currents_options),
    .defaults = defaults,
    .history = history,
    .outputs = outputs,
    .predict = predict,
    .create = create,
    .solve = solve,
    .destroy = destroy,
};
