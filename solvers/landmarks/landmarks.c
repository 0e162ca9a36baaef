#include "solvers/landmarks/landmarks.h"

#include "kernels/field/field.h"
#include "solvers/krylov/krylov.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { HOST_UNKNOWNS = 30000 }; /* up to here the optimiser's vectors lie on the host: some 40 small operations an iteration */

struct rb_landmarks {
  const rb_variant *variant;
  const rb_backend *backend, *vectors;
  rb_landmarks_options options;
  int64_t n, unknowns; /* points; dim n */
  int dim;
  double dt;
  rb_gausssum_plan *sums;
  rb_field_plan *field;
  char *q, *p;                                           /* [steps][dim][n]: the flow of the last evaluation, p(0) its argument */
  void *target, *hq, *hp, *hp0, *alpha, *beta, *gradient; /* [dim][n] */
  double *sums_kept;                                     /* on the backend, behind the gradient: p0.Hp, |q(1) - target|^2 */
  char *fetched;                                         /* host: gradient and sums in one transfer */
  void *recording;                                       /* of one evaluation with its gradient, where the backend can replay */
  int evaluated;
  Vec momentum, best; /* on the backend, or on the host where a GPU's latency costs more than the arithmetic */
  Tao tao;
  double best_objective;
  double scale; /* TAO sees scale E: its first step, along minus the gradient, then has the length E / |g| */
  rb_landmarks_result *result;
  rb_landmarks_hook hook;
  void *hook_context;
  double started;
};

static const rb_landmarks_config cpu_naive = {"cpu/naive", RB_F32}, cpu = {"cpu/omp", RB_F32}, cpu_f64 = {"cpu/omp", RB_F64};
static const rb_landmarks_config gpu_cublas = {"cuda/cublas", RB_F32}, gpu_shared = {"cuda/shared-reduction", RB_F32}, gpu = {"cuda/tiled", RB_F32};
static const rb_variant variants[] = {
    {"cpu-naive", "CPU", "float32, one thread, sums in sequence: the paper's own CPU code in spirit", RB_CPU, &cpu_naive},
    {"cpu", "", "float32, all cores", RB_CPU, &cpu},
    {"cpu-f64", "", "float64, all cores", RB_CPU, &cpu_f64},
    {"gpu-cublas", "cuBLAS", "float32, the paper's first design: N x N terms, cuBLAS products with ones", RB_CUDA, &gpu_cublas},
    {"gpu-shared", "GPU", "float32, the paper's design: binary reduction in shared memory", RB_CUDA, &gpu_shared},
    {"gpu", "", "float32, ours: an Euler step a kernel, an evaluation a CUDA graph", RB_CUDA, &gpu},
};
const rb_family rb_landmarks_family = {
    .name = "landmarks",
    .what = "matching of corresponding points by geodesic shooting (shooting2018)",
    .variants = variants,
    .count = sizeof variants / sizeof *variants,
};

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static size_t value_size(const rb_landmarks *s) { return rb_dtype_size(s->options.dtype); }
static size_t sums_offset(const rb_landmarks *s) { return ((size_t)s->unknowns * value_size(s) + 255) / 256 * 256; }
static void *at(const rb_landmarks *s, char *history, int t) { return history + (size_t)t * (size_t)s->unknowns * value_size(s); }

rb_landmarks_options rb_landmarks_defaults(void) {
  return (rb_landmarks_options){.sigma = 1.5, .lambda = 500000, .steps = 40, .evaluations = 400, .dtype = RB_F32};
}
const char *rb_landmarks_end_name(rb_landmarks_end e) {
  static const char *const names[] = {"evaluations used up", "converged", "line search failed", "interrupted"};
  return names[e];
}

/* ---- between host doubles and the backend's type -------------------------------------------------------- */

