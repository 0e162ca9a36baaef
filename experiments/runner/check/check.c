/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/check/check.h"

#include "experiments/runner/machine/plugin.h"
#include "experiments/runner/record/record.h"
#include "kernels/base/rng.h"
#include "solvers/demons/demons.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const rb_grid rb_check_grids[] = {{{1, 1, 1}},   {{2, 2, 2}},   {{1, 6, 9}},   {{3, 5, 7}},
                                  {{8, 8, 8}},   {{7, 9, 8}},   {{32, 3, 64}}, {{15, 17, 16}},
                                  {{13, 8, 20}}, {{4, 31, 12}}, {{33, 5, 36}}, {{19, 23, 68}}};
const int rb_check_grid_count = sizeof rb_check_grids / sizeof *rb_check_grids;

void rb_check_random(rb_dtype t, void *out, int64_t n, uint64_t seed) {
  for (int64_t i = 0; i < n; i++) rb_check_set(t, out, i, rb_rng_symmetric(seed, (uint64_t)i));
}
int rb_check_fits(const rb_checker *c, rb_grid grid) {
  return c->largest == 0 || rb_grid_points(grid) <= 1000 * c->largest;
}
double rb_check_at(rb_dtype t, const void *a, int64_t i) {
  return t == RB_F64 ? ((const double *)a)[i] : (double)((const float *)a)[i];
}
void rb_check_set(rb_dtype t, void *a, int64_t i, double v) {
  if (t == RB_F64)
    ((double *)a)[i] = v;
  else
    ((float *)a)[i] = (float)v;
}
double rb_check_distance(rb_dtype t, const void *a, const void *b, int64_t n) {
  double worst = 0;
  for (int64_t i = 0; i < n; i++) {
    double e = fabs(rb_check_at(t, a, i) - rb_check_at(t, b, i));
    if (!(e <= worst)) worst = e;
    if (e != e) return NAN;
  }
  return worst;
}
double rb_check_dot(rb_dtype t, const void *a, const void *b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += rb_check_at(t, a, i) * rb_check_at(t, b, i);
  return sum;
}
void rb_check_roll(rb_dtype t, rb_grid g, const void *f, const int shift[3], void *to) {
  for (int64_t i = 0; i < g.n[0]; i++)
    for (int64_t j = 0; j < g.n[1]; j++)
      for (int64_t k = 0; k < g.n[2]; k++) {
        int64_t from = (rb_wrap(i - shift[0], g.n[0]) * g.n[1] + rb_wrap(j - shift[1], g.n[1])) * g.n[2] +
                       rb_wrap(k - shift[2], g.n[2]);
        rb_check_set(t, to, (i * g.n[1] + j) * g.n[2] + k, rb_check_at(t, f, from));
      }
}

/* values: "VALUE, limit LIMIT", or what failed. */
static void report(rb_checker *c, const char *name, int failed, const char *values) {
  rb_junit_case(c->junit, c->family->name, c->variant->name, name, failed ? RB_JUNIT_FAILED : RB_JUNIT_PASSED,
                failed ? values : "");
  if (failed || c->verbose)
    fprintf(c->out, "%s  %s %s: %s: %s\n", failed ? "FAIL" : "pass", c->family->name, c->variant->name, name, values);
}

void rb_check_skip(rb_checker *c, const char *name, const char *reason) {
  c->skipped++;
  rb_junit_case(c->junit, c->family->name, c->variant->name, name, RB_JUNIT_SKIPPED, reason);
}

void rb_check_value(rb_checker *c, double value, double limit, const char *format, ...) {
  char name[160], values[96];
  const int failed = !(value <= limit);
  va_list args;
  va_start(args, format);
  vsnprintf(name, sizeof name, format, args);
  va_end(args);
  if (failed)
    c->failed++;
  else
    c->passed++;
  snprintf(values, sizeof values, "%.3g, limit %.3g", value, limit);
  report(c, name, failed, values);
}

int rb_check_status(rb_checker *c, rb_status st, const char *format, ...) {
  char name[160], failure[256];
  va_list args;
  if (st == RB_OK) return 1;
  va_start(args, format);
  vsnprintf(name, sizeof name, format, args);
  va_end(args);
  snprintf(failure, sizeof failure, "%.255s", rb_message());
  if (st == RB_EUNSUPPORTED) {
    rb_check_skip(c, name, failure);
    rb_clear();
    return 0;
  }
  c->failed++;
  rb_clear();
  report(c, name, 1, failure);
  return 0;
}

/* A family without recorded outputs has no `golden`. */
static const struct {
  const rb_family *family;
  void (*live)(rb_checker *c), (*golden)(rb_checker *c);
} families_checked[] = {
#define RB_FAMILY(family, what) {&rb_##family##_family, rb_check_##family, rb_check_##family##_golden},
#include "kernels/registry/families.def"
#undef RB_FAMILY
    {&rb_demons_family, rb_check_demons, NULL},
};

const rb_family *rb_check_family(int i) {
  return i < (int)(sizeof families_checked / sizeof *families_checked) ? families_checked[i].family : NULL;
}

