/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/report/report.h"

#include "datasets/manifest.h"
#include "experiments/runner/descriptor/cases.h"
#include "experiments/runner/machine/environment.h"
#include "experiments/runner/machine/roofs.h"
#include "experiments/runner/record/record.h"
#include "experiments/runner/report/cells.h"
#include "experiments/runner/report/compare.h"
#include "experiments/runner/report/compact.h"
#include "experiments/runner/report/busy_host.h"
#include "experiments/runner/report/earlier_rules.h"
#include "experiments/runner/report/latex.h"
#include "experiments/runner/report/rejudge.h"
#include "experiments/runner/report/tidy.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Why cells are "not available", and columns that no case fills: a misspelt metric, or one that this machine cannot
 * give. */
static void absences(const rb_judged *j, FILE *out) {
  const json_t *cases = json_object_get(j->record, "cases"), *c;
  const char *why = NULL;
  int valid = 0, without = 0;
  size_t i;
  json_array_foreach((json_t *)cases, i, c) {
    valid += strcmp(rb_json_text(c, "status", ""), "valid") == 0;
    if (!rb_no_counters(c)) continue;
    if (!why) why = rb_no_counters(c);
    without++;
  }
  if (why) fprintf(out, "Counted values are not available for %d cases; the first because: %s\n\n", without, why);
  for (unsigned k = 0; k < j->descriptor->columns_count && valid; k++) {
    const char *metric = j->descriptor->columns[k].metric;
    int filled = 0;
    json_array_foreach((json_t *)cases, i, c) filled |=
        json_object_get(json_object_get(c, "metrics"), metric) != NULL;
    if (!filled && !(why && rb_metric_is_counted(metric)))
      fprintf(out, "No case here has '%s' (column '%s').\n\n", metric, j->descriptor->columns[k].title);
  }
}

/* Whose kernels were loaded. */
static void plugins(const json_t *record, FILE *out) {
  size_t k;
  json_t *p;
  json_array_foreach(json_object_get(record, "plugins"), k, p)
      fprintf(out, "Variants of a plugin: %s %s (%s, sha256 %.12s...).\n\n", rb_json_text(p, "name", "?"),
              rb_json_text(p, "version", "?"), rb_json_text(p, "file", "?"), rb_json_text(p, "sha256", "?"));
}

/* A line about the runs that the record joins, where --resume kept cases of earlier ones. */
static void runs(const json_t *record, FILE *out) {
  const json_t *all = json_object_get(record, "runs"), *run, *c;
  size_t k, i;
  if (!json_array_size(all)) return;
  fputs("Joined by --resume:", out);
  json_array_foreach((json_t *)all, k, run) {
    const json_t *build = json_object_get(run, "regbench");
    int cases = 0;
    json_array_foreach(json_object_get(record, "cases"), i, c) cases +=
        json_integer_value(json_object_get(c, "run")) == (json_int_t)k;
    fprintf(out, "%s %d case%s of a run of %s%s", k ? "," : "", cases, cases == 1 ? "" : "s",
            rb_json_text(build, "commit", "?"),
            json_is_true(json_object_get(build, "dirty")) ? " (with uncommitted changes)" : "");
    if (json_is_string(json_object_get(run, "begun"))) fprintf(out, " begun %s", rb_json_text(run, "begun", ""));
  }
  fputs(". Processor, threads, build, GPU and driver are the same, and the code of every case.\n\n", out);
}

/* How many cases the preset has: as recorded, or, where a record is older than that, of its descriptor. */
static int preset_cases(const rb_judged *j) {
  const json_t *recorded = json_object_get(j->record, "preset_cases");
  rb_preset preset;
  rb_case *cases = NULL;
  int count = 0;
  if (recorded) return (int)json_integer_value(recorded);
  if (rb_preset_parse(rb_json_text(j->record, "preset", ""), &preset) != RB_OK ||
      rb_cases_expand(j->descriptor, preset, -1, NULL, 0, &cases, &count) != RB_OK)
    rb_clear();
  free(cases);
  return count;
}

