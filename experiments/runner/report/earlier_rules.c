/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/report/earlier_rules.h"

#include "experiments/runner/record/record.h"
#include "experiments/runner/workloads/workload.h"

#include <string.h>

static int is_verified_by(const json_t *c, const char *part_of_name) {
  const json_t *v;
  size_t i;
  json_array_foreach(json_object_get(c, "verification"), i,
                     v) if (strstr(rb_json_text(v, "name", ""), part_of_name)) return 1;
  return 0;
}

static int has_work(const json_t *c) {
  const json_t *work = json_object_get(c, "work");
  return json_number_value(json_object_get(work, "bytes")) > 0 ||
         json_number_value(json_object_get(work, "flops")) > 0;
}

static int lacks_roofs(const json_t *c) {
  return has_work(c) && !is_verified_by(c, RB_WITHIN_MEMORY) && !is_verified_by(c, RB_WITHIN_ARITHMETIC);
}
static int lacks_new_inputs(const json_t *c) {
  const rb_workload *w;
  if (rb_workload_find(rb_json_text(c, "kind", ""), &w) != RB_OK) {
    rb_clear();
    return 0;
  }
  return w->rescale && !is_verified_by(c, RB_ON_NEW_INPUTS);
}
static int has_few_places(const json_t *c) { return is_verified_by(c, "on 4096 points"); }
static int lacks_rms(const json_t *c) {
  return strncmp(rb_json_text(c, "kind", ""), "interp", 6) == 0 && !is_verified_by(c, "rms of value");
}
static int has_few_nodes(const json_t *c) { /* 240 of the kernels of demons2020 */
  const json_t *v;
  size_t i;
  json_array_foreach(json_object_get(c, "verification"), i,
                     v) if (strcmp(rb_json_text(v, "name", ""), "greatest error of the nodes looked at") == 0 &&
                            strcmp(rb_json_text(v, "against", ""), "oracle, float64") == 0) return 1;
  return 0;
}
static int lacks_energy(const json_t *c) {
  return strcmp(rb_json_text(c, "backend", ""), "cuda") == 0 &&
         !json_object_get(json_object_get(c, "metrics"), "energy");
}

void rb_earlier_rules_print(const json_t *record, FILE *out) {
  static const struct {
    int (*lacks)(const json_t *c);
    const char *what;
  } rules[] = {{lacks_roofs, "not held against what the machine can do"},
               {lacks_new_inputs, "not run on new inputs after their samples"},
               {has_few_places, "held against the oracle at 4096 points alone"},
               {lacks_rms, "held to the field's range, not to its steps"},
               {has_few_nodes, "held against the oracle at 240 nodes"},
               {lacks_energy, "without energy"}};
  enum { RULES = sizeof rules / sizeof *rules };
  const int quick = strcmp(rb_json_text(record, "preset", ""), "quick") == 0; /* energy is not measured there */
  int lacking[RULES] = {0}, valid = 0, listed = 0;
  const json_t *c;
  size_t i;
  if (strcmp(rb_json_text(record, "preset", ""), "published") == 0) return; /* nothing was measured */
  json_array_foreach(json_object_get(record, "cases"), i, c) {
    if (strcmp(rb_json_text(c, "status", ""), "valid") != 0 || strcmp(rb_json_text(c, "kind", ""), "published") == 0)
      continue;
    valid++;
    for (int k = 0; k < RULES; k++) lacking[k] += rules[k].lacks(c) && !(quick && rules[k].lacks == lacks_energy);
  }
  for (int k = 0; k < RULES; k++) {
    if (!lacking[k]) continue;
    if (!listed) fprintf(out, "Recorded by earlier rules; of %d valid cases", valid);
    fprintf(out, "%s %d %s", listed++ ? "," : "", lacking[k], rules[k].what);
  }
  if (listed) fputs(".\n\n", out);
}