static rb_status upload(const rb_landmarks *s, const rb_backend *b, const double *host, int64_t count, void *to) {
  rb_status st = RB_OK;
  float *narrow = NULL;
  if (s->options.dtype == RB_F64) return b->upload(to, host, (size_t)count * sizeof *host);
  narrow = malloc((size_t)count * sizeof *narrow);
  RB_CHECK(narrow, RB_ENOMEM, "host memory");
  for (int64_t i = 0; i < count; i++) narrow[i] = (float)host[i];
  RB_TRY(b->upload(to, narrow, (size_t)count * sizeof *narrow));
done:
  free(narrow);
  return st;
}
static rb_status download(const rb_landmarks *s, const rb_backend *b, const void *from, int64_t count, double *host) {
  rb_status st = RB_OK;
  float *narrow = NULL;
  if (s->options.dtype == RB_F64) return b->download(host, from, (size_t)count * sizeof *host);
  narrow = malloc((size_t)count * sizeof *narrow);
  RB_CHECK(narrow, RB_ENOMEM, "host memory");
  RB_TRY(b->download(narrow, from, (size_t)count * sizeof *narrow));
  for (int64_t i = 0; i < count; i++) host[i] = (double)narrow[i];
done:
  free(narrow);
  return st;
}

/* ---- objective and gradient ----------------------------------------------------------------------------- */

/* Flow from q(0), p(0); Hp(q0, p0) stays in hp0. */
static rb_status shoot(rb_landmarks *s) {
  rb_status st = RB_OK;
  for (int t = 0; t + 1 < s->options.steps; t++) {
    void *hp = t == 0 ? s->hp0 : s->hp;
    if (rb_gausssum_steps(s->sums)) {
      RB_TRY(rb_gausssum_step(s->sums, s->options.sigma, s->dt, at(s, s->q, t), at(s, s->p, t), t == 0 ? hp : NULL, at(s, s->q, t + 1), at(s, s->p, t + 1)));
      continue;
    }
    RB_TRY(rb_gausssum_flow(s->sums, s->options.sigma, at(s, s->q, t), at(s, s->p, t), s->hq, hp));
    RB_TRY(rb_field_combine(s->field, s->unknowns, 1, at(s, s->q, t), s->dt, hp, 0, at(s, s->q, t + 1)));
    RB_TRY(rb_field_combine(s->field, s->unknowns, 1, at(s, s->p, t), -s->dt, s->hq, 0, at(s, s->p, t + 1)));
  }
done:
  return st;
}

static void swap(void **a, void **b) {
  void *t = *a;
  *a = *b, *b = t;
}

/* alpha, beta: derivatives of the loss by q, p at a time point, from the last to the first. */
static rb_status propagate_back(rb_landmarks *s) {
  rb_status st = RB_OK;
  void *alpha = s->alpha, *beta = s->beta, *fq = s->hq, *fp = s->hp;
  RB_TRY(rb_field_combine(s->field, s->unknowns, 0, NULL, 0, NULL, 2 * s->options.lambda, alpha));
  RB_TRY(rb_field_fill(s->field, s->unknowns, 0, beta));
  for (int t = s->options.steps - 2; t >= 0; t--) {
    if (rb_gausssum_steps(s->sums)) {
      RB_TRY(rb_gausssum_step_back(s->sums, s->options.sigma, s->dt, at(s, s->q, t), at(s, s->p, t), alpha, beta, fq, fp));
      swap(&alpha, &fq), swap(&beta, &fp);
      continue;
    }
    RB_TRY(rb_gausssum_backward(s->sums, s->options.sigma, at(s, s->q, t), at(s, s->p, t), alpha, beta, fq, fp));
    RB_TRY(rb_field_combine(s->field, s->unknowns, s->dt, fq, 0, NULL, 1, alpha));
    RB_TRY(rb_field_combine(s->field, s->unknowns, s->dt, fp, 0, NULL, 1, beta));
  }
  RB_TRY(rb_field_combine(s->field, s->unknowns, 1, beta, 1, s->hp0, 0, s->gradient));
done:
  return st;
}

/* Everything between the momentum in p(0) and the sums and the gradient, without waiting for the device. */
static rb_status issue(rb_landmarks *s, int with_gradient) {
  rb_status st = RB_OK;
  RB_TRY(shoot(s));
  RB_TRY(rb_field_dot_kept(s->field, s->unknowns, at(s, s->p, 0), s->hp0, &s->sums_kept[0]));
  RB_TRY(rb_field_combine(s->field, s->unknowns, 1, at(s, s->q, s->options.steps - 1), -1, s->target, 0, s->alpha));
  RB_TRY(rb_field_dot_kept(s->field, s->unknowns, s->alpha, s->alpha, &s->sums_kept[1]));
  if (with_gradient) RB_TRY(propagate_back(s));
done:
  return st;
}

