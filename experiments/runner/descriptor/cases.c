/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/descriptor/cases.h"

#include "datasets/manifest.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static rb_status check_filters(const rb_descriptor *d, rb_preset preset, const rb_filter *filters, int count) {
  for (int i = 0; i < count; i++) {
    const char *known[1024];
    int n = 0, found = 0;
    const int most = sizeof known / sizeof *known;
    if (strcmp(filters[i].axis, "method") == 0) {
      for (unsigned m = 0; m < d->methods_count && n < most; m++) known[n++] = d->methods[m].label;
    } else {
      for (unsigned a = 0; a < d->axes_count; a++)
        if (strcmp(d->axes[a].name, filters[i].axis) == 0) {
          rb_strings v = rb_axis_values(&d->axes[a], preset);
          for (unsigned k = 0; k < v.count && n < most; k++) known[n++] = v.values[k];
        }
      if (n == 0) return RB_FAIL(RB_EINVAL, "--where: %s/%s has no axis '%s'", d->paper, d->name, filters[i].axis);
    }
    for (int k = 0; k < n; k++) found |= strcmp(known[k], filters[i].value) == 0;
    if (!found) {
      const char *near = rb_nearest(filters[i].value, known, n);
      return RB_FAIL(RB_EINVAL, "--where: axis '%s' of %s/%s has no value '%s' at this preset%s%s", filters[i].axis,
                     d->paper, d->name, filters[i].value, near ? "; nearest is " : "", near ? near : "");
    }
  }
  return RB_OK;
}

/* Passes when, for every axis that has filters, one of them gives this value. */
static int passes(const char *axis, const char *value, const rb_filter *filters, int count) {
  int asked = 0;
  for (int i = 0; i < count; i++)
    if (strcmp(filters[i].axis, axis) == 0) {
      asked = 1;
      if (strcmp(filters[i].value, value) == 0) return 1;
    }
  return !asked;
}

/* The values of an axis on this machine, by rb_cases_expand's rule for absent data. */
static rb_strings values_here(const rb_axis *axis, rb_preset preset, const rb_filter *filters, int count) {
  const rb_strings wanted = rb_axis_values(axis, preset);
  if (strcmp(axis->name, "data") != 0) return wanted;
  for (int i = 0; i < count; i++)
    if (strcmp(filters[i].axis, "data") == 0) return wanted;
  for (unsigned k = 0; k < wanted.count; k++)
    if (rb_data_present(wanted.values[k])) return wanted;
  for (int p = (int)preset - 1; p >= 0; p--) {
    const rb_strings smaller = rb_axis_values(axis, (rb_preset)p);
    for (unsigned k = 0; k < smaller.count; k++)
      if (strcmp(smaller.values[k], "phantom") == 0) return (rb_strings){smaller.values + k, 1};
  }
  return wanted;
}

const char *rb_cases_absent_data(const rb_descriptor *d, rb_preset preset, const rb_filter *filters, int count) {
  for (unsigned a = 0; a < d->axes_count; a++) {
    const rb_strings wanted = rb_axis_values(&d->axes[a], preset),
                     here = values_here(&d->axes[a], preset, filters, count);
    if (wanted.values != here.values) return wanted.values[0];
  }
  return NULL;
}

static rb_status make_case(const rb_descriptor *d, const rb_strings values[], const rb_method *m, long long index,
                           rb_case *c) {
  rb_status st = RB_OK;
  const rb_workload *w;
  memset(c, 0, sizeof *c);
  c->method = m;
  c->cold = strcmp(d->cache, "cold") == 0;
  RB_TRY(rb_workload_find(m->kind, &w));
  RB_TRY(rb_variant_find(w->family, m->variant, &c->variant));
  int used = snprintf(c->id, sizeof c->id, "%s", m->label);
  /* the last axis of the descriptor varies fastest */
  for (int a = (int)d->axes_count - 1; a >= 0; a--) {
    const rb_strings v = values[a];
    c->axis[a] = d->axes[a].name;
    c->value[a] = v.values[index % v.count];
    index /= v.count;
  }
  c->axes = (int)d->axes_count;
  for (int a = 0; a < c->axes && used < (int)sizeof c->id; a++)
    used += snprintf(c->id + used, sizeof c->id - (size_t)used, " %s=%s", c->axis[a], c->value[a]);
  RB_CHECK(used < (int)sizeof c->id, RB_EINVAL,
           "the label '%.60s...' and its axes make a case's name of more than %zu characters: two cases could be "
           "taken for one",
           m->label, sizeof c->id - 1);
  if (rb_workload_reads(m->kind, "size")) RB_TRY(rb_size_parse(rb_case_axis(c, "size", "64"), &c->grid));
done:
  return st;
}

enum { MOST_CASES = 100000 };

