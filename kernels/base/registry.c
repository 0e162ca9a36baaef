/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/base/registry.h"

#include <string.h>

static const rb_family *const families[] = {
    &rb_interp_family,   &rb_derivative_family, &rb_spectral_family, &rb_field_family, &rb_transport_family,
    &rb_gausssum_family, &rb_smooth_family,     &rb_compose_family,  &rb_force_family, &rb_probe_family,
};
enum { FAMILIES = sizeof families / sizeof *families };

const rb_family *const *rb_families(int *count) {
  *count = FAMILIES;
  return families;
}

/* Levenshtein distance, with one row; names longer than 63 characters compare by their start. */
static int distance(const char *a, const char *b) {
  int row[64], m = (int)strlen(b);
  if (m > 63) m = 63;
  for (int j = 0; j <= m; j++) row[j] = j;
  for (int i = 0; a[i]; i++) {
    int diagonal = row[0];
    row[0] = i + 1;
    for (int j = 1; j <= m; j++) {
      int replace = diagonal + (a[i] != b[j - 1]);
      diagonal = row[j];
      int edit = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;
      row[j] = replace < edit ? replace : edit;
    }
  }
  return row[m];
}

const char *rb_nearest(const char *name, const char *const *candidates, int count) {
  const char *best = NULL;
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

rb_status rb_family_find(const char *name, const rb_family **out) {
  const char *names[FAMILIES];
  for (int i = 0; i < FAMILIES; i++) {
    names[i] = families[i]->name;
    if (strcmp(name, names[i]) == 0) {
      *out = families[i];
      return RB_OK;
    }
  }
  const char *near = rb_nearest(name, names, FAMILIES);
  return RB_FAIL(RB_ENOTFOUND, "no kernel family '%s'%s%s; 'regbench list families' shows all", name,
                 near ? ": nearest is " : "", near ? near : "");
}

rb_status rb_variant_find(const rb_family *family, const char *name, const rb_variant **out) {
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

rb_status rb_variant_available(const rb_variant *variant) {
  const rb_backend *b;
  rb_status st = rb_backend_get(variant->backend, &b);
  if (st == RB_OK && !variant->ops) st = RB_FAIL(RB_EDEVICE, "variant %s is not in this build", variant->name);
  return st;
}

rb_status rb_variant_timed(const rb_variant *variant) {
  const rb_backend *b;
  rb_status st = rb_variant_available(variant);
  if (st == RB_OK) st = rb_backend_get(variant->backend, &b);
  if (st == RB_OK && b->emulated)
    st = RB_FAIL(RB_EUNSUPPORTED,
                 "%s is emulated here, executed on the CPU: its outputs can be checked, times would mean nothing; "
                 "run it on a GPU",
                 variant->name);
  return st;
}

int rb_cuda_is_emulated(void) {
  const rb_backend *b;
  const rb_status st = rb_backend_get(RB_CUDA, &b);
  rb_clear();
  return st == RB_OK && b->emulated;
}
