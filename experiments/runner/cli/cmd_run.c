/* SPDX-License-Identifier: BSD-3-Clause */
/* run: the command line. */
#include "experiments/runner/cli/commands.h"
#include "experiments/runner/base/interrupt.h"
#include "experiments/runner/cli/exit_codes.h"
#include "experiments/runner/cli/progress.h"
#include "experiments/runner/run/run.h"
#include "solvers/krylov/krylov.h"

#include <stdio.h>
#include <string.h>

static const char run_help[] =
    "usage: regbench run EXPERIMENT... [OPTIONS]\n\n"
    "       regbench run baselines --pairs FILE --methods A,B,...      methods on your own pairs; --help tells "
    "more\n\n"
    "EXPERIMENT is a paper (brunn2020), one of its tables (brunn2020/table4), or a descriptor (my.yaml).\n\n"
    "  --preset quick|standard|paper  sizes and samples (default quick)\n"
    "  --backend cpu|cuda|all         which variants (default all; absent ones are recorded as skipped)\n"
    "  --where AXIS=VALUE[,...]       only these cases; an axis twice means either value; 'method' is an axis\n"
    "  --plugin FILE                  a shared library with variants of yours (kernels/base/plugin.h), for "
    "descriptors\n"
    "                                 that name them\n"
    "  --out DIR                      where records go: DIR/MACHINE/PAPER/NAME/PRESET.json (default out)\n"
    "  --resume                       keep what the journal of an interrupted run holds, or, where it is absent, the "
    "record\n"
    "                                 (without: it is set aside as PRESET.journal.before); cases of another build or "
    "host\n"
    "                                 are measured again\n\n"
    "A record that holds more than the new one is set aside as PRESET.json.before (.before.2 ...).\n\n"
    "exit codes: 0 fine, 2 usage or descriptor, 3 a case is invalid, 8 incomplete, 9 nothing ran, 130 interrupted\n";

/* "size=64,points=smooth" -> filters that point into the (modified) text. */
static int parse_where(char *text, rb_run_options *o) {
  if (!text[strspn(text, ",")]) return rb_usage("run", "--where needs AXIS=VALUE[,...]");
  for (char *item = strtok(text, ","); item; item = strtok(NULL, ",")) {
    char *equals = strchr(item, '=');
    if (!equals || equals == item || !equals[1]) return rb_usage("run", "--where '%s' is not AXIS=VALUE", item);
    if (o->filter_count == 32) return rb_usage("run", "more than 32 filters");
    *equals = '\0';
    o->filters[o->filter_count++] = (rb_filter){item, equals + 1};
  }
  return 0;
}

static int exit_code_of(rb_status st) {
  return st == RB_EINVAL || st == RB_EFORMAT || st == RB_ENOTFOUND ? RB_EXIT_USAGE
         : st == RB_EIO || st == RB_EBUSY                          ? RB_EXIT_INCOMPLETE
                                                                   : RB_EXIT_INTERNAL;
}

static int failure(rb_status st) {
  fprintf(stderr, "regbench run: %s\n", rb_message());
  rb_clear();
  return exit_code_of(st);
}

static int run_all(const rb_run_options *o) {
  enum { MOST = 64 };
  static char paths[MOST][4096];
  int count = 0, code = RB_EXIT_OK;
  rb_run_counts total = {0};
  rb_progress progress;
  const rb_listener listener = rb_progress_listener(&progress);
  rb_catch_interrupts();
  for (int i = 0; i < o->experiment_count; i++) {
    int n;
    const rb_status st = rb_experiments_find(o->experiments[i], paths + count, MOST - count, &n);
    if (st != RB_OK) return failure(st);
    count += n;
  }
  for (int i = 0; i < count && !rb_interrupted; i++) {
    const rb_status st = rb_run_experiment(o, paths[i], &listener, &total);
    const int mine = st == RB_OK ? RB_EXIT_OK : failure(st);
    if (code == RB_EXIT_OK) code = mine;
  }
  if (rb_interrupted) {
    fprintf(stderr, "regbench run: interrupted; %d measured cases are kept, go on with --resume\n", total.valid);
    return RB_EXIT_INTERRUPTED;
  }
  if (code != RB_EXIT_OK) return code;
  if (total.invalid) return RB_EXIT_INVALID;
  if (total.failed) return RB_EXIT_INCOMPLETE;
  if (!total.valid) {
    fprintf(stderr, "regbench run: nothing ran: %s\n",
            total.skipped ? "every case was skipped" : "no case was asked for");
    return RB_EXIT_NOTHING;
  }
  return RB_EXIT_OK;
}

int rb_cmd_run(int argc, char **argv) {
  rb_run_options o = {.preset = RB_PRESET_QUICK, .backend = -1, .out = "out"};
  const char *value, *child = NULL, *child_case = NULL;
  if (argc > 0 && strcmp(argv[0], "baselines") == 0) return rb_cmd_run_baselines(argc - 1, argv + 1);
  if (rb_wants_help(argc, argv, run_help)) return RB_EXIT_OK;
  for (int i = 0; i < argc; i++) {
    if ((value = rb_option(argc, argv, &i, "--preset"))) {
      if (rb_preset_parse(value, &o.preset) != RB_OK) return rb_usage("run", "%s", rb_message());
    } else if ((value = rb_option(argc, argv, &i, "--backend"))) {
      o.backend = strcmp(value, "cpu") == 0    ? RB_CPU
                  : strcmp(value, "cuda") == 0 ? RB_CUDA
                  : strcmp(value, "all") == 0  ? -1
                                               : -2;
      if (o.backend == -2) return rb_usage("run", "unknown backend '%s': cpu, cuda, all", value);
    } else if ((value = rb_option(argc, argv, &i, "--where"))) {
      int code = parse_where((char *)value, &o);
      if (code) return code;
    } else if ((value = rb_option(argc, argv, &i, "--out"))) {
      if (!*value) return rb_usage("run", "--out needs a folder");
      o.out = value;
    } else if ((value = rb_option(argc, argv, &i, "--counters-child"))) {
      child = value;
    } else if ((value = rb_option(argc, argv, &i, "--counters-case"))) {
      child_case = value;
    } else if (strcmp(argv[i], "--resume") == 0) {
      o.resume = 1;
    } else if (argv[i][0] == '-') {
      return rb_usage("run", "unknown option '%s'", argv[i]);
    } else if (o.experiment_count == 32) {
      return rb_usage("run", "more than 32 experiments");
    } else {
      o.experiments[o.experiment_count++] = argv[i];
    }
  }
  if (child && child_case) {
    const rb_status st = rb_run_for_counters(child, child_case, o.preset);
    if (st != RB_OK) fprintf(stderr, "regbench: %s\n", rb_message());
    return st == RB_OK ? RB_EXIT_OK : RB_EXIT_INTERNAL;
  }
  if (!o.experiment_count) return rb_usage("run", "which experiment?");
  const int code = run_all(&o);
  rb_krylov_close();
  return code;
}
