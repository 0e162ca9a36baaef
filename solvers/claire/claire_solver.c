/* SPDX-License-Identifier: BSD-3-Clause */
/* claire as a solver of the contract. */
#include "solvers/claire/claire.h"
#include "solvers/common/by_displacement.h"
#include "solvers/krylov/krylov.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct {
  /* The images lie in the registration; the template's own arrays are the caller's and are read again for the
   * outputs. */
  rb_claire *claire;
  rb_grid grid;
  rb_subject subject; /* the template */
} state;

/* ops is NULL for a variant that is not built here. */
static void made_of(const rb_variant *v, char *out, size_t size) {
  const rb_claire_config *c = v->ops;
  if (c)
    snprintf(out, size, "%s, %s %s, %s, %s", c->transport, c->interp, c->basis, c->derivative, c->spectral);
  else
    *out = '\0';
}

/* ---- options ---------------------------------------------------------------------------------------------- */

/* `presolve` has no option: 0.1 on every level before the last, as in the paper's program. Further ranges are checked
 * in claire.c. `petsc` is read once, by create. */
#define AT(field) offsetof(rb_claire_options, field)
static const rb_solver_option options[] = {
    {"beta", RB_OPTION_REAL, AT(beta), .least = RB_POSITIVE, .unit = "1", .help = "target regularisation weight"},
    {"beta-div", RB_OPTION_REAL, AT(beta_div), .least = RB_POSITIVE, .unit = "1",
     .help = "weight of the divergence penalty"},
    {"regularisation", RB_OPTION_CHOICE, AT(regularisation), .choices = "h1-div h1-semi h2-semi h1 h2", .unit = "",
     .help = "norm of the velocity that is penalised"},
    {"incompressible", RB_OPTION_FLAG, AT(incompressible), .flag = 1, .unit = "",
     .help = "velocities without divergence: volumes are kept"},
    {"steps", RB_OPTION_WHOLE, AT(steps), .least = 1, .unit = "1", .help = "time steps"},
    {"tolerance", RB_OPTION_REAL, AT(tolerance), .least = RB_POSITIVE, .unit = "1",
     .help = "relative gradient at the end"},
    {"no-continuation", RB_OPTION_FLAG, AT(continuation), .flag = 0, .unit = "", .help = "only the target beta"},
    {"newton", RB_OPTION_WHOLE, AT(most_newton), .least = 1, .unit = "1", .help = "Newton steps a level, at most"},
    {"krylov", RB_OPTION_WHOLE, AT(most_krylov), .least = 1, .unit = "1",
     .help = "Krylov iterations a Newton step, at most"},
    {"smooth", RB_OPTION_REAL, AT(sigma), .least = 0, .unit = "voxel", .help = "Gaussian smoothing of both images"},
    {"petsc", RB_OPTION_TEXT, AT(petsc), .unit = "",
     .help = "PETSc's own options, e.g. '-tao_monitor -tao_nls_ksp_monitor'"},
    {NULL},
};
static void defaults(void *o) { *(rb_claire_options *)o = rb_claire_defaults(); }

/* The solver, and with label maps a second transport that carries labels while the first stands: its history, the
 * fields of a transport and of a cubic basis, and the spectral plans that differentiate and smooth. */
static rb_status predict(const rb_variant *v, const void *o, const rb_problem_shape *shape, size_t *backend,
                         size_t *host) {
  /* Fields of N values besides the history of the labels' transport. */
  enum { TRANSPORT_FIELDS = 14, BASIS_FIELDS = 4, SPECTRAL_FIELDS_CUDA = 10, SPECTRAL_FIELDS_CPU = 3 };
  rb_status st = RB_OK;
  const rb_claire_options *p = o;
  RB_TRY(rb_claire_predict(v, p, shape->grid, backend, host));
  if (shape->labels) {
    const rb_claire_config *c = v->ops;
    const int spectral = c->scheme != RB_SPECTRAL ? 0
                         : v->backend == RB_CUDA  ? SPECTRAL_FIELDS_CUDA
                                                  : SPECTRAL_FIELDS_CPU,
              fields = p->steps + 1 + TRANSPORT_FIELDS + BASIS_FIELDS + spectral;
    *backend += (size_t)rb_grid_points(shape->grid) * (size_t)fields * rb_dtype_size(c->dtype);
  }
done:
  return st;
}

