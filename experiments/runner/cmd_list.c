/* list, describe, probe. */
#include "datasets/manifest.h"
#include "experiments/runner/cases.h"
#include "experiments/runner/commands.h"
#include "experiments/runner/exit_codes.h"
#include "experiments/runner/report/table.h"
#include "kernels/probe/probe.h"
#include "solvers/claire/claire.h"
#include "solvers/demons/demons.h"
#include "solvers/external/external.h"
#include "solvers/landmarks/landmarks.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char list_help[] =
    "usage: regbench list [experiments|families|variants|solvers|data|NAME]\n\nNAME is a family (interp) or a solver (claire). Without an argument: everything.\n\nexit codes: 0 fine, 2 usage\n";

static int list_experiments(void) {
  enum { MOST = 128 };
  static char paths[MOST][4096];
  const char *home;
  char folder[4200];
  if (rb_home(&home) != RB_OK) {
    fprintf(stderr, "regbench list: %s\n", rb_message());
    return RB_EXIT_USAGE;
  }
  snprintf(folder, sizeof folder, "%s/experiments", home);
  DIR *dir = opendir(folder);
  printf("experiments\n");
  for (struct dirent *e; dir && (e = readdir(dir));) {
    int count;
    if (e->d_name[0] == '.' || strcmp(e->d_name, "runner") == 0) continue;
    if (rb_experiments_find(e->d_name, paths, MOST, &count) != RB_OK) {
      rb_clear();
      continue;
    }
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
  }
  if (dir) closedir(dir);
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
  }
}

/* Registration systems, and what each row of them is put together from. */
static void list_solvers(void) {
  const rb_family *f = &rb_claire_family;
  printf("solvers\n  %-11s %s\n", f->name, f->what);
  for (int v = 0; v < f->count; v++) {
    const rb_variant *w = &f->variants[v];
    const rb_claire_config *c = w->ops;
    printf("    %-30s %-18s %s\n", w->name, w->tag, w->idea);
    if (c) printf("    %30s %s, %s %s, %s, %s\n", "", c->transport, c->interp, c->basis, c->derivative, c->spectral);
  }
}

static void list_system(const rb_family *f) {
  printf("  %-11s %s\n", f->name, f->what);
  for (int v = 0; v < f->count; v++) printf("    %-30s %-18s %s\n", f->variants[v].name, f->variants[v].tag, f->variants[v].idea);
}

static const rb_family *const systems[] = {&rb_landmarks_family, &rb_demons_family, &rb_external_family, &rb_register_family};
enum { SYSTEMS = sizeof systems / sizeof *systems };

/* One family's or solver's variants. */
static int list_one(const char *name) {
  const rb_family *f;
  if (strcmp(name, rb_claire_family.name) == 0) {
    list_solvers();
    return 1;
  }
  for (int i = 0; i < SYSTEMS; i++)
    if (strcmp(name, systems[i]->name) == 0) {
      list_system(systems[i]);
      return 1;
    }
  if (rb_family_find(name, &f) != RB_OK) {
    rb_clear();
    return 0;
  }
  printf("%s: %s\n", f->name, f->what);
  for (int v = 0; v < f->count; v++) printf("  %-30s %-18s %s\n", f->variants[v].name, f->variants[v].tag, f->variants[v].idea);
  return 1;
}

static void list_data(void) {
  char names[64][64];
  int n = rb_manifest_names(names, 64);
  printf("data sets\n  %-16s %-9s %s\n", "phantom", "built in", "a labelled brain-like head, and smooth test functions");
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
  if (all || strcmp(what, "solvers") == 0) {
    list_solvers();
    for (int i = 0; i < SYSTEMS; i++) list_system(systems[i]);
  }
  if (all || strcmp(what, "data") == 0) list_data();
  return code;
}

static const char describe_help[] =
    "usage: regbench describe EXPERIMENT [--preset quick|standard|paper]\n\n"
    "Purpose, cases with their predicted memory, columns, claims. Runs nothing.\n\nexit codes: 0 fine, 2 usage or descriptor\n";

static int describe(const char *path, rb_preset preset) {
  rb_descriptor *d;
  rb_case *cases;
  int count;
  if (rb_descriptor_load(path, &d) != RB_OK) {
    fprintf(stderr, "regbench describe: %s\n", rb_message());
    return RB_EXIT_USAGE;
  }
  printf("%s/%s  %s\nsource: %s\ncache: %s   counters: %s   descriptor sha256: %s\n\n%s\n", d->paper, d->name, d->title, d->source, d->cache,
         d->counters ? "yes" : "no", d->sha256, d->note ? d->note : "");
  if (rb_cases_expand(d, preset, -1, NULL, 0, &cases, &count) != RB_OK) {
    fprintf(stderr, "regbench describe: %s\n", rb_message());
    rb_descriptor_free(d);
    return RB_EXIT_USAGE;
  }
  printf("%d cases at preset %s\n", count, rb_preset_name(preset));
  for (int i = 0; i < count; i++) {
    const rb_workload *w;
    size_t backend_bytes, host_bytes;
    if (rb_workload_find(cases[i].method->kind, &w) != RB_OK) continue;
    w->predict(&cases[i], 1, &backend_bytes, &host_bytes);
    printf("  %-58s %-28s %8.1f MB on %s\n", cases[i].id, cases[i].variant->name, 1e-6 * (double)backend_bytes,
           cases[i].variant->backend == RB_CUDA ? "the GPU" : "the host");
  }
  printf("\ncolumns\n");
  for (unsigned i = 0; i < d->columns_count; i++) {
    static const char *const classes[] = {"numeric", "hardware", "info"};
    printf("  %-18s %-18s %-8s %s\n", d->columns[i].title, d->columns[i].metric, classes[d->columns[i].class], d->columns[i].reason ? d->columns[i].reason : "");
  }
  if (d->claims_count) printf("\nclaims\n");
  for (unsigned i = 0; i < d->claims_count; i++) printf("  %-22s %s\n", d->claims[i].id, d->claims[i].text);
  free(cases);
  rb_descriptor_free(d);
  return RB_EXIT_OK;
}

