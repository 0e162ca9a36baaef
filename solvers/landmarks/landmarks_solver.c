/* SPDX-License-Identifier: BSD-3-Clause */
/* landmarks as a solver of the contract. */
#include "solvers/krylov/krylov.h"
#include "solvers/landmarks/landmarks.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct {
  rb_landmarks *landmarks;
  rb_landmarks_options options; /* with the variant's precision */
  int64_t n;                    /* points of a subject */
  int dim;
  const double *points; /* of the template */
} state;

static void made_of(const rb_variant *v, char *out, size_t size) {
  const rb_landmarks_config *c = v->ops;
  snprintf(out, size, "gausssum %s", c->gausssum);
}

/* ---- options ---------------------------------------------------------------------------------------------- */

/* sigma is in the unit of the points, and so are the distances that lambda weighs. */
#define AT(field) offsetof(rb_landmarks_options, field)
static const rb_solver_option options[] = {
    {"sigma", RB_OPTION_REAL, AT(sigma), .least = RB_POSITIVE, .unit = "points",
     .help = "width of the Gaussian kernel"},
    {"lambda", RB_OPTION_REAL, AT(lambda), .least = RB_POSITIVE, .unit = "1",
     .help = "weight of the squared distances: the published program halves its 500000"},
    {"steps", RB_OPTION_WHOLE, AT(steps), .least = 2, .most = 1000, .unit = "1", .help = "time points"},
    {"iterations", RB_OPTION_WHOLE, AT(evaluations), .least = 1, .unit = "1",
     .help = "evaluations of objective and gradient, with those that the last step may still need"},
    {"petsc", RB_OPTION_TEXT, AT(petsc), .unit = "", .help = "PETSc's own options, e.g. '-tao_monitor'"},
    {NULL},
};
static void defaults(void *o) { *(rb_landmarks_options *)o = rb_landmarks_defaults(); }

/* The sums that a variant is made of, and its precision in the options. The precision comes from the variant, never
 * from the command line. */
static rb_status sums_of(const rb_variant *v, const void *from, rb_landmarks_options *o, const rb_variant **sums) {
  rb_status st = RB_OK;
  const rb_landmarks_config *c = v->ops;
  *o = *(const rb_landmarks_options *)from;
  o->dtype = c->dtype; /* not an option */
  RB_TRY(rb_variant_find(&rb_gausssum_family, c->gausssum, sums));
done:
  return st;
}

/* What a GPU's run takes on the host is a few arrays of points: not counted. */
static rb_status predict(const rb_variant *v, const void *from, const rb_problem_shape *shape, size_t *backend,
                         size_t *host) {
  rb_status st = RB_OK;
  rb_landmarks_options o;
  const rb_variant *sums;
  *host = 0;
  RB_TRY(sums_of(v, from, &o, &sums));
  *backend = rb_landmarks_predict(sums, &o, shape->points, shape->dim);
done:
  return st;
}

/* ---- solve ------------------------------------------------------------------------------------------------ */

static void destroy(void *p) {
  state *s = p;
  if (!s) return;
  rb_landmarks_destroy(s->landmarks);
  free(s);
}

/* One process, one template: `team` is not used. The points are borrowed from the problem, the targets are copied. */
static rb_status create(const rb_variant *v, const void *o, const rb_problem *problem, const rb_team *team,
                        const volatile int *interrupted, void **out) {
  rb_status st = RB_OK;
  (void)team;
  const rb_variant *sums;
  state *s = calloc(1, sizeof *s);
  RB_CHECK(s, RB_ENOMEM, "host memory");
  RB_TRY(sums_of(v, o, &s->options, &sums));
  s->options.interrupted = interrupted;
  s->n = problem->shape.points, s->dim = problem->shape.dim, s->points = problem->templates[0].points;
  RB_TRY(rb_landmarks_create(sums, &s->options, s->n, s->dim, s->points, problem->reference->points, &s->landmarks));
  *out = s;
  s = NULL;
done:
  destroy(s);
  return st;
}

/* A row an evaluation of objective and gradient, not an iteration: trial points of line searches are among them, so
 * the objective may rise from row to row. */
static const rb_history_column history[] = {
    {"evaluation", "1"}, {"objective", "1"}, {"kinetic", "1"}, {"seconds", "s"}, {NULL, NULL}};
static void add_row(void *solution, const rb_landmarks_row *t) {
  const double row[] = {t->evaluation, t->objective, t->kinetic, t->seconds};
  rb_solution_row(solution, row);
}

/* Ends by convergence and by the number of evaluations are what was asked for; a failed line search and an
 * interruption are warned of. Distances are in the points' unit, the objective holds lambda. */
