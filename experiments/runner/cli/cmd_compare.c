/* SPDX-License-Identifier: BSD-3-Clause */
/* compare: the command line. */
#include "experiments/runner/cli/commands.h"
#include "experiments/runner/cli/exit_codes.h"
#include "experiments/runner/report/compare.h"
#include "experiments/runner/report/compare_machines.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char compare_help[] =
    "usage: regbench compare A B [OPTIONS]\n"
    "       regbench compare MACHINE MACHINE... [--format F] [--plots DIR]\n\n"
    "A and B are records of the same experiment; B may be 'published', the paper's values as a machine of its "
    "own.\n"
    "MACHINE is a folder of one machine's records (results/nvidia-h200): a row a paper, family and backend says how "
    "many\n"
    "times as fast as the first the others are, as geometric means over the cases that both timed.\n\n"
    "  --delta D    what counts as the same: ratio within 1/(1+D) .. 1+D (default 0.05)\n"
    "  --strict     an AMBIGUOUS case whose median is slower beyond delta counts as slower: exit 4\n"
    "  --format text|md|csv|latex\n"
    "  --plots DIR  of machines: machines.svg and .png there; needs gnuplot\n\n"
    "A case that A timed and B did not is LOST. Where a time has fewer than 6 samples, and so no 95 % interval,\n"
    "10 % of the ratio to either side are assumed: with the default delta a slow-down of 17 % is confirmed, a "
    "smaller one AMBIGUOUS.\n\n"
    "exit codes: 0 fine, 2 usage, 3 a case that A timed is invalid in B, 4 B is slower beyond delta in some case,\n7 "
    "not comparable, 8 cases are lost in B, 9 nothing in common\n";

static void print_sum(const rb_comparison *s) {
  if (s->assumed)
    printf(
        "* a time of fewer than %d samples, whose 95 %% interval nobody knows: %.0f %% of the ratio to either side "
        "are assumed\n",
        RB_COMPARE_LEAST_SAMPLES, 100 * RB_COMPARE_ASSUMED);
  printf("%d compared: %d FASTER, %d SLOWER, %d SAME, %d AMBIGUOUS, %d not comparable", s->compared,
         s->verdicts[RB_FASTER], s->verdicts[RB_SLOWER], s->verdicts[RB_SAME], s->verdicts[RB_AMBIGUOUS],
         s->incomparable + s->verdicts[RB_INCOMPARABLE]);
  if (s->wrong + s->lost) printf("; %d LOST in B, %d of them invalid", s->wrong + s->lost, s->wrong);
  printf("\n");
  if (s->ambiguous_slower)
    printf(
        "%d AMBIGUOUS with a median beyond delta: their samples scatter too much to tell; measure both again with "
        "more samples on a quiet machine (--strict takes them for slower)\n",
        s->ambiguous_slower);
}

static int exit_code_of(const rb_comparison *s, int strict) {
  if (s->wrong) return RB_EXIT_INVALID;
  if (s->compared == 0) return s->lost ? RB_EXIT_INCOMPLETE : RB_EXIT_NOTHING;
  if (s->verdicts[RB_SLOWER] || (strict && s->ambiguous_slower)) return RB_EXIT_REGRESSION;
  if (s->incomparable + s->verdicts[RB_INCOMPARABLE] == s->compared) return RB_EXIT_NOT_COMPARABLE;
  return s->lost ? RB_EXIT_INCOMPLETE : RB_EXIT_OK;
}

static int compare(const char *a, const char *b, const rb_compare_options *o, int strict) {
  rb_comparison sum;
  if (rb_compare(a, b, o, &sum) != RB_OK) {
    fprintf(stderr, "regbench compare: %s\n", rb_message());
    return RB_EXIT_USAGE;
  }
  if (sum.different[0]) {
    fprintf(stderr, "regbench compare: not comparable: experiment differs (%s)\n", sum.different);
    return RB_EXIT_NOT_COMPARABLE;
  }
  if (o->format != RB_CSV) print_sum(&sum);
  return exit_code_of(&sum, strict);
}

static int compare_machines(int n, const char *const *folders, const rb_machines_options *o) {
  int compared = 0;
  const rb_status st = rb_compare_machines(n, folders, o, &compared);
  if (st != RB_OK) fprintf(stderr, "regbench compare: %s\n", rb_message());
  if (st == RB_EIO || st == RB_EUNSUPPORTED || st == RB_ENOMEM) return RB_EXIT_INCOMPLETE;
  if (st == RB_EINTERRUPTED) return RB_EXIT_INTERRUPTED;
  return st != RB_OK ? RB_EXIT_USAGE : compared ? RB_EXIT_OK : RB_EXIT_NOTHING;
}

static int is_folder(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* What was asked for, by what the first operand is. */
static int compare_operands(int n, const char *const *path, const rb_compare_options *o, int strict,
                            const char *plots) {
  const int machines = n > 0 && is_folder(path[0]);
  for (int i = 0; i < n; i++)
    if (is_folder(path[i]) != machines)
      return rb_usage("compare", "records or folders of machines, not both: '%s'", path[i]);
  if (n < 2) return rb_usage("compare", machines ? "two machines at least" : "two records are needed");
  if (machines) return compare_machines(n, path, &(rb_machines_options){o->format, o->out, plots});
  if (plots) return rb_usage("compare", "--plots is for folders of machines");
  return n == 2 ? compare(path[0], path[1], o, strict) : rb_usage("compare", "two records, not more");
}

int rb_cmd_compare(int argc, char **argv) {
  const char *path[RB_MOST_MACHINES], *plots = NULL, *value;
  rb_compare_options o = {.delta = 0.05, .format = RB_TEXT, .out = stdout};
  int n = 0, strict = 0;
  if (rb_wants_help(argc, argv, compare_help)) return RB_EXIT_OK;
  for (int i = 0; i < argc; i++) {
    if ((value = rb_option(argc, argv, &i, "--delta"))) {
      char *end;
      o.delta = strtod(value, &end);
      if (!*value || *end || !(o.delta > 0) || !isfinite(o.delta))
        return rb_usage("compare", "--delta '%s' is not a positive number", value);
    } else if ((value = rb_option(argc, argv, &i, "--format"))) {
      if (rb_format_parse(value, &o.format) != RB_OK) return rb_usage("compare", "%s", rb_message());
    } else if ((value = rb_option(argc, argv, &i, "--plots"))) {
      if (!*value) return rb_usage("compare", "--plots needs a folder");
      plots = value;
    } else if (strcmp(argv[i], "--strict") == 0) {
      strict = 1;
    } else if (argv[i][0] == '-') {
      return rb_usage("compare", "unknown option '%s'", argv[i]);
    } else if (n < RB_MOST_MACHINES) {
      path[n++] = argv[i];
    } else {
      return rb_usage("compare", "more than %d machines", RB_MOST_MACHINES);
    }
  }
  return compare_operands(n, path, &o, strict, plots);
}
