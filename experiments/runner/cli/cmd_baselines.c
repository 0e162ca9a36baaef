/* SPDX-License-Identifier: BSD-3-Clause */
/* run baselines: methods, ours and others', on pairs of the user's own. Each pair and method is the verb `register`
 * as a program of its own, which judges its result by the displacement that it wrote, by one code for all
 * (register_world.c); its metrics.json is the record of that pair and method. What there is by the same command
 * already is kept. */
#include "experiments/runner/base/files.h"
#include "experiments/runner/base/interrupt.h"
#include "experiments/runner/cli/commands.h"
#include "experiments/runner/cli/exit_codes.h"
#include "experiments/runner/inputs/pair_list.h"
#include "experiments/runner/machine/build.h"
#include "experiments/runner/report/baselines.h"
#include "solvers/external/child.h"
#include "solvers/external/external.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char baselines_help[] =
    "usage: regbench run baselines --pairs FILE --methods A,B,... [--out DIR] [OPTIONS]\n\n"
    "registers every pair by every method, and compares them: Dice, HD95, folds, spread of log det, distance of "
    "points,\n"
    "time, energy, memory; means, quartiles, paired differences to the first method with Wilcoxon's signed-rank "
    "test\n\n"
    "--pairs     CSV whose first row names its columns: fixed, moving, and of fixed_labels, moving_labels,\n"
    "            fixed_points, moving_points (mm right, anterior, superior), name those that there are;\n"
    "            or dataset.json of a Learn2Reg task, with its labelsTr and keypointsTr\n"
    "--methods   claire, demons, programs of others by their names ('regbench list external') or adapter files "
    "(my.yaml);\n"
    "            with options behind a colon: 'demons:--sigma-fluid 2', 'greedy:--set iterations=40x20'\n"
    "--out       DIR/PAIR/METHOD/metrics.json and displacement.nii.gz; tables, plots and references.bib in DIR\n"
    "            (default baselines)\n"
    "--size N, --spacing MM, --center, --ignore-geometry, --shift-negative, --label-names FILE   as of `register`,\n"
    "            for all\n\n"
    "Results of the same command by the same program are kept: called again, it goes on. 'regbench report DIR' makes "
    "the tables anew.\n\n"
    "exit codes: 0 fine, 2 usage or a pair list that is none, 8 some pair and method failed, 9 all did, 130 "
    "interrupted\n";

enum { MOST_METHODS = 32, MOST_ARGUMENTS = 64 };
typedef struct {
  char name[64];                          /* of its folder and its row */
  const char *solver, *variant, *adapter; /* variant, adapter: of external programs; NULL */
  char *more;                             /* options behind the colon, taken apart; NULL: none */
} method;
typedef struct {
  const char *pairs, *out, *all[16];
  int all_count, methods;
  method method[MOST_METHODS];
} wishes;

/* "demons:--sigma-fluid 2", in place. */
static int parse_method(char *text, method *m) {
  const rb_solver *solver;
  const rb_variant *variant;
  m->more = strchr(text, ':');
  if (m->more) *m->more++ = '\0';
  const size_t n = strlen(text);
  const char *last = strrchr(text, '/') ? strrchr(text, '/') + 1 : text;
  snprintf(m->name, sizeof m->name, "%.48s", last); /* with room for a number */
  if (n > 5 && strcmp(text + n - 5, ".yaml") == 0) {
    m->name[strlen(m->name) - 5] = '\0';
    m->solver = "external", m->variant = "adapter", m->adapter = text;
    return 0;
  }
  if (rb_variant_find(&rb_external_family, text, &variant) == RB_OK &&
      *((const rb_external_program *)variant->ops)->adapter) {
    m->solver = "external", m->variant = variant->name;
    return 0;
  }
  rb_clear();
  if (rb_solver_find(text, &solver) == RB_OK && (solver->takes & RB_TAKES_IMAGES) && !solver->cohort &&
      solver != &rb_solver_external) {
    m->solver = solver->family->name;
    return 0;
  }
  rb_clear();
  return rb_usage(
      "run", "baselines: no method '%s': claire, demons, a program of 'regbench list external', or a .yaml", text);
}

static int is_taken(const wishes *w, const char *name) {
  for (int k = 0; k < w->methods; k++)
    if (strcmp(w->method[k].name, name) == 0) return 1;
  return 0;
}

