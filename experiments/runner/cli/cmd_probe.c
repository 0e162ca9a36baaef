/* SPDX-License-Identifier: BSD-3-Clause */
/* probe: this machine's roofs. */
#include "experiments/runner/cli/commands.h"
#include "experiments/runner/cli/exit_codes.h"
#include "experiments/runner/report/table.h"
#include "kernels/probe/probe.h"
#include "kernels/registry/registry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char probe_help[] =
    "usage: regbench probe [NAME...] [--samples N] [--format text|md|csv|latex]\n\n"
    "Measure this machine's roofs: host STREAM and multiply-adds; on a GPU copy, triad, copy with halo, "
    "multiply-adds,\n"
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
      rb_format_value(rate, ops->unit, text, sizeof text);
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
      char *end;
      const long n = strtol(value, &end, 10);
      samples = (int)n;
      if (end == value || *end || n < 1 || n > 10000) return rb_usage("probe", "--samples '%s': 1 to 10000", value);
    } else if ((value = rb_option(argc, argv, &i, "--format"))) {
      if (rb_format_parse(value, &format) != RB_OK) return rb_usage("probe", "%s", rb_message());
    } else if (argv[i][0] == '-') {
      return rb_usage("probe", "unknown option '%s'", argv[i]);
    } else if (rb_variant_find(&rb_probe_family, argv[i], &v) != RB_OK) {
      return rb_usage("probe", "%s", rb_message());
    } else if (count == 32) {
      return rb_usage("probe", "more than 32 names");
    } else {
      only[count++] = argv[i];
    }
  }
  return probe_all(only, count, samples, format);
}
