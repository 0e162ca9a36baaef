/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/workloads/measure.h"

#include "experiments/runner/base/interrupt.h"
#include "experiments/runner/machine/nvml.h"
#include "kernels/probe/probe.h"

#include <math.h>
#include <string.h>

rb_protocol rb_protocol_of(rb_preset preset) {
  switch (preset) {
    case RB_PRESET_QUICK:
      return (rb_protocol){.least = 5, .most = 15, .budget = 0.3, .few = 1, .batch_under = 50e-6, .warmups = 1};
    case RB_PRESET_STANDARD:
      return (rb_protocol){.least = 11, .most = 51, .budget = 1.0, .few = 3, .batch_under = 50e-6, .warmups = 2};
    default:
      return (rb_protocol){.least = 11, .most = 101, .budget = 0.5, .few = 3, .batch_under = 50e-6, .warmups = 3};
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

rb_status rb_measure(const rb_workload *w, void *state, const rb_backend *b, int rotations, const rb_protocol *p,
                     rb_sample_hook hook, void *context, rb_timing *out) {
  rb_status st = RB_OK;
  int turn = 0;
  double once = 0, previous = INFINITY, spent = 0;
  memset(out, 0, sizeof *out);
  out->stop = "most samples reached";
  /* steady: two successive warm-ups within 5 %, at most 20 of them or a second's worth */
  once = p->once;
  for (out->warmups = 0; out->warmups < 20 && !(p->once > 1); out->warmups++) {
    RB_CHECK(!rb_interrupted, RB_EINTERRUPTED, "interrupted");
    RB_TRY(sample(w, state, b, &turn, 1, &once));
    spent += once;
    if ((out->warmups + 1 >= p->warmups && fabs(once - previous) < 0.05 * once) || spent > 1) {
      out->warmups++;
      break;
    }
    previous = once;
  }
  out->batch = once >= p->batch_under ? 1 : (int)fmin(10000, ceil(p->batch_under / fmax(once, 1e-9)));
  int most = p->most < RB_MOST_SAMPLES ? p->most : RB_MOST_SAMPLES;
  double joules = b->kind == RB_CUDA ? rb_nvml_energy() : NAN;
  for (spent = 0; out->count < most; out->count++) {
    /* runs of many seconds: `few` samples must do */
    int few = once > 5 ? 1 : p->few;
    if ((out->count >= p->least && spent > p->budget) ||
        (out->count >= few && spent > few * p->budget && once > p->budget)) {
      out->stop = "time budget reached";
      break;
    }
    RB_CHECK(!rb_interrupted, RB_EINTERRUPTED, "interrupted");
    RB_TRY(sample(w, state, b, &turn, out->batch, &out->samples[out->count]));
    spent += out->samples[out->count] * out->batch;
    if (hook && out->count % 5 == 4) {
      double median, low, high;
      rb_order_statistics(out->samples, out->count + 1, &median, &low, &high);
      hook(context, out->count + 1, most, median);
    }
  }
  /* the counter ticks every 20 to 100 ms: shorter measurements have no energy */
  joules = b->kind == RB_CUDA ? rb_nvml_energy() - joules : NAN;
  out->energy = spent > 0.5 ? joules / ((double)out->count * out->batch) : NAN;
  rb_order_statistics(out->samples, out->count, &out->median, &out->low, &out->high);
  out->least = INFINITY;
  for (int i = 0; i < out->count; i++)
    out->least = fmin(out->least, out->samples[i]), out->most = fmax(out->most, out->samples[i]);
  out->last_turn = (turn - 1) % rotations;
done:
  return st;
}

double rb_long_run(void) { return 10; }

void rb_timing_of_one(double seconds, rb_timing *out) {
  *out = (rb_timing){.count = 1, .batch = 1, .stop = "the verified run is the sample", .energy = NAN};
  out->samples[0] = seconds;
  out->median = out->low = out->high = out->least = out->most = seconds;
}
