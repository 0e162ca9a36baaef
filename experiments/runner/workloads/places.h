/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a case's output is held to the oracle: everywhere on grids of up to 64^3 nodes; on larger ones in the first
 * and the last row, on all six faces, and at places that each process draws anew, from a seed that the case tells. */
#ifndef RB_PLACES_H
#define RB_PLACES_H

#include "experiments/runner/workloads/workload.h"

enum { RB_PLACES_ALL = 64 * 64 * 64, RB_PLACES_OF_A_FACE = 256, RB_PLACES_DRAWN = 4096 };

typedef struct {
  rb_grid grid;
  int all; /* every node is one */
  int64_t count;
  const int64_t
      *at; /* [count] flat indices, ascending where all are there; of this grid until the next is asked for */
} rb_places;

/* Those of the grid before, where it is the same. */
rb_status rb_places_of(rb_grid grid, rb_places *out);
/* REGBENCH_SEED, else the clock's when it is first asked for; below 2^31. */
uint64_t rb_places_seed(void);
/* Tells the seed, where places were drawn. */
void rb_places_tell(const rb_places *p, rb_outcome *o);
/* What a verification at these places is against. */
const char *rb_places_against(const rb_places *p);
#endif