/* ---- solve ------------------------------------------------------------------------------------------------ */

static void destroy(void *p) {
  state *s = p;
  if (!s) return;
  rb_claire_destroy(s->claire);
  free(s);
}

/* One process, one template: `team` is not used. */
static rb_status create(const rb_variant *v, const void *o, const rb_problem *problem, const rb_team *team,
                        const volatile int *interrupted, void **out) {
  rb_status st = RB_OK;
  (void)team;
  rb_claire_options mine = *(const rb_claire_options *)o; /* with the flag, which is no option */
  state *s = calloc(1, sizeof *s);
  RB_CHECK(s, RB_ENOMEM, "host memory");
  mine.interrupted = interrupted;
  s->grid = problem->shape.grid, s->subject = problem->templates[0];
  RB_TRY(rb_claire_create(v, &mine, s->grid, s->subject.image, problem->reference->image, &s->claire));
  *out = s;
  s = NULL;
done:
  destroy(s);
  return st;
}

/* A row a Newton step, and one at the start of each level (iteration 0). beta is the level's; objective, mismatch and
 * gradient are relative to v = 0 at beta = 1; forcing is the relative tolerance of the last CG solve. */
static const rb_history_column history[] = {
    {"level", "1"},    {"iteration", "1"}, {"matvecs", "1"}, {"beta", "1"},    {"objective", "1"}, {"mismatch", "1"},
    {"gradient", "1"}, {"step", "1"},      {"forcing", "1"}, {"seconds", "s"}, {NULL, NULL},
};
static void add_row(void *solution, const rb_claire_iteration *t) {
  const double row[] = {t->level,    t->iteration, t->matvecs, t->beta,    t->objective,
                        t->mismatch, t->gradient,  t->step,    t->forcing, t->seconds};
  rb_solution_row(solution, row);
}

/* Seconds by class of kernel; only where a profile was asked for are there stamps. */
static void add_parts(const rb_profile *p, rb_solution *out) {
  for (int k = 0; k < RB_CLASSES && p->stamps > 0; k++)
    rb_solution_part(out, rb_class_name((rb_class)k), p->seconds[k]);
}

/* Every end but convergence is one to warn of. */
static rb_status solve(void *p, rb_solution *out) {
  rb_status st = RB_OK;
  state *s = p;
  rb_claire_result r;
  RB_TRY(rb_claire_solve(s->claire, add_row, out, &r));
  out->end = r.end, out->as_asked = r.end == RB_END_CONVERGED;
  out->seconds = r.seconds; /* levels alone; set-up is create's */
  rb_solution_scalar(out, "mismatch", r.mismatch, "1", "|m(1) - m_R|^2 / |m_T - m_R|^2 of the smoothed images");
  rb_solution_scalar(out, "relative_gradient", r.gradient, "1", "|g| / |g(v = 0, beta = 1)|");
  rb_solution_scalar(out, "newton_steps", r.newton, "1", "over all levels");
  rb_solution_scalar(out, "hessian_products", r.matvecs, "1", "over all levels");
  add_parts(&r.profile, out);
done:
  return st;
}

/* ---- outputs ---------------------------------------------------------------------------------------------- */

/* From radians to voxels a unit time: an axis of 2 pi has n cells of h = 2 pi / n. */
static rb_status velocity(void *p, int t, void *out) {
  rb_status st = RB_OK;
  state *s = p;
  const int64_t n = rb_grid_points(s->grid);
  float *v = out;
  (void)t;
  RB_TRY(rb_claire_velocity(s->claire, v)); /* radians a unit time */
  for (int a = 0; a < 3; a++)
    for (int64_t i = 0; i < n; i++) v[a * n + i] /= (float)rb_grid_spacing(s->grid, a);
done:
  return st;
}
/* In voxels: the template is read at x + u(x), the reference's grid. */
static rb_status displacement(void *p, int t, void *out) {
  (void)t;
  return rb_claire_displacement(((state *)p)->claire, out);
}
/* What is made of the written displacement alone. By the kernels in solvers/common, as for every solver: nothing of
 * the transport enters but the displacement. image NULL: the determinant. */
