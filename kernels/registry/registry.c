/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/registry/registry.h"

#include <stdlib.h>
#include <string.h>

/* The families in the order of families.def, by their addresses; the tables behind them are made at build time. */
static rb_family *const families[] = {
#define RB_FAMILY(family, what) &rb_##family##_family,
#include "kernels/registry/families.def"
#undef RB_FAMILY
};
enum { FAMILIES = sizeof families / sizeof *families };

const rb_family *const *rb_families(int *count) {
  *count = FAMILIES;
  return (const rb_family *const *)families;
}

/* Exact names; a failure names the nearest one. */
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

/* Tables made at build time cannot grow: a copy takes their place, and the copy before is given back. */
rb_status rb_family_add(const char *name, const rb_variant *variant) {
  static rb_variant *own[FAMILIES];
  rb_status st = RB_OK;
  int i = 0;
  const rb_family *found = NULL;
  RB_TRY(rb_family_find(name, &found));
  while (families[i] != found) i++;
  rb_family *f = families[i];
  rb_variant *rows = malloc(((size_t)f->count + 1) * sizeof *rows);
  RB_CHECK(rows, RB_ENOMEM, "host memory");
  memcpy(rows, f->variants, (size_t)f->count * sizeof *rows);
  rows[f->count] = *variant;
  free(own[i]);
  f->variants = own[i] = rows;
  f->count++;
done:
  return st;
}

/* Backends for what lies above the kernels, which does not ask cpu_ref or cuda itself. */
rb_status rb_backend_get_cpu(const rb_backend **out) { return rb_cpu_backend(out); }
rb_status rb_backend_get_cuda(const rb_backend **out) { return rb_cuda_backend(out); }
rb_status rb_backend_get(rb_backend_kind kind, const rb_backend **out) {
  return kind == RB_CPU ? rb_cpu_backend(out) : rb_cuda_backend(out);
}

/* Without a CUDA backend the failure's message is dropped: the answer is 0. */
int rb_cuda_is_emulated(void) {
  const rb_backend *b;
  const rb_status st = rb_cuda_backend(&b);
  rb_clear();
  return st == RB_OK && b->emulated;
}
