/* SPDX-License-Identifier: BSD-3-Clause */
/* A team: the processes that work on one problem, each on a device of its own. A team of one needs no launcher.
 *
 * All members make the same calls in the same order (collectives). Arrays are host memory. Sums do not depend on
 * timing: rb_team_sum_whole is exact and so the same for any number of processes; rb_team_sum adds in the order of
 * ranks, so its last bits depend on how many there are. */
#ifndef RB_BASE_TEAM_H
#define RB_BASE_TEAM_H

#include "kernels/base/status.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { RB_TEAM_MOST = 1024 }; /* members of a team */

typedef struct rb_team {
  const char *name; /* "self", "mpi-host" */
  int rank, size;
  rb_status (*sum)(double *values, int64_t n);
  rb_status (*sum_whole)(int32_t *values, int64_t n);
  rb_status (*broadcast)(void *data, size_t bytes, int root);
  rb_status (*gather)(const void *mine, size_t bytes, void *all);
  rb_status (*barrier)(void);
} rb_team;

/* The team of this process alone. */
const rb_team *rb_team_self(void);
/* How many processes the launcher of MPI started, and which this is, by its environment: MPI itself is not started.
 * 1 and 0 without a launcher. */
int rb_team_processes(void);
int rb_team_rank(void);
/* Which of the launcher's processes on this machine this is, from 0 on, and how many it started here (all, where it
 * does not say). */
int rb_team_local_rank(void);
int rb_team_local_size(void);
/* All processes of the launcher, by MPI on host memory; MPI is started once a process and ended by rb_team_mpi_end.
 * RB_EUNSUPPORTED: MPI does not start. Defined in cpu_ref/base. */
rb_status rb_team_mpi(const rb_team **out);
void rb_team_mpi_end(void);

/* values[n] become the sums over all members. */
rb_status rb_team_sum(const rb_team *t, double *values, int64_t n);
/* The same of whole numbers; no sum may leave 32 bits. */
rb_status rb_team_sum_whole(const rb_team *t, int32_t *values, int64_t n);
/* What `root` holds, to all. */
rb_status rb_team_broadcast(const rb_team *t, void *data, size_t bytes, int root);
/* `bytes` of every member to all[size][bytes] of rank 0; `all` of the others is not used. */
rb_status rb_team_gather(const rb_team *t, const void *mine, size_t bytes, void *all);
rb_status rb_team_barrier(const rb_team *t);

/* Every member calls it with its own status. RB_OK when all have RB_OK; else every member gets a failure: its own, or
 * that of the lowest rank that failed, with its message and rank. So none waits for one that has given up. */
rb_status rb_team_agree(const rb_team *t, rb_status st);

/* Whole items [*first, *end) of `count` belong to this member: shares differ by one item at most. */
void rb_team_share(const rb_team *t, int64_t count, int64_t *first, int64_t *end);

#ifdef __cplusplus
}
#endif
#endif
