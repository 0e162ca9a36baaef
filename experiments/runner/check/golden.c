/* SPDX-License-Identifier: BSD-3-Clause */
/* Recorded GPU outputs: files under tests/golden, one a variant: a line "# recorded at COMMIT by code HASH on GPU",
 * "case NAME COUNT LIMIT" lines followed by COUNT hexadecimal floats, and "lacks NAME" for cases of the family that
 * the recording has no output of, because the variant does not do them or none was made yet. */
#include "datasets/input_file.h"
#include "datasets/whole_file.h"
#include "experiments/runner/check/check.h"
#include "experiments/runner/machine/build.h"
#include "experiments/runner/record/record.h"
#include "kernels/base/device_info.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CASES = 128, NAME = 96, PATH = 1024 };

struct rb_golden_limits {
  int count;
  struct {
    char name[NAME];
    long long values;
    double limit;
  } of[CASES];
};

static void golden_path(const rb_checker *c, const char *folder, char path[PATH]) {
  char variant[64];
  snprintf(variant, sizeof variant, "%s", c->variant->name);
  for (char *s = variant; *s; s++)
    if (*s == '/') *s = '-';
  snprintf(path, PATH, "%s/%s_%s.txt", folder, c->family->name, variant);
}

static const char made_by[] = "# recorded at %31s by code %31s on";

/* NULL where there is none that can be read; a pipe would hang. */
static FILE *open_file(const char *path) {
  const rb_status st = rb_input_file(path);
  rb_clear();
  return st == RB_OK ? fopen(path, "r") : NULL;
}

/* A recording after its first line; NULL where there is none. */
static FILE *open_recording(const char *path) {
  char line[1024];
  FILE *f = open_file(path);
  const long start = f && fgets(line, sizeof line, f) && line[0] == '#' ? ftell(f) : 0;
  if (f) fseek(f, start, SEEK_SET);
  return f;
}

int rb_golden_of_other_code(const rb_checker *c, char commit[32]) {
  char path[PATH], hash[32] = "";
  golden_path(c, c->golden, path);
  FILE *f = open_file(path);
  const int told = f && fscanf(f, made_by, commit, hash) == 2;
  if (f) fclose(f);
  return told && !rb_source_is_current(c->family->name, RB_CUDA, hash, "", c->variant->name);
}

/* Whether the recording says that it has no such case. */
static int is_marked_missing(FILE *f, const char *name) {
  char line[1024], other[NAME];
  int told = 0;
  rewind(f);
  while (fgets(line, sizeof line, f)) told |= sscanf(line, "lacks %95s", other) == 1 && strcmp(other, name) == 0;
  return told;
}

/* Whether the file of cases whose bits are known names this one: "FAMILY VARIANT CASE", CASE may be '*'. */
static int is_required(const rb_checker *c, const char *name) {
  char path[PATH], family[NAME], variant[NAME], which[NAME];
  int told = 0;
  if (!c->bitwise) return 0;
  snprintf(path, sizeof path, "%s/bitwise.txt", c->golden);
  FILE *f = open_file(path);
  char line[512];
  while (f && fgets(line, sizeof line, f))
    told |= line[0] != '#' && sscanf(line, "%95s %95s %95s", family, variant, which) == 3 &&
            strcmp(family, c->family->name) == 0 && strcmp(variant, c->variant->name) == 0 &&
            (strcmp(which, "*") == 0 || strcmp(which, name) == 0);
  if (f) fclose(f);
  return told;
}

void rb_check_golden(rb_checker *c, const char *name, const float *values, int64_t n, double limit) {
  if (c->record) {
    rb_check_value(c, strpbrk(name, " \t\n") ? 1 : 0, 0, "golden: '%s' is one word",
                   name); /* it could not be read back */
    fprintf(c->record, "case %s %lld %.17g\n", name, (long long)n, limit);
    for (int64_t i = 0; i < n; i++)
      fprintf(c->record, "%a%c", (double)values[i], i % 8 == 7 || i == n - 1 ? '\n' : ' ');
    return;
  }
  char path[PATH], read_name[NAME];
  golden_path(c, c->golden, path);
  FILE *f = open_recording(path);
  long long count;
  int found = 0;
  while (f && fscanf(f, " case %95s %lld %lf", read_name, &count, &limit) == 3) {
    int mine = strcmp(read_name, name) == 0 && count == n;
    double v, worst = 0, largest = 0;
    long long equal = 0;
    for (long long i = 0; i < count; i++) {
      if (fscanf(f, "%lf", &v) != 1) v = NAN; /* a truncated file fails */
      if (!mine) continue;                    /* another case may hold more values than this one */
      const double e = fabs(v - (double)values[i]);
      equal += e == 0;
      if (worst == worst && !(e <= worst)) worst = e; /* a NaN stays */
      largest = fmax(largest, fabs(v));
    }
    if (!mine) continue;
    found = 1;
    if (c->learned && c->learned->count < CASES && worst <= limit) {
      const int k = c->learned->count++;
      snprintf(c->learned->of[k].name, NAME, "%s", name);
      c->learned->of[k].values = count;
      c->learned->of[k].limit = fmin(limit, 2 * worst + 16 * FLT_EPSILON * largest);
    } else if (!c->learned) {
      rb_check_value(c, worst, limit, c->of_variant ? "golden %s, emulated" : "golden %s", name);
      c->golden_matched++;
      if (c->of_variant) {
        c->golden_values += count, c->golden_equal += equal;
        if (is_required(c, name))
          rb_check_value(c, (double)(count - equal), 0, "golden %s, values that differ in a bit", name);
      }
    }
  }
  if (!found && c->offered)
    fprintf(c->offered, "lacks %s\n", name);
  else if (!found && !c->learned && f)
    rb_check_value(c, is_marked_missing(f, name) ? 0 : 1, 0,
                   "golden: '%s' is in no recording; 'regbench check --record' on a CUDA host makes one", name);
  if (f) fclose(f);
}

