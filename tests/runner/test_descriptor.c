/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors: every error is told with file, line and what was meant; cases expand as described. */
#include "tests/cmocka_all.h"

#include "experiments/runner/inputs/deformation.h"
#include "experiments/runner/descriptor/cases.h"
#include "experiments/runner/inputs/inputs.h"
#include "experiments/runner/inputs/pairs.h"
#include "solvers/demons/demons.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD "schema: 1\npaper: p\nname: n\ntitle: t\nsource: s\ncache: warm\n"
#define METHODS                                                                                                   \
  "methods:\n  - {label: A, kind: interp, variant: cpu/omp, basis: linear}\n  - {label: B, kind: copy, variant: " \
  "cpu/copy}\n"
#define AXES                                                                                                   \
  "axes:\n  - {name: size, quick: [\"8\", \"9x10x11\"], paper: [\"64\"]}\n  - {name: points, quick: [smooth, " \
  "perturbed]}\n"
#define COLUMNS "columns:\n  - {name: error, metric: error_rms, title: e, class: numeric}\n"

static void rejected(const char *text, rb_status status, const char *must_tell) {
  rb_descriptor *d;
  assert_int_equal(rb_descriptor_parse(text, "x.yaml", &d), status);
  assert_null(d);
  if (!strstr(rb_message(), must_tell) || !strstr(rb_message(), "x.yaml"))
    fail_msg("'%s' does not tell '%s'", rb_message(), must_tell);
  rb_clear();
}

static void a_good_one_is_read(void **s) {
  (void)s;
  rb_descriptor *d;
  assert_int_equal(rb_descriptor_parse(HEAD METHODS AXES COLUMNS, "x.yaml", &d), RB_OK);
  assert_int_equal(d->methods_count, 2);
  assert_int_equal(strlen(d->sha256), 64);
  rb_descriptor_free(d);
}

