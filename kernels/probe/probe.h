/* SPDX-License-Identifier: BSD-3-Clause */
/* probe: the roofs that every table divides by, measured on the machine at hand.
 *
 * Each variant measures one roof and returns a rate. Bytes count what is read plus what is written. */
#ifndef RB_PROBE_H
#define RB_PROBE_H

#include "kernels/base/grid.h"
#include "kernels/base/variant.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  const char *unit;   /* "B/s", "FLOP/s", "1/s", "s" */
  const char *method; /* what was run, one line */
  /* Median rate over `samples` timed passes, after a check of the result. bytes: size of one array. */
  rb_status (*measure)(const rb_backend *backend, size_t bytes, int samples, double *rate);
  size_t (*default_bytes)(const rb_backend *backend);
  /* Of the copies (brunn2020, section 3.2): the kernel as a timed operation on the caller's arrays, out[i] = in[i] of
   * a grid. NULL where the variant has none. */
  rb_status (*copy)(const void *in, void *out, rb_grid grid);
  int halo; /* the copy goes through 2D tiles in shared memory, with a halo */
} rb_probe_ops;

/* bytes 0: the variant's own default (well beyond the last-level cache for memory roofs). */
rb_status rb_probe_measure(const rb_variant *variant, size_t bytes, int samples, double *rate);

/* Bytes that the halo kernel reads and writes, halo counted as loaded (the paper's accounting). */
double rb_copy_halo_bytes(rb_grid grid);
#define RB_HALO_TILE_X 128
#define RB_HALO_TILE_Y 32
#define RB_HALO_WIDTH 4

#ifdef __cplusplus
}
#endif
#endif
