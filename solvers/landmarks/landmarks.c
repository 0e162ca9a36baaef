/* SPDX-License-Identifier: BSD-3-Clause */
/* Variants, the optimiser and the solve of landmark matching (shooting2018); landmarks_flow.c has the flow and its
 * gradient. */
#include "kernels/base/clock.h"
#include "solvers/landmarks/landmarks_impl.h"
#include "solvers/common/field_variant.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  HOST_UNKNOWNS = 30000
}; /* up to here the optimiser's vectors lie on the host: some 40 small operations an iteration */

/* Which kernels sum the Gaussian over pairs. Everything else, time steps and optimiser, is the same in all
 * variants. */
static const rb_landmarks_config cpu_naive = {"cpu/naive", RB_F32}, cpu = {"cpu/omp", RB_F32},
                                 cpu_f64 = {"cpu/omp", RB_F64};
static const rb_landmarks_config gpu_cublas = {"cuda/cublas", RB_F32}, gpu_shared = {"cuda/shared-reduction", RB_F32},
                                 gpu = {"cuda/tiled", RB_F32};
static const rb_variant variants[] = {
    {"cpu-naive", "CPU", "float32, one thread, sums in sequence: the paper's own CPU code in spirit",
     RB_ON_CPU(&cpu_naive)},
    {"cpu", "", "float32, all cores", RB_ON_CPU(&cpu)},
    {"cpu-f64", "", "float64, all cores", RB_ON_CPU(&cpu_f64)},
    {"gpu-cublas", "cuBLAS", "float32, the paper's first design: N x N terms, cuBLAS products with ones",
     RB_ON_CUDA(&gpu_cublas)},
    {"gpu-shared", "GPU", "float32, the paper's design: binary reduction in shared memory", RB_ON_CUDA(&gpu_shared)},
    {"gpu", "", "float32, ours: a flow a kernel, an evaluation a CUDA graph", RB_ON_CUDA(&gpu)},
};
const rb_family rb_landmarks_family = {
    .name = "landmarks",
    .what = "matching of corresponding points by geodesic shooting (shooting2018)",
    .variants = variants,
    .count = sizeof variants / sizeof *variants,
};

/* Whether float32 sums lose digits over many terms, which is what tolerances depend on. */
int rb_landmarks_sequential(const rb_variant *variant) {
  const rb_landmarks_config *c = variant->ops;
  const rb_variant *sums;
  return c && rb_variant_find(&rb_gausssum_family, c->gausssum, &sums) == RB_OK && rb_gausssum_sequential(sums);
}
rb_landmarks_options rb_landmarks_defaults(void) {
  return (rb_landmarks_options){.sigma = 1.5, .lambda = 250000, .steps = 40, .evaluations = 400, .dtype = RB_F32};
}

/* ---- PETSc ---------------------------------------------------------------------------------------------- */

/* E(p0) and its gradient for TAO. Each call is one evaluation: it is counted, goes into the table and to the hook,
 * and is compared with the best so far, whose momentum is copied aside: the last trial point of a line search need
 * not be the best. Table and best objective are unscaled; TAO gets scale E and its gradient. With scale = E / |g|^2
 * of the first evaluation, minus TAO's first gradient is E / |g| long. */
static PetscErrorCode objective_and_gradient(Tao tao, Vec x, PetscReal *f, Vec g, void *context) {
  rb_landmarks *s = context;
  double kinetic;
  (void)tao;
  PetscCall(rb_petsc_code(rb_landmarks_objective(s, x, f, &kinetic, g)));
  rb_landmarks_row row = {s->result->evaluations++, *f, kinetic, rb_now() - s->started};
  if (s->result->rows < RB_LANDMARKS_ROWS) s->result->table[s->result->rows++] = row;
  if (*f < s->best_objective) {
    s->best_objective = *f;
    PetscCall(VecCopy(x, s->best)); /* kept whatever the search does next */
  }
  if (s->hook) s->hook(s->hook_context, &row);
  if (s->scale == 0) { /* the first evaluation sets it */
    PetscScalar square;
    PetscCall(VecDot(g, g, &square));
    s->scale = square > 0 ? *f / square : 1; /* E / |g|^2 */
  }
  *f *= s->scale;
  PetscCall(VecScale(g, s->scale)); /* E and g alike: the same minimiser */
  return 0;
}