int rb_cmd_describe(int argc, char **argv) {
  enum { MOST = 64 };
  static char paths[MOST][4096];
  rb_preset preset = RB_PRESET_QUICK;
  const char *value, *what = NULL;
  int count, code = RB_EXIT_OK;
  if (rb_wants_help(argc, argv, describe_help)) return RB_EXIT_OK;
  for (int i = 0; i < argc; i++) {
    if ((value = rb_option(argc, argv, &i, "--preset"))) {
      if (rb_preset_parse(value, &preset) != RB_OK) return rb_usage("describe", "%s", rb_message());
    } else if (argv[i][0] == '-' || what) {
      return rb_usage("describe", "unexpected '%s'", argv[i]);
    } else {
      what = argv[i];
    }
  }
  if (!what) return rb_usage("describe", "which experiment?");
  if (rb_experiments_find(what, paths, MOST, &count) != RB_OK) return rb_usage("describe", "%s", rb_message());
  for (int i = 0; i < count && code == RB_EXIT_OK; i++) code = describe(paths[i], preset);
  return code;
}

static const char probe_help[] =
    "usage: regbench probe [NAME...] [--samples N] [--format text|md|csv|latex]\n\n"
    "Measure this machine's roofs: host STREAM and multiply-adds; on a GPU copy, triad, copy with halo, multiply-adds,\n"
    "exp2, texture fetches, L2 reads and launch latency. NAMEs are variants of the family 'probe'.\n\n"
    "exit codes: 0 fine, 2 usage, 3 a probe's result was wrong, 9 nothing ran\n";

static int probe_all(const char *const *only, int only_count, int samples, rb_format format) {
  rb_table t;
  int ran = 0, invalid = 0;
  rb_table_init(&t, 3);
  if (rb_table_row(&t) != RB_OK) return RB_EXIT_INTERNAL;
  rb_table_set(&t, 0, "roof");
  rb_table_set(&t, 1, "measured");
  rb_table_set(&t, 2, "how");
  for (int i = 0; i < rb_probe_family.count; i++) {
    const rb_variant *v = &rb_probe_family.variants[i];
    int wanted = only_count == 0;
    for (int k = 0; k < only_count; k++) wanted |= strcmp(only[k], v->name) == 0;
    if (!wanted) continue;
    double rate = NAN;
    char text[64] = "";
    fprintf(stderr, "probe %s\n", v->name);
    rb_status st = rb_probe_measure(v, 0, samples, &rate);
    if (rb_table_row(&t) != RB_OK) break;
    const rb_probe_ops *ops = v->ops;
    rb_table_set(&t, 0, "%s", v->name);
    if (st == RB_OK) {
      rb_human(rate, ops->unit, text, sizeof text);
      if (strcmp(ops->unit, "1/s") == 0) snprintf(text, sizeof text, "%.4g G/s", 1e-9 * rate);
      ran++;
    }
    invalid += st == RB_EINVALID;
    rb_table_set(&t, 1, "%s", st == RB_OK ? text : "-");
    rb_table_set(&t, 2, "%s", st == RB_OK ? ops->method : rb_message());
    rb_clear();
  }
  rb_table_print(&t, format, "Measured roofs", stdout);
  rb_table_free(&t);
  return invalid ? RB_EXIT_INVALID : ran ? RB_EXIT_OK : RB_EXIT_NOTHING;
}

int rb_cmd_probe(int argc, char **argv) {
  const char *only[32], *value;
  int count = 0, samples = 21;
  rb_format format = RB_TEXT;
  const rb_variant *v;
  if (rb_wants_help(argc, argv, probe_help)) return RB_EXIT_OK;
  for (int i = 0; i < argc; i++) {
    if ((value = rb_option(argc, argv, &i, "--samples"))) {
      samples = atoi(value);
      if (samples < 1 || samples > 10000) return rb_usage("probe", "--samples '%s': 1 to 10000", value);
    } else if ((value = rb_option(argc, argv, &i, "--format"))) {
      if (rb_format_parse(value, &format) != RB_OK) return rb_usage("probe", "%s", rb_message());
    } else if (argv[i][0] == '-') {
      return rb_usage("probe", "unknown option '%s'", argv[i]);
    } else if (rb_variant_find(&rb_probe_family, argv[i], &v) != RB_OK) {
      return rb_usage("probe", "%s", rb_message());
    } else if (count < 32) {
      only[count++] = argv[i];
    }
  }
  return probe_all(only, count, samples, format);
}
