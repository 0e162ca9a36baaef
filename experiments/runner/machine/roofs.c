/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/machine/roofs.h"

#include "experiments/runner/base/interrupt.h"
#include "kernels/probe/probe.h"
#include "kernels/registry/registry.h"

#include <math.h>
#include <string.h>

/* A probe and what its rate counts. */
static const struct {
  const char *name, *unit;
} roofs[] = {{"cpu/copy", "B/s"},  {"cpu/fma", "FLOP/s"}, {"cuda/copy", "B/s"},         {"cuda/fma", "FLOP/s"},
             {"cuda/exp2", "1/s"}, {"cuda/l2", "B/s"},    {"cuda/texture-fetch", "1/s"}};
enum { ROOFS = sizeof roofs / sizeof *roofs };

/* Measured once a process, with the machine as it is: what every "% of copy" of this run divides by. */
static double roof(int which) {
  static double value[ROOFS];
  const rb_variant *v;
  if (rb_interrupted) return NAN;
  if (value[which] == 0) {
    value[which] = NAN;
    if (rb_variant_find(&rb_probe_family, roofs[which].name, &v) == RB_OK && rb_variant_timed(v) == RB_OK)
      rb_probe_measure(v, 0, 11, &value[which]);
    rb_clear();
  }
  return value[which];
}
double rb_copy_roof(rb_backend_kind kind) { return roof(kind == RB_CUDA ? 2 : 0); }
double rb_fma_roof(rb_backend_kind kind) { return roof(kind == RB_CUDA ? 3 : 1); }
double rb_cache_roof(rb_backend_kind kind) { return kind == RB_CUDA ? roof(5) : NAN; }
double rb_exp2_roof(rb_backend_kind kind) { return kind == RB_CUDA ? roof(4) : NAN; }
double rb_texture_roof(rb_backend_kind kind) { return kind == RB_CUDA ? roof(6) : NAN; }

json_t *rb_roofs_json(void) {
  json_t *all = json_object();
  for (int i = 0; i < ROOFS; i++) {
    double v = roof(i);
    if (v == v) json_object_set_new(all, roofs[i].name, json_real(v));
  }
  return all;
}

const char *rb_roof_name(int index) { return index < ROOFS ? roofs[index].name : NULL; }
const char *rb_roof_unit(const char *name) {
  for (int i = 0; i < ROOFS; i++)
    if (strcmp(roofs[i].name, name) == 0) return roofs[i].unit;
  return "B/s";
}