/* Called by TAO after each iteration. There is no tolerance: like the published program a solve ends by its number
 * of evaluations; before that only by an interruption, by a gradient that is exactly 0, or where the line search
 * fails. */
static PetscErrorCode has_converged(Tao tao, void *context) {
  rb_landmarks *s = context;
  PetscReal f, gradient;
  TaoConvergedReason reason;
  PetscCall(TaoGetConvergedReason(tao, &reason));
  if (reason != TAO_CONTINUE_ITERATING) return 0; /* the line search failed: TAO asks all the same */
  PetscCall(TaoGetSolutionStatus(tao, NULL, &f, &gradient, NULL, NULL, NULL));
  if (s->options.interrupted && *s->options.interrupted)
    reason = TAO_DIVERGED_USER;
  else if (gradient == 0)
    reason = TAO_CONVERGED_GATOL;
  else if (s->result->evaluations >= s->options.evaluations)
    reason = TAO_DIVERGED_MAXFCN;
  PetscCall(TaoSetConvergedReason(tao, reason));
  return 0;
}

/* Limited-memory quasi-Newton (LMVM), made once. PETSc's options are one list for the program: the user's come second
 * and win over those here. TAO's own limits on evaluations and iterations are set to the same
 * number. `best` is a duplicate of `momentum`. */
static rb_status create_optimiser(rb_landmarks *s) {
  rb_status st = RB_OK;
  RB_TRY(
      rb_krylov_options("-tao_lmvm_mat_lmvm_scale_type scalar " /* PETSc's default scaling reaches for a host array */
                        "-tao_lmvm_mat_lmvm_hist_size 10")); /* 5, as VNL's, ends at 0.0630 mm on the authors' pair,
                                                                10 at 0.0616, 20 at 0.0604 */
  RB_TRY(rb_krylov_options(s->options.petsc));
  RB_TRY(s->on_host ? rb_host_vec_create(s->unknowns, &s->momentum)
                    : rb_vec_create(s->backend, s->options.dtype, s->unknowns, &s->momentum));
  RB_PETSC(VecDuplicate(s->momentum, &s->best));
  RB_PETSC(VecSet(s->momentum, 0));
  RB_PETSC(VecSet(s->best, 0));
  RB_PETSC(TaoCreate(rb_krylov_communicator(), &s->tao));
  RB_PETSC(TaoSetType(s->tao, TAOLMVM)); /* limited-memory quasi-Newton */
  RB_PETSC(TaoSetSolution(s->tao, s->momentum));
  RB_PETSC(TaoSetObjectiveAndGradient(s->tao, NULL, objective_and_gradient, s));
  RB_PETSC(TaoSetConvergenceTest(s->tao, has_converged, s));
  RB_PETSC(TaoSetMaximumFunctionEvaluations(s->tao, s->options.evaluations));
  RB_PETSC(TaoSetMaximumIterations(s->tao, s->options.evaluations));
  RB_PETSC(TaoSetFromOptions(s->tao));
done:
  return st;
}

/* What a caller may get wrong; options of the command line have their ranges in landmarks_solver.c. */
static rb_status check_options(const rb_landmarks_options *o) {
  rb_status st = RB_OK;
  RB_CHECK(o->sigma > 0 && isfinite(o->sigma), RB_EINVAL, "sigma is %g; it must be positive", o->sigma);
  RB_CHECK(o->lambda > 0 && isfinite(o->lambda), RB_EINVAL, "lambda is %g; it must be positive", o->lambda);
  RB_CHECK(o->steps >= 2 && o->steps <= 1000, RB_EINVAL, "%d time points; 2 to 1000 work", o->steps);
  RB_CHECK(o->evaluations >= 1, RB_EINVAL, "%d evaluations; at least 1", o->evaluations);
done:
  return st;
}

/* q holds [steps][dim][n], the template's points in its first slice, written here once; p likewise, its first slice
 * is the momentum of the evaluation. dt = 1 / (T - 1): T time points are T - 1 steps over unit time. The three arrays
 * of an answer lie in one allocation, a multiple of 256 bytes apart, with the two sums behind them, so that one
 * transfer brings all to the host. The caller's points are not kept. */