static void provenance(const rb_judged *j, FILE *out) {
  const json_t *m = json_object_get(j->record, "machine"), *gpu = json_object_get(m, "gpu"),
               *cpu = json_object_get(m, "cpu");
  const json_t *roofs = json_object_get(j->record, "roofs");
  fprintf(out, "%s; %s, %lld threads%s%s; preset %s, cache %s, %s; regbench %s at %s%s", rb_json_text(m, "name", "?"),
          rb_json_text(cpu, "model", "?"), (long long)json_integer_value(json_object_get(cpu, "threads")),
          json_is_object(gpu) ? "; driver " : "", json_is_object(gpu) ? rb_json_text(gpu, "driver", "?") : "",
          rb_json_text(j->record, "preset", "?"), j->descriptor->cache, rb_json_text(j->record, "created", ""),
          rb_json_text(json_object_get(j->record, "regbench"), "version", "?"),
          rb_json_text(json_object_get(j->record, "regbench"), "commit", "?"),
          json_is_true(json_object_get(json_object_get(j->record, "regbench"), "dirty"))
              ? " (with uncommitted changes)"
              : "");
  const json_t *judged = json_object_get(j->record, "judged");
  if (judged)
    fprintf(out, "; judged anew %.10s at %s", rb_json_text(judged, "created", ""),
            rb_json_text(judged, "commit", "?"));
  const char *name;
  char busy[256];
  json_t *value;
  json_object_foreach((json_t *)roofs, name, value) {
    const char *unit = rb_roof_unit(name);
    char text[64];
    rb_format_value(json_number_value(value), unit, text, sizeof text);
    fprintf(out, "; %s %s%s", name, text, strcmp(unit, "1/s") == 0 ? " 1/s" : "");
  }
  fprintf(out, ".\n\n");
  plugins(j->record, out);
  runs(j->record, out);
  const int cases = (int)json_array_size(json_object_get(j->record, "cases")), preset = preset_cases(j);
  if (json_is_true(json_object_get(j->record, "complete")) && cases < preset)
    fprintf(out, "%d of the preset's %d cases: the others were not asked for.\n\n", cases, preset);
  if (json_is_false(json_object_get(j->record, "complete")))
    fprintf(out,
            "Not complete: cases of the preset are missing, because a run was interrupted or only some were asked "
            "for.\n\n");
  rb_busy_host_text(json_object_get(j->record, "cases"), busy, sizeof busy);
  if (busy[0]) fprintf(out, "%s\n\n", busy);
  rb_earlier_rules_print(j->record, out);
}

/* Its lines, without control characters. */
static void print_note(const char *note, FILE *out) {
  for (const char *s = note; *s; s++) fputc(*s == '\n' || (unsigned char)*s >= ' ' ? *s : ' ', out);
  fputc('\n', out);
}

/* What a caption says of the machine: LaTeX has no line of provenance. */
static void caption(const rb_judged *j, const rb_compact *compact, FILE *out) {
  const json_t *m = json_object_get(j->record, "machine"), *build = json_object_get(j->record, "regbench");
  rb_latex_text(rb_json_text(m, "name", "?"), out);
  fputs(", ", out);
  rb_latex_text(rb_json_text(json_object_get(m, "cpu"), "model", "?"), out);
  fprintf(out, ", %.10s; regbench %s at \\texttt{%s}", rb_json_text(j->record, "created", ""),
          rb_json_text(build, "version", "?"), rb_json_text(build, "commit", "?"));
  if (strcmp(j->descriptor->paper, "contest") != 0)
    fprintf(out, "; values in brackets: \\cite{%s}", j->descriptor->paper);
  fputs(". ", out);
  rb_compact_legend(compact, out);
}

static rb_status print_latex(const rb_judged *j, const rb_table *cells, const rb_compact *compact,
                             const rb_table *claims, FILE *out) {
  rb_status st = RB_OK;
  char *text = NULL, label[300];
  size_t length = 0;
  FILE *memory = open_memstream(&text, &length);
  RB_CHECK(memory, RB_ENOMEM, "host memory");
  caption(j, compact, memory);
  fclose(memory);
  fputs("% needs graphicx and booktabs; cited works are in experiments/references.bib\n", out);
  snprintf(label, sizeof label, "tab:%s-%s", j->descriptor->paper, j->descriptor->name);
  rb_latex_table(cells, j->descriptor->title, text, label, out);
  rb_compact_notes(compact, "% ", out);
  if (claims->rows > 1) rb_latex_table(claims, "Claims", "", "", out);
done:
  free(text);
  return st;
}

