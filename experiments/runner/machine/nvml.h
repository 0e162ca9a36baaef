/* SPDX-License-Identifier: BSD-3-Clause */
/* What NVML tells about the GPU, loaded at run time: absent libraries and unreadable values give NaN or "". */
#ifndef RB_NVML_H
#define RB_NVML_H

typedef struct {
  char name[96], driver[80];
  double sm_clock, memory_clock, most_sm_clock, most_memory_clock; /* MHz */
  double power, power_limit;                                       /* W */
  double temperature;                                              /* degrees C */
  double utilization;                                              /* per cent */
  double ecc;                                                      /* 1 on, 0 off */
  double other_processes;                                          /* compute processes but this one */
} rb_nvml_state;

/* 1 when NVML answered for GPU 0. */
int rb_nvml_read(rb_nvml_state *out);
/* Joule since the driver was loaded; NaN when not readable. */
double rb_nvml_energy(void);
/* Why the GPU's clocks are lower than they could be just now: a set of bits; 0 for no reason, or where that cannot be
 * read. */
unsigned char rb_nvml_throttle(void);
/* The i-th such reason and its bit; NULL beyond the last. */
const char *rb_nvml_throttle_name(int i, unsigned char *bit);
#endif
