/* SPDX-License-Identifier: BSD-3-Clause */
/* The levels of the continuation, each a TaoSolve: NLS with Armijo's rule around KSPCG. */
#include "kernels/base/clock.h"
#include "solvers/claire/claire_impl.h"

#include <math.h>
#include <stdio.h>

/* J and g for TAO, which asks for both at every trial point of a line search, so that a rejected trial costs a
 * gradient, too. rb_vec_data on g tells PETSc that the norms it has cached for g are void. */
static PetscErrorCode objective_and_gradient(Tao tao, Vec x, PetscReal *f, Vec g, void *context) {
  (void)tao;
  return rb_petsc_code(rb_claire_objective(context, rb_vec_read(x), f, rb_vec_data(g)));
}

/* The Hessian product refers to the last evaluated velocity, which is the accepted one: nothing to assemble. */
static PetscErrorCode hessian_here(Tao tao, Vec x, Mat h, Mat p, void *context) {
  (void)tao, (void)x, (void)h, (void)p, (void)context;
  return 0;
}
/* y = H x of the Gauss-Newton approximation, equations 3 and 4 of brunn2020. H is not symmetric where K filters the
 * data term alone; CG is used as in the paper's program. */
static PetscErrorCode hessian_product(Mat h, Vec x, Vec y) {
  void *c;
  PetscCall(MatShellGetContext(h, &c));
  return rb_petsc_code(rb_claire_hessian(c, rb_vec_read(x), rb_vec_data(y)));
}
/* NLS shifts a Hessian that CG found indefinite, by 1e-4 at least and without taking it back: absolute amounts that
 * hd makes enormous. Gauss-Newton's is positive; what CG has when it stops early serves as the direction. */
static PetscErrorCode no_shift(Mat h, PetscScalar a) {
  (void)h, (void)a;
  return 0;
}
/* z = A^-1 r by one scale per frequency: K is not part of it. On coefficients no transform is needed; on velocities
 * one there and one back. */
static PetscErrorCode precondition(PC pc, Vec r, Vec z) {
  rb_claire *c;
  PetscCall(PCShellGetContext(pc, &c));
  return rb_petsc_code(c->config.coordinates == RB_COEFFICIENTS
                           ? rb_spectral_scale(c->spectral, &c->level.inverse, rb_vec_read(r), rb_vec_data(z))
                           : rb_spectral_apply(c->spectral, &c->level.inverse, rb_vec_read(r), rb_vec_data(z)));
}

/* Superlinear forcing: the tolerance of this linear solve from its right-hand side. min(1/2, sqrt(|g| / |g(0)|)),
 * with |g(0)| at v = 0 and beta = 1 on every level. CG starts at 0, so its right-hand side is the gradient. PETSc
 * calls this at the start of each linear solve; 1e-20 is the absolute tolerance. */
static PetscErrorCode set_forcing(KSP ksp, Vec b, Vec x, void *context) {
  rb_claire *c = context;
  PetscReal norm;
  (void)x;
  PetscCall(VecNorm(b, NORM_2, &norm)); /* |g| of this Newton step */
  c->forcing = fmax(1e-16, fmin(0.5, sqrt(norm / c->gradient0)));
  PetscCall(KSPSetTolerances(ksp, c->forcing, 1e-20, PETSC_DEFAULT, c->options.most_krylov));
  return 0;
}

/* A row of the table for iteration `iteration` of the level, relative to v = 0, beta = 1. The result's own numbers
 * follow the last row, so they describe the iterate that is kept when a solve ends early. Rows beyond the table's
 * size go to the hook alone. */
static void add_row(rb_claire *c, int iteration, double f, double gradient, double step) {
  rb_claire_result *r = c->result;
  rb_claire_iteration row = {.level = c->level_index,
                             .iteration = iteration,
                             .matvecs = r->matvecs,
                             .beta = c->beta,
                             .objective = f / c->objective0,
                             .mismatch = c->mismatch / c->mismatch0,
                             .gradient = gradient / c->gradient0,
                             .step = step,
                             .forcing = c->forcing,
                             .seconds = rb_now() - c->started};
  r->mismatch = row.mismatch, r->gradient = row.gradient, r->objective = row.objective;
  if (r->rows < RB_CLAIRE_ITERATIONS) r->table[r->rows++] = row; /* the hook gets all */
  if (c->hook) c->hook(c->hook_context, &row);
}

/* Context of the linear solver's test: PETSc's default test needs a state of its own. Freed by krylov_test_destroy,
 * which PETSc calls with the solver's end. */
typedef struct {
  const rb_claire *solver;
  void *of_petsc; /* its own test's */
} krylov_test;

