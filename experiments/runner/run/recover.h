/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of runs that were killed before they wrote one, from their journals; on any machine, where --resume would
 * measure anew what is of another host or build. */
#ifndef RB_RECOVER_H
#define RB_RECOVER_H

#include "kernels/base/status.h"

#include <stddef.h>

/* Writes the record beside the journal <folder>/<preset>.journal: its last run's header and all cases that were
 * measured with that run's descriptor, host and build, as `--resume` would have kept them; it is not complete.
 * *cases: how many, 0 where the record that is there is younger than the last run's beginning, which then ended
 * itself. record: its path. RB_EFORMAT: not a journal. RB_EBUSY: a run is writing it. */
rb_status rb_recover(const char *journal, char *record, size_t size, int *cases);
#endif
