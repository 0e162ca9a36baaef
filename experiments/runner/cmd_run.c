/* run, check, report, compare: command lines. */
#include "datasets/manifest.h"
#include "experiments/runner/check/check.h"
#include "experiments/runner/commands.h"
#include "experiments/runner/exit_codes.h"
#include "experiments/runner/report/compare.h"
#include "experiments/runner/report/report.h"
#include "experiments/runner/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char run_help[] =
    "usage: regbench run EXPERIMENT... [OPTIONS]\n\n"
    "EXPERIMENT is a paper (brunn2020), one of its tables (brunn2020/table4), or a descriptor (my.yaml).\n\n"
    "  --preset quick|standard|paper  sizes and samples (default quick)\n"
    "  --backend cpu|cuda|all         which variants (default all; absent ones are recorded as skipped)\n"
    "  --where AXIS=VALUE[,...]       only these cases; an axis twice means either value; 'method' is an axis\n"
    "  --out DIR                      where records go: DIR/MACHINE/PAPER/NAME/PRESET.json (default out)\n"
    "  --resume                       keep what the journal of an interrupted run holds\n\n"
    "exit codes: 0 fine, 2 usage or descriptor, 3 a case is invalid, 8 incomplete, 9 nothing ran, 130 interrupted\n";

/* "size=64,points=smooth" -> filters that point into the (modified) text. */
static int parse_where(char *text, rb_run_options *o) {
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
      o.backend = strcmp(value, "cpu") == 0 ? RB_CPU : strcmp(value, "cuda") == 0 ? RB_CUDA : strcmp(value, "all") == 0 ? -1 : -2;
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

static const char check_help[] =
    "usage: regbench check [FAMILY...] [OPTIONS]\n\n"
    "Every variant of the families (default all) against the float64 oracle and against the properties that the family\n"
    "promises. Without a GPU the CUDA variants' recorded outputs are held to the CPU oracle.\n\n"
    "  --variant NAME   only this variant\n"
    "  --junit FILE     write JUnit XML\n"
    "  --golden DIR     recorded GPU outputs (default tests/golden of the project)\n"
    "  --record DIR     write the CUDA variants' outputs there, as new recordings, and seal them\n"
    "  --seal           hold recordings to twice what the CPU's oracle differs from them now\n"
    "  --verbose        list passed checks too, with values and limits\n\n"
    "exit codes: 0 all passed, 2 usage, 3 a check failed, 8 the JUnit file cannot be written, 9 nothing ran\n";

static int checked(const char *name) {
  const char *names[32];
  int n = 0;
  for (const rb_family *f; n < 32 && (f = rb_check_family(n)); n++) {
    if (strcmp(f->name, name) == 0) return 1;
    names[n] = f->name;
  }
  const char *near = rb_nearest(name, names, n);
  RB_FAIL(RB_ENOTFOUND, "nothing to check is named '%s'%s%s", name, near ? "; the nearest is " : "", near ? near : "");
  return 0;
}

/* As rb_write_atomically will, beside the file and not into it. */
static int can_write(const char *path) {
  char partial[4300];
  snprintf(partial, sizeof partial, "%s.partial", path);
  FILE *f = fopen(partial, "w");
  if (f) fclose(f), unlink(partial);
  return f != NULL;
}

int rb_cmd_check(int argc, char **argv) {
  rb_check_options o = {0};
  const char *value, *home;
  char golden[4200] = "";
  struct stat info;
  if (rb_wants_help(argc, argv, check_help)) return RB_EXIT_OK;
  if (rb_home(&home) == RB_OK) snprintf(golden, sizeof golden, "%s/tests/golden", home);
  rb_clear();
  o.golden = golden[0] ? golden : NULL;
  for (int i = 0; i < argc; i++) {
    if ((value = rb_option(argc, argv, &i, "--variant"))) o.variant = value;
    else if ((value = rb_option(argc, argv, &i, "--junit"))) o.junit = value;
    else if ((value = rb_option(argc, argv, &i, "--golden"))) o.golden = value;
    else if ((value = rb_option(argc, argv, &i, "--record"))) o.record = value;
    else if (strcmp(argv[i], "--verbose") == 0) o.verbose = 1;
    else if (strcmp(argv[i], "--seal") == 0) o.seal = 1;
    else if (argv[i][0] == '-') return rb_usage("check", "unknown option '%s'", argv[i]);
    else if (!checked(argv[i])) return rb_usage("check", "%s", rb_message());
    else if (o.families < (int)(sizeof o.family / sizeof *o.family)) o.family[o.families++] = argv[i];
    if (value && !*value) return rb_usage("check", "%s needs a value", argv[i]);
    value = NULL;
  }
  /* told now, not after minutes */
  if (o.record && mkdir(o.record, 0777) != 0 && errno != EEXIST) return rb_usage("check", "cannot make %s: %s", o.record, strerror(errno));
  const char *folders[] = {o.golden, o.record};
  for (int i = 0; i < 2; i++)
    if (folders[i] && (stat(folders[i], &info) != 0 || !S_ISDIR(info.st_mode))) return rb_usage("check", "no folder '%s'", folders[i]);
  if (o.junit && !can_write(o.junit)) {
    fprintf(stderr, "regbench check: cannot write %s: %s\n", o.junit, strerror(errno));
    return RB_EXIT_INCOMPLETE;
  }
  if (o.variant) {
    const char *names[256];
    int known = 0, count = 0;
    for (int i = 0; rb_check_family(i); i++)
      for (int k = 0; k < rb_check_family(i)->count && count < 256; k++) {
        names[count++] = rb_check_family(i)->variants[k].name;
        known |= strcmp(names[count - 1], o.variant) == 0;
      }
    const char *near = rb_nearest(o.variant, names, count);
    if (!known) return rb_usage("check", "no variant '%s'%s%s", o.variant, near ? "; the nearest is " : "", near ? near : "");
  }
  return rb_check_run(&o);
}

static const char report_help[] =
    "usage: regbench report [RECORD|FOLDER...] [OPTIONS]\n\n"
    "Tables from records alone, published values beside ours, a verdict for every cell and claim. Default: results/.\n\n"
    "  --format text|md|csv|latex   (default text)\n"
    "  --plots                      draw figures (SVG, PNG) beside each record; needs gnuplot\n"
    "  --write                      write table.txt, .md, .csv or .tex beside each record instead of to stdout\n"
    "  --rejudge                    first hold the record's measurements against today's descriptor (columns, claims, notes) and\n"
    "                               published values; refused where these would measure something else\n"
    "  --published DIR              write the paper's values as records of the paper's machine below DIR, for 'compare'\n\n"
    "Numeric cells: REPRODUCED or DIFFERS. Times and bandwidths of another machine are not comparable: their cell shows how\n"
    "many times faster ours is and the share of this machine's measured copy bandwidth. Cells whose code has changed since\n"
    "they were measured are marked STALE.\n\nexit codes: 0 fine, 2 unreadable record, 3 a case is invalid, 5 a cell differs or a claim fails, 9 no records\n";

int rb_cmd_report(int argc, char **argv) {
  rb_report_options o = {.format = RB_TEXT};
  const char *value;
  if (rb_wants_help(argc, argv, report_help)) return RB_EXIT_OK;
  for (int i = 0; i < argc; i++) {
    if ((value = rb_option(argc, argv, &i, "--format"))) {
      if (rb_format_parse(value, &o.format) != RB_OK) return rb_usage("report", "%s", rb_message());
    } else if ((value = rb_option(argc, argv, &i, "--published"))) {
      if (!*value) return rb_usage("report", "--published needs a folder");
      o.published = value;
    } else if (strcmp(argv[i], "--plots") == 0) {
      o.plots = 1;
    } else if (strcmp(argv[i], "--write") == 0) {
      o.write = 1;
    } else if (strcmp(argv[i], "--rejudge") == 0) {
      o.rejudge = 1;
    } else if (argv[i][0] == '-') {
      return rb_usage("report", "unknown option '%s'", argv[i]);
    } else if (access(argv[i], R_OK) != 0) {
      return rb_usage("report", "no record or folder '%s'", argv[i]);
    } else if (o.count < 256) {
      o.records[o.count++] = argv[i];
    }
  }
  return rb_report(&o);
}

static const char compare_help[] =
    "usage: regbench compare A B [OPTIONS]\n\n"
    "A and B are records of the same experiment; B may be 'published', the paper's values as a machine of its own.\n\n"
    "  --delta D    what counts as the same: ratio within 1/(1+D) .. 1+D (default 0.05)\n"
    "  --format text|md|csv|latex\n\n"
    "exit codes: 0 fine, 2 usage, 4 B is slower beyond delta in some case, 7 not comparable, 9 nothing in common\n";

int rb_cmd_compare(int argc, char **argv) {
  const char *path[2] = {NULL, NULL}, *value;
  double delta = 0.05;
  rb_format format = RB_TEXT;
  int n = 0;
  if (rb_wants_help(argc, argv, compare_help)) return RB_EXIT_OK;
  for (int i = 0; i < argc; i++) {
    if ((value = rb_option(argc, argv, &i, "--delta"))) {
      char *end;
      delta = strtod(value, &end);
      if (!*value || *end || !(delta > 0)) return rb_usage("compare", "--delta '%s' is not a positive number", value);
    } else if ((value = rb_option(argc, argv, &i, "--format"))) {
      if (rb_format_parse(value, &format) != RB_OK) return rb_usage("compare", "%s", rb_message());
    } else if (argv[i][0] == '-') {
      return rb_usage("compare", "unknown option '%s'", argv[i]);
    } else if (n < 2) {
      path[n++] = argv[i];
    } else {
      return rb_usage("compare", "two records, not more");
    }
  }
  if (n != 2) return rb_usage("compare", "two records are needed");
  return rb_compare(path[0], path[1], delta, format);
}
