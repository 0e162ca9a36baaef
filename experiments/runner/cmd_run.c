/* SPDX-License-Identifier: BSD-3-Clause */
/* run: the command line. */
#include "experiments/runner/commands.h"
#include "experiments/runner/exit_codes.h"
#include "experiments/runner/run.h"

#include <stdio.h>
#include <string.h>

static const char run_help[] =
    "usage: regbench run EXPERIMENT... [OPTIONS]\n\n"
    "EXPERIMENT is a paper (brunn2020), one of its tables (brunn2020/table4), or a descriptor (my.yaml).\n\n"
    "  --preset quick|standard|paper  sizes and samples (default quick)\n"
    "  --backend cpu|cuda|all         which variants (default all; absent ones are recorded as skipped)\n"
    "  --where AXIS=VALUE[,...]       only these cases; an axis twice means either value; 'method' is an axis\n"
    "  --out DIR                      where records go: DIR/MACHINE/PAPER/NAME/PRESET.json (default out)\n"
    "  --resume                       keep what the journal of an interrupted run holds (without: it is set aside "
    "as\n"
    "                                 PRESET.journal.before); cases of another build or host are measured again\n\n"
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

int rb_cmd_run(int argc, char **argv) {
  rb_run_options o = {.preset = RB_PRESET_QUICK, .backend = -1, .out = "out"};
  const char *value, *child = NULL, *child_case = NULL;
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
  if (child && child_case) return rb_run_for_counters(child, child_case, o.preset);
  if (!o.experiment_count) return rb_usage("run", "which experiment?");
  return rb_run(&o);
}