/* Provenance, cells, claims, a line of counts. */
static rb_status print_lines(const rb_judged *j, rb_format format, const rb_table *cells, const rb_compact *compact,
                             const rb_table *claims, const rb_verdicts *mine, FILE *out) {
  rb_status st = RB_OK;
  const rb_descriptor *d = j->descriptor;
  char *counts = rb_verdicts_cells_text(mine);
  RB_CHECK(counts, RB_ENOMEM, "host memory");
  if (format == RB_MARKDOWN) fprintf(out, "## %s/%s\n\n", d->paper, d->name);
  provenance(j, out);
  if (d->note) print_note(d->note, out);
  rb_table_print(cells, format, d->title, out);
  if (compact->ok || compact->elsewhere) rb_compact_legend(compact, out), fputs("\n\n", out);
  rb_compact_notes(compact, format == RB_MARKDOWN ? "- " : "", out);
  absences(j, out);
  if (claims->rows > 1) rb_table_print(claims, format, "Claims", out);
  fprintf(out, "%s Claims: %d HOLDS, %d FAILS, %d NOT JUDGED.%s\n\n", counts, mine->holds, mine->fails,
          mine->not_judged, mine->stale ? " Some cells are STALE: run again." : "");
done:
  free(counts);
  return st;
}

static rb_status print_record(const rb_judged *j, rb_format format, FILE *out, rb_verdicts *s) {
  rb_status st = RB_OK;
  rb_table cells = {0}, compact_cells = {0}, claims = {0};
  rb_compact compact = {0};
  rb_verdicts mine = {0};
  RB_TRY(rb_cell_table(j, &cells, &mine));
  RB_TRY(rb_claim_table(j, &claims, &mine));
  RB_TRY(rb_compact_cells(&cells, &compact_cells, &compact));
  if (format == RB_CSV)
    rb_tidy_rows(j, out);
  else if (format == RB_LATEX)
    RB_TRY(print_latex(j, &compact_cells, &compact, &claims, out));
  else
    RB_TRY(print_lines(j, format, &compact_cells, &compact, &claims, &mine, out));
  s->differs[RB_CELL_PRINTED] += rb_verdicts_differ(&mine), s->fails += mine.fails, s->stale += mine.stale,
      s->invalid += mine.invalid;
done:
  rb_compact_free(&compact);
  rb_table_free(&claims);
  rb_table_free(&compact_cells);
  rb_table_free(&cells);
  return st;
}

/* ---- records on disk ---------------------------------------------------------------------------------- */

static int by_path(const void *a, const void *b) { return strcmp(a, b); }

/* Files whose names end so. */
static int walk(const char *folder, const char *end, char out[][4096], int most, int count, int depth) {
  DIR *dir = opendir(folder);
  for (struct dirent *e; dir && (e = readdir(dir)) && count < most;) {
    char path[4096];
    struct stat info;
    const size_t n = strlen(e->d_name), of_end = strlen(end);
    if (e->d_name[0] == '.' || strcmp(e->d_name, "schema") == 0 || strcmp(e->d_name, "probe.json") == 0)
      continue; /* neither holds cases */
    if (snprintf(path, sizeof path, "%s/%s", folder, e->d_name) >= (int)sizeof path || stat(path, &info) != 0)
      continue;
    if (S_ISDIR(info.st_mode) && depth < 5)
      count = walk(path, end, out, most, count, depth + 1);
    else if (n > of_end && strcmp(e->d_name + n - of_end, end) == 0)
      snprintf(out[count++], 4096, "%s", path);
  }
  if (dir) closedir(dir);
  return count;
}

static int sorted(const char *root, const char *end, char out[][4096], int most) {
  const int count = walk(root, end, out, most, 0, 0);
  qsort(out, (size_t)count, 4096, by_path);
  return count;
}
int rb_records_list(const char *root, char out[][4096], int most) { return sorted(root, ".json", out, most); }
int rb_journals_list(const char *root, char out[][4096], int most) { return sorted(root, ".journal", out, most); }

static rb_status write_published_record(const json_t *published, const rb_judged *j, const rb_report_options *o) {
  rb_status st = RB_OK;
  char slug[320], place[4096], name[4300], *text = NULL;
  rb_slug(rb_json_text(json_object_get(published, "machine"), "name", "published"), slug, sizeof slug);
  RB_TRY(rb_path(place, sizeof place, "%s/%s/%s/%s", o->published, slug, j->descriptor->paper, j->descriptor->name));
  RB_TRY(rb_make_folders(place));
  RB_TRY(rb_path(name, sizeof name, "%s/published.json", place));
  text = json_dumps(published, JSON_INDENT(1) | JSON_REAL_PRECISION(12));
  RB_CHECK(text, RB_ENOMEM, "host memory");
  RB_TRY(rb_write_atomically(name, text, strlen(text)));
  fprintf(o->names, "%s\n", name);
done:
  free(text);
  return st;
}
/* The machines of printed values beside ours: <folder>/<machine>/<paper>/<experiment>/published.json. */
static rb_status write_published(const json_t *record, const rb_judged *j, const char *path,
                                 const rb_report_options *o) {
  rb_status st = RB_OK;
  json_t *all = rb_published_records(record, path), *published;
  size_t i;
  rb_clear(); /* a table without printed values */
  json_array_foreach(all, i, published) RB_TRY(write_published_record(published, j, o));
done:
  json_decref(all);
  return st;
}