/* The first evaluation is issued as it is (libraries set up what they need), the second recorded, the others replayed. */
static rb_status evaluate(rb_landmarks *s, int with_gradient) {
  rb_status st = RB_OK;
  void *recording = NULL;
  if (!with_gradient || !s->backend->record_begin || s->evaluated++ == 0) return issue(s, with_gradient);
  if (!s->recording) {
    RB_TRY(s->backend->record_begin());
    rb_status issued = issue(s, 1);
    st = s->backend->record_end(&recording);
    if (issued != RB_OK) st = issued;
    RB_TRY(st);
    s->recording = recording;
    recording = NULL;
  }
  RB_TRY(s->backend->replay(s->recording));
done:
  if (recording) s->backend->drop(recording);
  return st;
}

/* At the momentum of x; the gradient goes to g, which may be NULL. */
static rb_status objective(rb_landmarks *s, Vec x, double *value, double *kinetic, Vec g) {
  rb_status st = RB_OK;
  const size_t one = (size_t)s->unknowns * value_size(s);
  if (s->vectors == s->backend)
    RB_TRY(rb_field_combine(s->field, s->unknowns, 1, rb_vec_read(x), 0, NULL, 0, at(s, s->p, 0)));
  else
    RB_TRY(s->backend->upload(at(s, s->p, 0), rb_vec_read(x), one));
  RB_TRY(evaluate(s, g != NULL));
  const size_t skip = g && s->vectors != s->backend ? 0 : sums_offset(s); /* only the sums are asked for */
  RB_TRY(s->backend->download(s->fetched + skip, (char *)s->gradient + skip, sums_offset(s) + 2 * sizeof(double) - skip));
  const double *sums = (const double *)(s->fetched + sums_offset(s));
  *kinetic = sums[0] / 2;
  *value = *kinetic + s->options.lambda * sums[1];
  if (g && s->vectors == s->backend)
    RB_TRY(rb_field_combine(s->field, s->unknowns, 1, s->gradient, 0, NULL, 0, rb_vec_data(g)));
  else if (g)
    memcpy(rb_vec_data(g), s->fetched, one);
done:
  return st;
}

/* ---- PETSc ---------------------------------------------------------------------------------------------- */

static PetscErrorCode form(Tao tao, Vec x, PetscReal *f, Vec g, void *context) {
  rb_landmarks *s = context;
  double kinetic;
  (void)tao;
  PetscCall(rb_petsc_code(objective(s, x, f, &kinetic, g)));
  rb_landmarks_row row = {s->result->evaluations++, *f, kinetic, now() - s->started};
  if (s->result->rows < RB_LANDMARKS_ROWS) s->result->table[s->result->rows++] = row;
  if (*f < s->best_objective) {
    s->best_objective = *f;
    PetscCall(VecCopy(x, s->best));
  }
  if (s->hook) s->hook(s->hook_context, &row);
  if (s->scale == 0) { /* the first evaluation sets it */
    PetscScalar square;
    PetscCall(VecDot(g, g, &square));
    s->scale = square > 0 ? *f / square : 1;
  }
  *f *= s->scale;
  PetscCall(VecScale(g, s->scale));
  return 0;
}

static PetscErrorCode finished(Tao tao, void *context) {
  rb_landmarks *s = context;
  PetscReal f, gradient;
  TaoConvergedReason reason = TAO_CONTINUE_ITERATING;
  PetscCall(TaoGetSolutionStatus(tao, NULL, &f, &gradient, NULL, NULL, NULL));
  if (s->options.interrupted && *s->options.interrupted) reason = TAO_DIVERGED_USER;
  else if (gradient == 0) reason = TAO_CONVERGED_GATOL;
  else if (s->result->evaluations >= s->options.evaluations) reason = TAO_DIVERGED_MAXFCN;
  PetscCall(TaoSetConvergedReason(tao, reason));
  return 0;
}