/* The flag may change at any moment: it is read anew each time. */
static int stop_wanted(const rb_claire *c) { return c->options.interrupted && *c->options.interrupted; }

/* Called at iteration 0 and after every Newton step; a level takes at least one step. In this order: NaN ends the
 * solve as a failure; an interruption keeps the iterate; the level's start ends only where the gradient is exactly 0;
 * then the relative tolerance, the absolute one of 1e-6 (the gradient holds hd), a step below 2^-10, and the limit on
 * Newton steps. */
static PetscErrorCode converged(Tao tao, void *context) {
  rb_claire *c = context;
  PetscInt iteration;
  PetscReal f, gradient, step;
  TaoConvergedReason reason = TAO_CONTINUE_ITERATING;
  PetscCall(TaoGetSolutionStatus(tao, &iteration, &f, &gradient, NULL, &step, NULL));
  add_row(c, (int)iteration, f, gradient, iteration ? step : 0);
  if (!isfinite(f) || !isfinite(gradient))
    reason = TAO_DIVERGED_NAN;
  else if (stop_wanted(c))
    reason = TAO_DIVERGED_USER;
  else if (iteration == 0)
    reason = gradient == 0 ? TAO_CONVERGED_GATOL : TAO_CONTINUE_ITERATING;
  else if (gradient < c->tolerance * c->gradient0)
    reason = TAO_CONVERGED_GTTOL;
  else if (gradient < 1e-6)
    reason = TAO_CONVERGED_GATOL;
  else if (step < 1.0 / 1024)
    reason = TAO_CONVERGED_STEPTOL;
  else if (iteration >= c->options.most_newton)
    reason = TAO_DIVERGED_MAXITS;
  PetscCall(TaoSetConvergedReason(tao, reason)); /* CONTINUE where none applies */
  return 0;
}

/* PETSc's own test, and an end as soon as one is wished for: a Newton step may take hundreds of products, minutes on
 * a CPU. The step so far is kept. KSP_CONVERGED_ITS makes PETSc take it for a solve that ended well, so that TAO goes
 * on to its own test, where the interruption is noticed. */
static PetscErrorCode krylov_converged(KSP ksp, PetscInt iteration, PetscReal norm, KSPConvergedReason *reason,
                                       void *context) {
  krylov_test *t = context;
  PetscCall(KSPConvergedDefault(ksp, iteration, norm, reason, t->of_petsc));
  if (*reason == KSP_CONVERGED_ITERATING && stop_wanted(t->solver)) *reason = KSP_CONVERGED_ITS;
  return 0;
}
static PetscErrorCode krylov_test_destroy(void *context) {
  krylov_test *t = context;
  PetscCall(KSPConvergedDefaultDestroy(t->of_petsc));
  free(t);
  return 0;
}
/* PETSc owns the context from KSPSetConvergenceTest on; before that it is freed here. */
static rb_status set_krylov_test(rb_claire *c) {
  rb_status st = RB_OK;
  krylov_test *t = calloc(1, sizeof *t);
  RB_CHECK(t, RB_ENOMEM, "host memory");
  t->solver = c; /* outlives the test: TAO goes first */
  RB_PETSC(KSPConvergedDefaultCreate(&t->of_petsc));
  RB_PETSC(KSPSetConvergenceTest(c->ksp, krylov_converged, t, krylov_test_destroy));
  t = NULL;
done:
  free(t);
  return st;
}

/* The Hessian is a shell: only products with it exist. The order matters at the end: options of the user are read
 * first (TaoSetFromOptions), then the norm of CG's test, its forcing and our end are set, whatever the options
 * say. The KSP is TAO's and dies with it. CG stops by the unpreconditioned residual |r|, as the paper's program
 * does. */
