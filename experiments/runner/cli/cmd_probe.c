/* SPDX-License-Identifier: BSD-3-Clause */
/* probe: this machine's roofs. */
#include "experiments/runner/base/date.h"
#include "experiments/runner/cli/commands.h"
#include "experiments/runner/cli/exit_codes.h"
#include "experiments/runner/base/files.h"
#include "experiments/runner/machine/build.h"
#include "experiments/runner/machine/build_info.h"
#include "experiments/runner/machine/environment.h"
#include "experiments/runner/record/record.h"
#include "experiments/runner/report/table.h"
#include "datasets/whole_file.h"
#include "kernels/probe/probe.h"
#include "kernels/registry/registry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char probe_help[] =
    "usage: regbench probe [NAME...] [--samples N] [--format text|md|csv|latex] [--out DIR]\n\n"
    "Measure this machine's roofs: host STREAM and multiply-adds; on a GPU copy, triad, copy with halo, "
    "multiply-adds,\n"
    "exp2, texture fetches, L2 reads and launch latency. NAMEs are variants of the family 'probe'.\n\n"
    "  --out DIR   a record of them, too: DIR/MACHINE/probe.json (format: results/schema/README.md)\n\n"
    "exit codes: 0 fine, 2 usage, 3 a probe's result was wrong, 8 the record could not be written, 9 nothing ran\n";

/* What was measured, as a table and for the record. */
typedef struct {
  rb_table table;
  json_t *roofs;
  int ran, invalid;
} probed;

static rb_status add(probed *all, const rb_variant *v, int samples) {
  rb_status st = RB_OK;
  const rb_probe_ops *ops = v->ops;
  double rate = NAN;
  char text[64] = "-";
  fprintf(stderr, "probe %s\n", v->name);
  const rb_status measured = rb_probe_measure(v, 0, samples, &rate);
  const char *how = measured == RB_OK ? ops->method : rb_message();
  if (measured == RB_OK) {
    rb_format_value(rate, ops->unit, text, sizeof text);
    if (strcmp(ops->unit, "1/s") == 0) snprintf(text, sizeof text, "%.4g G/s", 1e-9 * rate);
  }
  all->ran += measured == RB_OK, all->invalid += measured == RB_EINVALID;
  json_array_append_new(all->roofs,
                        json_pack("{s:s,s:s?,s:o,s:s}", "name", v->name, "unit", ops ? ops->unit : NULL, "value",
                                  rb_json_number(rate), measured == RB_OK ? "how" : "reason", how));
  RB_TRY(rb_table_row(&all->table));
  rb_table_set(&all->table, 0, "%s", v->name);
  rb_table_set(&all->table, 1, "%s", text);
  rb_table_set(&all->table, 2, "%s", how);
done:
  if (st == RB_OK) rb_clear();
  return st;
}

/* DIR/MACHINE/probe.json. */
static rb_status write_record(const probed *all, int samples, const char *out) {
  rb_status st = RB_OK;
  char slug[320], folder[4096], path[4200], when[RB_DATE_SIZE], *text = NULL;
  rb_date_now(when);
  json_t *record =
      json_pack("{s:s,s:s,s:{s:s,s:s,s:b},s:o,s:s,s:i,s:O}", "schema", "regbench-probe", "schema_version", "1.0.0",
                "regbench", "version", RB_VERSION, "commit", rb_build_commit(), "dirty", rb_build_dirty(), "machine",
                rb_environment(), "created", when, "samples", samples, "roofs", all->roofs);
  rb_machine_slug(slug, sizeof slug);
  RB_TRY(rb_path(folder, sizeof folder, "%s/%s", out, slug));
  RB_TRY(rb_make_folders(folder));
  RB_TRY(rb_path(path, sizeof path, "%s/probe.json", folder));
  text = json_dumps(record, JSON_INDENT(1) | JSON_REAL_PRECISION(12));
  RB_CHECK(record && text, RB_ENOMEM, "host memory");
  RB_TRY(rb_write_atomically(path, text, strlen(text)));
  fprintf(stderr, "%s\n", path);
done:
  free(text);
  json_decref(record);
  return st;
}

static int probe_all(const char *const *only, int only_count, int samples, rb_format format, const char *out) {
  rb_status st = RB_OK;
  probed all = {.roofs = json_array()};
  rb_table_init(&all.table, 3);
  RB_TRY(rb_table_row(&all.table));
  rb_table_set(&all.table, 0, "roof");
  rb_table_set(&all.table, 1, "measured");
  rb_table_set(&all.table, 2, "how");
  for (int i = 0; i < rb_probe_family.count; i++) {
    int wanted = only_count == 0;
    for (int k = 0; k < only_count; k++) wanted |= strcmp(only[k], rb_probe_family.variants[i].name) == 0;
    if (wanted) RB_TRY(add(&all, &rb_probe_family.variants[i], samples));
  }
  rb_table_print(&all.table, format, "Measured roofs", stdout);
  if (out && all.ran) RB_TRY(write_record(&all, samples, out));
done:
  if (st != RB_OK) fprintf(stderr, "regbench probe: %s\n", rb_message());
  rb_table_free(&all.table);
  json_decref(all.roofs);
  return st != RB_OK ? RB_EXIT_INCOMPLETE : all.invalid ? RB_EXIT_INVALID : all.ran ? RB_EXIT_OK : RB_EXIT_NOTHING;
}

int rb_cmd_probe(int argc, char **argv) {
  const char *only[32], *value, *out = NULL;
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
    } else if ((value = rb_option(argc, argv, &i, "--out"))) {
      if (!*value) return rb_usage("probe", "--out needs a folder");
      out = value;
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
  return probe_all(only, count, samples, format, out);
}
