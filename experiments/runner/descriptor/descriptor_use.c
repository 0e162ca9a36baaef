/* SPDX-License-Identifier: BSD-3-Clause */
/* What a descriptor that is run must not hold: keys that nobody reads, and values that would fail at work. */
#include "experiments/runner/descriptor/descriptor_check.h"

#include "datasets/manifest.h"
#include "experiments/runner/workloads/workload.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>

/* Labels become cells of tables in four formats and names in progress lines. */
static int is_plain_text(const char *s) {
  for (; *s; s++)
    if ((unsigned char)*s < ' ' || *s == 0x7f || *s == '|') return 0;
  return 1;
}
static rb_status use_of_labels(const rb_descriptor *d, const char *origin) {
  rb_status st = RB_OK;
  for (unsigned i = 0; i < d->methods_count; i++)
    CHECK_AT(is_plain_text(d->methods[i].label), "label:", "",
             "method %u: its label holds a control character or '|', which would break a table", i + 1);
  for (unsigned i = 0; i < d->columns_count; i++)
    CHECK_AT(is_plain_text(d->columns[i].title), "title:", "",
             "column '%s': its title holds a control character or '|', which would break a table",
             d->columns[i].name);
done:
  return st;
}

/* A record may be older than the names of today, or of a plugin. */
static rb_status use_of_variants(const rb_descriptor *d, const char *origin) {
  rb_status st = RB_OK;
  for (unsigned i = 0; i < d->methods_count; i++) {
    const rb_method *m = &d->methods[i];
    const rb_workload *w;
    const rb_variant *v;
    char cause[400] = "";
    RB_TRY(rb_workload_find(m->kind, &w));
    if (rb_variant_find(w->family, m->variant, &v) != RB_OK) {
      snprintf(cause, sizeof cause, "%s", rb_message());
      rb_clear();
    }
    CHECK_AT(!cause[0], "variant:", m->variant, "method '%s': %s", m->label, cause);
  }
done:
  return st;
}

static rb_status use_of_numerics(const rb_descriptor *d, const char *origin) {
  rb_status st = RB_OK;
  for (unsigned i = 0; i < d->methods_count; i++) {
    const rb_method *m = &d->methods[i];
    CHECK_AT(!m->basis || reads_basis(m->kind), "label:", m->label, "method '%s': kind %s reads no basis", m->label,
             m->kind);
    CHECK_AT(!m->scheme || reads_scheme(m->kind), "label:", m->label, "method '%s': kind %s reads no scheme",
             m->label, m->kind);
    CHECK_AT(!m->sums || reads_sums(m->kind), "label:", m->label, "method '%s': kind %s reads no sums", m->label,
             m->kind);
  }
done:
  return st;
}

/* Whether `value` is one of `words`; *nearest: the word that may have been meant, or NULL. */
static int is_value(const char *value, const char *words, const char **nearest) {
  static char text[256], sets[64][64];
  const char *list[96];
  char *end;
  int count = 0, found = 0;
  *nearest = NULL;
  if (strcmp(words, RB_VALUES_COUNT) == 0) {
    const size_t digits = strspn(value, "0123456789");
    return digits > 0 && digits < 13 && value[digits] == '\0' && value[0] != '0';
  }
  if (strcmp(words, RB_VALUES_NUMBER) == 0) {
    const double v = strtod(value, &end);
    return end > value && *end == '\0' && isfinite(v);
  }
  snprintf(text, sizeof text, "%s", words);
  for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
    const int set = strcmp(word, "SET") == 0, pair = strcmp(word, "PAIR") == 0,
              n = set    ? rb_manifest_names(sets, 64)
                  : pair ? rb_manifest_pair_names(sets, 64)
                         : 0;
    if (!set && !pair) list[count++] = word;
    for (int i = 0; i < n && count < 96; i++) list[count++] = sets[i];
  }
  for (int i = 0; i < count; i++) found |= fnmatch(list[i], value, 0) == 0;
  *nearest = rb_nearest(value, list, count);
  if (*nearest && strpbrk(*nearest, "?*")) *nearest = NULL; /* a pattern is no name */
  return found;
}

static rb_status use_of_values(const rb_descriptor *d, const rb_axis *a, const char *origin) {
  rb_status st = RB_OK;
  for (unsigned m = 0; m < d->methods_count; m++) {
    const char *words = rb_workload_values(d->methods[m].kind, a->name), *near;
    for (int p = 0; p < RB_PRESETS && words && strcmp(a->name, "size") != 0; p++) {
      const rb_strings v = rb_axis_values(a, (rb_preset)p);
      for (unsigned i = 0; i < v.count; i++)
        CHECK_AT(is_value(v.values[i], words, &near), a->name, v.values[i],
                 "axis %s: '%s' is no value of kind %s: %s%s", a->name, v.values[i], d->methods[m].kind,
                 near ? "nearest is " : words, near ? near : "");
    }
  }
done:
  return st;
}

/* Two cases of one name could not be told apart. */
static rb_status no_value_twice(const rb_descriptor *d, const rb_axis *a, const char *origin) {
  rb_status st = RB_OK;
  for (int p = 0; p < RB_PRESETS; p++) {
    const rb_strings v = rb_axis_values(a, (rb_preset)p);
    for (unsigned i = 0; i < v.count; i++)
      for (unsigned k = 0; k < i; k++)
        CHECK_AT(strcmp(v.values[i], v.values[k]) != 0, a->name, v.values[i],
                 "axis %s: '%s' appears twice at preset %s", a->name, v.values[i], rb_preset_name((rb_preset)p));
  }
done:
  return st;
}