/* Cases in the variant's golden file; -1 when there is none. */
static int golden_count(const rb_checker *c) {
  char path[PATH], word[128];
  int count = 0;
  golden_path(c, c->golden, path);
  FILE *f = open_recording(path);
  if (!f) return -1;
  while (fscanf(f, "%127s", word) == 1) count += strcmp(word, "case") == 0;
  fclose(f);
  return count;
}

void rb_golden_compare_emulated(rb_checker *c) {
  c->of_variant = c->bitwise = 1;
  c->golden_values = c->golden_equal = 0;
  rb_golden_compare(c);
  c->of_variant = c->bitwise = 0;
}

void rb_golden_compare(rb_checker *c) {
  const int recorded = golden_count(c);
  c->golden_matched = 0;
  c->golden_cases(c);
  /* a missing or renamed recording must not pass for an agreeing one */
  rb_check_value(c, recorded > 0 && c->golden_matched == recorded ? 0 : 1, 0,
                 "golden: %d of %d recorded cases compared", c->golden_matched, recorded);
}

static void fail_to_write(rb_checker *c, const char *what, const char *path) {
  fprintf(c->out, "FAIL  cannot %s %s\n", what, path);
  rb_junit_case(c->junit, c->family->name, c->variant->name, "recording", RB_JUNIT_FAILED, "a file cannot be used");
  c->failed++;
}

/* The cases that the family offers and the recording just made does not hold, at its end. */
static void report_missing_cases(rb_checker *c, const char *folder, const char *path) {
  const char *golden = c->golden;
  c->offered = fopen(path, "a");
  if (!c->offered) {
    fail_to_write(c, "write", path);
    return;
  }
  c->golden = folder;
  c->golden_cases(c);
  if (fclose(c->offered) != 0) fail_to_write(c, "write", path);
  c->golden = golden, c->offered = NULL;
}

void rb_golden_record(rb_checker *c, const char *folder) {
  char path[PATH];
  golden_path(c, folder, path);
  c->record = fopen(path, "w");
  c->of_variant = 1;
  if (!c->record) {
    fail_to_write(c, "write", path);
    return;
  }
  rb_device_info gpu = {0};
  fprintf(c->record, "# recorded at %s%s by code %s on %s\n", rb_build_commit(), rb_build_dirty() ? "+changes" : "",
          rb_source_hash(c->family->name, RB_CUDA), rb_device_info_read(&gpu) ? gpu.name : "?");
  c->golden_cases(c);
  const int whole = !ferror(c->record);
  if (fclose(c->record) != 0 || !whole) fail_to_write(c, "write", path);
  c->record = NULL;
  c->of_variant = 0;
  report_missing_cases(c, folder, path);
  rb_golden_update_limits(c, folder);
}

/* A copy of the file with the limits learned, put in its place. */
static rb_status rewrite(const char *path, const struct rb_golden_limits *learned) {
  rb_status st = RB_OK;
  char line[1024], name[NAME];
  long long count;
  double limit;
  rb_whole_file to = {0};
  FILE *from = fopen(path, "r");
  RB_CHECK(from, RB_EIO, "cannot read %s: %s", path, strerror(errno));
  RB_TRY(rb_whole_file_open(&to, path));
  while (fgets(line, sizeof line, from)) {
    int used = 0;
    if (sscanf(line, "case %95s %lld %lf", name, &count, &limit) == 3)
      for (int i = 0; i < learned->count && !used; i++) {
        if (strcmp(learned->of[i].name, name) != 0 || learned->of[i].values != count) continue;
        fprintf(to.f, "case %s %lld %.3g\n", name, count, learned->of[i].limit);
        used = 1;
      }
    if (!used) RB_TRY(rb_whole_file_write(&to, line, strlen(line)));
  }
  RB_CHECK(!ferror(from) && !ferror(to.f), RB_EIO, "cannot copy %s: %s", path, strerror(errno));
done:
  if (from) fclose(from);
  return rb_whole_file_end(&to, st);
}

void rb_golden_update_limits(rb_checker *c, const char *folder) {
  const char *golden = c->golden;
  struct rb_golden_limits *learned = calloc(1, sizeof *learned);
  char path[PATH];
  golden_path(c, folder, path);
  if (learned) {
    c->golden = folder, c->learned = learned;
    c->golden_cases(c);
    c->golden = golden, c->learned = NULL;
  }
  if (!learned || rewrite(path, learned) != RB_OK) fail_to_write(c, "seal", path);
  free(learned);
}