static void errors_are_told(void **s) {
  (void)s;
  rejected(HEAD METHODS AXES COLUMNS "plots:\n  - {file: f, kind: roofline, title: t, where: \"size=8\"}\n",
           RB_EFORMAT, "a plot of kind roofline takes no 'where'");
  rejected(HEAD "colour: red\n" METHODS AXES COLUMNS, RB_EFORMAT, "x.yaml:7: unknown key 'colour'");
  rejected(HEAD "label: misplaced\n" METHODS AXES COLUMNS, RB_EFORMAT, "Unexpected key: label");
  rejected(HEAD "methodss: 3\n" METHODS AXES COLUMNS, RB_EFORMAT, "did you mean 'methods'");
  rejected(HEAD "title: again\n" METHODS AXES COLUMNS, RB_EFORMAT, "x.yaml:7: key 'title' appears twice");
  rejected("schema: one\npaper: p\n", RB_EFORMAT, "x.yaml:1: key 'schema': Invalid INT value: 'one'");
  rejected(HEAD "methods:\n  - {label: A, kind: interp, variant: cpu/omp, basis: liner}\n" AXES COLUMNS, RB_EFORMAT,
           "x.yaml:8: method 'A': unknown basis 'liner'; nearest is linear");
  rejected(HEAD "methods:\n  - {label: A, kind: interp, variant: cpu/omp}\n" AXES COLUMNS, RB_EFORMAT,
           "x.yaml:8: method 'A' needs a basis");
  rejected(HEAD "methods:\n  - {label: A, kind: advection, variant: cpu/omp}\n" AXES COLUMNS, RB_EFORMAT,
           "x.yaml:8: method 'A' needs a basis");
  rejected(HEAD "methods:\n  - {label: A, kind: gradient, variant: cpu/omp, scheme: fd9}\n" AXES COLUMNS, RB_EFORMAT,
           "x.yaml:8: method 'A': unknown scheme 'fd9'");
  rejected(HEAD METHODS "axes:\n  - {name: size, quick: [\"999999x9\"]}\n" COLUMNS, RB_EFORMAT,
           "x.yaml:11: axis size: '999999x9'");
  rejected(HEAD METHODS AXES "columns:\n  - {name: e, metric: time, title: e, class: info, relative_to: C}\n",
           RB_EFORMAT, "x.yaml:14: column 'e': no method 'C'");
  rejected(HEAD METHODS AXES
           "columns:\n  - {name: e, metric: time, title: e, class: numeric, relative_to: first-of-kind}\n",
           RB_EFORMAT, "x.yaml:14: column 'e' is relative to a method: its class is info or hardware");
  rejected(HEAD AXES COLUMNS, RB_EFORMAT, "methods");
  rejected(HEAD METHODS AXES "columns:\n  - {name: e, metric: e, title: e, class: numbers}\n", RB_EFORMAT,
           "x.yaml:14: key 'class': Invalid ENUM value: numbers; one of numeric, hardware, info");
  rejected(HEAD METHODS AXES "columns: [\n", RB_EFORMAT, "x.yaml:");
  rejected("schema: 2\npaper: p\nname: n\ntitle: t\nsource: s\ncache: warm\n" METHODS AXES COLUMNS, RB_EFORMAT,
           "x.yaml:1: schema 2");
  rejected("schema: 1\npaper: p\nname: n\ntitle: t\nsource: s\ncache: tepid\n" METHODS AXES COLUMNS, RB_EFORMAT,
           "x.yaml:6: cache is 'tepid'");
  rejected(HEAD "methods:\n  - {label: A, kind: intrep, variant: cpu/omp, basis: linear}\n" AXES COLUMNS, RB_EFORMAT,
           "x.yaml:8: method 'A': unknown kind 'intrep'");
  rejected(HEAD METHODS AXES COLUMNS
           "claims:\n  - {id: c, text: t, metric: error_rms, left: A, right: C, relation: \"<=\", factor: 1}\n",
           RB_EFORMAT, "x.yaml:16: claim 'c': no method 'C'");
  rejected(HEAD METHODS AXES "  - {name: sise, quick: [\"8\"]}\n" COLUMNS, RB_EFORMAT,
           "x.yaml:13: axis 'sise': no method reads it; kind interp reads size data points");
  rejected(HEAD METHODS AXES COLUMNS
           "claims:\n  - {id: c, text: t, metric: time, left: A, right: published, relation: \"<=\", factor: 1}\n",
           RB_EFORMAT, "no column shows 'time'");
  rejected(HEAD METHODS AXES COLUMNS
           "claims:\n  - {id: c, text: t, metric: error_rms, left: A, right: B, relation: \"<=\", factor: 1, where: "
           "\"sise=8\"}\n",
           RB_EFORMAT, "where 'sise=8'");
  rejected(HEAD METHODS AXES COLUMNS
           "claims:\n  - {id: c, text: t, metric: error_rms, left: A, right: B, relation: \"<=\", factor: 1, spread: "
           "sise}\n",
           RB_EFORMAT, "spread 'sise': an axis");
  rejected(
      HEAD METHODS AXES COLUMNS
      "claims:\n  - {id: c, text: t, metric: error_rms, left: A, right: \"1\", relation: \"<=\", factor: 1, spread: "
      "size}\n",
      RB_EFORMAT, "with a method on the right");
}

/* What may stand in an old record, but not in a descriptor that is run. */
static void refused(const char *text, const char *must_tell) {
  rb_descriptor *d;
  assert_int_equal(rb_descriptor_parse(text, "x.yaml", &d), RB_OK);
  assert_int_equal(rb_descriptor_check_use(d, "x.yaml"), RB_EFORMAT);
  if (!strstr(rb_message(), must_tell)) fail_msg("'%s' does not tell '%s'", rb_message(), must_tell);
  rb_clear();
  rb_descriptor_free(d);
}