/* Today's descriptor of the record's experiment into the record and its file. */
static rb_status rejudge(json_t *record, const char *path) {
  rb_status st = RB_OK;
  enum { MOST = 4 };
  char name[300], found[MOST][4096], *text = NULL;
  int count;
  const json_t *e = json_object_get(record, "experiment");
  if (strcmp(rb_json_text(record, "preset", ""), "published") == 0)
    return RB_OK; /* `--published` of a measured record writes those */
  snprintf(name, sizeof name, "%s/%s", rb_json_text(e, "paper", "?"), rb_json_text(e, "name", "?"));
  RB_TRY(rb_experiments_find(name, found, MOST, &count));
  RB_TRY(rb_rejudge(record, path, found[0]));
  text = json_dumps(record, JSON_INDENT(1) | JSON_REAL_PRECISION(12));
  RB_CHECK(text, RB_ENOMEM, "host memory");
  RB_TRY(rb_write_atomically(path, text, strlen(text)));
done:
  free(text);
  return st;
}

/* Beside the record of a larger preset a smaller one's tables and plots carry its name, "-quick"; else "". */
static void suffix_of(const rb_judged *j, const char *folder, char out[32]) {
  rb_preset mine;
  char larger[4200];
  out[0] = '\0';
  if (rb_preset_parse(rb_json_text(j->record, "preset", ""), &mine) != RB_OK) {
    rb_clear(); /* published values */
    return;
  }
  for (int p = (int)mine + 1; p < RB_PRESETS; p++) {
    snprintf(larger, sizeof larger, "%.4000s/%s.json", folder, rb_preset_name((rb_preset)p));
    if (access(larger, F_OK) == 0) snprintf(out, 32, "-%s", rb_preset_name(mine));
  }
}

rb_status rb_report(const char *path, const rb_report_options *o, rb_verdicts *s) {
  rb_status st = RB_OK;
  json_t *record = NULL;
  rb_judged j = {0};
  char folder[4096], file[4200], suffix[32], *text = NULL;
  int lock = -1;
  size_t length = 0;
  static const char *const extensions[] = {"txt", "md", "csv", "tex"};
  RB_TRY(rb_path(folder, sizeof folder, "%s", path));
  char *slash = strrchr(folder, '/');
  if (slash)
    *slash = '\0';
  else
    RB_TRY(rb_path(folder, sizeof folder, "."));
  if (o->rejudge) RB_TRY(rb_folder_lock(folder, &lock)); /* a run that ends meanwhile must not be written over */
  RB_TRY(rb_record_load(path, &record));
  if (o->rejudge) RB_TRY(rejudge(record, path));
  RB_TRY(rb_judged_open(record, path, &j));
  suffix_of(&j, folder, suffix);
  if (o->published) {
    RB_TRY(write_published(record, &j, path, o));
  } else if (o->write) {
    FILE *memory = open_memstream(&text, &length);
    RB_CHECK(memory, RB_ENOMEM, "host memory");
    if (o->format == RB_CSV) rb_tidy_head(memory);
    st = print_record(&j, o->format, memory, s);
    fclose(memory);
    RB_TRY(st);
    snprintf(file, sizeof file, "%s/table%s.%s", folder, suffix, extensions[o->format]);
    RB_TRY(rb_write_atomically(file, text, length));
    fprintf(o->names, "%s\n", file);
  } else {
    RB_TRY(print_record(&j, o->format, o->out, s));
  }
  if (o->plots) {
    int drawn = 0;
    RB_TRY(rb_plots_draw(&j, folder, suffix, o->pdf, &drawn));
    if (drawn) fprintf(o->names, "%d plots in %s\n", drawn, folder);
  }
done:
  if (lock >= 0) close(lock);
  free(text);
  rb_judged_close(&j);
  json_decref(record);
  return st;
}
