/* SPDX-License-Identifier: BSD-3-Clause */
/* register landmarks: geodesic shooting on a user's own corresponding points. */
#include "datasets/points.h"
#include "experiments/runner/cli/commands.h"
#include "experiments/runner/machine/environment.h"
#include "experiments/runner/cli/exit_codes.h"
#include "experiments/runner/base/interrupt.h"
#include "experiments/runner/machine/build.h"
#include "experiments/runner/workloads/landmark_grid.h"
#include "experiments/runner/workloads/measure.h"
#include "experiments/runner/record/record.h"
#include "solvers/krylov/krylov.h"
#include "solvers/landmarks/landmarks.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help[] =
    "usage: regbench register landmarks --template A.vtk --reference B.vtk --out DIR [OPTIONS]\n\n"
    "The template's points are carried onto the reference's, point i onto point i. Legacy VTK (ASCII) or CSV, 2D or "
    "3D.\n\n"
    "  --sigma S         width of the Gaussian kernel, in the points' unit (default 1.5)\n"
    "  --lambda L        weight of the squared distances (default 250000: the published program halves its 500000)\n"
    "  --steps T         time points (default 40)\n"
    "  --iterations N    evaluations of objective and gradient, with those that its last step may still need "
    "(default 400)\n"
    "  --apply FILE      carry these points, or this mesh's, along as well\n"
    "  --grid H          velocity at t = 0 and displacement on points H apart around both sets, as NIfTI\n"
    "  --variant NAME    'regbench list gausssum' shows all (default cuda/tiled, cpu/omp without a GPU or with\n"
    "                    --double)\n"
    "  --double          float64 (default float32, as the paper)\n"
    "  --petsc 'OPTIONS' PETSc's own options, e.g. '-tao_monitor'\n\n"
    "DIR receives matched.vtk (the template at t = 1; .csv from a CSV), momentum.csv, trajectories.csv (time, point, "
    "coordinates),\n"
    "applied.vtk or .csv (without attributes where normals, vectors,\n"
    "tensors or fields are among them: they would have to turn with the mesh), velocity.nii.gz and "
    "displacement.nii.gz (mm), metrics.json. 'evaluations used up' is how a run usually ends.\n\n"
    "exit codes: 0 fine, 2 usage or bad points, 6 the line search failed (the best iterate is written) or values are "
    "not finite, 8 a device\n"
    "  failed or the disk is full, 130 interrupted (the iterate is written)\n";

typedef struct {
  const char *points[2], *apply, *variant, *out;
  rb_landmarks_options options;
  double grid; /* spacing; 0: none */
} request;

static int number(const char *option, const char *text, double *out) {
  char *end;
  *out = strtod(text, &end);
  return end != text && *end == '\0' && *out > 0 && isfinite(*out)
             ? 0
             : rb_usage("register", "%s '%s' is not a positive number", option, text);
}
static int whole(const char *option, const char *text, int *out) {
  double v;
  int code = number(option, text, &v);
  if (code) return code;
  if (v != floor(v) || v > 1e9) return rb_usage("register", "%s '%s' is not a whole number", option, text);
  *out = (int)v;
  return 0;
}

static int parse(int argc, char **argv, request *r) {
  for (int i = 0; i < argc; i++) {
    const char *v;
    int code = 0;
    if ((v = rb_option(argc, argv, &i, "--template")))
      r->points[0] = v;
    else if ((v = rb_option(argc, argv, &i, "--reference")))
      r->points[1] = v;
    else if ((v = rb_option(argc, argv, &i, "--apply")))
      r->apply = v;
    else if ((v = rb_option(argc, argv, &i, "--variant")))
      r->variant = v;
    else if ((v = rb_option(argc, argv, &i, "--out")))
      r->out = v;
    else if ((v = rb_option(argc, argv, &i, "--petsc")))
      r->options.petsc = v;
    else if ((v = rb_option(argc, argv, &i, "--sigma")))
      code = number("--sigma", v, &r->options.sigma);
    else if ((v = rb_option(argc, argv, &i, "--grid")))
      code = number("--grid", v, &r->grid);
    else if ((v = rb_option(argc, argv, &i, "--lambda")))
      code = number("--lambda", v, &r->options.lambda);
    else if ((v = rb_option(argc, argv, &i, "--steps")))
      code = whole("--steps", v, &r->options.steps);
    else if ((v = rb_option(argc, argv, &i, "--iterations")))
      code = whole("--iterations", v, &r->options.evaluations);
    else if (strcmp(argv[i], "--double") == 0)
      r->options.dtype = RB_F64;
    else
      return rb_usage("register", "unknown argument '%s'", argv[i]);
    if (code) return code;
    if (v && !*v) return rb_usage("register", "%s needs a value", argv[i]);
  }
  if (!r->points[0] || !r->points[1]) return rb_usage("register", "--template and --reference are needed");
  return r->out && *r->out ? 0 : rb_usage("register", "--out names the folder for the results");
}

