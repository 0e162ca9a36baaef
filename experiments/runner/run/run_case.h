/* SPDX-License-Identifier: BSD-3-Clause */
/* One case of a run: set up, poison, run, verify, measure, verify the last timed output. Times exist only for
 * verified cases. */
#ifndef RB_RUN_CASE_H
#define RB_RUN_CASE_H

#include "experiments/runner/record/record.h"
#include "experiments/runner/run/listener.h"
#include "experiments/runner/workloads/workload.h"

typedef struct {
  const rb_case *c;
  rb_preset preset;
  const char *path; /* of the descriptor */
  int counters;     /* hardware counters wanted */
  int single;       /* the verified run is the only sample */
  const rb_listener *listener;
} rb_case_run;

/* How many sets of buffers the case's samples take in turn: 1 with warm caches; with cold ones as many as hold more
 * than twice the last-level cache. RB_EUNSUPPORTED where 64 sets do not: the case would be warm. */
rb_status rb_case_rotations(const rb_case *c, const rb_workload *w, const rb_backend *b, int *out);
/* What became of it: valid or invalid. Any other status says why nothing did. Free `out` by rb_case_result_free,
 * after a failure, too. */
rb_status rb_run_case(const rb_case_run *s, rb_case_result *out);

/* What a machine can reach, measured; NaN: not known, and nothing is verified by it. */
typedef struct {
  size_t cache_bytes;
  double copy, cache;            /* B/s through memory, and of reads of the caches */
  double fma;                    /* FLOP/s */
  const char *cache_is, *fma_is; /* what the two are, for the record */
} rb_case_roofs;
/* Verifies that a run of o->bytes and o->flops, whose buffers hold `footprint` bytes, can take as little as
 * `seconds`: every byte that a run must touch moves once at least, through the memory, or the cache where twice its
 * size can hold them all, and at least half of the useful FLOPs are made: symmetry (of pairs, of filters) may share
 * the others. A tenth is left for the roofs' own scatter. */
void rb_case_verify_possible(const rb_case_roofs *roofs, size_t footprint, double seconds, rb_outcome *o);
#endif
