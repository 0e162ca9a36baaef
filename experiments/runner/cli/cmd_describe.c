/* SPDX-License-Identifier: BSD-3-Clause */
/* describe: one experiment before anything runs. */
#include "experiments/runner/descriptor/cases.h"
#include "experiments/runner/cli/commands.h"
#include "experiments/runner/cli/exit_codes.h"
#include "experiments/runner/machine/build_info.h"
#include "experiments/runner/report/published.h"
#include "experiments/runner/run/run_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char describe_help[] =
    "usage: regbench describe EXPERIMENT [--preset quick|standard|paper]\n\n"
    "Purpose, cases with their predicted memory, columns, claims. Runs nothing.\n\nexit codes: 0 fine, 2 usage or "
    "descriptor\n";

static int describe(const char *path, rb_preset preset) {
  rb_descriptor *d;
  rb_case *cases;
  char *published;
  int count;
  if (rb_descriptor_load(path, &d) != RB_OK) {
    fprintf(stderr, "regbench describe: %s\n", rb_message());
    return RB_EXIT_USAGE;
  }
  if (rb_published_read(d, path, &published) != RB_OK) { /* what `run` would stumble over */
    fprintf(stderr, "regbench describe: %s\n", rb_message());
    rb_descriptor_free(d);
    return RB_EXIT_USAGE;
  }
  free(published);
  if (rb_cases_expand(d, preset, -1, NULL, 0, &cases, &count) != RB_OK) {
    fprintf(stderr, "regbench describe: %s\n", rb_message());
    rb_descriptor_free(d);
    return RB_EXIT_USAGE;
  }
  printf("%s/%s  %s\nsource: %s\ncache: %s   counters: %s   descriptor sha256: %s\n\n%s\n", d->paper, d->name,
         d->title, d->source, d->cache, d->counters ? "yes" : "no", d->sha256, d->note ? d->note : "");
  printf("%d cases at preset %s\n", count, rb_preset_name(preset));
  for (int i = 0; i < count; i++) {
    const rb_workload *w;
    const rb_backend *b;
    size_t backend_bytes, host_bytes;
    int rotations = 1;
    if (rb_workload_find(cases[i].method->kind, &w) != RB_OK) continue;
    if (cases[i].variant->backend == RB_CUDA && strcmp(RB_BUILD_CUDA_COMPILER, "none") == 0) {
      printf("  %-58s %-28s not in this build\n", cases[i].id, cases[i].variant->name);
      continue;
    }
    if (rb_backend_get(cases[i].variant->backend, &b) != RB_OK ||
        rb_case_rotations(&cases[i], w, b, &rotations) != RB_OK)
      rb_clear(); /* the run says why */
    w->predict(&cases[i], rotations, &backend_bytes, &host_bytes);
    printf("  %-58s %-28s %8.1f MB on %s\n", cases[i].id, cases[i].variant->name, 1e-6 * (double)backend_bytes,
           cases[i].variant->backend == RB_CUDA ? "the GPU" : "the host");
  }
  printf("\ncolumns\n");
  for (unsigned i = 0; i < d->columns_count; i++) {
    printf("  %-18s %-18s %-8s %s\n", d->columns[i].title, d->columns[i].metric,
           rb_column_class_name(d->columns[i].class), d->columns[i].reason ? d->columns[i].reason : "");
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