static void what_yaml_allows_besides(void **s) {
  (void)s;
  rejected(HEAD METHODS AXES COLUMNS "---\n" HEAD, RB_EFORMAT, "a second document begins");
  rejected("schema: 1\npaper: &p p\nname: *p\ntitle: t\nsource: s\ncache: warm\n" METHODS AXES COLUMNS, RB_EFORMAT,
           "alias '*p'");
  rejected("schema: 1\npaper: p\nname: !!binary n\ntitle: t\nsource: s\ncache: warm\n" METHODS AXES COLUMNS,
           RB_EFORMAT, "without tags");
  rejected("schema: 1\npaper: p\nname: n\ntitle: \"a\\0b\"\nsource: s\ncache: warm\n" METHODS AXES COLUMNS,
           RB_EFORMAT, "NUL");
}

/* Two cases of one name could not be told apart; products of axes must not wrap. */
static void cases_have_names(void **s) {
  (void)s;
  char label[400], text[16384];
  rb_descriptor *d;
  rb_case *c;
  int n;
  memset(label, 'x', 300), label[300] = '\0';
  snprintf(text, sizeof text, "%smethods:\n  - {label: %s, kind: interp, variant: cpu/omp, basis: linear}\n%s%s",
           HEAD, label, AXES, COLUMNS);
  assert_int_equal(rb_descriptor_parse(text, "x.yaml", &d), RB_OK);
  assert_int_equal(rb_cases_expand(d, RB_PRESET_QUICK, -1, NULL, 0, &c, &n), RB_EINVAL);
  assert_non_null(strstr(rb_message(), "two cases could be taken for one"));
  rb_clear();
  rb_descriptor_free(d);
  refused(HEAD "methods:\n  - {label: A, kind: interp, variant: cpu/opm, basis: linear}\n" AXES COLUMNS,
          "x.yaml:8: method 'A': family 'interp' has no variant 'cpu/opm': nearest is cpu/omp");
  refused(HEAD METHODS "axes:\n  - {name: size, quick: [\"8\", \"8\"]}\n" COLUMNS, "'8' appears twice");
  size_t used = (size_t)snprintf(text, sizeof text, "%s%saxes:\n", HEAD, METHODS);
  for (int a = 0; a < 8; a++) {
    used += (size_t)snprintf(text + used, sizeof text - used, "  - {name: %s, quick: [",
                             a ? a % 2 ? "data" : "points" : "size");
    for (int v = 0; v < 256; v++)
      used += (size_t)snprintf(text + used, sizeof text - used, "%s\"%d\"", v ? "," : "", v + 1);
    used += (size_t)snprintf(text + used, sizeof text - used, "]}\n");
  }
  snprintf(text + used, sizeof text - used, "%s", COLUMNS);
  assert_int_equal(rb_descriptor_parse(text, "x.yaml", &d), RB_OK);
  assert_int_equal(rb_cases_expand(d, RB_PRESET_QUICK, -1, NULL, 0, &c, &n), RB_EINVAL); /* 256^8 = 2^64 */
  assert_non_null(strstr(rb_message(), "more than 100000 cases"));
  rb_clear();
  rb_descriptor_free(d);
}

