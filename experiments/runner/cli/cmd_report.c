/* SPDX-License-Identifier: BSD-3-Clause */
/* report: the command line. */
#include "datasets/manifest.h"
#include "experiments/runner/base/interrupt.h"
#include "experiments/runner/cli/commands.h"
#include "experiments/runner/cli/exit_codes.h"
#include "experiments/runner/record/record.h"
#include "experiments/runner/report/baselines.h"
#include "experiments/runner/report/html.h"
#include "experiments/runner/report/report.h"
#include "experiments/runner/report/summary.h"
#include "experiments/runner/report/tidy.h"
#include "experiments/runner/run/recover.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char report_help[] =
    "usage: regbench report [RECORD|FOLDER...] [OPTIONS]\n\n"
    "Tables from records alone, published values beside ours, a verdict for every cell and claim. Default: "
    "results/. A folder of 'run baselines': its tables and plots anew.\n\n"
    "  --format text|md|csv|latex   (default text); csv: a row a case and column, in SI units, of all records under "
    "one header\n"
    "  --plots                      draw figures beside each record (SVG and PNG; sets of landmarks PNG, their film "
    "GIF); needs gnuplot\n"
    "  --pdf                        with --plots: PDF, too, for papers\n"
    "  --write                      write table.txt, .md, .csv or .tex beside each record instead of to stdout; "
    "beside a larger preset's\n"
    "                               record a smaller one's is table-PRESET.txt, its plots likewise\n"
    "  --summary                    instead of the tables a line a record, totals a paper, and what is missing and "
    "why\n"
    "  --html FILE                  instead of the tables one page of all: a matrix of verdicts, then each record's "
    "table,\n"
    "                               figures and claims; it needs no network\n"
    "  --rejudge                    first judge the record's measurements by today's descriptor (columns, "
    "claims, notes) and\n"
    "                               published values; refused where these would measure something else\n"
    "  --recover                    first write the records of runs that were killed, from the journals in the named "
    "folders:\n"
    "                               what was measured, on whatever machine; --rejudge then adds published values\n"
    "  --published DIR              write the paper's values as records of the paper's machine below DIR, for "
    "'compare'\n\n"
    "A cell reads: ours (printed) verdict. Numeric cells: REPRODUCED (ok) or DIFFERS. Times and rates of another "
    "machine are NOT COMPARABLE: their cell shows "
    "how many times\n"
    "faster ours is and the share of this machine's measured copy bandwidth, other values their ratio to the printed "
    "one.\n"
    "Values of another program on the same machine are shown likewise and not judged. Methods without a case in the "
    "record show\n"
    "their printed values. Cells whose code has changed since they were measured are marked STALE.\n\nexit codes: 0 "
    "fine, "
    "2 unreadable record, 3 a case is invalid, 5 a cell differs or a claim fails,\n8 a table or plot could not be "
    "made, 9 no records, 130 interrupted\n";

typedef struct {
  const char *given[256]; /* records and folders; none: results/ */
  int count;
} places;

/* A record that cannot be read is the caller's; a table or picture that cannot be made is this place's. */
static int exit_code_of(rb_status st) {
  return st == RB_EIO || st == RB_EBUSY || st == RB_ENOMEM || st == RB_EUNSUPPORTED ? RB_EXIT_INCOMPLETE
                                                                                    : RB_EXIT_USAGE;
}

static int list(const places *p, char paths[][4096], int most) {
  const char *home;
  char root[4200];
  int count = 0;
  for (int i = 0; i < p->count; i++) {
    struct stat info;
    if (stat(p->given[i], &info) == 0 && S_ISDIR(info.st_mode))
      count += rb_records_list(p->given[i], paths + count, most - count);
    else if (count < most)
      snprintf(paths[count++], 4096, "%s", p->given[i]);
  }
  if (p->count == 0 && rb_project_root(&home) == RB_OK) {
    snprintf(root, sizeof root, "%s/results", home);
    count = rb_records_list(root, paths, most);
  }
  return count;
}

/* Into a summary or a page. */
static rb_status gather(const char *path, rb_summary *summary, rb_html *page, rb_verdicts *sum) {
  rb_status st = RB_OK;
  json_t *record = NULL;
  rb_judged j = {0};
  RB_TRY(rb_record_load(path, &record));
  RB_TRY(rb_judged_open(record, path, &j));
  RB_TRY(summary ? rb_summary_add(summary, &j, sum) : rb_html_add(page, &j, sum));
done:
  rb_judged_close(&j);
  json_decref(record);
  return st;
}

