/* SPDX-License-Identifier: BSD-3-Clause */
/* regbench: verbs, help, version. */
#include "experiments/runner/machine/build_info.h"
#include "experiments/runner/cli/commands.h"
#include "experiments/runner/cli/exit_codes.h"
#include "experiments/runner/machine/build.h"
#include "experiments/runner/machine/plugin.h"
#include "experiments/runner/machine/subnormals.h"
#include "experiments/runner/record/record.h"
#include "kernels/base/team.h"
#include "kernels/registry/registry.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  const char *name;
  int (*run)(int argc, char **argv);
  const char *what;
} verbs[] = {
    {"list", rb_cmd_list, "experiments, kernel families, variants, data sets"},
    {"describe", rb_cmd_describe, "one experiment: its cases, columns, claims, needs"},
    {"run", rb_cmd_run, "verify and measure experiments, write records"},
    {"register", rb_cmd_register, "register two images of your own"},
    {"apply", rb_cmd_apply, "carry images, labels, points, meshes by displacements"},
    {"measure", rb_cmd_measure, "numbers of your own images, labels, fields, points, surfaces"},
    {"check", rb_cmd_check, "every variant against its oracle and its family's properties"},
    {"report", rb_cmd_report, "tables, verdicts and plots from records"},
    {"compare", rb_cmd_compare, "two records, case by case"},
    {"validate", rb_cmd_validate, "whether records that somebody sends agree with themselves"},
    {"probe", rb_cmd_probe, "measure this machine's roofs"},
    {"data", rb_cmd_data, "list, verify and import data sets"},
    {"doctor", rb_cmd_doctor, "what this machine has, what is missing, and how to get it"},
};
enum { VERBS = sizeof verbs / sizeof *verbs };

static void help(FILE *out) {
  fprintf(out,
          "regbench %s: benchmark and validation of GPU diffeomorphic image registration\n\nusage: regbench VERB "
          "[ARGUMENTS]\n\n",
          RB_VERSION);
  for (int i = 0; i < VERBS; i++) fprintf(out, "  %-9s %s\n", verbs[i].name, verbs[i].what);
  fprintf(out,
          "\n'regbench VERB --help' tells a verb's arguments; --device N chooses a GPU (default the one with the "
          "most free "
          "memory).\nstdout carries the product, stderr the progress.\n"
          "exit codes: 0 fine, 1 internal, 2 usage or descriptor, 3 a case is invalid, 4 a regression is confirmed,\n"
          "  5 a published value or claim fails, 6 a solve did not converge, 7 not comparable, 8 incomplete, 9 "
          "nothing ran, 130 interrupted\n");
}

int rb_wants_help(int argc, char **argv, const char *text) {
  for (int i = 0; i < argc; i++)
    if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
      fputs(text, stdout);
      return 1;
    }
  return 0;
}

int rb_usage(const char *verb, const char *format, ...) {
  va_list args;
  if (rb_team_rank() > 0) return RB_EXIT_USAGE; /* rank 0 prints */
  va_start(args, format);
  fprintf(stderr, "regbench %s: ", verb);
  vfprintf(stderr, format, args);
  fprintf(stderr, "; see 'regbench %s --help'\n", verb);
  va_end(args);
  return RB_EXIT_USAGE;
}

const char *rb_option(int argc, char **argv, int *i, const char *name) {
  size_t n = strlen(name);
  if (strncmp(argv[*i], name, n) != 0) return NULL;
  if (argv[*i][n] == '=') return argv[*i] + n + 1;
  if (argv[*i][n] != '\0') return NULL;
  if (*i + 1 >= argc) return "";
  return argv[++*i];
}

/* What a verb returns; where its product could not be written, that it is not complete. */
static int with_output(int code) {
  if (fflush(stdout) == 0 && !ferror(stdout)) return code;
  fprintf(stderr, "regbench: standard output cannot be written: %s\n", strerror(errno));
  return code == RB_EXIT_OK ? RB_EXIT_INCOMPLETE : code;
}