static void print_row(void *context, const rb_landmarks_row *t) {
  (void)context;
  if (t->evaluation == 0) fprintf(stderr, "%10s %14s %14s %9s\n", "evaluation", "objective", "kinetic", "seconds");
  int e = t->evaluation;
  if (e < 10 || e % 10 == 0) fprintf(stderr, "%10d %14.6e %14.6e %9.2f\n", e, t->objective, t->kinetic, t->seconds);
}

static rb_status read_sets(const request *r, rb_points set[2]) {
  rb_status st = RB_OK;
  for (int i = 0; i < 2; i++) {
    RB_TRY(rb_points_read(r->points[i], &set[i]));
    RB_TRY(rb_points_distinct(&set[i], r->points[i]));
  }
  RB_CHECK(set[0].dim == set[1].dim, RB_EINVAL, "%s is %dD and %s %dD", r->points[0], set[0].dim, r->points[1],
           set[1].dim);
  RB_CHECK(set[0].n == set[1].n, RB_EINVAL, "%s holds %lld points and %s %lld: they must correspond one to one",
           r->points[0], (long long)set[0].n, r->points[1], (long long)set[1].n);
done:
  return st;
}

/* Under another name until it is whole. */
static rb_status write_trajectories(const request *r, rb_landmarks *s, int64_t n, int dim) {
  rb_status st = RB_OK;
  char path[4096], partial[4096];
  double *q = malloc((size_t)(n * dim) * sizeof *q);
  FILE *f = NULL;
  RB_CHECK(q, RB_ENOMEM, "host memory");
  RB_TRY(rb_path(path, sizeof path, "%s/trajectories.csv", r->out));
  RB_TRY(rb_path(partial, sizeof partial, "%s/trajectories.csv.partial", r->out));
  f = fopen(partial, "w");
  RB_CHECK(f, RB_EIO, "cannot write %s: %s", partial, strerror(errno));
  fprintf(f, "time,point,x,y%s\n", dim > 2 ? ",z" : "");
  for (int t = 0; t < r->options.steps; t++) {
    RB_TRY(rb_landmarks_at(s, t, q, NULL));
    for (int64_t i = 0; i < n; i++) {
      fprintf(f, "%.6g,%lld,%.9g,%.9g", (double)t / (r->options.steps - 1), (long long)i + 1, q[i], q[n + i]);
      if (dim > 2) fprintf(f, ",%.9g", q[2 * n + i]);
      fputc('\n', f);
    }
  }
  RB_CHECK(fflush(f) == 0 && !ferror(f), RB_EIO, "cannot write %s completely; is the disk full?", path);
  RB_CHECK(rename(partial, path) == 0, RB_EIO, "cannot write %s: %s", path, strerror(errno));
done:
  if (f) fclose(f);
  if (f && st != RB_OK) unlink(partial);
  free(q);
  return st;
}

/* In the form of the file that the points stem from, `like`. */
static rb_status write_points(const request *r, const char *name, const char *like, int64_t n, int dim,
                              const double *x, const rb_points *like_file) {
  rb_status st = RB_OK;
  char path[4096];
  const size_t length = strlen(like);
  RB_TRY(rb_path(path, sizeof path, "%s/%s%s", r->out, name,
                 length > 4 && strcmp(like + length - 4, ".csv") == 0 ? ".csv" : ".vtk"));
  RB_TRY(rb_points_write(path, n, dim, x, like_file));
done:
  return st;
}