static rb_status displaced(state *s, const float *image, float *out) {
  rb_status st = RB_OK;
  float *u = malloc(3 * (size_t)rb_grid_points(s->grid) * sizeof *u);
  RB_CHECK(u, RB_ENOMEM, "host memory: %zu bytes for a displacement",
           3 * (size_t)rb_grid_points(s->grid) * sizeof *u);
  RB_TRY(rb_claire_displacement(s->claire, u));
  RB_TRY(image ? rb_displaced_image(s->grid, u, image, out) : rb_displacement_determinant(s->grid, u, out));
done:
  free(u);
  return st;
}
/* The user's intensities, not the smoothed ones, by one interpolation. */
static rb_status warped(void *p, int t, void *out) {
  (void)t;
  return displaced(p, ((state *)p)->subject.image, out);
}
static rb_status jacobian(void *p, int t, void *out) {
  (void)t;
  return displaced(p, NULL, out);
}
/* By transport: det F(x) is the determinant of the map's inverse, `jacobian` that of the displacement. */
static rb_status determinant(void *p, int t, void *out) {
  rb_claire_determinant extremes;
  (void)t;
  return rb_claire_jacobian(((state *)p)->claire, out, &extremes);
}
/* As they are, not smoothed: what users get. Both variations need the cubic transport of their own. */
static rb_status labels(void *p, int t, void *out) {
  (void)t;
  return rb_claire_labels(((state *)p)->claire, ((state *)p)->subject.labels, 0, out);
}
static rb_status labels_smoothed(void *p, int t, void *out) {
  (void)t;
  return rb_claire_labels(((state *)p)->claire, ((state *)p)->subject.labels, 1, out);
}
/* All are made on demand from the state of the last evaluation. What begins with '.' is for experiments and is not
 * written. */
static const rb_output outputs[] = {
    {"warped", RB_OUTPUT_SCALAR, "the template at x + displacement(x)", warped, NULL, 0},
    {"velocity", RB_OUTPUT_VECTOR, "stationary velocity, mm a unit time to the left, posterior, superior", velocity,
     NULL, 0},
    {"displacement", RB_OUTPUT_VECTOR,
     "as ITK takes it: mm to the left, posterior, superior; the template is read at x + u(x)", displacement, NULL, 0},
    {"jacobian", RB_OUTPUT_DETERMINANT, "determinant of I + du/dx, u the displacement", jacobian, NULL, 0},
    {"detF", RB_OUTPUT_DETERMINANT, "brunn2020's det F, by transport: its inverse, but for discretisation",
     determinant, NULL, 0},
    {"labels", RB_OUTPUT_LABELS, "the template's labels, carried by their indicators", labels, NULL, 0},
    {".labels-smoothed", RB_OUTPUT_LABELS, "by smoothed indicators, brunn2020's protocol: Dice only", labels_smoothed,
     NULL, 0},
    {NULL, RB_OUTPUT_SCALAR, NULL, NULL, NULL, 0},
};

/* Ours on a GPU, the paper's kernels on a CPU, with the same numerics: FD8 and trilinear interpolation. */
const rb_solver rb_solver_claire = {
    .family = &rb_claire_family,
    .preferred = "fused-fd8-linear",
    .otherwise = "cpu-fd8-linear",
    .takes = RB_TAKES_IMAGES,
    .about = "",
    .citation =
        "M. Brunn, N. Himthani, G. Biros, M. Mehl, A. Mang: Fast GPU 3D diffeomorphic image registration (brunn2020)",
    .made_of = made_of,
    .options = options,
    .options_size = sizeof(rb_claire_options),
    .defaults = defaults,
    .history = history,
    .outputs = outputs,
    .predict = predict,
    .create = create,
    .solve = solve,
    .destroy = destroy,
    .close = rb_krylov_close,
};
