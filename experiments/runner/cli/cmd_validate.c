/* SPDX-License-Identifier: BSD-3-Clause */
/* validate: records that somebody sends, as an archive or a folder. */
#include "datasets/temporary.h"
#include "experiments/runner/base/interrupt.h"
#include "experiments/runner/cli/commands.h"
#include "experiments/runner/cli/exit_codes.h"
#include "experiments/runner/report/report.h"
#include "experiments/runner/report/validate.h"
#include "kernels/base/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char help[] =
    "usage: regbench validate ARCHIVE|FOLDER|RECORD...\n\n"
    "works out again what a record derives (medians, intervals, shares of the roof, checksums, verdicts of "
    "verifications) and\n"
    "holds its times against the machine's own roofs and power. ARCHIVE: .tar, .tar.gz, .tar.xz of records. Nothing "
    "is "
    "signed:\n"
    "a record that was made up with care passes.\n\n"
    "exit codes: 0 fine, 2 unreadable, 3 a record contradicts itself, 9 no record\n";

enum { MOST = 4096 };

/* The records of one argument; those of an archive lie in `folder` then, which is the caller's to remove. */
static rb_status list(const char *given, char folder[1024], char (*paths)[4096], int *count) {
  rb_status st = RB_OK;
  struct stat info;
  const char *tar = strstr(given, ".tar");
  int code = 0;
  folder[0] = '\0';
  RB_CHECK(stat(given, &info) == 0, RB_ENOTFOUND, "no file %s", given);
  if (S_ISDIR(info.st_mode)) {
    *count = rb_records_list(given, paths, MOST);
    return RB_OK;
  }
  RB_CHECK(S_ISREG(info.st_mode), RB_EINVAL, "%s is no file", given);
  if (!tar) {
    RB_TRY(rb_path(paths[0], sizeof paths[0], "%s", given));
    *count = 1;
    return RB_OK;
  }
  RB_TRY(rb_temporary_make(folder, 1024));
  char *const arguments[] = {"tar", "-xf", (char *)(uintptr_t)given, "-C", folder, "--no-same-owner", NULL};
  RB_TRY(rb_process_run(&(rb_process){.seconds = 600, .interrupted = &rb_interrupted}, arguments, &code));
  RB_CHECK(code == 0, RB_EFORMAT, "%s cannot be unpacked by tar", given);
  *count = rb_records_list(folder, paths, MOST);
done:
  return st;
}

static int validate(const char *given, char (*paths)[4096], rb_validation *v) {
  char folder[1024];
  int count = 0, unreadable = 0;
  if (list(given, folder, paths, &count) != RB_OK) {
    fprintf(stderr, "regbench validate: %s\n", rb_message());
    rb_clear();
    unreadable = 1;
  }
  for (int i = 0; i < count; i++) {
    if (rb_validate_record(paths[i], stdout, v) == RB_OK) continue;
    fprintf(stderr, "regbench validate: %s\n", rb_message());
    rb_clear();
    unreadable = 1;
  }
  if (folder[0]) rb_temporary_remove(folder);
  return unreadable;
}

int rb_cmd_validate(int argc, char **argv) {
  rb_validation v = {0};
  int unreadable = 0;
  if (rb_wants_help(argc, argv, help)) return RB_EXIT_OK;
  if (argc == 0) return rb_usage("validate", "which archive, folder or record?");
  for (int i = 0; i < argc; i++)
    if (argv[i][0] == '-') return rb_usage("validate", "unknown option '%s'", argv[i]);
  char(*paths)[4096] = malloc(MOST * sizeof *paths);
  if (!paths) return RB_EXIT_INTERNAL;
  for (int i = 0; i < argc; i++) unreadable |= validate(argv[i], paths, &v);
  free(paths);
  printf("%d records, %d valid cases, %d contradictions; %d incomplete, %d made with uncommitted changes; unsigned\n",
         v.records, v.cases, v.contradictions, v.incomplete, v.dirty);
  return unreadable         ? RB_EXIT_USAGE
         : v.contradictions ? RB_EXIT_INVALID
         : v.records == 0   ? RB_EXIT_NOTHING
                            : RB_EXIT_OK;
}
