/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/workloads/workload.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const rb_workload *const workloads[] = {
    &rb_workload_interp,
    &rb_workload_interp_eval,
    &rb_workload_prefilter,
    &rb_workload_gradient,
    &rb_workload_divergence,
    &rb_workload_partial,
    &rb_workload_copy,
    &rb_workload_copy_halo,
    &rb_workload_registration,
    &rb_workload_registration_pictures,
    &rb_workload_advection,
    &rb_workload_published,
    &rb_workload_landmarks,
    &rb_workload_landmarks_pictures,
    &rb_workload_landmarks_gradient,
    &rb_workload_gauss_sum,
    &rb_workload_gauss_flow,
    &rb_workload_gauss_backward,
    &rb_workload_smooth,
    &rb_workload_smooth_x1,
    &rb_workload_smooth_x2,
    &rb_workload_smooth_x3,
    &rb_workload_compose,
    &rb_workload_compose_loaded,
    &rb_workload_demons,
    &rb_workload_demons_pictures,
    &rb_workload_external,
    &rb_workload_cohort,
    &rb_workload_register_files,
};
enum { WORKLOADS = sizeof workloads / sizeof *workloads };

rb_status rb_workload_find(const char *kind, const rb_workload **out) {
  for (int i = 0; i < WORKLOADS; i++)
    if (strcmp(kind, workloads[i]->kind) == 0) {
      *out = workloads[i];
      return RB_OK;
    }
  return RB_FAIL(RB_ENOTFOUND, "no workload '%s'", kind);
}

/* What a descriptor may vary. An axis that nothing reads would label cases with values that they do not have. */
static const struct {
  const char *kinds, *axes;
} readers[] = {
    {"interp interp-eval prefilter", "size data points"},
    {"gradient divergence partial-x3", "size omega"},
    {"copy copy-halo", "size"},
    {"advection", "size data resample"},
    {"registration registration-pictures", "size data resample beta"},
    {"register-files", "size data"},
    {"landmarks landmarks-pictures landmarks-gradient", "data points sigma lambda steps evaluations"},
    {"landmarks-cohort", "subjects sigma lambda steps evaluations"},
    {"gauss-sum gauss-flow gauss-backward", "points"},
    {"smooth smooth-x1 smooth-x2 smooth-x3 compose compose-loaded", "size data variance"},
    {"demons demons-pictures", "size data images update sigma_fluid iterations stop"},
    {"external-registration", "size data images sigma_fluid iterations"},
};
static int has_word(const char *words, const char *word) {
  const size_t length = strlen(word);
  for (const char *w = words; *w; w += strspn(w, " ")) {
    const size_t n = strcspn(w, " ");
    if (n == length && strncmp(w, word, n) == 0) return 1;
    w += n;
  }
  return 0;
}
const char *rb_workload_axes(const char *kind) {
  for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
    if (has_word(readers[i].kinds, kind)) return readers[i].axes;
  return "";
}
int rb_workload_reads(const char *kind, const char *axis) { return has_word(rb_workload_axes(kind), axis); }

#define PAIRS "phantom colin27 na??"
/* Axes whose values are words; the others' are numbers. What is here and what a workload's own parser takes must
 * agree: that one has the last word. */
static const struct {
  const char *kinds, *axis, *values;
} words[] = {
    {"interp interp-eval prefilter", "data", "analytic phantom SET"},
    {"interp interp-eval prefilter", "points", "perturbed perturbed-half smooth localized"},
    {"advection registration registration-pictures register-files demons demons-pictures external-registration",
     "data", PAIRS},
    {"smooth smooth-x1 smooth-x2 smooth-x3 compose compose-loaded", "data", PAIRS},
    {"landmarks landmarks-pictures landmarks-gradient", "data", "mtl lung-1 lung-2 lung-3 synthetic-*"},
    {"advection registration registration-pictures", "resample", "antialias point"},
    {"demons demons-pictures external-registration", "images", "bytes antialias"},
    {"demons demons-pictures", "update", "sum bch compose"},
};
const char *rb_workload_values(const char *kind, const char *axis) {
  if (!rb_workload_reads(kind, axis)) return NULL;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (has_word(words[i].kinds, kind) && strcmp(words[i].axis, axis) == 0) return words[i].values;
  return has_word("points steps evaluations subjects iterations", axis) ? RB_VALUES_COUNT : RB_VALUES_NUMBER;
}

