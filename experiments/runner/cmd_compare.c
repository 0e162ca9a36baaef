/* SPDX-License-Identifier: BSD-3-Clause */
/* compare: the command line. */
#include "experiments/runner/commands.h"
#include "experiments/runner/exit_codes.h"
#include "experiments/runner/report/compare.h"

#include <math.h>
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

int rb_cmd_compare(int argc, char **argv) {
  const char *path[2] = {NULL, NULL}, *value;
  double delta = 0.05;
  rb_format format = RB_TEXT;
  int n = 0, strict = 0;
  if (rb_wants_help(argc, argv, compare_help)) return RB_EXIT_OK;
  for (int i = 0; i < argc; i++) {
    if ((value = rb_option(argc, argv, &i, "--delta"))) {
      char *end;
      delta = strtod(value, &end);
      if (!*value || *end || !(delta > 0) || !isfinite(delta))
        return rb_usage("compare", "--delta '%s' is not a positive number", value);
    } else if ((value = rb_option(argc, argv, &i, "--format"))) {
      if (rb_format_parse(value, &format) != RB_OK) return rb_usage("compare", "%s", rb_message());
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
  return rb_compare(path[0], path[1], delta, strict, format);
}