/* Several processes would write the same records. */
static int refuse_several_processes(const char *verb) {
  if (rb_team_rank() == 0)
    fprintf(stderr, "regbench %s: works in one process and %d were started; start it without mpirun\n", verb,
            rb_team_processes());
  return RB_EXIT_USAGE;
}

/* The launcher kills the other processes when one fails: rank 0 must have printed before. */
static int finish(int code) {
  const rb_team *team;
  if (code != RB_EXIT_OK && rb_team_processes() > 1 && rb_team_mpi(&team) == RB_OK) rb_team_barrier(team);
  rb_team_mpi_end();
  return code;
}

/* --device N, anywhere behind the verb: taken out of the arguments. What is started from here on, children included,
 * finds it in its environment. An exit code where it is no number. */
static int parse_device(int *argc, char **argv) {
  int kept = 0;
  for (int i = 0; i < *argc; i++) {
    const char *value = rb_option(*argc, argv, &i, "--device");
    if (!value) {
      argv[kept++] = argv[i];
      continue;
    }
    if (!*value || strspn(value, "0123456789") != strlen(value)) {
      fprintf(stderr, "regbench: --device '%s' is not a whole number: the CUDA device to use, from 0 on\n", value);
      return RB_EXIT_USAGE;
    }
    setenv("REGBENCH_DEVICE", value, 1);
  }
  *argc = kept;
  return 0;
}

/* --plugin FILE, anywhere behind the verbs that use variants: loaded here, taken out of the arguments. */
static int load_plugins(int *argc, char **argv) {
  static const char *const takers[] = {"run", "check", "list"};
  int kept = 0, takes = 0;
  for (int k = 0; k < 3; k++) takes |= *argc > 1 && strcmp(argv[1], takers[k]) == 0;
  for (int i = 0; i < *argc; i++) {
    const char *file = takes ? rb_option(*argc, argv, &i, "--plugin") : NULL;
    if (!file)
      argv[kept++] = argv[i];
    else if (!*file)
      return rb_usage(argv[1], "--plugin needs a shared library");
    else if (rb_plugin_load(file) != RB_OK)
      return rb_usage(argv[1], "%s", rb_message());
  }
  *argc = kept;
  return 0;
}

int main(int argc, char **argv) {
  signal(SIGXFSZ, SIG_IGN); /* a write beyond a limit of the file's size fails with its reason, as on a full disk */
  signal(SIGCHLD, SIG_DFL); /* some launchers ignore it; children are waited for */
  if (!rb_cuda_is_emulated()) rb_flush_subnormals(); /* CUDA keeps them, and its emulation runs in these threads */
  int code = parse_device(&argc, argv);
  if (!code) code = load_plugins(&argc, argv);
  if (code) return code;
  if (argc < 2) {
    help(stderr);
    return RB_EXIT_USAGE;
  }
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
    help(stdout);
    return RB_EXIT_OK;
  }
  if (strcmp(argv[1], "--version") == 0) {
    printf("regbench %s (%s%s)\n", RB_VERSION, rb_build_commit(), rb_build_dirty() ? ", uncommitted changes" : "");
    return RB_EXIT_OK;
  }
  const char *names[VERBS];
  for (int i = 0; i < VERBS; i++) {
    names[i] = verbs[i].name;
    if (strcmp(argv[1], verbs[i].name) != 0) continue;
    if (rb_team_processes() > 1 && verbs[i].run != rb_cmd_register)
      return finish(refuse_several_processes(verbs[i].name));
    return finish(with_output(verbs[i].run(argc - 2, argv + 2)));
  }
  const char *near = rb_nearest(argv[1], names, VERBS);
  fprintf(stderr, "regbench: no verb '%s'%s%s; see 'regbench --help'\n", argv[1], near ? ", nearest is " : "",
          near ? near : "");
  return RB_EXIT_USAGE;
}