static rb_status create_optimiser(rb_landmarks *s) {
  rb_status st = RB_OK;
  RB_TRY(rb_krylov_options("-tao_lmvm_mat_lmvm_scale_type scalar "      /* PETSc's default scaling reaches for a host array */
                           "-tao_lmvm_mat_lmvm_hist_size 10")); /* 5, as VNL's, ends at 0.0630 mm on the authors' pair, 10 at 0.0616, 20 at 0.0604 */
  RB_TRY(rb_krylov_options(s->options.petsc));
  RB_TRY(rb_vec_create(s->vectors, s->options.dtype, s->unknowns, &s->momentum));
  RB_PETSC(VecDuplicate(s->momentum, &s->best));
  RB_PETSC(VecSet(s->momentum, 0));
  RB_PETSC(VecSet(s->best, 0));
  RB_PETSC(TaoCreate(PETSC_COMM_SELF, &s->tao));
  RB_PETSC(TaoSetType(s->tao, TAOLMVM));
  RB_PETSC(TaoSetSolution(s->tao, s->momentum));
  RB_PETSC(TaoSetObjectiveAndGradient(s->tao, NULL, form, s));
  RB_PETSC(TaoSetConvergenceTest(s->tao, finished, s));
  RB_PETSC(TaoSetMaximumFunctionEvaluations(s->tao, s->options.evaluations));
  RB_PETSC(TaoSetMaximumIterations(s->tao, s->options.evaluations));
  RB_PETSC(TaoSetFromOptions(s->tao));
done:
  return st;
}

static rb_status check_options(const rb_landmarks_options *o) {
  rb_status st = RB_OK;
  RB_CHECK(o->sigma > 0 && isfinite(o->sigma), RB_EINVAL, "sigma is %g; it must be positive", o->sigma);
  RB_CHECK(o->lambda > 0 && isfinite(o->lambda), RB_EINVAL, "lambda is %g; it must be positive", o->lambda);
  RB_CHECK(o->steps >= 2 && o->steps <= 1000, RB_EINVAL, "%d time points; 2 to 1000 work", o->steps);
  RB_CHECK(o->evaluations >= 1, RB_EINVAL, "%d evaluations; at least 1", o->evaluations);
done:
  return st;
}

rb_status rb_landmarks_create(const rb_variant *gausssum, const rb_landmarks_options *options, int64_t n, int dim, const double *template_points,
                              const double *target, rb_landmarks **out) {
  rb_status st = RB_OK;
  rb_landmarks *s = NULL;
  rb_gausssum_desc d = {.n = n, .dim = dim, .dtype = options->dtype};
  *out = NULL;
  RB_TRY(check_options(options));
  s = calloc(1, sizeof *s);
  RB_CHECK(s, RB_ENOMEM, "host memory");
  s->variant = gausssum, s->options = *options, s->n = n, s->dim = dim, s->unknowns = n * dim;
  s->dt = 1.0 / (options->steps - 1);
  rb_field_desc f = {.count = s->unknowns, .dtype = options->dtype};
  size_t one = (size_t)s->unknowns * value_size(s);
  RB_TRY(rb_variant_available(gausssum));
  RB_TRY(rb_backend_get(gausssum->backend, &s->backend));
  RB_TRY(rb_backend_get(s->unknowns > HOST_UNKNOWNS ? gausssum->backend : RB_CPU, &s->vectors));
  RB_TRY(rb_gausssum_create(gausssum, &d, &s->sums));
  RB_TRY(rb_field_create(rb_field_variant(gausssum->backend), &f, &s->field));
  RB_TRY(rb_alloc(s->backend, (size_t)options->steps * one, (void **)&s->q));
  RB_TRY(rb_alloc(s->backend, (size_t)options->steps * one, (void **)&s->p));
  void **arrays[] = {&s->target, &s->hq, &s->hp, &s->hp0, &s->alpha, &s->beta};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) RB_TRY(rb_alloc(s->backend, one, arrays[i]));
  RB_TRY(rb_alloc(s->backend, sums_offset(s) + 2 * sizeof(double), &s->gradient));
  s->sums_kept = (double *)((char *)s->gradient + sums_offset(s));
  s->fetched = malloc(sums_offset(s) + 2 * sizeof(double));
  RB_CHECK(s->fetched, RB_ENOMEM, "host memory");
  RB_TRY(upload(s, s->backend, template_points, s->unknowns, s->q));
  RB_TRY(upload(s, s->backend, target, s->unknowns, s->target));
  RB_TRY(create_optimiser(s));
  *out = s;
  s = NULL;
