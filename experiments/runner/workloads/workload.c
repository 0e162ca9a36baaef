/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/workloads/workload.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const rb_workload *const workloads[] = {
#define RB_WORKLOAD(name) &rb_workload_##name,
#include "experiments/runner/workloads/workloads.def"
#undef RB_WORKLOAD
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

static const rb_workload_axis *axis_of(const char *kind, const char *name) {
  const rb_workload *w = NULL;
  if (rb_workload_find(kind, &w) != RB_OK) {
    rb_clear();
    return NULL;
  }
  for (const rb_workload_axis *a = w->axes; a->name; a++)
    if (strcmp(a->name, name) == 0) return a;
  return NULL;
}
int rb_workload_reads(const char *kind, const char *axis) { return axis_of(kind, axis) != NULL; }
const char *rb_workload_values(const char *kind, const char *axis) {
  const rb_workload_axis *a = axis_of(kind, axis);
  return a ? a->values : NULL;
}

const char *rb_case_axis(const rb_case *c, const char *axis, const char *fallback) {
  assert(!c->method || strcmp(c->method->kind, "published") == 0 || rb_workload_reads(c->method->kind, axis) ||
         strcmp(axis, "size") == 0 || strcmp(axis, "points") == 0); /* else the kind's table has a gap */
  for (int i = 0; i < c->axes; i++)
    if (strcmp(c->axis[i], axis) == 0) return c->value[i];
  return fallback;
}

void rb_case_key(const rb_case *c, char key[RB_CASE_KEY], const char *format, ...) {
  va_list args;
  size_t n = 0;
  for (int i = 0; i < c->axes; i++) /* shorter than RB_CASE_KEY: the case's id, which holds them, has 256 bytes */
    n += (size_t)snprintf(key + n, RB_CASE_KEY - n, "%s=%s ", c->axis[i], c->value[i]);
  va_start(args, format);
  vsnprintf(key + n, RB_CASE_KEY - n, format, args);
  va_end(args);
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

/* The list with room for one more than `count` elements; NULL: no memory, the list is as before. */
static void *grown(void *list, int count, int *room, size_t element) {
  if (count < *room) return list;
  const int more = *room ? 2 * *room : 64;
  void *larger = realloc(list, (size_t)more * element);
  if (larger) *room = more;
  return larger;
}

void rb_outcome_metric(rb_outcome *o, const char *name, double value, const char *unit, const char *formula) {
  rb_metric *list = grown(o->metrics, o->metric_count, &o->metric_room, sizeof *list);
  if (!list) {
    o->lost++;
    return;
  }
  o->metrics = list;
  list[o->metric_count++] = (rb_metric){.name = name, .value = value, .unit = unit, .formula = formula};
}

void rb_outcome_class(rb_outcome *o, const char *name, double seconds, double bytes) {
  if (o->class_count == RB_MOST_CLASSES)
    o->lost++;
  else
    o->classes[o->class_count++] = (rb_class_work){name, seconds, bytes};
}
double rb_outcome_value(const rb_outcome *o, const char *name) {
  for (int i = 0; i < o->metric_count; i++)
    if (strcmp(o->metrics[i].name, name) == 0) return o->metrics[i].value;
  return NAN;
}

void rb_outcome_pictures(rb_outcome *o, const char *name, const rb_pictures *pictures) {
  rb_pictures_free(&o->pictures);
  o->pictures_name = name;
  if (rb_pictures_copy(pictures, &o->pictures) != RB_OK) {
    rb_clear();
    o->lost++;
  }
}

void rb_outcome_free(rb_outcome *o) {
  free(o->metrics);
  free(o->verifications);
  rb_pictures_free(&o->pictures);
  json_decref(o->details);
  *o = (rb_outcome){0};
}

void rb_outcome_data(rb_outcome *o, const char *file, const char *sha256) {
  snprintf(o->data_file, sizeof o->data_file, "%.127s", file ? file : "");
  snprintf(o->data_sha256, sizeof o->data_sha256, "%s", file ? sha256 : "");
}

void rb_outcome_verify(rb_outcome *o, const char *name, double value, double limit, const char *against) {
  rb_verification *list = grown(o->verifications, o->verification_count, &o->verification_room, sizeof *list);
  if (!list) {
    o->lost++;
    return;
  }
  o->verifications = list;
  list[o->verification_count++] = (rb_verification){.name = name, .against = against, .value = value, .limit = limit};
}

int rb_outcome_is_valid(const rb_outcome *o) {
  for (int i = 0; i < o->verification_count; i++)
    if (!(o->verifications[i].value <= o->verifications[i].limit)) return 0;
  return o->verification_count > 0 && !o->lost;
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
