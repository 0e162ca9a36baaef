/* SPDX-License-Identifier: BSD-3-Clause */
/* A record of four cases, two methods at two sizes, with printed values and claims, for tests of verdicts. */
#ifndef RB_SMALL_RECORD_H
#define RB_SMALL_RECORD_H

#include "experiments/runner/record/record.h"

#include <stdio.h>

static const char descriptor[] =
    "schema: 1\npaper: p\nname: n\ntitle: t\nsource: s\ncache: warm\n"
    "methods:\n  - {label: A, kind: interp, variant: cpu/omp, basis: linear}\n  - {label: B, kind: interp, variant: "
    "cpu/ref, basis: linear}\n"
    "axes:\n  - {name: size, quick: [\"64\", \"128\"]}\n"
    "columns:\n  - {name: error, metric: error_rms, title: e, class: numeric}\n  - {name: t, metric: time, title: t, "
    "class: hardware}\n"
    "claims:\n"
    "  - {id: c1, text: x, metric: time, left: A, right: B, relation: \"<=\", factor: 0.5}\n"
    "  - {id: c2, text: x, metric: time, left: A, right: B, relation: \">=\", factor: 1, axis: size, values: "
    "[\"64\"]}\n"
    "  - {id: c3, text: x, metric: error_rms, left: A, right: \"0.01\", relation: \"<=\", factor: 1, axis: size, "
    "values: [\"256\"]}\n"
    "  - {id: c4, text: x, metric: time, left: A, right: B, relation: \"<=\", factor: 0.5, where: \"size=64\"}\n"
    "  - {id: c5, text: x, metric: error_rms, left: A, right: published, relation: \"<=\", factor: 1}\n"
    "  - {id: c6, text: x, metric: error_rms, left: A, right: published, relation: \"<=\", factor: 1, where: "
    "\"size=64\"}\n";
static const char published[] =
    "# a comment\nmachine,size,method,error,t\nOld GPU,64,A,9.9e-3,1e-3\nOld "
    "GPU,128,A,7.2e-4,\nHere,64,B,2.6e-2,2e-3\n";

static json_t *a_case(const char *method, const char *size, double error, double time) {
  char id[64];
  snprintf(id, sizeof id, "%s size=%s", method, size);
  return json_pack("{s:s,s:s,s:{s:s},s:s,s:s,s:s,s:{s:{s:f,s:s},s:{s:f,s:s}},s:{s:f,s:f}}", "id", id, "method",
                   method, "axes", "size", size, "kind", "interp", "status", "valid", "source", "", "metrics",
                   "error_rms", "value", error, "unit", "1", "time", "value", time, "unit", "s", "timing", "low",
                   time, "high", time);
}

static json_t *a_record(void) {
  return json_pack("{s:s,s:s,s:s,s:s,s:{s:s},s:{s:s},s:[o,o,o,o]}", "schema", "regbench-record", "schema_version",
                   "1.0.0", "descriptor", descriptor, "published", published, "machine", "name", "Here", "experiment",
                   "name", "n", "cases", a_case("A", "64", 9.82e-3, 1e-3), a_case("B", "64", 2.75e-2, 2.0004e-3),
                   a_case("A", "128", 8e-4, 1e-3), a_case("B", "128", 1e-3, 1.5e-3));
}
#endif
