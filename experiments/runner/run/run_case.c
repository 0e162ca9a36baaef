/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/run/run_case.h"

#include "datasets/input_notes.h"
#include "experiments/runner/base/interrupt.h"
#include "experiments/runner/run/counters.h"
#include "experiments/runner/workloads/measure.h"
#include "experiments/runner/machine/nvml.h"
#include "experiments/runner/record/record.h"
#include "experiments/runner/machine/roofs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *first_failure(const rb_outcome *o, char *text, size_t size) {
  snprintf(text, size, o->lost ? "host memory for its values" : "nothing was verified");
  for (int i = 0; i < o->verification_count; i++) {
    const rb_verification *v = &o->verifications[i];
    if (v->value <= v->limit) continue;
    snprintf(text, size, "%s is %.3g, limit %.3g (against %s)", v->name, v->value, v->limit, v->against);
    break;
  }
  return text;
}

/* Predicted before anything is allocated. */
static rb_status fits(const rb_case *c, const rb_workload *w, const rb_backend *b, int rotations) {
  size_t need[RB_BACKENDS] = {0}, total, available;
  const rb_backend *host;
  rb_status st = RB_OK;
  size_t backend_bytes, host_bytes;
  w->predict(c, rotations, &backend_bytes, &host_bytes);
  need[RB_CPU] = host_bytes;
  need[b->kind] += backend_bytes;
  RB_TRY(rb_backend_get(RB_CPU, &host));
  RB_TRY(host->memory(&total, &available));
  RB_CHECK(need[RB_CPU] <= available, RB_ENOMEM, "needs %zu bytes of host memory, %zu are free; take a smaller size",
           need[RB_CPU], available);
  if (b->kind != RB_CPU) {
    RB_TRY(b->memory(&total, &available));
    RB_CHECK(need[b->kind] <= available, RB_ENOMEM, "needs %zu bytes of %s memory, %zu are free; take a smaller size",
             need[b->kind], b->name, available);
  }
done:
  return st;
}

rb_status rb_case_rotations(const rb_case *c, const rb_workload *w, const rb_backend *b, int *out) {
  rb_status st = RB_OK;
  enum { MOST = 64 };
  *out = 1;
  if (!c->cold) return RB_OK;
  const size_t one = w->footprint(c), want = 2 * b->cache_bytes();
  RB_CHECK(one && want / one + 2 <= MOST, RB_EUNSUPPORTED,
           "too small for cold caches: %d sets of its buffers hold %zu bytes, twice the last-level cache is %zu; "
           "take a larger size",
           MOST, MOST * one, want);
  *out = (int)(want / one) + 2;
done:
  return st;
}

/* No GPU, no driver, no CUDA in this build: the variant is absent, which is no failure of a device. */
static rb_status skip_when_absent(rb_status st) { return st == RB_EDEVICE ? RB_EUNSUPPORTED : st; }

static void phase(const rb_case_run *s, const char *name) { s->listener->phase(s->listener->context, name); }
static void hook(void *context, int done, int most, double median) {
  char text[96];
  snprintf(text, sizeof text, "measure %d/%d, median %.4g ms", done, most, 1e3 * median);
  phase(context, text);
}

/* What the case held at most, beside what was predicted for it. */
static void add_memory(const rb_case *c, const rb_workload *w, size_t peak, int rotations, rb_outcome *o) {
  size_t backend, host;
  if (peak == 0) return; /* the work was a child's: its memory was not measured */
  w->predict(c, rotations, &backend, &host);
  rb_outcome_metric(o, "memory", 1e-9 * (double)peak, "GB",
                    "high-water mark of the backend's memory, library work areas included");
  if (rb_grid_points(c->grid))
    rb_outcome_metric(o, "memory_fields", (double)peak / 4 / (double)rb_grid_points(c->grid), "1",
                      "the same over 4 B times the grid points");
  rb_outcome_metric(o, "memory_predicted", 1e-9 * (double)backend, "GB", "told before the run");
  if (backend)
    rb_outcome_metric(o, "memory_over_prediction", (double)peak / (double)backend, "1", "memory / memory_predicted");
}

/* Work against the arithmetic that bounds it. */
static void add_arithmetic_roofs(const rb_backend *b, double seconds, rb_outcome *o) {
  const double arithmetic = 100 * o->flops / seconds / rb_fma_roof(b->kind),
               exponentials = o->pairs > 0 ? 100 * o->pairs / seconds / rb_exp2_roof(b->kind) : 0,
               fetches = o->fetches > 0 ? 100 * o->fetches / seconds / rb_texture_roof(b->kind) : 0;
  if (exponentials > 0)
    rb_outcome_metric(o, "percent_exp2", exponentials, "%",
                      "100 pair_rate / measured exponentials; a pair used for both its points needs one");
  if (fetches > 0) rb_outcome_metric(o, "percent_texture", fetches, "%", "100 fetch_rate / measured fetches");
  if (arithmetic > 0) rb_outcome_metric(o, "percent_fma", arithmetic, "%", "100 flop_rate / measured multiply-adds");
}

