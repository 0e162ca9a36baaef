/* SPDX-License-Identifier: BSD-3-Clause */
/* How much memory this process may still take: the least of what the machine has left and what limits leave it. */
#ifndef RB_MEMORY_LIMITS_H
#define RB_MEMORY_LIMITS_H

#include <stddef.h>

/* MemAvailable of /proc/meminfo, cut by RLIMIT_AS, RLIMIT_DATA and the memory limits of the control groups (versions
 * 1 and 2) that the process is in. */
size_t rb_memory_available(void);
/* What the groups of `membership` (as /proc/self/cgroup) below `mount` (as /sys/fs/cgroup) leave; SIZE_MAX where they
 * set no limit. */
size_t rb_cgroup_memory_available(const char *membership, const char *mount);

#endif