rb_status rb_landmarks_create(const rb_variant *gausssum, const rb_landmarks_options *options, int64_t n, int dim,
                              const double *template_points, const double *target, rb_landmarks **out) {
  rb_status st = RB_OK;
  rb_landmarks *s = NULL;
  rb_gausssum_desc d = {.n = n, .dim = dim, .dtype = options->dtype};
  *out = NULL;
  RB_TRY(check_options(options));
  s = calloc(1, sizeof *s);
  RB_CHECK(s, RB_ENOMEM, "host memory");
  s->options = *options, s->n = n, s->dim = dim, s->unknowns = n * dim;
  s->dt = 1.0 / (options->steps - 1); /* unit time */
  rb_field_desc f = {.count = s->unknowns, .dtype = options->dtype};
  RB_TRY(rb_variant_available(gausssum));
  RB_TRY(rb_backend_get(gausssum->backend, &s->backend));
  s->on_host = gausssum->backend == RB_CUDA && s->unknowns <= HOST_UNKNOWNS && options->dtype == RB_F32;
  RB_TRY(rb_gausssum_create(gausssum, &d, &s->sums));
  RB_TRY(rb_field_create(rb_field_variant(gausssum->backend), &f, &s->field));
  RB_TRY(rb_array_create(s->backend, options->dtype, options->steps * s->unknowns, &s->q));
  RB_TRY(rb_array_create(s->backend, options->dtype, options->steps * s->unknowns, &s->p));
  rb_array *arrays[] = {&s->target, &s->hq, &s->alpha, &s->beta};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
    RB_TRY(rb_array_create(s->backend, options->dtype, s->unknowns, arrays[i]));
  const size_t stride = rb_landmarks_stride(s), bytes = 3 * stride + 2 * sizeof(double);
  RB_TRY(rb_alloc(s->backend, bytes, (void **)&s->answer));
  rb_array *answers[] = {&s->beta0, &s->hp0, &s->miss};
  for (size_t i = 0; i < 3; i++)
    *answers[i] = rb_array_view(s->backend, options->dtype, s->unknowns, s->answer + i * stride);
  s->sums_kept = rb_array_view(s->backend, RB_F64, 2, s->answer + 3 * stride);
  RB_TRY(s->backend->fill(s->answer, 0, bytes)); /* what lies between the arrays is sent, too */
  RB_TRY(rb_array_fill(s->beta, 0));             /* dE/dp at the last time point */
  s->fetched = malloc(bytes), s->narrow = malloc((size_t)s->unknowns * sizeof *s->narrow);
  RB_CHECK(s->fetched && s->narrow, RB_ENOMEM, "host memory");
  RB_TRY(rb_array_put_doubles(rb_array_part(s->q, 0, s->unknowns), template_points));
  RB_TRY(rb_array_put_doubles(s->target, target));
  RB_TRY(create_optimiser(s));
  *out = s;
  s = NULL;
done:
  rb_landmarks_destroy(s);
  return st;
}

/* The history of positions and momenta, the optimiser's vectors (10 corrections are 20 of them), and what the sums
 * need besides. In units of dim n values: 2 T of history, 50 for the rest. */
size_t rb_landmarks_predict(const rb_variant *gausssum, const rb_landmarks_options *options, int64_t n, int dim) {
  const rb_gausssum_desc d = {.n = n, .dim = dim, .dtype = options->dtype};
  return (size_t)dim * (size_t)n * rb_dtype_size(d.dtype) * (2 * (size_t)options->steps + 50) +
         rb_gausssum_workspace(gausssum, &d);
}

/* TAO first, as it holds duplicates of the momentum. Takes a solver that was made half-way. */
void rb_landmarks_destroy(rb_landmarks *s) {
  if (!s) return;
  if (s->tao) TaoDestroy(&s->tao);
  if (s->best) VecDestroy(&s->best);
  if (s->on_host)
    VecDestroy(&s->momentum);
  else
    rb_vec_destroy(&s->momentum);
  rb_gausssum_destroy(s->sums);
  rb_field_destroy(s->field);
  if (s->recording) s->backend->drop(s->recording);
  free(s->fetched), free(s->narrow);
  rb_array *arrays[] = {&s->q, &s->p, &s->target, &s->hq, &s->alpha, &s->beta};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) rb_array_destroy(arrays[i]);
  if (s->backend) rb_release(s->backend, s->answer);
  free(s);
}