void rb_case_verify_possible(const rb_case_roofs *r, size_t footprint, double seconds, rb_outcome *o) {
  static const double MARGIN = 1.1, SHARED = 2;
  const int cached = footprint <= 2 * r->cache_bytes;
  const double bytes = fmin((double)footprint, o->bytes), memory = cached ? r->cache : r->copy;
  if (bytes > 0 && memory > 0)
    rb_outcome_verify(o, RB_WITHIN_MEMORY, bytes / seconds / memory, MARGIN, cached ? r->cache_is : "measured copy");
  if (o->flops > 0 && r->fma > 0)
    rb_outcome_verify(o, RB_WITHIN_ARITHMETIC, o->flops / seconds / r->fma, SHARED * MARGIN, r->fma_is);
}

/* A CPU's caches are not measured, and its multiply-adds are compiled C for any processor of its kind: bounds are
 * wide there, and find what does nothing, not what does half. */
static rb_case_roofs roofs_of(const rb_backend *b) {
  enum { COPIES = 100, WIDER = 16 };
  const double copy = rb_copy_roof(b->kind), fma = rb_fma_roof(b->kind);
  if (b->kind != RB_CUDA)
    return (rb_case_roofs){SIZE_MAX / 4,
                           NAN,
                           COPIES * copy,
                           WIDER * fma,
                           "a hundred measured copies",
                           "sixteen times the measured multiply-adds"};
  return (rb_case_roofs){b->cache_bytes(),        copy, rb_cache_roof(b->kind), fma, "measured reads of the cache",
                         "measured multiply-adds"};
}

static rb_status timed_run(const rb_workload *w, const rb_backend *b, void *state, int turn, double *seconds) {
  rb_status st = RB_OK;
  RB_TRY(w->poison(state, turn));
  RB_TRY(b->sync());
  RB_TRY(b->timer_start());
  RB_TRY(w->run(state, turn));
  RB_TRY(b->timer_stop(seconds));
  RB_TRY(b->sync());
done:
  return st;
}

/* Run `turn` on inputs that no run has seen, and leave the outputs of -1 times the inputs for verify. A kernel that
 * keeps its results gives wrong ones, or takes longer than in its samples. What else disturbs a single run may do so
 * four times; then its time is what it is. */
static rb_status run_on_new_inputs(const rb_workload *w, const rb_backend *b, void *state, int turn, double median,
                                   rb_outcome *o) {
  static const double FACTOR[] = {-1, -0.5, 0.5, -0.25, 0.25}, WAKING = 50e-6, LIMIT = 3;
  enum { TRIES = sizeof FACTOR / sizeof *FACTOR };
  rb_status st = RB_OK;
  double now = 1, least = INFINITY, seconds;
  for (int k = 0; k < TRIES && !(least <= LIMIT * median); now = FACTOR[k++]) {
    RB_TRY(w->rescale(state, turn, FACTOR[k] / now));
    RB_TRY(timed_run(w, b, state, turn, &seconds));
    least = fmin(least, fmax(0, seconds - WAKING));
  }
  if (now != FACTOR[0]) {
    RB_TRY(w->rescale(state, turn, FACTOR[0] / now));
    RB_TRY(timed_run(w, b, state, turn, &seconds));
  }
  rb_outcome_verify(o, RB_ON_NEW_INPUTS, least / median, LIMIT, "median of the samples");
done:
  return st;
}

/* Time a verified case and verify one more run after the samples; a run that is to be its own sample, or
 * is long enough, is not repeated, and `first` is its outcome. */
static rb_status measure(const rb_case_run *s, const rb_workload *w, const rb_backend *b, void *state, int rotations,
                         const rb_protocol *protocol, rb_outcome *first, rb_outcome *last, rb_timing *timing) {
  rb_status st = RB_OK;
  if (s->single || protocol->once > rb_long_run()) {
    rb_timing_of_one(protocol, timing);
    *last = *first;
    *first = (rb_outcome){0};
    return RB_OK;
  }
  /* a timed phase that writes nothing must not be saved by the verified run's output */
  for (int r = 0; r < rotations; r++) RB_TRY(w->poison(state, r));
  RB_TRY(rb_measure(w, state, b, rotations, protocol, hook, (void *)s, timing));
  /* nor may a run rest on what the ones before it left: what is verified was made from nothing, after the samples */
  double seconds;
  if (w->rescale)
    RB_TRY(run_on_new_inputs(w, b, state, timing->last_turn, timing->median, last));
  else
    RB_TRY(timed_run(w, b, state, timing->last_turn, &seconds));
  RB_TRY(w->verify(state, timing->last_turn, last));
done:
  return st;
}

/* Between phases, each of which may take minutes. */
static rb_status go_on(void) { return rb_interrupted ? RB_FAIL(RB_EINTERRUPTED, "interrupted") : RB_OK; }