rb_status rb_claire_optimiser_create(rb_claire *c) {
  rb_status st = RB_OK;
  PC pc;
  TaoLineSearch search;
  RB_PETSC(MatCreateShell(rb_krylov_communicator(), (PetscInt)c->unknowns, (PetscInt)c->unknowns,
                          (PetscInt)c->unknowns, (PetscInt)c->unknowns, c, &c->hessian));
  RB_PETSC(MatShellSetOperation(c->hessian, MATOP_MULT, (void (*)(void))hessian_product));
  RB_PETSC(MatShellSetManageScalingShifts(c->hessian)); /* ours, not the shell's */
  RB_PETSC(MatShellSetOperation(c->hessian, MATOP_SHIFT, (void (*)(void))no_shift));
  RB_PETSC(TaoCreate(rb_krylov_communicator(), &c->tao));
  RB_PETSC(TaoSetType(c->tao, TAONLS));
  RB_PETSC(TaoSetSolution(c->tao, c->x));
  RB_PETSC(TaoSetObjectiveAndGradient(c->tao, NULL, objective_and_gradient, c));
  RB_PETSC(TaoSetHessian(c->tao, c->hessian, c->hessian, hessian_here, c));
  RB_PETSC(TaoSetConvergenceTest(c->tao, converged, c)); /* in place of TAO's own tolerances */
  RB_PETSC(TaoGetLineSearch(c->tao, &search));
  RB_PETSC(TaoLineSearchSetType(search, TAOLINESEARCHARMIJO)); /* J falls by 1e-4 of g.d, or half the step */
  RB_PETSC(TaoGetKSP(c->tao, &c->ksp));
  RB_PETSC(KSPSetType(c->ksp, KSPCG));
  RB_PETSC(KSPGetPC(c->ksp, &pc)); /* owned by the KSP */
  RB_PETSC(PCSetType(pc, PCSHELL));
  RB_PETSC(PCShellSetContext(pc, c));
  RB_PETSC(PCShellSetApply(pc, precondition));
  RB_PETSC(TaoSetFromOptions(c->tao));
  RB_PETSC(KSPSetNormType(c->ksp, KSP_NORM_UNPRECONDITIONED));
  RB_PETSC(KSPSetPreSolve(c->ksp, set_forcing, c));
  RB_TRY(set_krylov_test(c));
done:
  return st;
}

void rb_claire_optimiser_destroy(rb_claire *c) {
  if (c->tao) TaoDestroy(&c->tao);
  if (c->hessian) MatDestroy(&c->hessian);
}

/* Operators depend on beta: A and its inverse by a factor, K through theta(k) with beta_v = beta. */
static void set_level(rb_claire *c, double beta) {
  c->beta = beta;
  c->level = rb_claire_operators_at(&c->options, beta, c->hd);
}

/* The scales that everything relative refers to: v = 0, beta = 1. g: room for a gradient. Called at the start of a
 * solve, outside its time, and by rb_claire_evaluate. It leaves x = 0 and the transport's state at v = 0. */
static rb_status reference_point(rb_claire *c) {
  rb_status st = RB_OK;
  Vec g = NULL;
  PetscReal norm;
  set_level(c, 1); /* beta = 1 whatever the target */
  RB_PETSC(VecDuplicate(c->x, &g));
  RB_PETSC(VecSet(c->x, 0));
  RB_TRY(rb_claire_objective(c, rb_vec_read(c->x), &c->objective0, rb_vec_data(g)));
  RB_PETSC(VecNorm(g, NORM_2, &norm));
  c->gradient0 = norm;
  c->mismatch0 = c->mismatch;
  RB_CHECK(isfinite(norm), RB_EINVALID, "the gradient at v = 0 is not finite");
done:
  if (g) VecDestroy(&g);
  return st;
}

/* One TaoSolve at a beta from the present x. Waits for the backend before and after, so that the seconds are those of
 * the level alone. An end by the level's limit, by the step or by the line search is no failure: the next level
 * begins where this one ended. A NaN is one: RB_EINVALID. */
static rb_status solve_level(rb_claire *c, double beta, double tolerance) {
  rb_status st = RB_OK;
  TaoConvergedReason reason;
  PetscInt steps;
  double start;
  set_level(c, beta);
  c->tolerance = tolerance;
  RB_TRY(c->backend->sync());
  start = rb_now();
  RB_PETSC(TaoSolve(c->tao));
  RB_TRY(c->backend->sync());
  c->result->seconds += rb_now() - start;
  RB_PETSC(TaoGetConvergedReason(c->tao, &reason));
  RB_PETSC(TaoGetIterationNumber(c->tao, &steps));
  c->result->newton += (int)steps; /* without the level's start */
  c->result->levels++;
  c->result->end = reason == TAO_DIVERGED_USER         ? RB_END_INTERRUPTED
                   : reason == TAO_DIVERGED_MAXITS     ? RB_END_ITERATIONS
                   : reason == TAO_DIVERGED_LS_FAILURE ? RB_END_LINE_SEARCH
                   : reason == TAO_CONVERGED_STEPTOL   ? RB_END_STALLED
                   : reason > 0                        ? RB_END_CONVERGED
                                                       : RB_END_STALLED;
  RB_CHECK(reason != TAO_DIVERGED_NAN, RB_EINVALID, "objective or gradient became NaN at beta = %g", beta);
done:
  return st;
}

/* The continuation in beta: 1, 1/10, ... while above the target, each to the looser tolerance `presolve`; then the
 * target itself to `tolerance`. An interruption ends all levels; how an earlier level ended is otherwise not kept,
 * the result has the last one's end. */
