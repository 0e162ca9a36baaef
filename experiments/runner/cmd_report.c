/* SPDX-License-Identifier: BSD-3-Clause */
/* report: the command line. */
#include "experiments/runner/commands.h"
#include "experiments/runner/exit_codes.h"
#include "experiments/runner/interrupt.h"
#include "experiments/runner/report/report.h"

#include <string.h>
#include <unistd.h>

static const char report_help[] =
    "usage: regbench report [RECORD|FOLDER...] [OPTIONS]\n\n"
    "Tables from records alone, published values beside ours, a verdict for every cell and claim. Default: "
    "results/.\n\n"
    "  --format text|md|csv|latex   (default text)\n"
    "  --plots                      draw figures beside each record (SVG and PNG; sets of landmarks PNG, their film "
    "GIF); needs gnuplot\n"
    "  --write                      write table.txt, .md, .csv or .tex beside each record instead of to stdout; "
    "beside a larger preset's\n"
    "                               record a smaller one's is table-PRESET.txt, its plots likewise\n"
    "  --rejudge                    first hold the record's measurements against today's descriptor (columns, "
    "claims, notes) and\n"
    "                               published values; refused where these would measure something else\n"
    "  --published DIR              write the paper's values as records of the paper's machine below DIR, for "
    "'compare'\n\n"
    "Numeric cells: REPRODUCED or DIFFERS. Times and rates of another machine are NOT COMPARABLE: their cell shows "
    "how many times\n"
    "faster ours is and the share of this machine's measured copy bandwidth, other values which part of the printed "
    "one they are.\n"
    "Beside another program's on the same machine they show the same, unjudged. Methods that a record has no case of "
    "show what is\n"
    "printed of them. Cells whose code has changed since they were measured are marked STALE.\n\nexit codes: 0 fine, "
    "2 unreadable record, 3 a case is invalid, 5 a cell differs or a claim fails,\n8 a table or plot could not be "
    "made, 9 no records, 130 interrupted\n";

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
    } else if (o.count == (int)(sizeof o.records / sizeof *o.records)) {
      return rb_usage("report", "more than %d records; name their folder", o.count);
    } else {
      o.records[o.count++] = argv[i];
    }
  }
  if (o.plots) rb_catch_interrupts(); /* gnuplot is ended, too */
  return rb_report(&o);
}