done:
  rb_landmarks_destroy(s);
  return st;
}

void rb_landmarks_destroy(rb_landmarks *s) {
  if (!s) return;
  if (s->tao) TaoDestroy(&s->tao);
  if (s->best) VecDestroy(&s->best);
  if (s->momentum) VecDestroy(&s->momentum);
  rb_gausssum_destroy(s->sums);
  rb_field_destroy(s->field);
  if (s->recording) s->backend->drop(s->recording);
  free(s->fetched);
  void *arrays[] = {s->q, s->p, s->target, s->hq, s->hp, s->hp0, s->alpha, s->beta, s->gradient};
  for (size_t i = 0; s->backend && i < sizeof arrays / sizeof *arrays; i++) rb_release(s->backend, arrays[i]);
  free(s);
}

/* Mean and greatest distance between q(t) and the target. */
static rb_status distances(rb_landmarks *s, int t, double *average, double *greatest) {
  rb_status st = RB_OK;
  double *q = malloc((size_t)s->unknowns * sizeof *q), *target = malloc((size_t)s->unknowns * sizeof *target);
  *average = *greatest = 0;
  RB_CHECK(q && target, RB_ENOMEM, "host memory");
  RB_TRY(download(s, s->backend, at(s, s->q, t), s->unknowns, q));
  RB_TRY(download(s, s->backend, s->target, s->unknowns, target));
  for (int64_t i = 0; i < s->n; i++) {
    double r2 = 0;
    for (int c = 0; c < s->dim; c++) r2 += (q[c * s->n + i] - target[c * s->n + i]) * (q[c * s->n + i] - target[c * s->n + i]);
    *average += sqrt(r2) / (double)s->n;
    *greatest = fmax(*greatest, sqrt(r2));
  }
done:
  free(target), free(q);
  return st;
}

/* p0 = (target - template) / T, as the authors' program; 0 where points lie so densely that this misses by more than staying. */
static rb_status start(rb_landmarks *s) {
  rb_status st = RB_OK;
  double value, kinetic, still;
  const double share = 1.0 / s->options.steps;
  if (s->vectors == s->backend) {
    RB_TRY(rb_field_combine(s->field, s->unknowns, share, s->target, -share, at(s, s->q, 0), 0, rb_vec_data(s->momentum)));
  } else {
    RB_TRY(rb_field_combine(s->field, s->unknowns, share, s->target, -share, at(s, s->q, 0), 0, s->gradient));
    RB_TRY(s->backend->download(rb_vec_data(s->momentum), s->gradient, (size_t)s->unknowns * value_size(s)));
  }
  RB_TRY(objective(s, s->momentum, &value, &kinetic, NULL));
  RB_TRY(rb_field_combine(s->field, s->unknowns, 1, at(s, s->q, 0), -1, s->target, 0, s->alpha));
  RB_TRY(rb_field_dot(s->field, s->unknowns, s->alpha, s->alpha, &still));
  if (!(value < s->options.lambda * still)) RB_PETSC(VecSet(s->momentum, 0));
done:
  return st;
}

