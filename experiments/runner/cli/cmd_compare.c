/* SPDX-License-Identifier: BSD-3-Clause */
/* compare: the command line. */
#include "experiments/runner/cli/commands.h"
#include "experiments/runner/cli/exit_codes.h"
#include "experiments/runner/report/compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char compare_help[] =
    "usage: regbench compare A B [OPTIONS]\n\n"
    "A and B are records of the same experiment; B may be 'published', the paper's values as a machine of its "
    "own.\n\n"
    "  --delta D    what counts as the same: ratio within 1/(1+D) .. 1+D (default 0.05)\n"
    "  --strict     an AMBIGUOUS case whose median is slower beyond delta counts as slower: exit 4\n"
    "  --format text|md|csv|latex\n\n"
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

int rb_cmd_compare(int argc, char **argv) {
  const char *path[2] = {NULL, NULL}, *value;
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
    } else if (strcmp(argv[i], "--strict") == 0) {
      strict = 1;
    } else if (argv[i][0] == '-') {
      return rb_usage("compare", "unknown option '%s'", argv[i]);
    } else if (n < 2) {
      path[n++] = argv[i];
    } else {
      return rb_usage("compare", "two records, not more");
    }
  }
  if (n != 2) return rb_usage("compare", "two records are needed");
  return compare(path[0], path[1], &o, strict);
}
