/* SPDX-License-Identifier: BSD-3-Clause */
/* register: one of the systems on a user's own data. */
#include "experiments/runner/base/interrupt.h"
#include "experiments/runner/cli/commands.h"
#include "experiments/runner/cli/exit_codes.h"
#include "experiments/runner/cli/register.h"
#include "experiments/runner/cli/register_grid.h"
#include "experiments/runner/machine/nvml.h"
#include "experiments/runner/machine/rapl.h"
#include "kernels/base/clock.h"
#include "kernels/base/device_info.h"
#include "kernels/registry/registry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int print_methods(void) {
  int count;
  const rb_solver *const *all = rb_solvers(&count);
  printf("usage: regbench register METHOD ... --out DIR\n\n");
  for (int k = 0; k < count; k++) printf("  %-11s %s\n", all[k]->family->name, all[k]->family->what);
  printf("\n'regbench register METHOD --help' shows its options, files and exit codes.\n");
  return RB_EXIT_OK;
}

/* ---- the registration ------------------------------------------------------------------------------------- */

/* The table of the history on stderr: ten rows, then some a second. */
typedef struct {
  const rb_solver *solver;
  int rows;
  double printed; /* when the last row was */
} watcher;

static int column_width(const rb_history_column *c) {
  const int length = (int)strlen(c->name);
  return length < 10 ? 12 : length + 2;
}
static void print_row(watcher *w, const double *row) {
  const rb_history_column *columns = w->solver->history;
  if (w->printed == 0) {
    for (const rb_history_column *c = columns; c->name; c++) fprintf(stderr, "%*s", column_width(c), c->name);
    fputc('\n', stderr);
  }
  for (int k = 0; columns[k].name; k++)
    if (isnan(row[k]))
      fprintf(stderr, "%*s", column_width(&columns[k]), "-");
    else
      fprintf(stderr, "%*.6g", column_width(&columns[k]), row[k]);
  fputc('\n', stderr);
  w->printed = rb_now();
}
static void watch(void *context, const double *row, int columns) {
  enum { FIRST = 10 };
  const double interval = 0.2; /* seconds */
  watcher *w = context;
  (void)columns;
  if (w->rows++ < FIRST || rb_now() - w->printed >= interval) print_row(w, row);
}

/* The variant asked for; without one the solver's preferred, and its other one where that cannot run here. */
static rb_status choose_variant(const rb_register_request *r, const rb_variant **out) {
  rb_status st = RB_OK;
  const rb_solver *s = r->solver;
  if (!r->variant) {
    RB_TRY(rb_variant_find(s->family, s->preferred, out));
    if (rb_variant_timed(*out) == RB_OK) return RB_OK;
    rb_clear();
  }
  RB_TRY(rb_variant_find(s->family, r->variant ? r->variant : s->otherwise, out));
  RB_TRY(rb_variant_timed(*out));
done:
  return st;
}

/* All processes compute by the same kernels, or none: sums of mixed ones would differ. */
static rb_status same_variant(const rb_register_request *r, const rb_variant *v) {
  rb_status st = RB_OK;
  char name[64];
  snprintf(name, sizeof name, "%s", v->name);
  RB_TRY(rb_team_broadcast(r->team, name, sizeof name, 0));
  RB_CHECK(strcmp(name, v->name) == 0, RB_EDEVICE,
           "only %s can be used here where process 0 uses %s: choose one for all by --variant", v->name, name);
done:
  return rb_team_agree(r->team, st);
}

/* RB_ENOMEM where `need` bytes for each of `sharing` processes exceed what the backend has free. */
static rb_status has_room(rb_backend_kind kind, size_t need, int sharing, const char *what, const char *where,
                          const char *remedy) {
  rb_status st = RB_OK;
  const rb_backend *b;
  size_t total, available;
  const double gb = 1e-9 * (double)need * sharing;
  RB_TRY(rb_backend_get(kind, &b));
  RB_TRY(b->memory(&total, &available));
  RB_CHECK(gb <= 1e-9 * (double)available, RB_ENOMEM,
           "%s needs about %.1f GB of %s memory for %s%s and %.1f GB are free; take %s", what, gb, b->name, where,
           sharing > 1 ? " in all processes" : "", 1e-9 * (double)available, remedy);
done:
  return st;
}