rb_status rb_landmarks_solve(rb_landmarks *s, rb_landmarks_hook hook, void *context, rb_landmarks_result *out) {
  rb_status st = RB_OK;
  TaoConvergedReason reason;
  PetscInt iterations;
  *out = (rb_landmarks_result){0};
  s->result = out, s->hook = hook, s->hook_context = context;
  s->best_objective = INFINITY;
  s->scale = 0;
  RB_TRY(distances(s, 0, &out->average_before, &out->greatest_before));
  RB_TRY(s->backend->sync());
  s->started = now();
  RB_TRY(start(s));
  RB_PETSC(TaoSolve(s->tao));
  RB_TRY(s->backend->sync());
  out->seconds = now() - s->started;
  RB_PETSC(TaoGetConvergedReason(s->tao, &reason));
  RB_PETSC(TaoGetIterationNumber(s->tao, &iterations));
  out->iterations = (int)iterations;
  out->end = reason == TAO_DIVERGED_USER ? RB_LANDMARKS_INTERRUPTED
             : reason == TAO_DIVERGED_LS_FAILURE && out->evaluations < s->options.evaluations ? RB_LANDMARKS_LINE_SEARCH
             : reason > 0 ? RB_LANDMARKS_CONVERGED
                          : RB_LANDMARKS_EVALUATIONS;
  RB_CHECK(isfinite(s->best_objective), RB_EINVALID, "the objective was never finite");
  RB_TRY(objective(s, s->best, &out->objective, &out->kinetic, NULL)); /* the plans hold the best flow again */
  RB_TRY(distances(s, s->options.steps - 1, &out->average_after, &out->greatest_after));
done:
  s->result = NULL;
  return st;
}

rb_status rb_landmarks_evaluate(rb_landmarks *s, const double *momentum, double *value, double *gradient) {
  rb_status st = RB_OK;
  double kinetic;
  Vec g = NULL;
  RB_PETSC(VecDuplicate(s->best, &g));
  RB_TRY(upload(s, s->vectors, momentum, s->unknowns, rb_vec_data(s->best)));
  RB_TRY(objective(s, s->best, value, &kinetic, gradient ? g : NULL));
  if (gradient) RB_TRY(download(s, s->vectors, rb_vec_read(g), s->unknowns, gradient));
done:
  if (g) VecDestroy(&g);
  return st;
}

/* ---- results -------------------------------------------------------------------------------------------- */

rb_status rb_landmarks_momentum(rb_landmarks *s, double *p0) { return download(s, s->vectors, rb_vec_read(s->best), s->unknowns, p0); }

rb_status rb_landmarks_at(rb_landmarks *s, int t, double *q, double *p) {
  rb_status st = RB_OK;
  RB_CHECK(t >= 0 && t < s->options.steps, RB_EINVAL, "time point %d of %d", t, s->options.steps);
  if (q) RB_TRY(download(s, s->backend, at(s, s->q, t), s->unknowns, q));
  if (p) RB_TRY(download(s, s->backend, at(s, s->p, t), s->unknowns, p));
done:
  return st;
}

rb_status rb_landmarks_energies(rb_landmarks *s, double *h) {
  rb_status st = RB_OK;
  for (int t = 0; t < s->options.steps; t++) {
    RB_TRY(rb_gausssum_flow(s->sums, s->options.sigma, at(s, s->q, t), at(s, s->p, t), s->hq, s->hp));
    RB_TRY(rb_field_dot(s->field, s->unknowns, at(s, s->p, t), s->hp, &h[t]));
    h[t] /= 2;
  }
done:
  return st;
}

rb_status rb_landmarks_apply(rb_landmarks *s, int64_t nx, double *x) {
  rb_status st = RB_OK;
  rb_field_plan *field = NULL;
  rb_field_desc f = {.count = nx * s->dim, .dtype = s->options.dtype};
  void *points = NULL, *moved = NULL;
  size_t bytes = (size_t)(nx * s->dim) * value_size(s);
  RB_CHECK(nx >= 1, RB_EINVAL, "no points to carry along");
  RB_TRY(rb_field_create(rb_field_variant(s->backend->kind), &f, &field));
  RB_TRY(rb_alloc(s->backend, bytes, &points));
  RB_TRY(rb_alloc(s->backend, bytes, &moved));
  RB_TRY(upload(s, s->backend, x, nx * s->dim, points));
  for (int t = 0; t + 1 < s->options.steps; t++) {
    RB_TRY(rb_gausssum_sum(s->sums, s->options.sigma, nx, points, at(s, s->q, t), at(s, s->p, t), moved));
    RB_TRY(rb_field_combine(field, nx * s->dim, s->dt, moved, 0, NULL, 1, points));
  }
  RB_TRY(download(s, s->backend, points, nx * s->dim, x));
done:
  rb_release(s->backend, moved);
  rb_release(s->backend, points);
  rb_field_destroy(field);
  return st;
}
