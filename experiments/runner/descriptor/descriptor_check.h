/* SPDX-License-Identifier: BSD-3-Clause */
/* What the checks of a descriptor's meaning share: the line that a complaint is about. */
#ifndef RB_DESCRIPTOR_CHECK_H
#define RB_DESCRIPTOR_CHECK_H

#include "experiments/runner/descriptor/descriptor.h"

#include <stdio.h>
#include <string.h>

/* Does a word end at `s`? Names of columns and methods hold letters, digits and the signs that join them. */
static inline int ends_word(const char *s) { return *s == '\0' || strchr(" \t\n\"',:[]{}", *s) != NULL; }
/* The first place before `end` where `word` stands alone: "e" does not stand in "time". */
static inline const char *find_word(const char *s, const char *end, const char *word) {
  for (s = strstr(s, word); s && s < end; s = strstr(s + 1, word))
    if (!word[0] || (ends_word(s + strlen(word)) && ends_word(s - 1))) return s;
  return NULL;
}
/* The line where `key` is followed by the whole word `value` first; 1 where it stands nowhere. */
static inline size_t line_of(const char *text, const char *key, const char *value) {
  size_t line = 1;
  for (const char *s = text; *s; line++) {
    const char *end = s + strcspn(s, "\n"), *a = strstr(s, key);
    if (a && a < end && find_word(a + strlen(key), end, value)) return line;
    s = *end ? end + 1 : end;
  }
  return 1;
}
/* Check something of the descriptor that stands where `key` is followed by `value`. */
#define CHECK_AT(condition, key, value, ...)                                                  \
  do {                                                                                        \
    if (!(condition)) {                                                                       \
      char told[512];                                                                         \
      snprintf(told, sizeof told, __VA_ARGS__);                                               \
      st = RB_FAIL(RB_EFORMAT, "%s:%zu: %s", origin, line_of(d->text, (key), (value)), told); \
      goto done;                                                                              \
    }                                                                                         \
  } while (0)

static inline int has_label(const rb_descriptor *d, const char *label) {
  for (unsigned i = 0; i < d->methods_count; i++)
    if (strcmp(d->methods[i].label, label) == 0) return 1;
  return 0;
}
/* Kinds that interpolate read a basis, kinds that differentiate a scheme, distances of surfaces a way of summing. */
static inline int reads_basis(const char *kind) {
  return strncmp(kind, "interp", 6) == 0 || strcmp(kind, "prefilter") == 0 || strcmp(kind, "advection") == 0;
}
static inline int reads_scheme(const char *kind) {
  return strcmp(kind, "gradient") == 0 || strcmp(kind, "divergence") == 0 || strcmp(kind, "partial-x3") == 0;
}
static inline int reads_sums(const char *kind) { return strcmp(kind, "surface-distance") == 0; }
/* Whether a column shows it. */
static inline int has_metric(const rb_descriptor *d, const char *metric) {
  for (unsigned i = 0; i < d->columns_count; i++)
    if (strcmp(d->columns[i].metric, metric) == 0) return 1;
  return 0;
}
#endif