/* p0 = (target - template) / T, as the authors' program; 0 where points lie so densely that this misses by more than
 * staying. Without a gradient and not counted among the evaluations. s->miss is the room: for p0, then for q0 -
 * target, whose square times lambda is E at p0 = 0. */
static rb_status set_initial_momentum(rb_landmarks *s) {
  rb_status st = RB_OK;
  double value, kinetic, still;
  const double share = 1.0 / s->options.steps; /* 1 / T as in the published program, not dt */
  RB_TRY(rb_field_combine(s->field, s->unknowns, share, s->target, -share, s->q, 0, s->miss));
  if (s->on_host) {
    double *p0 = malloc((size_t)s->unknowns * sizeof *p0);
    RB_CHECK(p0, RB_ENOMEM, "host memory");
    st = rb_array_get_doubles(s->miss, p0);
    if (st == RB_OK) st = rb_landmarks_set(s, p0, s->momentum);
    free(p0);
    RB_TRY(st);
  } else
    RB_TRY(rb_field_combine(s->field, s->unknowns, 1, s->miss, 0, rb_array_none(), 0, rb_vec_data(s->momentum)));
  RB_TRY(rb_landmarks_objective(s, s->momentum, &value, &kinetic, NULL));
  RB_TRY(rb_field_combine(s->field, s->unknowns, 1, s->q, -1, s->target, 0, s->miss));
  RB_TRY(rb_field_dot(s->field, s->unknowns, s->miss, s->miss, &still));
  if (!(value < s->options.lambda * still)) RB_PETSC(VecSet(s->momentum, 0)); /* at p0 = 0, H is 0 */
done:
  return st;
}

/* The time holds the choice of p0 and the optimiser. A line search that fails once the evaluations are used up
 * counts as their end, not as a failure. After the solve the best momentum is shot once more, outside the time:
 * positions, momenta and distances that are asked for later are those of it. An objective that never was finite is
 * RB_EINVALID. */
rb_status rb_landmarks_solve(rb_landmarks *s, rb_landmarks_hook hook, void *context, rb_landmarks_result *out) {
  rb_status st = RB_OK;
  TaoConvergedReason reason;
  PetscInt iterations;
  *out = (rb_landmarks_result){0};
  s->result = out, s->hook = hook, s->hook_context = context;
  s->best_objective = INFINITY; /* none yet */
  s->scale = 0;
  RB_TRY(rb_landmarks_distances(s, 0, &out->average_before, &out->greatest_before));
  RB_TRY(s->backend->sync());
  s->started = rb_now();
  RB_TRY(set_initial_momentum(s));
  RB_PETSC(TaoSolve(s->tao));
  RB_TRY(s->backend->sync());
  out->seconds = rb_now() - s->started;
  RB_PETSC(TaoGetConvergedReason(s->tao, &reason));
  RB_PETSC(TaoGetIterationNumber(s->tao, &iterations));
  out->iterations = (int)iterations;
  out->end = reason == TAO_DIVERGED_USER                                                      ? RB_END_INTERRUPTED
             : reason == TAO_DIVERGED_LS_FAILURE && out->evaluations < s->options.evaluations ? RB_END_LINE_SEARCH
             : reason > 0                                                                     ? RB_END_CONVERGED
                                                                                              : RB_END_ITERATIONS;
  RB_CHECK(isfinite(s->best_objective), RB_EINVALID, "the objective was never finite");
  RB_TRY(rb_landmarks_objective(s, s->best, &out->objective, &out->kinetic,
                                NULL)); /* the plans hold the best flow again */
  RB_TRY(rb_landmarks_distances(s, s->options.steps - 1, &out->average_after, &out->greatest_after));
done:
  s->result = NULL;
  return st;
}

/* The momentum becomes the best one, as if it had been solved for. */
rb_status rb_landmarks_evaluate(rb_landmarks *s, const double *momentum, double *value, double *gradient) {
  rb_status st = RB_OK;
  double kinetic;
  Vec g = NULL;
  RB_PETSC(VecDuplicate(s->best, &g));
  RB_TRY(rb_landmarks_set(s, momentum, s->best));
  RB_TRY(rb_landmarks_objective(s, s->best, value, &kinetic, gradient ? g : NULL));
  if (gradient) RB_TRY(rb_landmarks_get(s, g, gradient));
done:
  if (g) VecDestroy(&g);
  return st;
}