/* Recordings of other code say nothing about today's. */
static void check_recorded_code(rb_checker *c, const char *commit, int strict) {
  char why[128];
  snprintf(why, sizeof why, "recorded at %.31s: the family's code has changed since", commit);
  if (strict)
    rb_check_value(c, 1, 0, "golden: %s", why);
  else
    rb_check_skip(c, "golden: outputs of today's code", why);
}

enum { NOTE = 700 };

/* The oracle, and an emulated variant's outputs, against what a GPU host recorded. `here`: the variant ran. */
static void compare_recorded(rb_checker *c, const rb_check_options *o, int here, int emulated, char note[NOTE]) {
  char commit[32];
  rb_golden_compare(c);
  if (emulated) rb_golden_compare_emulated(c);
  const int other = rb_golden_of_other_code(c, commit);
  if (other) check_recorded_code(c, commit, o->strict);
  if (emulated)
    snprintf(note, NOTE, "emulated; %lld of %lld recorded values agree in all bits", c->golden_equal,
             c->golden_values);
  if (!here)
    snprintf(note, NOTE, "not run here; CPU oracle against its recorded GPU output%s%s%s",
             other ? ", recorded at " : "", other ? commit : "",
             other ? ": the family's code has changed since" : "");
}

static void check_variant(rb_checker *c, const rb_check_options *o) {
  void (*live)(rb_checker *) = NULL;
  c->golden_cases = NULL;
  for (size_t i = 0; i < sizeof families_checked / sizeof *families_checked; i++)
    if (families_checked[i].family == c->family)
      live = families_checked[i].live, c->golden_cases = families_checked[i].golden;
  const int plugin = rb_plugin_source(c->variant) != NULL; /* nobody recorded it */
  const int recordable = c->variant->backend == RB_CUDA && c->golden_cases && !plugin;
  int before_pass = c->passed, before_fail = c->failed;
  char note[NOTE] = "";
  rb_status st = rb_variant_available(c->variant);
  const int emulated = st == RB_OK && c->variant->backend == RB_CUDA && rb_cuda_is_emulated();
  if (emulated) snprintf(note, sizeof note, "emulated");
  if (plugin) snprintf(note, sizeof note, "of a plugin%s", emulated ? "; emulated" : "");
  if (st == RB_OK) {
    if (live) live(c);
    if (o->record && recordable && !emulated) rb_golden_record(c, o->record);
  } else {
    snprintf(note, sizeof note, "unavailable: %s", rb_message());
    rb_clear();
    rb_check_skip(c, "all checks of what it computes", note);
  }
  if (recordable && !o->record && c->golden) {
    if (o->seal) rb_golden_update_limits(c, c->golden);
    compare_recorded(c, o, st == RB_OK, emulated, note);
  }
  fprintf(o->out, "%-11s %-30s %6d passed %4d failed%s%s\n", c->family->name, c->variant->name,
          c->passed - before_pass, c->failed - before_fail, note[0] ? "   " : "", note);
  fflush(o->out);
}

const char *rb_check_cuda_execution(void) {
  const rb_backend *b;
  const rb_status st = rb_backend_get(RB_CUDA, &b);
  rb_clear();
  return st != RB_OK ? "none" : b->emulated ? "emulated" : "gpu";
}

static int wanted(const rb_check_options *o, const char *family) {
  for (int i = 0; i < o->families; i++)
    if (strcmp(o->family[i], family) == 0) return 1;
  return o->families == 0;
}

rb_status rb_check_run(const rb_check_options *o, rb_check_counts *counts) {
  rb_status st = RB_OK;
  rb_checker c = {.out = o->out, .golden = o->golden, .verbose = o->verbose, .largest = o->largest};
  if (o->junit) RB_CHECK((c.junit = rb_junit_open()), RB_ENOMEM, "host memory");
  for (int i = 0; (c.family = rb_check_family(i)); i++) {
    if (!wanted(o, c.family->name)) continue;
    for (int v = 0; v < c.family->count; v++) {
      c.variant = &c.family->variants[v];
      if (o->backend && (strcmp(o->backend, "cuda") == 0) != (c.variant->backend == RB_CUDA)) continue;
      if (!o->variant || strcmp(o->variant, c.variant->name) == 0) check_variant(&c, o);
    }
  }
  if (rb_guard_violations()) {
    fprintf(o->out, "FAIL  %d guard bands around arrays were overwritten\n", rb_guard_violations());
    rb_junit_case(c.junit, "regbench", "memory", "guard bands", RB_JUNIT_FAILED, "overwritten");
    c.failed++;
  }
  for (int b = RB_CPU; b < RB_BACKENDS; b++)
    if (rb_memory_live((rb_backend_kind)b)) {
      fprintf(o->out, "FAIL  %zu bytes of %s memory were not released\n", rb_memory_live((rb_backend_kind)b),
              b == RB_CPU ? "cpu" : "cuda");
      rb_junit_case(c.junit, "regbench", "memory", b == RB_CPU ? "cpu released" : "cuda released", RB_JUNIT_FAILED,
                    "not all memory was released");
      c.failed++;
    }
  *counts = (rb_check_counts){c.passed, c.failed, c.skipped};
  if (o->junit) RB_TRY(rb_junit_write(c.junit, o->junit));
done:
  rb_junit_free(c.junit);
  return st;
}