static void nothing_is_ignored(void **s) {
  (void)s;
  static const char claim[] =
      "claims:\n  - {id: c, text: t, metric: error_rms, left: A, right: B, relation: \"<=\", factor: 1, ";
  char text[2048];
  refused(HEAD METHODS AXES "  - {name: size, quick: [\"8\"]}\n" COLUMNS, "two axes are named 'size'");
  refused(HEAD METHODS "axes:\n  - {name: size, quick: [\"8\"]}\n  - {name: data, quick: [phantm]}\n" COLUMNS,
          "x.yaml:12: axis data: 'phantm' is no value of kind interp: nearest is phantom");
  refused(HEAD METHODS "axes:\n  - {name: size, quick: [\"8\"]}\n  - {name: points, quick: [perturbedd]}\n" COLUMNS,
          "nearest is perturbed");
  refused(HEAD
          "methods:\n  - {label: A, kind: partial-x3, variant: cpu/omp, scheme: fd8}\naxes:\n  - {name: omega, "
          "quick: [high]}\n" COLUMNS,
          "axis omega: 'high' is no value of kind partial-x3: a finite number");
  refused(HEAD
          "methods:\n  - {label: A, kind: copy, variant: cpu/copy, basis: linear}\n"
          "axes:\n  - {name: size, quick: [\"8\"]}\n" COLUMNS,
          "kind copy reads no basis");
  refused(HEAD
          "methods:\n  - {label: A, kind: copy, variant: cpu/copy, scheme: fd8}\n"
          "axes:\n  - {name: size, quick: [\"8\"]}\n" COLUMNS,
          "kind copy reads no scheme");
  snprintf(text, sizeof text, "%s%svalues: [\"8\"]}\n", HEAD METHODS AXES COLUMNS, claim);
  refused(text, "axis and values belong together");
  snprintf(text, sizeof text, "%s%saxis: size, values: [\"16\"]}\n", HEAD METHODS AXES COLUMNS, claim);
  refused(text, "axis size has no value '16'");
  snprintf(text, sizeof text, "%s%swhere: \"size=64,points=smoth\"}\n", HEAD METHODS AXES COLUMNS, claim);
  refused(text, "axis points has no value 'smoth'");
  snprintf(text, sizeof text, "%s%sat: \"size=63\"}\n", HEAD METHODS AXES COLUMNS, claim);
  refused(text, "axis size has no value '63'");
  snprintf(text, sizeof text,
           "%sclaims:\n  - {id: c, text: t, metric: tme, left: A, right: B, relation: \"<=\", factor: 1}\n",
           HEAD METHODS AXES COLUMNS);
  refused(text, "no column shows 'tme'");
  static const char *const numbers[] = {"factor: nan", "factor: inf", "factor: 0"};
  for (int i = 0; i < 3; i++) {
    snprintf(text, sizeof text,
             "%sclaims:\n  - {id: c, text: t, metric: error_rms, left: A, right: B, relation: \"<=\", %s}\n",
             HEAD METHODS AXES COLUMNS, numbers[i]);
    refused(text, "a finite number other than 0");
  }
  refused(HEAD METHODS AXES COLUMNS
          "claims:\n  - {id: c, text: t, metric: error_rms, left: A, right: \"-inf\", relation: \"<=\", factor: 1}\n",
          "neither a finite number nor a method");
  refused(HEAD METHODS AXES
          "columns:\n  - {name: e, metric: e, title: e, class: numeric, tolerance: inf, reason: r}\n",
          "tolerance inf");
  refused(HEAD
          "methods:\n  - {label: \"A|B\", kind: copy, variant: cpu/copy}\naxes:\n  - {name: size, quick: "
          "[\"8\"]}\n" COLUMNS,
          "would break a table");
  refused(HEAD METHODS AXES "columns:\n  - {name: e, metric: e, title: e, class: numeric, tolerance: 0.5}\n",
          "a tolerance needs a reason");
  refused(HEAD METHODS AXES COLUMNS
          "plots:\n  - {file: f, kind: lines, title: t, x: size, y: error_rms, methods: [C]}\n",
          "plot 'f': no method 'C'");
  refused(HEAD METHODS AXES COLUMNS
          "plots:\n  - {file: f, kind: lines, title: t, x: size, y: error_rms, published: err}\n",
          "no column 'err'");
  refused(HEAD METHODS AXES COLUMNS
          "plots:\n  - {file: f, kind: lines, title: t, x: size, y: error_rms, panel: points, slope: 2}\n",
          "without panels");
  refused(HEAD METHODS AXES COLUMNS
          "plots:\n  - {file: f, kind: lines, title: t, x: size, y: error_rms, where: \"size=9\"}\n",
          "plot 'f': axis size has no value '9'");
  refused(HEAD METHODS AXES COLUMNS
          "plots:\n  - {file: f, kind: lines, title: t, x: size, y: error_rms, where: size}\n",
          "plot 'f': axis size has no value ''");
  refused(HEAD METHODS AXES "columns:\n  - {name: e, metric: e, title: e, class: info, tolerance: 0.5, reason: r}\n",
          "only numeric columns");
  refused(HEAD
          "methods:\n  - {label: A, kind: advection, variant: cpu/omp, basis: linear}\naxes:\n  - {name: data, "
          "quick: [na2]}\n" COLUMNS,
          "kind advection: nearest is na02");
}

