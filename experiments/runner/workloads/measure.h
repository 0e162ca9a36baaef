/* SPDX-License-Identifier: BSD-3-Clause */
/* Timing of one set-up case: warm-up until steady, then samples, then order statistics. */
#ifndef RB_MEASURE_H
#define RB_MEASURE_H

#include "experiments/runner/workloads/workload.h"
#include "kernels/base/statistics.h"

typedef struct {
  int least, most;    /* samples */
  double budget;      /* seconds of measuring after which no further sample starts, once `least` are in */
  double batch_under; /* a sample repeats the run until it lasts this long, seconds */
  int few;            /* samples that must do for runs longer than the budget; one for runs of more than 5 s */
  int warmups;        /* at least this many runs before the first sample */
  double energy;      /* seconds that runs on a GPU are repeated for, to measure their energy; 0: not repeated */
  double once;        /* seconds that the verified run took, 0 when unknown: one of more than 1 s was the warm-up */
  double once_energy; /* joule of that run, NaN when unknown */
  unsigned char once_throttle; /* why clocks were held down at its end (nvml.h) */
} rb_protocol;

rb_protocol rb_protocol_of(rb_preset preset);

enum { RB_MOST_SAMPLES = RB_STATISTICS_MOST };
typedef struct {
  double samples[RB_MOST_SAMPLES]; /* seconds a run, in order */
  int count, batch, warmups;
  unsigned char throttle[RB_MOST_SAMPLES]; /* why the GPU's clocks were held down at the end of a sample (nvml.h) */
  int throttled;                           /* samples for which they were */
  int slowed;               /* 1: fewer samples than must do were not throttled; all of them make the median */
  double median, low, high; /* of the samples that count; low, high: 95 % order-statistic interval of the median */
  double least, most;       /* of all samples */
  double energy;            /* joule a run, NaN when it cannot be read */
  const char *stop;         /* why sampling ended */
  int last_turn;            /* rotation of the last timed run: one more of it is verified */
} rb_timing;

/* Hardware counters of one run. */
typedef struct {
  double flops;                /* add + mul + 2 fma, float32, summed over the kernels */
  double dram_bytes, l2_bytes; /* read + written at device memory; bytes through L2 */
  const char *how;             /* "cupti" or "ncu" */
} rb_counters;

/* Called between samples with the median so far; may be NULL. */
typedef void (*rb_sample_hook)(void *context, int done, int most, double median);

/* RB_EINTERRUPTED when rb_interrupted is set meanwhile. */
rb_status rb_measure(const rb_workload *w, void *state, const rb_backend *backend, int rotations,
                     const rb_protocol *protocol, rb_sample_hook hook, void *context, rb_timing *out);

/* Seconds that a backend's timer tells apart: the least step seen of the monotonic clock; half a microsecond of CUDA
 * events, as their reference says. */
double rb_timer_resolution(rb_backend_kind kind);

/* A run of more seconds than this is measured once: the verified run is its own sample, warm-up would change nothing.
 */
double rb_long_run(void);
void rb_timing_of_one(const rb_protocol *protocol, rb_timing *out);
#endif
