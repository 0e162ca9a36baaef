/* SPDX-License-Identifier: BSD-3-Clause */
/* list: what there is. */
#include "datasets/manifest.h"
#include "experiments/runner/descriptor/cases.h"
#include "experiments/runner/cli/commands.h"
#include "experiments/runner/cli/exit_codes.h"
#include "experiments/runner/workloads/workload.h"
#include "solvers/solver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char list_help[] =
    "usage: regbench list [experiments|families|variants|solvers|data|NAME]\n\nNAME is a family (interp) or a solver "
    "(claire). Without an argument: everything.\n\n--plugin FILE  a shared library whose variants are listed, too\n\n"
    "exit codes: 0 fine, 2 usage\n";

static int list_experiments(void) {
  enum { MOST = 256 };
  static char paths[MOST][4096];
  int count;
  if (rb_experiments_all(paths, MOST, &count) != RB_OK) return rb_usage("list", "%s", rb_message());
  printf("experiments\n");
  for (int i = 0; i < count; i++) {
    rb_descriptor *d;
    char name[512];
    if (rb_descriptor_load(paths[i], &d) != RB_OK) {
      printf("  %s\n", rb_message());
      rb_clear();
      continue;
    }
    snprintf(name, sizeof name, "%s/%s", d->paper, d->name);
    printf("  %-28s %s\n", name, d->title);
    rb_descriptor_free(d);
  }
  return RB_EXIT_OK;
}

static void list_families(int variants) {
  int n;
  const rb_family *const *f = rb_families(&n);
  printf("%s\n", variants ? "variants" : "families");
  for (int i = 0; i < n; i++) {
    printf("  %-11s %s\n", f[i]->name, f[i]->what);
    for (int v = 0; variants && v < f[i]->count; v++) {
      const rb_variant *w = &f[i]->variants[v];
      printf("    %-30s %-18s %s\n", w->name, w->tag, w->idea);
    }
  }
  const rb_backend *b;
  if (variants && rb_backend_get(RB_CUDA, &b) != RB_OK) {
    printf("  cuda/* are unavailable here: %s\n", rb_message());
    rb_clear();
  } else if (variants && b->emulated) {
    printf(
        "  cuda/* are emulated here, executed on the CPU: 'regbench check' runs them, 'run', 'probe' and 'register' "
        "do not\n");
  }
}

/* What is timed as a whole program: no solver of the contract, but listed beside them. */
static const rb_family *const programs[] = {&rb_register_family, &rb_contest_family};
enum { PROGRAMS = sizeof programs / sizeof *programs };

static void list_variants(const rb_family *f, const rb_solver *s) {
  printf("  %-11s %s\n", f->name, f->what);
  for (int v = 0; v < f->count; v++) {
    const rb_variant *w = &f->variants[v];
    char parts[256] = "";
    printf("    %-30s %-18s %s\n", w->name, w->tag, w->idea);
    if (s) s->made_of(w, parts, sizeof parts);
    if (*parts) printf("    %30s %s\n", "", parts);
  }
}

static void list_solvers(void) {
  int count;
  const rb_solver *const *all = rb_solvers(&count);
  printf("solvers\n");
  for (int i = 0; i < count; i++) list_variants(all[i]->family, all[i]);
  for (int i = 0; i < PROGRAMS; i++) list_variants(programs[i], NULL);
}

/* One family's or solver's variants; both where they share a name. */
static int list_one(const char *name) {
  const rb_family *f;
  const rb_solver *s;
  const int solver = rb_solver_find(name, &s) == RB_OK;
  if (solver) list_variants(s->family, s);
  rb_clear();
  for (int i = 0; i < PROGRAMS; i++)
    if (strcmp(name, programs[i]->name) == 0) {
      list_variants(programs[i], NULL);
      return 1;
    }
  if (rb_family_find(name, &f) != RB_OK) {
    rb_clear();
    return solver;
  }
  printf("%s: %s\n", f->name, f->what);
  for (int v = 0; v < f->count; v++)
    printf("  %-30s %-18s %s\n", f->variants[v].name, f->variants[v].tag, f->variants[v].idea);
  return 1;
}

static void list_data(void) {
  char names[64][64];
  int n = rb_manifest_names(names, 64);
  printf("data sets\n  %-16s %-9s %s\n", "phantom", "built in",
         "a labelled brain-like head, and smooth test functions");
  for (int i = 0; i < n; i++) {
    rb_manifest *m;
    if (rb_manifest_load(names[i], &m) != RB_OK) {
      printf("  %s\n", rb_message());
      rb_clear();
      continue;
    }
    printf("  %-16s %-9s %s\n", m->name, rb_manifest_present(m) ? "present" : "absent", m->title);
    rb_manifest_free(m);
  }
}

/* What `list` takes besides a family's name. */
static const char *const parts[] = {"all", "experiments", "families", "variants", "solvers", "data"};
enum { PARTS = sizeof parts / sizeof *parts };

static int is_part(const char *word) {
  for (int i = 0; i < PARTS; i++)
    if (strcmp(word, parts[i]) == 0) return 1;
  return 0;
}
static int cannot_list(const char *word) {
  const char *names[64];
  int count = 0, families;
  const rb_family *const *all = rb_families(&families);
  while (count < PARTS) names[count] = parts[count], count++;
  for (int i = 0; i < families && count < 64; i++) names[count++] = all[i]->name;
  const char *near = rb_nearest(word, names, count);
  return rb_usage("list", "cannot list '%s'%s%s", word, near ? "; the nearest is " : "", near ? near : "");
}

int rb_cmd_list(int argc, char **argv) {
  if (rb_wants_help(argc, argv, list_help)) return RB_EXIT_OK;
  const char *what = argc > 0 ? argv[0] : "all";
  int all = strcmp(what, "all") == 0, code = RB_EXIT_OK;
  if (argc == 1 && list_one(what)) return RB_EXIT_OK;
  if (argc > 1 || !is_part(what)) return cannot_list(argv[argc - 1]);
  if (all || strcmp(what, "experiments") == 0) code = list_experiments();
  if (strcmp(what, "families") == 0) list_families(0);
  if (all || strcmp(what, "variants") == 0) list_families(1);
  if (all || strcmp(what, "solvers") == 0) list_solvers();
  if (all || strcmp(what, "data") == 0) list_data();
  return code;
}