/* The words that descriptors may hold are those that the workloads' own parsers take. */
static void words_are_what_parsers_take(void **s) {
  (void)s;
  static const struct {
    const char *kind, *axis;
    int words;
  } axes[] = {{"interp", "points", 8}, {"registration", "resample", 2}, {"demons", "update", 3}};
  static float x[3 * 8];
  rb_resampling how;
  rb_demons_update update;
  for (int i = 0; i < 3; i++) {
    char words[256];
    int count = 0;
    snprintf(words, sizeof words, "%s", rb_workload_values(axes[i].kind, axes[i].axis));
    for (char *word = strtok(words, " "); word; word = strtok(NULL, " "), count++)
      assert_int_equal(i == 0   ? rb_deformation_known(word) ? rb_deformation(word, rb_grid_make(2, 2, 2), x)
                                                             : rb_input_points(word, rb_grid_make(2, 2, 2), x)
                         : i == 1 ? rb_resampling_parse(word, &how)
                                : rb_demons_update_parse(word, &update),
                       RB_OK);
    assert_int_equal(count, axes[i].words);
  }
  assert_null(rb_workload_values("copy", "data"));
  assert_string_equal(rb_workload_values("partial-x3", "omega"), RB_VALUES_NUMBER);
}

/* What a record brings along must not lead out of its folder. */
static void names_are_file_names(void **s) {
  (void)s;
  rejected(HEAD METHODS AXES COLUMNS "plots:\n  - {file: ../../up, kind: lines, title: t, x: size, y: error_rms}\n",
           RB_EFORMAT, "x.yaml:16: plot '../../up' names files");
  rejected(HEAD METHODS AXES COLUMNS "published: ../x.csv\n", RB_EFORMAT, "x.yaml:15: published '../x.csv'");
  rejected("schema: 1\npaper: ../p\nname: n\ntitle: t\nsource: s\ncache: warm\n" METHODS AXES COLUMNS, RB_EFORMAT,
           "x.yaml:2: paper '../p'");
  rejected("schema: 1\npaper: p\nname: .n\ntitle: t\nsource: s\ncache: warm\n" METHODS AXES COLUMNS, RB_EFORMAT,
           "x.yaml:3: name '.n'");
}

static void a_missing_file_is_told(void **s) {
  (void)s;
  rb_descriptor *d;
  assert_int_equal(rb_descriptor_load("/nonexistent/e.yaml", &d), RB_ENOTFOUND);
  assert_non_null(strstr(rb_message(), "/nonexistent/e.yaml"));
  rb_clear();
}

