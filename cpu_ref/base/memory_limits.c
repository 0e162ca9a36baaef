/* SPDX-License-Identifier: BSD-3-Clause */
#include "cpu_ref/base/memory_limits.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static size_t least(size_t a, size_t b) { return a < b ? a : b; }
/* limit - used, 0 where more is used than allowed */
static size_t left_of(size_t limit, size_t used) { return limit > used ? limit - used : 0; }

/* The whole number that a file holds; SIZE_MAX where it is absent or says "max", or as much as version 1 writes for
 * no limit. */
static size_t number_in(const char *folder, const char *name) {
  char path[8400], text[64] = "";
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *f = fopen(path, "r");
  /* a file that cannot be read and one that does not begin with a digit are no limit */
  const int read = f && fgets(text, sizeof text, f) && text[0] >= '0' && text[0] <= '9';
  if (f) fclose(f);
  const unsigned long long value = read ? strtoull(text, NULL, 10) : UINT64_MAX;
  return value >= 1ULL << 60 ? SIZE_MAX : (size_t)value;
}
/* A line "NAME VALUE" of the group's memory.stat: page cache that the kernel takes back before anything fails. 0
 * where there is none. */
static size_t stat_of(const char *folder, const char *name) {
  char path[8400], line[128], key[64];
  unsigned long long value, found = 0;
  snprintf(path, sizeof path, "%s/memory.stat", folder);
  FILE *f = fopen(path, "r");
  while (f && fgets(line, sizeof line, f))
    if (sscanf(line, "%63s %llu", key, &value) == 2 && strcmp(key, name) == 0) found = value;
  if (f) fclose(f);
  return (size_t)found;
}
/* max - (current - inactive file cache), each difference 0 at least; SIZE_MAX without a limit */
static size_t left_in(const char *folder, int version) {
  const size_t limit = number_in(folder, version == 2 ? "memory.max" : "memory.limit_in_bytes");
  const size_t used = number_in(folder, version == 2 ? "memory.current" : "memory.usage_in_bytes");
  if (limit == SIZE_MAX) return SIZE_MAX;
  return left_of(limit, used == SIZE_MAX
                            ? 0
                            : left_of(used, stat_of(folder, version == 2 ? "inactive_file" : "total_inactive_file")));
}

/* The least that any group of the process leaves, in versions 1 and 2; SIZE_MAX without a limit. */
size_t rb_cgroup_memory_available(const char *membership, const char *mount) {
  size_t left = SIZE_MAX;
  char line[4096], folder[8300];
  FILE *f = fopen(membership, "r");
  while (f && fgets(line, sizeof line, f)) { /* "0::/PATH" of version 2, "4:memory:/PATH" of version 1 */
    line[strcspn(line, "\n")] = '\0';
    /* "HIERARCHY:CONTROLLERS:PATH": the second colon ends the controllers and begins the path */
    char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path) continue;
    *path++ = '\0';
    const int version = strcmp(line, "0:") == 0 ? 2 : strstr(controllers + 1, "memory") ? 1 : 0;
    if (!version) continue;
    /* version 1 has a folder a controller below the mount; `root` is where the group's path begins in `folder` */
    const int root = snprintf(folder, sizeof folder, "%.4000s%s", mount, version == 1 ? "/memory" : "");
    /* buffers are wide enough for both parts, 4000 characters each */
    snprintf(folder + root, sizeof folder - (size_t)root, "%.4000s", path);
    for (;;) { /* a limit of any group above counts, too; in a container the path may not be there, and its root is
                  the mount */
      left = least(left, left_in(folder, version));
      char *slash = strrchr(folder + root, '/');
      if (!slash) break;
      *slash = '\0';
    }
  }
  if (f) fclose(f);
  return left;
}

/* What a limit of the process leaves; used: in pages. */
static size_t left_by(int resource, unsigned long long pages) {
  struct rlimit r;
  if (getrlimit((__rlimit_resource_t)resource, &r) != 0 || r.rlim_cur == RLIM_INFINITY) return SIZE_MAX;
  return left_of((size_t)r.rlim_cur, (size_t)pages * (size_t)sysconf(_SC_PAGESIZE));
}

size_t rb_memory_available(void) {
  /* all of the machine's memory, where /proc/meminfo does not say more */
  size_t available = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
  char line[128];
  unsigned long long kib, address_space = 0, data = 0;
  FILE *f = fopen("/proc/meminfo", "r");
  while (f && fgets(line, sizeof line, f)) /* counts what the kernel can reclaim, which sysconf's free pages do not */
    if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1) available = (size_t)kib * 1024;
  if (f) fclose(f);
  /* pages: the first number is the address space, the sixth the data and stack */
  f = fopen("/proc/self/statm", "r");
  if (f && fscanf(f, "%llu %*u %*u %*u %*u %llu", &address_space, &data) != 2) address_space = data = 0;
  if (f) fclose(f);
  available = least(available, left_by(RLIMIT_AS, address_space));
  available = least(available, left_by(RLIMIT_DATA, data));
  return least(available, rb_cgroup_memory_available("/proc/self/cgroup", "/sys/fs/cgroup"));
}