/* Time it, verify the last timed output, and count, once the verified run was right: r->outcome is that run's on
 * entry and the last one's on return. */
static rb_status time_and_verify(const rb_case_run *s, const rb_workload *w, const rb_backend *b, void **state,
                                 const rb_protocol *protocol, rb_case_result *r) {
  rb_status st = RB_OK;
  rb_outcome last = {0};
  r->has_clocks = rb_nvml_read(&r->before);
  RB_TRY(measure(s, w, b, *state, r->rotations, protocol, &r->outcome, &last, &r->timing));
  rb_nvml_read(&r->after);
  r->timed = 1;
  rb_outcome_free(&r->outcome);
  r->outcome = last;
  last = (rb_outcome){0};
  add_memory(r->c, w, r->memory_peak, r->rotations, &r->outcome);
  add_arithmetic_roofs(b, r->timing.median, &r->outcome);
  rb_case_roofs roofs = roofs_of(b);
  roofs.cache_bytes /= (size_t)r->rotations; /* shared by all sets of buffers */
  r->outcome.footprint = (double)w->footprint(r->c);
  rb_case_verify_possible(&roofs, w->footprint(r->c), r->timing.median, &r->outcome);
  rb_outcome_verify(&r->outcome, "what the timer tells apart, as a part of a sample",
                    rb_timer_resolution(b->kind) / (r->timing.median * r->timing.batch), 0.05, "timer");
  r->copy_roof = rb_copy_roof(b->kind);
  if (!rb_outcome_is_valid(&r->outcome) || !s->counters) goto done;
  phase(s, "counters");
  r->counted = 1;
  if (rb_counters_measure(r->c, w, state, s->path, s->preset, &r->counters) != RB_OK) {
    snprintf(r->no_counters, sizeof r->no_counters, "%s", rb_message());
    rb_clear();
  }
  /* Ctrl-C ends the profiler, too: --resume counts again */
  RB_CHECK(!rb_interrupted, RB_EINTERRUPTED, "interrupted");
done:
  rb_outcome_free(&last);
  return st;
}

/* The run that is verified, with what it took. */
static rb_status run_once(const rb_workload *w, const rb_backend *b, void *state, rb_protocol *p) {
  rb_status st = RB_OK;
  const int gpu = b->kind == RB_CUDA;
  const double before = gpu ? rb_nvml_energy() : NAN;
  RB_TRY(b->timer_start());
  RB_TRY(w->run(state, 0));
  RB_TRY(b->timer_stop(&p->once));
  RB_TRY(b->sync());
  p->once_throttle = gpu ? rb_nvml_throttle() : 0;
  p->once_energy = gpu ? rb_nvml_energy() - before : NAN;
done:
  return st;
}

/* NULL: the case is made, not read. */
static json_t *noted_inputs(void) {
  json_t *all = NULL;
  const rb_input_note *n;
  for (int i = 0; (n = rb_noted_input(i)); i++) {
    if (!all) all = json_array();
    json_array_append_new(all, json_pack("{s:s,s:s}", "file", n->name, "sha256", n->sha256));
  }
  return all;
}

rb_status rb_run_case(const rb_case_run *s, rb_case_result *r) {
  rb_status st = RB_OK;
  const rb_case *c = s->c;
  const rb_workload *w;
  const rb_backend *b;
  void *state = NULL;
  rb_protocol protocol = rb_protocol_of(s->preset);
  *r = (rb_case_result){.c = c, .rotations = 1};
  RB_TRY(rb_workload_find(c->method->kind, &w));
  RB_TRY(skip_when_absent(rb_variant_timed(c->variant)));
  RB_TRY(rb_backend_get(c->variant->backend, &b));
  RB_TRY(rb_case_rotations(c, w, b, &r->rotations));
  RB_TRY(fits(c, w, b, r->rotations));
  rb_memory_reset_peak(b->kind);
  rb_forget_inputs();
  phase(s, "set up");
  RB_TRY(w->setup(c, b, r->rotations, &state));
  RB_TRY(go_on());
  phase(s, "verify");
  RB_TRY(w->poison(state, 0));
  RB_TRY(run_once(w, b, state, &protocol));
  RB_TRY(go_on());
  r->memory_peak = rb_memory_peak(b->kind); /* before verification, whose oracle takes memory of its own */
  RB_TRY(w->verify(state, 0, &r->outcome));
  if (rb_outcome_is_valid(&r->outcome)) {
    RB_TRY(go_on());
    RB_TRY(time_and_verify(s, w, b, &state, &protocol, r));
  }
  r->ran = 1;
  r->inputs = noted_inputs();
  r->status = rb_outcome_is_valid(&r->outcome) ? RB_CASE_VALID : RB_CASE_INVALID;
  if (r->status == RB_CASE_INVALID) first_failure(&r->outcome, r->reason, sizeof r->reason);
done:
  if (state) w->teardown(state);
  return st;
}