rb_status rb_claire_optimise(rb_claire *c) {
  rb_status st = RB_OK;
  const rb_claire_options *o = &c->options;
  c->level_index = 0;
  c->forcing = 0;
  RB_TRY(reference_point(c));
  RB_TRY(rb_profile_start(c->backend, c->options.profile)); /* what the levels take, as their time */
  c->started = rb_now();
  if (c->gradient0 == 0) { /* equal images: v = 0 is the answer */
    set_level(c, o->beta);
    goto done;
  }
  /* exact powers of ten: 1e-4 as a target must not meet a level of 1.0000000000000002e-4 before it */
  for (int e = 0; o->continuation && pow(10, -e) > o->beta * (1 + 1e-6) && e < RB_CLAIRE_LEVELS - 1; e++) {
    RB_TRY(solve_level(c, pow(10, -e), o->presolve));
    if (c->result->end == RB_END_INTERRUPTED) goto done;
    c->level_index++;
  }
  RB_TRY(solve_level(c, o->beta, o->tolerance)); /* the only level without continuation */
done:
  return st;
}

/* The result is the caller's and is referred to during the call only. After it the plans hold the state of the final
 * x, which all the outputs are made of. */
rb_status rb_claire_solve(rb_claire *c, rb_claire_hook hook, void *context, rb_claire_result *out) {
  rb_status st = RB_OK;
  double objective;
  *out = (rb_claire_result){0};
  c->result = out;
  c->hook = hook, c->hook_context = context;
  RB_TRY(rb_claire_optimise(c));
  RB_TRY(rb_profile_stop(c->backend, &out->profile));
  /* a line search that failed left another velocity in the plans */
  c->result = NULL;
  if (out->end == RB_END_LINE_SEARCH) RB_TRY(rb_claire_objective(c, rb_vec_read(c->x), &objective, rb_array_none()));
done:
  rb_profile_abandon(); /* after a failure; else it has ended */
  c->result = NULL;
  return st;
}

rb_status rb_claire_set_profile(rb_claire *c, int profile) {
  c->options.profile = profile;
  return RB_OK;
}

/* Bytes 0xFF are NaN in float32 and float64 alike. */
rb_status rb_claire_forget(rb_claire *c) {
  rb_status st = RB_OK;
  RB_PETSC(VecSet(c->x, NAN)); /* a result that was not solved anew shows */
  c->is_zero = 0;
  RB_TRY(rb_array_fill(c->v, 0xFF));
done:
  return st;
}

/* Into the optimiser's vector; the level becomes the target's. velocity [3][N] in radians a unit time; c->b is used
 * as room on the backend. */
static rb_status put_velocity(rb_claire *c, const float *velocity) {
  rb_status st = RB_OK;
  rb_spectral_op one = rb_spectral_times(1);
  RB_TRY(rb_array_put_floats(c->b, velocity)); /* room until the next adjoint */
  if (c->config.coordinates == RB_COEFFICIENTS)
    RB_TRY(rb_spectral_analyse(c->spectral, &one, c->b, NULL, rb_array_none(), rb_vec_data(c->x)));
  else
    RB_TRY(rb_field_combine(c->field, 3 * c->n, 1, c->b, 0, rb_array_none(), 0, rb_vec_data(c->x)));
  set_level(c, c->options.beta);
done:
  return st;
}

/* One evaluation without a gradient makes the characteristics and the history m^0 .. m^steps that the outputs
 * read. */
rb_status rb_claire_set_velocity(rb_claire *c, const float *velocity) {
  rb_status st = RB_OK;
  double objective;
  RB_TRY(put_velocity(c, velocity));
  RB_TRY(rb_claire_objective(c, rb_vec_read(c->x), &objective, rb_array_none()));
done:
  return st;
}

/* The gradient is that of the target's beta, its scale that of v = 0 and beta = 1, as in the table of a solve. */
rb_status rb_claire_evaluate(rb_claire *c, const float *velocity, double *mismatch, double *gradient) {
  rb_status st = RB_OK;
  Vec g = NULL;
  PetscReal norm;
  double objective;
  RB_TRY(reference_point(c));
  RB_PETSC(VecDuplicate(c->x, &g));
  RB_TRY(put_velocity(c, velocity));
  RB_TRY(rb_claire_objective(c, rb_vec_read(c->x), &objective, rb_vec_data(g)));
  RB_PETSC(VecNorm(g, NORM_2, &norm));
  *mismatch = c->mismatch / c->mismatch0;
  *gradient = norm / c->gradient0;
done:
  if (g) VecDestroy(&g);
  return st;
}