static rb_status use_of_axes(const rb_descriptor *d, const char *origin) {
  rb_status st = RB_OK;
  for (unsigned i = 0; i < d->axes_count; i++) {
    for (unsigned k = 0; k < i; k++)
      CHECK_AT(strcmp(d->axes[i].name, d->axes[k].name) != 0, "name:", d->axes[i].name, "two axes are named '%s'",
               d->axes[i].name);
    RB_TRY(no_value_twice(d, &d->axes[i], origin));
    RB_TRY(use_of_values(d, &d->axes[i], origin));
  }
done:
  return st;
}

static int axis_has(const rb_descriptor *d, const char *axis, const char *value) {
  for (unsigned i = 0; i < d->axes_count; i++)
    for (int p = 0; p < RB_PRESETS && strcmp(d->axes[i].name, axis) == 0; p++) {
      const rb_strings v = rb_axis_values(&d->axes[i], (rb_preset)p);
      for (unsigned k = 0; k < v.count; k++)
        if (strcmp(v.values[k], value) == 0) return 1;
    }
  return 0;
}

/* `conditions`: "axis=value,axis=value" of `what` that is named `name` beside `key`, or NULL. */
static rb_status use_of_conditions(const rb_descriptor *d, const char *conditions, const char *what, const char *key,
                                   const char *name, const char *origin) {
  rb_status st = RB_OK;
  for (const char *s = conditions; s && *s; s += strcspn(s, ","), s += *s == ',') {
    char axis[64], value[96];
    const int length = (int)strcspn(s, ","), n = (int)strcspn(s, "=") < length ? (int)strcspn(s, "=") : length;
    snprintf(axis, sizeof axis, "%.*s", n, s);
    snprintf(value, sizeof value, "%.*s", n < length ? length - n - 1 : 0, n < length ? s + n + 1 : "");
    CHECK_AT(axis_has(d, axis, value), key, name, "%s '%s': axis %s has no value '%s'", what, name, axis, value);
  }
done:
  return st;
}

static rb_status use_of_claims(const rb_descriptor *d, const char *origin) {
  rb_status st = RB_OK;
  for (unsigned i = 0; i < d->claims_count; i++) {
    const rb_claim *c = &d->claims[i];
    CHECK_AT(isfinite(c->factor) && c->factor != 0, "id:", c->id,
             "claim '%s': factor %g; a finite number other than 0", c->id, c->factor);
    CHECK_AT(has_label(d, c->right) || strcmp(c->right, "published") == 0 || isfinite(strtod(c->right, NULL)),
             "id:", c->id, "claim '%s': right '%s' is neither a finite number nor a method", c->id, c->right);
    CHECK_AT(has_metric(d, c->metric), "id:", c->id,
             "claim '%s': no column shows '%s'; a metric of claims is seen in the table, too", c->id, c->metric);
    CHECK_AT(!c->axis == !c->values_count, "id:", c->id, "claim '%s': axis and values belong together", c->id);
    for (unsigned k = 0; k < c->values_count; k++)
      CHECK_AT(axis_has(d, c->axis, c->values[k]), "id:", c->id, "claim '%s': axis %s has no value '%s'", c->id,
               c->axis, c->values[k]);
    RB_TRY(use_of_conditions(d, c->where, "claim", "id:", c->id, origin));
    RB_TRY(use_of_conditions(d, c->at, "claim", "id:", c->id, origin));
    CHECK_AT(!c->at || has_label(d, c->right), "id:", c->id, "claim '%s': 'at' needs a method on the right", c->id);
  }
done:
  return st;
}

static rb_status use_of_columns_and_plots(const rb_descriptor *d, const char *origin) {
  rb_status st = RB_OK;
  for (unsigned i = 0; i < d->columns_count; i++) {
    const rb_column *c = &d->columns[i];
    CHECK_AT((!c->tolerance && !c->absolute) || c->reason, "name:", c->name,
             "column '%s': a tolerance needs a reason", c->name);
    CHECK_AT(!c->tolerance || (isfinite(*c->tolerance) && *c->tolerance >= 0), "name:", c->name,
             "column '%s': tolerance %g; a finite number from 0 on", c->name, *c->tolerance);
    CHECK_AT(!c->absolute || (isfinite(*c->absolute) && *c->absolute >= 0), "name:", c->name,
             "column '%s': absolute %g; a finite number from 0 on", c->name, *c->absolute);
    CHECK_AT((!c->tolerance && !c->absolute) || c->class == RB_NUMERIC, "name:", c->name,
             "column '%s': only numeric columns are judged by a tolerance", c->name);
  }
  for (unsigned i = 0; i < d->plots_count; i++) {
    const rb_plot *p = &d->plots[i];
    int shown = 0;
    for (unsigned k = 0; k < p->methods_count; k++)
      CHECK_AT(has_label(d, p->methods[k]), "file:", p->file, "plot '%s': no method '%s'", p->file, p->methods[k]);
    for (unsigned k = 0; k < d->columns_count && p->published; k++)
      shown |= strcmp(d->columns[k].name, p->published) == 0;
    CHECK_AT(!p->published || shown, "file:", p->file, "plot '%s': no column '%s' is published", p->file,
             p->published);
    RB_TRY(use_of_conditions(d, p->where, "plot", "file:", p->file, origin));
    CHECK_AT(!p->slope || !p->panel, "file:", p->file, "plot '%s': a slope is drawn without panels only", p->file);
  }
done:
  return st;
}

rb_status rb_descriptor_check_use(const rb_descriptor *d, const char *origin) {
  rb_status st = RB_OK;
  RB_TRY(use_of_variants(d, origin));
  RB_TRY(use_of_labels(d, origin));
  RB_TRY(use_of_numerics(d, origin));
  RB_TRY(use_of_axes(d, origin));
  RB_TRY(use_of_claims(d, origin));
  RB_TRY(use_of_columns_and_plots(d, origin));
done:
  return st;
}
