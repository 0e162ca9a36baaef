/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/base/team.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a team of one ---------------------------------------------------------------------------------------- */

/* The sum over one member is its own values; the other collectives likewise leave all as it is. */
static rb_status self_sum(double *values, int64_t n) {
  (void)values, (void)n;
  return RB_OK;
}
static rb_status self_sum_whole(int32_t *values, int64_t n) {
  (void)values, (void)n;
  return RB_OK;
}
static rb_status self_broadcast(void *data, size_t bytes, int root) {
  (void)data, (void)bytes, (void)root;
  return RB_OK;
}
static rb_status self_gather(const void *mine, size_t bytes, void *all) {
  /* `all` may be `mine` */
  memmove(all, mine, bytes);
  return RB_OK;
}
static rb_status self_barrier(void) { return RB_OK; }
const rb_team *rb_team_self(void) {
  static const rb_team self = {"self", 0, 1, self_sum, self_sum_whole, self_broadcast, self_gather, self_barrier};
  return &self;
}

/* ---- what the launcher says ------------------------------------------------------------------------------- */

/* Open MPI; MPICH and others by PMI; Slurm's srun.
 * The first variable that is set and not empty; a text that is no number is read as 0. */
static int launched(const char *const names[3], int otherwise) {
  for (int k = 0; k < 3; k++) {
    const char *text = getenv(names[k]);
    if (text && *text) return atoi(text);
  }
  return otherwise;
}
int rb_team_processes(void) {
  static const char *const names[3] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"};
  const int n = launched(names, 1);
  /* also 1 where a launcher's variable makes no sense */
  return n > 1 ? n : 1;
}
int rb_team_rank(void) {
  static const char *const names[3] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"};
  return rb_team_processes() > 1 ? launched(names, 0) : 0;
}

int rb_team_local_rank(void) {
  static const char *const names[3] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"};
  /* without a variable for it: as if all processes ran on this machine */
  return rb_team_processes() > 1 ? launched(names, rb_team_rank()) : 0;
}

int rb_team_local_size(void) {
  static const char *const names[3] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_TASKS_PER_NODE"};
  const int all = rb_team_processes(), here = all > 1 ? launched(names, all) : 1; /* Slurm's "4(x2)" is read as 4 */
  return here >= 1 && here <= all ? here : all;
}

/* ---- collectives ------------------------------------------------------------------------------------------ */

rb_status rb_team_sum(const rb_team *t, double *values, int64_t n) { return t->sum(values, n); }
rb_status rb_team_sum_whole(const rb_team *t, int32_t *values, int64_t n) { return t->sum_whole(values, n); }
rb_status rb_team_broadcast(const rb_team *t, void *data, size_t bytes, int root) {
  return root < 0 || root >= t->size ? RB_FAIL(RB_EINVAL, "team: no member %d among %d", root, t->size)
                                     : t->broadcast(data, bytes, root);
}
rb_status rb_team_gather(const rb_team *t, const void *mine, size_t bytes, void *all) {
  return t->gather(mine, bytes, all);
}
rb_status rb_team_barrier(const rb_team *t) { return t->barrier(); }

/* A sum of whole numbers serves as a gather to all: every member fills its own place of a table of zeros. */
rb_status rb_team_agree(const rb_team *t, rb_status mine) {
  rb_status st = RB_OK;
  int32_t codes[RB_TEAM_MOST] = {0}; /* no allocation that could fail on one member alone */
  char message[512];
  int first = 0;
  if (t->size == 1) return mine;
  codes[t->rank] = (int32_t)mine;
  RB_TRY(t->sum_whole(codes, t->size));
  /* the same table on all members, so all find the same lowest rank that failed and meet in the same broadcast */
  while (first < t->size && codes[first] == RB_OK) first++;
  if (first == t->size) return RB_OK;
  snprintf(message, sizeof message, "%s", mine == RB_OK ? "" : rb_message());
  RB_TRY(t->broadcast(message, sizeof message, first));
  st = RB_FAIL((rb_status)codes[first], "process %d of %d: %s", first, t->size, message);
done:
  /* a member's own failure comes first: its message is pending already, and RB_FAIL above has not replaced it */
  return mine != RB_OK ? mine : st;
}

/* The whole of `count` in one piece a rank, in the order of ranks, without overlap. */
void rb_team_share(const rb_team *t, int64_t count, int64_t *first, int64_t *end) {
  /* the first `more` members have one item more: member r begins after r shares and min(r, more) extra items */
  const int64_t each = count / t->size, more = count % t->size;
  *first = t->rank * each + (t->rank < more ? t->rank : more);
  *end = *first + each + (t->rank < more);
}
