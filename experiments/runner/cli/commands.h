/* SPDX-License-Identifier: BSD-3-Clause */
/* The verbs of regbench. Each takes what follows its name and returns the exit code. */
#ifndef RB_COMMANDS_H
#define RB_COMMANDS_H

#include "kernels/base/status.h"

int rb_cmd_list(int argc, char **argv);
int rb_cmd_describe(int argc, char **argv);
int rb_cmd_run(int argc, char **argv);
int rb_cmd_run_baselines(int argc, char **argv); /* of `run` */
int rb_cmd_check(int argc, char **argv);
int rb_cmd_report(int argc, char **argv);
int rb_cmd_compare(int argc, char **argv);
int rb_cmd_validate(int argc, char **argv);
int rb_cmd_probe(int argc, char **argv);
int rb_cmd_data(int argc, char **argv);
int rb_cmd_register(int argc, char **argv);
int rb_cmd_apply(int argc, char **argv);
int rb_cmd_measure(int argc, char **argv);
int rb_cmd_doctor(int argc, char **argv);

/* True when the arguments ask for help; prints it. */
int rb_wants_help(int argc, char **argv, const char *help);
/* One line on stderr with what is wrong and where help is; returns the usage exit code. */
int rb_usage(const char *verb, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Value of option argv[*i] given as "--name value" or "--name=value"; NULL when argv[*i] is not that option.
 * A missing value gives "" and *i unchanged. */
const char *rb_option(int argc, char **argv, int *i, const char *name);
#endif