/* Two of one name are told apart by a number. */
static int parse_methods(char *text, wishes *w) {
  char *rest = NULL;
  for (char *one = strtok_r(text, ",", &rest); one; one = strtok_r(NULL, ",", &rest)) {
    if (w->methods == MOST_METHODS) return rb_usage("run", "baselines: %d methods at most", MOST_METHODS);
    method *m = &w->method[w->methods];
    const int code = parse_method(one, m);
    if (code) return code;
    const size_t n = strlen(m->name);
    for (int number = 2; is_taken(w, m->name); number++) snprintf(m->name + n, sizeof m->name - n, "-%d", number);
    w->methods++;
  }
  return w->methods ? 0 : rb_usage("run", "baselines: --methods names none");
}

static int parse(int argc, char **argv, wishes *w) {
  static const char *const valued[] = {"--size", "--spacing", "--label-names"}, *const flags[] = {"--center",
                                                                                                  "--ignore-geometry",
                                                                                                  "--shift-negative"};
  const char *value;
  *w = (wishes){.out = "baselines"};
  for (int i = 0; i < argc; i++) {
    int taken = 0;
    for (int k = 0; k < 3 && !taken && w->all_count < 14; k++) {
      if ((value = rb_option(argc, argv, &i, valued[k])))
        w->all[w->all_count] = valued[k], w->all[w->all_count + 1] = value, w->all_count += 2, taken = 1;
      else if (strcmp(argv[i], flags[k]) == 0)
        w->all[w->all_count++] = flags[k], taken = 1;
    }
    if (taken) continue;
    if ((value = rb_option(argc, argv, &i, "--pairs"))) {
      w->pairs = value;
    } else if ((value = rb_option(argc, argv, &i, "--out"))) {
      w->out = value;
    } else if ((value = rb_option(argc, argv, &i, "--methods"))) {
      const int code = parse_methods((char *)value, w);
      if (code) return code;
    } else {
      return rb_usage("run", "baselines: unknown argument '%s'", argv[i]);
    }
  }
  if (!w->pairs || !*w->pairs) return rb_usage("run", "baselines: --pairs names the list");
  if (!w->methods) return rb_usage("run", "baselines: --methods names them");
  return *w->out ? 0 : rb_usage("run", "baselines: --out needs a folder");
}

/* ---- a pair and a method ---------------------------------------------------------------------------------- */

typedef struct {
  const char *argument[MOST_ARGUMENTS];
  int count;
  char *more; /* a copy of the method's options, taken apart */
} command;

static void add(command *c, const char *word) {
  if (c->count < MOST_ARGUMENTS) c->argument[c->count] = word;
  c->count++; /* beyond: run_one refuses */
}
static void add_option(command *c, const char *option, const char *value) {
  if (value) add(c, option), add(c, value);
}
static void command_of(const wishes *w, const rb_listed_pair *p, const method *m, const char *program,
                       const char *folder, command *c) {
  char *rest = NULL;
  *c = (command){.argument = {program, "register", m->solver}, .count = 3};
  add_option(c, "--template", p->moving), add_option(c, "--reference", p->fixed);
  add_option(c, "--variant", m->variant), add_option(c, "--adapter", m->adapter);
  add_option(c, "--template-labels", p->moving_labels), add_option(c, "--reference-labels", p->fixed_labels);
  add_option(c, "--template-points", p->moving_points), add_option(c, "--reference-points", p->fixed_points);
  add_option(c, "--points-in", p->points_in_voxels ? "voxels" : NULL);
  for (int k = 0; k < w->all_count; k++) add(c, w->all[k]);
  c->more = m->more ? strdup(m->more) : NULL;
  for (char *word = c->more ? strtok_r(c->more, " ", &rest) : NULL; word; word = strtok_r(NULL, " ", &rest))
    add(c, word);
  add_option(c, "--outputs", "displacement,jacobian,labels"), add_option(c, "--out", folder);
}

/* The command as text, to tell whether a result is of it and of this program. */
static char *text_of(const command *c) {
  char *text = NULL;
  size_t size;
  FILE *f = open_memstream(&text, &size);
  if (f) fprintf(f, "%s%s\n", rb_build_commit(), rb_build_dirty() ? " with uncommitted changes" : "");
  for (int i = 1; f && i < c->count; i++) fprintf(f, "%s\n", c->argument[i]);
  if (f) fclose(f);
  return text;
}