rb_status rb_cases_expand(const rb_descriptor *d, rb_preset preset, int backend, const rb_filter *filters,
                          int filter_count, rb_case **out, int *count) {
  rb_status st = RB_OK;
  long long points = 1;
  rb_strings values[RB_CASE_AXES];
  *out = NULL;
  *count = 0;
  RB_CHECK(d->axes_count <= RB_CASE_AXES, RB_EINVAL, "%s/%s has more than %d axes", d->paper, d->name, RB_CASE_AXES);
  RB_TRY(check_filters(d, preset, filters, filter_count));
  for (unsigned a = 0; a < d->axes_count; a++) {
    values[a] = values_here(&d->axes[a], preset, filters, filter_count);
    points *= values[a].count; /* neither factor exceeds MOST_CASES: no overflow */
    RB_CHECK(points * d->methods_count <= MOST_CASES, RB_EINVAL, "%s/%s expands to more than %d cases at preset %s",
             d->paper, d->name, MOST_CASES, rb_preset_name(preset));
  }
  *out = calloc((size_t)points * d->methods_count, sizeof **out);
  RB_CHECK(*out, RB_ENOMEM, "host memory");
  /* axes outside, methods inside: a table lists its methods for one size after the other */
  for (long long p = 0; p < points; p++)
    for (unsigned m = 0; m < d->methods_count; m++) {
      rb_case *c = &(*out)[*count];
      RB_TRY(make_case(d, values, &d->methods[m], p, c));
      int keep = (backend < 0 || c->variant->backend == (rb_backend_kind)backend) &&
                 passes("method", c->method->label, filters, filter_count);
      for (int a = 0; a < 3 && c->method->largest; a++) keep = keep && c->grid.n[a] <= (int64_t)*c->method->largest;
      if (c->method->largest) keep = keep && atoll(rb_case_axis(c, "points", "0")) <= (long long)*c->method->largest;
      for (int a = 0; a < c->axes; a++) keep = keep && passes(c->axis[a], c->value[a], filters, filter_count);
      *count += keep;
    }
done:
  if (st != RB_OK) {
    free(*out);
    *out = NULL;
  }
  return st;
}

static int is_descriptor(const struct dirent *e) {
  const size_t n = strlen(e->d_name);
  return n > 5 && strcmp(e->d_name + n - 5, ".yaml") == 0;
}

/* Appends a folder's descriptors in order to the count that out holds; returns the new count. */
static int list_folder(const char *folder, char out[][4096], int most, int count) {
  struct dirent **found = NULL;
  const int n = scandir(folder, &found, is_descriptor, alphasort);
  for (int i = 0; i < n; i++) {
    if (count < most && snprintf(out[count], 4096, "%s/%s", folder, found[i]->d_name) < 4096) count++;
    free(found[i]);
  }
  free(found);
  return count;
}

static int is_paper(const struct dirent *e) { return e->d_name[0] != '.' && strcmp(e->d_name, "runner") != 0; }

rb_status rb_experiments_all(char out[][4096], int most, int *count) {
  rb_status st = RB_OK;
  const char *home;
  char path[4096];
  struct dirent **papers = NULL;
  int n = 0;
  *count = 0;
  RB_TRY(rb_project_root(&home));
  snprintf(path, sizeof path, "%s/experiments", home);
  n = scandir(path, &papers, is_paper, alphasort);
  RB_CHECK(n >= 0, RB_ENOTFOUND, "no folder %s", path);
  for (int i = 0; i < n; i++) {
    snprintf(path, sizeof path, "%s/experiments/%s", home, papers[i]->d_name);
    *count = list_folder(path, out, most, *count);
  }
done:
  for (int i = 0; i < n; i++) free(papers[i]);
  free(papers);
  return st;
}

rb_status rb_experiments_find(const char *argument, char out[][4096], int most, int *count) {
  rb_status st = RB_OK;
  const char *home;
  char path[4096];
  struct stat info;
  size_t n = strlen(argument);
  *count = 0;
  RB_CHECK(most > 0, RB_EINVAL, "too many experiments at once");
  if (n > 5 && strcmp(argument + n - 5, ".yaml") == 0) {
    RB_CHECK(access(argument, R_OK) == 0, RB_ENOTFOUND, "no descriptor %s", argument);
    snprintf(out[0], 4096, "%s", argument);
    *count = 1;
    return RB_OK;
  }
  RB_TRY(rb_project_root(&home));
  snprintf(path, sizeof path, "%s/experiments/%s", home, argument);
  if (strcmp(argument, "runner") != 0 && !strchr(argument, '/') && stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
    *count = list_folder(path, out, most, 0);
    RB_CHECK(*count < most, RB_EINVAL, "too many experiments at once");
    RB_CHECK(*count, RB_ENOTFOUND, "no descriptors in %s", path);
    return RB_OK;
  }
  snprintf(path, sizeof path, "%s/experiments/%s.yaml", home, argument);
  if (access(path, R_OK) == 0) {
    snprintf(out[0], 4096, "%s", path);
    *count = 1;
    return RB_OK;
  }
  /* offer the nearest name of all */
  char(*all)[4096] = malloc(256 * sizeof *all);
  const char *names[256];
  char shown[256] = "";
  int total = 0;
  RB_CHECK(all, RB_ENOMEM, "host memory");
  if (rb_experiments_all(all, 256, &total) != RB_OK) rb_clear();
  for (int i = 0; i < total; i++) {
    all[i][strlen(all[i]) - 5] = '\0';
    names[i] = all[i] + strlen(home) + strlen("/experiments/");
  }
  const char *near = rb_nearest(argument, names, total);
  if (near) snprintf(shown, sizeof shown, "; nearest is %s", near);
  free(all);
  st = RB_FAIL(RB_ENOTFOUND, "no experiment '%s'%s; 'regbench list' shows all", argument, shown);
done:
  return st;
}
