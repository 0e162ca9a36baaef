/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/workloads/measure.h"

#include "experiments/runner/base/interrupt.h"
#include "experiments/runner/machine/nvml.h"
#include "kernels/base/clock.h"
#include "kernels/probe/probe.h"

#include <math.h>
#include <string.h>

rb_protocol rb_protocol_of(rb_preset preset) {
  switch (preset) {
    case RB_PRESET_QUICK:
      return (rb_protocol){.least = 5, .most = 15, .budget = 0.3, .few = 1, .batch_under = 50e-6, .warmups = 1};
    case RB_PRESET_STANDARD:
      return (rb_protocol){
          .least = 11, .most = 51, .budget = 1.0, .few = 3, .batch_under = 50e-6, .warmups = 2, .energy = 0.5};
    default:
      return (rb_protocol){
          .least = 11, .most = 101, .budget = 0.5, .few = 3, .batch_under = 50e-6, .warmups = 3, .energy = 0.5};
  }
}

/* One sample: `batch` runs between two timer readings. */
static rb_status sample(const rb_workload *w, void *state, const rb_backend *b, int *turn, int batch,
                        double *seconds) {
  rb_status st = RB_OK;
  RB_TRY(b->timer_start());
  for (int i = 0; i < batch; i++) RB_TRY(w->run(state, (*turn)++));
  RB_TRY(b->timer_stop(seconds));
  *seconds /= batch;
done:
  return st;
}

/* Steady: two successive runs within 5 %, at most 20 of them or a second's worth. *once: what the last one took. */
static rb_status warm_up(const rb_workload *w, void *state, const rb_backend *b, const rb_protocol *p, int *turn,
                         double *once, rb_timing *out) {
  rb_status st = RB_OK;
  double previous = INFINITY, spent = 0;
  *once = p->once;
  for (out->warmups = 0; out->warmups < 20 && !(p->once > 1); out->warmups++) {
    RB_CHECK(!rb_interrupted, RB_EINTERRUPTED, "interrupted");
    RB_TRY(sample(w, state, b, turn, 1, once));
    spent += *once;
    if ((out->warmups + 1 >= p->warmups && fabs(*once - previous) < 0.05 * *once) || spent > 1) {
      out->warmups++;
      break;
    }
    previous = *once;
  }
done:
  return st;
}

/* Samples that must do: runs of many seconds are measured once. */
static int fewest(const rb_protocol *p, double once) { return once > 5 ? 1 : p->few; }

/* Why no further sample is taken after `spent` seconds of them, or NULL. A throttled sample does not count; others
 * are waited for four times as long. */
static const char *reason_to_stop(const rb_protocol *p, double once, double spent, const rb_timing *t) {
  const int few = fewest(p, once), most = p->most < RB_MOST_SAMPLES ? p->most : RB_MOST_SAMPLES;
  const int counting = t->count - t->throttled;
  const double enough = once > p->budget ? few * p->budget : p->budget;
  if (t->count >= most) return "most samples reached";
  if ((counting >= p->least && spent > p->budget) || (counting >= few && spent > enough && once > p->budget))
    return "time budget reached";
  return t->throttled && t->count >= few && spent > 4 * enough ? "throttled for four times the budget" : NULL;
}

/* Statistics of the samples that count. */
static void summarize(int few, rb_timing *t) {
  double counting[RB_MOST_SAMPLES];
  int n = 0;
  for (int i = 0; i < t->count; i++)
    if (!t->throttle[i]) counting[n++] = t->samples[i];
  t->slowed = t->throttled > 0 && n < few;
  if (t->slowed)
    rb_order_statistics(t->samples, t->count, &t->median, &t->low, &t->high);
  else
    rb_order_statistics(counting, n, &t->median, &t->low, &t->high);
  t->least = INFINITY, t->most = 0;
  for (int i = 0; i < t->count; i++) t->least = fmin(t->least, t->samples[i]), t->most = fmax(t->most, t->samples[i]);
}

/* Joule a run: *energy as it is for samples of `spent` seconds in all, measured anew where they were too short for
 * the counter, which ticks every 20 to 100 ms, in samples so long that the pauses between them do not count. */
static rb_status repeat_for_energy(const rb_workload *w, void *state, const rb_backend *b, const rb_protocol *p,
                                   double spent, int *turn, rb_timing *t) {
  rb_status st = RB_OK;
  const int batch = (int)fmin(1e6, ceil(0.05 / t->median));
  double seconds, runs = 0;
  if (spent > 0.5 || isnan(t->energy)) return RB_OK;
  const double before = rb_nvml_energy();
  t->energy = NAN;
  for (spent = 0; spent < p->energy; spent += seconds * batch, runs += batch) {
    RB_CHECK(!rb_interrupted, RB_EINTERRUPTED, "interrupted");
    RB_TRY(sample(w, state, b, turn, batch, &seconds));
  }
  if (runs > 0) t->energy = (rb_nvml_energy() - before) / runs;
done:
  return st;
}

rb_status rb_measure(const rb_workload *w, void *state, const rb_backend *b, int rotations, const rb_protocol *p,
                     rb_sample_hook hook, void *context, rb_timing *out) {
  rb_status st = RB_OK;
  const int gpu = b->kind == RB_CUDA;
  int turn = 0;
  double once = 0, spent = 0;
  memset(out, 0, sizeof *out);
  RB_TRY(warm_up(w, state, b, p, &turn, &once, out));
  out->batch = once >= p->batch_under ? 1 : (int)fmin(10000, ceil(p->batch_under / fmax(once, 1e-9)));
  const double before = gpu ? rb_nvml_energy() : NAN;
  while (!(out->stop = reason_to_stop(p, once, spent, out))) {
    const int i = out->count;
    RB_CHECK(!rb_interrupted, RB_EINTERRUPTED, "interrupted");
    RB_TRY(sample(w, state, b, &turn, out->batch, &out->samples[i]));
    out->throttle[i] = gpu ? rb_nvml_throttle() : 0;
    out->throttled += out->throttle[i] != 0;
    out->count++;
    spent += out->samples[i] * out->batch;
    if (hook && out->count % 5 == 0) {
      double median, low, high;
      rb_order_statistics(out->samples, out->count, &median, &low, &high);
      hook(context, out->count, p->most, median);
    }
  }
  out->energy = gpu ? (rb_nvml_energy() - before) / ((double)out->count * out->batch) : NAN;
  summarize(fewest(p, once), out);
  RB_TRY(repeat_for_energy(w, state, b, p, spent, &turn, out));
  out->last_turn = (turn - 1) % rotations;
done:
  return st;
}

double rb_timer_resolution(rb_backend_kind kind) {
  double least = 1;
  if (kind == RB_CUDA) return 0.5e-6;
  for (int i = 0; i < 100; i++) {
    const double from = rb_now();
    double to = from;
    while (to <= from) to = rb_now();
    least = fmin(least, to - from);
  }
  return least;
}

double rb_long_run(void) { return 10; }

void rb_timing_of_one(const rb_protocol *p, rb_timing *out) {
  *out = (rb_timing){.count = 1,
                     .batch = 1,
                     .stop = "the verified run is the sample",
                     .energy = p->once > 0.5 ? p->once_energy : NAN,
                     .throttled = p->once_throttle != 0,
                     .slowed = p->once_throttle != 0};
  out->samples[0] = p->once, out->throttle[0] = p->once_throttle;
  out->median = out->low = out->high = out->least = out->most = p->once;
}