/* How many of the launcher's processes on this machine use this one's device: each takes the next. */
static int sharing_device(void) {
  rb_device_info d;
  const int devices = rb_device_info_read(&d) && d.devices > 0 ? d.devices : 1, here = rb_team_local_size();
  return getenv("REGBENCH_DEVICE") ? here : (here + devices - 1) / devices;
}

/* What a pair's results in the world take on the host, at the files' own resolution: the image or labels, and the
 * reference's, before and after. */
static size_t of_results(const rb_register_inputs *in) {
  return 4 * (size_t)rb_grid_points(in->pair.files[RB_REFERENCE].grid) * sizeof(float);
}

/* RB_ENOMEM when the prediction for the processes on this machine, with `results` bytes more on the host, exceeds
 * what is free; heard by all. */
static rb_status fits(const rb_register_request *r, const rb_variant *v, const rb_problem_shape *shape,
                      size_t results, size_t *need) {
  rb_status st = RB_OK;
  rb_problem_shape own = *shape;
  size_t host;
  int64_t first, end;
  const int here = rb_team_local_size();
  const char *where = shape->points ? "these points" : "this grid",
             *remedy = shape->points ? "fewer --steps or points"
                       : rb_solver_option_find(r->solver->options, "stream")
                           ? "a smaller --size, or --stream on a GPU"
                           : "a smaller --size";
  RB_CHECK(shape->templates >= r->team->size, RB_EINVAL, "%d processes for %d images: a process needs one at least",
           r->team->size, shape->templates);
  rb_team_share(r->team, shape->templates, &first, &end);
  own.templates = (int)(end - first);
  RB_TRY(r->solver->predict(v, r->options, &own, need, &host));
  host += results;
  if (v->backend == RB_CPU) {
    RB_TRY(has_room(RB_CPU, *need + host, here, v->name, where, remedy));
  } else {
    RB_TRY(has_room(v->backend, *need, sharing_device(), v->name, where, remedy));
    RB_TRY(has_room(RB_CPU, host, here, v->name, where, remedy));
  }
done:
  return rb_team_agree(r->team, st);
}

/* All that can be refused before the solver is made. */
static rb_status prepare(const rb_register_request *r, const rb_variant *v, rb_register_inputs *in, size_t *need) {
  rb_status st = RB_OK;
  const rb_solver *s = r->solver;
  const rb_problem_shape asked = {
      .grid = r->grid, .channels = 1, .templates = s->cohort ? r->image_count : 1, .labels = r->labels[0] != NULL};
  if (r->grid.n[0]) RB_TRY(fits(r, v, &asked, 0, need)); /* before anything of that size is made */
  RB_TRY(rb_register_read(r, in));
  if (s->check) RB_TRY(s->check(&in->problem));
  RB_TRY(fits(r, v, &in->problem.shape, rb_register_is_pair(r) ? of_results(in) : 0, need));
  if (r->spacing > 0) RB_TRY(rb_register_grid_fits(in->points, rb_register_grid_margin(s, r->options), r->spacing));
done:
  return st;
}

static rb_status run(const rb_register_request *r, rb_solution *solution) {
  rb_status st = RB_OK;
  const rb_solver *s = r->solver;
  const rb_variant *v;
  rb_register_inputs in = {0};
  rb_register_costs costs = {.energy = NAN, .energy_cpu = NAN};
  watcher w = {.solver = s};
  void *state = NULL;
  const double started = rb_now();
  RB_TRY(rb_team_agree(r->team, choose_variant(r, &v)));
  RB_TRY(same_variant(r, v));
  RB_TRY(prepare(r, v, &in, &costs.predicted));
  rb_memory_reset_peak(v->backend);
  RB_TRY(s->create(v, r->options, &in.problem, r->team, &rb_interrupted, &state));
  rb_rapl before, after;
  const double joules = v->backend == RB_CUDA ? rb_nvml_energy() : NAN;
  rb_rapl_read(RB_RAPL_FOLDER, &before);
  if (r->team->rank == 0) solution->watch = watch, solution->context = &w; /* rank 0 prints */
  RB_TRY(rb_solver_solve(s, state, solution));
  rb_rapl_read(RB_RAPL_FOLDER, &after);
  if (v->backend == RB_CUDA && solution->seconds >= 0.5) /* the counter ticks slowly */
    costs.energy = rb_nvml_energy() - joules;
  costs.energy_cpu = rb_rapl_spent(&before, &after, solution->seconds);
  costs.peak = rb_memory_peak(v->backend);
  RB_TRY(rb_register_write(r, &in, v, state, solution, &costs, started));
done:
  s->destroy(state);
  rb_register_inputs_free(&in);
  return st;
}