static void cases_expand(void **s) {
  (void)s;
  rb_descriptor *d;
  rb_case *c;
  int n;
  assert_int_equal(rb_descriptor_parse(HEAD METHODS AXES COLUMNS, "x.yaml", &d), RB_OK);
  assert_int_equal(rb_cases_expand(d, RB_PRESET_QUICK, -1, NULL, 0, &c, &n), RB_OK);
  assert_int_equal(n, 8); /* 2 sizes x 2 points x 2 methods */
  assert_string_equal(c[0].id, "A size=8 points=smooth");
  assert_string_equal(c[7].id, "B size=9x10x11 points=perturbed");
  assert_int_equal(c[7].grid.n[1], 10);
  free(c);
  rb_filter f[] = {{"size", "8"}, {"method", "B"}};
  assert_int_equal(rb_cases_expand(d, RB_PRESET_QUICK, -1, f, 2, &c, &n), RB_OK);
  assert_int_equal(n, 2);
  free(c);
  assert_int_equal(rb_cases_expand(d, RB_PRESET_PAPER, RB_CUDA, NULL, 0, &c, &n), RB_OK);
  assert_int_equal(n, 0);
  free(c);
  rb_filter bad = {"size", "80"}, worse = {"shape", "8"};
  assert_int_equal(rb_cases_expand(d, RB_PRESET_QUICK, -1, &bad, 1, &c, &n), RB_EINVAL);
  assert_non_null(strstr(rb_message(), "nearest is 8"));
  rb_clear();
  assert_int_equal(rb_cases_expand(d, RB_PRESET_QUICK, -1, &worse, 1, &c, &n), RB_EINVAL);
  rb_clear();
  rb_descriptor_free(d);
}

/* A preset whose data sets are all absent runs on a smaller preset's phantom, unless a filter asks for the data. */
static void a_phantom_stands_in(void **s) {
  (void)s;
  rb_descriptor *d;
  rb_case *c;
  int n;
  const rb_filter asked = {"data", "na02"};
  char *before = getenv("REGBENCH_DATA") ? strdup(getenv("REGBENCH_DATA")) : NULL;
  setenv("REGBENCH_DATA", "/nonexistent", 1);
  assert_int_equal(
      rb_descriptor_parse(HEAD METHODS "axes:\n  - {name: data, quick: [phantom], paper: [na02, na03]}\n" COLUMNS,
                          "x.yaml", &d),
      RB_OK);
  assert_int_equal(rb_cases_expand(d, RB_PRESET_PAPER, -1, NULL, 0, &c, &n), RB_OK);
  assert_int_equal(n, 2);
  assert_string_equal(c[0].id, "A data=phantom");
  assert_string_equal(rb_cases_absent_data(d, RB_PRESET_PAPER, NULL, 0), "na02");
  assert_null(rb_cases_absent_data(d, RB_PRESET_QUICK, NULL, 0));
  free(c);
  assert_int_equal(rb_cases_expand(d, RB_PRESET_PAPER, -1, &asked, 1, &c, &n), RB_OK);
  assert_int_equal(n, 2);
  assert_string_equal(c[0].id, "A data=na02");
  free(c);
  rb_descriptor_free(d);
  if (before)
    setenv("REGBENCH_DATA", before, 1);
  else
    unsetenv("REGBENCH_DATA");
  free(before);
}

static void sizes_are_checked(void **s) {
  (void)s;
  rb_grid g;
  assert_int_equal(rb_size_parse("64", &g), RB_OK);
  assert_int_equal(rb_size_parse("3x4x5", &g), RB_OK);
  assert_int_equal(g.n[2], 5);
  static const char *const bad[] = {
      "", "0", "-3", "3x4", "3x4x5x6", "64k", "2000000", "1048576", "1048576x1048576x2"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_int_equal(rb_size_parse(bad[i], &g), RB_EINVAL);
    rb_clear();
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_good_one_is_read),
      cmocka_unit_test(errors_are_told),
      cmocka_unit_test(nothing_is_ignored),
      cmocka_unit_test(what_yaml_allows_besides),
      cmocka_unit_test(cases_have_names),
      cmocka_unit_test(names_are_file_names),
      cmocka_unit_test(words_are_what_parsers_take),
      cmocka_unit_test(a_missing_file_is_told),
      cmocka_unit_test(cases_expand),
      cmocka_unit_test(sizes_are_checked),
      cmocka_unit_test(a_phantom_stands_in),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