/* Bytes on the backend, of the solve. */
typedef struct {
  size_t predicted, peak;
} costs;
static rb_status write_metrics(const request *r, const rb_points set[2], const rb_variant *v,
                               const rb_landmarks_result *s, costs memory) {
  rb_status st = RB_OK;
  char path[4096], *text = NULL;
  json_t *rows = json_array();
  for (int i = 0; i < s->rows; i++)
    json_array_append_new(rows, json_pack("{s:i,s:o,s:o,s:f}", "evaluation", s->table[i].evaluation, "objective",
                                          rb_json_number(s->table[i].objective), "kinetic",
                                          rb_json_number(s->table[i].kinetic), "seconds", s->table[i].seconds));
  json_t *j = json_pack(
      "{s:s,s:s,s:s,s:s,s:I,s:i,s:s,s:f,s:f,s:i,s:i,s:i,s:f,s:f,s:{s:f,s:f,s:f,s:f},s:f,s:o}", "program",
      "regbench register landmarks", "commit", rb_build_commit(), "variant", v->name, "precision",
      rb_dtype_name(r->options.dtype), "points", (json_int_t)set[0].n, "dimension", set[0].dim, "end",
      rb_landmarks_end_name(s->end), "sigma", r->options.sigma, "lambda", r->options.lambda, "time_points",
      r->options.steps, "evaluations", s->evaluations, "iterations", s->iterations, "objective", s->objective,
      "kinetic", s->kinetic, "distance", "average_before", s->average_before, "greatest_before", s->greatest_before,
      "average_after", s->average_after, "greatest_after", s->greatest_after, "seconds", s->seconds, "history", rows);
  json_object_set_new(j, "memory_predicted_bytes", json_integer((json_int_t)memory.predicted));
  json_object_set_new(j, "memory_peak_bytes", json_integer((json_int_t)memory.peak));
  text = json_dumps(j, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
  RB_CHECK(text, RB_ENOMEM, "host memory");
  RB_TRY(rb_path(path, sizeof path, "%s/metrics.json", r->out));
  RB_TRY(rb_write_atomically(path, text, strlen(text)));
done:
  free(text);
  json_decref(j);
  return st;
}

static rb_status write_all(const request *r, const rb_points set[2], rb_points *carried, const rb_variant *v,
                           rb_landmarks *s, const rb_landmarks_result *result, costs memory) {
  rb_status st = RB_OK;
  int64_t n = set[0].n;
  int dim = set[0].dim;
  double *x = malloc((size_t)(n * dim) * sizeof *x);
  RB_CHECK(x, RB_ENOMEM, "host memory");
  RB_TRY(rb_landmarks_at(s, r->options.steps - 1, x, NULL));
  RB_TRY(write_points(r, "matched", r->points[0], n, dim, x, &set[0]));
  RB_TRY(rb_landmarks_momentum(s, x));
  RB_TRY(write_points(r, "momentum", "numbers.csv", n, dim, x, NULL));
  RB_TRY(write_trajectories(r, s, n, dim));
  if (carried->n) {
    RB_TRY(rb_landmarks_apply(s, carried->n, carried->x));
    RB_TRY(write_points(r, "applied", r->apply, carried->n, carried->dim, carried->x, carried));
  }
  RB_TRY(write_metrics(r, set, v, result, memory));
  if (r->grid > 0) RB_TRY(rb_landmark_grid_write(r->out, s, set, r->options.sigma, r->grid));
done:
  free(x);
  return st;
}

static rb_status choose_variant(const request *r, const rb_variant **out) {
  rb_status st = RB_OK;
  const char *name = r->variant;
  if (!name && r->options.dtype == RB_F32) {
    RB_TRY(rb_variant_find(&rb_gausssum_family, "cuda/tiled", out));
    if (rb_variant_timed(*out) == RB_OK) return RB_OK;
    rb_clear();
  }
  RB_TRY(rb_variant_find(&rb_gausssum_family, name ? name : "cpu/omp", out));
done:
  return st;
}

static rb_status fits(const request *r, const rb_variant *v, const rb_points *set, size_t *need) {
  rb_status st = RB_OK;
  const rb_backend *b;
  size_t total, available;
  *need = rb_landmarks_predict(v, &r->options, set->n, set->dim);
  RB_TRY(rb_backend_get(v->backend, &b));
  RB_TRY(b->memory(&total, &available));
  RB_CHECK(*need <= available, RB_ENOMEM,
           "%s needs about %.1f GB of %s memory for %lld points at %d time points and %.1f GB are free; take fewer "
           "--steps",
           v->name, 1e-9 * (double)*need, b->name, (long long)set->n, r->options.steps, 1e-9 * (double)available);
done:
  return st;
}

static rb_status run(request *r, rb_landmarks_result *result) {
  rb_status st = RB_OK;
  const rb_variant *v;
  rb_points set[2] = {{0}, {0}}, carried = {0};
  rb_landmarks *s = NULL;
  struct stat info;
  costs memory = {0, 0};
  RB_TRY(choose_variant(r, &v));
  RB_TRY(rb_variant_timed(v));
  RB_TRY(read_sets(r, set));
  RB_TRY(fits(r, v, &set[0], &memory.predicted));
  rb_memory_reset_peak(v->backend);
  if (r->grid > 0) RB_TRY(rb_landmark_grid_fits(set, r->options.sigma, r->grid));
  if (r->apply) {
    RB_TRY(rb_points_read(r->apply, &carried));
    RB_CHECK(carried.dim == set[0].dim, RB_EINVAL, "%s is %dD, the landmarks are %dD", r->apply, carried.dim,
             set[0].dim);
  }
  RB_CHECK(mkdir(r->out, 0777) == 0 || errno == EEXIST, RB_EIO, "cannot make %s: %s", r->out, strerror(errno));
  RB_CHECK(stat(r->out, &info) == 0 && S_ISDIR(info.st_mode), RB_EINVAL, "%s is a file; --out names a folder",
           r->out);
  RB_CHECK(access(r->out, W_OK) == 0, RB_EIO, "cannot write in %s: %s", r->out, strerror(errno));
  RB_TRY(rb_landmarks_create(v, &r->options, set[0].n, set[0].dim, set[0].x, set[1].x, &s));
  RB_TRY(rb_landmarks_solve(s, print_row, NULL, result));
  memory.peak = rb_memory_peak(v->backend);
  RB_TRY(write_all(r, set, &carried, v, s, result, memory));
  printf("%s: distance %.5g (at most %.5g) -> %.5g (%.5g), objective %.5g, %d evaluations, %s, %.3g s: %s\n", v->name,
         result->average_before, result->greatest_before, result->average_after, result->greatest_after,
         result->objective, result->evaluations, rb_landmarks_end_name(result->end), result->seconds, r->out);
done:
  rb_landmarks_destroy(s);
  rb_points_free(&carried);
  for (int i = 0; i < 2; i++) rb_points_free(&set[i]);
  return st;
}

/* The end of a solve as an exit code, told on stderr where it is not the usual one. */
static int exit_code_of_end(rb_landmarks_end end, const char *out) {
  if (end == RB_LANDMARKS_LINE_SEARCH) {
    fprintf(stderr, "regbench register: %s; the best iterate is in %s\n", rb_landmarks_end_name(end), out);
    return RB_EXIT_NOT_CONVERGED;
  }
  return end == RB_LANDMARKS_INTERRUPTED ? RB_EXIT_INTERRUPTED : RB_EXIT_OK;
}

int rb_cmd_register_landmarks(int argc, char **argv) {
  request r = {.options = rb_landmarks_defaults()};
  rb_landmarks_result *result = NULL; /* 128 KiB. On the heap: GCC 12 at -O2 puts a static one, reached through one
                                         call only, into read-only memory */
  if (rb_wants_help(argc, argv, help)) return RB_EXIT_OK;
  r.options.interrupted = &rb_interrupted;
  int code = parse(argc, argv, &r);
  if (code) return code;
  rb_catch_interrupts();
  result = calloc(1, sizeof *result);
  rb_status st = result ? run(&r, result) : RB_FAIL(RB_ENOMEM, "host memory");
  rb_krylov_close();
  if (st != RB_OK) {
    fprintf(stderr, "regbench register: %s\n", rb_message());
    code = rb_register_exit_code(st);
  } else {
    code = exit_code_of_end(result->end, r.out);
  }
  free(result);
  return code;
}