/* ---- exit codes ------------------------------------------------------------------------------------------- */

static int exit_code_of_failure(rb_status st) {
  if (rb_team_rank() == 0) fprintf(stderr, "regbench register: %s\n", rb_message()); /* all members know it */
  switch (st) {
    case RB_EINVAL:
    case RB_EFORMAT:
    case RB_ENOTFOUND:
    case RB_EUNSUPPORTED:
      return RB_EXIT_USAGE;
    case RB_ENOMEM:
    case RB_EIO:
    case RB_EDEVICE:
    case RB_EBUSY:
      return RB_EXIT_INCOMPLETE;
    case RB_EINVALID:
      return RB_EXIT_NOT_CONVERGED; /* values that are not finite, or PETSc gave up */
    default:
      return RB_EXIT_INTERNAL;
  }
}

/* The end of a solve as an exit code, told on stderr where it is not what was asked for. */
static int exit_code_of_end(const rb_register_request *r, const rb_solution *s) {
  if (s->remark && r->team->rank == 0) fprintf(stderr, "regbench register: %s\n", s->remark);
  if (s->as_asked) return RB_EXIT_OK;
  fflush(stdout); /* the reason comes last wherever both streams go */
  if (r->team->rank == 0)
    fprintf(stderr, "regbench register: %s%s%s; the %s iterate is in %s\n", rb_solver_end_name(s->end),
            s->advice ? ": " : "", s->advice ? s->advice : "", s->end == RB_END_DIVERGED ? "last" : "best", r->out);
  return s->end == RB_END_INTERRUPTED ? RB_EXIT_INTERRUPTED : RB_EXIT_NOT_CONVERGED;
}

/* All processes of the launcher; 0 or an exit code. */
static int start_team(rb_register_request *r) {
  const int processes = rb_team_processes();
  r->team = rb_team_self();
  if (processes == 1) return 0;
  if (r->solver->teams) return rb_team_mpi(&r->team) == RB_OK ? 0 : exit_code_of_failure(RB_EDEVICE);
  if (rb_team_rank() > 0) return RB_EXIT_USAGE; /* rank 0 prints */
  return rb_usage("register", "%s works in one process and %d were started; start it without mpirun",
                  r->solver->family->name, processes);
}

int rb_cmd_register(int argc, char **argv) {
  rb_register_request r = {0};
  rb_solution solution = {0};
  if (argc > 0 && (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0)) return print_methods();
  if (argc < 1 || argv[0][0] == '-')
    return rb_usage("register", "which method? 'regbench register --help' lists them");
  if (rb_solver_find(argv[0], &r.solver) != RB_OK) return rb_usage("register", "%s", rb_message());
  for (int i = 1; i < argc; i++)
    if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
      if (rb_team_rank() == 0) rb_register_print_help(r.solver);
      return RB_EXIT_OK;
    }
  int code = start_team(&r);
  if (code) return code;
  r.options = calloc(1, r.solver->options_size);
  if (!r.options) return exit_code_of_failure(RB_FAIL(RB_ENOMEM, "host memory"));
  r.solver->defaults(r.options);
  code = rb_register_parse(argc - 1, argv + 1, &r);
  const rb_status parsed = rb_team_agree(r.team, code ? RB_FAIL(RB_EINVAL, "its arguments are refused") : RB_OK);
  if (!code && parsed != RB_OK) code = exit_code_of_failure(parsed);
  if (!code) {
    rb_catch_interrupts();
    const rb_status st = run(&r, &solution);
    if (r.solver->close) r.solver->close();
    code = st == RB_OK ? exit_code_of_end(&r, &solution) : exit_code_of_failure(st);
  }
  rb_solution_free(&solution);
  rb_cohort_list_free(r.images, r.image_count);
  rb_cohort_list_free(r.label_files, r.label_count);
  free(r.options);
  return code;
}