const char *rb_case_axis(const rb_case *c, const char *axis, const char *fallback) {
  assert(!c->method || strcmp(c->method->kind, "published") == 0 || rb_workload_reads(c->method->kind, axis) ||
         strcmp(axis, "size") == 0 || strcmp(axis, "points") == 0); /* else `readers` has a gap */
  for (int i = 0; i < c->axes; i++)
    if (strcmp(c->axis[i], axis) == 0) return c->value[i];
  return fallback;
}

rb_status rb_case_number(const rb_case *c, const char *axis, double fallback, double *out) {
  const char *text = rb_case_axis(c, axis, NULL);
  char *end = NULL;
  *out = text ? strtod(text, &end) : fallback;
  if (text && (end == text || *end || !isfinite(*out)))
    return RB_FAIL(RB_EINVAL, "axis %s: '%s' is not a number", axis, text);
  return RB_OK;
}

rb_status rb_size_parse(const char *text, rb_grid *out) {
  long long n[3];
  char rest;
  if (text[strspn(text, "0123456789x")]) return RB_FAIL(RB_EINVAL, "size '%s': N or N1xN2xN3", text);
  if (sscanf(text, "%lldx%lldx%lld%c", &n[0], &n[1], &n[2], &rest) != 3) {
    if (sscanf(text, "%lld%c", &n[0], &rest) != 1) return RB_FAIL(RB_EINVAL, "size '%s': N or N1xN2xN3", text);
    n[1] = n[2] = n[0];
  }
  for (int a = 0; a < 3; a++)
    if (n[a] < 1 || n[a] > 1 << 20) return RB_FAIL(RB_EINVAL, "size '%s': 1 to 2^20 points an axis", text);
  if (n[0] * n[1] > (1LL << 40) / n[2])
    return RB_FAIL(RB_EINVAL, "size '%s': at most 2^40 points",
                   text); /* bytes of hundreds of fields stay below 2^63 */
  *out = rb_grid_make(n[0], n[1], n[2]);
  return RB_OK;
}

void rb_outcome_metric(rb_outcome *o, const char *name, double value, const char *unit, const char *formula) {
  if (o->metric_count < RB_CASE_VALUES)
    o->metrics[o->metric_count++] = (rb_metric){.name = name, .value = value, .unit = unit, .formula = formula};
  else /* one that is dropped must not go unnoticed: a NaN is no passed verification */
    rb_outcome_verify(o, "metrics that a case has no room for", NAN, 0, name);
}

void rb_outcome_data(rb_outcome *o, const char *file, const char *sha256) {
  o->data.file = file;
  snprintf(o->data.sha256, sizeof o->data.sha256, "%s", sha256);
}

void rb_outcome_verify(rb_outcome *o, const char *name, double value, double limit, const char *against) {
  if (o->verification_count < RB_CASE_VALUES)
    o->verifications[o->verification_count++] =
        (rb_verification){.name = name, .against = against, .value = value, .limit = limit};
  else /* one that has no place must not count as passed */
    o->verifications[RB_CASE_VALUES - 1] = (rb_verification){
        .name = "more verifications than a case holds", .against = against, .value = NAN, .limit = 0};
}

static const char *const preset_names[] = {"quick", "standard", "paper"};

rb_status rb_preset_parse(const char *name, rb_preset *out) {
  for (int i = 0; i < RB_PRESETS; i++)
    if (strcmp(name, preset_names[i]) == 0) {
      *out = (rb_preset)i;
      return RB_OK;
    }
  return RB_FAIL(RB_EINVAL, "unknown preset '%s': quick, standard, paper", name);
}
const char *rb_preset_name(rb_preset p) { return preset_names[p]; }
