/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums over a team of arrays that lie on devices, without the way through the hosts: by NCCL, loaded at run time, on
 * one CUDA device a member. */
#ifndef RB_BASE_DEVICE_TEAM_H
#define RB_BASE_DEVICE_TEAM_H

#include "kernels/base/team.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rb_device_team rb_device_team;

/* Of a backend, whose arrays it adds. */
typedef struct rb_device_team_ops {
  /* All members call it, and all end with the same status. RB_EUNSUPPORTED: libnccl.so.2 (or the file that
   * REGBENCH_NCCL names) is not at hand, or two members share a device. */
  rb_status (*open)(const rb_team *team, rb_device_team **out);
  /* values[n] on each member's device become the sums over all, in the order of its stream: nobody waits here. No sum
   * may leave 32 bits. After a failure the team cannot be used any more. It may be recorded, if all members
   * record it together, and replay it together: NCCL wants recorded sums to meet those of the same recording. */
  rb_status (*sum_whole)(rb_device_team *d, int32_t *values, int64_t n);
  void (*close)(rb_device_team *d); /* takes NULL */
} rb_device_team_ops;
/* Those of the CUDA backend. */
extern const rb_device_team_ops rb_device_team_nccl;

#ifdef __cplusplus
}
#endif
#endif