static rb_status solve(void *p, rb_solution *out) {
  rb_status st = RB_OK;
  state *s = p;
  rb_landmarks_result r;
  RB_TRY(rb_landmarks_solve(s->landmarks, add_row, out, &r));
  out->end = r.end;
  /* the published program ends by its number of iterations, too */
  out->as_asked = r.end == RB_END_CONVERGED || r.end == RB_END_ITERATIONS;
  out->seconds = r.seconds;
  rb_solution_scalar(out, "average_before", r.average_before, "points", "mean distance to the target");
  rb_solution_scalar(out, "greatest_before", r.greatest_before, "points", "greatest distance");
  rb_solution_scalar(out, "average_after", r.average_after, "points", "mean distance at t = 1");
  rb_solution_scalar(out, "greatest_after", r.greatest_after, "points", "greatest distance at t = 1");
  rb_solution_scalar(out, "objective", r.objective, "1", "H(q0, p0) + lambda sum |q(1) - target|^2");
  rb_solution_scalar(out, "kinetic", r.kinetic, "1", "H(q0, p0)");
  rb_solution_scalar(out, "evaluations", r.evaluations, "1", "of objective and gradient");
  rb_solution_scalar(out, "iterations", r.iterations, "1", "of the quasi-Newton method");
done:
  return st;
}

/* ---- outputs ---------------------------------------------------------------------------------------------- */

/* Positions in the template's unit and frame, at the last time point of the best momentum. */
static rb_status matched(void *p, int t, void *out) {
  state *s = p;
  (void)t;
  return rb_landmarks_at(s->landmarks, s->options.steps - 1, out, NULL);
}
/* p0 [dim][n] of the best evaluation, from which the whole flow follows. */
static rb_status momentum(void *p, int t, void *out) {
  (void)t;
  return rb_landmarks_momentum(((state *)p)->landmarks, out);
}
/* [steps][dim][n], the template's points first. */
static rb_status trajectories(void *p, int t, void *out) {
  rb_status st = RB_OK;
  state *s = p;
  (void)t;
  for (int k = 0; k < s->options.steps; k++)
    RB_TRY(rb_landmarks_at(s->landmarks, k, (double *)out + (int64_t)k * s->dim * s->n, NULL));
done:
  return st;
}
static int time_points(void *p) { return ((state *)p)->options.steps; }
static const rb_output outputs[] = {
    {"matched", RB_OUTPUT_POINTS, "the template's points at t = 1", matched, NULL, 0},
    {"momentum", RB_OUTPUT_POINT_VECTORS, "a vector a point, at t = 0", momentum, NULL, 0},
    {"trajectories", RB_OUTPUT_PATHS, "positions at every time point", trajectories, time_points, 0},
    {NULL, RB_OUTPUT_POINTS, NULL, NULL, NULL, 0},
};

/* Any points of the template's space, for instance a surface of which the landmarks are a part. */
static rb_status carry(void *p, int64_t n, double *x) { return rb_landmarks_apply(((state *)p)->landmarks, n, x); }

/* From the momenta, in float64 on the CPU. v(x) = sum_j exp(-|x - q_j|^2 / (2 sigma^2)) p_j at t = 0, where q are the
 * template's points. A plan of its own on host memory: this is for few calls, and its accuracy does not depend on the
 * variant. */
static rb_status velocity_at(void *p, int64_t n, const double *x, double *out) {
  rb_status st = RB_OK;
  state *s = p;
  const rb_variant *v;
  rb_gausssum_plan *plan = NULL; /* lives for this call */
  rb_gausssum_desc d = {.n = s->n, .dim = s->dim, .dtype = RB_F64};
  double *p0 = malloc((size_t)(s->n * s->dim) * sizeof *p0);
  RB_CHECK(p0, RB_ENOMEM, "host memory");
  RB_TRY(rb_landmarks_momentum(s->landmarks, p0));
  RB_TRY(rb_variant_find(&rb_gausssum_family, "cpu/omp", &v));
  RB_TRY(rb_gausssum_create(v, &d, &plan));
  const rb_array q = rb_array_host(RB_F64, s->n * s->dim, s->points), m = rb_array_host(RB_F64, s->n * s->dim, p0),
                 at = rb_array_host(RB_F64, n * s->dim, x), v_at = rb_array_host(RB_F64, n * s->dim, out);
  RB_TRY(rb_gausssum_sum(plan, s->options.sigma, n, at, q, m, v_at));
done:
  rb_gausssum_destroy(plan);
  free(p0);
  return st;
}

const rb_solver rb_solver_landmarks = {
    .family = &rb_landmarks_family,
    .preferred = "gpu",
    .otherwise = "cpu",
    .takes = RB_TAKES_POINTS,
    .about = "Point i of the template is carried onto point i of the reference.",
    .citation = "GPU landmark matching by geodesic shooting (shooting2018)",
    .made_of = made_of,
    .options = options,
    .options_size = sizeof(rb_landmarks_options),
    .defaults = defaults,
    .history = history,
    .outputs = outputs,
    .predict = predict,
    .create = create,
    .solve = solve,
    .carry = carry,
    .velocity_at = velocity_at,
    .destroy = destroy,
    .close = rb_krylov_close,
};
