/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/base/variant.h"

#include <string.h>

/* Levenshtein distance, with one row; names longer than 63 characters compare by their start. */
static int distance(const char *a, const char *b) {
  /* row[j]: distance of the first i characters of a and the first j of b;  diagonal: that of i - 1 and j - 1 */
  int row[64], m = (int)strlen(b);
  if (m > 63) m = 63;
  for (int j = 0; j <= m; j++) row[j] = j;
  /* O(|a| |b|) with one row of the table */
  for (int i = 0; a[i]; i++) {
    int diagonal = row[0];
    row[0] = i + 1;
    for (int j = 1; j <= m; j++) {
      /* replace: one character for another, free where they are equal; edit: one inserted or left out */
      int replace = diagonal + (a[i] != b[j - 1]);
      /* the old row[j] is the next one's diagonal */
      diagonal = row[j];
      int edit = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;
      row[j] = replace < edit ? replace : edit;
    }
  }
  return row[m];
}

/* The candidate with the fewest edits; the first of several. */
const char *rb_nearest(const char *name, const char *const *candidates, int count) {
  const char *best = NULL;
  /* farther names are no suggestion: NULL */
  int least = (int)strlen(name) / 2 + 3;
  for (int i = 0; i < count; i++) {
    int d = distance(name, candidates[i]);
    if (d < least) {
      least = d;
      best = candidates[i];
    }
  }
  return best;
}

/* Names are exact: no abbreviation is accepted, the nearest one is only named. */
rb_status rb_variant_find(const rb_family *family, const char *name, const rb_variant **out) {
  /* of a family with more variants the first 64 are looked at */
  const char *names[64];
  int count = family->count < 64 ? family->count : 64;
  for (int i = 0; i < count; i++) {
    names[i] = family->variants[i].name;
    if (strcmp(name, names[i]) == 0) {
      *out = &family->variants[i];
      return RB_OK;
    }
  }
  const char *near = rb_nearest(name, names, count);
  return RB_FAIL(RB_ENOTFOUND, "family '%s' has no variant '%s'%s%s; 'regbench list %s' shows all", family->name,
                 name, near ? ": nearest is " : "", near ? near : "", family->name);
}

/* The backend's own reason comes first; without ops the backend may be there and the variant is not. */
rb_status rb_variant_backend(const rb_variant *variant, const rb_backend **out) {
  const rb_status st = variant->get_from(out);
  return st == RB_OK && !variant->ops ? RB_FAIL(RB_EDEVICE, "variant %s is not in this build", variant->name) : st;
}

rb_status rb_variant_available(const rb_variant *variant) {
  const rb_backend *b;
  return rb_variant_backend(variant, &b);
}

/* As rb_variant_available, and refuses a backend whose times mean nothing. */
rb_status rb_variant_timed(const rb_variant *variant) {
  const rb_backend *b;
  rb_status st = rb_variant_backend(variant, &b);
  if (st == RB_OK && b->emulated)
    st = RB_FAIL(RB_EUNSUPPORTED,
                 "%s is emulated here, executed on the CPU: its outputs can be checked, times would mean nothing; "
                 "run it on a GPU",
                 variant->name);
  return st;
}