static int report(const places *p, const rb_report_options *o, const char *html) {
  enum { MOST = 4096 };
  char(*paths)[4096] = malloc(MOST * sizeof *paths);
  rb_verdicts s = {0};
  int unreadable = 0, incomplete = 0, interrupted = 0;
  rb_summary *summary = o->summary ? rb_summary_new() : NULL;
  rb_html *page = html ? rb_html_new() : NULL;
  if (!paths || (o->summary && !summary) || (html && !page)) {
    free(paths), rb_summary_free(summary), rb_html_free(page);
    return RB_EXIT_INTERNAL;
  }
  const int count = list(p, paths, MOST);
  if (count && o->format == RB_CSV && !o->write && !summary && !page && !o->published) rb_tidy_head(o->out);
  for (int i = 0; i < count && !interrupted; i++) {
    const rb_status st = summary || page ? gather(paths[i], summary, page, &s) : rb_report(paths[i], o, &s);
    if (st == RB_OK) continue;
    interrupted = st == RB_EINTERRUPTED;
    if (!interrupted) fprintf(stderr, "regbench report: %s\n", rb_message());
    rb_clear();
    if (exit_code_of(st) == RB_EXIT_USAGE)
      unreadable = 1;
    else
      incomplete = 1;
  }
  free(paths);
  if (summary && count && !interrupted && rb_summary_print(summary, o->format, o->out) != RB_OK) incomplete = 1;
  rb_summary_free(summary);
  if (page && count && !interrupted && rb_html_write(page, html) != RB_OK) {
    fprintf(stderr, "regbench report: %s\n", rb_message());
    incomplete = 1;
  }
  rb_html_free(page);
  if (interrupted) return RB_EXIT_INTERRUPTED;
  if (count == MOST) fprintf(stderr, "regbench report: only the first %d records\n", MOST);
  if (count == 0) {
    fprintf(stderr, "regbench report: no records; 'regbench run' makes them, or name a record or a folder\n");
    return RB_EXIT_NOTHING;
  }
  if (unreadable) return RB_EXIT_USAGE;
  if (incomplete || count == MOST) return RB_EXIT_INCOMPLETE;
  return s.invalid ? RB_EXIT_INVALID : rb_verdicts_differ(&s) || s.fails ? RB_EXIT_DIFFERS : RB_EXIT_OK;
}

/* Of all journals below the named folders. */
static int recover(const places *p) {
  enum { MOST = 4096 };
  char(*paths)[4096] = malloc(MOST * sizeof *paths), record[4200];
  int code = RB_EXIT_OK, cases;
  if (!paths) return RB_EXIT_INTERNAL;
  for (int i = 0; i < p->count; i++) {
    const int count = rb_journals_list(p->given[i], paths, MOST);
    for (int k = 0; k < count; k++) {
      const rb_status st = rb_recover(paths[k], record, sizeof record, &cases);
      if (st != RB_OK) {
        fprintf(stderr, "regbench report: %s\n", rb_message());
        rb_clear();
        code = exit_code_of(st);
      } else if (cases) {
        fprintf(stderr, "%s: %d cases of a run that was killed\n", record, cases);
      }
    }
  }
  free(paths);
  return code;
}

int rb_cmd_report(int argc, char **argv) {
  rb_report_options o = {.format = RB_TEXT, .out = stdout, .names = stderr};
  places p = {.count = 0};
  const char *value, *html = NULL;
  int recovers = 0;
  if (rb_wants_help(argc, argv, report_help)) return RB_EXIT_OK;
  for (int i = 0; i < argc; i++) {
    if ((value = rb_option(argc, argv, &i, "--format"))) {
      if (rb_format_parse(value, &o.format) != RB_OK) return rb_usage("report", "%s", rb_message());
    } else if ((value = rb_option(argc, argv, &i, "--published"))) {
      if (!*value) return rb_usage("report", "--published needs a folder");
      o.published = value;
    } else if ((value = rb_option(argc, argv, &i, "--html"))) {
      if (!*value) return rb_usage("report", "--html needs a file");
      html = value;
    } else if (strcmp(argv[i], "--plots") == 0) {
      o.plots = 1;
    } else if (strcmp(argv[i], "--pdf") == 0) {
      o.pdf = 1;
    } else if (strcmp(argv[i], "--summary") == 0) {
      o.summary = 1;
    } else if (strcmp(argv[i], "--write") == 0) {
      o.write = 1;
    } else if (strcmp(argv[i], "--recover") == 0) {
      recovers = 1;
    } else if (strcmp(argv[i], "--rejudge") == 0) {
      o.rejudge = 1;
    } else if (argv[i][0] == '-') {
      return rb_usage("report", "unknown option '%s'", argv[i]);
    } else if (access(argv[i], R_OK) != 0) {
      return rb_usage("report", "no record or folder '%s'", argv[i]);
    } else if (p.count == (int)(sizeof p.given / sizeof *p.given)) {
      return rb_usage("report", "more than %d records; name their folder", p.count);
    } else {
      p.given[p.count++] = argv[i];
    }
  }
  if (o.pdf && !o.plots) return rb_usage("report", "--pdf goes with --plots");
  if (o.summary && (o.plots || o.write || o.published || o.rejudge))
    return rb_usage("report", "--summary goes with --format alone");
  if (html && (o.summary || o.plots || o.write || o.published || o.rejudge))
    return rb_usage("report", "--html goes alone");
  if (recovers && !p.count) return rb_usage("report", "--recover needs a folder");
  for (int i = 0; recovers && i < p.count; i++) {
    struct stat info;
    if (stat(p.given[i], &info) != 0 || !S_ISDIR(info.st_mode))
      return rb_usage("report", "--recover takes folders; '%s' is none", p.given[i]);
  }
  if (recovers) {
    const int code = recover(&p);
    if (code != RB_EXIT_OK) return code;
  }
  if (o.plots) rb_catch_interrupts();                /* gnuplot is ended, too */
  if (p.count == 1 && rb_baselines_is(p.given[0])) { /* of `run baselines` */
    const rb_status st = rb_baselines_report(p.given[0], stdout);
    if (st != RB_OK) fprintf(stderr, "regbench report: %s\n", rb_message());
    return st == RB_OK ? RB_EXIT_OK : exit_code_of(st);
  }
  return report(&p, &o, html);
}
