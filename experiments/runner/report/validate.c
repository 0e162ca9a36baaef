/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/report/validate.h"

#include "experiments/runner/record/record.h"
#include "experiments/runner/report/verdict.h"
#include "kernels/base/statistics.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* EXACT: numbers of a record have twelve digits. BEYOND: by how much a measured roof may be passed, as in a run;
 * useful arithmetic may be shared by symmetry; AGAIN: by how much more where a record does not tell which of the
 * bytes are moved twice, from the cache the second time. LAX: a limit of a verification beyond it finds nothing.
 * POWER: over the limit of the board, for its counter's coarseness. */
static const double EXACT = 1e-9, BEYOND = 1.1, SHARED = 2, AGAIN = 1.3, LAX = 10, POWER = 1.2;

typedef struct {
  const char *path, *id;
  FILE *out;
  rb_validation *counts;
} place;

static void contradicts(const place *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void contradicts(const place *p, const char *format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  fprintf(p->out, "%s: %.200s: %s\n", p->path, p->id, text);
  p->counts->contradictions++;
}

static double number(const json_t *j, const char *name) {
  const json_t *v = json_object_get(j, name);
  return json_is_number(v) ? json_number_value(v) : NAN;
}
static int differs(double a, double b) {
  return isfinite(a) && isfinite(b) && fabs(a - b) > EXACT * fmax(fabs(a), fabs(b));
}

/* Everything that a time is said to be, from the samples. */
static void check_timing(const place *p, const json_t *c) {
  const json_t *t = json_object_get(c, "timing"), *samples = json_object_get(t, "samples"), *s;
  double values[RB_STATISTICS_MOST], median, low, high, least = INFINITY, most = -INFINITY;
  int n = 0;
  size_t i;
  if (!json_is_object(t)) {
    contradicts(p, "valid without samples");
    return;
  }
  json_array_foreach((json_t *)samples, i, s) {
    const double v = json_is_number(s) ? json_number_value(s) : NAN;
    if (!(v > 0)) contradicts(p, "sample %zu is %g s", i + 1, v);
    if (n < RB_STATISTICS_MOST && rb_timing_counts(t, i)) values[n++] = v;
    least = fmin(least, v), most = fmax(most, v);
  }
  if (n == 0) {
    contradicts(p, "valid without samples");
    return;
  }
  rb_order_statistics(values, n, &median, &low, &high);
  const double time = rb_json_metric(c, "time");
  if (differs(median, number(t, "median")))
    contradicts(p, "the samples' median is %.9g s, told is %.9g", median, number(t, "median"));
  if (differs(low, number(t, "low")) || differs(high, number(t, "high")))
    contradicts(p, "the samples' interval is %.6g to %.6g s, told is %.6g to %.6g", low, high, number(t, "low"),
                number(t, "high"));
  if (differs(least, number(t, "least")) || differs(most, number(t, "most")))
    contradicts(p, "the samples' extremes are not those that are told");
  if (differs(time, median)) contradicts(p, "time is %.9g s, the samples' median %.9g", time, median);
}

/* B/s that a case on a GPU can move at most; infinite where the record does not tell. Buffers that rotate, or do not
 * fit twice the cache, come from memory. */
static double most_bandwidth(const json_t *record, double footprint, double copy, double cache) {
  const json_t *gpu = json_object_get(json_object_get(record, "machine"), "gpu");
  const int cold = strcmp(rb_json_text(json_object_get(record, "protocol"), "cache", ""), "cold") == 0;
  if (footprint > 0 && (cold || footprint > 2 * number(gpu, "l2_bytes"))) return copy;
  if (cold) return AGAIN * copy;
  return isfinite(cache) ? fmax(copy, cache) : INFINITY; /* older records do not tell the cache's */
}

/* Against the record's own roofs and the board's power. */
static void check_possible(const place *p, const json_t *record, const json_t *c) {
  const json_t *roofs = json_object_get(record, "roofs"), *work = json_object_get(c, "work"),
               *gpu = json_object_get(json_object_get(record, "machine"), "gpu");
  const int cuda = strcmp(rb_json_text(c, "backend", ""), "cuda") == 0;
  const double time = rb_json_metric(c, "time"), bytes = number(work, "bytes"), flops = number(work, "flops"),
               footprint = number(work, "footprint"), moved = footprint > 0 ? fmin(footprint, bytes) : bytes;
  const double copy = number(roofs, cuda ? "cuda/copy" : "cpu/copy"), cache = number(roofs, "cuda/l2"),
               fma = number(roofs, cuda ? "cuda/fma" : "cpu/fma");
  const double told = rb_json_metric(c, "percent_copy"), limit = number(gpu, "power_limit_watt"),
               power = strcmp(rb_json_text(json_object_get(json_object_get(c, "metrics"), "energy"), "unit", ""),
                              "J") == 0
                           ? rb_json_metric(c, "energy") / time
                           : NAN; /* of surfaces it is another thing */
  if (isfinite(told) && bytes > 0 && copy > 0 && fabs(told / (100 * bytes / time / copy) - 1) > 1e-6)
    contradicts(p, "percent_copy is %.6g, its work, time and roof give %.6g", told, 100 * bytes / time / copy);
  if (!cuda) return; /* a CPU's caches are many, and others may run beside it */
  const double most = most_bandwidth(record, footprint, copy, cache);
  if (moved > 0 && moved / time > BEYOND * most)
    contradicts(p, "moves %.3g B/s, the machine's memory and cache at most %.3g", moved / time, most);
  if (flops > 0 && fma > 0 && flops / time > SHARED * BEYOND * fma)
    contradicts(p, "computes %.3g FLOP/s, the machine at most %.3g", flops / time, fma);
  if (power > POWER * limit) contradicts(p, "takes %.0f W, the board at most %.0f", power, limit);
}

static void check_limits(const place *p, const json_t *c) {
  const json_t *v;
  size_t i;
  json_array_foreach(json_object_get(c, "verification"), i, v) if (!(number(v, "limit") <= LAX))
      contradicts(p, "'%.80s' is verified to a limit of %.3g, which verifies nothing", rb_json_text(v, "name", "?"),
                  number(v, "limit"));
}

rb_status rb_validate_record(const char *path, FILE *out, rb_validation *counts) {
  rb_status st = RB_OK;
  json_t *record = NULL, *c;
  rb_judged j = {0};
  size_t i;
  RB_TRY(rb_record_load(path, &record));
  RB_TRY(rb_judged_open(record, path, &j));
  const json_t *cases = json_object_get(record, "cases");
  if (strcmp(rb_json_text(record, "preset", ""), "published") == 0)
    goto done; /* printed values: nothing was measured */
  counts->records++;
  counts->dirty += json_is_true(json_object_get(json_object_get(record, "regbench"), "dirty"));
  counts->incomplete += json_is_false(json_object_get(record, "complete"));
  json_array_foreach((json_t *)cases, i, c) {
    const place here = {path, rb_json_text(c, "id", "?"), out, counts};
    if (strcmp(rb_json_text(c, "status", ""), "valid") != 0 || strcmp(rb_json_text(c, "kind", ""), "published") == 0)
      continue;
    counts->cases++;
    check_timing(&here, c);
    check_limits(&here, c);
    check_possible(&here, record, c);
  }
done:
  rb_judged_close(&j);
  json_decref(record);
  return st;
}