/* RB_OK: metrics.json is there, of this command; *kept: it was there before. */
static rb_status run_one(const wishes *w, const rb_listed_pair *p, const method *m, const char *program, int *kept) {
  rb_status st = RB_OK;
  char folder[PATH_MAX], metrics[PATH_MAX], request[PATH_MAX], *text = NULL, *before = NULL;
  command c = {.count = 0};
  *kept = 0;
  RB_TRY(rb_path(folder, sizeof folder, "%s/%s/%s", w->out, p->name, m->name));
  RB_TRY(rb_path(metrics, sizeof metrics, "%s/metrics.json", folder));
  RB_TRY(rb_path(request, sizeof request, "%s/command.txt", folder));
  RB_TRY(rb_make_folders(folder));
  command_of(w, p, m, program, folder, &c);
  RB_CHECK(c.count < MOST_ARGUMENTS, RB_EINVAL, "%s: %d words on its command line, more than %d", m->name, c.count,
           MOST_ARGUMENTS - 1); /* the last stays NULL */
  text = text_of(&c);
  RB_CHECK(text, RB_ENOMEM, "host memory");
  if (access(metrics, R_OK) == 0 && rb_read_file(request, &before, NULL) == RB_OK && strcmp(text, before) == 0) {
    *kept = 1;
    goto done;
  }
  rb_clear();
  unlink(metrics);
  RB_TRY(rb_write_atomically(request, text, strlen(text)));
  st = rb_child_run(&(rb_child){.folder = folder, .name = m->name, .interrupted = &rb_interrupted},
                    (char *const *)(uintptr_t)c.argument);
  if (st == RB_EIO && access(metrics, R_OK) == 0) rb_clear(), st = RB_OK; /* not converged: a result, and told so */
done:
  free(before), free(text), free(c.more);
  return st;
}

static rb_status run_all(const wishes *w, const rb_listed_pair *pairs, int count, int *failed, int *done_) {
  rb_status st = RB_OK;
  char program[PATH_MAX];
  int at = 0, kept;
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  RB_CHECK(length > 0, RB_EIO, "cannot tell where this program lies");
  program[length] = '\0';
  for (int i = 0; i < count; i++)
    for (int k = 0; k < w->methods && !rb_interrupted; k++) {
      const rb_status one = run_one(w, &pairs[i], &w->method[k], program, &kept);
      fprintf(stderr, "baselines %d/%d %s %s: %s\n", ++at, count * w->methods, pairs[i].name, w->method[k].name,
              one == RB_OK ? (kept ? "kept" : "done") : rb_message());
      *failed += one != RB_OK, *done_ += one == RB_OK;
      rb_clear();
    }
done:
  return st;
}

int rb_cmd_run_baselines(int argc, char **argv) {
  rb_status st = RB_OK;
  wishes w;
  rb_listed_pair *pairs = NULL;
  int count = 0, failed = 0, finished = 0;
  const char *names[MOST_METHODS];
  if (rb_wants_help(argc, argv, baselines_help)) return RB_EXIT_OK;
  const int code = parse(argc, argv, &w);
  if (code) return code;
  rb_catch_interrupts();
  for (int k = 0; k < w.methods; k++) names[k] = w.method[k].name;
  RB_TRY(rb_pair_list_read(w.pairs, &pairs, &count));
  RB_TRY(rb_make_folders(w.out));
  RB_TRY(rb_baselines_index(w.out, w.methods, names, count, pairs));
  RB_TRY(run_all(&w, pairs, count, &failed, &finished));
  if (finished) RB_TRY(rb_baselines_report(w.out, stdout));
done:
  rb_pair_list_free(pairs, count);
  if (st != RB_OK) {
    fprintf(stderr, "regbench run: %s\n", rb_message());
    return st == RB_EIO || st == RB_ENOMEM || st == RB_EUNSUPPORTED ? RB_EXIT_INCOMPLETE
           : st == RB_EINTERRUPTED                                  ? RB_EXIT_INTERRUPTED
                                                                    : RB_EXIT_USAGE;
  }
  return rb_interrupted ? RB_EXIT_INTERRUPTED
         : !finished    ? RB_EXIT_NOTHING
         : failed       ? RB_EXIT_INCOMPLETE
                        : RB_EXIT_OK;
}
